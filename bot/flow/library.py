"""The library: all loaded flows of a bot. Immutable; a reload makes a new one and swaps it whole."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.flow.checks import check
from bot.flow.definition import BotDefinition, Flow
from bot.flow.documents import BOT_FILE, LEFT_OUT, Documents, Source, read_documents
from bot.flow.machine import FlowMachine
from bot.flow.reader import read_bot, read_flow
from bot.flow.triggers import Triggers
from bot.flow.uses import uses_of_bot, uses_of_flow
from bot.flow.wiring import wired
from bot.lang.draws import Draw, drawn
from bot.lang.handlers import HandlerSpec
from bot.lang.nodes import Map, Mark
from bot.lang.problems import Problem, Problems
from bot.lang.words import normalise
from bot.steps.doors import Door


@dataclass(frozen=True, slots=True)
class Library:
    """Everything that a turn looks at beside the session and the event."""

    bot: BotDefinition
    flows: Mapping[str, Flow]
    machines: Mapping[str, FlowMachine]
    triggers: Triggers
    words: Mapping[str, Door]  # the bot's words, normalised
    version: str
    documents: Mapping[str, str]  # the bot's text files, by path: what AI turns may know
    translations: Mapping[str, "Library"] = field(default_factory=dict)  # the same bot in its other languages
    draw: Draw = drawn

    def in_language(self, language: str | None) -> "Library":
        """The same bot as it speaks a language; itself where it does not speak that, or none is given."""
        return self.translations.get(language or "", self)

    @property
    def asks_models(self) -> bool:
        """Whether any step asks a model."""
        return any(step.kind.asks_models for flow in self.flows.values() for step in flow.steps.values())

    def prepare(self) -> None:
        """Compile every template now: what only checks a bot needs none of that, what runs it all of it."""
        for used in uses_of_bot(self.bot):
            used.text.prepare()
        for flow in self.flows.values():
            for used in uses_of_flow(flow):
                used.text.prepare()


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading came to: a library unless there are problems, and the test documents as they are."""

    library: Library | None
    problems: list[Problem]
    tests: list[Map]


def load(sources: Iterable[Source], handlers: Mapping[str, HandlerSpec], documents: Iterable[Source] = ()) -> Loaded:
    """Read, wire and check all files of a bot; every problem of every file is found at once.

    ``documents`` are its text files, which AI turns may know.
    """
    sources = list(sources)
    texts = {source.path: source.text.decode("utf-8", "replace") for source in documents}
    problems = Problems()
    documents_read = read_documents(sources, problems)
    complete = not problems.any_of(LEFT_OUT)
    bot = _the_bot(documents_read, handlers, problems)
    flows = _the_flows(documents_read, bot, handlers, texts, problems)
    check(bot, flows, problems, complete=complete)
    if problems:
        return Loaded(None, problems.sorted(), documents_read.tests)
    return Loaded(_library(bot, flows, texts, sources), [], documents_read.tests)


def _the_bot(documents: Documents, handlers: Mapping[str, HandlerSpec], problems: Problems) -> BotDefinition:
    top = Mark(BOT_FILE, 1, 1)
    if not documents.bots:
        problems.add("E100", top, "there is no bot.yml to read", "add one with a `name`")
        return read_bot(Map(top, ()), handlers, problems)
    for further in documents.bots[1:]:
        problems.add("E100", further.mark, "a second document in bot.yml", "put flows into files of their own")
    return read_bot(documents.bots[0], handlers, problems)


def _the_flows(
    documents: Documents,
    bot: BotDefinition,
    handlers: Mapping[str, HandlerSpec],
    texts: Mapping[str, str],
    problems: Problems,
) -> dict[str, Flow]:
    flows: dict[str, Flow] = {}
    for node in documents.flows:
        flow = wired(read_flow(node, bot, handlers, texts, problems), problems)
        if flow.name in flows:
            first = flows[flow.name].mark
            problems.add(
                "E111",
                flow.mark,
                f'a second flow "{flow.name}", the first is at {first.path}:{first.line}',
                "rename one of them",
            )
        elif flow.name:
            flows[flow.name] = flow
    if not documents.flows and not problems:
        problems.add("E100", bot.mark, "the bot has no flows", 'add a file that begins with "flow: main"')
    return flows


def _library(bot: BotDefinition, flows: Mapping[str, Flow], texts: Mapping[str, str], sources: list[Source]) -> Library:
    digest = hashlib.sha256()
    for path, text in sorted(texts.items()):
        digest.update(path.encode() + b"\0" + text.encode() + b"\0")
    for source in sorted(sources, key=lambda source: source.path):
        digest.update(source.path.encode() + b"\0" + source.text + b"\0")
    return Library(
        bot,
        flows,
        {name: FlowMachine(flow) for name, flow in flows.items()},
        Triggers.of(flows.values()),
        {normalise(word): door for word, door in bot.words.items()},
        digest.hexdigest()[:12],
        texts,
    )
