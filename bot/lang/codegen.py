"""How a template becomes Python: what Jinja2 writes, but for how values are treated and what is counted."""

from typing import Any

from jinja2 import nodes
from jinja2.compiler import operators
from jinja2.nativetypes import NativeCodeGenerator

from bot.lang import text_filters
from bot.lang.effort import WRITTEN


class Generator(NativeCodeGenerator):
    """Keeps values as they are until they are shown; numbers with a point are decimals; what loops do is counted."""

    _loops = 0

    def _output_child_to_const(self, node: nodes.Expr, frame: Any, finalize: Any) -> str:
        if isinstance(node, nodes.TemplateData):
            return node.data
        raise nodes.Impossible

    def visit_Const(self, node: nodes.Const, frame: Any) -> None:
        """A number with a point is a decimal."""
        if isinstance(node.value, float):
            self.write(f"environment.decimal({str(node.value)!r})")
        else:
            super().visit_Const(node, frame)

    def visit_List(self, node: nodes.List, frame: Any) -> None:
        """Every item has to be there."""
        self._visit_items("[", node.items, "]", frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Any) -> None:
        """Every item has to be there."""
        if node.ctx == "load":
            self._visit_items("(", node.items, ")", frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Any) -> None:
        """Every name and every value has to be there."""
        self.write("dict(zip(")
        self._visit_items("(", [pair.key for pair in node.items], "), ", frame)
        self._visit_items("(", [pair.value for pair in node.items], ")))", frame)

    def _visit_items(self, opening: str, items: list[nodes.Expr], closing: str, frame: Any) -> None:
        """A list of values, each of which has to be there."""
        self.write(opening)
        for item in items:
            self.write("environment.there(")
            self.visit(item, frame)
            self.write("), ")
        self.write(closing)

    def visit_Concat(self, node: nodes.Concat, frame: Any) -> None:
        """``a ~ b``, as texts that contacts read."""
        self.write("context.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_For(self, node: nodes.For, frame: Any) -> None:
        """What is in a loop is counted."""
        self._loops += 1
        super().visit_For(node, frame)
        self._loops -= 1

    def visit_Compare(self, node: nodes.Compare, frame: Any) -> None:
        """``a in b``, ``a == b``."""
        visit = self.visit if _is_quick(node) else self._visit_counted
        self.write("(")
        visit(node.expr, frame)
        for operand in node.ops:
            self.write(f" {operators[operand.op]} ")
            visit(operand.expr, frame)
        self.write(")")

    def visit_Filter(self, node: nodes.Filter, frame: Any) -> None:
        """``a | f``: filters for texts go through all of it; others take a single value, or count what they go through."""
        assert node.node is not None  # there are no filter blocks
        with self._filter_test_common(node, frame, True):
            if node.name in text_filters.FILTERS:
                self._visit_counted(node.node, frame, WRITTEN)
            else:
                self.visit(node.node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Any) -> None:
        """``a[1:]`` is a copy."""
        is_copy = self._loops and isinstance(node.arg, nodes.Slice)
        self.write("context.counted(" if is_copy else "")
        super().visit_Getitem(node, frame)
        self.write(")" if is_copy else "")

    def _visit_counted(self, node: nodes.Expr, frame: Any, times: int = 1) -> None:
        """A value that is gone through: in a loop, that is counted each time."""
        if self._loops and not _is_written_out(node):
            self.write("context.counted(")
            self.visit(node, frame)
            self.write(f", {times})")
        else:
            self.visit(node, frame)


def _is_quick(node: nodes.Compare) -> bool:
    """Whether something is held against one value that is written out, which takes no longer for a large one."""
    first, (operand, *more) = node.expr, node.ops
    written_out = isinstance(first, nodes.Const) or isinstance(operand.expr, nodes.Const)
    return written_out and not more and operand.op not in ("in", "notin")


def _is_written_out(node: nodes.Expr) -> bool:
    items = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    return all(isinstance(item, nodes.Const) for item in items)
