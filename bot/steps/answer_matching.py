"""What a tap or a text means to a question with choices.

A decision without an outcome goes on: the question is to be shown once more, with what the decision holds.
"""

from typing import Any

from bot.lang.word_matching import Option, match, normalise
from bot.steps.choices import Shown
from bot.steps.kind import Reply, StepResult, ending
from bot.steps.many import Many, named
from bot.steps.offer import DONE, PAGE, Offer
from bot.steps.replies import ReplyId, value_hash


def meaning(offer: Offer, reply: Reply) -> StepResult | None:
    """What a reply means; None where it is none of the choices."""
    if reply.tap is not None:
        return _tapped(offer, reply.tap)
    return None if reply.text is None else _typed(offer, reply.text)


def _tapped(offer: Offer, tap: ReplyId) -> StepResult | None:
    """A tap on one of the question's own buttons or rows."""
    for choice in offer.shown:
        if choice.index == tap.choice and choice.hash == tap.hash:
            return _take(offer, choice)
    if tap.choice < DONE or tap.hash != value_hash("", tap.choice):
        return None
    if tap.choice >= PAGE:
        return _go_on(offer, page=tap.choice - PAGE)
    return _finish(offer, offer.picked) or _go_on(offer)


def _typed(offer: Offer, text: str) -> StepResult | None:
    """A title, a word or a number, of whatever page."""
    options = [_option(choice.option, number, offer) for number, choice in enumerate(offer.shown, start=1)]
    many, how = offer.choices.many, offer.choices.how
    if many is not None and (answer := _several(offer, many, text, options)) is not None:
        return answer
    if many is None and (index := match(text, options, how)) is not None:
        return _take(offer, offer.shown[index])
    for move in offer.moves():
        if normalise(move.title) == normalise(text) and (tap := ReplyId.parse(move.id)) is not None:
            return _tapped(offer, tap)
    return None


def _option(option: Option, number: int, offer: Offer) -> Option:
    """Where the numbers are written out, they mean what they stand at, even where titles are numbers too."""
    return Option(option.title, (*option.words, str(number))) if offer.choices.numbered else option


def _several(offer: Offer, many: Many, text: str, options: list[Option]) -> StepResult | None:
    """One answer is taken like a tap; several are all that the contact has to say."""
    done = _option(Option(offer.done(many)), len(options) + 1, offer)
    found = named(text, [*options, done], offer.choices.how)
    chosen = [offer.shown[index] for index in found if index < len(options)]
    if len(found) == 1 and chosen:
        return _take(offer, chosen[0])
    if not found or any(choice.leads for choice in chosen):
        return None
    return _finish(offer, list(dict.fromkeys([*offer.picked, *(choice.hash for choice in chosen)])))


def _take(offer: Offer, choice: Shown) -> StepResult:
    """The answer; one of several is marked, and taken back when it is chosen again."""
    many = offer.choices.many
    if many is None:
        return _leave(choice, choice.value)
    if choice.leads:
        return _leave(choice, [choice.value])
    picked = [known for known in offer.picked if known != choice.hash]
    if choice.hash not in offer.picked:
        picked.append(choice.hash)
        if len(picked) == many.most and (finished := _finish(offer, picked)) is not None:
            return finished
    return _go_on(offer, picked=picked)


def _leave(choice: Shown, value: Any) -> StepResult:
    return ending(choice.outcome, saved=value) if choice.saves else ending(choice.outcome)


def _finish(offer: Offer, picked: list[str]) -> StepResult | None:
    """Leave with the values of all that is picked, in that order; None where those are too few or too many."""
    many = offer.choices.many
    if many is None or not many.allows(len(picked)):
        return None
    values = {choice.hash: choice.value for choice in offer.shown}
    return ending("then", saved=[values[known] for known in picked])


def _go_on(offer: Offer, **changed: Any) -> StepResult:
    return StepResult(step_state={**offer.step_state, **changed})
