"""Documents with facts for a model, cut into passages, and the search for the passages that match a question."""

import re
import sqlite3
import threading
import unicodedata
import weakref
from collections.abc import Iterator, Mapping, Sequence

from bot.core.text import estimate, head

PASSAGE = 800  # characters, about
_MOST_WORDS = 64  # of a question
_STEM = 4  # the first characters of a word always count; of a long word two thirds do
_WORTH = 0.2  # passages below this share of the best one's score do not count
_OF_WORDS = "LNM"  # letters, numbers, marks: as the table's

_TABLE = """
    CREATE VIRTUAL TABLE passages USING fts5(
        words, document UNINDEXED, passage UNINDEXED,
        tokenize = "unicode61 remove_diacritics 2 categories 'L* N* M*'"
    )
"""
_ADD = "INSERT INTO passages (words, document, passage) VALUES (?, ?, ?)"
_MATCHING = """
    SELECT rowid, document, passage, -bm25(passages) AS score FROM passages
    WHERE passages MATCH ? ORDER BY score DESC, rowid
"""
_HEADING = re.compile(r"(#{1,6})\s")
_UNSPACED = r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
"""Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana and Chinese characters."""


class FactIndex:
    """Documents by name, searched in memory. The index never changes, so any thread may search."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._documents = {name: document.strip() for name, document in documents.items()}
        self._tokens = {name: estimate(document) for name, document in self._documents.items()}
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._connection.close)  # a search may still use documents that were replaced
        self._connection.execute(_TABLE)
        for name, document in self._documents.items():
            rows = ((_spaced(passage), name, passage) for passage in passages(document))
            self._connection.executemany(_ADD, rows)

    def search(self, names: Sequence[str], query: str, most_tokens: int) -> list[str]:
        """The passages of the named documents that match a text, in their order, within so many (estimated) tokens.

        Documents that fit in full are returned in full. Any text can be a query.
        """
        known = [name for name in names if name in self._documents]
        if sum(self._tokens[name] for name in known) <= most_tokens:
            return [self._documents[name] for name in known if self._documents[name]]
        chosen = {}
        for rowid, document, passage in self._matching(query, known):
            most_tokens -= estimate(passage)
            if most_tokens < 0:
                break
            chosen[known.index(document), rowid] = passage
        return [chosen[place] for place in sorted(chosen)]

    def _matching(self, query: str, names: Sequence[str]) -> list[tuple[int, str, str]]:
        """The passages that match a query well enough, the best first."""
        match = _match_of(query)
        if not match:
            return []
        with self._lock:
            rows = self._connection.execute(_MATCHING, (match,)).fetchall()
        rows = [row for row in rows if row[1] in names]
        return [(rowid, name, passage) for rowid, name, passage, score in rows if score >= _WORTH * rows[0][3]]


def passages(document: str) -> Iterator[str]:
    """The passages of a document: its paragraphs, short ones together and long ones cut, each below its headings."""
    headings: list[str] = []
    body = ""
    for block in _blocks(document):
        level = _level(block)
        if (body or headings) if level else len(body) + len(block) > PASSAGE:
            yield "\n".join([*headings, body]).strip()
            body = ""
        if level:
            heading, _, block = block.partition("\n")
            headings = [*(above for above in headings if _level(above) < level), heading]
        body = f"{body}\n\n{block}".strip()
    if body or headings:
        yield "\n".join([*headings, body]).strip()


def _level(block: str) -> int:
    """The level of a heading; 0: the line is no heading."""
    heading = _HEADING.match(block)
    return len(heading[1]) if heading else 0


def _blocks(document: str) -> Iterator[str]:
    """The paragraphs. One that is longer than a passage is cut between lines, else between words, else anywhere."""
    for paragraph in re.split(r"\n\s*\n|\n(?=#{1,6}\s)", document.replace("\r\n", "\n").strip()):
        while len(paragraph) > PASSAGE:
            start = head(paragraph, PASSAGE)
            end = max(start.rfind("\n"), 0) or max(start.rfind(" "), 0) or len(start)
            yield paragraph[:end].strip()
            paragraph = paragraph[end:].strip()
        yield paragraph.strip()


def _spaced(text: str) -> str:
    return re.sub(_UNSPACED, r" \1 ", text)


def _match_of(query: str) -> str:
    """An FTS5 query for any of the words, with any endings. Empty if there are none."""
    bare = "".join(c if unicodedata.category(c)[0] in _OF_WORDS else " " for c in _spaced(query.lower()))
    words = list(dict.fromkeys(bare.split()))
    return " OR ".join(f'"{_stem(word)}"*' for word in words[:_MOST_WORDS])


def _stem(word: str) -> str:
    return word[: max(_STEM, len(word) * 2 // 3)]
