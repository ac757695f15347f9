"""The library: a bot with all its flows. Immutable: a reload makes a new one."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from bot.core.immutable import immutable
from bot.core.own_addresses import EXAMPLE, OwnAddresses
from bot.core.session import Frame, Session
from bot.core.text import in_letters
from bot.language.answers.topics import topics_in
from bot.language.expressions import formats
from bot.language.expressions.filters import TITLES, Draw, drawn
from bot.language.expressions.grammar import HISTORY
from bot.language.expressions.sandbox import OwnCall, own_calls
from bot.language.flow.bot_file import read_bot
from bot.language.flow.definition import (
    CONTACTS,
    MADE_FLOWS,
    BotDefinition,
    Flow,
    form_signals,
    steps_of,
    uses_of_all,
    uses_of_flow,
)
from bot.language.flow.documents import BOT_FILE, FILES, Documents, DocumentTexts, Source, plain_text, read_documents
from bot.language.flow.faulty_parts import MISSING, PartIndex, faulty_steps, follow_ups, without
from bot.language.flow.flow_checks import check, check_sound
from bot.language.flow.flow_file import drafts_flow, intents_flow, read_flow, slot_flow
from bot.language.flow.kept_reading import KeptReading
from bot.language.flow.own_files import check_files
from bot.language.flow.resolved_transitions import with_transitions
from bot.language.flow.translations import Translations, read_translations
from bot.language.flow.trigger_index import TriggerIndex, Triggers
from bot.language.python.decorators import HookSpec
from bot.language.python.gathered import Extensions
from bot.language.source.problems import Mark, Problem, Problems
from bot.language.source.word_matching import load_slips
from bot.language.source.yaml_tree import Map, Scalar
from bot.language.steps.slot_step import SLOT_FILLING
from bot.language.steps.step_facts import SentFile
from bot.language.steps.template_message import SentTemplate, TemplateToSend
from bot.language.types.contact_zones import zone_named, zone_of_number
from bot.language.types.structured_types import FileVariable

NO_VARIABLE = "E301"


@immutable
class Library:
    """Everything that a turn reads beside the session and the event."""

    bot: BotDefinition
    flows: Mapping[str, Flow]
    triggers: Triggers
    version: str
    files: Mapping[str, bytes] = field(default_factory=dict)  # those that steps can send, by path in their folder
    translations: Mapping[str, "Library"] = field(default_factory=dict)  # the same bot in its other languages
    draw: Draw = drawn
    own: Mapping[str, OwnCall] = field(default_factory=dict)  # the bot's own functions and filters
    hooks: tuple[HookSpec, ...] = ()
    addresses: OwnAddresses = EXAMPLE
    keeps_history: bool = False  # some text or condition, in any language, asks for `history`
    drops_files: bool = False  # some variable keeps its files only as long as the conversation

    def in_language(self, language: str | None) -> "Library":
        """The same bot in a language; the bot itself if it does not speak that language, or no language is given."""
        return self.translations.get(language or "", self)

    def with_draw(self, draw: Draw) -> "Library":
        """The same bot with another chance, in all its languages."""
        others = {language: replace(other, draw=draw) for language, other in self.translations.items()}
        return replace(self, draw=draw, translations=others)

    def values_of(self, frame: Frame, session: Session, now: datetime | None = None) -> dict[str, Any]:
        """All values that an open flow has: those of its frame, and those that are kept with the contact."""
        kept, flow = session.kept_variables, self.flows.get(frame.flow)
        return {**kept, **frame.vars, **({} if flow is None else flow.kept_values(frame.vars, kept, now))}

    def title_of(self, flow: str, name: str, value: Any, scope: Mapping[str, Any]) -> Any:
        """The title of the choice that has saved a value in a variable; the value itself if no choice has it.

        The choices of this flow come first, then those that other flows save in a variable of this name.
        """
        scope = {**scope, TITLES: None}  # a title is not about itself
        flows = sorted(self.flows.values(), key=lambda other: other.name != flow)
        kinds = [step.kind for each in flows for step in each.steps.values() if step.options.save == name]

        def found(one: Any) -> Any:
            return next((title for kind in kinds if (title := kind.title_of(one, scope)) is not None), one)

        return [found(one) for one in value] if isinstance(value, list) else found(value)

    def with_addresses(self, addresses: OwnAddresses) -> "Library":
        """The same bot with the addresses at which it can be reached. Translations need no addresses."""
        return replace(self, addresses=addresses)

    def busy_policy(self, where: str, busy: str | None) -> str:
        """The policy for a start of ``flow`` or ``flow/step`` during another flow: ``busy``, else the flow's own."""
        flow = self.flows.get(where.removeprefix("/").partition("/")[0])
        own = None if flow is None or flow.trigger is None else flow.trigger.busy
        return busy or own or "after"

    def zone_of(self, session: Session) -> ZoneInfo:
        """The time zone of a contact's days and times: the bot's, or the contact's own."""
        bot = self.bot
        if not bot.contact_timezones:
            return bot.timezone
        own = None if session.timezone is None else zone_named(session.timezone)
        return own or zone_of_number(session.contact, bot.timezone)

    @property
    def asks_models(self) -> bool:
        """True if a step asks a model. Else nobody is asked what a message is about, or which answers it holds."""
        flows = (flow for flow in self.flows.values() if flow.name not in MADE_FLOWS)
        return any(step.facts.asks_models for flow in flows for step in flow.steps.values())

    @property
    def lacks_model(self) -> str | None:
        """A problem of a bot without a service for models, in words; None if nothing in the flows needs it."""
        if self.asks_models:
            return "flows ask models, and no service is set up"
        marks = [mark for flow in self.flows.values() if (mark := flow.model_reads) is not None]
        if not marks:
            return None
        return f"no service for models is set up, so no model reads an answer ({marks[0].path}:{marks[0].line})"

    def without_model(self) -> "Library":
        """The same bot where no model says which answers a message holds. Its words tell what it is about."""
        others = {language: other.without_model() for language, other in self.translations.items()}
        flows = {name: flow.without_model() for name, flow in self.flows.items() if name != SLOT_FILLING}
        return replace(self, flows=flows, translations=others)

    def without_transcription(self) -> "Library":
        """The same bot where voice notes are what they are: one that is transcribed is taken like a text."""
        others = {language: other.without_transcription() for language, other in self.translations.items()}
        return replace(self, bot=replace(self.bot, transcription=None), translations=others)

    @property
    def makes_addresses(self) -> bool:
        """True if a text makes an address for a signal, a question has a form, or a message a file of the bot's own."""
        if any(file.own for file in sent_files(self.bot, self.flows)):
            return True
        return any(step.facts.form for step in steps_of(self.flows)) or any(
            "signal_url" in used.text.names for flow in self.flows.values() for used in uses_of_flow(flow)
        )

    @property
    def keeps_files(self) -> bool:
        """True if any flow keeps the files that contacts send."""
        return any(variable.keeps_files for variable in self.file_variables)

    @property
    def file_variables(self) -> Iterator[FileVariable]:
        """The variables of all flows that can be files."""
        of_flows = (variable for flow in self.flows.values() for variable in flow.variables.values())
        return (variable for variable in of_flows if isinstance(variable, FileVariable))

    @property
    def names_history(self) -> bool:
        """True if any text or condition asks for the messages of the conversation."""
        return any(HISTORY in used.text.names for used in uses_of_all(self.bot, self.flows))

    def prepare(self) -> None:
        """Compile every template and build every machine now, for a bot that runs: a mere check needs none of that."""
        for used in uses_of_all(self.bot, self.flows):
            used.text.prepare()
        for flow in self.flows.values():
            flow.machine.prepare()
            for variable in flow.variables.values():
                variable.prepare(self.bot.languages)
        formats.prepare(self.bot.languages)
        if any(starts.wider or starts.topics or starts.names for starts in self.triggers.values()):
            load_slips()
            topics_in("")
        if self.bot.contact_timezones:
            zone_of_number("1", self.bot.timezone)  # which loads what it needs
        for translation in self.translations.values():
            translation.prepare()


