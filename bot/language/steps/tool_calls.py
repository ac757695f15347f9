"""The calls in a model's answer: its tools, the values that it notes, and the exits."""

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

from bot.core.effects import Call, HttpRequest
from bot.core.events import CallEnded, ColleagueDecided
from bot.core.messages import INTERACTIVE_BODY, TEXT_BODY
from bot.core.session import CONTACT, TeamQuestion
from bot.core.text import texts_in
from bot.core.values import dumps, loads
from bot.language.expressions.grammar import HISTORY
from bot.language.python.annotations import BadArgument
from bot.language.steps.ai_exchange import Exchange
from bot.language.steps.approved_answers import ApprovedAnswer, answer_called
from bot.language.steps.brief import Brief
from bot.language.steps.colleague import Colleague
from bot.language.steps.contact_notes import most_notes, no_note, with_note
from bot.language.steps.exits import Exit
from bot.language.steps.output_guard import accounts_in, addresses_in
from bot.language.steps.said_values import SaidValues
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.step_kind import (
    KeepWaiting,
    LeaveStep,
    Reply,
    StepContext,
    WaitForEffect,
    WaitForSend,
    WaitHere,
)
from bot.language.steps.tools import REMEMBER, SAY, Tool, names_of, noted, read_arguments, result_text
from bot.language.steps.unsupported import HeldText
from bot.language.steps.yes_no_question import QuestionTooLong, agreed, question

NOT_DONE = "Not done: the contact did not agree."
EARLY = "written before the question was sent: no answer to it"
STAYS = "Not done: something before it in this answer failed. Say so, or do it otherwise."
UNSENT = "Not done: the question to the contact could not be sent."
CHANGES = "Not done: what it would do has changed again since {} was asked."
OVERTAKEN = "Not done yet: the contact has written more meanwhile. Read that first."
UNASKED = (
    "Not done: the contact cannot be asked, for the question has more than "
    f"{INTERACTIVE_BODY} characters. Do less at a time."
)
REFUSED = "Not done: a colleague has refused it."
UNDECIDED = "Not done: no colleague has decided in time."
PENDING = "Not done yet: a colleague is asked, and the contact has been told. You get the result later."
ONE_AT_A_TIME = "Not done: a colleague is still being asked about another call. Wait for that."
TOO_LONG = f"Not done: nobody can be asked, for the call has more than {TEXT_BODY} characters. Do less at a time."
UNSAID = "the conversation does not say it"
USED_UP = "Not done: it has been called as often as it may be here. One that timed out counts: it may have been done."


class _Result(NamedTuple):
    """The result of a call, in words for the model."""

    text: str
    failed: bool = True
    is_news: bool = True  # if it failed, the model must see it


_MOMENT = ("now", "today", "message", HISTORY)
"""The names that mean something else in each turn: what was asked is done with those of its own turn."""
_Next = LeaveStep | WaitHere | WaitForSend | WaitForEffect


