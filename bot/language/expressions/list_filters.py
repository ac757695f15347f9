"""Filters for lists and for records: what is in them, some of them, one of them, and new ones made of them.

A list or a record is never changed: what a filter returns is a new one. ``field`` is the name of a field of the
elements, or an `OfEach`; an element that does not have it counts as having null there, unless none of them has it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

from jinja2 import Undefined, nodes, pass_context

from bot.core import values
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import guarded_cell
from bot.core.values import Record, UnstorableValue
from bot.language.expressions.formats import bounded, exact, is_number, written
from bot.language.expressions.template_failures import NODE, TemplateFailed, kind_of
from bot.language.source.word_matching import normalise

MOST_NAMED = 10  # fields in an error
RANKED, COMPARED = 50, 20  # units of effort for each value that is put in order, or compared with all others
MAX_ELEMENTS = 10_000  # that the loops and the filters of one rendering read, together


PLACE = ("it", "loop")
"""The names of an element and of its place."""
PER_ELEMENT = {
    **dict.fromkeys(("find", "map", "max", "min", "reject", "sort", "sum", "unique", "where"), 1),
    "update": 2,
}
"""How many arguments of a filter can be expressions in `it`, the element: ``where(it.left > 0)``."""


@immutable
class OfEach:
    """An argument that is evaluated for each element; it consists of so many ``nodes``.

    ``places``: it reads `loop`, the element's place in the list, as well.
    """

    value: Callable[..., Any]
    nodes: int
    places: bool = False

    def at(self, items: Sequence[Any], place: int) -> Any:
        """Its value for one of these elements."""
        item = items[place]
        return self.value(item, loop_at(place, len(items))) if self.places else self.value(item)


def loop_at(place: int, length: int) -> Record:
    """The value of `loop` at an element of a list with this length."""
    fields = {"index": place + 1, "first": place == 0, "last": place + 1 == length, "length": length}
    return Record("loop", fields)


def of_each(node: nodes.Node) -> list[nodes.Expr]:
    """The arguments of a filter that are evaluated for each element."""
    if not isinstance(node, nodes.Filter):
        return []
    return [argument for argument in node.args[: PER_ELEMENT.get(node.name, 0)] if _reads_it(argument)]


def _reads_it(argument: nodes.Expr) -> bool:
    parts = (argument, *argument.find_all(nodes.Name))
    return isinstance(argument, nodes.Dict) or any(
        isinstance(part, nodes.Name) and part.name in PLACE for part in parts
    )


@pass_context
def elements(context: Any, value: Any, nodes: int = 1) -> list[Any]:
    """The elements of a list, which null has none of. ``context`` is the sandbox's `RenderContext`, which counts them.

    ``nodes`` is how much is done with each.
    """
    if not isinstance(value, list | tuple | None):
        raise TemplateFailed(f"{kind_of(value)} is no list")
    items = [exact(item) for item in value or ()]
    context.spent += len(items)
    if context.spent > MAX_ELEMENTS:
        raise TemplateFailed(f"loops and filters read more than {MAX_ELEMENTS} elements")
    context.effort.spend(len(items) * nodes * NODE)
    return items


def _read(context: Any, items: list[Any], field: Any) -> list[Any]:
    """The value of a field in each element; the elements themselves if no field is named."""
    if field is None:
        return items
    if isinstance(field, OfEach):
        context.effort.spend(len(items) * field.nodes * NODE)
        found = [field.at(items, place) for place in range(len(items))]
    else:
        found = [context.environment.getattr(item, field) for item in items]
    if found and all(isinstance(value, Undefined) for value in found):
        known = dict.fromkeys(name for item in items if isinstance(item, Mapping) for name in item)
        raise TemplateFailed(f"no element has this field; there are: {', '.join(list(known)[:MOST_NAMED])}")
    return [None if isinstance(value, Undefined) else value for value in found]


def _each_with(context: Any, value: Any, field: Any) -> list[tuple[Any, Any]]:
    items = elements(context, value)
    return list(zip(items, _read(context, items, field), strict=True))


@pass_context
def _append(context: Any, value: Any, item: Any) -> list[Any]:
    """``{{ basket | append({"sku": sku, "count": 1}) }}``: the list with one more at its end."""
    return [*elements(context, value), item]


@pass_context
def _map(context: Any, value: Any, field: str | OfEach) -> list[Any]:
    """``{{ orders | map("number") }}``: a field of each element; ``map({"no": it.number})``: new records."""
    return _read(context, elements(context, value), field)


def _tested(context: Any, value: Any, field: str | OfEach, wanted: Any) -> list[tuple[Any, bool]]:
    """The elements, and whether each has a value in a field, or satisfies a condition."""
    pairs = _each_with(context, value, field)
    if isinstance(field, OfEach) and wanted is True:
        return [(item, bool(found)) for item, found in pairs]
    return [(item, found == wanted) for item, found in pairs]


@pass_context
def _where(context: Any, value: Any, field: str | OfEach, wanted: Any = True) -> list[Any]:
    """``{{ orders | where("state", "open") }}``: those that have a value in a field; ``where(it.total > 20)``."""
    return [item for item, fits in _tested(context, value, field, wanted) if fits]


@pass_context
def _reject(context: Any, value: Any, field: str | OfEach, unwanted: Any = True) -> list[Any]:
    """``{{ orders | reject("state", "open") }}``: those without this value in a field; ``reject(it.total > 20)``."""
    return [item for item, fits in _tested(context, value, field, unwanted) if not fits]


@pass_context
def _find(context: Any, value: Any, field: str | OfEach, wanted: Any = True) -> Any:
    """``{{ orders | find("number", 7) }}``: the first with this value in a field, else null; ``find(it.total > 9)``."""
    return next((item for item, fits in _tested(context, value, field, wanted) if fits), None)


@pass_context
def _update(context: Any, value: Any, which: OfEach | bool, changes: Any) -> list[Any]:
    """``{{ basket | update(it.sku == sku, {"count": it.count + 1}) }}``: the list with new values in some elements.

    ``update(true, ...)``: in all of them.
    """
    if isinstance(which, OfEach):
        pairs = _tested(context, value, which, True)
    elif isinstance(which, bool):
        pairs = [(item, which) for item in elements(context, value)]
    else:
        raise TemplateFailed('update() takes a condition about it, like update(it.sku == sku, {"count": 2}), or true')
    if isinstance(changes, OfEach):
        context.effort.spend(len(pairs) * changes.nodes * NODE)
        items = [item for item, _ in pairs]
        changed = ((place, changes.at(items, place)) for place, (_, fits) in enumerate(pairs) if fits)
        made = {place: _merge(context, items[place], new) for place, new in changed}
        return [made.get(place, item) for place, item in enumerate(items)]
    return [_merge(context, item, changes) if fits else item for item, fits in pairs]


@pass_context
def _flatten(context: Any, value: Any) -> list[Any]:
    """``{{ orders | map("items") | flatten }}``: one list of the elements of several lists; null has none."""
    found: list[Any] = []
    for item in elements(context, value):
        found += elements(context, item) if item is None or isinstance(item, list | tuple) else [item]
    return found


@pass_context
def _without(context: Any, value: Any, unwanted: Any) -> list[Any]:
    """``{{ names | without("Ann") }}``: all that are not this."""
    return [item for item in elements(context, value) if item != unwanted]


@pass_context
def _sort(context: Any, value: Any, field: str | OfEach | None = None) -> list[Any]:
    """``{{ orders | sort("placed") }}``: in order, texts without regard to case and accents, null at the end."""
    pairs = _each_with(context, value, field)
    context.effort.count([found for _, found in pairs], RANKED)
    return [item for item, _ in sorted(pairs, key=lambda pair: _rank(pair[1]))]


def _rank(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (True,)
    if isinstance(value, list):
        return (False, *map(_rank, value))
    return (False, normalise(value), value) if isinstance(value, str) else (False, value)


@pass_context
def _reverse(context: Any, value: Any) -> list[Any]:
    """``{{ names | reverse }}``: from the last to the first."""
    return elements(context, value)[::-1]


@pass_context
def _unique(context: Any, value: Any, field: str | OfEach | None = None) -> list[Any]:
    """``{{ orders | unique("town") }}``: the first element with each town."""
    firsts: dict[Any, Any] = {}
    pairs = _each_with(context, value, field)
    context.effort.count([found for _, found in pairs], COMPARED)
    for item, found in pairs:
        firsts.setdefault(_sameness(found), item)
    return list(firsts.values())


def _sameness(value: Any) -> Any:
    """A key that is equal for equal values. A record itself cannot be one: all records would be equal."""
    if isinstance(value, str | int | Decimal):
        return value
    try:
        return values.dumps(value)
    except UnstorableValue as error:
        raise TemplateFailed(str(error)) from error


@pass_context
def _sum(context: Any, value: Any, field: str | OfEach | None = None) -> Any:
    """``{{ basket | sum("price") }}``: all numbers together; null counts as nothing."""
    return sum(_number(number) for _, number in _each_with(context, value, field) if number is not None)


def _number(value: Any) -> int | Decimal:
    if not is_number(value):
        raise TemplateFailed(f"{kind_of(value)} cannot be added up")
    number: int | Decimal = value
    return number


def _outermost(choose: Callable[..., Any]) -> Callable[..., Any]:
    """``{{ orders | max("total") }}``: the least or greatest value of a list or of a field; null for an empty list."""

    @pass_context
    def of(context: Any, value: Any, field: str | OfEach | None = None) -> Any:
        found = [item for item in _read(context, elements(context, value), field) if item is not None]
        return choose(found, default=None)

    return of


@pass_context
def _join(context: Any, value: Any, separator: str = ", ") -> str:
    """``{{ names | join(' and ') }}``: a list as one text."""
    items = elements(context, value)
    return bounded(piece for n, item in enumerate(items) for piece in (separator if n else "", written(item)))


@pass_context
def _csv(context: Any, value: Any) -> str:
    """``{{ orders | csv }}``: a table of comma-separated values. The names of records are its first line."""
    items = elements(context, value)
    names = dict.fromkeys(name for item in items if isinstance(item, Mapping) for name in item)
    rows = chain([names] if names else [], (_row(item, names) for item in items))
    cells = chain.from_iterable(chain(enumerate(row), [(0, None)]) for row in rows)
    return bounded("\n" if cell is None else f"{',' if n else ''}{_cell(cell)}" for n, cell in cells)


def _row(item: Any, names: Iterable[str]) -> Iterable[Any]:
    if isinstance(item, Mapping):
        values_of_row: Iterable[Any] = map(item.get, names)
    else:
        values_of_row = item if isinstance(item, list | tuple) else (item,)
    return ("" if each is None else each for each in values_of_row)


def _cell(value: Any) -> str:
    """A value in a table. No spreadsheet runs a text as a formula."""
    text = guarded_cell(value) if isinstance(value, str) else written(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


_QUOTED = lazy_pattern('[,;"\r\n]|^ | $')


def _length(value: Any) -> int:
    """``{{ items | length }}``: how many there are, or how many characters; null has none."""
    return len(value) if isinstance(value, Mapping) else len(_several(value))


def _first(value: Any) -> Any:
    """``{{ items | first }}``: the first element; null for an empty list."""
    return next(iter(_several(value)), None)


def _last(value: Any) -> Any:
    """``{{ items | last }}``: the last element; null for an empty list."""
    items = _several(value)
    return items[-1] if items else None


def _several(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, list | tuple | str):
        return value
    raise TemplateFailed(f"{kind_of(value)} is no list")


def _record(context: Any, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping | None):
        raise TemplateFailed(f"{kind_of(value)} is no record")
    record = value or {}
    context.effort.spend(len(record))
    return record


@pass_context
def _keys(context: Any, value: Any) -> list[str]:
    """``{{ prices | keys }}``: the names of a record's fields."""
    return list(_record(context, value))


