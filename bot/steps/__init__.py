"""The kinds of steps, one a file. A new verb is a new file and a line in `KINDS`."""

from bot.steps.ai import Ai
from bot.steps.ask import Ask
from bot.steps.branch import Branch
from bot.steps.call import CallStep
from bot.steps.classify import Classify
from bot.steps.handoff import Handoff
from bot.steps.http import HttpStep
from bot.steps.kind import StepKind
from bot.steps.run import Run
from bot.steps.say import Say
from bot.steps.set import SetStep
from bot.steps.template import TemplateStep
from bot.steps.wait import Wait

KINDS: dict[str, type[StepKind]] = {
    kind.verb: kind
    for kind in (Say, Ask, TemplateStep, CallStep, HttpStep, Ai, Classify, Branch, SetStep, Run, Wait, Handoff)
}
