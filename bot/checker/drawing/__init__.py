"""A bot as a picture: a drawing of a flow, or of how the flows hang together, as Mermaid's text or as SVG.

`flows` and `overview` draw boxes and lines, `flags` says at which of them findings are. `mermaid` writes that down and
leaves it to others to lay it out; `svg` does so itself, by `layers`, `mesh`, `order`, `columns` and `layout`.
"""

from bot.checker.drawing.finding_index import FindingIndex
from bot.checker.drawing.flow_drawing import draw_bot, draw_flow
from bot.checker.drawing.mermaid import mermaid
from bot.checker.drawing.svg import svg

__all__ = ["FindingIndex", "draw_bot", "draw_flow", "mermaid", "svg"]
