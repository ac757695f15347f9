"""What an AI step remembers while it talks: the exchange so far, and what of the running turn is still open."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from bot.core.messages import Text
from bot.core.tokens import estimate_messages
from bot.steps.guard import messages_of
from bot.steps.kind import Reply
from bot.steps.prompt import LEAVE, REMEMBER

WireMessage = dict[str, Any]
MOST_LINKS = 50
ARRIVED = "(The contact has just arrived here and waits for you to begin.)"


@dataclass(slots=True)
class Exchange:
    """A working copy of what the session holds. ``history`` and ``turn`` are in the wire form (spec: messages)."""

    history: list[WireMessage] = field(default_factory=list)  # earlier turns, texts only
    turn: list[WireMessage] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # of the model's newest answer, what was sent
    spoken: list[str] = field(default_factory=list)  # what was sent of its earlier answers in this turn
    queue: list[dict[str, Any]] = field(default_factory=list)  # calls of the model's that are to be done still
    running: dict[str, Any] | None = None  # the call whose handler runs
    asking: dict[str, Any] | None = None  # the call that the contact is asked about
    asked: bool = False  # a model's answer is awaited
    turns: int = 0
    rounds: int = 0  # requests of this turn
    merged: int = 0  # messages that came while the model worked
    questions: int = 0  # how often the contact was asked about a call
    plain: bool = False  # the model knows no tools
    links: list[str] = field(default_factory=list)  # addresses that handlers gave the model
    overtaken: bool = False  # the contact wrote more before they could be asked: that comes next, in this turn
    failed: bool = False  # a call of the newest answer failed or was refused: no exit is taken
    made: dict[str, dict[str, Any]] = field(default_factory=dict)  # calls of this turn, each with its result's place
    uses: dict[str, int] = field(default_factory=dict)  # by handler, how often it may have succeeded in this visit
    succeeded: list[str] = field(default_factory=list)  # handlers that have, in this visit
    fresh: list[int] = field(default_factory=list)  # places in the turn of what came from outside since the last answer

    @classmethod
    def of(cls, hold: Mapping[str, Any]) -> Self:
        """What the session holds."""
        return cls(**{each.name: deepcopy(hold[each.name]) for each in fields(cls) if each.name in hold})

    def hold(self) -> dict[str, Any]:
        """What the session is to hold."""
        return asdict(self)

    def begin(self, reply: Reply | None) -> None:
        """A new turn, by the contact's message; without one the model begins."""
        first = {"role": "user", "content": ARRIVED} if reply is None else from_contact(reply)
        self.turn, self.said, self.spoken, self.queue, self.made = [first], [], [], [], {}
        self.fresh = [] if reply is None else [0]
        self.running = self.asking = None
        self.overtaken = False
        self.turns += 1
        self.rounds = self.merged = 0

    def ask(self) -> None:
        """One more request of this turn."""
        self.rounds += 1
        self.spoken, self.said = [*self.spoken, *self.said], []
        self.asked = True

    def end(self, most_tokens: int) -> None:
        """The turn is over: its texts are history, of which the newest are kept."""
        texts = [message for message in self.turn if message["role"] == "user"]
        answer = "\n\n".join([*self.spoken, *self.said])
        self.history += [*texts, *([{"role": "assistant", "content": answer}] if answer else [])]
        while self.history and estimate_messages(self.history) > most_tokens:
            del self.history[0]
        self.turn, self.queue, self.made = [], [], {}
        self.running = self.asking = None
        self.asked = self.overtaken = False

    def note_links(self, links: list[str]) -> None:
        """Addresses that our own side gave the model: it may send them."""
        self.links = list(dict.fromkeys((*self.links, *links)))[-MOST_LINKS:]

    def add_reply(self, reply: Reply) -> None:
        """More of what the contact writes in this turn."""
        self.turn.append(from_contact(reply))
        self.note_fresh()

    def note_fresh(self) -> None:
        """What was added last has come from outside, and no model has read it yet."""
        self.fresh.append(len(self.turn) - 1)

    def add_answer(self, calls: list[dict[str, Any]]) -> None:
        """The model's newest answer: what of it was sent, and its calls: notes first, then tools, the exit last."""
        message: WireMessage = {"role": "assistant", "content": "\n\n".join(self.said)}
        if calls and not self.plain:
            message["tool_calls"] = [_in_wire_form(call) for call in calls]
        if message["content"] or "tool_calls" in message:  # an empty message is one that services refuse
            self.turn.append(message)
        self.queue = sorted(calls, key=_place)
        self.failed, self.fresh = False, []

    def add_result(self, call: Mapping[str, Any], result: str) -> None:
        """What became of a call. Where the model knows no tools there is no role for it."""
        if self.plain:
            self.turn.append({"role": "system", "content": result})
        else:
            self.turn.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    def note_made(self, key: str, *, failed: bool) -> None:
        """An equal call of this turn has the result that was added last."""
        self.made[key] = {"place": len(self.turn) - 1, "failed": failed}

    def note_use(self, handler: str, outcome: str) -> None:
        """A handler has ended. One that is not back in time may still succeed."""
        if outcome in ("done", "timeout"):
            self.uses[handler] = self.uses.get(handler, 0) + 1
        if outcome == "done" and handler not in self.succeeded:
            self.succeeded.append(handler)

    @property
    def query(self) -> str:
        """What the facts are searched for: what the contact wrote last, and what came before it."""
        texts = [message["content"] for message in (*self.history, *self.turn) if message["role"] == "user"]
        return "\n".join(texts[-2:])

    @property
    def unread(self) -> Reply | None:
        """What the contact wrote last, as a message that no step has taken."""
        texts = [message["content"] for message in self.turn if message["role"] == "user"]
        return Reply(text=texts[-1]) if texts else None

    @property
    def last_said(self) -> tuple[Text, ...]:
        """The model's part of the newest turn that is over."""
        texts = [message["content"] for message in self.history if message["role"] == "assistant"]
        return messages_of(texts[-1], 1) if texts else ()


def from_contact(reply: Reply) -> WireMessage:
    """What the contact sent, in the contact's role: nothing of it is an instruction."""
    if reply.media is not None:
        text = f"({'an' if reply.media.kind[0] in 'aeiou' else 'a'} {reply.media.kind}) {reply.media.caption or ''}"
    elif reply.location is not None:
        text = f"(a place: {reply.location.latitude}, {reply.location.longitude})"
    else:
        text = (reply.text or "").strip() or "(something that is no text)"
    return {"role": "user", "content": text.strip()}


def _place(call: Mapping[str, Any]) -> int:
    """In which order calls of one answer are done: what the model claims with an exit must have been done before."""
    name = call["name"]
    return 0 if name == REMEMBER else 2 if name.startswith(LEAVE) else 1


def _in_wire_form(call: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["id"], "type": "function", "function": named}
