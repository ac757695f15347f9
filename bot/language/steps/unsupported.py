"""The key ``unsupported``: which kinds of values of an answer need a source, and what happens without one."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from bot.core.immutable import immutable
from bot.language.keys.declared_keys import BOOLEAN, STRINGS, Form, KeySet, KeySpec, as_fields, either, one_of
from bot.language.keys.fields import Fields
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Node, Scalar
from bot.language.steps.sources import KINDS, PRODUCTS
from bot.language.steps.step_facts import DefaultTarget, Outcome
from bot.language.steps.transition import TRANSITION, Transition

RETRY = "retry"
_ABOUT = {
    "numbers": "Numbers, shares and lengths of time.",
    "prices": "Amounts of money: what the contact wrote is no source for them.",
    "dates": "Days: dates, weekdays, tomorrow.",
    "times": "Times of day.",
    "codes": "Codes such as AB123456.",
    "promises": "Words such as refund, free, guarantee and discount: what the contact wrote is no source for them.",
    PRODUCTS: "The names under `products`.",
}


def _way_of(node: Node, problems: Problems, what: str) -> Transition | str | None:
    """Read what happens: `retry`, or a transition."""
    return RETRY if isinstance(node, Scalar) and node.value == RETRY else TRANSITION.read(node, problems, what)


_WAY: Form[Transition | str | None] = Form(TRANSITION.schema, _way_of, TRANSITION.texts)
_SUMS = KeySpec(
    "sums", BOOLEAN, "Whether sums, differences and multiples of sourced values have a source; false by default."
)


def _unsupported_key(way: Form[Any]) -> KeySpec[Fields | str | None]:
    keys = KeySet(*(KeySpec(kind, way, _ABOUT[kind]) for kind in KINDS), _SUMS)
    about = (
        "The values of an answer that must come from a source, and what happens if one does not; retry: all of them."
    )
    return KeySpec("unsupported", either(one_of(RETRY), as_fields(keys, "{prices: retry}")), about)


BOT_UNSUPPORTED = _unsupported_key(one_of(RETRY))
STEP_UNSUPPORTED = _unsupported_key(_WAY)
PRODUCTS_KEY = KeySpec(PRODUCTS, STRINGS, "Names of products: a model may name those that a source has.")


@immutable
class SourceRules:
    """The kinds of values that need a source, each with where a value without one leads: None asks the model again.

    ``sums`` of sourced values have a source.
    """

    ways: Mapping[str, Transition | None] = field(default_factory=dict)
    sums: bool = False

    def outcomes(self) -> dict[str, Outcome]:
        """The outcome of each kind that leads somewhere."""
        return {
            f"unsupported.{kind}": Outcome(way, DefaultTarget.WRITTEN, success=False)
            for kind, way in self.ways.items()
            if way is not None
        }


def read_unsupported(
    fields: Fields, key: KeySpec[Fields | str | None], products: Sequence[str], inherited: SourceRules
) -> SourceRules:
    """Read `unsupported`; what is written takes the place of all that is inherited."""
    written = key.read(fields)
    if not key.written(fields) or written is None:
        return inherited
    if not isinstance(written, Fields):
        return SourceRules(dict.fromkeys(KINDS))
    ways = {kind: _way_in(written, kind) for kind in KINDS if written.has(kind)}
    if not ways:
        fix = "name what needs a source: prices: retry, promises: retry"
        written.report("E105", written.mark, "unsupported: nothing is checked", fix)
    if PRODUCTS in ways and not products:
        fix = "list them: products: [Runner, Walker]"
        written.report("E105", written.mark_of(PRODUCTS), "unsupported: there are no names of products", fix)
    return SourceRules(ways, _SUMS.read(written))


def _way_in(written: Fields, kind: str) -> Transition | None:
    way = KeySpec(kind, _WAY, "").read(written)
    return way if isinstance(way, Transition) else None
