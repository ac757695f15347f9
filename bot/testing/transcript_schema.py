"""The JSON Schema of test documents, and of all documents of a bot together, for editors."""

from collections.abc import Mapping
from typing import Any

from bot.core.messages import MEDIA_KINDS
from bot.core.session import BUSY
from bot.extensions.verbs import VerbSpec
from bot.flow.bot_file import bot_schema
from bot.flow.flow_file import flow_schema
from bot.keys.key_schemas import (
    ANY,
    ANY_TEXT,
    DURATION,
    EMPTY,
    NEVER,
    Schema,
    Schemas,
    by_key,
    choice,
    either,
    integer,
    list_of,
    map_of,
    number,
    one_or_several,
    pattern,
    record,
    shared,
    takes,
    whole,
    with_key,
)
from bot.settings import SETTINGS_KEYS
from bot.simulation.gateway_events import GATEWAY_EVENTS
from bot.steps.custom_steps import all_kinds
from bot.steps.message_parts import LOCATION
from bot.testing.stub_reader import HTTP_FAILURES, MODEL_FAILURES
from bot.testing.transcript_reader import FAULTS, LINE_READERS, MOST_TIMES, OF_TESTS, PER_CENT, TIMES, WORD_LINES

_NULL: Schema = {"type": "null"}
_CALL = either(ANY_TEXT, map_of(ANY))
_ANSWER: Schemas = {
    "status": takes(integer(100, 599), "Its status; 200 where nothing is said."),
    "json": takes(ANY, "Its body, as JSON."),
    "text": takes(ANY_TEXT, "Its body, as a text."),
    "headers": takes(map_of(ANY), "Its headers."),
    "fails": takes(choice(*HTTP_FAILURES), "How the request fails."),
}
_HTTP = map_of(shared("http-answer", either(integer(100, 599), record(_ANSWER))))
_MODEL = shared(
    "model-answer",
    either(
        ANY_TEXT,
        record({
            "says": takes(ANY_TEXT, "What the model says."),
            "calls": takes(list_of(_CALL), "The tools that it asks for, and the exit that it leaves by."),
            "fails": takes(choice(*MODEL_FAILURES), "How it fails."),
        }),
    ),
)  # fmt: skip
_RESULT: Schemas = {
    "returns": takes(ANY, "What the handler returns."),
    "fails": takes(ANY_TEXT, "The error that it ends with: a declared one, timeout, mismatch or error."),
}
_LATE: Schemas = {"late": takes(DURATION, "How long that was on its way, 5m at the most.")}
_PLACE: Schemas = {**LOCATION.schemas, "latitude": number(-90, 90), "longitude": number(-180, 180)}
_SENT: Schemas = {
    **{
        kind: takes(either(ANY_TEXT, EMPTY), "A file of the bot's folder, or nothing: a sample.")
        for kind in MEDIA_KINDS
    },
    "location": takes(record(_PLACE, *LOCATION.required), "A place on the map."),
    "caption": takes(ANY_TEXT, "The text below the file."),
}
_TOLD: Schemas = {"tags": one_or_several(ANY_TEXT)}
_EVENTS: Schemas = {
    name: record({key: _TOLD.get(key, ANY_TEXT) for key in of.keys}) for name, of in GATEWAY_EVENTS.items()
}
_START: Schemas = {
    "flow": takes(ANY_TEXT, "The flow, or FLOW/STEP."),
    "data": takes(map_of(ANY), "Values for its variables."),
    "busy": takes(choice(*BUSY), "What becomes of it while the contact is in a flow; after where nothing is said."),
}
_MESSAGE: Schemas = {
    "says": takes(ANY_TEXT, "The whole text, or a caption."),
    "contains": takes(one_or_several(ANY_TEXT), "Texts that stand in it."),
    "header": takes(ANY_TEXT, "Its header."),
    "footer": takes(ANY_TEXT, "Its footer."),
    "buttons": takes(one_or_several(ANY_TEXT), "The titles of all its buttons, in order."),
    "rows": takes(one_or_several(ANY_TEXT), "The titles of all its rows, in order."),
    "link": takes(ANY_TEXT, "The address of its link."),
    **{kind: takes(ANY_TEXT, "The file's address.") for kind in MEDIA_KINDS},
    "location": takes(ANY_TEXT, "The place's name, or its coordinates."),
    "template": takes(ANY_TEXT, "The template's name."),
    "language": takes(ANY_TEXT, "The template's language."),
    "body": takes(one_or_several(ANY_TEXT), "The template's parameters."),
}
_EXPECTED: Schemas = {
    "flow": takes(either(ANY_TEXT, _NULL), "The flow that the contact is in; null: in none."),
    "step": takes(either(ANY_TEXT, _NULL), "The step that the contact is at; null: at none."),
    "vars": takes(map_of(ANY), "Variables of the flow, with their values."),
    "kept": takes(map_of(ANY), "Variables that outlive a conversation, with their values."),
    "tags": takes(either(ANY_TEXT, list_of(ANY)), "The contact's tags."),
    "language": takes(either(ANY_TEXT, EMPTY), "The contact's language."),
    "calls": takes(list_of(_CALL), "The handlers called and requests made since something happened last."),
    "called": takes(list_of(_CALL), "Handlers and requests that are among those."),
    "not_called": takes(list_of(_CALL), "Handlers and requests that are not among those."),
    "sent": takes(integer(0), "How many messages the contact has got in this test."),
    "exit": takes(
        either(one_or_several(ANY_TEXT), _NULL), "The exit that a model took since then, or any of several; null: none."
    ),
    "filled": takes(map_of(ANY), "Variables that a model notes, with their values."),
}
_SAID: Schemas = {
    "contains": takes(one_or_several(ANY_TEXT), "What must occur in all that the bot said since then."),
    "any": takes(one_or_several(ANY_TEXT), "Of which one at least must occur in it."),
    "without": takes(one_or_several(ANY_TEXT), "What must not occur in it."),
}
_JUDGED: Schemas = {
    "judge": takes(one_or_several(ANY_TEXT), "Questions about the conversation that a model says yes to.")
}
_LINES: Schemas = {
    "user": takes(ANY_TEXT, "The contact writes."),
    "tap": takes(ANY_TEXT, "The contact taps the newest button of this title."),
    "pick": takes(ANY_TEXT, "The contact picks the newest row of this title."),
    "send": takes(
        either(choice(*MEDIA_KINDS, "sticker"), record(_SENT)), "The contact sends a file, a place or a sticker."
    ),
    "wait": takes(DURATION, "Time passes."),
    "event": takes(either(choice(*GATEWAY_EVENTS), record(_EVENTS, most=1)), "The gateway reports an event."),
    "start": takes(either(ANY_TEXT, record(_START, "flow")), "A program starts a flow, or FLOW/STEP."),
    "fault": takes(
        either(choice(*FAULTS), record(dict.fromkeys(FAULTS, integer(1, 1000)), most=1)),
        "The gateway does something wrong, at the next occasion.",
    ),
    "model": takes(_MODEL, "What the model answers, once."),
    "http": takes(_HTTP, "What a service answers, once."),
    "bot": takes(either(ANY_TEXT, record(_MESSAGE)), "The bot sends this."),
}
_ON_ITS_WAY = ("user", "tap", "pick", "send")


