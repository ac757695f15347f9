"""A bot as a graph: every step of every flow, and an edge for each way in which a conversation gets from one to another.

It says more than can happen, never less: what depends on values may be the case. An edge leads within a frame; what
opens frames (starts, plans, `run`, interruptions) are roots.
"""

from bot.checker.graph.bot_graph import Graph, Opening, Root
from bot.checker.graph.edges import AFTER_RUN, Cause, Edge, Place

__all__ = ["AFTER_RUN", "Cause", "Edge", "Graph", "Opening", "Place", "Root"]
