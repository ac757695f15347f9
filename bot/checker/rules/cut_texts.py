"""W003: texts that YAML cuts at a ``#``: what follows looks like a part of the text, and is a comment."""

import re
from collections.abc import Iterable, Iterator

from bot.checker.findings import Finding
from bot.flow.definition import uses_of_bot, uses_of_flow
from bot.flow.documents import Source
from bot.flow.library import Library
from bot.lang.comments import Comment, comments
from bot.lang.templates import Template

_PERHAPS = re.compile(rb"[ \t]#(?:[^\s#]| ?\d)")  # most files have none, and need not be parsed again
_LIKE_TEXT = re.compile(r"#(?!allow\s)[^\s#!]|# \d+\W*$")  # #5, #offer, # 5; comments have a space, and words
_Line = tuple[str, int]


def find_cut_texts(library: Library, sources: Iterable[Source]) -> Iterator[Finding]:
    """Texts without quotes behind which stands a comment that begins like a number or a hashtag."""
    texts: dict[_Line, list[Template]] = {}
    for text in _texts(library):
        texts.setdefault((text.mark.path, text.mark.line), []).append(text)
    for source in sources:
        if _PERHAPS.search(source.text):
            written = source.text.decode("utf-8-sig")
            lines = written.splitlines()
            for comment in comments(source.path, written):
                before = lines[comment.mark.line - 1][: comment.mark.column - 1]
                if _LIKE_TEXT.match(comment.text):
                    yield from _cut(comment, before, texts.get((source.path, comment.mark.line), ()))


def _cut(comment: Comment, before: str, texts: Iterable[Template]) -> Iterator[Finding]:
    for text in texts:
        if before[text.mark.column - 1 :].rstrip() == text.source:
            what = f'"{text.source}" ends here: "{comment.text}" is a comment to YAML'
            fix = "put the whole text in quotes; if it is a comment, begin it with # and a space"
            yield Finding.at("W003", comment.mark, what, fix)
            return


def _texts(library: Library) -> Iterator[Template]:
    """All texts that are said, in every language."""
    for spoken in (library, *library.translations.values()):
        uses = (*uses_of_bot(spoken.bot), *(used for flow in spoken.flows.values() for used in uses_of_flow(flow)))
        for used in uses:
            if isinstance(used.text, Template):
                yield from used.text.wordings
