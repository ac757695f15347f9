"""Passages of documents, and the search for those that a question is about.

No embeddings are used: the API has none, and a turn with its prompt can be replayed.
"""

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import takewhile

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import estimate, head
from bot.language.answers.near_words import near_words
from bot.language.answers.stems import common, filling, language_of, stems, stems_in, words
from bot.language.source.word_matching import folded, load_slips, slips_of

PASSAGE = 800  # characters, about
PAGE_BREAK = "\f"
_MOST_WORDS = 64  # of a question ...
_LOOKED_AT = 4000  # ... and its characters
_EARLIER = 0.3  # the weight of what was asked before
_WORTH = 0.15  # passages below this share of the best one's score do not count
_MOST_OF_PHRASE = 4  # words
_IN_HEADING = 3  # a word of the heading counts so often
_SATURATION, _BY_LENGTH = 1.2, 0.75  # of BM25
_SYNONYM, _NEAR, _SLIP, _PART = 0.8, 0.5, 0.8, 0.4  # the weights of words that are not the one of the question
_COMMON = 0.5  # the weight of a word as "come", although few passages have it
_FEWEST = 3  # letters with which another word may begin
_FEWEST_OF_KNOWN = 4  # ... if both stand in the documents
_MOST_ALIKE = 20  # words that another one may stand for
_COMPOUNDS = ("de", "nl")  # languages that write several words as one
_MOST_FOUND = 50
_HEADING = lazy_pattern(r"(#{1,6})\s")


_Matches = Mapping[int, float]
"""How well passages match, by their numbers."""


@immutable
class Passage:
    """A part of a document: the number of its place there, its page (0 if the document has none), and its headings."""

    file: str
    number: int
    page: int
    headings: tuple[str, ...]
    text: str

    @property
    def id(self) -> str:
        """A name for it in its bot."""
        return f"{self.file}#{self.number}"

    @property
    def title(self) -> str:
        """The name for readers: its heading, else the name of the file."""
        stem = self.file.rpartition("/")[2].rpartition(".")[0]
        return self.headings[-1] if self.headings else re.sub(r"[_-]+", " ", stem)


def cut(file: str, text: str) -> Iterator[Passage]:
    """The passages of a document: its paragraphs, short ones together and long ones cut, each below its headings."""
    pages, number, headings = text.split(PAGE_BREAK), 0, tuple[str, ...]()
    for page, content in enumerate(pages, 1):
        body, above = "", 0  # the level of a heading that has no text yet
        for block in [*_blocks(content), ""]:
            level = _level(block)
            is_full = len(body) + len(block) > PASSAGE
            if (body and (level or not block or is_full)) or (above and (not block or 0 < level <= above)):
                number += 1
                yield Passage(file, number, page if len(pages) > 1 else 0, headings, body)
                body = ""
            above = 0
            if level:
                heading, _, block = block.partition("\n")
                headings = (*headings[: level - 1], heading.lstrip("#").strip())
                above = 0 if block.strip() else level
            body = f"{body}\n\n{block}".strip()


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
        if paragraph.strip():
            yield paragraph.strip()


class PassageIndex:
    """Passages that can be searched (BM25, by the stems of words). It never changes."""

    def __init__(self, documents: Iterable[tuple[str, str]], synonyms: Iterable[Sequence[str]] = ()) -> None:
        load_slips()
        spoken = [(language_of(text), list(cut(file, text))) for file, text in documents]
        self.passages = tuple(passage for _, found in spoken for passage in found)
        self.languages = tuple(dict.fromkeys(language for language, _ in spoken))
        self._filling = frozenset().union(*map(filling, self.languages))
        self._common = frozenset().union(*map(common, self.languages))
        known: dict[str, dict[str, tuple[str, ...]]] = {language: {} for language in self.languages}
        self._weights = _weights(
            [_counts(passage, language, known[language]) for language, found in spoken for passage in found]
        )
        self._vocabulary = _Vocabulary({folded(word) for each in known.values() for word in each})
        near = (group for language in self.languages for group in near_words(language))
        self._meanings: dict[str, list[_Matches]] = defaultdict(list)
        for group, weight in ((synonyms, _SYNONYM), (near, _NEAR)):
            self._add_meanings(group, weight)
        self._ids = {passage.id: passage for passage in self.passages}

    def get(self, name: str) -> Passage | None:
        """The passage with this id; None if it is not there any more."""
        return self._ids.get(name)

    def search(self, texts: Sequence[str], most_tokens: int) -> list[Passage]:
        """The passages that match a question, the best first, within so many (estimated) tokens.

        The first text is the question, the others are what came before, the newest first. Any text can be one.
        """
        scores: dict[int, float] = defaultdict(float)
        for place, text in enumerate(texts):
            share = _EARLIER**place
            for matches in self._matches(text[:_LOOKED_AT]):
                for number, score in matches.items():
                    scores[number] += share * score
        least = _WORTH * max(scores.values(), default=0.0)
        worth = ((score, -number) for number, score in scores.items() if score >= least)
        found: list[Passage] = []
        for _, place in nlargest(_MOST_FOUND, worth):
            most_tokens -= estimate(_whole(self.passages[-place]))
            if most_tokens < 0:
                break
            found.append(self.passages[-place])
        return found

    def _matches(self, text: str) -> Iterator[_Matches]:
        """For each word of a text that counts, and each meaning of it, how well it matches which passages."""
        for word in list(dict.fromkeys(words(text)))[:_MOST_WORDS]:
            if folded(word) not in self._filling:
                yield self._best_of(self._alike(word))
        stemmed = self._stemmed(text)
        starts = (
            (start, end) for start in range(len(stemmed)) for end in range(start + 1, start + _MOST_OF_PHRASE + 1)
        )
        pieces = (" ".join(stemmed[start:end]) for start, end in starts)
        meant = {id(matches): matches for piece in pieces for matches in self._meanings.get(piece, ())}
        yield from meant.values()

    def _best_of(self, meant: Mapping[str, float]) -> _Matches:
        """How well passages match the best of some stems, which have weights."""
        best: dict[int, float] = {}
        for stem, weight in meant.items():
            for number, score in self._weights.get(stem, {}).items():
                if weight * score > best.get(number, 0.0):
                    best[number] = weight * score
        return best

    def _alike(self, word: str) -> dict[str, float]:
        own = dict.fromkeys(stems_in(word, self.languages), _COMMON if folded(word) in self._common else 1.0)
        known = any(stem in self._weights for stem in own)
        like = self._vocabulary.like(folded(word), known=known, compounds=not {*_COMPOUNDS}.isdisjoint(self.languages))
        return {**{stem: each for other, each in like.items() for stem in stems_in(other, self.languages)}, **own}

    def _add_meanings(self, groups: Iterable[Sequence[str]], weight: float) -> None:
        """Note how well each group of words that stand for each other matches which passages."""
        for group in groups:
            counted = (word for each in group for word in words(each) if folded(word) not in self._filling)
            matches = self._best_of({stem: weight for word in counted for stem in stems_in(word, self.languages)})
            for phrase in dict.fromkeys(" ".join(self._stemmed(each)) for each in group if matches):
                self._meanings[phrase].append(matches)

    def _stemmed(self, text: str) -> list[str]:
        return [stems_in(word, self.languages)[-1] for word in words(text)[:_MOST_WORDS]]


