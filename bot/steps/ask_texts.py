"""The texts of a question's message, and the limits that the gateway sets for them."""

from collections.abc import Iterator

from bot.core import messages as limits
from bot.expressions.templates import Template
from bot.steps.choices import Choices
from bot.steps.declared import SentText, only_if


def texts_of(
    body: Template, header: Template | None, footer: Template | None, choices: Choices | None
) -> Iterator[SentText]:
    """The question, what stands above and below it, and its choices."""
    most = limits.TEXT_BODY if choices is None or choices.numbered else limits.INTERACTIVE_BODY
    yield SentText("ask", body, most, needed=True, question=True)
    if header is not None:
        yield SentText("header", header, limits.HEADER_TEXT)
    if footer is not None:
        yield SentText("footer", footer, limits.FOOTER_TEXT)
    if choices is not None:
        yield from _of_choices(choices)


def _of_choices(choices: Choices) -> Iterator[SentText]:
    """Titles that are too long for buttons become the rows of a list, but where buttons are asked for."""
    as_buttons = choices.form == "buttons"
    most = choices.title_limit(as_buttons=as_buttons)
    about = None if choices.numbered else limits.ROW_DESCRIPTION
    for choice in choices.fixed:
        given = only_if(choice.condition)
        yield SentText("title", choice.title, most, title=True, given=given)
        if choice.about is not None:
            yield SentText("about", choice.about, about, given=given)
    if choices.made is not None:
        yield SentText("title", choices.made.title, most)
        if choices.made.about is not None:
            yield SentText("about", choices.made.about, about)
    if choices.opener is not None:
        yield SentText("button", choices.opener, limits.BUTTON_TITLE, needed=True)
    if choices.many is not None and choices.many.done is not None:
        yield SentText("done", choices.many.done, limits.BUTTON_TITLE if as_buttons else limits.ROW_TITLE, needed=True)
