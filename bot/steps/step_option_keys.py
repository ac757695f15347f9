"""What options and defaults take: for editors."""

from bot.keys.key_schemas import BOOLEAN, DURATION, NAME, Schemas, choice, integer, map_of, record, shared, takes
from bot.steps.notice_keys import NOTICE
from bot.steps.schedule import SCHEDULE
from bot.steps.transition_keys import EFFECTS_KEYS, TRANSITION, TRANSITION_KEYS, WORDS

_RETRY: Schemas = {
    "max": takes(integer(0, 100), "How often the question is put again before else is taken; for ever without it."),
    "else": takes(TRANSITION, "Where the wrong reply after that leads."),
    **TRANSITION_KEYS,
}
_AFTER: Schemas = {"after": takes(DURATION, "After how long a silence."), **TRANSITION_KEYS}
_REMIND: Schemas = {"max": takes(integer(1, 100), "How often; once where nothing is said."), **_AFTER}
_TIMEOUT: Schemas = {"fixed": takes(BOOLEAN, "Counted from entry, and not from the last sign of life."), **_AFTER}
_ERRORS: Schemas = {
    "else": takes(TRANSITION, "Where every failure leads that is not named."),
    "failed": takes(TRANSITION, "Where it leads that an expression cannot be worked out."),
    "mismatch": takes(TRANSITION, "Where it leads that a value does not fit its variable."),
    "timeout": takes(TRANSITION, "Where it leads that something outside takes too long."),
}
_VISITS: Schemas = {
    "max": takes(integer(1), "How often the step may be entered in one conversation."),
    "else": takes(TRANSITION, "Where the next entry leads instead."),
}
_COMMON: Schemas = {
    "retry": takes(
        shared("map-of-retry", record(_RETRY)), "What follows a reply that is no answer; the question again."
    ),
    "remind": takes(shared("map-of-remind", record(_REMIND)), "What follows a silence; nothing where nothing is said."),
    "timeout": takes(
        shared("map-of-timeout", record(_TIMEOUT)), "What follows a longer silence: where it leads must be written."
    ),
    "errors": takes(shared("map-of-errors", map_of(TRANSITION, _ERRORS)), "Where failures lead, by their names."),
    "window_closed": takes(
        record({"template": takes(NOTICE, "The template.")}, "template"),
        "What is sent instead of a message that comes when the 24 hours are over.",
    ),
}
DEFAULTS = record({
    **_COMMON,
    "old_taps": takes(
        choice("explain", "reopen", "ignore", "message"),
        "What a tap on an earlier question does; explain, or message at a step with other, where nothing is said.",
    ),
    "gone": takes(TRANSITION, "Where those are led who wait at a step that an edit removed; else their flow ends as expired."),
})  # fmt: skip
STEP_OPTIONS: Schemas = {
    "then": takes(TRANSITION, "Where the step leads when it says nothing else; the next step where nothing is said."),
    "save": takes(NAME, "The variable that takes the answer or the result."),
    **_COMMON,
    **EFFECTS_KEYS,
    "schedule": takes(SCHEDULE, "Flows that start for the contact later."),
    "visits": takes(record(_VISITS, "max", "else"), "A bound on how often the step is entered."),
    "renamed_from": takes(NAME, "The step's name before an edit, so that who waits there stays."),
    "words": takes(WORDS, "Words that are understood at this step, before any answer."),
}
SOME_HAVE = frozenset({"then", "save", "retry", "remind", "timeout", "words"})
"""The options that not every kind of step has."""
