"""W705: a question for any text, of which the second message would answer the next such question."""

from collections.abc import Iterator

from bot.checker.findings import Finding, rule
from bot.checker.graph import Graph
from bot.language.flow.definition import Flow, Step
from bot.language.steps.ask_step import AskStep


@rule(W705="a text whose second message answers the next question")
def find_split_texts(graph: Graph) -> Iterator[Finding]:
    """Find questions for a text of any length, without `gather`, that another question for any text follows."""
    for flow in graph.library.flows.values():
        for step in flow.steps.values():
            following = _next_question(flow, step) if _takes_a_story(step) else None
            if following is not None and flow.takes_any_words(following.name):
                what = (
                    f'step "{step.name}": whoever writes the answer in two messages answers step "{following.name}" '
                    "with the second"
                )
                fix = "write gather: 3s, give the variable a `max` if a few words are enough, or write gather: never"
                yield Finding.at("W705", step.mark, what, fix)


def _takes_a_story(step: Step) -> bool:
    """True for a question that takes a text of any length as soon as it comes."""
    variable = step.kind.variable if isinstance(step.kind, AskStep) else None
    any_length = variable is not None and variable.takes_any_words and not variable.bounded
    return any_length and step.facts.can_gather and step.defaults.gather is None


def _next_question(flow: Flow, step: Step) -> Step | None:
    """The step that waits next where an answer is taken, if a single way leads there."""
    seen = {step.name}
    targets = {step.transitions["then"].target} if "then" in step.transitions else set()
    while len(targets) == 1 and (target := targets.pop() or "") in flow.steps and target not in seen:
        step = flow.steps[target]
        if step.facts.waits:
            return step
        seen.add(step.name)
        targets = {
            step.transitions[name].target
            for name, outcome in step.outcomes.items()
            if outcome.success and name in step.transitions
        }
    return None
