"""The Jinja2 environment of templates: values only, no methods, decimal numbers, bounded work.

Safe by construction: attributes are items of records or the few fields listed here, and the only things that can
be called are `CHANCE_FUNCTIONS` and the bot's own. Jinja2's own sandbox stands behind that.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.compiler import operators
from jinja2.lexer import TOKEN_BLOCK_BEGIN, TOKEN_COMMENT_BEGIN, TOKEN_DATA, TOKEN_VARIABLE_BEGIN, TokenStream
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from bot.core import values
from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern
from bot.core.values import Location, Media, UnstorableValue
from bot.language.expressions import filters
from bot.language.expressions.filters import FILTERS, FUNCTIONS, TESTS, strict, there
from bot.language.expressions.formats import MAX_TEXT, MOST_DIGITS, bounded, exact, too_long, written
from bot.language.expressions.list_filters import PLACE, OfEach, elements, of_each
from bot.language.expressions.template_failures import EFFORT, SHORT, SIZED, WRITTEN, Effort, TemplateFailed, kind_of
from bot.language.python.decorators import NOW_PARAMETER, FunctionSpec, raised_at
from bot.language.source.problems import did_you_mean
from bot.language.source.wall_clock import later

A_CALL, COPIED = 5_000, 10  # units of effort: for each call, and for each value that goes in


class OutOfTime(BotError):
    """Python within a turn was stopped: it took too long."""


class OwnCall:
    """A function or a filter of the bot's own, as the sandbox calls it."""

    def __init__(self, spec: FunctionSpec) -> None:
        self._spec = spec

    @pass_context
    def __call__(self, context: Context, *args: Any, **kwargs: Any) -> Any:
        """Its value, which a conversation can keep. Raises `TemplateFailed`."""
        spec = self._spec
        for value in (*args, *kwargs.values()):
            there(value)
        if spec.takes_now:
            kwargs[NOW_PARAMETER] = context.parent["now"]
        context.effort.spend(A_CALL)  # type: ignore[attr-defined]  # the sandbox's
        context.effort.count([*args, *kwargs.values()], COPIED)  # type: ignore[attr-defined]
        what = f'{spec.kind} "{spec.name}"'
        return kept(what, call_own(what, spec.function, args, kwargs))


def own_calls(specs: Iterable[FunctionSpec]) -> Mapping[str, OwnCall]:
    """The functions of the bot's Python in a scope: the value of `OWN_FUNCTIONS`."""
    return {spec.name: OwnCall(spec) for spec in specs}


def kept(what: str, result: Any) -> Any:
    """The result of a function of the bot's, as a value that a conversation can keep. Raises `TemplateFailed`."""
    try:
        return values.keepable(result)
    except UnstorableValue as error:
        raise TemplateFailed(f"what {what} returns cannot be kept: {error}") from error


