"""The grammar of templates: which parts of Jinja2 are allowed, and which names and functions a template uses."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Self

from jinja2 import nodes

from bot.core.immutable import immutable, mutable
from bot.language.expressions import opening_hours
from bot.language.expressions.filters import FILTERS, FUNCTIONS, TESTS, TITLE_OF
from bot.language.expressions.list_filters import PLACE, of_each
from bot.language.python.decorators import FUNCTION, FunctionSpec
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.language.source.text_patterns import BadPattern, compiled


@immutable
class Called:
    """A function or filter (``kind``) that is called and not built in, and the line of the call."""

    kind: str
    name: str
    positional: int
    keywords: tuple[str, ...]
    line: int


def check_calls(calls: Iterable[tuple[Called, Mark]], own: Mapping[str, FunctionSpec], problems: Problems) -> None:
    """Every call is of something that the bot's Python declares, with arguments that it takes."""
    for called, mark in calls:
        spec = own.get(called.name)
        if spec is None:
            _unknown(called, mark, own, problems)
        elif spec.kind != called.kind:
            written = f"{spec.name}(...)" if spec.kind == FUNCTION else f"value | {spec.name}"
            problems.add("E204", mark, f'"{spec.name}" is a {spec.kind}', f"write {written}")
        elif (objection := spec.objection(called.positional, called.keywords)) is not None:
            what = f'{spec.kind} "{spec.name}": {objection}'
            problems.add("E203", mark, what, f"it is declared as {spec.name}{spec.signature}")


def _unknown(called: Called, mark: Mark, own: Mapping[str, FunctionSpec], problems: Problems) -> None:
    built_in = FUNCTIONS if called.kind == FUNCTION else FILTERS
    known = [*built_in, *(spec.name for spec in own.values() if spec.kind == called.kind)]
    fix = did_you_mean(called.name, known, f"there are {', '.join(sorted(known))}; or declare it in handlers.py")
    if called.name in RESERVED_NAMES:
        fix = f"write {called.name} without brackets"
    problems.add("E204", mark, f'no {called.kind} "{called.name}"', fix)


WINDOW_OPEN = "window_open"
"""The name that says whether messages other than templates can be sent."""
HISTORY = "history"
"""The name of the newest messages of the conversation."""
RESERVED_NAMES = tuple(sorted({
    *FUNCTIONS, WINDOW_OPEN, HISTORY, "contact", "now", "today", "came_from", "message", "it", "loop", "self", "true", "false", "none",
    "and", "or", "not", "in", "is", "if", "else",
}))  # fmt: skip
"""The names that no variable can have."""
RESERVED_LIST = f"reserved are {', '.join(RESERVED_NAMES)}"
MAX_LOOPS = 2  # within each other
_MESSAGE = "message"
MESSAGE_FIELDS = ("text", "kind", "tapped", "file")  # of the message that the contact has just sent
MAX_DEPTH = 50  # of expressions or blocks within each other
_ALLOWED = frozenset({
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Const, nodes.Name, nodes.Getattr, nodes.Getitem,
    nodes.Slice, nodes.Filter, nodes.Test, nodes.Call, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not,
    nodes.Neg, nodes.Pos, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow,
    nodes.Concat, nodes.CondExpr, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.If, nodes.For, nodes.Keyword,
})  # fmt: skip
_CALLED = {"open": 'open("office")', "opens": 'opens("office")', "random": "random()", "share": 'share("offer")'}
_SPELLED: dict[type[nodes.Node], str] = {
    nodes.Assign: "{% set %}", nodes.AssignBlock: "{% set %}", nodes.Block: "{% block %}", nodes.Macro: "{% macro %}",
    nodes.CallBlock: "{% call %}", nodes.FilterBlock: "{% filter %}", nodes.With: "{% with %}",
    nodes.Include: "{% include %}", nodes.Import: "{% import %}", nodes.FromImport: "{% from %}",
    nodes.Extends: "{% extends %}", nodes.ScopedEvalContextModifier: "{% autoescape %}",
}  # fmt: skip


@immutable
class GrammarFault:
    """Something that is not allowed: a problem's code and words, and the template's line (1-based).

    ``name``: it is only a fault because the name is reserved.
    """

    code: str
    line: int
    what: str
    fix: str
    name: str = ""


_COLLECTED = ("names", "loops", "paths", "hours", "titles")


