"""Drawings of one flow, or of how the flows of a bot are connected, as Mermaid text or as SVG.

`flow_drawing` makes boxes and lines (`drawing_model`), and finds which findings belong to which box. `mermaid`
writes them as text that other programs lay out. `svg` lays them out itself, with `layered_graph` and `layout`.
"""

from bot.checker.drawing.flow_drawing import FindingIndex, draw_bot, draw_flow
from bot.checker.drawing.mermaid import mermaid
from bot.checker.drawing.svg import svg

__all__ = ["FindingIndex", "draw_bot", "draw_flow", "mermaid", "svg"]
