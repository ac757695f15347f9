"""A question of the bot's own that is answered by yes or no."""

from bot.core.messages import INTERACTIVE_BODY, Buttons, Choice, clip
from bot.lang.texts import yes_or_no
from bot.steps.kind import At, Reply
from bot.steps.replies import ReplyId, value_hash

TITLES = ("Yes", "No")


def question(at: At, body: str, number: int = 0) -> Buttons:
    """The question as buttons. ``number`` tells it from others that the same step asks in one visit."""
    buttons = tuple(Choice(str(_id(at, choice, number)), title) for choice, title in enumerate(TITLES))
    return Buttons(clip(body, INTERACTIVE_BODY), buttons)


def agreed(at: At, reply: Reply, number: int = 0) -> bool | None:
    """What a reply means to the question; None where it is no answer to it."""
    if reply.tap is not None:
        return {_id(at, choice, number): choice == 0 for choice in range(len(TITLES))}.get(reply.tap)
    return None if reply.text is None else yes_or_no(reply.text)


def _id(at: At, choice: int, number: int) -> ReplyId:
    return ReplyId(at.flow, at.step, choice, at.visit, value_hash(TITLES[choice], {"question": number}))
