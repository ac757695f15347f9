"""``knowledge`` of AI steps: documents in a folder, the passages of them that a question is about, and citations."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import TEXT_BODY, Message, TextMessage, clip
from bot.core.text import head
from bot.language.answers.passages import Passage, PassageIndex
from bot.language.keys.declared_keys import BOOLEAN, STRING, STRINGS, Form, KeySet, KeySpec, as_fields, word_or
from bot.language.keys.fields import Fields
from bot.language.keys.key_schemas import ANY_TEXT, list_of
from bot.language.source.languages import wording
from bot.language.source.problems import Problems, did_you_mean
from bot.language.source.yaml_tree import Node, one_or_more
from bot.language.steps.output_guard import addresses_in, as_data, one_line

MOST_TOKENS = 1500  # of the passages in a prompt
MOST_FILES = 200
MOST_PASSAGES = 2000
MOST_PASSAGE = 1500  # characters of a passage, with its headings
MOST_TITLES = 4000  # characters of all headings, which tell a model what can be searched
_TITLE = 60  # characters
_PASSAGES = "From our documents, for the contact's question:"
_CITED = f"{_PASSAGES[:-1]}. Behind what you take from one of them write its number, like [1]."
CITATION = lazy_pattern(r"(?<![ \t])[ \t]*[\[【]\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*[\]】]")
"""Numbers of passages, ``[1]`` or ``[1, 2]``. In a later turn they mean others."""
_ASKED = lazy_pattern(r"\s*\[(\d{1,3})\]\s*")
_FOLDER = KeySpec(
    "folder", STRING, "The folder beside the file that has the documents: .md, .txt, .pdf, .docx.", required=True
)
_CITE = KeySpec("cite", BOOLEAN, "Whether the model names the passages that it answers from, as [1]; false by default.")
_REWRITE = KeySpec(
    "rewrite", BOOLEAN, "Whether a model first writes what is to be searched for, in other words; false by default."
)


def _groups(node: Node, problems: Problems, what: str) -> tuple[tuple[str, ...], ...]:
    """Lists of words that mean the same."""
    groups = tuple(STRINGS.read(each, problems, what) for each in one_or_more(node))
    for alone in (group[0] for group in groups if len(group) == 1):
        fix = "write lists of words that mean the same: [[dog, pet], [refund, money back]]"
        problems.add("E105", node.mark, f'{what}: nothing means the same as "{alone}"', fix)
    return groups


_SYNONYMS = KeySpec(
    "synonyms",
    Form(list_of(list_of(ANY_TEXT)), _groups, absent=()),
    "Words that mean the same, a list for each meaning.",
)
KNOWLEDGE = KeySpec(
    "knowledge",
    word_or("none", as_fields(KeySet(_FOLDER, _CITE, _REWRITE, _SYNONYMS), "{folder: policies/}")),
    "Documents that are searched for what the contact writes; none: not those of bot.yml either.",
)


class UnreadableDocument(BotError):
    """The text of a document cannot be read: what is wrong with it, and what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


class CitingTurn(Protocol):
    """A turn with a model: what is searched for, the passages given, and the numbers of the cited ones."""

    given: list[str]
    cited: list[int]

    @property
    def searched_for(self) -> list[str]:
        """The question, and what came before, the newest first."""
        ...


@immutable
class Knowledge:
    """Searched documents with their headings (``titles``). Addresses and accounts in them (``links``) may be sent."""

    folder: str
    index: PassageIndex
    titles: str
    links: frozenset[str]
    cite: bool
    rewrite: bool

    def find(self, exchange: CitingTurn) -> list[tuple[int, Passage]]:
        """The passages for the question of this turn, each with the number by which the model cites it."""
        found = self.index.search(exchange.searched_for, MOST_TOKENS)
        exchange.given += [each.id for each in found if each.id not in exchange.given]
        return [(exchange.given.index(each.id) + 1, each) for each in found]

    def told(self, exchange: CitingTurn) -> list[str]:
        """The passages for the question of this turn, as they stand in the prompt."""
        found = [f"[{number}] {_line(each)}" if self.cite else _line(each) for number, each in self.find(exchange)]
        return ["\n".join([_CITED if self.cite else _PASSAGES, *found])] if found else []

    def given(self, exchange: CitingTurn) -> list[str]:
        """The passages that the model was given at this step, with their headings."""
        found = (self.index.get(name) for name in exchange.given)
        return ["\n".join((*each.headings, each.text)) for each in found if each is not None]

    def note(self, exchange: CitingTurn) -> str:
        """Return what was found in this turn, for the trace."""
        numbered = ((number, self._cited(number, exchange)) for number in range(1, len(exchange.given) + 1))
        found = [f"[{number}] {each.id} ({_source(each, {})})" for number, each in numbered if each is not None]
        return f"found in {self.folder}: {', '.join(found) or 'nothing'}"

    def with_citations(self, text: str, exchange: CitingTurn) -> str:
        """A text of the model's without citations of what it was not given. The others are noted."""
        return CITATION.sub(lambda found: self._given(found[0], exchange), text) if self.cite else text

    def _given(self, citation: str, exchange: CitingTurn) -> str:
        given = [number for number in map(int, re.findall(r"\d+", citation)) if self._cited(number, exchange)]
        exchange.cited += [number for number in dict.fromkeys(given) if number not in exchange.cited]
        return "".join([*(" " if given and citation[0] in " \t" else ""), *(f"[{number}]" for number in given)])

    def _sources(self, scope: Mapping[str, Any], exchange: CitingTurn) -> str:
        """A line for each passage that was cited in this turn: ``[1] Returns, page 3``."""
        cited = ((number, self._cited(number, exchange)) for number in sorted(exchange.cited))
        return "\n".join(f"[{number}] {_source(passage, scope)}" for number, passage in cited if passage is not None)

    def with_sources(
        self, said: tuple[Message, ...], scope: Mapping[str, Any], exchange: CitingTurn
    ) -> tuple[Message, ...]:
        """The last messages of an answer, with the sources that it cites below them."""
        sources = self._sources(scope, exchange)
        if not sources:
            return said
        if said and isinstance(said[-1], TextMessage) and len(said[-1].body) + len(sources) + 2 <= TEXT_BODY:
            return (*said[:-1], TextMessage(f"{said[-1].body}\n\n{sources}"))
        return (*said, TextMessage(clip(sources, TEXT_BODY)))

    def asked_for(self, text: str | None, scope: Mapping[str, Any], exchange: CitingTurn) -> str | None:
        """The passage that the contact asks for by ``[1]``, after an answer that cites it; None if they do not."""
        asked = _ASKED.fullmatch(text or "")
        number = int(asked[1]) if asked is not None else 0
        passage = self._cited(number, exchange) if number in exchange.cited else None
        return None if passage is None else clip(f"{_source(passage, scope)}\n\n{passage.text}", TEXT_BODY)

    def _cited(self, number: int, exchange: CitingTurn) -> Passage | None:
        name = exchange.given[number - 1] if 1 <= number <= len(exchange.given) else ""
        return self.index.get(name)


