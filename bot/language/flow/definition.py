"""A bot and its flows, once read: their steps, and the machine of each flow. All of it is immutable."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, cast
from zoneinfo import ZoneInfo

import transitions

from bot.core.immutable import immutable
from bot.language.expressions.filters import SHARE
from bot.language.expressions.opening_hours import Hours
from bot.language.expressions.templates import Template
from bot.language.flow.documents import BOT_FILE
from bot.language.flow.event_receiver import EventReceiver
from bot.language.keys.definitions import Definitions
from bot.language.keys.patterns import PayloadPattern
from bot.language.source.languages import VALUES
from bot.language.source.problems import Mark
from bot.language.source.word_matching import WHOLE, normalise
from bot.language.steps.ai_settings import AiSettings
from bot.language.steps.ask_step import AskStep
from bot.language.steps.choices import StartingWords
from bot.language.steps.control_steps import UnreadStep
from bot.language.steps.draft_step import DRAFTS
from bot.language.steps.http_services import HttpService
from bot.language.steps.intent_step import INTENTS, SURE, Intent, IntentStep
from bot.language.steps.mcp_servers import McpServer
from bot.language.steps.slot_step import SLOT_FILLING
from bot.language.steps.small_talk_texts import TOPICS
from bot.language.steps.step_facts import IT, ChoiceFacts, Given, Outcome, StepFacts, Used
from bot.language.steps.step_kind import StepKind
from bot.language.steps.step_options import (
    SIGNAL,
    Defaults,
    StepOptions,
    Timed,
    signal_given,
    transitions_of,
    uses_of,
    uses_of_defaults,
    uses_of_words,
)
from bot.language.steps.template_message import SentTemplate
from bot.language.steps.transcription import Transcription
from bot.language.steps.transition import END, Signals, Transition, Words
from bot.language.types.text_types import TextVariable
from bot.language.types.variable import TypeMismatch, Variable


class ResolvedTransition(transitions.Transition):
    """The target of one outcome of a step, with all defaults applied: a transition of its flow's machine.

    ``target`` is a step of the flow, or one of the targets outside of it: ``/flow``, ``end``, ``again``, ... None: the
    step goes on waiting; ``stays``: after an answer that counts as a wrong one. ``written`` is the transition in the
    flow file, None for a default; ``of_bot``: it stands in ``bot.yml``, which does not know where the contact is.
    """

    def __init__(
        self,
        step: str,
        outcome: str,
        target: str | None,
        mark: Mark,
        written: Transition | None = None,
        *,
        success: bool = True,
        stays: bool = False,
    ) -> None:
        super().__init__(step, cast(str, target))  # None is an internal transition: the stub does not know it
        self.target = target
        self.stays = stays
        self.outcome = outcome
        self.mark = mark
        self.written = written
        self.success = success
        self.of_bot = mark.path == BOT_FILE


class FlowMachine:
    """The state machine of one flow: it says which outcome of which step leads where.

    A contact's place is in the session, so the machine moves no model. It is built when it is first used or prepared.
    """

    def __init__(self, steps: Iterable[str], resolved: Iterable[ResolvedTransition]) -> None:
        self._steps = steps
        self._resolved = resolved

    @cached_property
    def _machine(self) -> transitions.Machine:
        states = [transitions.State(name) for name in self._steps]
        machine = transitions.Machine(model=None, states=states, initial=None, auto_transitions=False)
        for resolved in self._resolved:
            event = machine.events.get(resolved.outcome)
            if event is None:
                event = machine.events[resolved.outcome] = transitions.Event(resolved.outcome, machine)
            event.add_transition(resolved)
        return machine

    def prepare(self) -> None:
        """Build it now, so that the first contact does not wait for it."""
        self._machine  # noqa: B018 - which builds it

    def follow(self, step: str, outcome: str) -> ResolvedTransition:
        """The transition of an outcome. Raises `transitions.MachineError` for one that the step does not have.

        No transition has a condition: it is the machine's only one for the step and the outcome.
        """
        event = self._machine.events.get(outcome)
        if event is None or step not in event.transitions:
            raise transitions.MachineError(f"the step {step} has no outcome {outcome}")
        (found,) = event.transitions[step]
        return cast(ResolvedTransition, found)


LANGUAGE = "language"
"""The name that the contact's language has in flows whose bot speaks several."""


MADE_FLOWS = frozenset({INTENTS, SLOT_FILLING, DRAFTS})
"""The flows that the bot makes. No message starts them."""


CONTACTS = FIRST, RETURNING = ("first", "returning")
"""Contacts who have never been in a flow, and all others."""