class ToolCalls:
    """Does the calls of one answer, one after another, as far as they can be done in one turn of the engine's.

    ``sets`` are the values that were noted, ``said`` the texts of the flow that are sent; ``notes`` are for the trace:
    what was refused. ``results_pending`` is True
    once there is a result that the model must see. ``to_team`` is the question to a colleague.
    """

    def __init__(self, brief: Brief, context: StepContext, exchange: Exchange) -> None:
        self._brief = brief
        self._context = context
        self._exchange = exchange
        self._noting = Noting(brief, context, exchange)
        self.sets, self.notes = self._noting.sets, self._noting.refusals
        self.said: list[str] = []
        self.results_pending = False
        self.to_team: TeamQuestion | None = None

    @property
    def _scope(self) -> dict[str, Any]:
        """The names that templates see, with the values noted just now."""
        return {**self._context.scope, **self.sets}

    def work_off(self) -> _Next | None:
        """Do the calls until one leaves the step or has to be waited for. Returns None if all are done."""
        while self._exchange.queue:
            call = self._exchange.queue.pop(0)
            result = self._do(call)
            if not isinstance(result, _Result):
                return result
            self._add(call, result)
        return None

    def tool_ended(self, event: CallEnded) -> None:
        """The handler has ended: the model must see its result, or how it failed."""
        running, self._exchange.running = self._exchange.running, None
        assert running is not None
        call, done = running["call"], event.outcome == "done"
        tool = self._brief.tool(call["name"])
        if done:
            result = result_text(event.value) if tool is None else tool.result(event.value)
            given = result_text(read_arguments(call["arguments"]))  # what the model gave does not come back as ours
            theirs = frozenset(accounts_in(given))
            self._exchange.note_links(
                [each for each in addresses_in(result) if each not in given and each not in theirs]
            )
        else:
            result = f"Failed: {event.outcome if tool is None else tool.failure(event.outcome, event.detail)}"
        if tool is not None:
            self._exchange.note_use(tool.handler, event.outcome)
        self._add(call, _Result(result, failed=not done))
        self._exchange.note_fresh()
        self._exchange.note_made(running["key"], failed=not done)

    def ask(self) -> WaitForSend:
        """Ask the contact whether the call may be done. A text is no answer before the question was sent."""
        asking = self._exchange.asking
        assert asking is not None
        asking["sent_at"] = None
        asked = question(self._context, asking["body"], self._exchange.questions)
        return WaitForSend((asked,), self._exchange.step_state())

    def question_ended(self, outcome: str) -> None:
        """Note when the question was sent. If it could not be sent, the model learns that."""
        asking = self._exchange.asking
        assert asking is not None
        if outcome == "sent":
            asking["sent_at"] = self._context.now
        elif outcome != "unknown":  # then a tap shows that it came
            self._exchange.asking = None
            self._add(asking["call"], _Result(UNSENT))

    def agreed(self, reply: Reply) -> bool | None:
        """True for yes, False for no, None for a reply that is neither."""
        asked = "" if self._exchange.asking is None else self._exchange.asking["body"]
        return agreed(self._context, reply, self._exchange.questions, asked)

    def answered(self, reply: Reply) -> _Next | KeepWaiting | None:
        """Yes, no, or something else: then nothing more is done, and the model reads what they wrote.

        A yes that was written before the question was sent answers something else; if it came after the question, the
        contact is asked again. A call that would do something else by now than the contact was asked is asked about
        once more.
        """
        asking, said = self._exchange.asking, self.agreed(reply)
        assert asking is not None
        if said and not self._was_seen(asking, reply):
            came_before = asking["sent_at"] is None or self._context.now < asking["sent_at"]
            waits = KeepWaiting(step_state=self._exchange.step_state()) if came_before else self.ask()
            return replace(waits, notes=(EARLY,))
        self._exchange.asking = None
        call, tool = asking["call"], self._brief.tool(asking["call"]["name"])
        if said and tool is not None:
            result = self._do_agreed(tool, asking)
            if not isinstance(result, _Result):
                return result
            self._add(call, result)
            return None
        self._add(call, _Result(NOT_DONE))
        if said is False:
            self._exchange.note_made(asking["key"], failed=True)
        elif said is None:
            for other in self._exchange.queue:
                self._add(other, _Result(NOT_DONE))
            self._exchange.queue = []
            self._exchange.add_reply(reply, self._brief.settings.hears, pictures=self._brief.settings.pictures)
        return None

    def _was_seen(self, asking: Mapping[str, Any], reply: Reply) -> bool:
        """True for a tap on the question, and for a text that was written after the question was sent."""
        sent_at, written_at = asking["sent_at"], self._context.written_at
        return reply.tap is not None or (sent_at is not None and written_at is not None and written_at >= sent_at)

    def _add(self, call: Mapping[str, Any], result: _Result) -> None:
        """Add the result of a call. The model must see it, unless it is a note that was taken."""
        self._exchange.add_result(call, result.text)
        self._exchange.failed = self._exchange.failed or result.failed
        quiet = call["name"] == REMEMBER or call["name"].startswith(SAY)
        self.results_pending = self.results_pending or (result.is_news and (result.failed or not quiet))

    def _do(self, call: dict[str, Any]) -> _Next | _Result:
        """Do one call. Return the next result of the step, or the result of the call."""
        most = self._brief.settings.calls
        if self._exchange.is_one_too_many(most):
            return _Result(f"Not done, nor what came after it: there may be {most} calls in one turn.")
        name, arguments = call["name"], read_arguments(call["arguments"])
        if arguments is None:
            return _Result("The arguments are no JSON object.")
        if name == REMEMBER:
            wrong = self._noting.note(arguments)
            return _Result(wrong or "Noted.", failed=bool(wrong))
        if (exit_ := self._brief.exit(name, self._scope)) is not None:
            return self._leave(exit_, arguments)
        if (answer := answer_called(self._brief.answers, name)) is not None:
            return self._say(answer, arguments)
        tool = self._brief.tool(name)
        if tool is None:
            return _Result("There is no such tool.")
        if unknown := arguments.keys() - tool.schema["properties"].keys():
            return _Result(f"There is no argument {', '.join(sorted(unknown))}.")
        return self._use(tool, call, tool.typed(arguments))

    def _say(self, answer: ApprovedAnswer, arguments: dict[str, Any]) -> LeaveStep | _Result:
        """Send a text of the flow with what the model gives, which needs a source as in any text."""
        try:
            text = answer.rendered(arguments, self._scope)
        except BadArgument as error:
            return _Result(f"Not sent: {error}.")
        try:
            self._brief.check_said(self._context, self._exchange, text, addresses_in(answer.text.source))
        except HeldText as held:
            self.notes.append(str(held))
            if (left := self.held(held)) is not None:
                return left
            self._exchange.retried = True
            return _Result(held.why)
        self.said.append(text)
        self._exchange.said.append(text)
        return _Result("Sent.", failed=False)

    def held(self, held: HeldText) -> LeaveStep | None:
        """The author's way for a text that is not sent. None: the model is asked again; raises if it was by now."""
        outcome = self._brief.settings.unsupported.way_of(held.kinds)
        if outcome is not None:
            said = self._exchange.pending_input
            return LeaveStep(outcome, pending_input=None if said is None else Reply(said), notes=(str(held),))
        if self._exchange.retried:
            raise StepFailed("unsupported", str(held))
        return None

    def _use(
        self, tool: Tool, call: dict[str, Any], arguments: dict[str, Any], *, again: bool = False
    ) -> _Next | _Result:
        """Call a tool, or ask the contact first; an equal call of this turn gets the same result.

        ``again``: the contact has agreed to what it would have done before.
        """
        try:
            made = self._made(tool, arguments, self._scope)
        except BadArgument as error:
            return _Result(f"Not done: {error}.")
        if (known := self._exchange.made.get(made.key)) is not None:
            return _Result(self._exchange.turn[known["place"]]["content"], failed=known["failed"])
        if tool.times is not None and self._exchange.uses.get(tool.handler, 0) >= tool.times:
            return _Result(USED_UP)
        if not tool.confirms:
            return self._run(call, made)
        asked = self._context.team_question
        if tool.colleague is not None and (self.to_team or (asked is not None and asked.decision is None)):
            return _Result(ONE_AT_A_TIME)
        try:
            body = tool.question(arguments, made.values, made.effect, self._scope)
        except QuestionTooLong:
            return _Result(UNASKED if tool.colleague is None else TOO_LONG)
        if tool.colleague is None:
            self._brief.check(self._context, self._exchange, "\n".join(texts_in(list(arguments.values()))))
            self._brief.check(self._context, self._exchange, body, addresses_in(body))  # the flow's
        if self._context.more:  # it may change what they want, and answers no question that they have not seen
            self._exchange.overtaken = True
            return _Result(OVERTAKEN)
        moment = dumps({name: self._scope[name] for name in _MOMENT if name in self._scope})
        about = {"key": made.key, "body": body, "moment": moment, "again": again}
        about = {"call": call, "arguments": arguments, **about}
        if tool.colleague is not None:
            return self._ask_team(tool.colleague, about)
        self._exchange.asking = about
        self._exchange.questions += 1
        return self.ask()

    def _ask_team(self, colleague: Colleague, about: dict[str, Any]) -> _Result:
        """Ask a colleague whether the call may be done, and tell the contact so, who may go on meanwhile."""
        text = about["body"]
        self.to_team = colleague.asking(self._context, text, about)
        self.notes.append(f"{colleague.team} is asked: {'; '.join(text.splitlines())}")
        self.said.append(colleague.told(self._scope))
        self._exchange.said.append(self.said[-1])
        return _Result(PENDING, is_news=False)

    def decided(self, decision: ColleagueDecided, asked: Mapping[str, Any]) -> _Next | None:
        """Do what a colleague has agreed to, or tell the model that nobody has."""
        call, tool = asked["call"], self._brief.tool(asked["call"]["name"])
        result: _Next | _Result = _Result(UNDECIDED if decision.agreed is None else REFUSED)
        if decision.agreed and tool is not None:
            result = self._do_agreed(tool, asked)
        if not isinstance(result, _Result):
            return result
        self._add(call, result)
        return None

    def _do_agreed(self, tool: Tool, asking: Mapping[str, Any]) -> _Next | _Result:
        """Do what the contact, or a colleague, has agreed to. If it would be something else by now, ask once more."""
        call, arguments = asking["call"], asking["arguments"]
        then = {**self._scope, **loads(asking["moment"])}  # the contact's answer is no value of what was asked
        try:
            made = self._made(tool, arguments, then)
            body = tool.question(arguments, made.values, made.effect, then)
        except (BadArgument, QuestionTooLong):  # the question that is asked anew says why
            return self._use(tool, call, arguments, again=True)
        if (made.key, body) == (asking["key"], asking["body"]):
            return self._run(call, made)
        who = "the contact" if tool.colleague is None else "a colleague"
        return _Result(CHANGES.format(who)) if asking["again"] else self._use(tool, call, arguments, again=True)

    def _made(self, tool: Tool, arguments: dict[str, Any], scope: Mapping[str, Any]) -> "_Made":
        """The call as it would be done with the values of this scope. Raises `BadArgument`."""
        values, effect = tool.values(arguments, scope), tool.effect(arguments, scope)
        return _Made(values, effect, _key(tool, values, effect))

    def _run(self, call: dict[str, Any], made: "_Made") -> WaitForEffect:
        self._exchange.running = {"call": call, "key": made.key}
        return WaitForEffect(effect=made.effect, listens=True, step_state=self._exchange.step_state())

    def _leave(self, exit_: Exit, arguments: dict[str, Any]) -> _Next | _Result:
        """Take an exit, if all that the model did before it in this answer came off."""
        if self._exchange.failed:
            return _Result(STAYS)
        if wrong := self._noting.note(arguments):
            return _Result(wrong)
        if missing := [name for name in exit_.needs if self._scope.get(name) is None]:
            return _Result(f"Not yet: {', '.join(missing)} must be known first. Ask for it.")
        if undone := [name for name in exit_.needed_tools if name not in self._exchange.succeeded]:
            return _Result(f"Not yet: {', '.join(names_of(self._brief.tools, undone))} must have succeeded first.")
        return LeaveStep(exit_.outcome)