def _lines_schema(*, evaluates: bool = False) -> Schema:
    said = takes(
        record({**_SAID, **(_JUDGED if evaluates else {"judge": NEVER})}),
        "What all that the bot said since then is like.",
    )
    expected = {"expect": takes(record({**_EXPECTED, "says": said}), "Where the contact is, and what is known.")}
    known = {**_LINES, **expected}
    verbs = [verb for verb in LINE_READERS if not (evaluates and verb in OF_TESTS)]
    late = {verb: _LATE if verb in _ON_ITS_WAY else {} for verb in verbs}
    lines = {verb: record({verb: known[verb], **late[verb]}, verb) for verb in verbs}
    begins = f"a line begins with one of {', '.join(verbs)}"
    return list_of(either(choice(*WORD_LINES), by_key(lines, begins)))


_STAGE: Schemas = {
    "now": takes(ANY_TEXT, "When it begins, on the bot's clock; 2030-05-06T10:00 where nothing is said."),
    "contact": takes(ANY_TEXT, "The contact's number, with its country code."),
    "handlers": takes(map_of(one_or_several(record(_RESULT))), "What handlers return, by name; a list: in turn."),
    "http": takes(
        map_of(one_or_several(_HTTP["additionalProperties"])), "What services answer, by request; a list: in turn."
    ),
    "random": takes(
        one_or_several({**number(0), "exclusiveMaximum": 1}), "The numbers that are drawn; a list: in turn."
    ),
}
TEST = record(
    {
        "test": takes(ANY_TEXT, "What it shows."),
        **_STAGE,
        "models": takes(
            map_of(one_or_several(_MODEL)), "What models answer, by a part of what is asked; a list: in turn."
        ),
        "talk": takes(_lines_schema(), "What is said and what happens, in order."),
    },
    "test",
    "talk",
)
EVALUATION = record(
    {
        "evaluate": takes(ANY_TEXT, "What it shows of a model."),
        "times": takes(integer(1, MOST_TIMES), f"How often the conversation is run; {TIMES} where nothing is said."),
        "pass": takes(
            pattern(PER_CENT, "write how many of the tries have to pass, like 80%"),
            "How many of the tries have to pass; all where nothing is said.",
        ),
        **_STAGE,
        "talk": takes(_lines_schema(evaluates=True), "What is said and what happens, in order; a model answers."),
    },
    "evaluate",
    "talk",
)


def documents_schema(verbs: Mapping[str, VerbSpec]) -> dict[str, Any]:
    """The JSON Schema of a bot's documents, which say by their keys what they are. ``verbs`` are the bot's own.

    A document without its first key may become any of them.
    """
    documents, bot = (
        {"flow": flow_schema(all_kinds(verbs)), "test": TEST, "evaluate": EVALUATION},
        bot_schema(SETTINGS_KEYS),
    )
    first = {name: of["properties"][name] for name, of in documents.items()}
    found: Schema = {**bot, "properties": {**first, **bot["properties"]}}
    for name, of in reversed(documents.items()):
        found = with_key(name, of, found)
    return whole(found)
