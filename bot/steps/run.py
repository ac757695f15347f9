"""``run``: another flow in a frame of its own, which returns here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from bot.lang.fields import Fields
from bot.lang.nodes import List, Map, Mark, Scalar
from bot.steps.doors import Assignment, Door, assignments, door_at
from bot.steps.kind import At, Awaited, Decision, Falls, FlowEnded, Outcome, Reading, StepKind, Used, ending


@dataclass(frozen=True, slots=True)
class Run(StepKind):
    """Which flow, what goes in, and what comes out: our variable by theirs."""

    flow: str
    mark: Mark
    inputs: tuple[Assignment, ...]
    outputs: Mapping[str, str]
    expired: Door | None
    verb: ClassVar[str] = "run"
    later: ClassVar[Mapping[str, str]] = {"each": "running a flow once for each element"}

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read ``run: /flow`` with `with` and `save`."""
        flow = (fields.string("run") or "").removeprefix("/")
        return cls(
            flow, fields.mark_of("run"), assignments(fields, "with"), _read_outputs(fields), door_at(fields, "expired")
        )

    def outcomes(self) -> dict[str, Outcome]:
        """``then`` and ``expired``, which leads where `then` does unless it is written."""
        return {
            "then": Outcome(None, Falls.THEN),
            "expired": Outcome(self.expired, Falls.THEN, success=False),
        }

    def uses(self) -> Iterator[Used]:
        """The templates among the inputs."""
        for item in self.inputs:
            for text in item.uses():
                yield Used(text)

    def flows_run(self) -> Iterator[tuple[str, Mark]]:
        """The flow that is opened."""
        yield self.flow, self.mark

    def enter(self, at: At) -> Decision:
        """Open the flow's frame."""
        return Decision(opens=(self.flow, {item.name: item.evaluate(at.scope) for item in self.inputs}))

    def resume(self, at: At, event: Awaited) -> Decision | None:
        """The flow came to its end: take what it brought."""
        if not isinstance(event, FlowEnded):
            return None
        if event.expired:
            return ending("expired")
        return ending("then", sets={ours: event.vars.get(theirs) for ours, theirs in self.outputs.items()})


def _read_outputs(fields: Fields) -> dict[str, str]:
    """``save: name``, ``save: [a, b]`` or ``save: {ours: theirs}``."""
    node = fields.raw("save")
    match node:
        case Map(entries=entries):
            return {ours.text: theirs.text for ours, theirs in entries if isinstance(theirs, Scalar)}
        case List() | Scalar():
            return {name: name for name in fields.strings("save")}
    return {}
