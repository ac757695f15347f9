"""The library: all loaded flows of a bot. Immutable; a reload makes a new one and swaps it whole."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from bot.core.text import in_letters
from bot.expressions import formats
from bot.expressions.filters import Draw, drawn
from bot.expressions.sandbox import OwnCall, own_calls
from bot.extensions.decorators import HookSpec
from bot.extensions.gathered import Extensions
from bot.flow.bot_file import read_bot
from bot.flow.definition import BotDefinition, Flow, uses_of_bot, uses_of_flow
from bot.flow.documents import BOT_FILE, UNREAD, Documents, Source, read_documents
from bot.flow.flow_checks import check, check_own
from bot.flow.flow_file import read_flow
from bot.flow.translations import Translations, read_translations
from bot.flow.triggers import Triggers
from bot.flow.wiring import wired
from bot.lang.nodes import Map, Mark
from bot.lang.problems import Problem, Problems
from bot.steps.template_message import SentTemplate, TemplateMessage

UNKNOWN_KEY = "E104"
MISSING = ("E115", "E130", "E131", "E508", "E509")
"""Problems of what is not there: an outcome's target, opening hours, a service, a secret."""


@dataclass(frozen=True, slots=True)
class Library:
    """Everything that a turn looks at beside the session and the event."""

    bot: BotDefinition
    flows: Mapping[str, Flow]
    triggers: Triggers
    version: str
    documents: Mapping[str, str]  # the bot's text files, by path: what AI turns may know
    translations: Mapping[str, "Library"] = field(default_factory=dict)  # the same bot in its other languages
    draw: Draw = drawn
    own: Mapping[str, OwnCall] = field(default_factory=dict)  # the bot's own functions and filters
    hooks: tuple[HookSpec, ...] = ()

    def in_language(self, language: str | None) -> "Library":
        """The same bot as it speaks a language; itself where it does not speak that, or none is given."""
        return self.translations.get(language or "", self)

    def with_draw(self, draw: Draw) -> "Library":
        """The same bot with another chance, in all its languages."""
        others = {language: replace(other, draw=draw) for language, other in self.translations.items()}
        return replace(self, draw=draw, translations=others)

    @property
    def asks_models(self) -> bool:
        """Whether any step asks a model."""
        return any(step.kind.asks_models for flow in self.flows.values() for step in flow.steps.values())

    def prepare(self) -> None:
        """Compile every template now, and build every machine: what only checks a bot needs none of that, what runs it
        all of it.
        """
        for used in uses_of_bot(self.bot):
            used.text.prepare()
        for flow in self.flows.values():
            flow.machine.prepare()
            for used in uses_of_flow(flow):
                used.text.prepare()
            for variable in flow.variables.values():
                variable.prepare(self.bot.languages)
        formats.prepare(self.bot.languages)
        for translation in self.translations.values():
            translation.prepare()


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What loading came to: a library unless there are problems, and the test documents as they are."""

    library: Library | None
    problems: list[Problem]
    tests: list[Map]


def load(sources: Iterable[Source], extensions: Extensions, documents: Iterable[Source] = ()) -> LoadResult:
    """Read, wire and check all files of a bot; every problem is found at once, and those of locales once there are no others.

    ``extensions`` are what its Python adds, ``documents`` its text files, which AI turns may know.
    """
    sources = list(sources)
    texts = {source.path: source.text.decode("utf-8", "replace") for source in documents}
    problems, of_locales = Problems(), Problems()
    found = read_documents(sources, problems)
    reading = _Reading(extensions, texts, problems.paths(UNREAD))
    translations = read_translations(found, extensions, of_locales)
    bot, flows = reading.read(translations.spoken(None), problems)
    translated = {}
    if not problems:
        problems.include(of_locales)
        translated = reading.read_translated(translations, bot, problems)
    if problems:
        return LoadResult(None, problems.sorted(), found.tests)
    library = _library(bot, flows, texts, sources, extensions)
    others = {language: _translated(library, *each) for language, each in translated.items()}
    return LoadResult(replace(library, translations=others), [], found.tests)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What documents are read with. ``unread`` are the files of which something could not be read."""

    extensions: Extensions
    texts: Mapping[str, str]
    unread: frozenset[str]

    def read(self, documents: Documents, problems: Problems) -> tuple[BotDefinition, dict[str, Flow]]:
        """Read and check a bot and its flows."""
        bot = _the_bot(documents, self.extensions, problems)
        flows = _the_flows(documents, bot, self.extensions, self.texts, problems)
        check(bot, flows, problems, self.unread)
        check_own(bot, flows, self.extensions.own, problems)
        self._forgive(documents, problems)
        return bot, flows

    def _forgive(self, documents: Documents, problems: Problems) -> None:
        """Forget what is missing where it may stand in what could not be read, or under a misspelt key."""
        unknown = self.unread | problems.paths((UNKNOWN_KEY,))
        problems.drop(MISSING, None if BOT_FILE in unknown or not documents.bots else unknown)

    def read_translated(
        self, translations: Translations, bot: BotDefinition, problems: Problems
    ) -> dict[str, tuple[BotDefinition, dict[str, Flow]]]:
        """Read and check the same in each further language with a locale."""
        translated = {}
        for language in translations.of(bot, problems):
            further = Problems()
            translated[language] = self.read(translations.spoken(language), further)
            problems.take_over(further, translations.documents.locales[language].mark.path, f"in {language}")
        return translated


