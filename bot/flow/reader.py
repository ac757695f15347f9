"""From documents to definitions."""

import re
from collections.abc import Mapping
from dataclasses import replace
from zoneinfo import ZoneInfo

from bot.core.messages import BUTTON_TITLE
from bot.flow.definition import LANGUAGE, BotDefinition, Flow, OptOut, Step
from bot.flow.hours import read_hours, read_zone
from bot.flow.keys import INTERRUPTED, LANGUAGE_PATTERN
from bot.flow.starts import read_start
from bot.lang.extensions import Extensions
from bot.lang.fields import Fields
from bot.lang.nodes import List, Map, Mark, Node, Scalar, fingerprint, one_or_more
from bot.lang.problems import Problems, did_you_mean
from bot.lang.scalars import name_of, text_of
from bot.lang.templates import Template
from bot.lang.texts import ChoiceVariable, TextVariable
from bot.lang.variables import Variable, read_variable
from bot.lang.wordings import SENTENCES, WORDINGS
from bot.lang.words import normalise
from bot.steps import KINDS
from bot.steps.ai_settings import AiSettings, read_ai_settings
from bot.steps.custom import all_kinds
from bot.steps.declared import Falls
from bot.steps.kind import Reading, StepKind
from bot.steps.limits import check_length
from bot.steps.services import read_secrets, read_services
from bot.steps.step_options import Defaults, read_defaults, read_step_options
from bot.steps.transition import RESERVED
from bot.steps.words import read_words

_LANGUAGE = re.compile(LANGUAGE_PATTERN)


def read_bot(node: Map, extensions: Extensions, problems: Problems) -> BotDefinition:
    """Read ``bot.yml``."""
    fields = Fields(node, problems, "bot")
    name = fields.string("name") or "Bot"
    timezone = read_zone(fields, "timezone", ZoneInfo("UTC"))
    words = read_words(fields)
    inner = fields.fields_meant("defaults")
    defaults = Defaults() if inner is None else read_defaults(inner)
    fields.raw("settings")  # read by bot.settings
    languages, channels = _read_languages(fields), _read_channels(fields)
    ai, sorry = _read_ai(fields, extensions)
    common, wordings = _common(fields, languages), _read_wordings(fields) | sorry
    secrets = read_secrets(fields)
    services, hours, opt_out = read_services(fields, secrets), read_hours(fields, timezone), _read_opt_out(fields)
    fields.close()
    return BotDefinition(
        name, node.mark, timezone, words, defaults, languages, common, wordings, ai, channels, secrets, services, hours,
        opt_out,
    )  # fmt: skip


def _read_opt_out(fields: Fields) -> OptOut:
    inner = fields.fields("opt_out", "opt_out: {words: [stop], say: ..., back: [start]}")
    if inner is None:
        return OptOut()
    inner.require("words")
    words, say, back = _read_said(inner, "words"), inner.wording("say"), _read_said(inner, "back")
    inner.close()
    for said in words.keys() & back.keys():
        fix = "choose another word for one of them"
        inner.problems.add("E312", back[said], f'{inner.what}: back: "{said}" is a word that opts out', fix)
    return OptOut(words, say, back)


def _read_said(fields: Fields, key: str) -> dict[str, Mark]:
    """Words as they are matched, each with its place."""
    marks = (item.mark for item in fields.one_or_more(key))
    return {normalise(text): mark for text, mark in zip(fields.strings(key), marks, strict=False)}


def _read_languages(fields: Fields) -> tuple[str, ...]:
    languages = fields.strings("languages")
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            what = f'bot: languages: "{language}" is no language code'
            fields.problems.add("E109", fields.mark_of("languages"), what, "write codes like en, id or pt-BR")
    return languages


def _common(fields: Fields, languages: tuple[str, ...]) -> dict[str, Variable]:
    """The contact's language, as flows see it."""
    mark = fields.mark_of("languages")
    return {LANGUAGE: ChoiceVariable(LANGUAGE, mark, of=languages)} if languages else {}


def _read_wordings(fields: Fields) -> dict[str, Template]:
    """What the bot says of its own accord, in its own words."""
    inner = fields.fields("wordings")
    if inner is None:
        return {}
    found = {name: inner.template(name) for name in WORDINGS if inner.has(name)}
    inner.close()
    titles: set[str] = set()
    for name, text in found.items():
        if text is None or name in SENTENCES:
            continue
        check_length(inner, name, text, BUTTON_TITLE)
        if text.source in titles:
            what = f'{inner.what}: a second "{text.source}"'
            inner.problems.add("E406", text.mark, what, "they stand beside each other: use other words")
        titles.add(text.source)
    return {name: text for name, text in found.items() if text is not None}


def _read_ai(fields: Fields, extensions: Extensions) -> tuple[AiSettings, dict[str, Template]]:
    """What holds for all AI turns, and what is said where one fails, as one of the bot's wordings."""
    inner = fields.fields("ai")
    if inner is None:
        return AiSettings(), {}
    settings = read_ai_settings(inner, extensions.handlers, step=False)
    sorry = inner.wording("sorry")
    inner.close()
    return settings, {} if sorry is None else {"sorry": sorry}


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


