"""Templates and expressions of flow files: Jinja2 in a sandbox, checked at load, bounded in work and size.

The contact's words are values in the scope, never source. A scope holds the flow's variables and ``contact``,
``now`` (in the bot's time zone), ``today``, ``came_from``, ``message``, ``history`` and ``window_open``.
"""

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Self, TypeVar

import jinja2
from jinja2 import Environment, nodes
from jinja2.parser import Parser

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.filters import DRAW, FILTERS, FUNCTIONS
from bot.language.expressions.formats import MAX_TEXT, too_long, written
from bot.language.expressions.grammar import Called, TemplateUses
from bot.language.expressions.inlining import MOST_NODES, Hidden, TooMany, expression_of, inlined
from bot.language.expressions.sandbox import EACH, OWN_FILTER, Missing, RenderContext, Sandbox
from bot.language.expressions.template_failures import CALL, TemplateFailed, kinds_in
from bot.language.source.problems import Mark, Problems, lookalike

__all__ = ["FILTERS", "FUNCTIONS", "Expression", "Template", "TemplateFailed", "compile_expression", "compile_template"]

Node = TypeVar("Node", bound=nodes.Node)

SANDBOX = Sandbox()
_SYNTAX = lazy_pattern(r"\{[{%#]")
_PLAIN = lazy_pattern(r"(?:[^{]|\{(?![{%#])|\{\{ ?[a-z_]\w* ?\}\})*")
_OF_OTHER_LANGUAGES = (
    (lazy_pattern(r"=>"), "write >= for at least"),
    (lazy_pattern(r"=<"), "write <= for at most"),
    (lazy_pattern(r"[!=]=="), "write == to compare, or !="),
    (lazy_pattern(r"&&|\|\||!(?!=)"), "write `and`, `or`, `not`"),
    (lazy_pattern(r"(?<![=!<>])=(?!=)"), "write == to compare"),
    (lazy_pattern(r"\bis (not )?[\d\"']"), "write == or != to compare"),
)
_ONE_VALUE = "write one value or one comparison; a text in it needs quotes, as in name == 'Ann'"
_FAILURES = (
    jinja2.TemplateError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError, RecursionError,
)  # fmt: skip


class _Program:
    """Parsed source, compiled when it is first used or prepared."""

    __slots__ = (
        "_pieces", "_root", "_tree", "calls", "definitions", "hours", "loops", "mark", "names", "paths", "source", "titles",
    )  # fmt: skip

    def __init__(
        self, source: str, mark: Mark, tree: nodes.Template | None = None, uses: TemplateUses | None = None
    ) -> None:
        self.source = source
        self.mark = mark
        self.names = frozenset() if uses is None else frozenset(uses.names)
        self.paths = frozenset() if uses is None else frozenset(uses.paths)
        self.hours = frozenset() if uses is None else frozenset(uses.hours)
        self.titles = frozenset() if uses is None else frozenset(uses.titles)
        self.loops = frozenset() if uses is None else frozenset(uses.loops)
        self.calls: tuple[tuple[Called, Mark], ...] = ()  # of the bot's own Python
        self.definitions: tuple[Definition, ...] = ()  # that it uses, also where one uses another
        self._tree = tree
        self._root: Callable[[RenderContext], Iterator[Any]] | None = None
        self._pieces: Sequence[tuple[str, bool]] = ()  # of a text of nothing but names, which needs no compiling

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"

    @property
    def tree(self) -> nodes.Template:
        """The syntax tree: parsed anew where compiling has taken the first one away."""
        if self._tree is not None:
            return self._tree
        return _inlined(self._parsed(), self.definitions) if self.definitions else self._parsed()

    @property
    def explained(self) -> str:
        """The source, and what the definitions in it stand for."""
        stand_for = "; ".join(f"{each.name}: {each.expression.source}" for each in self.definitions)
        return f"{self.source} ({stand_for})" if stand_for else self.source

    def _parsed(self) -> nodes.Template:
        return parse_template(self.source)

    def calls_function(self, name: str) -> bool:
        """True if a built-in function is called in it."""
        called = (call.node for call in self.tree.find_all(nodes.Call))
        return any(isinstance(each, nodes.Name) and each.name == name for each in called)

    @property
    def patterns(self) -> Iterator[str]:
        """The regular expressions of `matches` in it."""
        if "matches" not in self.explained:  # as in most texts, which need not be parsed for that
            return
        for node in self.tree.find_all(nodes.Filter):
            match node:
                case nodes.Filter(name="matches", args=[nodes.Const(value=str(written))]):
                    yield written

    def prepare(self) -> None:
        """Compile now, so that the first contact does not wait for it."""
        if self._tree is not None:
            self._pieces = _texts_and_names(self._tree)
            if not self._pieces:
                self._root = compiled(self._tree)
            self._tree = None

    def _parts(self, scope: Mapping[str, Any]) -> Iterable[Any]:
        self.prepare()
        if self._pieces:
            try:
                return [scope[text] if is_name else text for text, is_name in self._pieces]
            except KeyError:  # a function's name, or one that is missing
                pass
        if self._root is None:
            self._root = compiled(self.tree)
        return self._root(RenderContext(SANDBOX, scope, None, {}))  # type: ignore[arg-type]  # it is only read

    def _single(self, scope: Mapping[str, Any]) -> Any:
        """The value of a program that is one expression."""
        try:
            (value,) = self._parts(scope)
            if isinstance(value, Missing):
                value._fail_with_undefined_error()
        except (TemplateFailed, *_FAILURES) as error:
            raise self._failed(error) from error
        return value

    def _failed(self, error: Exception) -> TemplateFailed:
        used = ", ".join(f'"{each.name}" of {each.expression.mark}' for each in self.definitions)
        return TemplateFailed(f"{self.mark}: {_reason(error)}{used and f' (it uses {used})'}")