def _the_bot(documents: Documents, extensions: Extensions, problems: Problems) -> BotDefinition:
    top = Mark(BOT_FILE, 1, 1)
    if not documents.bots:
        if not problems.paths(UNREAD) & {BOT_FILE}:
            problems.add("E100", top, "there is no bot.yml to read", "add one with a `name`")
        return read_bot(Map(top, ()), extensions, problems)
    for further in documents.bots[1:]:
        problems.add("E100", further.mark, "a second document in bot.yml", "put flows into files of their own")
    return read_bot(documents.bots[0], extensions, problems)


def _the_flows(
    documents: Documents,
    bot: BotDefinition,
    extensions: Extensions,
    texts: Mapping[str, str],
    problems: Problems,
) -> dict[str, Flow]:
    flows: dict[str, Flow] = {}
    for node in documents.flows:
        flow = wired(read_flow(node, bot, extensions, texts, problems), problems)
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


def _library(
    bot: BotDefinition,
    flows: Mapping[str, Flow],
    texts: Mapping[str, str],
    sources: list[Source],
    extensions: Extensions,
) -> Library:
    digest = hashlib.sha256()
    for path, text in sorted(texts.items()):
        digest.update(path.encode() + b"\0" + text.encode() + b"\0")
    for source in sorted(sources, key=lambda source: source.path):
        digest.update(source.path.encode() + b"\0" + source.text + b"\0")
    return Library(
        bot,
        flows,
        _triggers_of(flows),
        in_letters(digest.hexdigest()),
        texts,
        own=own_calls(extensions.own.values()),
        hooks=tuple(extensions.hooks.values()),
    )


def _triggers_of(flows: Mapping[str, Flow]) -> Triggers:
    return Triggers.of({name: flow.start for name, flow in flows.items() if flow.start is not None})


def _translated(library: Library, bot: BotDefinition, flows: Mapping[str, Flow]) -> Library:
    """The same bot in another language: with steps that are no edit of the written ones."""
    return replace(
        library,
        bot=bot,
        flows={name: _unedited(flow, library.flows[name]) for name, flow in flows.items()},
        triggers=_triggers_of(flows),
    )


def _unedited(flow: Flow, written: Flow) -> Flow:
    steps = {name: replace(step, fingerprint=written.steps[name].fingerprint) for name, step in flow.steps.items()}
    return replace(flow, steps=steps)


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """One place that names a template: the mark is its step's, or that of the flow or bot whose defaults name it.

    ``replies`` are the titles of the quick reply buttons that the step waits for.
    """

    mark: Mark
    notice: TemplateMessage
    replies: tuple[str, ...] = ()


def template_uses(library: Library) -> Iterator[TemplateUse]:
    """Every place that names a template, in every language; an inherited `window_closed` only where it is written."""
    seen = set()
    for spoken in (library, *library.translations.values()):
        for use in _written_uses(spoken):
            named = (use.mark, use.notice.name, use.notice.language, use.replies)
            if named not in seen:
                seen.add(named)
                yield use


def _written_uses(library: Library) -> Iterator[TemplateUse]:
    inherited = library.bot.defaults.window_closed
    if inherited is not None:
        yield TemplateUse(library.bot.mark, inherited)
    for flow in library.flows.values():
        of_flow = flow.defaults.window_closed
        if of_flow is not None and of_flow is not inherited:
            yield TemplateUse(flow.mark, of_flow)
        for step in flow.steps.values():
            own = step.defaults.window_closed
            if own is not None and own is not inherited and own is not of_flow:
                yield TemplateUse(step.mark, own)
            for sent in step.kind.sends():
                if isinstance(sent, SentTemplate):
                    yield TemplateUse(step.mark, sent.notice, sent.replies)
