"""The form of a question: what its page asks for, and the values of what somebody has written there.

A form is filled in by a signal (`bot.language.flow.definition.form_signal`), whose data were read here as answers.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bot.core.engine_answers import FormPage
from bot.core.engine_requests import OpenForm
from bot.core.events import TimeReached
from bot.core.session import Frame, Session
from bot.core.values import json_text
from bot.engine.name_scope import NameScope
from bot.language.expressions.formats import written
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.flow.definition import form_signal
from bot.language.flow.library import Library
from bot.language.source.languages import CONTACT_LANGUAGE, ENGLISH, wording
from bot.language.steps.answer_hints import answer_hint
from bot.language.steps.step_kind import Reply, StepContext
from bot.language.types.variable import Answer, InvalidAnswer, TypeMismatch, Variable

MOST_OPTIONS = 50  # of a field with choices
MOST_WRITTEN = 2000  # characters of one field
INPUTS = {
    "date": "date",
    "time": "time",
    "datetime": "datetime-local",
    "email": "email",
    "phone": "tel",
    "integer": "number",
    "number": "text",
}
"""The types of HTML inputs for types of variables; all others are texts, or have choices."""


def form_page(library: Library, session: Session, request: OpenForm, now: datetime) -> FormPage:
    """The page of a form, and if it was sent with data, the values of these, or what is wrong with them."""
    spoken = library.in_language(session.language)
    session.frames = _frames_up_to(session, request)
    frame = session.frame
    step = None if frame is None or frame.flow not in spoken.flows else spoken.flows[frame.flow].steps.get(frame.step)
    event = TimeReached("form", session.contact, now)
    local = now.astimezone(library.zone_of(session))
    names = NameScope(library, event, local).of(session, spoken)
    language = names.get(CONTACT_LANGUAGE) or ENGLISH
    words = {key: wording(names, f"form_{key}") for key in ("send", "sent", "closed")}
    if step is None or frame is None or step.facts.form is None or form_signal(frame.flow, step.name) != request.name:
        return FormPage(False, language, "", words)
    variables, form = spoken.flows[frame.flow].variables, step.facts.form
    context = StepContext(
        frame.flow, step.name, frame.visit, local, lambda: names, session.window_is_open, variables, {}
    )
    sent = request.data or {}
    fields, values = [], {}
    for name, label in form.labels.items():
        variable, text = variables[name], str(sent.get(name, "")).strip()
        error = ""
        if request.data is not None:
            try:
                left_out = not text and name in form.optional
                values[name] = None if left_out else _value(variable, text, local, names)
            except InvalidAnswer as invalid:
                error = _objection(invalid, variable, context, text)
        field = _field(name, label, variable, text, error, spoken.title_of, frame.flow, names)
        fields.append({**field, "required": name not in form.optional})
    is_right = request.data is not None and len(values) == len(fields)
    return FormPage(True, language, form.title, words, fields, json_text(values) if is_right else None)


def _frames_up_to(session: Session, request: OpenForm) -> tuple[Frame, ...]:
    """The frames of a session up to the visit of the form; none if that is over. Another flow may interrupt it."""
    visits = [(frame.first_visit, frame.visit) for frame in session.frames]
    asked = request.first_visit, request.visit
    return session.frames[: visits.index(asked) + 1] if asked in visits else ()


def _value(variable: Variable, text: str, now: datetime, names: Mapping[str, Any]) -> Any:
    """The value of what was written. Raises `InvalidAnswer`: nothing is guessed."""
    if not text or len(text) > MOST_WRITTEN:
        raise InvalidAnswer("nothing is written, or too much")
    if (known := _options(variable)) is not None:
        if text not in known:
            raise InvalidAnswer("it is none of the choices")
        return known[text]
    try:
        return variable.accept(Answer(text), now, names)
    except (TypeMismatch, TemplateFailed) as failed:
        raise InvalidAnswer(str(failed)) from failed


def _options(variable: Variable) -> dict[str, Any] | None:
    """The values that can be chosen, by their texts in what the page sends; None if the value is written."""
    if variable.values is None or len(variable.values) > MOST_OPTIONS:
        return None
    return {written(value): value for value in variable.values}


def _objection(invalid: InvalidAnswer, variable: Variable, context: StepContext, text: str) -> str:
    """The objection to an answer, in the contact's language, as the chat has it."""
    try:
        if len(text) > MOST_WRITTEN:
            return wording(context.scope, "please_shorter", value=str(MOST_WRITTEN))
        if invalid.objection is not None:
            return invalid.objection.render({**context.scope, "it": invalid.it})
        return answer_hint(variable, (), context, Reply(text)) or wording(context.scope, "not_understood")
    except TemplateFailed:
        return wording(context.scope, "not_understood")


def _field(
    name: str,
    label: str,
    variable: Variable,
    text: str,
    error: str,
    title_of: Callable[..., Any],
    flow: str,
    names: Mapping[str, Any],
) -> dict[str, Any]:
    """A field of the page, as JSON."""
    known = _options(variable)

    def title(value: Any) -> str:
        if isinstance(value, bool):
            return wording(names, "yes" if value else "no")
        return str(title_of(flow, name, value, names))

    return {
        "name": name,
        "label": label,
        "input": INPUTS.get(variable.type, "text"),
        "text": text,
        "error": error,
        "options": None if known is None else [[sent, title(value)] for sent, value in known.items()],
    }