@immutable
class LoadResult:
    """The result of loading: a library unless there are problems, and the test documents as they are.

    ``sound``: where there are problems, the same without the steps that have some, to be checked further. None where
    these are all over it.
    """

    library: Library | None
    problems: list[Problem]
    tests: list[Map]
    sound: Library | None = None


def load(
    sources: Iterable[Source],
    extensions: Extensions,
    documents: Iterable[Source] = (),
    text_of: Callable[[Source], str] = plain_text,
    kept: KeptReading | None = None,
) -> LoadResult:
    """Read and check all files of a bot.

    All problems are found at once; those of locales only where the flows have none.

    ``extensions`` are what its Python adds. ``documents`` are the files that AI turns may know, and those in its folder
    `FILES`, which steps can send. ``text_of`` reads the text of one that a flow names. ``kept`` is what was read by
    earlier loads of the bot.
    """
    kept = kept or KeptReading()
    sources, documents = list(sources), list(documents)
    own = [source for source in documents if source.path.startswith(FILES)]
    texts = DocumentTexts([source for source in documents if source not in own], text_of)
    files = {source.path.removeprefix(FILES): source.text for source in own}
    problems, of_locales = Problems(), Problems()
    found = read_documents(sources, problems, kept.documents)
    loading = _Loading(extensions, texts, files, frozenset(problems.unread), kept)
    translations = read_translations(found, extensions, of_locales) if found.locales else None
    bot, flows = loading.read(found if translations is None else translations.spoken(None), problems)
    translated = {}
    if not problems and translations is not None:
        problems.include(of_locales)
        translated = loading.read_translated(translations, bot, problems)
    if problems:
        sound = _sound(loading, found, flows, problems)
        whole = None if sound is None else _library(bot, sound, loading, sources)
        return LoadResult(None, problems.sorted(), found.tests, whole)
    library = _library(bot, flows, loading, sources)
    others = {language: _translated(library, *each, language) for language, each in translated.items()}
    keeps_history = any(spoken.names_history for spoken in (library, *others.values()))
    drops_files = any(variable.for_conversation for variable in library.file_variables)
    whole = replace(library, translations=others, keeps_history=keeps_history, drops_files=drops_files)
    return LoadResult(whole, [], found.tests)


