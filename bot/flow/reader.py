"""From documents to definitions."""

import re
from collections.abc import Mapping
from dataclasses import replace
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.core.events import EVENTS
from bot.flow.definition import BotDefinition, Flow, Start, Step
from bot.lang.fields import Fields, name_of, text_of
from bot.lang.handlers import HandlerSpec
from bot.lang.nodes import List, Map, Node, Scalar, fingerprint
from bot.lang.problems import Problems, did_you_mean
from bot.lang.variables import Variable, read_variable
from bot.steps import KINDS, LATER_KINDS
from bot.steps.ai_settings import AiSettings, read_ai_settings
from bot.steps.doors import RESERVED, Door, door_of
from bot.steps.kind import Falls, Reading, StepKind
from bot.steps.riders import LATER_RIDERS, Defaults, read_defaults, read_riders

_LANGUAGE = re.compile("[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
LATER_IN_FLOW = {"words": "words of a flow"}
LATER_IN_START = {
    "match": "wider matching",
    "pattern": "triggers by pattern",
    "contact": "triggers by first or returning contact",
}


def read_bot(node: Map, handlers: Mapping[str, HandlerSpec], problems: Problems) -> BotDefinition:
    """Read ``bot.yml``."""
    fields = Fields(node, problems, "bot")
    name = fields.string("name") or "Bot"
    timezone = _timezone(fields)
    words = _read_words(fields)
    inner = fields.fields("defaults")
    defaults = Defaults() if inner is None else read_defaults(inner)
    fields.raw("settings")  # read by bot.settings
    languages, ai, channels = _read_languages(fields), _read_ai(fields, handlers), _read_channels(fields)
    fields.close()
    return BotDefinition(name, node.mark, timezone, words, defaults, languages, ai, channels)


def _read_languages(fields: Fields) -> tuple[str, ...]:
    languages = fields.strings("languages")
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            what = f'bot: languages: "{language}" is no language code'
            fields.problems.add("E109", fields.mark_of("languages"), what, "write codes like en, id or pt-BR")
    return languages


def _read_ai(fields: Fields, handlers: Mapping[str, HandlerSpec]) -> AiSettings:
    inner = fields.fields("ai")
    if inner is None:
        return AiSettings()
    settings = read_ai_settings(inner, handlers, step=False)
    inner.close()
    return settings


def _read_channels(fields: Fields) -> dict[str, str]:
    """The gateway's channel ids, by the channel's number."""
    inner = fields.fields("channels")
    entries = () if inner is None else inner.entries()
    found = {number.text.removeprefix("+"): text_of(node, fields.problems, "channel") for number, node in entries}
    for number, node in entries:
        if not number.text.removeprefix("+").isdigit():
            what = f'bot: channels: "{number.text}" is no number'
            fields.problems.add("E109", node.mark, what, "write the channel's number with its country code: its id")
    return {number: id for number, id in found.items() if id is not None}


def _timezone(fields: Fields) -> ZoneInfo:
    name = fields.string("timezone") or "UTC"
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        fields.problems.add(
            "E109", fields.mark_of("timezone"), f'no time zone "{name}"', "write one like Asia/Jakarta or UTC"
        )
        return ZoneInfo("UTC")


def _read_words(fields: Fields) -> dict[str, Door]:
    inner = fields.fields("words")
    if inner is None:
        return {}
    words = {}
    for word, node in inner.entries():
        door = door_of(node, fields.problems, f'word "{word.text}"')
        if door is not None:
            words[word.text] = door
    return words


def read_flow(
    node: Map,
    bot: BotDefinition,
    handlers: Mapping[str, HandlerSpec],
    documents: Mapping[str, str],
    problems: Problems,
) -> Flow:
    """Read one flow with all its steps. ``documents`` are the bot's text files, by path."""
    fields = Fields(node, problems, "flow")
    name = fields.name("flow") or ""
    fields.what = f'flow "{name}"'
    about = fields.string("about") or ""
    start = _read_start(fields)
    variables = _read_variables(fields)
    inner = fields.fields("defaults")
    defaults = bot.defaults if inner is None else read_defaults(inner).over(bot.defaults)
    reading = Reading("", problems, variables, handlers, None, {}, documents, bot.ai)
    steps = _read_steps(fields, defaults, reading)
    interrupted = fields.choice("interrupted", ("resume", "drop", "ask"))
    fields.close(LATER_IN_FLOW)
    written = fields.raw("steps")
    named = {key.text for key, _ in written.entries} if isinstance(written, Map) else set()
    unreadable = frozenset(named - steps.keys())
    return Flow(name, fields.mark_of("flow"), about, start, variables, defaults, steps, interrupted, unreadable)


def _read_start(fields: Fields) -> Start | None:
    inner = fields.fields("start")
    if inner is None:
        return None
    words = inner.raw("words")
    items = words.items if isinstance(words, List) else () if words is None else (words,)
    texts = inner.strings("words")
    marks = [item.mark for item in items]
    events = inner.strings("event")
    for event in events:
        if event not in EVENTS:
            fix = did_you_mean(event, EVENTS, f"write one of {', '.join(EVENTS)}")
            inner.problems.add("E109", inner.mark_of("event"), f'{inner.what}: no event "{event}"', fix)
    start = Start(inner.mark, tuple(zip(texts, marks, strict=False)), inner.boolean("otherwise"), events)
    inner.close(LATER_IN_START)
    return start


def _read_variables(fields: Fields) -> dict[str, Variable]:
    inner = fields.fields("vars") or fields.misspelt("vars")
    if inner is None:
        return {}
    variables = {}
    for key, node in inner.entries():
        if name_of(key, fields.problems, "variable") is not None:
            variables[key.text] = read_variable(key.text, node, fields.problems)
    return variables


def _read_steps(fields: Fields, defaults: Defaults, reading: Reading) -> dict[str, Step]:
    fields.require("steps")
    inner = fields.fields("steps")
    if inner is None:
        return {}
    steps = {}
    for key, node in inner.entries():
        step = _read_step(key, node, defaults, reading)
        if step is not None:
            steps[step.name] = step
    if not steps and not inner.entries():
        fields.problems.add("E105", fields.mark_of("steps"), f"{fields.what} has no steps", "add the first one")
    return steps


def _read_step(key: Scalar, node: Node, inherited: Defaults, reading: Reading) -> Step | None:
    problems = reading.problems
    name = name_of(key, problems, "step")
    if name is None:
        return None
    if name in RESERVED:
        problems.add(
            "E108", key.mark, f'"{name}" cannot be a step: the word is a target of its own', "choose another name"
        )
        return None
    fields = Fields(node, problems, f'step "{name}"')
    verb = _verb(fields) if isinstance(node, Map) else None
    if verb is None:
        return None
    kind_class = KINDS[verb]
    riders = read_riders(fields, saves=kind_class.saves)
    defaults = riders.defaults.over(inherited)
    kind = kind_class.read(fields, replace(reading, step=name, save=riders.save, errors=defaults.errors or {}))
    _refuse_riders(fields, kind)
    fields.close({**kind_class.later, **LATER_RIDERS})
    return Step(name, key.mark, kind, riders, defaults, fingerprint(node))


def _verb(fields: Fields) -> str | None:
    """The one verb of a step; none, two or an unknown one is a problem. `set` beside another verb is a rider."""
    keys = {key.text: key for key, _ in fields.node.entries}
    for name in LATER_KINDS.keys() & keys.keys():
        fields.problems.add("E199", keys[name].mark, f'{fields.what}: "{name}" is not available yet', LATER_KINDS[name])
        return None
    verbs = [name for name in keys if name in KINDS]
    if len(verbs) > 1 and "set" in verbs:
        verbs.remove("set")
    if not verbs:
        first = next(iter(keys), None)
        what = f'{fields.what} has no verb, it begins with "{first}"' if first else f"{fields.what} is empty"
        fields.problems.add(
            "E107", fields.mark, what, did_you_mean(first or "", KINDS, f"write one of {', '.join(KINDS)}")
        )
        return None
    for extra in verbs[1:]:
        fields.raw(extra)
        what = f'{fields.what} has two verbs, "{verbs[0]}" and "{extra}"'
        fields.problems.add("E107", keys[extra].mark, what, "make two steps of it")
    return verbs[0]


def _refuse_riders(fields: Fields, kind: StepKind) -> None:
    """Riders that would never be taken."""
    nobody = "where nobody is waited for", "put it on a step that waits for an answer"
    anything = "where every reply is taken", "leave it out"
    nowhere = "where every way out has a target of its own", "write the target there"
    refused = {} if kind.waits else dict.fromkeys(("retry", "remind", *(() if kind.deaf else ("timeout",))), nobody)
    if kind.takes_unread:
        refused["retry"] = anything
    if not any(outcome.falls is Falls.THEN for outcome in kind.outcomes().values()):
        refused["then"] = nowhere
    for key, (why, fix) in refused.items():
        if fields.has(key):
            fields.problems.add("E123", fields.mark_of(key), f'{fields.what}: "{key}" {why}', fix)
