"""The calls in a model's answer: its tools, the values that it notes, and the exits."""

from collections.abc import Mapping
from typing import Any

from bot.core.events import CallEnded
from bot.steps.agreement import agreed, question
from bot.steps.brief import Brief
from bot.steps.exchange import Exchange
from bot.steps.exits import Exit
from bot.steps.kind import At, Decision, Reply, ending
from bot.steps.links import links_in
from bot.steps.notes import noted
from bot.steps.prompt import REMEMBER, result_text
from bot.steps.tools import Tool, read_arguments

NOT_DONE = "Not done: the contact did not agree."


class ToolCalls:
    """Does the calls of one answer, one after another, as far as they can be done in one turn of the engine's.

    ``sets`` are the values that were noted; ``unseen`` is True once there is a result that the model must see.
    """

    def __init__(self, brief: Brief, at: At, exchange: Exchange) -> None:
        self._brief = brief
        self._at = at
        self._exchange = exchange
        self.sets: dict[str, Any] = {}
        self.unseen = False

    @property
    def _scope(self) -> dict[str, Any]:
        """What templates see, with what was noted just now."""
        return {**self._at.scope, **self.sets}

    def work_off(self) -> Decision | None:
        """Do them until one leaves or has to be waited for. None: all are done."""
        while self._exchange.queue:
            call = self._exchange.queue.pop(0)
            result = self._do(call)
            if isinstance(result, Decision):
                return result
            self.unseen = self.unseen or bool(result)
            self._exchange.add_result(call, result or "Noted.")
        return None

    def tool_ended(self, event: CallEnded) -> None:
        """The handler has ended: the model must see its result, or how it failed."""
        call, self._exchange.running = self._exchange.running, None
        assert call is not None
        if event.outcome == "done":
            result = result_text(event.value)
            given = result_text(read_arguments(call["arguments"]))  # what the model gave does not come back as ours
            self._exchange.note_links([link for link in links_in(result) if link not in given])
        else:
            tool = self._brief.tool(call["name"])
            result = f"Failed: {event.outcome if tool is None else tool.failure(event.outcome, event.detail)}"
        self._exchange.add_result(call, result)
        self.unseen = True

    def ask(self) -> Decision:
        """Ask the contact whether the call may be done."""
        asking = self._exchange.asking
        assert asking is not None
        tool = self._brief.tool(asking["call"]["name"])
        body = asking["call"]["name"] if tool is None else tool.question(asking["arguments"], self._scope)
        asked = question(self._at, body, self._exchange.questions)
        return Decision(messages=(asked,), hold=self._exchange.hold())

    def agreed(self, reply: Reply) -> bool | None:
        """What a reply to that means."""
        return agreed(self._at, reply, self._exchange.questions)

    def answered(self, reply: Reply) -> Decision | None:
        """Yes, no, or something else: then nothing more is done, and the model reads what they wrote."""
        asking, self._exchange.asking = self._exchange.asking, None
        assert asking is not None
        tool, said = self._brief.tool(asking["call"]["name"]), self.agreed(reply)
        if said and tool is not None:
            return self._run(tool, asking["call"], asking["arguments"])
        undone = [asking["call"]]
        if said is None:
            undone += self._exchange.queue
            self._exchange.queue = []
        for call in undone:
            self._exchange.add_result(call, NOT_DONE)
        if said is None:
            self._exchange.add_reply(reply)
        self.unseen = True
        return None

    def _do(self, call: dict[str, Any]) -> Decision | str:
        """One call: what it leads to, or a result for the model; empty where all is said by its being done."""
        name, arguments = call["name"], read_arguments(call["arguments"])
        if arguments is None:
            return "The arguments are no JSON object."
        if name == REMEMBER:
            return self._note(arguments)
        if (way := self._brief.exit(name, self._scope)) is not None:
            return self._leave(way, arguments)
        tool = self._brief.tool(name)
        if tool is None:
            return "There is no such tool."
        if unknown := arguments.keys() - tool.schema["properties"].keys():
            return f"There is no argument {', '.join(sorted(unknown))}."
        if not tool.confirms:
            return self._run(tool, call, arguments)
        self._exchange.asking = {"call": call, "arguments": arguments}
        self._exchange.questions += 1
        return self.ask()

    def _run(self, tool: Tool, call: dict[str, Any], arguments: dict[str, Any]) -> Decision:
        self._exchange.running = call
        return Decision(call=tool.call(arguments, self._scope), awaits=True, hold=self._exchange.hold())

    def _note(self, arguments: Mapping[str, Any]) -> str:
        values, wrong = noted(arguments, self._brief.notable, self._at)
        self.sets |= values
        return wrong

    def _leave(self, way: Exit, arguments: Mapping[str, Any]) -> Decision | str:
        wrong = self._note(arguments)
        missing = [name for name in way.needs if self._scope.get(name) is None]
        if wrong or missing:
            return wrong or f"Not yet: {', '.join(missing)} must be known first. Ask for it."
        return ending(way.outcome)
