"""``run``: another flow in a frame of its own, which returns here; once, or once for each element of a list."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bot.core.values import Record
from bot.expressions.templates import Expression
from bot.keys.fields import Fields, text_of
from bot.keys.key_schemas import EXPRESSION, NAME, NAME_PATTERN, Schemas, either, map_of, one_or_several, pattern, takes
from bot.keys.text_shapes import Shape
from bot.lang.nodes import List, Map, Mark, Scalar
from bot.steps.declared import Falls, FlowRun, Null, Outcome, Rest, RestFor, Used
from bot.steps.kind import Awaited, FlowEnded, Reading, StepContext, StepFailed, StepKind, StepResult, ending
from bot.steps.transition import TRANSITION_TEXTS, Assignment, Transition, assignments, transition_at
from bot.steps.transition_keys import ASSIGNMENTS, TRANSITION

MOST_ELEMENTS = 100
_ELEMENT = frozenset({"it", "loop"})
_LIST, _RESULTS = "each", "results"  # what is remembered while the elements are gone through


@dataclass(frozen=True, slots=True)
class Run(StepKind):
    """Which flow, what goes in, and what comes out: our variable by theirs.

    With ``each``, an expression for a list, the flow runs once an element: ``it``, and ``loop`` as in templates. What
    comes out is then a list, in the order of the elements.
    """

    flow: str
    mark: Mark
    inputs: tuple[Assignment, ...]
    outputs: Mapping[str, str]
    expired: Transition | None
    each: Expression | None = None
    verb: ClassVar[str] = "run"
    keys: ClassVar[Schemas] = {
        "run": takes(pattern(f"/?{NAME_PATTERN}", "write a flow: /flow"), "The flow that runs, and returns here."),
        "each": takes(EXPRESSION, "A list: the flow runs once for each of its elements, which is called it."),
        "with": takes(ASSIGNMENTS, "Values for that flow's variables."),
        "save": takes(
            either(one_or_several(NAME), map_of(NAME)), "Variables that come back: names, or ours with theirs."
        ),
        "expired": takes(
            TRANSITION, "Where it leads that silence ended that flow; where then leads where nothing is said."
        ),
    }
    texts: ClassVar[Mapping[str, Shape]] = {"expired": TRANSITION_TEXTS}

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read ``run: /flow`` with `each`, `with` and `save`."""
        flow = (fields.string("run") or "").removeprefix("/")
        inputs, outputs = assignments(fields, "with"), _read_outputs(fields)
        return cls(
            flow, fields.mark_of("run"), inputs, outputs, transition_at(fields, "expired"), fields.expression("each")
        )

    @property
    def rest(self) -> Rest:
        """Until the flow has ended: how long that takes, its own steps say."""
        return Rest(RestFor.FLOW)

    def outcomes(self) -> dict[str, Outcome]:
        """``then`` and ``expired``, which leads where `then` does unless it is written."""
        return {
            "then": Outcome(None, Falls.THEN),
            "expired": Outcome(self.expired, Falls.THEN, success=False),
        }

    @property
    def fails(self) -> bool:
        """What is worked out may be no list, and no value of the flow's variable."""
        return self.each is not None or any(text.single for item in self.inputs for text in item.uses())

    def uses(self) -> Iterator[Used]:
        """The list, and the templates among the inputs."""
        if self.each is not None:
            yield Used(self.each)
        extra = frozenset() if self.each is None else _ELEMENT
        for item in self.inputs:
            for text in item.uses():
                yield Used(text, extra, Null.TAKEN, sure=self.each is None)

    @property
    def gives(self) -> frozenset[str]:
        """The variables that what comes out goes to."""
        return frozenset(self.outputs)

    def flows_run(self) -> Iterator[FlowRun]:
        """The flow that is opened."""
        listed, most = (False, 1) if self.each is None else (True, MOST_ELEMENTS)
        yield FlowRun(self.flow, self.mark, self.inputs, self.outputs, listed, most)

    def enter(self, context: StepContext) -> StepResult:
        """Open the flow's frame, for the first element where there are several."""
        if self.each is None:
            return StepResult(opens=(self.flow, self._inputs(context.scope)))
        return self._open_for(context, _elements(self.each, context.scope), [])

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The flow came to its end: take what it brought, and go on with the next element."""
        if not isinstance(event, FlowEnded):
            return None
        if event.expired:
            return ending("expired")
        if event.failed:
            raise StepFailed("failed", f"flow {self.flow} has failed")
        if self.each is None or _LIST not in context.step_state:
            return ending("then", sets={ours: event.vars.get(theirs) for ours, theirs in self.outputs.items()})
        brought = [event.vars.get(theirs) for theirs in self.outputs.values()]
        return self._open_for(context, context.step_state[_LIST], [*context.step_state[_RESULTS], brought])

    def _open_for(self, context: StepContext, elements: Sequence[Any], results: list[list[Any]]) -> StepResult:
        """Run the flow for the first element that has no result yet; when all have one, they are the outcome."""
        done = len(results)
        if done == len(elements):
            columns = zip(*results, strict=True) if results else ((),) * len(self.outputs)
            return ending("then", sets={ours: list(found) for ours, found in zip(self.outputs, columns, strict=True)})
        inner = {**context.scope, "it": elements[done], "loop": _loop(done, len(elements))}
        return StepResult(opens=(self.flow, self._inputs(inner)), step_state={_LIST: list(elements), _RESULTS: results})

    def _inputs(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        return {item.name: item.evaluate(scope) for item in self.inputs}


def _elements(each: Expression, scope: Mapping[str, Any]) -> Sequence[Any]:
    elements = each.evaluate(scope)
    if elements is None:
        return ()
    if not isinstance(elements, list | tuple):
        raise StepFailed("mismatch", f"{each.source} is no list to go through")
    if len(elements) > MOST_ELEMENTS:
        raise StepFailed("mismatch", f"{each.source} has more than {MOST_ELEMENTS} elements")
    return elements


def _loop(done: int, length: int) -> Record:
    return Record("loop", {"index": done + 1, "first": done == 0, "last": done + 1 == length, "length": length})


def _read_outputs(fields: Fields) -> dict[str, str]:
    """``save: name``, ``save: [a, b]`` or ``save: {ours: theirs}``."""
    node = fields.raw("save")
    match node:
        case Map(entries=entries):
            names = ((ours, text_of(theirs, fields.problems, f"{fields.what}: save")) for ours, theirs in entries)
            return {ours.text: theirs for ours, theirs in names if theirs is not None}
        case List() | Scalar():
            return {name: name for name in fields.strings("save")}
    return {}