def call_own(what: str, function: Callable[..., Any], args: Iterable[Any] = (), kwargs: Any = None) -> Any:
    """Call a function of the bot's, with copies of its arguments. Raises `TemplateFailed` for every error of the
    function.

    The error has the place where it was raised, and nothing of its text, which may quote a contact.
    """
    try:
        return function(*copy.deepcopy(tuple(args)), **copy.deepcopy(kwargs or {}))
    except OutOfTime as error:
        raise TemplateFailed(f"{what} {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and CancelledError too: no function ends the engine
        raise TemplateFailed(f"{what} raised {type(error).__name__}{raised_at(function, error)}") from error


OWN_FUNCTIONS = " own"  # the bot's own functions and filters, by name


class TemplateCodeGenerator(NativeCodeGenerator):
    """Keeps values as they are until they are shown; numbers with a point are decimals; what loops do is counted."""

    _loops = 0

    def _output_child_to_const(self, node: nodes.Expr, frame: Any, finalize: Any) -> str:
        if isinstance(node, nodes.TemplateData):
            return node.data
        raise nodes.Impossible

    def visit_Const(self, node: nodes.Const, frame: Any) -> None:
        """A number with a point is a decimal."""
        if isinstance(node.value, float):
            self.write(f"environment.decimal({str(node.value)!r})")
        else:
            super().visit_Const(node, frame)

    def visit_List(self, node: nodes.List, frame: Any) -> None:
        """Every item has to be there."""
        self._visit_items("[", node.items, "]", frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Any) -> None:
        """Every item has to be there."""
        if node.ctx == "load":
            self._visit_items("(", node.items, ")", frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Any) -> None:
        """Every name and every value has to be there."""
        self.write("dict(zip(")
        self._visit_items("(", [pair.key for pair in node.items], "), ", frame)
        self._visit_items("(", [pair.value for pair in node.items], ")))", frame)

    def _visit_items(self, opening: str, items: list[nodes.Expr], closing: str, frame: Any) -> None:
        """A list of values, each of which has to be there."""
        self.write(opening)
        for item in items:
            self.write("environment.there(")
            self.visit(item, frame)
            self.write("), ")
        self.write(closing)

    def visit_Concat(self, node: nodes.Concat, frame: Any) -> None:
        """``a ~ b``, as texts that contacts read."""
        self.write("context.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_For(self, node: nodes.For, frame: Any) -> None:
        """Count the elements of a loop."""
        self._loops += 1
        super().visit_For(node, frame)
        self._loops -= 1

    def visit_Compare(self, node: nodes.Compare, frame: Any) -> None:
        """``a in b``, ``a == b``."""
        visit = self.visit if _is_quick(node) else self._visit_counted
        self.write("(")
        visit(node.expr, frame)
        for operand in node.ops:
            self.write(f" {operators[operand.op]} ")
            visit(operand.expr, frame)
        self.write(")")

    def visit_Filter(self, node: nodes.Filter, frame: Any) -> None:
        """``a | f``: filters for texts read all of it; others take a single value, or count what they go through."""
        assert node.node is not None  # there are no filter blocks
        with self._filter_test_common(node, frame, True):
            if node.name in filters.TEXT_FILTERS:
                self._visit_counted(node.node, frame, WRITTEN)
            else:
                self.visit(node.node, frame)

    def signature(self, node: Any, frame: Any, extra_kwargs: Any = None) -> None:
        """The arguments; those that are evaluated for each element are functions of it."""
        each = of_each(node)
        for argument in node.args:
            if any(argument is one for one in each):
                self._visit_of_each(argument, frame)
            else:
                self.write(", ")
                self.visit(argument, frame)
        super().signature(nodes.Filter(None, "", [], node.kwargs, node.dyn_args, node.dyn_kwargs), frame, extra_kwargs)

    def _visit_of_each(self, argument: nodes.Expr, frame: Any) -> None:
        self._loops += 1
        parts = [argument, *argument.find_all(nodes.Node)]
        places = any(isinstance(part, nodes.Name) and part.name == "loop" for part in parts)
        names = [frame.symbols.find_ref(name) or name for name in (PLACE if places else PLACE[:1])]
        self.write(f", environment.of_each(lambda {', '.join(names)}: ")
        self.visit(argument, frame)
        self.write(f", {len(parts)}, {places})")
        self._loops -= 1

    def visit_Call(self, node: nodes.Call, frame: Any, forward_caller: bool = False) -> None:
        """``title_of(size)`` gets the name of its variable as well."""
        match node:
            case nodes.Call(node=nodes.Name(name=filters.TITLE_OF), args=[nodes.Name(name=name) as value]):
                node = nodes.Call(node.node, [value, nodes.Const(name)], [], None, None)
        super().visit_Call(node, frame, forward_caller=forward_caller)

    def visit_Getitem(self, node: nodes.Getitem, frame: Any) -> None:
        """``a[1:]`` is a copy."""
        is_copy = self._loops and isinstance(node.arg, nodes.Slice)
        self.write("context.counted(" if is_copy else "")
        super().visit_Getitem(node, frame)
        self.write(")" if is_copy else "")

    def _visit_counted(self, node: nodes.Expr, frame: Any, times: int = 1) -> None:
        """A value that is gone through: in a loop, that is counted each time."""
        if self._loops and not _is_written_out(node):
            self.write("context.counted(")
            self.visit(node, frame)
            self.write(f", {times})")
        else:
            self.visit(node, frame)


def _is_quick(node: nodes.Compare) -> bool:
    """True if something is compared with one constant, which takes no longer for a large value."""
    first, (operand, *more) = node.expr, node.ops
    written_out = isinstance(first, nodes.Const) or isinstance(operand.expr, nodes.Const)
    return written_out and not more and operand.op not in ("in", "notin")


def _is_written_out(node: nodes.Expr) -> bool:
    items = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    return all(isinstance(item, nodes.Const) for item in items)


_TICK = timedelta(microseconds=1)
MAX_NUMBER_BITS = 256
EACH = " each"  # the filter around every loop's list; no template can spell this name
OWN_FILTER = " own"  # the name of every filter of the bot's own; the first argument is the filter's name
_DAY = ("year", "month", "day")
_CLOCK = ("hour", "minute", "second")
FIELDS: dict[type, tuple[str, ...]] = {
    date: _DAY,
    datetime: _DAY + _CLOCK,
    time: _CLOCK,
    timedelta: ("days",),
    Media: ("kind", "url", "caption", "file", "type"),
    Location: ("latitude", "longitude", "name", "address"),
    LoopContext: ("index", "first", "last", "length"),
}
"""The fields of values that are no records."""


class Missing(StrictUndefined):
    """A value that is not there: only `default` and `is defined` may touch it."""

    @property
    def _undefined_message(self) -> str:
        if self._undefined_obj is missing:
            return f'no variable "{self._undefined_name}"'
        if self._undefined_name is None:
            return f"no such element in {kind_of(self._undefined_obj)}"
        known = self._undefined_obj if isinstance(self._undefined_obj, Mapping) else ()
        meant = did_you_mean(str(self._undefined_name), [str(key) for key in known])
        return f'no "{self._undefined_name}" in {kind_of(self._undefined_obj)}{meant and ": " + meant}'


class RenderContext(Context):
    """One rendering's names, and the work it has done: how many elements it has read, and its turn's effort."""

    spent = 0
    _effort: Effort | None = None

    @property
    def effort(self) -> Effort:
        """The work that the rest of this turn may do."""
        if self._effort is None:
            self._effort = self.parent.get(EFFORT) or Effort()
        return self._effort

    def counted(self, value: Any, times: int = 1) -> Any:
        """The value itself, whose parts are counted as work. Raises `TemplateFailed` if that is too much."""
        kind = type(value)
        if kind in SIZED and (kind is not str or len(value) > SHORT):
            self.effort.count(value, times)
        return value

    def joined(self, parts: tuple[Any, ...]) -> str:
        """``a ~ b``."""
        text = bounded(part if type(part) is str else written(self.counted(there(part), WRITTEN)) for part in parts)
        self.counted(text)
        return text

    def resolve_or_missing(self, key: str) -> Any:
        """The value of a name; the functions are there beside the scope's own."""
        value = self.parent.get(key, missing)
        if value is missing:
            value = FUNCTIONS.get(key, missing)
        return self.parent.get(OWN_FUNCTIONS, {}).get(key, missing) if value is missing else value


@pass_context
def _own_filter(context: RenderContext, value: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """A filter of the bot's own."""
    return context.parent[OWN_FUNCTIONS][name](context, value, *args, **kwargs)


class Sandbox(ImmutableSandboxedEnvironment):
    """Reads fields of values, calculates within bounds, calls nothing but `CHANCE_FUNCTIONS` and the bot's own."""

    code_generator_class = TemplateCodeGenerator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    decimal = Decimal
    there = staticmethod(there)
    of_each = OfEach

    def __init__(self) -> None:
        super().__init__(
            undefined=Missing,
            optimized=False,
            cache_size=0,
            keep_trailing_newline=True,
            lstrip_blocks=True,
        )
        self.filters: dict[str, Callable[..., Any]] = {**FILTERS, EACH: strict(elements), OWN_FILTER: _own_filter}
        self.globals = {}
        self.tests = {**TESTS}

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        tokens = _without_block_lines(self.lexer.tokeniter(source, name, filename, state))
        return TokenStream(self.lexer.wrap(tokens, name, filename), name, filename)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """``order.state``: an item of a record, or a listed field."""
        if isinstance(obj, Mapping):
            return exact(obj[attribute]) if attribute in obj else self.undefined(obj=obj, name=attribute)
        if isinstance(obj, Undefined):
            return obj
        if attribute in FIELDS.get(type(obj), ()):
            return getattr(obj, attribute)
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """``order["state"]``, ``items[0]``, ``text[:5]``. Errors do not name the key, which may be a contact's text."""
        if isinstance(obj, Undefined):
            return obj
        indexed = isinstance(obj, list | tuple | str) and isinstance(argument, int | slice)
        if indexed or (isinstance(obj, Mapping) and isinstance(argument, str)):
            try:
                return exact(obj[argument])
            except LookupError:
                pass
        return self.undefined(obj=obj)

    def is_safe_callable(self, obj: Any) -> bool:
        """Nothing in a scope can be called."""
        return isinstance(obj, OwnCall) or any(obj is function for function in FUNCTIONS.values())

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Calculate: decimals where a number has a point, sizes bounded."""
        left, right = exact(there(left)), exact(there(right))
        numbers = _is_number(left) and _is_number(right)
        spans = isinstance(left, timedelta) and isinstance(right, timedelta)
        if operator in ("*", "%", "**") and not (numbers or (spans and operator == "%")):
            raise TemplateFailed(f'"{operator}" calculates with numbers, not {kind_of(left)} and {kind_of(right)}')
        if operator == "**" and not (_is_number(right) and abs(right) <= MAX_NUMBER_BITS):
            raise TemplateFailed("a power that is too large")
        if operator == "/" and isinstance(left, int) and isinstance(right, int):
            left = Decimal(left)
        if operator == "+" and isinstance(right, datetime):
            left, right = right, left
        if isinstance(left, datetime) and left.tzinfo is not None and operator in ("+", "-"):
            return _moved(context, operator, left, right)
        if operator in ("//", "%") and numbers:
            return _bounded(context, _floored(operator, left, right))
        if operator in ("/", "//") and isinstance(left, timedelta) and isinstance(right, Decimal):
            return _part_of(left, right, operator)
        return _bounded(context, super().call_binop(context, operator, left, right))


def _without_block_lines(tokens: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    """The tokens of a text without the ends of lines that hold nothing but blocks and comments. All others stay."""
    only_blocks, blocks = True, False  # in this line, so far
    for line, token, value in tokens:
        if token == TOKEN_DATA:
            ending = _END_OF_LINE.match(value) if only_blocks and blocks else None
            value = value if ending is None else value[ending.end() :]
            last = value.rpartition("\n")[2]
            begun = ending is not None or last != value
            only_blocks, blocks = (only_blocks or begun) and not last.strip(), blocks and not begun
        elif token == TOKEN_VARIABLE_BEGIN:
            only_blocks = False
        elif token in (TOKEN_BLOCK_BEGIN, TOKEN_COMMENT_BEGIN):
            blocks = True
        yield line, token, value


_END_OF_LINE = lazy_pattern(r"[ \t]*\n")


def _floored(operator: str, left: Any, right: Any) -> Any:
    """``//`` rounds down, and ``%`` is what is left: -7 // 2 is -4, -7 % 2 is 1, also where a number has a point."""
    quotient, rest = divmod(left, right)
    if rest and (rest < 0) != (right < 0):  # a decimal, which rounds towards 0
        quotient, rest = quotient - 1, rest + right
    return quotient if operator == "//" else rest


def _part_of(span: timedelta, by: Decimal, operator: str) -> timedelta:
    """A duration that is divided by a number with a point."""
    parts = _floored("//", Decimal(span // _TICK), by) if operator == "//" else Decimal(span // _TICK) / by
    return timedelta(microseconds=round(parts))


def _moved(context: Context, operator: str, moment: datetime, other: Any) -> Any:
    """A time that is later or earlier by a duration, or the duration between two times."""
    if isinstance(other, timedelta):
        return later(moment, other if operator == "+" else -other, context.parent["now"].tzinfo)
    if isinstance(other, datetime) and operator == "-":
        return moment.astimezone(UTC) - other.astimezone(UTC)
    raise TemplateFailed(f'"{operator}" does not go with {kind_of(moment)} and {kind_of(other)}')


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal)


def _bounded(context: Any, value: Any) -> Any:
    if isinstance(value, str | list | tuple):
        if len(value) > MAX_TEXT:
            too_long()
        context.effort.spend(len(value))
    whole = isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS
    if whole or (isinstance(value, Decimal) and value.adjusted() > MOST_DIGITS):
        raise TemplateFailed("a number that is too large")
    return value
