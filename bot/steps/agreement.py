"""A question of the bot's own that is answered by yes or no."""

from bot.core.messages import INTERACTIVE_BODY, Buttons, Choice, clip
from bot.lang.hidden import LANGUAGE
from bot.lang.wordings import wording
from bot.lang.words import normalise
from bot.lang.yes_no import yes_or_no
from bot.steps.kind import At, Reply
from bot.steps.replies import ReplyId, value_hash

_ANSWERS = ("yes", "no")


def question(at: At, body: str, number: int = 0) -> Buttons:
    """The question as buttons. ``number`` tells it from others that the same step asks in one visit."""
    buttons = (Choice(str(_id(at, choice, number)), wording(at.scope, name)) for choice, name in enumerate(_ANSWERS))
    return Buttons(clip(body, INTERACTIVE_BODY), tuple(buttons))


def agreed(at: At, reply: Reply, number: int = 0) -> bool | None:
    """What a reply means to the question; None where it is no answer to it."""
    if reply.tap is not None:
        return {_id(at, choice, number): name == "yes" for choice, name in enumerate(_ANSWERS)}.get(reply.tap)
    if reply.text is None:
        return None
    titles = {normalise(wording(at.scope, name)): name == "yes" for name in _ANSWERS}
    return titles.get(normalise(reply.text), yes_or_no(reply.text, at.scope.get(LANGUAGE)))


def _id(at: At, choice: int, number: int) -> ReplyId:
    return ReplyId(at.flow, at.step, choice, at.visit, value_hash(_ANSWERS[choice], {"question": number}))
