"""The kinds of steps by their verbs. A new verb is a class and a line in `KINDS`."""

from bot.steps.ai_step import AiStep
from bot.steps.ask_step import AskStep
from bot.steps.call_step import CallStep
from bot.steps.classify_step import ClassifyStep
from bot.steps.control_steps import BranchStep, ClearStep, RunStep, SetStep, WaitStep
from bot.steps.handoff_step import HandoffStep
from bot.steps.http_step import HttpStep
from bot.steps.other_contacts import SignalStep, StartStep
from bot.steps.say_step import SayStep
from bot.steps.step_kind import StepKind
from bot.steps.template_step import TemplateStep
from bot.steps.write_step import WriteStep

KINDS: dict[str, type[StepKind]] = {
    kind.verb: kind
    for kind in (
        SayStep,
        AskStep,
        TemplateStep,
        CallStep,
        HttpStep,
        AiStep,
        ClassifyStep,
        WriteStep,
        BranchStep,
        SetStep,
        ClearStep,
        RunStep,
        WaitStep,
        HandoffStep,
        StartStep,
        SignalStep,
    )
}
