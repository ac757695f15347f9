"""A text in its pieces: what is written out, and the values between it, so that each value can be quoted by itself."""

from jinja2 import Environment

from bot.lang.nodes import Mark
from bot.lang.problems import Problems
from bot.lang.templates import Template, compile_template

Pieces = tuple[str | Template, ...]

_LEXER = Environment()


def pieces_of(source: str, mark: Mark, problems: Problems) -> Pieces | None:
    """Take a text with ``{{ }}`` apart. What is wrong with it becomes a problem, and None stands in."""
    if compile_template(source, mark, problems).source != source:
        return None  # it has problems, and an empty text stands in
    pieces: list[str | Template] = []
    inside: list[str] = []
    for _, kind, text in _LEXER.lex(source):
        if kind == "data":
            pieces.append(text)
        elif kind in ("block_begin", "comment_begin"):
            problems.add("E203", mark, f"{text} is not available here", "keep to values in {{ }}")
            return None
        else:
            inside.append(text)
        if kind == "variable_end":
            pieces.append(compile_template("".join(inside), mark, problems))
            inside.clear()
    return tuple(pieces)