def _line(passage: Passage) -> str:
    """A passage as one line: ``⟦returns.pdf, page 3, Returns: Within 30 days.⟧``."""
    place = [passage.file.rpartition("/")[2], *([f"page {passage.page}"] if passage.page else ()), *passage.headings]
    return as_data(one_line(f"{', '.join(place)}: {passage.text}", MOST_PASSAGE))


def _source(passage: Passage, scope: Mapping[str, Any]) -> str:
    title = head(" ".join(passage.title.split()), _TITLE)
    return f"{title}, {wording(scope, 'page', value=str(passage.page))}" if passage.page else title


def read_knowledge(fields: Fields, documents: Mapping[str, str], inherited: Knowledge | None) -> Knowledge | None:
    """Read `knowledge`, and all documents in its folder. None if there is nothing to search."""
    if not KNOWLEDGE.written(fields):
        return inherited
    own = KNOWLEDGE.read(fields)
    if not isinstance(own, Fields):
        return None
    folder, cite, rewrite, synonyms = _FOLDER.read(own), _CITE.read(own), _REWRITE.read(own), _SYNONYMS.read(own)
    if folder is None:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(fields.mark.path), folder))
    below = "" if path == "." else f"{path}/"
    names = sorted(name for name in documents if name.startswith(below))
    if not names:
        beside = posixpath.dirname(fields.mark.path) or "."
        folders = {posixpath.dirname(name) for name in documents} - {""}
        others = sorted(f"{posixpath.relpath(each, beside)}/" for each in folders)
        fix = did_you_mean(folder, others, "put .md, .txt, .pdf or .docx files there")
        _FOLDER.report(own, "E113", f'no documents in "{below}"', fix)
        return None
    if len(names) > MOST_FILES:
        what = f'{len(names)} documents in "{below}", {MOST_FILES} are possible'
        _FOLDER.report(own, "E402", what, "put those together that belong together")
        return None
    texts = tuple(_texts(own, names, documents))
    index, links = _index(texts, synonyms)
    if len(index.passages) > MOST_PASSAGES:
        what = f'{len(index.passages):,} passages in "{below}", {MOST_PASSAGES:,} are possible'
        _FOLDER.report(own, "E402", what, "leave out what no contact asks for, or give each flow a folder of its own")
        return None
    titles = head("; ".join(dict.fromkeys(passage.title for passage in index.passages)), MOST_TITLES)
    return Knowledge(below, index, titles, links, cite, rewrite)


def _texts(own: Fields, names: Sequence[str], documents: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The documents that can be read, with their texts; the others are problems."""
    for name in names:
        try:
            text = documents[name]
        except UnreadableDocument as error:
            _FOLDER.report(own, "E001", f'the file "{name}" {error}', error.fix)
            continue
        if (found := unfit_text(name, text)) is not None:
            _FOLDER.report(own, *found)
        else:
            yield name, text


@lru_cache(maxsize=8)
def _index(
    texts: tuple[tuple[str, str], ...], synonyms: tuple[tuple[str, ...], ...]
) -> tuple[PassageIndex, frozenset[str]]:
    """The index of some documents, and the addresses and accounts in them: made once for all languages and reloads."""
    return PassageIndex(texts, synonyms), frozenset().union(*(addresses_in(text) for _, text in texts))


UNREADABLE = "\ufffd"  # stands in a document for bytes that are no text


def unfit_text(name: str, text: str) -> tuple[str, str, str] | None:
    """The problem of a document that has no text to tell a model; None if it has."""
    if not text.strip():
        if name.endswith(".pdf"):
            fix = "have its text recognised, or leave it out"
            return "E105", f'the file "{name}" has no text: its pages are pictures', fix
        return "E105", f'the file "{name}" is empty', "write the facts into it, or leave it out"
    if UNREADABLE in text and name.endswith((".md", ".txt")):
        return "E001", f'the file "{name}" is not UTF-8', "save the file as UTF-8"
    return None
