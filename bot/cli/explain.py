"""``bot explain``."""

from pathlib import Path

import click

from bot.cli.shared.operate import bot_argument
from bot.cli.shared.output import echo_lines
from bot.loading.folder import find_bot, read_folder


def _known(ctx: click.Context, argument: click.Parameter, code: str) -> str:
    from bot.cli.shared.check_report import TITLES
    from bot.language.source.problems import did_you_mean

    if code.upper() not in TITLES:
        fix = did_you_mean(code, TITLES, "they look like E102 and W501")
        raise click.BadParameter(f"there is no code {code} ({fix})", ctx, argument)
    return code.upper()


@click.command("explain")
@click.argument("code", metavar="CODE", callback=_known)
@bot_argument
@click.pass_context
def command(ctx: click.Context, code: str, folder: Path | None) -> None:
    """Explain a code of `bot check`: what it means, with an example. With DIR, explain each place of that bot that has
    it.

    \b
      $ bot explain W501
      $ bot explain W501 bots/shop

    Exit code 0: success. 1: the bot in DIR has it.
    """
    from bot.checker import rules
    from bot.cli.shared.check_report import explained, page, report_on

    if folder is None:
        click.echo(page(code).rstrip())
        if code in rules.TITLES and "## Allowing it" not in page(code):
            click.echo(f"\n## Allowing it\n\nEnd its line by a comment with your reason: `# allow {code}: ...`")
        return
    report = report_on(read_folder(find_bot(folder)))
    echo_lines(explained(report, code))
    ctx.exit(1 if any(entry.code == code for entry in report.entries) else 0)
