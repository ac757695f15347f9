"""The platform's limits on choices: their number, the length of their texts, and the form in which they are shown."""

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from bot.core import messages as limits
from bot.language.keys.fields import Fields
from bot.language.steps.choice_reader import MANY
from bot.language.steps.choices import Choices, FixedChoice
from bot.language.steps.message_parts import check_length, payload_text
from bot.language.steps.step_facts import SentText, only_if, text_sent

ShownForm = Literal["text", "buttons", "list", "open"]
"""The form of a question: ``open`` if only the run will tell whether it has buttons or a list."""


def choice_texts(choices: Choices) -> Iterator[SentText]:
    """The texts of choices. Titles too long for buttons become rows of a list, unless buttons are asked for."""
    as_buttons = choices.form == "buttons"
    most = choices.title_limit(as_buttons=as_buttons)
    about = None if choices.numbered else limits.ROW_DESCRIPTION
    for choice in choices.fixed:
        given = only_if(choice.condition)
        yield SentText("title", choice.title, most, title=True, given=given)
        yield from text_sent("about", choice.about, about, given=given)
        if choice.payload is not None:
            yield payload_text(choice.payload, given)
    if choices.made is not None:
        yield SentText("title", choices.made.title, most)
        yield from text_sent("about", choices.made.about, about)
    yield from text_sent("button", choices.opener, limits.BUTTON_TITLE, needed=True)
    if choices.many is not None:
        most = limits.BUTTON_TITLE if as_buttons else limits.ROW_TITLE
        yield from text_sent("done", choices.many.done, most, needed=True)


def shown_form(choices: Choices | None) -> ShownForm:
    """The form in which a question with these choices is shown."""
    if choices is None or choices.numbered:
        return "text"
    further = 0 if choices.many is None else 1
    certain = further + sum(choice.condition is None for choice in choices.fixed)
    if choices.form == "list" or (choices.form == "options" and choices.made is None and certain > limits.BUTTONS):
        return "list"
    if choices.made is not None or len(choices.fixed) + further > limits.BUTTONS:
        return "open"
    longest = choices.title_limit(as_buttons=True)
    fits = all(len(choice.title.source) <= longest and choice.about is None for choice in choices.fixed)
    return "buttons" if choices.form == "buttons" or fits else "list"


def check_choices(fields: Fields, choices: Choices) -> None:
    """Check the number of choices, and their texts."""
    _check_number(fields, choices)
    _check_titles_differ(fields, choices)
    as_buttons = choices.form == "buttons" or shown_form(choices) == "buttons"
    for choice in choices.fixed:
        _check_lengths(fields, choices, choice, as_buttons=as_buttons)
    check_length(fields, "button", choices.opener, limits.BUTTON_TITLE)
    if choices.many is not None:
        check_length(fields, "done", choices.many.done, limits.BUTTON_TITLE if as_buttons else limits.ROW_TITLE)


def _check_number(fields: Fields, choices: Choices) -> None:
    sections = Counter(choice.section for choice in choices.fixed)
    if sum(-(-rows // limits.ROWS_PER_SECTION) for rows in sections.values()) > limits.SECTIONS:
        what = f"more than {limits.SECTIONS} sections of {limits.ROWS_PER_SECTION} rows"
        fields.report("E401", choices.mark, what, "divide the question")
    certain = [choice for choice in choices.fixed if choice.condition is None]
    most = limits.BUTTONS - (0 if choices.many is None else 1)
    if choices.form == "buttons" and len(certain) > most and choices.made is None:
        what = f"buttons: {len(certain)} buttons, {most} are allowed"
        what += "" if choices.many is None else " beside the one that ends many answers"
        fix = "write `options` in place of `buttons`: what does not fit on buttons is shown as a list"
        fields.report("E401", certain[most].mark, what, fix)
    if choices.many is not None and choices.made is None and choices.many.least > len(choices.fixed):
        what = f"many: {choices.many.least} at least, and there are {len(choices.fixed)} to choose from"
        MANY.report(fields, "E307", what, "write a smaller `min`, or add choices")


def _check_titles_differ(fields: Fields, choices: Choices) -> None:
    seen: set[str] = set()
    for choice in choices.fixed:
        title = choice.title.source
        if title in seen:
            fix = "give it another title: those of one message differ"
            fields.report("E406", choice.mark, f'a second "{title}"', fix)
        seen.add(title)


def _check_lengths(fields: Fields, choices: Choices, choice: FixedChoice, *, as_buttons: bool) -> None:
    fits_a_row = len(choice.title.source) <= choices.title_limit(as_buttons=False)
    fix = f"shorten it, or use a list ({limits.ROW_TITLE} characters)" if as_buttons and fits_a_row else "shorten it"
    check_length(fields, f'"{choice.title.source}"', choice.title, choices.title_limit(as_buttons=as_buttons), fix)
    check_length(fields, "about", choice.about, limits.ROW_DESCRIPTION)
    if choice.about is not None and as_buttons:
        fields.report("E403", choice.mark, "only rows of a list have an `about`", "use a list")
    transition = choice.transition
    if (
        choices.many is not None
        and not choice.leads
        and transition is not None
        and (transition.speaks or transition.clear or transition.set or transition.tag)
    ):
        what = f'"{choice.key}" leads nowhere, being one answer of many'
        fields.report("E131", choice.mark, what, "add `then`, so that it is the whole answer, or only its value")