class _Made(NamedTuple):
    """A call as it would be done now: its arguments, its effect, and a key that equal calls share."""

    values: Mapping[str, Any]
    effect: Call | HttpRequest
    key: str


def _key(tool: Tool, values: Mapping[str, Any], effect: Call | HttpRequest) -> str:
    sent = dumps(effect) if isinstance(effect, HttpRequest) else None  # it may have values of the flow as well
    text = json.dumps([tool.name, values, sent], default=_in_json, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def _in_json(value: Any) -> Any:
    """A text that no other value of its type has; a number like 1E+1000000 is not written out."""
    return dict(value) if isinstance(value, Mapping) else str(value)


# -- the values that a model notes --------------------------------------------------------------------


class Noting:
    """Notes what a model gives. ``sets`` are the values so far, ``refusals`` say for the trace what was refused."""

    def __init__(self, brief: Brief, context: StepContext, exchange: Exchange) -> None:
        self._brief = brief
        self._context = context
        self._exchange = exchange
        self.sets: dict[str, Any] = {}
        self.refusals: list[str] = []

    def note(self, arguments: Mapping[str, Any]) -> str:
        """Note values; what is wrong with the others, in words for the model."""
        remember = self._brief.remember
        others = {name: value for name, value in arguments.items() if name not in remember}
        values, wrong = noted(others, self._brief.notable, self._context)
        scope = self._context.scope
        earlier = [said["text"] for said in reversed(scope.get(HISTORY, ())) if said["role"] == CONTACT]
        theirs = map(str, scope["contact"].values())
        said = SaidValues([*self._exchange.sources, *earlier, *theirs], self._context)
        for name, value in values.items():
            reason = self._brief.objection(self._context, self._exchange, value) if isinstance(value, str) else None
            if reason is not None:  # what is noted may be said later, where no guard stands
                self.refusals.append(f"{name} is not noted: {reason}")
                wrong = f"{wrong} {name} may not hold that: {reason.partition(':')[0]}.".strip()
            elif not said.has(self._context.variables[name], value):
                self.refusals.append(f"{name} is not noted: {UNSAID}")
                wrong = f"{wrong} {name} is not noted: {UNSAID}. Ask for it, or take the contact's own words.".strip()
            else:
                self.sets[name] = value
        for name in (name for name in remember if arguments.get(name)):
            if (refused := self._remember(name, arguments[name], earlier)) is not None:
                self.refusals.append(f"{name} is not noted: {refused}")
                wrong = f"{wrong} {name} is not noted: {refused}.".strip()
        return wrong

    def _remember(self, name: str, text: Any, earlier: list[str]) -> str | None:
        """Add a note about the contact, or say why not. ``earlier`` are their messages from before the step."""
        context, exchange = self._context, self._exchange
        refused = no_note(text, [*exchange.texts_of_contact, *earlier], context)
        refused = refused or self._brief.objection(context, exchange, text)
        if refused is None:
            most = most_notes(context.variables[name])
            self.sets[name] = with_note(
                self.sets.get(name, self._context.scope.get(name)), text, context.now.date(), most
            )
        return refused
