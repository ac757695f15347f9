"""Reads what a test expects of a message (`bot`) and of the conversation (`expect`)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.core.messages import MEDIA_KINDS
from bot.language.keys import key_schemas as schemas
from bot.language.keys.declared_keys import STRING, STRINGS, Form, KeySet, KeySpec, either, integer, nested, one_of
from bot.language.keys.fields import Fields, entries_of
from bot.language.keys.key_schemas import Schema
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import List, Node, Scalar
from bot.testing.conversations.stub_reader import CALLS
from bot.testing.conversations.transcript import BotLine, ExpectLine, KnownNames

_LINK = KeySet(KeySpec("title", STRING, "The label of its button."), KeySpec("url", STRING, "Its address."))
_DOCUMENT = KeySet(
    KeySpec("link", STRING, "Its address, or its path in the folder files."),
    KeySpec("filename", STRING, "Its name."),
    KeySpec("text", STRING, "The text that it is made of."),
)
_NAMES = {
    "link": {"title": "link title", "url": "link"},
    "document": {"link": "document", "filename": "filename", "text": "file text"},
}
"""The parts of a message that are written below another one."""
EXIT = "exits."  # how the outcomes begin by which a model leaves a step
MESSAGE = KeySet(
    KeySpec("says", STRING, "The whole text, or a caption."),
    KeySpec("header", STRING, "Its header."),
    KeySpec("footer", STRING, "Its footer."),
    KeySpec("link", either(STRING, nested(_LINK, _LINK.values)), "The address of its link, or its title and address."),
    KeySpec("template", STRING, "The template's name."),
    KeySpec("language", STRING, "The template's language."),
    *(
        KeySpec(kind, STRING, "The file's address, or its path in the folder files.")
        for kind in MEDIA_KINDS
        if kind != "document"
    ),
    KeySpec(
        "document", either(STRING, nested(_DOCUMENT, _DOCUMENT.values)), "The file's address or path; or its parts."
    ),
    KeySpec("location", STRING, "The place's name, or its coordinates."),
    KeySpec("contains", STRINGS, "Texts that stand in it."),
    KeySpec("buttons", STRINGS, "The titles of all its buttons, in order."),
    KeySpec("rows", STRINGS, "The titles of all its rows, in order."),
    KeySpec("body", STRINGS, "The template's parameters."),
    KeySpec("payloads", STRINGS, "The payloads of its buttons, in order."),
)
"""The keys under `bot`: the parts of a message."""


def message_parts(written: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a message, each by its own name: ``{link: {title: Map}}`` -> ``{"link title": "Map"}``."""
    found: dict[str, Any] = {}
    for key, part in written.items():
        names = _NAMES.get(key, {})
        found |= {names[name]: each for name, each in part.items()} if isinstance(part, Mapping) else {key: part}
    return found


