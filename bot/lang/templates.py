"""Templates and expressions: Jinja2, sandboxed, with names known at load and work and size bounded at run time."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import jinja2
import jinja2.meta
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.core.errors import BotError
from bot.core.values import Media
from bot.lang.problems import Problems
from bot.lang.source import Mark

MOST_OUTPUT = 64 * 1024  # characters of one rendered text
MOST_NESTED_LOOPS = 2
_SYNTAX = re.compile(r"\{[{%#]")
_WHOLE = re.compile(r"\s*\{\{-?(?P<inner>.*?)-?\}\}\s*", re.DOTALL)


class TemplateFailed(BotError):
    """A template or an expression could not be worked out with the values at hand."""


def _date(value: Any) -> str:
    """``{{ day | date }}``: 12 May 2030."""
    if not isinstance(value, date):
        raise TemplateFailed(f'"{shown(value)}" is no date')
    return f"{value.day} {value:%B %Y}"


def _time(value: Any) -> str:
    """``{{ starts | time }}``: 09:30."""
    if not isinstance(value, datetime | time):
        raise TemplateFailed(f'"{shown(value)}" has no time of day')
    return f"{value:%H:%M}"


def _default(value: Any, instead: Any = "") -> Any:
    """``{{ name | default('there') }}``: for null and for nothing at all."""
    return instead if value is None or isinstance(value, jinja2.Undefined) or value == "" else value


def _length(value: Any) -> int:
    """``{{ items | length }}``: how many there are; null has none."""
    return 0 if value is None else len(value)


def _join(value: Any, separator: str = ", ") -> str:
    """``{{ names | join(' and ') }}``: a list as one text."""
    return separator.join(shown(item) for item in value)


def _round(value: Any, places: int = 0) -> Decimal | int:
    """``{{ total | round(2) }}``: rounded half up."""
    quantum = Decimal(1).scaleb(-max(0, min(int(places), 12)))
    rounded = Decimal(str(value)).quantize(quantum, rounding="ROUND_HALF_UP")
    return rounded if places else int(rounded)


def _truncate(value: Any, most: int = 100) -> str:
    """``{{ note | truncate(20) }}``: cut, with an ellipsis."""
    text = shown(value)
    return text if len(text) <= most else text[: max(0, most - 1)].rstrip() + "…"


def _text(change: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda value: change(shown(value))


FILTERS: dict[str, Callable[..., Any]] = {
    "date": _date,
    "time": _time,
    "default": _default,
    "length": _length,
    "join": _join,
    "round": _round,
    "truncate": _truncate,
    "upper": _text(str.upper),
    "lower": _text(str.lower),
    "capitalize": _text(str.capitalize),
    "title": _text(str.title),
    "trim": _text(str.strip),
    "first": lambda value: next(iter(value), None),
    "last": lambda value: list(value)[-1] if value else None,
    "abs": abs,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "minutes": lambda count: timedelta(minutes=count),
    "hours": lambda count: timedelta(hours=count),
    "days": lambda count: timedelta(days=count),
    "weeks": lambda count: timedelta(weeks=count),
}
_TESTS = ("defined", "none", "number", "string", "sequence", "mapping", "in", "eq", "ne", "lt", "gt", "le", "ge",
          "odd", "even", "true", "false", "boolean", "undefined")  # fmt: skip


def shown(value: Any) -> str:
    """A value as a contact reads it: null is nothing, numbers are at their shortest."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() | Decimal():
            text = f"{value:f}" if isinstance(value, Decimal) else repr(value)
            return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case list() | tuple():
            return ", ".join(shown(item) for item in value)
        case Media():
            return value.url
    return str(value)


