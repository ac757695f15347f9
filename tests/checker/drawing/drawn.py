"""Drawings as lines of text, to compare."""

from bot.checker.drawing import FindingIndex, draw_bot, draw_flow
from bot.checker.drawing.drawing_model import Drawing, Stroke
from bot.checker.graph import Graph
from bot.checker.run_rules import run_rules
from bot.language.flow.library import Library
from tests.checker.proved import BOT, library, sources

FLAGGED = ("W001", "W101")  # the rules that drawings are tried with
_ARROWS = {Stroke.SOLID: "->", Stroke.DASHED: "~>", Stroke.DOTTED: ".>"}


def flow(name: str, *documents: str, bot: str = BOT, everything: bool = False) -> Drawing:
    """The drawing of a flow of the bot of these documents."""
    found = library(*documents, bot=bot)
    return draw_flow(Graph(found), name, _flags(found, *documents, bot=bot), everything=everything)


def overview(*documents: str, bot: str = BOT, everything: bool = False) -> Drawing:
    """The drawing of the bot of these documents."""
    found = library(*documents, bot=bot)
    return draw_bot(Graph(found), _flags(found, *documents, bot=bot), everything=everything)


def _flags(found: Library, *documents: str, bot: str) -> FindingIndex:
    every = run_rules(found, sources(*documents, bot=bot))
    return FindingIndex.of(found, [finding for finding in every if finding.code in FLAGGED])


def boxes(drawing: Drawing) -> list[str]:
    """``says hello: say, Hi!``"""
    return [
        f"{box.kind.value} {box.title}" + (f": {', '.join(box.lines)}" if box.lines else "") for box in drawing.boxes
    ]


def lines(drawing: Drawing) -> list[str]:
    """``menu -> end (Bye, Later)``"""
    titles = {box.name: box.title for box in drawing.boxes}
    return [
        f"{titles[line.source]} {_ARROWS[line.stroke]} {titles[line.target]}"
        + (f" ({', '.join(line.labels)})" if line.labels else "")
        for line in drawing.lines
    ]
