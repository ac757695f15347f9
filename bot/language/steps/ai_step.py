"""``ai``: a model takes turns with the contact, within the transitions, tools and limits that the flow declares."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

from bot.core.effects import JudgeAnswer
from bot.core.events import CallEnded, CallProgressed, ColleagueDecided, ConversationAssigned, SendEnded
from bot.core.immutable import immutable
from bot.core.messages import TEXT_BODY, Message, TextMessage, clip, in_plain_text
from bot.core.text import is_blank
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import WORDING, KeySet, KeySpec, as_fields, integer
from bot.language.keys.fields import Fields
from bot.language.keys.text_shapes import TEXT
from bot.language.steps.ai_exchange import Exchange, is_unread
from bot.language.steps.ai_settings import (
    BUDGET_ELSE,
    STEP_BUDGET,
    THINKING_SAY,
    answer_of,
    check_model_errors,
    settings_keys,
)
from bot.language.steps.approved_answers import ANSWERS
from bot.language.steps.brief import FACTS, INSTRUCTIONS, Brief, judged, most_spent, quoted_scope
from bot.language.steps.brief import WITHIN_KEY as AI_WITHIN
from bot.language.steps.exits import EXITS, exit_outcomes
from bot.language.steps.message_parts import check_length
from bot.language.steps.output_guard import CUT, in_chat_form, messages_of
from bot.language.steps.step_facts import (
    MAY_FAIL,
    DefaultTarget,
    Need,
    Outcome,
    Spends,
    StepFacts,
    StepFailed,
    UnaskedTool,
    Wait,
    WaitsFor,
    text_sent,
    texts_used,
)
from bot.language.steps.step_kind import (
    Awaited,
    KeepWaiting,
    LeaveStep,
    PostponeMessage,
    ReadContext,
    Reply,
    StepContext,
    StepKind,
    StepResult,
    WaitForEffect,
    WaitForSend,
    WaitHere,
)
from bot.language.steps.tool_calls import ToolCalls
from bot.language.steps.tools import FILL, TOOLS, written_calls
from bot.language.steps.transition import TRANSITION, Transition
from bot.language.steps.unsupported import STEP_UNSUPPORTED, HeldText
from bot.language.types.type_registry import Variable

MOST_TURNS = 20  # where the step says nothing
MOST_ROUNDS = 8  # requests in one turn
MOST_MERGED = 5
ERRORS = ("confused", "turns", "unsupported")  # beside those of every question to a model
_GREET = KeySpec(
    "greet", WORDING, "The greeting if no message waits for an answer; without it the model begins.", texts=TEXT
)
_OTHER = KeySpec("other", TRANSITION, "Where a file leads that the model cannot read, or a sticker.")
_MOST_TURNS = KeySpec("max", integer(1, 1000), "How many messages of the contact are answered.", required=True)
_TURNS_ELSE = KeySpec("else", TRANSITION, "Where the next one leads.", required=True)
_TURNS = KeySpec(
    "turns",
    as_fields(KeySet(_MOST_TURNS, _TURNS_ELSE), "{max: 6, else: end}"),
    f"A bound on the contact's messages; {MOST_TURNS} by default.",
)


@immutable
class AiStep(StepKind):
    """The model's instructions and tools, the exits, and the limits of the step."""

    brief: Brief
    greet: Template | None
    other: Transition | None
    most_turns: int
    turns_over: Transition | None
    budget_over: Transition | None
    verb = "ai"
    keys = KeySet(
        INSTRUCTIONS,
        _GREET,
        FACTS,
        TOOLS,
        ANSWERS,
        FILL,
        EXITS,
        _OTHER,
        _TURNS,
        AI_WITHIN,
        *settings_keys(STEP_BUDGET, STEP_UNSUPPORTED),
    )
    options = frozenset({"remind", "timeout", "words", "gather"})

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``ai`` with all its keys."""
        brief, greet = Brief.read(fields, reading), _GREET.read(fields)
        check_length(fields, _GREET.name, greet, TEXT_BODY)
        turns = _TURNS.read(fields)
        most = None if turns is None else _MOST_TURNS.read(turns)
        turns_over = None if turns is None else _TURNS_ELSE.read(turns)
        check_model_errors(fields, ERRORS)
        budget = STEP_BUDGET.read(fields)
        budget_over = None if budget is None else BUDGET_ELSE.read(budget)
        if budget_over is not None and not any(tokens is not None for tokens in brief.settings.budget.values()):
            fix = "write how many tokens there are for a turn, or a day: turn: 20000, contact: 100000, or all: 1000000"
            fields.report("E105", budget_over.mark, "budget: nothing is bounded", fix)
        return cls(brief, greet, _OTHER.read(fields), most or MOST_TURNS, turns_over, budget_over)

    def facts(self) -> StepFacts:
        """Return the facts. Between its turns it waits for the contact."""
        thinking = self.brief.settings.thinking
        waiting = None if thinking is None else thinking.say
        exits, tools, knowledge = self.brief.exits, self.brief.tools, self.brief.knowledge
        return StepFacts(
            waits_for=Wait(WaitsFor.CONTACT),
            takes_pending_input=True,
            can_gather=True,
            sends=(
                *text_sent(_GREET.name, self.greet, TEXT_BODY),
                *text_sent(THINKING_SAY.name, waiting, TEXT_BODY),
                *(answer.sent() for answer in self.brief.answers),
            ),
            most_messages=1 if waiting is None else 2,
            outcomes=_outcomes_of(self),
            uses=(*texts_used(self.greet, waiting), *self.brief.uses()),
            gives=frozenset(self.brief.taken),
            asks_models=True,
            searched={} if knowledge is None else {knowledge.folder: len(knowledge.index.passages)},
            needs=tuple(Need(name, exit_.name, exit_.mark) for exit_ in exits for name in exit_.needs),
            unasked=tuple(
                UnaskedTool(each.handler, each.unasked, each.mark) for each in tools if each.unasked is not None
            ),
        )

    def spends(self, variables: Mapping[str, Variable]) -> Spends:
        """Return the tokens that a contact can make it use."""
        merged = MOST_MERGED if self.brief.settings.merges else 0
        return most_spent(self.brief, variables, MOST_ROUNDS + merged, merged)

    # -- the contact's side -----------------------------------------------------------------------

    def enter(self, context: StepContext) -> StepResult:
        """Answer what no step has taken yet; where there is nothing, greet, or let the model begin.

        A start word alone is greeted. Put again: repeat what was said last.
        """
        exchange = Exchange.of(context.step_state)
        if exchange.asking is not None:
            return ToolCalls(self.brief, context, exchange).ask()
        if exchange.turns:
            exchange.asked = False
            return WaitHere(exchange.last_said, exchange.step_state())
        if context.left_exchange is not None and not exchange.history:
            exchange.go_on_from(context.left_exchange, self.brief.settings.history)
        if self.greet is not None and (context.pending_input is None or context.only_starts):
            greeting = clip(self.greet.render(quoted_scope(context.scope)), TEXT_BODY)
            if not exchange.history or exchange.history[-1]["content"] != greeting:  # else it is said again
                exchange.remember([], greeting, self.brief.settings.history)
            return WaitHere((TextMessage(greeting),), exchange.step_state())
        return self._turn(context, exchange, context.pending_input)

    def exchange(self, step_state: Mapping[str, Any]) -> tuple[datetime, tuple[dict[str, Any], ...]] | None:
        """The turns that are over."""
        exchange = Exchange.of(step_state)
        return (exchange.began, tuple(exchange.history)) if exchange.began and exchange.history else None

    def after_failure(self, step_state: Mapping[str, Any]) -> Mapping[str, Any]:
        """The earlier turns. Nothing of this one is waited for any more, and what was refused would be sent again."""
        exchange = Exchange.of(step_state)
        exchange.drop()
        return exchange.step_state()

    def answer_before_words(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A tap on the question whether something is to be done."""
        exchange = Exchange.of(context.step_state)
        if reply.tap is None or exchange.asking is None:
            return None
        known = ToolCalls(self.brief, context, exchange).agreed(reply) is not None
        return self._agreed(context, exchange, reply) if known else None

    def gathers(self, context: StepContext, reply: Reply) -> bool:
        """Every text, except the answer to whether something is to be done, and what comes while the model works."""
        exchange = Exchange.of(context.step_state)
        return (
            bool(reply.text)
            and exchange.asking is None
            and not (exchange.asked or exchange.overtaken or exchange.running is not None)
        )

    def answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        """Begin the contact's next turn, unless it is for `other`. While the model works, keep or merge the message."""
        exchange = Exchange.of(context.step_state)
        if exchange.asking is not None:
            return self._agreed(context, exchange, reply)
        works = exchange.asked or exchange.running is not None
        early = exchange.asked and not (exchange.said or exchange.spoken or context.more)
        merges = self.brief.settings.merges and early and exchange.merged < MOST_MERGED
        if works and not merges:  # the model is asked anew with it while it has said nothing, a few times
            return PostponeMessage()
        if not (works or exchange.overtaken):
            knowledge = self.brief.knowledge
            passage = None if knowledge is None else knowledge.asked_for(reply.text, context.scope, exchange)
            if passage is not None:
                return WaitHere((TextMessage(passage),), exchange.step_state())
            unread = is_unread(reply, pictures=self.brief.settings.pictures)
            return None if self.other is not None and unread else self._turn(context, exchange, reply)
        exchange.overtaken = False
        exchange.merged += 1
        exchange.add_reply(reply, self.brief.settings.hears, pictures=self.brief.settings.pictures)
        return self._request(context, exchange)

    def _turn(self, context: StepContext, exchange: Exchange, reply: Reply | None) -> StepResult:
        if exchange.turns < self.most_turns:
            if len(self.brief.settings.models) > 1:
                exchange.plain = False  # the first one, which may know tools, is asked again
            exchange.begin(reply, context.now, self.brief.settings.hears, pictures=self.brief.settings.pictures)
            return self._request(context, exchange)
        if self.turns_over is not None:
            return LeaveStep("turns.else", pending_input=reply)
        raise StepFailed("turns", f"more than {self.most_turns} turns")

    def _agreed(self, context: StepContext, exchange: Exchange, reply: Reply) -> StepResult:
        calls = ToolCalls(self.brief, context, exchange)
        return calls.answered(reply) or self._go_on(context, exchange, calls)

    def in_plain_text(self, context: StepContext, message: Message) -> StepResult:
        """The question whether something is to be done, without its buttons: a text answers it once it was sent."""
        if Exchange.of(context.step_state).asking is None:
            return super().in_plain_text(context, message)
        return WaitForSend((TextMessage(in_plain_text(message)),), context.step_state)

    # -- the model's side -------------------------------------------------------------------------

    def _request(self, context: StepContext, exchange: Exchange) -> WaitForEffect:
        if not context.window_open:
            raise StepFailed("failed", "the contact's 24-hour window is closed: what the model says could not be sent")
        if (search := self.brief.rewriting(context, exchange)) is not None:
            exchange.asked = exchange.rewriting = True
            return WaitForEffect(effect=search, listens=True, step_state=exchange.step_state())
        exchange.ask()
        if exchange.rounds > MOST_ROUNDS + exchange.merged:
            raise StepFailed("confused", f"the model asked for more than {MOST_ROUNDS} rounds of tools in one turn")
        effect = self.brief.request(context, exchange)
        searched = () if self.brief.knowledge is None else (self.brief.knowledge.note(exchange),)
        return WaitForEffect(effect=effect, listens=True, step_state=exchange.step_state(), notes=searched)

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """A paragraph, the end of the answer, of a tool's call, or of a question's sending. An agent ends the turn."""
        exchange = Exchange.of(context.step_state)
        try:
            return self._resumed(context, exchange, event)
        except HeldText as held:  # the author's way for its kind, or the model is asked again, once in a turn
            if (left := ToolCalls(self.brief, context, exchange).held(held)) is not None:
                return left
            exchange.hold(held.text, held.why)
            return replace(self._request(context, exchange), notes=(str(held),))

    def _resumed(self, context: StepContext, exchange: Exchange, event: Awaited) -> StepResult | None:
        match event:
            case ConversationAssigned():  # the agent answers what is open here: nothing more of it is waited for
                if not exchange.turn:
                    return None
                exchange.end(self.brief.settings.history)
                return WaitHere(step_state=exchange.step_state())
            case ColleagueDecided() if context.team_question is not None and not exchange.turn:
                return self._decided(context, exchange, event, context.team_question.call)
            case CallProgressed(text=text):
                return KeepWaiting(_said(self.brief, context, exchange, text, 1), exchange.step_state())
            case SendEnded(outcome=outcome) if exchange.asking is not None:
                calls = ToolCalls(self.brief, context, exchange)
                calls.question_ended(outcome)
                if exchange.asking is not None:
                    return KeepWaiting(step_state=exchange.step_state())
                return self._go_on(context, exchange, calls)
            case CallEnded() if exchange.running is not None:
                calls = ToolCalls(self.brief, context, exchange)
                calls.tool_ended(event)
                return self._go_on(context, exchange, calls)
            case CallEnded():
                return self._answered(context, exchange, event)
        return None

    def _decided(
        self, context: StepContext, exchange: Exchange, event: ColleagueDecided, asked: Mapping[str, Any]
    ) -> StepResult:
        """Do what a colleague has agreed to, or say that it is not done."""
        tool = self.brief.tool(asked["call"]["name"])
        if event.agreed is None and tool is not None and tool.colleague is not None and tool.colleague.otherwise:
            return LeaveStep(tool.colleague.outcome)
        exchange.take_up(asked["call"], event.note, context.now)
        calls = ToolCalls(self.brief, context, exchange)
        return calls.decided(event, asked) or self._go_on(context, exchange, calls)

    def speaks_at(self, step_state: Mapping[str, Any]) -> datetime | None:
        """`thinking`, so long after the contact's message, if nothing was sent since."""
        if (thinking := self.brief.settings.thinking) is None:
            return None  # nearly always: the exchange need not be read
        since = Exchange.of(step_state).silent_since
        return None if since is None else since + thinking.after

    def speak(self, context: StepContext) -> StepResult:
        """Say that the model thinks. It is no part of the exchange that the model gets."""
        thinking, exchange = self.brief.settings.thinking, Exchange.of(context.step_state)
        assert thinking is not None
        exchange.thought = True
        return KeepWaiting((TextMessage(clip(context.text(thinking.say), TEXT_BODY)),), exchange.step_state())

    def _answered(self, context: StepContext, exchange: Exchange, event: CallEnded) -> StepResult:
        exchange.asked = False
        exchange.model = event.value["model"] if event.outcome == "done" else ""
        if exchange.rewriting and event.outcome != "over_budget":
            exchange.note_search(event)
            return self._request(context, exchange)
        if event.outcome == "no_tools" and not exchange.plain:
            if any(message["role"] == "tool" for message in exchange.turn):
                raise StepFailed("refused", "a model without tools cannot go on after the calls of another")
            exchange.plain = True
            return self._request(context, exchange)
        if event.outcome == "over_budget" and self.budget_over is not None:
            said = exchange.pending_input
            return LeaveStep("budget.else", pending_input=None if said is None else Reply(said))
        text, calls = answer_of(event), event.value["calls"]
        if exchange.plain:
            text, calls = self.brief.commands(context, text)
        elif not calls and (written := written_calls(text)):
            text, calls = "", written
        if self.brief.answers and not is_blank(text):
            if not calls:
                raise HeldText.free(text)
            text = ""
        if event.value["finish"] == "length" and text:
            text = f"{text.rstrip()}{CUT}"
        messages = _said(self.brief, context, exchange, text, max(1, self.brief.settings.messages - len(exchange.said)))
        if not (exchange.said or calls):
            raise StepFailed("empty", "the model's answer is empty")
        exchange.add_answer(calls, self.brief.settings.calls)
        return self._go_on(context, exchange, ToolCalls(self.brief, context, exchange), messages)

    def _go_on(
        self, context: StepContext, exchange: Exchange, calls: ToolCalls, said: tuple[Message, ...] = ()
    ) -> StepResult:
        """Do what is left of the model's calls; then ask it again, if it must see a result or has said nothing."""
        result: LeaveStep | WaitHere | WaitForSend | WaitForEffect | None = calls.work_off()
        if result is None and exchange.overtaken:
            result = WaitHere(step_state=exchange.step_state())
        elif result is None and (calls.results_pending or not exchange.said):
            result = self._request(context, exchange)
        verdicts: tuple[JudgeAnswer, ...] = ()
        if result is None or isinstance(result, LeaveStep):
            verdicts = judged(self.brief, context, exchange)
            if self.brief.knowledge is not None:
                said = self.brief.knowledge.with_sources(said, context.scope, exchange)
            exchange.end(self.brief.settings.history)
            state = exchange.step_state()
            result = WaitHere(step_state=state) if result is None else replace(result, step_state=state)
        said = (*said, *map(TextMessage, calls.said))
        messages, notes = (*said, *result.messages), (*result.notes, *calls.notes)
        result = replace(result, messages=messages, sets=calls.sets, notes=notes, judged=verdicts)
        return result if isinstance(result, LeaveStep) else replace(result, to_team=calls.to_team)