def read_flow(
    node: Map,
    bot: BotDefinition,
    extensions: Extensions,
    documents: Mapping[str, str],
    problems: Problems,
) -> Flow:
    """Read one flow with all its steps. ``documents`` are the bot's text files, by path."""
    fields = Fields(node, problems, "flow")
    name = fields.name("flow") or ""
    fields.what = f'flow "{name}"'
    about = fields.string("about") or ""
    variables = _read_variables(fields)
    start = read_start(fields, variables)
    inner = fields.fields_meant("defaults")
    defaults = bot.defaults if inner is None else read_defaults(inner).over(bot.defaults)
    known, handlers, kinds = {**bot.common, **variables}, extensions.handlers, all_kinds(extensions.verbs)
    reading = Reading("", problems, known, handlers, None, {}, documents, bot.ai, bot.services, bot.hours, kinds)
    steps, unreadable = _read_steps(fields, defaults, reading)
    interrupted = fields.choice("interrupted", INTERRUPTED)
    words = read_words(fields)
    fields.close()
    mark = fields.mark_of("flow")
    return Flow(name, mark, about, start, variables, defaults, words, steps, interrupted, unreadable)


def _read_variables(fields: Fields) -> dict[str, Variable]:
    """The variables, also those of which something is wrong: what uses them need not be a problem as well."""
    inner = fields.fields_meant("vars", "vars: {name: {type: text}}")
    variables = {}
    for key, node in () if inner is None else inner.entries():
        name_of(key, fields.problems, "variable")
        variables[key.text] = read_variable(key.text, node, fields.problems)
    listed = (item for item in one_or_more(fields.raw("vars")) if not isinstance(item, List))
    named = (key for item in listed for key in ([key for key, _ in item.entries] if isinstance(item, Map) else [item]))
    return {key.text: TextVariable(key.text, key.mark) for key in named} | variables


def _read_steps(fields: Fields, defaults: Defaults, reading: Reading) -> tuple[dict[str, Step], frozenset[str]]:
    """The steps, and the names of those of which nothing is left."""
    fields.require("steps")
    inner = fields.fields_meant("steps", "steps: {name: {say: ...}}")
    if inner is None:
        return {}, frozenset()
    found = {key.text: _read_step(key, node, defaults, reading) for key, node in inner.entries()}
    if isinstance(fields.raw("steps"), Map) and not found:
        fields.problems.add("E105", fields.mark_of("steps"), f"{fields.what} has no steps", "add the first one")
    steps = {name: step for name, step in found.items() if step is not None}
    return steps, frozenset(found.keys() - steps.keys())


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
    verb = _verb(fields, reading.kinds) if isinstance(node, Map) else None
    if verb is None:
        return None
    kind_class = reading.kinds[verb]
    options = read_step_options(fields, saves=kind_class.saves)
    defaults = options.defaults.over(inherited)
    kind = kind_class.read(fields, replace(reading, step=name, save=options.save, errors=defaults.errors or {}))
    _refuse_options(fields, kind)
    fields.close()
    said = fingerprint(node, without="renamed_from")  # who waits there is asked nothing anew for a new name alone
    return Step(name, key.mark, kind, options, defaults, said, written=_in_a_line(fields.node.get(verb)))


def _in_a_line(node: Node | None) -> str:
    """What a node says, as far as that goes into a line: of a map its values with their keys, of a list nothing."""
    match node:
        case Scalar(text=text):
            return text
        case Map(entries=entries):
            return ", ".join(f"{key.text}: {value.text}" for key, value in entries if isinstance(value, Scalar))
    return ""


def _verb(fields: Fields, kinds: Mapping[str, type[StepKind]]) -> str | None:
    """The one verb of a step; none, two or an unknown one is a problem. `set` beside another verb is an option."""
    keys = {key.text: key for key, _ in fields.node.entries}
    verbs = [name for name in keys if name in kinds]
    if len(verbs) > 1 and "set" in verbs:
        verbs.remove("set")
    verbs = [name for name in verbs if name in KINDS] or verbs  # a built-in verb's key may be a verb of the bot's own
    if not verbs:
        first = next(iter(keys), None)
        what = f'{fields.what} has no verb, it begins with "{first}"' if first else f"{fields.what} is empty"
        fields.problems.add(
            "E107", fields.mark, what, did_you_mean(first or "", kinds, f"write one of {', '.join(kinds)}")
        )
        return None
    for extra in verbs[1:]:
        fields.raw(extra)
        what = f'{fields.what} has two verbs, "{verbs[0]}" and "{extra}"'
        fields.problems.add("E107", keys[extra].mark, what, "make two steps of it")
    return verbs[0]


def _refuse_options(fields: Fields, kind: StepKind) -> None:
    """Step options that would never be taken."""
    nobody = "where nobody is waited for", "put it on a step that waits for an answer"
    anything = "where every reply is taken", "leave it out"
    nowhere = "where every way out has a target of its own", "write the target there"
    refused = {} if kind.waits else dict.fromkeys(("retry", "remind", *(() if kind.deaf else ("timeout",))), nobody)
    if not kind.hears:
        refused["words"] = nobody
    if kind.takes_unread:
        refused["retry"] = anything
    if not any(outcome.falls is Falls.THEN for outcome in kind.outcomes().values()):
        refused["then"] = nowhere
    for key, (why, fix) in refused.items():
        if fields.has(key):
            fields.problems.add("E123", fields.mark_of(key), f'{fields.what}: "{key}" {why}', fix)
