"""The memory of an AI step: the exchange so far, and the open parts of the running turn."""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, field, fields
from datetime import datetime
from typing import Any, Self

from bot.core.events import CallEnded
from bot.core.immutable import mutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import TextMessage, clip, file_in_words
from bot.core.session import LeftExchange
from bot.core.text import PICTURE, estimate_messages, head
from bot.language.steps.knowledge import CITATION
from bot.language.steps.output_guard import messages_of
from bot.language.steps.step_kind import Reply
from bot.language.steps.tools import LEAVE, REMEMBER

WireMessage = dict[str, Any]
MOST_LINKS = 50
MOST_LINK = 2000  # characters
MOST_EXCHANGE = 40_000  # characters of one turn that the model is given and the session keeps
MOST_REFUSAL = 300  # characters of a result that always have room: how a call was refused
MOST_SEARCHED = 1000  # characters of what a model writes to search for
MOST_WORD = 256  # characters of a call's name
LEFT_OUT = "(The result is left out: this turn has become too long.)"
DECIDED = "(The colleague who was asked has decided.)"
ARRIVED = "(The contact has just arrived here and waits for you to begin.)"


@mutable
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
    began: datetime | None = None  # the running turn
    before: datetime | None = None  # when the turn before it began
    pending_input: str | None = None  # what the contact wrote last in this turn
    characters: int = 0  # of the contact's in this turn
    calls: int = 0  # of the model's in this turn
    turns: int = 0
    rounds: int = 0  # requests of this turn
    merged: int = 0  # messages that came while the model worked
    thought: bool = False  # in this turn the contact was told that the model thinks
    questions: int = 0  # how often the contact was asked about a call
    retried: bool = False  # an answer of this turn was not sent, because a value in it had no source
    plain: bool = False  # the model knows no tools
    model: str = ""  # the one that answered last
    links: list[str] = field(default_factory=list)  # addresses and accounts that handlers gave the model
    overtaken: bool = False  # the contact wrote more before they could be asked: that comes next, in this turn
    failed: bool = False  # a call of the newest answer failed or was refused: no exit is taken
    made: dict[str, dict[str, Any]] = field(default_factory=dict)  # calls of this turn, each with its result's place
    uses: dict[str, int] = field(default_factory=dict)  # by handler, how often it may have succeeded in this visit
    succeeded: list[str] = field(default_factory=list)  # handlers that have succeeded in this visit
    given: list[str] = field(default_factory=list)  # passages that the model was given in this turn, by their numbers
    cited: list[int] = field(default_factory=list)  # the numbers of those that its answer cites
    searched: str | None = None  # what a model has written to search for in this turn
    rewriting: bool = False  # ... which is awaited
    note_of_team: str = ""  # with which a colleague has decided on a call, in this turn
    fresh: list[int] = field(default_factory=list)  # places in the turn of what came from outside since the last answer

    @classmethod
    def of(cls, step_state: Mapping[str, Any]) -> Self:
        """The exchange of a step state."""
        return cls(**{each.name: deepcopy(step_state[each.name]) for each in fields(cls) if each.name in step_state})

    def step_state(self) -> dict[str, Any]:
        """The step state to keep in the session."""
        return asdict(self)

    def begin(self, reply: Reply | None, now: datetime, hears: int, *, pictures: bool = False) -> None:
        """Begin a turn with what the model gets of the contact's message; without a message the model begins."""
        self.drop()
        self.said, self.spoken, self.pending_input = [], [], None
        self.given, self.cited, self.searched = [], [], None
        self.turns += 1
        self.rounds = self.merged = self.characters = self.calls = 0
        self.retried = self.thought = False
        self.note_of_team = ""
        self.before, self.began = self.began or self.before, now
        if reply is None:
            self.searched = ""
            self.turn.append({"role": "user", "content": ARRIVED})
        else:
            self.add_reply(reply, hears, pictures=pictures)

    def take_up(self, call: Mapping[str, Any], note: str, now: datetime) -> None:
        """A new turn, in which a colleague has decided on a call. The contact has written nothing."""
        self.begin(None, now, 0)
        self.turns -= 1
        self.note_of_team, self.thought, self.plain = note, True, False
        named = _in_wire_form(call)
        self.turn = [{"role": "user", "content": DECIDED}, {"role": "assistant", "content": "", "tool_calls": [named]}]

    def ask(self) -> None:
        """Note one more request of this turn."""
        self.rounds += 1
        self.spoken, self.said = [*self.spoken, *self.said], []
        self.asked = True

    def note_search(self, event: CallEnded) -> None:
        """Note what a model has written to search for; nothing if it failed."""
        self.rewriting = False
        self.searched = head(event.value["text"], MOST_SEARCHED) if event.outcome == "done" else ""

    def end(self, most_tokens: int) -> None:
        """The turn is over: its texts are history, of which the newest are kept."""
        texts = [{**message} for message in self.turn if message["role"] == "user"]
        for message in texts:
            message.pop(PICTURE, None)  # its address lives a day
        answer = "\n\n".join([*self.spoken, *self.said])
        self.remember(texts, CITATION.sub("", answer) if self.cited else answer, most_tokens)
        self.drop()

    def remember(self, texts: list[WireMessage], answer: str, most_tokens: int) -> None:
        """The contact's texts and what was answered are history, of which the newest are kept."""
        self.history += [*texts, *([{"role": "assistant", "content": answer}] if answer else [])]
        while self.history and estimate_messages(self.history) > most_tokens:
            del self.history[0]

    def go_on_from(self, left: LeftExchange, most_tokens: int) -> None:
        """Go on from what was said before the step was left."""
        self.before = left.at
        self.remember([dict(message) for message in left.messages], "", most_tokens)

    def drop(self) -> None:
        """The turn is over: nothing of it is done or waited for any more."""
        self.turn, self.queue, self.made, self.fresh = [], [], {}, []
        self.running = self.asking = None
        self.asked = self.overtaken = self.rewriting = False

    def note_links(self, links: list[str]) -> None:
        """Addresses and accounts that our own side gave the model: it may send them."""
        short = (link for link in links if len(link) <= MOST_LINK)
        self.links = list(dict.fromkeys((*self.links, *short)))[-MOST_LINKS:]

    def note_fresh(self) -> None:
        """Note that the message added last came from outside, and that no model has read it yet."""
        self.fresh.append(len(self.turn) - 1)

    def add_reply(self, reply: Reply, hears: int, *, pictures: bool = False) -> None:
        """Add the contact's message, in the contact's role: nothing in it is an instruction.

        With ``pictures``, add the picture too.

        The model gets ``hears`` characters of all that they write in a turn, and the number of the others.
        """
        text = from_contact(reply)
        kept = head(text, max(hears - self.characters, 0))
        self.characters += len(kept)
        self.pending_input = head(text, hears)
        rest = f"(The message goes on: {len(text) - len(kept)} more characters are left out here.)"
        if not kept and text and self.characters >= hears and any(rest[:22] in each["content"] for each in self.turn):
            return  # it has been told so already
        message = {"role": "user", "content": text if kept == text else f"{kept}\n{rest}".strip()}
        if pictures and is_picture(reply) and reply.media is not None:
            message[PICTURE] = reply.media.url
        self.turn.append(message)
        self.note_fresh()

    @property
    def room(self) -> int:
        """The number of characters that are left for this turn."""
        return MOST_EXCHANGE - sum(map(_length, self.turn))

    def add_answer(self, calls: list[dict[str, Any]], most: int) -> None:
        """Add the model's newest answer: the texts that were sent, then the calls: notes, tools, and the exit last.

        If a turn has too many calls, the first call beyond the limit stays, to be refused; the others are dropped.
        """
        calls = sorted(calls, key=_place)[: max(most - self.calls, 0) + 1]
        self.calls += len(calls)
        message: WireMessage = {"role": "assistant", "content": clip("\n\n".join(self.said), max(self.room, 1))}
        if calls and not self.plain:
            message["tool_calls"] = []
            for call in calls:
                fits = len(call["arguments"]) <= self.room - _length(message)
                message["tool_calls"].append(_in_wire_form(call if fits else {**call, "arguments": "{}"}))
        if message["content"] or "tool_calls" in message:  # an empty message is one that services refuse
            self.turn.append(message)
        self.queue = calls
        self.failed, self.fresh = False, []

    def hold(self, text: str, why: str) -> None:
        """Note an answer that was not sent, and tell the model why: it is asked again."""
        self.turn.append({"role": "assistant", "content": clip("\n\n".join([*self.said, text]), max(self.room, 1))})
        self.turn.append({"role": "system", "content": clip(why, MOST_REFUSAL)})
        self.retried, self.fresh = True, []

    def is_one_too_many(self, most: int) -> bool:
        """True if the call that was taken off the queue last is beyond those that a turn may have."""
        return self.calls > most and not self.queue

    def add_result(self, call: Mapping[str, Any], result: str) -> None:
        """Add the result of a call. A model that knows no tools gets it as a system message."""
        room = max(self.room, MOST_REFUSAL)
        result = result if len(result) <= room else clip(result, room) if room > MOST_REFUSAL else LEFT_OUT
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
    def silent_since(self) -> datetime | None:
        """When the running turn began, if nothing was sent in it, else None."""
        return None if self.thought or self.said or self.spoken else self.began

    @property
    def has_unseen(self) -> bool:
        """True if the contact has sent something in this turn that a model cannot see or hear."""
        theirs = (message for message in self.turn if message["role"] == "user" and PICTURE not in message)
        return any(_UNSEEN.search(message["content"]) for message in theirs)

    @property
    def searched_for(self) -> list[str]:
        """The texts to search for: the contact's last message, after a model's words for it, and the one before."""
        last, *before = self.texts_of_contact[:-3:-1] or [""]
        return [f"{self.searched or ''}\n{last}", *before]

    @property
    def words_of_contact(self) -> str:
        """The text of all messages of the contact that the model is given."""
        return "\n".join(self.texts_of_contact)

    @property
    def sources(self) -> list[str]:
        """The texts of the contact, of tools, and of the bot before the contact's last message; the newest first."""
        results = [self.turn[made["place"]]["content"] for made in self.made.values() if not made["failed"]]
        texts = [message["content"] for message in self.history] + [
            message["content"] for message in self.turn if message["role"] == "user"
        ]
        return [*reversed(results), *reversed(texts)]

    @property
    def results(self) -> list[str]:
        """The results of tools in this turn, and what a colleague has noted."""
        noted = [self.note_of_team] if self.note_of_team else []
        return [*noted, *(message["content"] for message in self.turn if message["role"] == "tool")]

    @property
    def texts_of_bot(self) -> list[str]:
        """The texts that were sent at this step, as far as the model still knows them."""
        earlier = [message["content"] for message in self.history if message["role"] == "assistant"]
        return [*earlier, *self.spoken, *self.said]

    @property
    def texts_of_contact(self) -> list[str]:
        """The messages of the contact that the model is given."""
        return [message["content"] for message in (*self.history, *self.turn) if message["role"] == "user"]

    @property
    def spoken_lines(self) -> list[dict[str, str]]:
        """The texts of this turn, each with its speaker: the contact, a tool, or the chatbot."""
        who = {"user": "contact", "assistant": "chatbot"}
        return [{"who": who.get(m["role"], "tool"), "says": m["content"]} for m in self.turn if m["content"]]

    @property
    def last_said(self) -> tuple[TextMessage, ...]:
        """The model's part of the newest turn that is over."""
        texts = [message["content"] for message in self.history if message["role"] == "assistant"]
        return messages_of(texts[-1], 1) if texts else ()


