"""Keys of a map that nothing asked for: misspelt, out of place, or a part of a text that YAML has cut."""

from collections.abc import Collection, Iterable

from bot.lang.nodes import Map, Node, Scalar
from bot.lang.problems import Problems, did_you_mean


def refuse_left_over(left: Iterable[Scalar], node: Map, known: Collection[str], what: str, problems: Problems) -> None:
    """Complain of the keys of a map that are left over. ``known`` are the others that it may have."""
    in_braces = node.mark != node.entries[0][0].mark
    cut = False
    for key in left:
        if not _has_no_value(node.get(key.text)):
            fix = did_you_mean(key.text, known, f"known here: {', '.join(known)}")
            problems.add("E104", key.mark, f'{what}: unknown key "{key.text}"', fix)
        elif not in_braces:
            fix = "give it one, or indent the lines below it further"
            problems.add("E104", key.mark, f'{what}: "{key.text}" is a key without a value', fix)
        elif not cut:  # one text may have several commas
            cut = True
            fix = "if it belongs to a text with a comma, put that text in quotes"
            problems.add("E104", key.mark, f'{what}: "{key.text}" is a key without a value', fix)


def _has_no_value(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is None and not node.quoted
