"""``handoff``: a person takes the conversation over; the bot is silent until they have closed it."""

from typing import Self

from bot.core.events import HandoffClosed
from bot.core.immutable import immutable
from bot.core.messages import TEXT_BODY, TextMessage
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import LITERAL, TEMPLATE, KeySet, KeySpec, as_fields, either
from bot.language.keys.fields import Fields
from bot.language.keys.text_shapes import TEXT
from bot.language.steps.step_facts import DefaultTarget, Outcome, StepFacts, Wait, WaitsFor, text_sent, texts_used
from bot.language.steps.step_kind import Awaited, HandOver, LeaveStep, ReadContext, StepContext, StepKind, StepResult
from bot.language.steps.transition import TRANSITION, Transition

_TEAM = KeySpec("team", LITERAL, "The team; the contact gets the tag handoff:team meanwhile.", required=True)
_NOTE = KeySpec("note", TEMPLATE, "A note for the people who take over.")
_SAY = KeySpec("say", TEMPLATE, "The text that the contact gets first.", texts=TEXT)
_HANDOFF = KeySpec(
    "handoff",
    either(LITERAL, as_fields(KeySet(_TEAM, _NOTE, _SAY))),
    "The team that takes the conversation over.",
    required=True,
)
_CLOSED = KeySpec("closed", TRANSITION, "Where it leads when an agent has resolved the conversation.", required=True)


@immutable
class HandoffStep(StepKind):
    """The team, the note to it, and the text for the contact."""

    team: str
    note: Template | None
    text: Template | None
    closed: Transition | None
    verb = "handoff"
    keys = KeySet(_HANDOFF, _CLOSED)
    takes_below = frozenset({_SAY.name})
    options = frozenset({"timeout"})

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``handoff: team`` or ``handoff: {team, note, say}``, and `closed`."""
        written, closed = _HANDOFF.read(fields), _CLOSED.read(fields)
        if isinstance(written, Fields):
            return cls(_TEAM.read(written) or "", _NOTE.read(written), _SAY.read(written), closed)
        return cls(written or "", None, None, closed)

    def facts(self) -> StepFacts:
        """Return the facts. ``closed`` must be written: nobody should be forgotten after a hand-over."""
        return StepFacts(
            waits_for=Wait(WaitsFor.PERSON),
            ignores_messages=True,
            sends=tuple(text_sent("say", self.text, TEXT_BODY, needed=True)),
            most_messages=0 if self.text is None else 1,
            outcomes={"closed": Outcome(self.closed, DefaultTarget.WRITTEN)},
            uses=tuple(texts_used(self.note, self.text)),
        )

    def enter(self, context: StepContext) -> StepResult:
        """Tell the contact, set the team's tag and be silent."""
        said = () if self.text is None else (TextMessage(self.text.render(context.scope)),)
        note = None if self.note is None else self.note.render(context.scope)
        return HandOver(said, team=self.team, note=note)

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The agent resolved the conversation."""
        return LeaveStep("closed") if isinstance(event, HandoffClosed) else None