@immutable
class Trigger:
    """The start of a flow: its words, its pattern, an event of the gateway, a signal, or a message that starts no
    other flow.

    ``how`` says how its words are matched (`bot.language.source.word_matching.WAYS`). The pattern's named groups, and
    the values in ``payload``, are variables of the flow. ``contact`` is one of `CONTACTS`: nobody else starts it. By
    ``intent`` a model knows messages that start it. A message with a word of ``unless`` starts it only if it is one of
    its words.
    """

    mark: Mark
    words: tuple[tuple[str, Mark], ...] = ()
    how: str = WHOLE
    pattern: Any = None
    events: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    otherwise: bool = False
    contact: str | None = None
    busy: str | None = None  # what becomes of a start while the contact is in a flow, where that does not say so
    intent: Intent | None = None
    payload: PayloadPattern | None = None  # of a button that is tapped
    unless: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()  # of `bot.language.answers.topics`

    @property
    def by_text(self) -> bool:
        """True if a message starts it by what it says, or a tap by its payload."""
        given = self.pattern is not None or self.payload is not None or self.intent is not None
        return given or bool(self.words or self.topics)

    @property
    def given(self) -> tuple[str, ...]:
        """The variables to which its pattern or payload may give a value."""
        groups = () if self.pattern is None else self.pattern.groupindex
        return (*groups, *(() if self.payload is None else self.payload.names))

    @property
    def contacts(self) -> tuple[str, ...]:
        """The sorts of contacts who can start it."""
        return CONTACTS if self.contact is None else (self.contact,)


@immutable
class Step:
    """A step: its name is its state. ``transitions``: all its outcomes; ``written``: what stands beside its verb."""

    name: str
    mark: Mark
    kind: StepKind
    facts: StepFacts  # of its kind, computed when it was read
    options: StepOptions
    defaults: Defaults
    fingerprint: str
    transitions: Mapping[str, ResolvedTransition] = field(default_factory=dict)
    written: str = ""

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """All the outcomes that its kind can have."""
        return self.facts.outcomes

    @cached_property
    def splits(self) -> bool:
        """True if it sends contacts different ways by `share()`: results are counted for each of these."""
        conditions = (given.condition for outcome in self.outcomes.values() for given in outcome.given)
        return not self.facts.waits and any(condition.calls_function(SHARE) for condition in conditions)

    @cached_property
    def form(self) -> str:
        """The way in which it waits. After an edit that changes this, the step is entered again."""
        return f"{self.kind.verb}, waiting" if self.facts.waits else self.kind.verb

    @cached_property
    def refusal(self) -> str | None:
        """The outcome that it takes when the gateway refuses its message; None: the step is not told, or goes on.

        `errors.refused`, wherever that is written. `errors.else` of a question only where the step itself has it: it
        is better put again than given up for what is inherited.
        """
        if not self.facts.refusable:
            return None
        if "errors.refused" in self.transitions:
            return "errors.refused"
        named = (self.options if self.facts.needs_window else self).defaults.errors or {}
        return "errors.else" if "else" in named and "errors.else" in self.transitions else None

    @cached_property
    def timeout(self) -> Timed | None:
        """The time-out that applies: an inherited one only where it waits for the contact. None: it waits for ever."""
        timeout = self.defaults.timeout if self.facts.waits else self.options.defaults.timeout
        return None if timeout is None or timeout.never else timeout

    @cached_property
    def counts_late(self) -> bool:
        """True if a reply to its template counts after an inherited time-out, which only ends the flow."""
        ended, own = self.transitions.get("timeout"), self.options.defaults.timeout
        if own is not None or ended is None or ended.target != END or self.facts.stays_valid:
            return False
        silent = ended.written is None or not ended.written.acts
        return silent and any(isinstance(sent, SentTemplate) and sent.replies for sent in self.facts.sends)

    @property
    def works(self) -> bool:
        """True if it asks nothing, and what it saves or sets may depend on earlier answers."""
        return not self.facts.asks and bool(self.options.save or self.options.set)

    @property
    def stays_valid(self) -> bool:
        """True if a tap on it leads on from here, also when the conversation waits here no longer."""
        return self.facts.stays_valid or self.counts_late

    @property
    def unread(self) -> bool:
        """True if it only stands in place of a step with a problem."""
        return isinstance(self.kind, UnreadStep)

    @property
    def waits_for_ever(self) -> bool:
        """True if it is written that it has no time-out."""
        return self.defaults.timeout is not None and self.defaults.timeout.never

    @property
    def signals(self) -> Signals:
        """The signals that it hears while it waits, by their names."""
        return (self.defaults.signals or {}) if self.facts.hears_signals else {}

    def given(self, outcome: str) -> tuple[Given, ...]:
        """The conditions under which the step is left by this outcome."""
        if outcome.startswith(SIGNAL):
            return signal_given(self.signals, outcome)
        return self.outcomes[outcome].given if outcome in self.outcomes else ()

    def is_model_failure(self, outcome: str) -> bool:
        """True if it is a model that could not answer the contact, if the step is left so: an error, or a bound."""
        if not self.facts.asks_models:
            return False
        return outcome.startswith("errors.") or (outcome in self.outcomes and not self.outcomes[outcome].success)

    @cached_property
    def written_transitions(self) -> tuple[Transition, ...]:
        """Every transition that is written on it."""
        return tuple(transitions_of(self.outcomes.values(), self.options))

    @cached_property
    def uses(self) -> tuple[Used, ...]:
        """Every template and expression that is written on it: its kind's, its transitions' and its options'."""
        return tuple(uses_of(self.facts, self.options))


