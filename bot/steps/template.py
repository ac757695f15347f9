"""``template``: an approved template, the only message that may be sent outside the 24-hour window."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from bot.core.events import SendEnded
from bot.lang.fields import Fields
from bot.lang.nodes import Map
from bot.lang.words import Option, match
from bot.steps.doors import Door, door_at, door_from, target_of
from bot.steps.kind import At, Awaited, Decision, Falls, Outcome, Reading, Reply, StepFailed, StepKind, Used, ending
from bot.steps.notice import Notice, read_notice
from bot.steps.replies import ReplyId, value_hash


@dataclass(frozen=True, slots=True)
class ReplyButton:
    """A quick reply button of the template, and where it leads."""

    title: str
    words: tuple[str, ...]
    door: Door

    @property
    def outcome(self) -> str:
        """The outcome's name, for diagrams and traces."""
        return f"[{self.title}]"


@dataclass(frozen=True, slots=True)
class TemplateStep(StepKind):
    """Sends a template; with `replies` it waits for one of them."""

    notice: Notice
    replies: tuple[ReplyButton, ...]
    other: Door | None
    watches: bool  # somebody handles errors: wait for the gateway's word
    verb: ClassVar[str] = "template"
    needs_window: ClassVar[bool] = False

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read ``template`` and its `replies`."""
        inner = fields.fields("template")
        notice = Notice("", "", None, (), ()) if inner is None else read_notice(inner)
        replies = _read_replies(fields)
        other = door_at(fields, "other")
        if other is not None and not replies:
            reading.problems.add(
                "E123", other.mark, f'{fields.what}: "other" where no reply is waited for', "add the `replies`"
            )
        return cls(notice, replies, other, bool(reading.errors))

    @property
    def waits(self) -> bool:
        """With `replies`, for one of them."""
        return bool(self.replies)

    def outcomes(self) -> dict[str, Outcome]:
        """Without `replies`: ``then``. With: each reply and `other`. A refusal matters where errors lead somewhere."""
        found = {reply.outcome: Outcome(reply.door, Falls.THEN) for reply in self.replies}
        if not self.replies:
            found["then"] = Outcome(None, Falls.THEN)
        elif self.other is not None:
            found["other"] = Outcome(self.other, Falls.STAY, success=False)
        if self.watches:
            found["errors.else"] = Outcome(None, Falls.ERRORS, success=False)
        return found

    def uses(self) -> Iterator[Used]:
        """Every text that fills the template."""
        return self.notice.uses()

    def enter(self, at: At) -> Decision:
        """Send the template; wait for a reply, for the gateway's word, or not at all."""
        payloads = tuple(
            str(ReplyId(at.flow, at.step, index, at.visit, value_hash(reply.title, None)))
            for index, reply in enumerate(self.replies)
        )
        sent = (self.notice.message(at.scope, payloads),)
        if self.replies:
            return Decision(messages=sent)
        return Decision(messages=sent, awaits=True) if self.watches else ending("then", messages=sent)

    def claim(self, at: At, reply: Reply) -> Decision | None:
        """A tap on a button of this template, or its title or payload as a text (DECISIONS: replies)."""
        if reply.tap is not None:
            index = reply.tap.choice
            if index < len(self.replies) and reply.tap.hash == value_hash(self.replies[index].title, None):
                return ending(self.replies[index].outcome)
            return None
        if reply.text is None or not self.replies:
            return None
        found = match(reply.text, [Option(button.title, button.words) for button in self.replies])
        return None if found is None else ending(self.replies[found].outcome)

    def resume(self, at: At, event: Awaited) -> Decision | None:
        """The gateway took the template, or refused it."""
        if not isinstance(event, SendEnded):
            return None
        if event.outcome in ("failed", "unknown") and self.watches:
            raise StepFailed("refused", event.detail)
        return None if self.replies else ending("then")


def _read_replies(fields: Fields) -> tuple[ReplyButton, ...]:
    inner = fields.fields("replies")
    if inner is None:
        return ()
    found = []
    for title, node in inner.entries():
        what = f'{fields.what}: "{title.text}"'
        if not isinstance(node, Map):
            target = target_of(node, fields.problems, what)
            if target is not None:
                found.append(ReplyButton(title.text, (), Door(node.mark, then=target)))
            continue
        door_fields = Fields(node, fields.problems, what)
        words, door = door_fields.strings("words"), door_from(door_fields)
        door_fields.close()
        found.append(ReplyButton(title.text, words, door))
    return tuple(found)
