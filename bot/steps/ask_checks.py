"""Checks of a question at load: that the message which shows it takes its texts and its choices."""

from collections import Counter

from bot.core import messages as limits
from bot.expressions.templates import Template
from bot.keys.fields import Fields
from bot.steps.choices import Choices, FixedChoice
from bot.steps.limits import check_length, check_text
from bot.types.type_registry import Variable

TEXT, BUTTONS, LIST, OPEN = "text", "buttons", "list", "open"  # how a question is shown; open: the run will tell


def check_message(fields: Fields, body: Template, header: Template | None, footer: Template | None, form: str) -> None:
    """The text, the header and the footer."""
    check_length(fields, "ask", body, limits.TEXT_BODY if form == TEXT else limits.INTERACTIVE_BODY)
    for wording in body.wordings:
        if wording.constant and not wording.source.strip() and not fields.null("ask"):
            fields.problems.add(
                "E105", wording.mark, f"{fields.what}: ask: there is nothing to ask", "write the question"
            )
    check_length(fields, "header", header, limits.HEADER_TEXT)
    check_length(fields, "footer", footer, limits.FOOTER_TEXT)
    for key, wanted in (("header", BUTTONS), ("footer", LIST)):
        if fields.has(key) and form not in (wanted, OPEN):
            fields.problems.add(
                "E403", fields.mark_of(key), f"{fields.what}: a {key} goes with {wanted} only", "put it in the text"
            )


def form_of(choices: Choices | None) -> str:
    """How a question with these choices will be shown."""
    if choices is None or choices.numbered:
        return TEXT
    further = 0 if choices.many is None else 1
    certain = further + sum(choice.condition is None for choice in choices.fixed)
    if choices.form == "list" or (choices.form == "options" and choices.made is None and certain > limits.BUTTONS):
        return LIST
    if choices.made is not None or len(choices.fixed) + further > limits.BUTTONS:
        return OPEN
    longest = choices.title_limit(as_buttons=True)
    fits = all(len(choice.title.source) <= longest and choice.about is None for choice in choices.fixed)
    return BUTTONS if choices.form == "buttons" or fits else LIST


def check_choices(fields: Fields, choices: Choices, form: str) -> None:
    """How many there are, and their texts."""
    _check_number(fields, choices)
    _check_titles_differ(fields, choices)
    as_buttons = form == BUTTONS or choices.form == "buttons"
    for choice in choices.fixed:
        _check_texts(fields, choices, choice, as_buttons=as_buttons)
    check_text(fields, "button", choices.opener, limits.BUTTON_TITLE)
    if choices.many is not None:
        check_text(fields, "done", choices.many.done, limits.BUTTON_TITLE if as_buttons else limits.ROW_TITLE)


def _check_number(fields: Fields, choices: Choices) -> None:
    sections = Counter(choice.section for choice in choices.fixed)
    if sum(-(-rows // limits.ROWS_PER_SECTION) for rows in sections.values()) > limits.SECTIONS:
        fields.problems.add(
            "E401",
            choices.mark,
            f"{fields.what}: more than {limits.SECTIONS} sections of {limits.ROWS_PER_SECTION} rows",
            "divide the question",
        )
    certain = [choice for choice in choices.fixed if choice.condition is None]
    most = limits.BUTTONS - (0 if choices.many is None else 1)
    if choices.form == "buttons" and len(certain) > most and choices.made is None:
        what = f"{fields.what}: buttons: {len(certain)} buttons, {most} are allowed"
        what += "" if choices.many is None else " beside the one that ends many answers"
        fields.problems.add("E401", certain[most].mark, what, "use a list")
    if choices.many is not None and choices.made is None and choices.many.least > len(choices.fixed):
        what = f"{fields.what}: many: {choices.many.least} at least, and there are {len(choices.fixed)} to choose from"
        fields.problems.add("E307", fields.mark_of("many"), what, "change one of them")


def _check_titles_differ(fields: Fields, choices: Choices) -> None:
    seen: set[str] = set()
    for choice in choices.fixed:
        title = choice.title.source
        if title in seen:
            fields.problems.add(
                "E406", choice.mark, f'{fields.what}: a second "{title}"', "titles of one message differ"
            )
        seen.add(title)


def _check_texts(fields: Fields, choices: Choices, choice: FixedChoice, *, as_buttons: bool) -> None:
    fix = f"shorten it, or use a list ({limits.ROW_TITLE} characters)" if as_buttons else "shorten it"
    check_text(fields, f'"{choice.title.source}"', choice.title, choices.title_limit(as_buttons=as_buttons), fix)
    check_text(fields, "about", choice.about, limits.ROW_DESCRIPTION)
    if choice.about is not None and as_buttons:
        fields.problems.add("E403", choice.mark, f"{fields.what}: only rows of a list have an `about`", "use a list")
    transition = choice.transition
    if (
        choices.many is not None
        and not choice.leads
        and transition is not None
        and (transition.speaks or transition.set or transition.tag)
    ):
        what = f'{fields.what}: "{choice.key}" leads nowhere, being one answer of many'
        fields.problems.add("E131", choice.mark, what, "add `then`, so that it is the whole answer, or only its value")


def check_saved(fields: Fields, variable: Variable | None) -> None:
    """Many answers are saved as a list."""
    if variable is not None and variable.type != "list":
        what = f'{fields.what}: many answers are a list, and "{variable.name}" is of type {variable.type}'
        fields.problems.add("E303", fields.mark_of("save"), what, f"declare it as {variable.name}: {{type: list}}")