@immutable
class Flow:
    """One flow: its variables, its defaults, its words, and its steps in order.

    ``interrupted``: what becomes of it when another flow cuts in, ``resume``, ``wait``, ``ask`` or ``drop``; None: none
    can. The bot's menu is dropped unless it says something else: nothing is lost by that.
    ``shared``: the kind of record at which it runs, in place of a conversation; None: it is a conversation's.
    """

    name: str
    mark: Mark
    about: str
    trigger: Trigger | None
    variables: Mapping[str, Variable]
    defaults: Defaults
    words: Words
    steps: Mapping[str, Step]
    interrupted: str | None = None
    # questions whose answers a message may hold before they are asked
    slots: Mapping[str, Mark] = field(default_factory=dict)
    model_slots: Mark | None = None  # where it says that a model looks for those that their readers do not find
    definitions: Definitions = field(default_factory=dict)  # beside those of the bot
    shared: str | None = None

    @cached_property
    def first(self) -> str:
        """The name of the step that the flow begins with."""
        return next(iter(self.steps))

    @property
    def starting(self) -> StartingWords:
        """The words that start the flow, and the answers to its first question; empty for the flow with `otherwise`."""
        trigger = self.trigger
        if trigger is None or trigger.otherwise:
            return StartingWords()
        titles = () if trigger.intent is None else (trigger.intent.title,)
        first = self.steps[self.first] if self.steps else None
        answers = first.kind.named_answers if first is not None and isinstance(first.kind, AskStep) else ()
        words = (*(word for word, _ in trigger.words), *titles)
        return StartingWords(words, answers, tuple(map(normalise, trigger.unless)))

    def hearing(self, starts: Mapping[str, StartingWords], models: Collection[str]) -> "Flow":
        """The flow; choices of its questions that lead to a flow hear what starts that, by targets.

        ``models`` are the targets at which a model answers.
        """
        heard = {
            name: replace(step, kind=kind)
            for name, step in self.steps.items()
            if isinstance(step.kind, AskStep)
            and (kind := step.kind.hearing(starts, models, all_lead=self.is_menu)) is not step.kind
        }
        return replace(self, steps={**self.steps, **heard}) if heard else self

    def without_model(self) -> "Flow":
        """The flow; if it finds out what a message is about, by the words of the message alone."""
        asking = {
            name: replace(step, kind=replace(step.kind, asks=False))
            for name, step in self.steps.items()
            if isinstance(step.kind, IntentStep)
        }
        return replace(self, steps={**self.steps, **asking}) if asking else self

    @cached_property
    def is_menu(self) -> bool:
        """True for the menu of the bot: nothing else starts by its message, and its questions only lead elsewhere."""
        questions = [step for step in self.steps.values() if step.facts.waits]
        leading = (each.transition for step in questions for each in step.outcomes.values() if each.success)
        targets = [each.then.text for each in leading if each is not None and each.then is not None]
        return (
            self.trigger is not None
            and self.trigger.otherwise
            and all(step.facts.choices_alone and step.options.save is None for step in questions)
            and any(target.startswith("/") for target in targets)
        )

    @property
    def choice_texts(self) -> Iterator[tuple[str, str]]:
        """The titles and words of its choices, each with the flow that the choice always begins; empty if none."""
        for step in self.steps.values():
            choices = step.kind.choices if isinstance(step.kind, AskStep) else None
            for choice in () if choices is None else choices.fixed:
                then = None if choice.transition is None or not choice.constant else choice.transition.then
                begins = then is not None and then.text.startswith("/") and "/" not in then.text[1:]
                yield from ((text, then.text[1:] if then is not None and begins else "") for text in choice.texts)

    @property
    def slot_texts(self) -> Iterator[str]:
        """The titles and words of the choices of its slots."""
        for name in self.slots:
            kind = self.steps[name].kind if name in self.steps else None
            yield from kind.named_answers if isinstance(kind, AskStep) else ()

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The variables that a start of the flow must give."""
        return tuple(name for name, variable in self.variables.items() if variable.required)

    @cached_property
    def following(self) -> Mapping[str, str]:
        """The name of the step after each one; after the last, ``end``."""
        return dict(pairwise((*self.steps, END)))

    @cached_property
    def kept(self) -> Mapping[str, Variable]:
        """Its variables whose values are the contact's: no frame has them."""
        return {name: variable for name, variable in self.variables.items() if variable.keep}

    def kept_values(self, given: Mapping[str, Any], kept: Mapping[str, Any], now: datetime | None) -> dict[str, Any]:
        """The values of its kept variables: the contact's, where it fits. Before an edit, a frame may have had one."""
        values = {}
        for name, variable in self.kept.items():
            try:
                values[name] = variable.coerce(kept.get(name, given.get(name, variable.value)), now)
            except TypeMismatch:
                values[name] = variable.value
        return values

    @cached_property
    def reported_as(self) -> Mapping[str, str]:
        """The names under which its steps are counted, where they are not the steps' own."""
        return {name: step.options.report for name, step in self.steps.items() if step.options.report}

    @cached_property
    def model_reads(self) -> Mark | None:
        """Where it says first that a model looks for answers in messages: in `slots`, or at a question."""
        marks = (step.mark for step in self.steps.values() if step.facts.understood_by_model)
        return self.model_slots or next(marks, None)

    @cached_property
    def free_slots(self) -> frozenset[str]:
        """The slots whose questions take any words: only a model can tell such an answer from the rest of a message."""
        return frozenset(name for name in self.slots if self.takes_any_words(name))

    def saved_by(self, step: Step) -> Variable | None:
        """The variable that gets the answer or the result of a step; None if it is not saved."""
        return self.variables.get(step.options.save or "")

    def takes_any_words(self, question: str) -> bool:
        """True if nothing but their length tells an answer to this question from other words."""
        step = self.steps.get(question)
        variable = None if step is None else self.saved_by(step)
        return step is not None and variable is not None and variable.takes_any_words and not step.facts.choices_alone

    def between(self, first: str, last: str) -> frozenset[str]:
        """The steps on the ways from one step to another, without these two."""
        leads = {name: {each.target for each in step.transitions.values()} for name, step in self.steps.items()}
        reached, ahead = set[str](), [first]
        while ahead:
            new = {target for target in leads[ahead.pop()] if target in leads and target != last} - reached
            reached |= new
            ahead += new
        arriving = {last}
        while more := {name for name in reached - arriving if not leads[name].isdisjoint(arriving)}:
            arriving |= more
        return frozenset(arriving - {first, last})

    @cached_property
    def machine(self) -> FlowMachine:
        """The machine whose states are the steps: where each outcome leads."""
        return FlowMachine(self.steps, (each for step in self.steps.values() for each in step.transitions.values()))

    def can_be_tapped(self, step: Step) -> bool:
        """True if something is sent at a step that can be tapped. Whether to go on is asked wherever a flow cut in."""
        facts, asks_to_go_on = step.facts, self.interrupted == "ask"
        if facts.takes_words and (asks_to_go_on or (facts.waits and facts.asks_models)):
            return True
        return any(
            isinstance(sent, ChoiceFacts) or (isinstance(sent, SentTemplate) and sent.replies) for sent in facts.sends
        )