@immutable
class _Loading:
    """The context in which documents are read. ``unread`` are the files that could not be read in full."""

    extensions: Extensions
    texts: DocumentTexts
    files: Mapping[str, bytes]
    unread: frozenset[str]
    kept: KeptReading

    def read(self, documents: Documents, problems: Problems) -> tuple[BotDefinition, dict[str, Flow]]:
        """Read and check a bot and its flows."""
        bot = _read_bot_file(documents, self, problems)
        flows = _the_flows(documents, bot, self, problems)
        bot = _with_forms(bot, flows, problems)
        check(bot, flows, self.extensions.own, problems, self.unread)
        check_files(sent_files(bot, flows), self.files, problems)
        self._forgive(documents, problems)
        sound = _sound(self, documents, flows, problems) if problems else flows
        if sound is not None:
            check_sound(bot, sound, problems)
        return bot, flows

    def _forgive(self, documents: Documents, problems: Problems) -> None:
        """Drop the problems of what is missing, where it may be in a file that could not be read, or under a misspelt
        key: of the same step, of its flow, or of the bot.
        """
        all_of_it = BOT_FILE in self.unread or not documents.bots
        problems.drop((*MISSING, NO_VARIABLE), None if all_of_it else self.unread | problems.undeclared)
        if problems:
            problems.withdraw(follow_ups(documents, problems))

    def read_translated(
        self, translations: Translations, bot: BotDefinition, problems: Problems
    ) -> dict[str, tuple[BotDefinition, dict[str, Flow]]]:
        """Read and check the same in each further language with a locale."""
        translated = {}
        for language in translations.of(bot, problems):
            further = Problems()
            loading = replace(self, kept=self.kept.spoken(language))
            translated[language] = loading.read(translations.spoken(language), further)
            problems.take_over(further, translations.documents.locales[language].mark.path, f"in {language}")
        return translated


def _read_bot_file(documents: Documents, loading: _Loading, problems: Problems) -> BotDefinition:
    top = Mark(BOT_FILE, 1, 1)
    if not documents.bots:
        if BOT_FILE not in problems.unread:
            problems.add("E100", top, "bot.yml is empty or missing", "write the bot's name into it: name: My bot")
        return read_bot(Map(top, ()), loading.extensions, problems)
    for further in documents.bots[1:]:
        problems.add("E100", further.mark, "a second document in bot.yml", "put flows into files of their own")
    node, extensions, texts = documents.bots[0], loading.extensions, loading.texts
    return loading.kept.bot(node, extensions, texts, problems, lambda found: read_bot(node, extensions, found, texts))


def _the_flows(documents: Documents, bot: BotDefinition, loading: _Loading, problems: Problems) -> dict[str, Flow]:
    def read_anew(node: Map, found: Problems) -> Flow:
        return with_transitions(read_flow(node, bot, loading.extensions, loading.texts, found), found)

    flows: dict[str, Flow] = {}
    for node in documents.flows:
        flow = loading.kept.flow(node, bot, problems, partial(read_anew, node))
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
    for made, why in (
        (intents_flow(bot, flows, problems), "`about` under `start`"),
        (slot_flow(bot, flows, problems), "`slots: {model: true}` or `understand: model`"),
        (drafts_flow(bot, flows, problems), "a `draft`"),
    ):
        if made is not None and made.name in flows:
            what = f'flow "{made.name}": flows that have {why} make a flow of this name'
            problems.add("E111", flows[made.name].mark, what, "rename it")
        elif made is not None:
            flows[made.name] = made
    if not documents.flows and not problems:
        problems.add("E100", bot.mark, "the bot has no flows", 'add a file that begins with "flow: main"')
    starts = {f"/{flow.name}": flow.starting for flow in flows.values()}
    models = {
        f"/{flow.name}" for flow in flows.values() if flow.steps and flow.steps[flow.first].facts.takes_pending_input
    }
    return {name: flow.hearing(starts, models) for name, flow in flows.items()}