class _Environment(ImmutableSandboxedEnvironment):
    """Values only: fields of records and media, no methods but texts' harmless ones, no work without bounds."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Mapping):
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if isinstance(obj, date | time | timedelta | Media) and not attribute.startswith("_"):
            value = getattr(obj, attribute, None)
            if value is not None and not callable(value):
                return value
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Mapping | list | tuple | str):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        return self.undefined(obj=obj, name=str(argument))

    def is_safe_callable(self, obj: Any) -> bool:
        return obj in FUNCTIONS.values() or (type(obj).__module__ == "jinja2.runtime")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or (operator == "%" and isinstance(left, str)):
            raise SecurityError(f'"{operator}" is not available here')
        if operator == "*" and any(isinstance(side, str | list | tuple) for side in (left, right)):
            raise SecurityError("a text or list cannot be multiplied")
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, str | list) and len(result) > MOST_OUTPUT:
            raise SecurityError("the result is too long")
        if isinstance(result, int) and result.bit_length() > 256:
            raise SecurityError("the number is too large")
        return result


def _environment() -> _Environment:
    environment = _Environment(undefined=jinja2.StrictUndefined, finalize=shown, autoescape=False, cache_size=0)
    environment.filters = dict(FILTERS)
    environment.globals = dict(FUNCTIONS)
    environment.tests = {name: test for name, test in environment.tests.items() if name in _TESTS}
    return environment


_ENVIRONMENT = _environment()
_FORBIDDEN = (
    nodes.Macro, nodes.CallBlock, nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block,
    nodes.FilterBlock, nodes.AssignBlock, nodes.Assign, nodes.With, nodes.ScopedEvalContextModifier,
)  # fmt: skip


@dataclass(slots=True)
class _Compiled:
    """Source that is parsed at load and compiled when it is first needed, or by `prepare`."""

    source: str
    mark: Mark
    names: frozenset[str] = frozenset()
    paths: frozenset[tuple[str, ...]] = frozenset()
    _program: Any = field(default=None, repr=False, compare=False)

    def _failed(self, error: Exception) -> TemplateFailed:
        said = "a value is not what the text expects" if isinstance(error, TypeError) else str(error)
        if isinstance(error, TypeError):
            said = f"{said}: {error}"
        place = f"{self.mark.path}:{self.mark.line}"
        return TemplateFailed(f"{place}: {said.splitlines()[0] if said else type(error).__name__}")


class Expression(_Compiled):
    """A bare expression, as in `if` and `from`."""

    def prepare(self) -> None:
        """Compile now."""
        if self._program is None:
            self._program = _ENVIRONMENT.compile_expression(self.source, undefined_to_none=False)

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The value. Raises `TemplateFailed`."""
        self.prepare()
        try:
            value = self._program(scope)
            if isinstance(value, jinja2.Undefined):
                value._fail_with_undefined_error()
            return value
        except (jinja2.TemplateError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise self._failed(error) from error


class Template(_Compiled):
    """A text with values in it. A text without any Jinja syntax costs nothing."""

    @classmethod
    def plain(cls, text: str, mark: Mark) -> "Template":
        """A text that stands for itself."""
        return cls(text, mark)

    @property
    def constant(self) -> bool:
        """True where there is nothing to fill in."""
        return _SYNTAX.search(self.source) is None

    @property
    def _inner(self) -> str | None:
        """The expression of a text that is exactly one ``{{ }}``."""
        whole = _WHOLE.fullmatch(self.source)
        return None if whole is None or "{{" in whole["inner"] or "}}" in whole["inner"] else whole["inner"].strip()

    def prepare(self) -> None:
        """Compile now."""
        if self._program is None and not self.constant:
            inner = self._inner
            self._program = (
                _ENVIRONMENT.from_string(self.source)
                if inner is None
                else Expression(inner, self.mark, self.names, self.paths)
            )
            if isinstance(self._program, Expression):
                self._program.prepare()

    def value(self, scope: Mapping[str, Any]) -> Any:
        """The value: with its own type where the text is exactly one ``{{ }}``. Raises `TemplateFailed`."""
        self.prepare()
        if self._program is None:
            return self.source
        if isinstance(self._program, Expression):
            return self._program.evaluate(scope)
        return self._rendered(scope)

    def render(self, scope: Mapping[str, Any]) -> str:
        """The text. Raises `TemplateFailed`."""
        text = shown(self.value(scope))
        if len(text) > MOST_OUTPUT:
            raise TemplateFailed(f"{self.mark.path}:{self.mark.line}: the text is longer than {MOST_OUTPUT} characters")
        return text

    def _rendered(self, scope: Mapping[str, Any]) -> str:
        parts, size = [], 0
        try:
            for part in self._program.generate(scope):
                size += len(part)
                if size > MOST_OUTPUT:
                    raise SecurityError(f"the text is longer than {MOST_OUTPUT} characters")
                parts.append(part)
        except (jinja2.TemplateError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise self._failed(error) from error
        return "".join(parts)


def compile_template(source: str, mark: Mark, problems: Problems) -> Template:
    """Read a template; what is wrong with it becomes a problem."""
    if _SYNTAX.search(source) is None:
        return Template(source, mark)
    tree = _parsed(source, mark, problems, "E201", "template")
    return Template("", mark) if tree is None else Template(source, mark, *_names(tree))


def compile_expression(source: str, mark: Mark, problems: Problems) -> Expression:
    """Read a bare expression; what is wrong with it becomes a problem."""
    if _SYNTAX.search(source):
        problems.add("E202", mark, "an expression stands bare here, without {{ }}", "take the braces away")
        return Expression("none", mark)
    tree = _parsed("{{ (" + source + ") }}", mark, problems, "E202", "expression")
    return Expression("none", mark) if tree is None else Expression(source, mark, *_names(tree))


def _parsed(source: str, mark: Mark, problems: Problems, code: str, kind: str) -> nodes.Template | None:
    try:
        tree = _ENVIRONMENT.parse(source)
    except (jinja2.TemplateSyntaxError, RecursionError) as error:
        said = getattr(error, "message", None) or "it is nested too deeply"
        problems.add(code, mark, f"this {kind} cannot be read: {said}", "look at its braces, quotes and names")
        return None
    for fault, fix in _faults(tree):
        problems.add("E203", mark, fault, fix)
        return None
    return tree


def _faults(tree: nodes.Template) -> Iterator[tuple[str, str]]:
    for node in tree.find_all(_FORBIDDEN):
        yield f"templates have no {type(node).__name__.lower()}", "keep to values, if and for; past that, use Python"
    for named in tree.find_all(nodes.Filter):
        if named.name not in FILTERS:
            yield f'no filter "{named.name}"', f"there are {', '.join(sorted(FILTERS))}"
    for test in tree.find_all(nodes.Test):
        if test.name not in _TESTS:
            yield f'no test "{test.name}"', f"there are {', '.join(sorted(_TESTS))}"
    if _loop_depth(tree) > MOST_NESTED_LOOPS:
        yield f"more than {MOST_NESTED_LOOPS} loops inside each other", "work the value out in Python"


def _loop_depth(node: nodes.Node) -> int:
    own = 1 if isinstance(node, nodes.For) else 0
    return own + max((_loop_depth(child) for child in node.iter_child_nodes()), default=0)


def _names(tree: nodes.Template) -> tuple[frozenset[str], frozenset[tuple[str, ...]]]:
    """Free variables, and the dotted paths that are read from them."""
    names = frozenset(jinja2.meta.find_undeclared_variables(tree)) - {"loop"}
    paths = {(*_path(node),) for node in tree.find_all(nodes.Getattr)}
    return names, frozenset(path for path in paths if path and path[0] in names)


def _path(node: nodes.Node) -> tuple[str, ...]:
    if isinstance(node, nodes.Name):
        return (node.name,)
    if isinstance(node, nodes.Getattr) and (base := _path(node.node)):
        return (*base, node.attr)
    return ()
