"""What stands in place of a step that has a problem, so that the rest of the bot can be checked."""

from bot.core.immutable import immutable
from bot.steps.step_facts import Outcome
from bot.steps.step_kind import StepContext, StepKind, StepResult


@immutable
class UnreadStep(StepKind):
    """A step that leads nowhere and says nothing: what becomes of a conversation there is not known. It is never entered."""

    verb = ""

    def outcomes(self) -> dict[str, Outcome]:
        """None is known."""
        return {}

    def enter(self, context: StepContext) -> StepResult:
        """Raise an error: a bot with such a step is not served."""
        raise AssertionError(f"{context.flow}/{context.step} has a problem")
