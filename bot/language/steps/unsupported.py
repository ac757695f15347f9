"""The key ``unsupported``: which kinds of values of an answer need a source, and what happens without one."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Self

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.messages import clip
from bot.language.keys.declared_keys import BOOLEAN, STRINGS, Form, KeySet, KeySpec, as_fields, either, one_of
from bot.language.keys.fields import Fields
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Node, Scalar
from bot.language.steps.sources import KINDS, PRODUCTS, Unsupported
from bot.language.steps.step_facts import DefaultTarget, Outcome
from bot.language.steps.transition import TRANSITION, Transition

RETRY = "retry"
MOST_HELD = 300  # characters of a text that is not sent, in the trace
AGAIN = "Not sent: {} stands in no source. Write that part again without it, or say that you do not know."
FREE = "Not sent: you send only the texts that are given to you for that. Pick one of them."
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


class HeldText(BotError):
    """A text of the model's that is not sent. ``kinds`` are those of its values without a source, ``why`` is for it."""

    def __init__(self, text: str, reason: str, kinds: Sequence[str], why: str) -> None:
        super().__init__(f"{reason}: {clip(' '.join(text.split()), MOST_HELD)}")
        self.text, self.kinds, self.why = text, kinds, why

    @classmethod
    def without_source(cls, text: str, lacking: Sequence[Unsupported]) -> Self:
        """A text with values that no source has."""
        found = ", ".join(f'"{each.written}" ({each.kind})' for each in lacking)
        return cls(text, f"{found} has no source in", [each.kind for each in lacking], AGAIN.format(found))

    @classmethod
    def free(cls, text: str) -> Self:
        """A text of the model's own where only those of the flow are sent."""
        return cls(text, "no approved text", [], FREE)


@immutable
class SourceRules:
    """The kinds of values that need a source, each with where a value without one leads: None asks the model again.

    ``sums`` of sourced values have a source.
    """

    ways: Mapping[str, Transition | None] = field(default_factory=dict)
    sums: bool = False

    def way_of(self, kinds: Sequence[str]) -> str | None:
        """The outcome that values of these kinds lead to; None: the model is asked again."""
        return next((f"unsupported.{kind}" for kind in kinds if self.ways.get(kind) is not None), None)

    @property
    def asks_again(self) -> bool:
        """True if the model may be asked again."""
        return None in self.ways.values()

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
