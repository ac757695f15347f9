"""The words that say what a question takes, for a contact whose replies were no answer."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from bot.language.expressions.formats import as_spoken, day_and_month, is_number
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.source.languages import ENGLISH, wording
from bot.language.steps.step_kind import Reply, StepContext
from bot.language.types.date_types import TimeVariable
from bot.language.types.number_types import NumberVariable
from bot.language.types.structured_types import AnswerVariable, FileVariable
from bot.language.types.text_types import ChoiceVariable, TextVariable
from bot.language.types.variable import Answer, InvalidAnswer, Variable

_MOST_TITLES = 10
_WITH_EXAMPLE = {
    "integer": "please_number",
    "number": "please_number",
    "date": "please_date",
    "time": "please_time",
    "datetime": "please_date_and_time",
}
_PLAIN = {
    "name": "please_name",
    "boolean": "please_yes_or_no",
    "phone": "please_phone",
    "email": "please_email",
    "location": "please_place",
}


def answer_hint(variable: Variable | None, titles: Sequence[str], context: StepContext, reply: Reply) -> str | None:
    """Say what a question takes: ``A number, please, for example 4.``; None if there is nothing to say.

    ``titles`` are those of its choices, if an answer has to be one of them. Raises `TemplateFailed`, by the bot's own
    wordings.
    """
    scope = context.scope
    if titles:
        return _choose(titles, context)
    if variable is None or variable.type == "text":
        return _of_text(variable, reply, scope) if reply.texts else wording(scope, "please_text")
    if isinstance(variable, ChoiceVariable):  # its texts in other languages do not say which language they are of
        return None if any(variable.also) else _choose(variable.of, context)
    if isinstance(variable, FileVariable):
        return wording(scope, _of_file(variable))
    if variable.type in _WITH_EXAMPLE:
        bounds = _bounds_of(variable, reply, context)
        if bounds is not None:
            return _within(*bounds, scope)
        example = next((text for text in _examples(variable, context) if _is_answer(variable, text, context)), None)
        return None if example is None else wording(scope, _WITH_EXAMPLE[variable.type], value=example)
    return wording(scope, _PLAIN[variable.type]) if variable.type in _PLAIN else None


def _of_text(variable: Variable | None, reply: Reply, scope: Mapping[str, Any]) -> str | None:
    """``At most 60 characters, please.``, or an example of its pattern."""
    if not isinstance(variable, TextVariable):
        return None
    if len(reply.text or "") > variable.most:
        return wording(scope, "please_shorter", value=str(variable.most))
    return None if variable.example is None else wording(scope, "please_like", value=variable.example)


def _bounds_of(variable: Variable, reply: Reply, context: StepContext) -> tuple[Any, Any] | None:
    """The variable's bounds, where the reply is a value beyond them."""
    try:
        variable.accept(Answer(reply.text), context.now, context.scope)
    except InvalidAnswer as invalid:
        return invalid.bounds
    return None


def _within(least: Any, most: Any, scope: Mapping[str, Any]) -> str:
    """``From 1 to 60, please.``, ``At most 60, please.``, ``Not before 09:00, please.``."""
    if least is not None and most is not None:
        return wording(scope, "please_between", least=as_spoken(least, scope), most=as_spoken(most, scope))
    bound, name = (most, "at_most") if least is None else (least, "at_least")
    if not is_number(bound):
        name = "not_after" if least is None else "not_before"
    return wording(scope, f"please_{name}", value=as_spoken(bound, scope))


def _of_file(variable: FileVariable) -> str:
    if isinstance(variable, AnswerVariable) and (not variable.kinds or "text" in variable.accepts):
        return "please_text" if "text" in variable.accepts else "please_place"
    return "please_photo" if variable.kinds == ("image",) else "please_file"


def _choose(titles: Sequence[str], context: StepContext) -> str:
    """``Please choose one of these: A, B or C.``; only the first ones of many."""
    comma = "، " if _language(context).startswith("ar") else ", "
    if len(titles) > _MOST_TITLES:
        listed = f"{comma.join(titles[:_MOST_TITLES])} …"
    else:
        *first, last = titles
        listed = f"{comma.join(first)} {wording(context.scope, 'or')} {last}" if first else last
    return wording(context.scope, "please_choose", choices=listed).replace("….", "…")


def _language(context: StepContext) -> str:
    return context.contact_language or ENGLISH


def _examples(variable: Variable, context: StepContext) -> Iterator[str]:
    """Answers that may fit, the nicest first."""
    if isinstance(variable, NumberVariable):
        yield from ("4", *map(str, variable.samples))
    elif isinstance(variable, TimeVariable):
        yield from ("15:30", *(f"{bound:%H:%M}" for bound in (variable.least, variable.most) if bound is not None))
    else:
        clock = " 15:30" if variable.type == "datetime" else ""
        for day in _days(context.now):
            yield day_and_month(day, _language(context)) + clock
            yield f"{day:%Y-%m-%d}{clock}"


def _days(now: datetime) -> Iterator[datetime]:
    yield now.replace(month=5, day=12)
    for days in (1, 0, -1):
        yield now + timedelta(days=days)


def _is_answer(variable: Variable, text: str, context: StepContext) -> bool:
    try:
        variable.accept(Answer(text), context.now, context.scope)
    except (InvalidAnswer, TemplateFailed):
        return False
    return True
