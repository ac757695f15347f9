"""The answers that a person writes in place of a model: a text, which can end with acts of the model."""

import json
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from bot.checker.exploring.moves import ModelResult
from bot.core.effects import AskModel
from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.problems import did_you_mean
from bot.language.steps.tools import LEAVE, REMEMBER
from bot.testing.conversations.stub_reader import MODEL_FAILURES

_ACTS = lazy_pattern(r"(?:^|\s+)\b(LEAVE|NOTE|CALL|FAIL)(?: +|$)")


_FORMS = {
    "LEAVE": "LEAVE exit",
    "NOTE": "NOTE variable: value",
    "CALL": 'CALL tool {"argument": "value"}',
}


class UnclearAnswer(BotError):
    """The written text is no answer of a model's; the error's text says why."""


def answer_by_hand(written: str) -> ModelResult:
    """A model's answer: ``With pleasure. NOTE wish: a cake LEAVE order``.

    After the text, which may be missing, come `LEAVE exit`, `NOTE variable: value`, `CALL tool {"argument": "value"}`
    or `FAIL failure`, one of `bot.testing.conversations.stub_reader.MODEL_FAILURES`. Raises `UnclearAnswer`.
    """
    text, *acts = _ACTS.split(written.strip())
    calls: list[tuple[str, Mapping[str, Any]]] = []
    fails = None
    for word, given in zip(acts[::2], map(str.strip, acts[1::2]), strict=True):
        if word == "FAIL" and given not in MODEL_FAILURES:
            fix = did_you_mean(given, MODEL_FAILURES, f"there are {', '.join(MODEL_FAILURES)}")
            raise UnclearAnswer(f'no model fails with "{given}": {fix}' if given else f"FAIL needs a name: {fix}")
        if word == "FAIL":
            fails = given
        else:
            calls.append(_call(word, given))
    return ModelResult(text, tuple(calls), fails)


def _call(word: str, given: str) -> tuple[str, Mapping[str, Any]]:
    if not given:
        raise UnclearAnswer(f"{word} needs a name behind it: {_FORMS[word]}")
    if word == "LEAVE":
        return f"{LEAVE}{given}", {}
    name, colon, rest = given.partition(":" if word == "NOTE" else " ")
    if word == "NOTE":
        if not colon:
            raise UnclearAnswer(f"write the value to note, such as NOTE {name or 'wish'}: a cake")
        return REMEMBER, {name.strip(): rest.strip()}
    try:
        arguments = json.loads(rest or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise UnclearAnswer(f'write the arguments of a call as JSON, such as CALL {name} {{"number": 1}}')
    return name, arguments


def results_for(effect: AskModel) -> Iterator[str]:
    """The results of the calls that the model made just before this question: ``orders_find: {"number": 17}``."""
    names = {call["id"]: call["function"]["name"] for sent in effect.messages for call in sent.get("tool_calls", ())}
    last = takewhile(lambda sent: sent["role"] == "tool", reversed(effect.messages))
    yield from reversed([f"{names[sent['tool_call_id']]}: {sent['content']}" for sent in last])


def acts_of(effect: AskModel) -> Iterator[str]:
    """The acts that a model can add to its answer to this question, as they are written by hand."""
    for tool in effect.tools:
        name, properties = tool["function"]["name"], tool["function"]["parameters"].get("properties", {})
        if name == REMEMBER:
            yield from (f"NOTE {variable}: " for variable in properties)
        elif name.startswith(LEAVE):
            yield f"LEAVE {name.removeprefix(LEAVE)}"
        else:
            yield f"CALL {name} {json.dumps(dict.fromkeys(properties, ''))}"