class _Vocabulary:
    """All words of some documents."""

    def __init__(self, known: Iterable[str]) -> None:
        self._words = sorted(known)
        self._reversed = sorted(word[::-1] for word in self._words)
        self._like = defaultdict[tuple[str, int], list[str]](list)
        for word in self._words:
            self._like[word[:1], len(word)].append(word)

    def like(self, word: str, *, known: bool, compounds: bool) -> dict[str, float]:
        """The words that one may stand for: they begin alike, one is a part of the other, or it has a slip.

        If it is ``known`` itself, they must have much in common.
        """
        found: dict[str, float] = {}
        if len(word) >= (_FEWEST_OF_KNOWN if known else _FEWEST):
            start = word[: max(_FEWEST_OF_KNOWN, len(word) * 2 // 3)]
            found |= dict.fromkeys(_beginning(self._words, start), _PART)
        if len(word) > _FEWEST and (compounds or not known):
            found |= {other[::-1]: _PART for other in _beginning(self._reversed, word[::-1])}
            for place in range(_FEWEST + 1, len(word) - _FEWEST):
                found |= {part: _PART for part in (word[:place], word[place:]) if part in self}
        if not known:
            near = [other for size in (-1, 0, 1) for other in self._like.get((word[:1], len(word) + size), ())]
            found |= dict.fromkeys(slips_of(word, near), _SLIP)
        return found

    def __contains__(self, word: str) -> bool:
        place = bisect_left(self._words, word)
        return place < len(self._words) and self._words[place] == word


def _beginning(known: Sequence[str], start: str) -> Iterable[str]:
    first = bisect_left(known, start)
    return takewhile(lambda word: word.startswith(start), known[first : first + _MOST_ALIKE])


def _whole(passage: Passage) -> str:
    return "\n".join([*passage.headings, passage.text])


def _counts(passage: Passage, language: str, known: dict[str, tuple[str, ...]]) -> Counter[str]:
    """How often each stem is in a passage. ``known`` has the stems of each word so far; those that fill have none."""
    found: Counter[str] = Counter()
    texts = (
        (passage.text, 1),
        *((heading, 1) for heading in passage.headings),
        *((each, _IN_HEADING - 1) for each in passage.headings[-1:]),
    )
    for text, times in texts:
        for word in words(text):
            if word not in known:
                known[word] = () if folded(word) in filling(language) else stems(word, language)
            for stem in known[word]:
                found[stem] += times
    return found


def _weights(counts: Sequence[Counter[str]]) -> Mapping[str, Mapping[int, float]]:
    """For each stem, what it adds to the score of each passage that has it."""
    having: dict[str, dict[int, float]] = defaultdict(dict)
    usual = sum(count.total() for count in counts) / max(len(counts), 1)
    for number, count in enumerate(counts):
        size = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * count.total() / usual)
        for stem, times in count.items():
            having[stem][number] = times / (times + size)
    for stem, found in having.items():
        rare = math.log(1 + (len(counts) - len(found) + 0.5) / (len(found) + 0.5))
        having[stem] = {number: rare * weight for number, weight in found.items()}
    return having