def _with_forms(bot: BotDefinition, flows: Mapping[str, Flow], problems: Problems) -> BotDefinition:
    """The bot with the signals by which forms are filled in."""
    forms = form_signals(flows)
    for name in sorted(forms.keys() & bot.signals.keys()):
        flow, _, step = name.partition(".")
        what = f'signal "{name}" of bot.yml has the name of the signal of this form'
        problems.add("E306", flows[flow].steps[step].mark, what, "rename one of them")
    return replace(bot, signals={**bot.signals, **forms})


def _sound(
    loading: "_Loading", documents: Documents, flows: Mapping[str, Flow], problems: Problems
) -> dict[str, Flow] | None:
    """The flows without faulty steps; None if ``bot.yml`` is faulty, or a document or a flow's name was not read."""
    parts = PartIndex(documents)
    found = [parts.of(problem) for problem in problems.sorted()]
    names = [node.get("flow") for node in documents.flows]
    if any(not isinstance(name, Scalar) or name.text not in flows for name in names):
        return None  # something may lead there
    if loading.unread or any(part is None or (part.flow is None and part.document[0] == BOT_FILE) for part in found):
        return None
    return without(flows, faulty_steps(flows, found))


def _library(bot: BotDefinition, flows: Mapping[str, Flow], loading: _Loading, sources: list[Source]) -> Library:
    digest = hashlib.sha256()
    texts, own = ([(each.path, each.text) for each in some] for some in (loading.texts.sources, sources))
    for path, content in (*sorted(texts), *sorted(loading.files.items()), *sorted(own)):
        digest.update(path.encode() + b"\0" + content + b"\0")
    return Library(
        bot,
        flows,
        _triggers_of(flows, next(iter(bot.languages), None)),
        in_letters(digest.hexdigest()),
        loading.files,
        own=own_calls(loading.extensions.own.values()),
        hooks=tuple(loading.extensions.hooks.values()),
    )


def _triggers_of(flows: Mapping[str, Flow], language: str | None) -> Triggers:
    starts = {name: flow.trigger for name, flow in flows.items() if flow.trigger is not None and name not in MADE_FLOWS}
    choices = [text for flow in flows.values() if flow.is_menu for text in flow.choice_texts]
    slots = [(text, name) for name in starts for text in flows[name].slot_texts]
    return {contact: TriggerIndex.of(starts, contact, language, choices, slots) for contact in CONTACTS}


def _translated(library: Library, bot: BotDefinition, flows: Mapping[str, Flow], language: str) -> Library:
    """The same bot in another language: with steps that are no edit of the written ones."""
    return replace(
        library,
        bot=bot,
        flows={name: _unedited(flow, library.flows[name]) for name, flow in flows.items()},
        triggers=_triggers_of(flows, language),
    )


def _unedited(flow: Flow, written: Flow) -> Flow:
    steps = {name: replace(step, fingerprint=written.steps[name].fingerprint) for name, step in flow.steps.items()}
    return replace(flow, steps=steps)


def sent_files(bot: BotDefinition, flows: Mapping[str, Flow]) -> Iterator[SentFile]:
    """Every file that steps send, and those in the headers of templates."""
    steps = [step for flow in flows.values() for step in flow.steps.values()]
    inherited = (bot.defaults, *(flow.defaults for flow in flows.values()), *(step.defaults for step in steps))
    for defaults in inherited:
        if defaults.window_closed is not None:
            yield from defaults.window_closed.files()
    for sent in (sent for step in steps for sent in step.facts.sends):
        if isinstance(sent, SentTemplate):
            yield from sent.notice.files()
        elif isinstance(sent, SentFile):
            yield sent


@immutable
class TemplateUse:
    """One place that names a template: the mark is its step's, or that of a `window_closed`.

    ``replies`` are the titles of the quick reply buttons that the step waits for.
    """

    mark: Mark
    notice: TemplateToSend
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
        yield TemplateUse(inherited.mark, inherited)
    for flow in library.flows.values():
        of_flow = flow.defaults.window_closed
        if of_flow is not None and of_flow is not inherited:
            yield TemplateUse(of_flow.mark, of_flow)
        for step in flow.steps.values():
            own = step.defaults.window_closed
            if own is not None and own is not inherited and own is not of_flow:
                yield TemplateUse(own.mark, own)
            for sent in step.facts.sends:
                if isinstance(sent, SentTemplate):
                    yield TemplateUse(step.mark, sent.notice, sent.replies)
