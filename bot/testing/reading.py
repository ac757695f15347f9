"""Reading a test or an evaluation out of its document; what is wrong with it becomes a problem."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from bot.core.text import digits, is_phone
from bot.keys.fields import Fields
from bot.lang.nodes import List, Map, Mark, Node, Scalar
from bot.lang.problems import Problems, did_you_mean
from bot.testing.acts import ACTS, Reader
from bot.testing.expectations import read_expect, read_says
from bot.testing.known import Known
from bot.testing.stage import read_model, read_request, read_stage
from bot.testing.transcript import Again, HttpLine, Line, ModelLine, Restart, Silence, Transcript, Tries

NOW = datetime(2030, 5, 6, 10, 0)  # a Monday
TIMES = 3
MOST_TIMES = 100
LEAST = 100  # per cent of the tries
PER_CENT = "(100|[1-9][0-9]?) ?%"


def read_transcript(node: Map, known: Known, problems: Problems) -> Transcript:
    """Read one test or evaluation; what is wrong with it becomes a problem."""
    fields = Fields(node, problems, "this document")
    kind = "evaluate" if node.entries and node.entries[0][0].text == "evaluate" else "test"
    known = replace(known, evaluates=kind == "evaluate")
    name = fields.string(kind) or ""
    fields.what = f'{kind} "{name}"'
    tries = _read_tries(fields) if known.evaluates else None
    now, contact, stage = _read_now(fields), _read_contact(fields), read_stage(fields, known)
    items = fields.items("talk")
    if fields.require("talk") and isinstance(fields.raw("talk"), List) and not items:
        problems.add("E601", fields.mark_of("talk"), "nothing is said in this talk", "begin it with - user: hello")
    lines = [_read_line(item, known, problems) for item in items]
    fields.close()
    talk = tuple(line for line in lines if line is not None)
    return Transcript(name, node.mark, now, talk, stage, contact, tries)


def _read_tries(fields: Fields) -> Tries:
    times, text = fields.integer("times", 1, MOST_TIMES) or TIMES, fields.string("pass")
    found = None if text is None else re.fullmatch(PER_CENT, text)
    if text is not None and found is None:
        fix = "write how many of the tries have to pass, like pass: 80%"
        fields.problems.add("E106", fields.mark_of("pass"), f'{fields.what}: pass: "{text}" is no share', fix)
    return Tries(times, LEAST if found is None else int(found[1]))


def _read_now(fields: Fields) -> datetime:
    text = fields.string("now")
    if text is None:
        return NOW
    try:
        now = datetime.fromisoformat(text)
    except ValueError:
        now = None
    if now is None or now.tzinfo is not None:
        what = f'{fields.what}: "{text}" is no time on the bot\'s clock'
        fields.problems.add("E602", fields.mark_of("now"), what, "write one like 2030-05-06T10:00")
        return NOW
    return now


def _read_contact(fields: Fields) -> str | None:
    text = fields.string("contact")
    number = None if text is None else digits(text)
    if text is not None and (number is None or not is_phone(number)):
        what = f'{fields.what}: contact: "{text}" is no phone number'
        fields.problems.add("E106", fields.mark_of("contact"), what, "write one with its country code: 6281234567890")
        return None
    return number


def _read_line(node: Node, known: Known, problems: Problems) -> Line | None:
    if not isinstance(node, Map):
        return _read_word(node, problems)
    fields = Fields(node, problems, "talk")
    verbs = [key.text for key, _ in node.entries if key.text in VERBS]
    if len(verbs) > 1:
        problems.add("E601", node.key_mark(verbs[1]), f'"{verbs[0]}" and "{verbs[1]}" in one line', "make two lines")
        return None
    if not verbs:
        first = node.entries[0][0].text if node.entries else ""
        fix = did_you_mean(first, VERBS, f"begin it with one of {', '.join(VERBS)}")
        problems.add("E601", node.mark, f'a line of a talk cannot begin with "{first}"', fix)
        return None
    line = VERBS[verbs[0]](fields, known)
    fields.close()
    return line


def _read_word(node: Node, problems: Problems) -> Line | None:
    """A line that is one word."""
    if isinstance(node, Scalar) and node.text in WORDS:
        return WORDS[node.text](node.mark)
    written, fix = "a list", "write who does what, like user: hello"
    if isinstance(node, Scalar):
        written, fix = f'"{node.text}"', did_you_mean(node.text, WORDS, fix)
    problems.add("E601", node.mark, f"{written} is no line of a talk", fix)
    return None


def _read_model(fields: Fields, known: Known) -> Line | None:
    node = fields.raw("model")
    if known.evaluates:
        fix = "leave the line out, or begin the document with test:"
        fields.problems.add("E601", fields.mark, "a model answers here, and this line says what it answers", fix)
    return None if node is None else ModelLine(fields.mark, read_model(node, fields.problems))


def _read_http(fields: Fields, known: Known) -> Line | None:
    node = fields.raw("http")
    found = None if node is None else read_request(node, fields.problems)
    return None if found is None else HttpLine(fields.mark, *found)


VERBS: dict[str, Reader] = {
    **ACTS,
    "model": _read_model,
    "http": _read_http,
    "bot": read_says,
    "expect": read_expect,
}
"""The lines of a talk by the word that each begins with."""

OF_TESTS = {"model"}
"""Those that no evaluation has."""

WORDS: dict[str, Callable[[Mark], Line]] = {"silence": Silence, "restart": Restart, "again": Again}
"""The lines of a talk that are one word."""