class Expression(_Program):
    """A bare expression, as in `if` and `from`."""

    __slots__ = ()

    def _parsed(self) -> nodes.Template:
        return _read_expression(self.source)[0]

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The value, with its type. Raises `TemplateFailed`."""
        return self._single(scope)


@immutable
class Definition:
    """A name that stands for an expression: each use evaluates it anew."""

    name: str
    expression: Expression


def _inlined(tree: nodes.Template, definitions: Iterable[Definition]) -> nodes.Template:
    """The tree with the expressions in place of their names."""
    expressions = {each.name: each.expression for each in definitions}
    return inlined(
        tree,
        {name: expression.tree for name, expression in expressions.items()},
        {name: expression.names for name, expression in expressions.items()},
    )


class Template(_Program):
    """A text with values in it. A text without any ``{{``, ``{%`` or ``{#`` is `constant` and costs nothing."""

    __slots__ = ("_own_texts", "constant", "single")

    def __init__(
        self, source: str, mark: Mark, tree: nodes.Template | None = None, uses: TemplateUses | None = None
    ) -> None:
        super().__init__(source, mark, tree, uses)
        self.constant = tree is None
        self.single = tree is not None and is_single(tree)
        self._own_texts: frozenset[str] | None = None

    @property
    def wordings(self) -> "tuple[Template, ...]":
        """The texts that it may be: several if it is a choice, else only itself."""
        return (self,)

    @property
    def blank(self) -> bool:
        """True if it is always empty."""
        return self.constant and not self.source.strip()

    @classmethod
    def plain(cls, text: str, mark: Mark) -> Self:
        """A text without templates."""
        return cls(text, mark)

    @property
    def own_texts(self) -> frozenset[str]:
        """The texts that are written in it, also within its expressions."""
        if self._own_texts is None:
            written = {each.data for each in self.tree.find_all(nodes.TemplateData)}
            constants = {each.value for each in self.tree.find_all(nodes.Const) if isinstance(each.value, str)}
            self._own_texts = frozenset(written | constants)
        return self._own_texts

    def render(self, scope: Mapping[str, Any], foreign: Callable[[str], str] | None = None) -> str:
        """The text, at most `MAX_TEXT` characters. Raises `TemplateFailed`.

        ``foreign`` is done to each text that a value brings. Numbers, days and times are no such texts.
        """
        if self.constant:
            return self.source
        texts, size = [], 0  # as `bounded` does it, which costs a little more
        try:
            for part in self._parts(scope):
                piece = part if type(part) is str else _text(part)
                if foreign is not None and isinstance(part, str | list | Mapping) and piece not in self.own_texts:
                    piece = foreign(piece)
                size += len(piece)
                if size > MAX_TEXT:
                    too_long()
                texts.append(piece)
        except (TemplateFailed, *_FAILURES) as error:
            raise self._failed(error) from error
        text = "".join(texts)
        return text.rstrip("\n") if self.source.endswith("%}") else text  # the break before `{% endif %}` ends a line

    def value(self, scope: Mapping[str, Any]) -> Any:
        """The value with its type where the text is exactly one ``{{ }}``, else the text. Raises `TemplateFailed`."""
        return self._single(scope) if self.single else self.render(scope)


_UNKNOWN = "{{ none }}"


def compile_template(source: str, mark: Mark, problems: Problems, *, literal: bool = False) -> Template:
    """Read a template. A mistake becomes a problem, and a text with unknown content takes its place.

    ``literal``: the source is a ``|`` block, so its lines follow the line of the mark.
    """
    if _SYNTAX.search(source) is None:
        return Template(source, mark)
    reading = _Reading(source, mark, problems, literal)
    tree = reading.parse("E201", "this text", _read_template)
    if tree is None:
        source, tree = _UNKNOWN, parse_template(_UNKNOWN)
    template = Template(source, mark, tree, reading.uses)
    template.calls, template.definitions = reading.calls, reading.definitions
    return template


def compile_expression(source: str, mark: Mark, problems: Problems) -> Expression:
    """Read an expression. A mistake becomes a problem, and null takes its place."""
    reading = _Reading(source, mark, problems, literal=False)
    tree = None
    if _SYNTAX.search(source) is not None:
        problems.add("E202", mark, "an expression stands here without {{ }}", "leave the braces out")
    else:
        tree = reading.parse("E202", "this expression", _read_expression)
    if tree is None:
        source, tree = "none", _read_expression("none")[0]
    expression = Expression(source, mark, tree, reading.uses)
    expression.calls, expression.definitions = reading.calls, reading.definitions
    return expression


class _Reading:
    """One source being parsed and checked."""

    def __init__(self, source: str, mark: Mark, problems: Problems, literal: bool) -> None:
        self.uses = TemplateUses()
        self.calls: tuple[tuple[Called, Mark], ...] = ()
        self.definitions: tuple[Definition, ...] = ()
        self._source = source
        self._mark = mark
        self._problems = problems
        self._literal = literal

    def parse(
        self, code: str, kind: str, read: Callable[[str], tuple[nodes.Template, TemplateUses]]
    ) -> nodes.Template | None:
        """The syntax tree, or None after the problems that are in it."""
        if len(self._source) > MAX_TEXT:
            self._problems.add(
                "E205", self._mark, f"{kind} has {len(self._source)} characters, {MAX_TEXT} are allowed", "shorten it"
            )
            return None
        try:
            tree, self.uses = read(self._source)
            self.calls = tuple((called, self._at(called.line)) for called in self.uses.calls)
            used = self.uses.names & self._problems.definitions.keys()
            if self.uses.faults:
                self.uses = replace(self.uses, names=self.uses.names - used)
            elif used:
                tree = self._inlined(tree, [self._problems.definitions[name] for name in sorted(used)])
        except jinja2.TemplateSyntaxError as error:
            what = f"{kind} cannot be read: {_in_words(error)}"
            fix = _fix_of_expression(self._source) or _ONE_VALUE if code == "E202" else _fix_of(error, self._source)
            self._problems.add(code, self._at(error.lineno), what, fix)
            return None
        except RecursionError:
            self._problems.add("E205", self._mark, f"{kind} is nested too deeply", "make it simpler")
            return None
        except ValueError:
            self._problems.add(code, self._mark, f"{kind} holds a number that is too long", "shorten it")
            return None
        except TooMany:
            what = f"{kind} has more than {MOST_NODES} parts with all that its definitions stand for"
            self._problems.add("E205", self._mark, what, "save a part of it in a variable, or work it out in Python")
            return None
        except Hidden as hidden:
            what = f'{kind}: its loop hides the variable "{hidden.name}", which the definition "{hidden.defined}" reads'
            self._problems.add("E306", self._mark, what, "give the element of the loop another name")
            return None
        for fault in self.uses.faults:
            if not self._problems.is_taken(self._mark, fault.name):
                self._problems.add(fault.code, self._at(fault.line), fault.what, fault.fix)
        return None if self.uses.faults else tree

    def _inlined(self, tree: nodes.Template, used: Iterable[Definition]) -> nodes.Template:
        """The tree with these definitions in place. Their names count as its own; their calls are already checked."""
        found = {each.name: each for one in used for each in (one, *one.expression.definitions)}
        self.definitions = tuple(found[name] for name in sorted(found))
        own, self.uses = self.uses, TemplateUses()
        tree = _inlined(tree, self.definitions)
        self.uses.walk(tree)
        self.uses.hours, self.uses.titles = own.hours, own.titles
        return tree

    def _at(self, line: int) -> Mark:
        return Mark(self._mark.path, self._mark.line + line, 1) if self._literal else self._mark


def parse_template(source: str) -> nodes.Template:
    """The syntax tree of a text. Raises `jinja2.TemplateSyntaxError`."""
    return _read_template(source)[0]


_VALUE = lazy_pattern(r"\{\{(?![-+])([^{}\r\n]*)(?<![-+])\}\}")
"""A value whose expression has no braces, in a line."""


def _read_template(source: str) -> tuple[nodes.Template, TemplateUses]:
    """The syntax tree of a text, and what it uses. Raises `jinja2.TemplateSyntaxError`.

    A line of values and plain text is put together from the trees of its expressions, which many texts have in common.
    """
    pieces = _VALUE.split(source)
    texts, values = pieces[::2], pieces[1::2]
    if any(_SYNTAX.search(text) or text.endswith("{") for text in texts) or "\n" in source or "\r" in source:
        return _with_uses(Parser(SANDBOX, source).parse())
    try:
        read = [_read_expression(value.strip()) for value in values]
    except jinja2.TemplateSyntaxError:  # the message is to be about the whole text
        return _with_uses(Parser(SANDBOX, source).parse())
    shared = {"lineno": 1, "environment": SANDBOX}
    parts: list[nodes.Expr] = []
    for text, value in zip_longest(texts, read):
        parts += [nodes.TemplateData(text, **shared)] if text else []
        parts += [] if value is None else [expression_of(value[0])]
    uses = TemplateUses.of_all(each for _, each in read)
    return nodes.Template([nodes.Output(parts, **shared)], **shared), uses


def _with_uses(tree: nodes.Template) -> tuple[nodes.Template, TemplateUses]:
    uses = TemplateUses()
    uses.walk(tree)
    return tree, uses


@lru_cache(maxsize=4096)
def _read_expression(source: str) -> tuple[nodes.Template, TemplateUses]:
    """The syntax tree of an expression, and what it uses, which nobody changes. Raises `jinja2.TemplateSyntaxError`."""
    return _with_uses(parse_expression(source))


def parse_expression(source: str) -> nodes.Template:
    """The syntax tree of a text that is nothing but this expression. Raises `jinja2.TemplateSyntaxError`."""
    parser = Parser(SANDBOX, source, state="variable")
    expression = parser.parse_expression()
    if not parser.stream.eos:
        parser.fail(f'"{parser.stream.current.value}" is not expected here')
    tree = nodes.Template([nodes.Output([expression], lineno=1)], lineno=1)
    tree.set_environment(SANDBOX)
    return tree


def is_single(tree: nodes.Template) -> bool:
    """True if a text is exactly one ``{{ }}``."""
    match tree.body:
        case [nodes.Output(nodes=[only])]:
            return not isinstance(only, nodes.TemplateData)
    return False


def compiled(tree: nodes.Template) -> Callable[[RenderContext], Iterator[Any]]:
    """A function that yields the parts of a text."""
    return jinja2.Template.from_code(SANDBOX, SANDBOX.compile(_completed(tree)), {}).root_render_func


def _texts_and_names(tree: nodes.Template) -> Sequence[tuple[str, bool]]:
    """The pieces of a text of nothing but names, each with whether it is one; none of any other text."""
    pieces = []
    match tree.body:
        case [nodes.Output(nodes=parts)]:
            for part in parts:
                match part:
                    case nodes.TemplateData(data=text):
                        pieces.append((text, False))
                    case nodes.Name(name=name):
                        pieces.append((name, True))
                    case _:
                        return ()
    return pieces


def _completed(tree: Node) -> Node:
    """A copy of the tree in which loops count their elements, and `OWN_FILTER` stands for each of the bot's filters."""
    node = copy.copy(tree)
    for field, value in tree.iter_fields():
        if isinstance(value, nodes.Node):
            setattr(node, field, _completed(value))
        elif isinstance(value, list):
            setattr(node, field, [_completed(each) if isinstance(each, nodes.Node) else each for each in value])
    match node:
        case nodes.For():
            node.iter = nodes.Filter(node.iter, EACH, [nodes.Const(_size(node))], [], None, None, lineno=node.lineno)
        case nodes.Filter(name=name) if name not in FILTERS:
            node.args.insert(0, nodes.Const(name, lineno=node.lineno))
            node.name = OWN_FILTER
    return node


def _size(loop: nodes.For) -> int:
    """The number of nodes that each pass of a loop evaluates; filters and functions count for more than one."""
    inside = [part for child in (*loop.body, loop.test) if child for part in (child, *child.find_all(nodes.Node))]
    return len(inside) + CALL * sum(isinstance(part, nodes.Filter | nodes.Call) for part in inside)


def is_plain(text: Template) -> bool:
    """True if a text contains nothing but values of variables, so that it need not be parsed."""
    return not text.definitions and _PLAIN.fullmatch(text.source) is not None


def _fix_of_expression(source: str) -> str | None:
    """The fix for an expression in another language's syntax, or cut off by a comma between braces."""
    if any(source.count(opening) > source.count(closing) for opening, closing in ("()", "[]", "{}")):
        return "close its bracket; if it has a comma, put all of it in quotes"
    found = (fix for pattern, fix in _OF_OTHER_LANGUAGES if pattern.search(source))
    return lookalike(source) or next(found, None)


def _fix_of(error: jinja2.TemplateSyntaxError, source: str) -> str:
    """The fix for a text that Jinja2 cannot parse."""
    if "unknown tag 'end" in (error.message or "") and _open_block(error) is None:
        return "leave it out, or write the {% if %} or {% for %} before it"
    if re.search(r"\{%-?\s*else\s+if\b", source) is not None:
        return "write {% elif %} in place of {% else if %}"
    if "char '?'" in (error.message or ""):
        return 'write {{ "one" if condition else "other" }}'
    if "unexpected char" in (error.message or "") and (fix := lookalike(source)) is not None:
        return fix
    if "unknown tag" in (error.message or "") and "was looking for" not in (error.message or ""):
        return "only if and for stand in {% %}; write a value as {{ name }}"
    if (block := _open_block(error)) is not None:
        return f"write {{% end{block} %}} where it ends"
    return "look at its braces, brackets and quotes"


def _open_block(error: jinja2.TemplateSyntaxError) -> str | None:
    """The tag, ``if`` or ``for``, whose end is missing."""
    found = re.search("needs to be closed is '(if|for)'", error.message or "")
    return None if found is None else found[1]


def _text(part: Any) -> str:
    if isinstance(part, Missing):
        part._fail_with_undefined_error()
    return written(part)


def _in_words(error: jinja2.TemplateSyntaxError) -> str:
    if (block := _open_block(error)) is not None:
        return f"{{% {block} %}} is not closed"
    if "end of template" in (error.message or "") and "print statement" not in (error.message or ""):
        return "it ends too early"
    return (error.message or "it is incomplete").rstrip(".").replace("end of print statement", '"}}"')


def _reason(error: Exception) -> str:
    """The reason why it failed, without any value, because a value may be a contact's text."""
    match error:
        case TemplateFailed() | jinja2.UndefinedError():
            return str(error)
        case ZeroDivisionError():
            return "a division by zero"
        case TypeError():
            kinds = kinds_in(str(error))
            return f"{' and '.join(kinds)} cannot be used like this" if kinds else "these values do not go together"
        case RecursionError():
            return "the value is nested too deeply"
        case ArithmeticError():
            return "a calculation without a result"
    return "a value does not fit here"


class AnyOf(Template):
    """A text in several wordings: each time it is sent, chance takes one (`{any: [Hi!, Hello!]}`)."""

    __slots__ = ("_wordings",)

    def __init__(self, wordings: tuple[Template, ...], mark: Mark) -> None:
        super().__init__(wordings[0].source, mark)
        self.constant = False
        self.names = frozenset().union(*(wording.names for wording in wordings))
        self.paths = frozenset().union(*(wording.paths for wording in wordings))
        self.loops = frozenset().union(*(wording.loops for wording in wordings))
        self.calls = tuple(call for wording in wordings for call in wording.calls)
        self.definitions = tuple(dict.fromkeys(each for wording in wordings for each in wording.definitions))
        self._wordings = wordings

    @property
    def wordings(self) -> tuple[Template, ...]:
        """The texts that it may be."""
        return self._wordings

    def prepare(self) -> None:
        """Compile them all."""
        for wording in self._wordings:
            wording.prepare()

    def render(self, scope: Mapping[str, Any], foreign: Callable[[str], str] | None = None) -> str:
        """One of them. Raises `TemplateFailed`."""
        return self._wordings[int(scope[DRAW]() * len(self._wordings))].render(scope, foreign)


Pieces = tuple[str | Template, ...]

_LEXER = Environment()


def pieces_of(source: str, mark: Mark, problems: Problems) -> Pieces | None:
    """Take a text with ``{{ }}`` apart. A mistake becomes a problem, and the result is None."""
    if compile_template(source, mark, problems).source != source:
        return None  # a problem was added, and an empty text takes its place
    pieces: list[str | Template] = []
    inside: list[str] = []
    for _, kind, text in _LEXER.lex(source):
        if kind == "data":
            pieces.append(text)
        elif kind in ("block_begin", "comment_begin"):
            problems.add("E203", mark, f"{text} is not available here", "keep to values in {{ }}")
            return None
        else:
            inside.append(text)
        if kind == "variable_end":
            pieces.append(compile_template("".join(inside), mark, problems))
            inside.clear()
    return tuple(pieces)


_RECORDS = frozenset({"contact", "message"})  # of which each field is a value of its own


def values_used(text: Template) -> frozenset[str]:
    """All values that a text reads, each as it is written."""
    fields = {".".join(path[:2]) for path in text.paths if path[0] in _RECORDS}
    return frozenset(text.names - _RECORDS) | fields


def values_shown(text: Template, *, whole: bool = False) -> frozenset[str]:
    """The values that a text shows, without those that only its conditions read; ``whole``: nor truncated ones."""
    if text.constant:
        return frozenset()
    found = frozenset(name for node in text.tree.body for name in _shown(node, whole))
    return found & values_used(text)  # without the names of loops


def _shown(node: nodes.Node, whole: bool) -> Iterator[str]:
    match node:
        case nodes.Filter(name="truncate") if whole:
            return
        case nodes.Name(name=name):
            yield name
        case nodes.Getattr(node=nodes.Name(name=name), attr=field) if name in _RECORDS:
            yield f"{name}.{field}"
        case nodes.Compare() | nodes.Test() | nodes.Not() | nodes.Call():
            return
        case _:
            conditions = (node.test,) if isinstance(node, nodes.If | nodes.CondExpr | nodes.For) else ()
            for child in node.iter_child_nodes():
                if child not in conditions:
                    yield from _shown(child, whole)
