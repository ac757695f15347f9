"""What the keys of a transition take, and of what is made of transitions: for editors."""

from bot.keys.key_schemas import (
    ANY,
    ANY_TEXT,
    EXPRESSION,
    NAME_PATTERN,
    WORDING,
    Schema,
    Schemas,
    either,
    map_of,
    one_or_several,
    pattern,
    record,
    shared,
    takes,
)
from bot.steps.transition import AGAIN, BACK, END, NEXT, ROUTE, TARGETS

_RESERVED_ABOUT = {
    NEXT: "The next step of the file.",
    AGAIN: "The question once more: its buttons stay good.",
    BACK: "The question that was left without an answer; else what lies below.",
    END: "The end of this flow.",
    ROUTE: "What this message starts, as if the contact were in no flow.",
}
_SUGGESTED = [{"label": name, "description": about, "body": name} for name, about in _RESERVED_ABOUT.items()]
TARGET: Schema = shared(
    "target",
    {**pattern(f"/?{NAME_PATTERN}|/{NAME_PATTERN}/{NAME_PATTERN}", TARGETS), "defaultSnippets": _SUGGESTED},
)
ASSIGNMENTS = map_of(ANY)
TEXTS = shared("texts", one_or_several(ANY_TEXT))
EFFECTS_KEYS: Schemas = {
    "set": takes(ASSIGNMENTS, "Variables get values, each worked out of what was known before."),
    "untag": takes(TEXTS, "The contact loses these tags, here and at the gateway."),
    "tag": takes(TEXTS, "The contact gets these tags, here and at the gateway."),
    "cancel": takes(TEXTS, "What is scheduled under these names does not start any more."),
}
TRANSITION_KEYS: Schemas = {
    "say": takes(WORDING, "This is said, as a plain message."),
    "ask": takes(WORDING, "The question is put in these words, with its choices."),
    **EFFECTS_KEYS,
    "then": takes(TARGET, "Where it leads: a step, /flow, /flow/step, next, again, back, end or route."),
    "correct": takes(TARGET, "An earlier question to be asked anew, from which one comes back here; in place of then."),
}
TRANSITION = shared("transition", either(TARGET, record(TRANSITION_KEYS)))
CONDITION: Schemas = {"if": takes(EXPRESSION, "It is there only where this is true.")}
WORDS = map_of(shared("word", either(TARGET, record({**TRANSITION_KEYS, **CONDITION}))))