def written_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The same as a test writes them: the opposite of `message_parts`."""
    found = dict(parts)
    for key, names in _NAMES.items():
        inner = {name: found.pop(part) for name, part in names.items() if part in parts}
        if inner:
            found[key] = inner if len(inner) > 1 else next(iter(inner.values()))
    return found


def _read_message(fields: Fields) -> BotLine:
    if not fields.node.entries:
        fields.problems.add("E601", fields.mark, "nothing is said about this message", "write says: or contains:")
    return BotLine(fields.mark, message_parts(MESSAGE.values(fields)))


def _read_whole_text(node: Node, problems: Problems, what: str) -> BotLine | None:
    text = STRING.read(node, problems, what)
    return None if text is None else BotLine(node.mark, {"says": text}, alone=True)


BOT = either(Form(STRING.schema, _read_whole_text), nested(MESSAGE, _read_message))


def or_nothing(form: Form[Any], nothing: Schema) -> Form[Any]:
    """A value of this form, or nothing behind the colon; ``nothing`` is the schema of that."""

    def read(node: Node, problems: Problems, what: str) -> Any:
        is_null = isinstance(node, Scalar) and node.value is None
        return form.absent if is_null else form.read(node, problems, what)

    return replace(form, schema=schemas.either(form.schema, nothing), read=read)


_NULL: Schema = {"type": "null"}
_NAME = or_nothing(STRING, _NULL)
_VALUES = Form(schemas.map_of(schemas.ANY), entries_of, absent=())
_TAGS = Form(
    schemas.either(schemas.ANY_TEXT, schemas.list_of(schemas.ANY)),
    lambda node, *rest: None if isinstance(node, List) else STRING.read(node, *rest),
)
_FLOW = KeySpec("flow", _NAME, "The flow that the contact is in; null: in none.")
_STEP = KeySpec("step", _NAME, "The step that the contact is at; null: at none.")
_VARS = KeySpec("vars", _VALUES, "Variables of the flow, with their values.")
_KEPT = KeySpec("kept", _VALUES, "Variables that outlive a conversation, with their values.")
_LANGUAGE = KeySpec("language", or_nothing(STRING, schemas.EMPTY), "The contact's language.")
_CALLED = KeySpec("called", CALLS, "Handlers and requests that are among those.")
_NOT_CALLED = KeySpec("not_called", CALLS, "Handlers and requests that are not among those.")
_EXIT = KeySpec(
    "exit", or_nothing(STRINGS, _NULL), "The exit that a model took since then, or any of several; null: none."
)
_REACHED = KeySpec("reached", STRINGS, "Steps through which the conversation has come since then, by their `report`.")
_EVENTS = KeySpec("events", CALLS, "Events that were delivered since then, with some of their data; []: none.")
_FILLED = KeySpec("filled", _VALUES, "Variables that a model notes, with their values.")
_JUDGE = KeySpec("judge", STRINGS, "Questions about the conversation that a model says yes to.")
_SAID = KeySet(
    KeySpec("contains", STRINGS, "Texts that must occur in all that the bot said since then."),
    KeySpec("any", STRINGS, "Texts of which at least one must occur in it."),
    KeySpec("without", STRINGS, "Texts that must not occur in it."),
    _JUDGE,
)


def _read_said(fields: Fields) -> Fields:
    misspelt = {key.text for key, _ in fields.node.entries} - {*_SAID.names}  # a problem already
    if not misspelt and not any(_SAID.values(fields).values()):
        fix = f"write {', '.join(_SAID.names)}"
        fields.problems.add("E601", fields.mark, "nothing is expected of what is said", fix)
    return fields


_SAYS = KeySpec(
    "says",
    nested(_SAID, _read_said, "{contains: ..., without: ...}"),
    "Expectations of all that the bot said since then.",
)
_QUESTIONS = KeySet(
    KeySpec("contains", STRINGS, "Texts that must occur in it."),
    KeySpec("without", STRINGS, "Texts that must not occur in it."),
)
_ASKED = KeySpec(
    "asked",
    nested(_QUESTIONS, _QUESTIONS.values),
    "Texts in the questions to models since then, with all instructions.",
)
_REFUSED = KeySpec("refused", STRINGS, "Texts that stand in the reason why the bot refused the start of a flow.")
EXPECTED = KeySet(
    _FLOW,
    _STEP,
    _VARS,
    _KEPT,
    KeySpec("tags", _TAGS, "The contact's tags."),
    _LANGUAGE,
    KeySpec("sent", integer(0), "How many messages the contact has got in this test."),
    KeySpec("files", integer(0), "How many files of the contact the bot keeps."),
    KeySpec("calls", CALLS, "The handlers called and requests made since something happened last."),
    _CALLED,
    _NOT_CALLED,
    _EXIT,
    _REACHED,
    _EVENTS,
    _FILLED,
    _SAYS,
    _REFUSED,
    _ASKED,
)
"""The keys under `expect`: facts of the conversation."""
_UNJUDGED = schemas.record({**_SAID.schemas, _JUDGE.name: schemas.NEVER})
_WITHOUT_MODEL = schemas.record({**EXPECTED.schemas, _SAYS.name: schemas.takes(_UNJUDGED, _SAYS.about)})


def expectation(known: KnownNames) -> Form[ExpectLine | None]:
    """The form of `expect` where these names are known."""
    keys = nested(EXPECTED, lambda fields: _read_expect(fields, known))

    def read(node: Node, problems: Problems, what: str) -> ExpectLine | None:
        if isinstance(node, Scalar) and node.text == _REFUSED.name:
            return ExpectLine(node.mark, {_REFUSED.name: Scalar(node.mark, "", "")})  # for whatever reason
        return keys.read(node, problems, what)

    return Form(schemas.either(one_of(_REFUSED.name).schema, keys.schema if known.evaluates else _WITHOUT_MODEL), read)


def _read_expect(fields: Fields, known: KnownNames) -> ExpectLine:
    values = EXPECTED.values(fields)
    if not fields.node.entries:
        fix = "write flow:, step:, vars: or another of the keys"
        fields.problems.add("E601", fields.mark, "nothing is expected here", fix)
    said = values.get(_SAYS.name)
    if said is not None and _JUDGE.read(said) and not known.evaluates:
        what = "a judging question needs a model, and a test has no model"
        fix = "begin the document with evaluate:, or leave it out"
        fields.problems.add("E601", said.mark_of(_JUDGE.name), what, fix)
    if known.complete:
        _check_names(fields, known)
    return ExpectLine(fields.mark, {name: node for name in values if (node := fields.raw(name)) is not None})


def _check_names(fields: Fields, known: KnownNames) -> None:
    """Check that the flow, the step, the variables and the language that are expected exist."""
    flow, step, language = _FLOW.read(fields), _STEP.read(fields), _LANGUAGE.read(fields)
    check = fields.problems.check_name
    if flow is not None and flow not in known.flows:
        fix = f"there are {', '.join(known.flows)}"
        check("E103", fields.mark_of(_FLOW.name), flow, known.flows, f'no flow "{flow}"', fix)
        return
    within = list(known.flows.values()) if flow is None else [known.flows[flow]]
    if step is not None:
        steps = [name for one in within for name in one.steps]
        check("E102", fields.mark_of(_STEP.name), step, steps, f'no step "{step}"')
    where = "" if flow is None else f" in flow {flow}"
    reports = sorted({name for one in within for name in one.reported_as.values()})
    for name in _REACHED.read(fields):
        what, fix = f'no step has "report: {name}"', f"write report: {name} on a step"
        check("E102", fields.mark_of(_REACHED.name), name, reports, what, fix)
    _check_variables(fields, _VARS, {name for one in within for name in one.variables}, where)
    kept = {name for one in known.flows.values() for name, variable in one.variables.items() if variable.keep}
    _check_variables(fields, _KEPT, kept, " that is kept")
    models = [step.facts for one in known.flows.values() for step in one.steps.values() if step.facts.asks_models]
    notable = {name for each in models for name in (*each.gives, *(need.variable for need in each.needs))}
    _check_variables(fields, _FILLED, notable, " that a model may note")
    outcomes = [outcome for one in known.flows.values() for step in one.steps.values() for outcome in step.outcomes]
    exits = dict.fromkeys(outcome.removeprefix(EXIT) for outcome in outcomes if outcome.startswith(EXIT))
    fix = f"there are {', '.join(exits)}" if exits else "no step has exits"
    for name in _EXIT.read(fields):
        check("E109", fields.mark_of(_EXIT.name), name, exits, f'no exit "{name}"', fix)
    for mark, name, _ in (*_CALLED.read(fields), *_NOT_CALLED.read(fields)):
        if " " not in name:  # else the expectation could never be met, or never fail
            fix = "write a handler's name, or a request like GET crm:/orders/*"
            check("E501", mark, name, known.handlers, f'no handler "{name}"', fix)
    for mark, name, _ in _EVENTS.read(fields):
        fix = f"name it in bot.yml: events_to: on: [{name}]"
        check("E109", mark, name, known.events, f'no event "{name}" is delivered', fix)
    if language is not None and not known.languages:
        fix = f"write languages: [{language}] in bot.yml"
        fields.problems.add("E109", fields.mark_of(_LANGUAGE.name), "expect: language: the bot names no languages", fix)
    elif language is not None:
        replace(_LANGUAGE, form=one_of(*known.languages)).read(fields)


def _check_variables(
    fields: Fields, spec: KeySpec[tuple[tuple[Scalar, Node], ...]], names: set[str], where: str
) -> None:
    known, fix = sorted(names), f"there are {', '.join(sorted(names))}" if names else "there are none"
    for key, _ in spec.read(fields):
        fields.problems.check_name("E301", key.mark, key.text, known, f'no variable "{key.text}"{where}', fix)