@immutable
class OptOut:
    """The words with which a contact opts out, what is said then, and the words that end it. All are normalised."""

    words: Mapping[str, Mark] = field(default_factory=dict)
    say: Template | None = None
    back: Mapping[str, Mark] = field(default_factory=dict)


@immutable
class Agents:
    """The settings for people who answer beside the bot.

    ``silent`` is for how long it is silent after an agent's answer at the gateway; None: it goes on at once.
    ``replies`` are texts that agents send often, by title.
    """

    silent: timedelta | None = timedelta(minutes=30)
    replies: Mapping[str, str] = field(default_factory=dict)


@immutable
class BotDefinition:
    """The contents of ``bot.yml``."""

    name: str
    mark: Mark
    timezone: ZoneInfo
    words: Words
    defaults: Defaults
    contact_timezones: bool = False  # each contact has a zone; ``timezone`` is for those whose zone is not known
    languages: tuple[str, ...] = ()  # the first is the one that the flows are written in
    common: Mapping[str, Variable] = field(default_factory=dict)  # what every flow has beside its own variables
    wordings: Mapping[str, Template] = field(default_factory=dict)  # in place of the built-in ones, by name
    ai: AiSettings = field(default_factory=AiSettings)
    sure: int = SURE  # per cent: how sure a model must be what a message is about
    channels: Mapping[str, str] = field(default_factory=dict)  # the gateway's channel ids, by number
    secrets: tuple[str, ...] = ()  # names of environment variables whose values the services get
    services: Mapping[str, HttpService] = field(default_factory=dict)  # that it sends requests to, by name
    mcp: Mapping[str, McpServer] = field(default_factory=dict)  # whose tools models may call, by name
    hours: Mapping[str, Hours] = field(default_factory=dict)  # opening hours, by name
    opt_out: OptOut = field(default_factory=OptOut)
    transcription: Transcription | None = None  # of voice notes
    # what may happen outside, with its data
    signals: Mapping[str, Mapping[str, Variable]] = field(default_factory=dict)
    payloads: Mapping[str, PayloadPattern] = field(default_factory=dict)  # by which a tap is a signal, by its name
    kept_signals: Mapping[str, timedelta] = field(default_factory=dict)  # how long they wait for a step that has them
    definitions: Definitions = field(default_factory=dict)  # names for expressions, in all flows
    events_to: EventReceiver | None = None  # where its events are delivered
    small_talk: tuple[str, ...] = TOPICS  # that it answers where nothing else takes it
    agents: Agents = field(default_factory=Agents)