def most_of_turn(hears: int, calls: int, messages: int, rounds: int) -> int:
    """The most tokens of a turn in which so much is heard, with so many calls, messages of the contact's and rounds."""
    words = calls * (MOST_REFUSAL + MOST_WORD) + messages * len(LEFT_OUT) * 2
    return max(MOST_EXCHANGE, hears) + words + 10 * (calls + messages + rounds)


def from_contact(reply: Reply) -> str:
    """The contact's message in words."""
    media, place = reply.media, reply.location
    if media is not None:
        return file_in_words("voice note" if media.kind == "audio" else media.kind, media.caption)
    if place is not None:
        named = [" ".join(text.split()) for text in (place.name, place.address) if text]
        return f"(a place: {', '.join([*named, str(place.latitude), str(place.longitude)])})"
    return (reply.text or "").strip() or _WITHOUT_TEXT.get(reply.kind, "(something that is no text)")


_WITHOUT_TEXT = {"sticker": "(a sticker)", **dict.fromkeys(("contact", "contacts", "vcard"), "(a contact card)")}
_UNSEEN = lazy_pattern(r"^\((an image|a voice note|a video|a document|a sticker|a contact card)\)", re.MULTILINE)


def is_picture(reply: Reply) -> bool:
    """True if the contact sent a picture."""
    return reply.media is not None and reply.media.kind == "image"


def is_unread(reply: Reply, *, pictures: bool) -> bool:
    """True if a model reads nothing of what the contact sent: a file, or something that is no text and no place."""
    if pictures and is_picture(reply):
        return False
    return reply.media is not None or (reply.location is None and not reply.texts)


def _length(message: WireMessage) -> int:
    """The characters of a message."""
    called = [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return sum(map(len, (message["content"], *called)))


def _place(call: Mapping[str, Any]) -> int:
    """The rank of a call in its answer: notes, tools, then the exit, which claims that the others were done."""
    name = call["name"]
    return 0 if name == REMEMBER else 2 if name.startswith(LEAVE) else 1


def _in_wire_form(call: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["id"], "type": "function", "function": named}