def _said(brief: Brief, context: StepContext, exchange: Exchange, text: str, most: int) -> tuple[Message, ...]:
    """The model's text as messages, if it may be sent. Raises `StepFailed`."""
    if is_blank(text):
        return ()
    text = brief.sayable(context, exchange, in_chat_form(text))
    if is_blank(text):
        return ()
    messages = messages_of(text, most)
    bodies = [message.body for message in messages]
    brief.check_said(context, exchange, "\n".join(bodies))  # a cut may make an address
    exchange.said += bodies
    return messages


def _outcomes_of(step: AiStep) -> dict[str, Outcome]:
    """Each exit, `other`, the ends of turns and budget where they are declared, and failures."""
    found = exit_outcomes(step.brief.exits)
    if step.other is not None:
        found["other"] = Outcome(step.other, DefaultTarget.STAY, success=False)
    if step.turns_over is not None:
        found["turns.else"] = Outcome(step.turns_over, DefaultTarget.WRITTEN, success=False)
    if step.budget_over is not None:
        found["budget.else"] = Outcome(step.budget_over, DefaultTarget.WRITTEN, success=False)
    found |= step.brief.settings.unsupported.outcomes()
    for tool in step.brief.tools:
        found |= {} if tool.colleague is None else tool.colleague.outcomes()
    return {**found, **MAY_FAIL}