def steps_of(flows: Mapping[str, Flow]) -> list[Step]:
    """The steps of all flows."""
    return [step for flow in flows.values() for step in flow.steps.values()]


def transitions_of_bot(bot: BotDefinition) -> Iterator[Transition]:
    """Every transition that is written in ``bot.yml``."""
    yield from (word.transition for word in bot.words.values())
    yield from (transition for _, transition in bot.defaults.transitions())


def transitions_of_flow(flow: Flow) -> Iterator[Transition]:
    """Every transition of a flow: of its steps, its words and its defaults, inherited ones included."""
    for step in flow.steps.values():
        yield from step.written_transitions
    yield from (word.transition for word in flow.words.values())
    yield from (transition for _, transition in flow.defaults.transitions())


def certain_data(bot: BotDefinition, signal: str) -> set[str]:
    """The data without which a signal never comes."""
    declared = bot.signals.get(signal, {})
    return {name for name, variable in declared.items() if variable.required or variable.value is not None}


def form_signal(flow: str, step: str) -> str:
    """The name of the signal that fills in the form of a question: ``booking.name``."""
    return f"{flow}.{step}"


def form_signals(flows: Mapping[str, Flow]) -> dict[str, dict[str, Variable]]:
    """The signals by which forms are filled in, by name, with their data: the variables of the flow."""
    return {
        form_signal(flow.name, step.name): {
            name: replace(
                flow.variables[name],
                required=name not in step.facts.form.optional,
                sent_as=None,
                keep=False,
                value=None,
            )
            if name in flow.variables
            else TextVariable(name, mark)  # which is a problem
            for name, mark in step.facts.form.marks.items()
        }
        for flow in flows.values()
        for step in flow.steps.values()
        if step.facts.form is not None
    }


def keepers(flows: Mapping[str, Flow]) -> dict[str, str]:
    """The variables that flows keep with the contact, each with the name of such a flow."""
    return {name: flow.name for flow in flows.values() if flow.shared is None for name in flow.kept}


def uses_of_bot(bot: BotDefinition) -> Iterator[Used]:
    """The templates and expressions of ``bot.yml``."""
    for name, text in bot.wordings.items():
        yield Used(text, VALUES[name])
    if bot.opt_out.say is not None:
        yield Used(bot.opt_out.say)
    if bot.transcription is not None:
        yield from bot.transcription.uses()
    yield from uses_of_words(bot.words)
    yield from uses_of_defaults(bot.defaults)


def uses_of_flow(flow: Flow) -> Iterator[Used]:
    """The templates and expressions of a flow and of its steps, inherited ones included."""
    yield from uses_of_words(flow.words)
    yield from uses_of_defaults(flow.defaults)
    for variable in flow.variables.values():
        for text in variable.texts():
            yield Used(text, IT)
    for step in flow.steps.values():
        yield from step.uses


def uses_of_all(bot: BotDefinition, flows: Mapping[str, Flow]) -> Iterator[Used]:
    """The templates and expressions of ``bot.yml`` and of all flows."""
    return chain(uses_of_bot(bot), *map(uses_of_flow, flows.values()))
