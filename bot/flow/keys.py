"""What the documents of flows and of ``bot.yml`` take, with the steps of every kind: for editors."""

from collections.abc import Mapping

from bot.flow.hours import HOURS
from bot.flow.starts import START_KEYS
from bot.lang.keys import (
    ANY_TEXT,
    NAME,
    WORDING,
    Schema,
    Schemas,
    by_key,
    choice,
    map_of,
    one_or_several,
    pattern,
    record,
    takes,
)
from bot.lang.variables import VARIABLE
from bot.lang.wordings import SORRY, WORDINGS
from bot.steps.ai_settings import SETTINGS_KEYS
from bot.steps.kind import StepKind
from bot.steps.services import SECRETS, SERVICES
from bot.steps.step_option_keys import DEFAULTS, SOME_HAVE, STEP_OPTIONS
from bot.steps.transition_keys import WORDS

LANGUAGE_PATTERN = "[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"
INTERRUPTED = ("resume", "drop", "ask")
_WORDINGS: Schemas = {
    name: takes(ANY_TEXT, f"In place of {texts['en']!r}.") for name, texts in WORDINGS.items()
}  # fmt: skip
_SORRY: Schemas = {"sorry": takes(WORDING, f"Said where a model fails and the flow says nothing, for {SORRY['en']!r}.")}
_OPT_OUT: Schemas = {
    "words": takes(one_or_several(ANY_TEXT), "By these a contact opts out, wherever it is."),
    "say": takes(WORDING, "What is said then."),
    "back": takes(one_or_several(ANY_TEXT), "By these a contact who has opted out is back."),
}
_BOT: Schemas = {
    "name": takes(ANY_TEXT, "The bot's name, for operators."),
    "timezone": takes(ANY_TEXT, "Whose clock dates and times go by, like Asia/Jakarta; UTC where nothing is said."),
    "words": takes(WORDS, "Words that are understood in every flow and outside of all."),
    "opt_out": takes(record(_OPT_OUT, "words"), "Words by which a contact opts out of all that it does not ask for."),
    "defaults": takes(DEFAULTS, "What a step does where it says nothing itself."),
    "languages": takes(
        one_or_several(pattern(LANGUAGE_PATTERN, "write codes like en, id or pt-BR")),
        "The languages that it speaks, that of the flows first.",
    ),
    "wordings": takes(record(_WORDINGS), "What the bot says of its own accord."),
    "hours": takes(HOURS, "Opening hours, by name."),
    "http": takes(SERVICES, "The services that it sends requests to, by name."),
    "secrets": takes(SECRETS, "Names of environment variables that the services are told."),
    "ai": takes(record({**SETTINGS_KEYS, **_SORRY}), "What holds for all AI turns."),
    "channels": takes(map_of(ANY_TEXT), "The gateway's channel ids, by the channel's number."),
}


def bot_schema(settings: Schemas) -> Schema:
    """``bot.yml``. ``settings`` are the keys below the key of that name."""
    about = "Settings that are no secrets, by their names in small letters, without BOT_."
    return record({**_BOT, "settings": takes(record(settings), about)})


def flow_schema(kinds: Mapping[str, type[StepKind]]) -> Schema:
    """A flow with steps of these kinds."""
    keys: Schemas = {
        "flow": takes(NAME, "The flow's name."),
        "about": takes(ANY_TEXT, "What it is for, for whoever reads it."),
        "start": takes(record(START_KEYS), "What starts it."),
        "interrupted": takes(choice(*INTERRUPTED), "What becomes of it when another flow cuts in; else none can."),
        "words": takes(WORDS, "Words that are understood in all of it."),
        "vars": takes(map_of(VARIABLE), "Its variables."),
        "defaults": takes(DEFAULTS, "What its steps do where they say nothing; over the bot's defaults."),
        "steps": takes(map_of(step_schema(kinds)), "Its steps, in order: it begins with the first."),
    }
    return record(keys, "flow", "steps")


def step_schema(kinds: Mapping[str, type[StepKind]]) -> Schema:
    """A step of one of these kinds. A key that is a verb and an option too is a verb where no other verb is."""
    verbs = sorted(kinds, key=lambda verb: verb in STEP_OPTIONS)
    records = {verb: _step_of(kinds[verb]) for verb in verbs}
    return by_key(records, f"a step has one verb: {', '.join(kinds)}")


def _step_of(kind: type[StepKind]) -> Schema:
    options = {name: schema for name, schema in STEP_OPTIONS.items() if name not in SOME_HAVE - kind.options}
    return record({**kind.keys, **options, kind.verb: kind.keys[kind.verb]}, kind.verb, *kind.needed)
