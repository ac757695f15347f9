"""``bot intents``."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import click

from bot.cli.shared.evaluating import ModelOptions, budget_option, live_models, model_option, say_end
from bot.cli.shared.operate import bot_argument, sound
from bot.cli.shared.output import counted, echo_json, echo_lines, quiet_log, styled, where
from bot.core.immutable import immutable
from bot.language.source.problems import Mark
from bot.language.steps.classify_step import NONE
from bot.language.steps.intent_step import INTENTS, PICK, Intent, IntentStep
from bot.loading.folder import Folder, find_bot, read_folder
from bot.loading.program import Program
from bot.testing.conversations.model_sources import EvaluationStopped, LiveModel, ModelUnavailable
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.simulation.simulation import STUB_MODEL

ASKS = "asks"


@immutable
class TriedExample:
    """A model's result for an example of a flow.

    ``found`` is a flow, "none", or "asks": the contact is asked, and may choose this flow.
    """

    model: str
    flow: str
    example: str
    found: str
    percent: Mapping[str, int]
    fails: str = ""

    @property
    def ok(self) -> bool:
        """True if the contact gets to the flow."""
        return self.found in (self.flow, ASKS)


@click.command("intents")
@bot_argument
@click.option("-k", "name", metavar="NAME", default="", help="Only flows with NAME in their name.")
@model_option
@budget_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: each example, and the flow that was found.")
@click.pass_context
def command(
    ctx: click.Context, folder: Path | None, name: str, models: tuple[str, ...], budget: int, as_json: bool
) -> None:
    """Show which flows a model confuses.

    A real model says which flow each of the examples under `start` is about, without that example. A table has a row
    for each flow, and a column for each flow that was found.

    \b
      $ bot intents flows --model acme/swift

    Exit code 1: an example is taken for another flow, or not all could be asked.
    """
    quiet_log()
    bot = read_folder(find_bot(folder))
    program = sound(bot, load_with_tests(bot), as_json)
    ctx.exit(0 if _all_found(bot, program, name, ModelOptions(models, budget), as_json) else 1)


def _all_found(bot: Folder, program: Program, name: str, options: ModelOptions, as_json: bool) -> bool:
    """Ask models about the examples of the flows with ``name`` in their name, and print the results.

    Returns whether all are right.

    Raises `bot.settings.BadSettings` and `click.UsageError`.
    """
    flow = program.library.flows.get(INTENTS)
    kind = None if flow is None else flow.steps[PICK].kind
    with_examples = [each for each in (kind.intents if isinstance(kind, IntentStep) else ()) if each.examples]
    asked = [(each, example) for each in with_examples if name.casefold() in each.flow for example in each.examples]
    if not isinstance(kind, IntentStep) or not asked:
        there = ", ".join(each.flow for each in with_examples)
        why = f"{bot.name} has no examples: write start: {{about: ..., examples: [...]}} in a flow."
        if there:
            why = f'No flow with examples has "{name}" in its name: there are {there}.'
        click.echo(why, err=as_json)
        return False
    tried: list[TriedExample] = []
    stopped: list[str] = []
    with live_models(bot, options) as (models, budget):
        for model in models:
            try:
                tried += (_ask(model, kind, intent, example) for intent, example in asked)
            except (EvaluationStopped, ModelUnavailable) as error:
                stopped.append(f"{model.model}: {error}")
    if as_json:
        echo_json({"intents": [{**asdict(each), "passed": each.ok} for each in tried], "stopped": stopped})
    else:
        marks = {intent.flow: intent.mark for intent, _ in asked}
        for model in models:
            if of_model := [each for each in tried if each.model == model.model]:
                _show(bot, model.model, of_model, marks)
        say_end(budget, stopped)
    return not stopped and all(each.ok for each in tried)


def _ask(model: LiveModel, kind: IntentStep, intent: Intent, example: str) -> TriedExample:
    """Ask about an example as about a message.

    It is left out of the question: otherwise the model would only read it off.
    """
    others = tuple(each for each in intent.examples if each != example)
    intents = tuple(replace(each, examples=others) if each is intent else each for each in kind.intents)
    complete = kind.question(example, intents)
    named = complete.models[0] if complete.models else STUB_MODEL
    answered = model.ask(
        {"model": named, "messages": complete.messages, "max_tokens": complete.max_tokens, "temperature": 0}
    )
    flow, likely, percent = kind.picked(answered.text if not answered.fails else "", intents)
    found = flow or (ASKS if intent.flow in likely else NONE)
    return TriedExample(model.model, intent.flow, example, found, percent, answered.fails)


def _show(bot: Folder, model: str, tried: list[TriedExample], marks: Mapping[str, Mark]) -> None:
    """A row for each flow, a column for each flow that was found; then what is wrong."""
    echo_lines(_table(model, tried))
    for each in tried:
        if not each.ok:
            sure = ", ".join(f"{name} {sure} %" for name, sure in each.percent.items())
            sure = sure or (f"the model fails: {each.fails}" if each.fails else "it names no flow")
            place = styled(where(bot.path, marks[each.flow]), bold=True)
            click.echo(f'{place}: {each.flow}: "{each.example}" is taken for {each.found} ({sure})')
    wrong = sum(not each.ok for each in tried)
    verdict = styled(f"{wrong} wrong", fg="red") if wrong else styled("none wrong", fg="green")
    click.echo(f"{model}: {counted(len(tried), 'example')}, {verdict}.")


def _table(model: str, tried: list[TriedExample]) -> Iterator[str]:
    rows = list(dict.fromkeys(each.flow for each in tried))
    found = Counter((each.flow, each.found) for each in tried)
    others = dict.fromkeys(each.found for each in tried)
    columns = [*rows, *(name for name in others if name not in (*rows, NONE, ASKS)), NONE, ASKS]
    first = max(map(len, (*rows, model)))
    yield f"{model:<{first}}  {'  '.join(columns)}"
    for row in rows:
        cells = (f"{found[row, column] or '·':>{len(column)}}" for column in columns)
        yield f"{row:<{first}}  {'  '.join(cells)}"