@pass_context
def _values(context: Any, value: Any) -> list[Any]:
    """``{{ prices | values }}``: the values of a record's fields."""
    return list(_record(context, value).values())


@pass_context
def _merge(context: Any, value: Any, other: Any) -> dict[str, Any]:
    """``{{ order | merge({"state": "paid"}) }}``: a record with more fields, or with other values."""
    return {**_record(context, value), **_record(context, other)}


@pass_context
def _put(context: Any, value: Any, name: str, item: Any) -> dict[str, Any]:
    """``{{ stock | put(town, 5) }}``: a record with one more field, or another value in it; the name is a value."""
    if not isinstance(name, str):
        raise TemplateFailed(f"put() takes a text as the name, not {kind_of(name)}")
    return {**_record(context, value), name: item}


LIST_FILTERS: dict[str, Callable[..., Any]] = {
    "append": _append,
    "csv": _csv,
    "find": _find,
    "first": _first,
    "flatten": _flatten,
    "join": _join,
    "keys": _keys,
    "last": _last,
    "length": _length,
    "map": _map,
    "max": _outermost(max),
    "merge": _merge,
    "min": _outermost(min),
    "put": _put,
    "reject": _reject,
    "reverse": _reverse,
    "sort": _sort,
    "sum": _sum,
    "unique": _unique,
    "update": _update,
    "values": _values,
    "where": _where,
    "without": _without,
}
