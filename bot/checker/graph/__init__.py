"""A bot as a graph: every step of every flow, and an edge for each transition from one step to another.

It has more edges than a conversation can take, never fewer: an edge that depends on values counts as possible. An edge
stays within a frame. Openings of frames (starts, plans, `run`, interruptions) are roots.
"""

from bot.checker.graph.bot_graph import Graph, Opening, Root
from bot.checker.graph.edges import AFTER_RUN, Cause, Edge, StepId

__all__ = ["AFTER_RUN", "Cause", "Edge", "Graph", "Opening", "Root", "StepId"]
