"""``bot graph``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.shared.operate import loaded, refuse_together
from bot.loading.folder import Folder, find_bot, read_folder

if TYPE_CHECKING:
    from bot.checker.drawing.drawing_model import Drawing
    from bot.language.flow.library import Library

FORMS = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid"}


@click.command("graph")
@click.argument("folder", metavar="[DIR]", required=False)
@click.argument("flow", metavar="[FLOW]", required=False)
@click.option("--svg", is_flag=True, help="Print SVG instead of writing a file.")
@click.option("--mermaid", is_flag=True, help="Print Mermaid text.")
@click.option(
    "--all", "everything", is_flag=True, help="Include what every step has: inherited time-outs, words and so on."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file; .svg or .mmd decides the format.",
)
def command(
    folder: str | None, flow: str | None, svg: bool, mermaid: bool, everything: bool, output: Path | None
) -> None:
    """Draw how the flows of the bot in DIR are connected, or the steps of one FLOW, as a picture in the current folder.

    The findings of `bot check` are marked. A single argument is DIR if a folder of this name exists, else FLOW.

    \b
      $ bot graph bots/shop
      shop.svg
      $ bot graph bots/shop order -o pictures/order.svg
      $ bot graph order --mermaid

    Exit code 0: success. 1: the bot has problems, which are listed.
    """
    from bot.checker.drawing import mermaid as as_mermaid
    from bot.checker.drawing import svg as as_svg

    if folder is not None and flow is None and not Path(folder).is_dir():
        folder, flow = None, folder
    form = _form_of(output, svg, mermaid)
    bot = read_folder(find_bot(folder))
    drawn = drawing(loaded(bot).library, bot, flow, everything)
    text = as_svg(drawn) if form == "svg" else as_mermaid(drawn)
    if output is None and (svg or mermaid):
        click.echo(text, nl=False)
        return
    file = output or Path(f"{flow or bot.path.resolve().name}.svg")
    file.write_text(text, encoding="utf-8")
    if output is None:
        click.echo(file)


def _form_of(output: Path | None, svg: bool, mermaid: bool) -> str:
    refuse_together(svg=svg, mermaid=mermaid)
    asked = "svg" if svg else "mermaid" if mermaid else None
    named = None if output is None else FORMS.get(output.suffix.lower())
    if asked is not None and named not in (asked, None):
        what = f"--{asked} and {output} are two formats"
        raise click.UsageError(f"{what}: leave --{asked} out, or give the file another ending")
    form = asked or named or ("svg" if output is None else None)
    if form is None:
        raise click.BadParameter(f"{output} ends neither in .svg nor in .mmd: add --svg or --mermaid", param_hint="-o")
    return form


def drawing(library: "Library", bot: Folder, flow: str | None, everything: bool = False) -> "Drawing":
    """Draw a bot, or one of its flows. Raises `click.BadParameter` for an unknown flow."""
    from bot.checker.drawing import FindingIndex, draw_bot, draw_flow
    from bot.checker.graph import Graph
    from bot.checker.run_rules import run_rules
    from bot.language.source.problems import did_you_mean

    if flow is not None and flow not in library.flows:
        fix = did_you_mean(flow, library.flows, f"there are {', '.join(library.flows)}")
        raise click.BadParameter(f'there is no flow "{flow}" ({fix})', param_hint="FLOW")
    graph, flags = Graph(library), FindingIndex.of(library, run_rules(library, bot.sources))
    if flow is None:
        return draw_bot(graph, flags, everything=everything)
    return draw_flow(graph, flow, flags, everything=everything)
