"""``bot usage``."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from bot.cli.shared.operate import bot_option, open_store, span
from bot.cli.shared.output import echo_json
from bot.language.source import wall_clock
from bot.store.count_rows import USAGE_BY


@click.command("usage")
@click.option("--since", metavar="DURATION", default="7d", show_default=True, callback=span, help="How far back.")
@click.option(
    "--by", type=click.Choice(USAGE_BY), default="model", show_default=True, help="The property that groups the sums."
)
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one a line of the table.")
def command(since: timedelta, by: str, folder: Path | None, as_json: bool) -> None:
    """Show how many tokens the models have used, by contact, flow, model or day (UTC), the most first.

    "~" marks a sum in which some tokens are estimated, because the service did not count them.

    \b
      $ bot usage --since 30d --by day

    Exit code 0: success. 1: there is no store yet.
    """
    with open_store(folder) as store:
        sums = store.usage.sums(datetime.now(UTC) - since, by)
    if as_json:
        names = ("answers", "prompt_tokens", "completion_tokens", "estimated")
        echo_json([{by: row.name, **{name: getattr(row, name) for name in names}} for row in sums])
        return
    if not sums:
        click.echo(f"No model has answered in the last {wall_clock.duration_words(since)}.")
        return
    width = max(len(by), 5, *(len(row.name) for row in sums))
    click.echo(f"{by:{width}}  {'answers':>9}  {'prompt':>12}  {'completion':>12}  {'tokens':>12}")
    lines = [(row.name, row.answers, row.prompt_tokens, row.completion_tokens, row.estimated) for row in sums]
    if len(lines) > 1:
        lines.append(("all", *(sum(column) for column in list(zip(*lines, strict=True))[1:])))
    for name, answers, prompt, completion, estimated in lines:
        about = " ~" if estimated else ""
        tokens = prompt + completion
        click.echo(f"{name:{width}}  {answers:>9,}  {prompt:>12,}  {completion:>12,}  {tokens:>12,}{about}")
