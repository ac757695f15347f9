"""``bot import``."""

from pathlib import Path

import click

from bot.cli.importing.export_files import SYSTEMS, import_export, read_export
from bot.cli.importing.imported import ImportedBot
from bot.cli.importing.verification import Verification, verify
from bot.cli.importing.writing import REPORT, node_counts, write_bot, write_proof
from bot.cli.shared.check_report import report_on
from bot.cli.shared.new_folder import refuse_used, write_common_files
from bot.cli.shared.output import counted
from bot.loading.folder import read_folder
from bot.loading.program import FaultyBot, load_program


@click.command("import")
@click.argument("export", metavar="[SYSTEM] EXPORT...", nargs=-1, required=True)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--verify", "shows", is_flag=True, help="List each difference; exit code 1 if one is not explained.")
@click.pass_context
def command(ctx: click.Context, export: tuple[str, ...], folder: Path, shows: bool) -> None:
    """Import a bot of another system: typebot, rapidpro (also TextIt, Glific, goflow), twilio or rasa.

    DIR gets flows, settings, tests, and import-report.md, which says of each node whether it is the same, nearly the
    same or lost, and where it is. Conversations of the export, recorded or made from its own rules, are played on the
    new bot and compared. Each difference is in the report.

    \b
      $ bot import typebot-export-my-bot.json my-bot
      $ bot import rapidpro flows.json flows.test.json my-bot --verify

    Exit code 1: the export cannot be read, DIR is not empty, the new bot has problems, or with --verify: a difference
    is not explained.
    """
    system = export[0] if export[0] in SYSTEMS and len(export) > 1 and not Path(export[0]).exists() else None
    files = read_export([Path(name) for name in export[0 if system is None else 1 :]])
    refuse_used(folder)
    bot = import_export(files, system)
    proof = _write(bot, folder)
    click.echo(f"{counted(len(bot.nodes), 'node')} of {bot.system}: {node_counts(bot.nodes)}.")
    click.echo(proof.summary)
    report = report_on(read_folder(folder))
    click.echo(f"bot check {folder}: {report.summary or 'no problems'}.")
    click.echo(
        f"{folder / REPORT} says what became of each node, and `bot dev {folder}` shows the bot in your browser."
    )
    if shows:
        for difference in proof.differences:
            why = "explained" if difference.reasons else "NOT EXPLAINED"
            click.echo(f"  {difference.conversation}, {difference.when}: {' '.join(difference.what.split())} ({why})")
    ctx.exit(1 if report.loaded.problems or (shows and proof.unexplained) else 0)


def _write(bot: ImportedBot, folder: Path) -> Verification:
    """Write the folder. Returns the proof: an empty one where the new bot has problems."""
    places = write_bot(bot, folder)
    write_common_files(folder)
    try:
        proof = verify(bot.conversations, bot.nodes, load_program(read_folder(folder)))
    except FaultyBot:
        proof = Verification()
    write_proof(bot, folder, places, proof)
    return proof