@mutable
class TemplateUses:
    """The free names of a template, the dotted paths that it reads, its calls, and what is not allowed in it."""

    names: set[str] = field(default_factory=set)
    loops: set[str] = field(default_factory=set)  # what its loops call their elements
    paths: set[tuple[str, ...]] = field(default_factory=set)
    calls: list[Called] = field(default_factory=list)
    hours: set[str] = field(default_factory=set)  # names of opening hours that are written out
    titles: set[str] = field(default_factory=set)  # variables whose choices it shows by their titles
    faults: list[GrammarFault] = field(default_factory=list)

    @classmethod
    def of_all(cls, parts: Iterable["TemplateUses"]) -> Self:
        """Those of several parts of a text."""
        found = cls()
        for part in parts:
            for name in _COLLECTED:
                getattr(found, name).update(getattr(part, name))
            found.calls += part.calls
            found.faults += part.faults
        return found

    def walk(self, node: nodes.Node, bound: frozenset[str] = frozenset(), depth: int = 0, loops: int = 0) -> None:
        """Look at a node and everything below it. ``bound`` are the names of the loops around it."""
        if depth > MAX_DEPTH:
            self._fault("E205", node, "this is nested too deeply", "make it simpler, or work it out in Python")
            return
        if type(node) not in _ALLOWED:
            spelled = _SPELLED.get(type(node), type(node).__name__.lower())
            self._fault("E203", node, f"{spelled} is not available here", "keep to values, if and for, or use Python")
            return
        if isinstance(node, nodes.For):
            self._loop(node, bound, depth, loops)
            return
        self._look(node, bound)
        each = of_each(node)
        for child in self._below(node):
            self.walk(child, bound | {*PLACE} if any(child is one for one in each) else bound, depth + 1, loops)

    def _below(self, node: nodes.Node) -> Iterator[nodes.Node]:
        """The children, without the name of a called function, and without `message` before one of its fields."""
        for child in node.iter_child_nodes():
            if not (isinstance(node, nodes.Call) and child is node.node) and not _is_message_field(node):
                yield child

    def _look(self, node: nodes.Node, bound: frozenset[str]) -> None:
        match node:
            case nodes.Name(name=name) if name in FUNCTIONS and name not in bound:
                fix = f"write {_CALLED.get(name, f'{name}(2)')}, or give a variable another name: {RESERVED_LIST}"
                self._fault("E203", node, f'"{name}" is reserved: it is a function', fix, name)
            case nodes.Name(name=name) if name not in bound:
                self.names.add(name)
                if name == _MESSAGE:
                    fix = f"write {', '.join(f'{_MESSAGE}.{each}' for each in MESSAGE_FIELDS)}"
                    self._fault("E203", node, f'"{name}" has several parts', fix, name)
            case nodes.Getattr() | nodes.Getitem():
                path = path_of(node)
                if path and path[0] not in bound:
                    self.paths.add(path)
                    self.names.add(path[0])
            case nodes.Const(value=str(text)) if any("\ud800" <= char <= "\udfff" for char in text):
                self._fault("E203", node, "half a character (a lone surrogate)", "write the character itself")
            case nodes.Filter(name=name) if name not in FILTERS:
                self._own("filter", name, node)
            case nodes.Filter(name=name):
                self._arguments(node, name, FILTERS[name], 1)
                self._pattern(node)
            case nodes.Dict(items=items) if not all(_is_text(pair.key) for pair in items):
                fix = 'put it in quotes: {"size": 3}; for the value of a variable write {} | put(size, 3)'
                self._fault("E203", node, "a record's name that is no text", fix)
            case nodes.Test(name=name) if name not in TESTS:
                self._unknown(node, "test", name, TESTS)
            case nodes.Call():
                self._call(node)

    def _call(self, node: nodes.Call) -> None:
        called = node.node
        if not isinstance(called, nodes.Name):
            fix = "use a filter, or work it out in Python"
            if isinstance(called, nodes.Getattr) and called.attr in FILTERS:
                fix = f"write value | {called.attr}"
            self._fault("E203", node, "values have no methods", fix)
        elif called.name not in FUNCTIONS:
            self._own("function", called.name, node)
        elif called.name == TITLE_OF:
            self._title(node)
        else:
            self._arguments(node, called.name, FUNCTIONS[called.name], 0)
            match node.args:
                case [nodes.Const(value=str(name)), *_] if called.name in opening_hours.HOURS_FUNCTIONS:
                    self.hours.add(name)
                case [nodes.Const(), *_] if called.name in opening_hours.HOURS_FUNCTIONS:
                    fix = f"write {_CALLED[called.name]}"
                    self._fault("E203", node, f"{called.name}() takes the name of opening hours", fix)

    def _title(self, node: nodes.Call) -> None:
        """The variable of `title_of`."""
        match node:
            case nodes.Call(args=[nodes.Name(name=name)], kwargs=[], dyn_args=None, dyn_kwargs=None):
                self.titles.add(name)
            case _:
                fix = f"write {TITLE_OF}(size), with the variable that a question saves its choice in"
                self._fault("E203", node, f"{TITLE_OF}() takes the name of a variable", fix)

    def _arguments(self, node: nodes.Filter | nodes.Call, name: str, function: Callable[..., Any], value: int) -> None:
        """The arguments in brackets. ``value`` is 1 if a value comes before the filter, else 0."""
        if self._spreads(node):
            return
        inside = value + hasattr(function, "jinja_pass_arg")  # arguments that templates do not write
        taken = inspect.signature(function)
        try:
            taken.bind(*[None] * (inside + len(node.args)), **{str(argument.key): None for argument in node.kwargs})
        except TypeError as error:
            written = ", ".join(list(taken.parameters)[inside:])
            brackets = f"({written})" if written or isinstance(node, nodes.Call) else ""
            self._fault("E203", node, f'"{name}": {error}', f"write {name}{brackets}")

    def _pattern(self, node: nodes.Filter) -> None:
        """The regular expression of `matches`: a text that is written out, and can be read."""
        match node:
            case nodes.Filter(name="matches", args=[nodes.Const(value=str(written))]):
                try:
                    compiled(written)
                except BadPattern as bad:
                    self._fault("E203", node, f'matches("{written}"): {bad}', bad.fix)
            case nodes.Filter(name="matches", args=[_]):
                fix = 'write it in quotes: matches("[0-9]+")'
                self._fault("E203", node, "matches() takes a pattern that is written out", fix)

    def _own(self, kind: str, name: str, node: nodes.Call | nodes.Filter) -> None:
        """Note a call of the bot's own Python. That it is declared is checked once all files are read."""
        keywords = tuple(str(keyword.key) for keyword in node.kwargs)
        if not self._spreads(node):
            self.calls.append(Called(kind, name, len(node.args), keywords, node.lineno))

    def _spreads(self, node: nodes.Call | nodes.Filter) -> bool:
        if node.dyn_args is None and node.dyn_kwargs is None:
            return False
        self._fault("E203", node, "* before an argument is not available here", "write the arguments out")
        return True

    def _loop(self, node: nodes.For, bound: frozenset[str], depth: int, loops: int) -> None:
        if loops == MAX_LOOPS:
            self._fault("E205", node, f"more than {MAX_LOOPS} loops inside each other", "work the value out in Python")
            return
        if node.recursive:
            self._fault("E203", node, "a recursive loop is not available here", "work the value out in Python")
        self.walk(node.iter, bound, depth + 1, loops)
        targets = {name.name for name in node.target.find_all(nodes.Name)} | (
            {node.target.name} if isinstance(node.target, nodes.Name) else set()
        )
        self.loops |= targets
        for taken in sorted(targets.intersection(RESERVED_NAMES)):
            fix = f"give the element of the loop another name: {RESERVED_LIST}"
            self._fault("E306", node, f'"{taken}": the name is reserved', fix)
        inner = bound | targets | {"loop"}
        for child in (*node.body, *([] if node.test is None else [node.test])):
            self.walk(child, inner, depth + 1, loops + 1)
        for child in node.else_:
            self.walk(child, bound, depth + 1, loops)

    def _unknown(self, node: nodes.Node, kind: str, name: str, known: Collection[str]) -> None:
        fix = did_you_mean(name, known, f"there are {', '.join(sorted(known))}")
        self._fault("E204", node, f'no {kind} "{name}"', fix)

    def _fault(self, code: str, node: nodes.Node, what: str, fix: str, name: str = "") -> None:
        self.faults.append(GrammarFault(code, node.lineno, what, fix, name))


def _is_text(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and isinstance(node.value, str)


def _is_message_field(node: nodes.Node) -> bool:
    """True if it is ``message.kind`` or the like."""
    match node:
        case nodes.Getattr(node=nodes.Name(name=name), attr=attribute):
            return name == _MESSAGE and attribute in MESSAGE_FIELDS
    return False


def path_of(node: nodes.Node) -> tuple[str, ...]:
    """``order.customer.name`` as its parts; empty if it does not begin with a name."""
    parts: list[str] = []
    while True:
        match node:
            case nodes.Name(name=name):
                return (name, *reversed(parts))
            case nodes.Getattr(node=base, attr=attribute):
                parts.append(attribute)
                node = base
            case nodes.Getitem(node=base, arg=nodes.Const(value=str(attribute))):
                parts.append(attribute)
                node = base
            case _:
                return ()
