"""The kinds of steps by their verbs. A new verb is a class and a line in `KINDS`."""

from bot.language.steps.ai_step import AiStep
from bot.language.steps.ask_step import AskStep
from bot.language.steps.call_step import CallStep
from bot.language.steps.classify_step import ClassifyStep
from bot.language.steps.control_steps import OPTION_STEPS, BranchStep, RunStep, WaitStep
from bot.language.steps.draft_step import DraftStep
from bot.language.steps.handoff_step import HandoffStep
from bot.language.steps.http_step import HttpStep
from bot.language.steps.other_contacts import SignalStep, StartStep
from bot.language.steps.say_step import SayStep
from bot.language.steps.step_kind import StepKind
from bot.language.steps.template_step import TemplateStep
from bot.language.steps.write_step import WriteStep

_KINDS: tuple[type[StepKind], ...] = (
    SayStep,
    AskStep,
    TemplateStep,
    CallStep,
    HttpStep,
    AiStep,
    ClassifyStep,
    WriteStep,
    BranchStep,
    *reversed(OPTION_STEPS),
    RunStep,
    WaitStep,
    DraftStep,
    HandoffStep,
    StartStep,
    SignalStep,
)
KINDS: dict[str, type[StepKind]] = {kind.verb: kind for kind in _KINDS}
