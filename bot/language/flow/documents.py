"""The YAML documents of a bot's folder, sorted by what they are, and the texts of its other documents."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from bot.core.immutable import immutable, mutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.problems import CODES, Problems
from bot.language.source.yaml_tree import Map, Node, read

BOT_FILE = "bot.yml"
LOCALES = "locales"
"""The folder with a file for each further language."""
FILES = "files/"
"""The folder with the files of the bot's own, which steps can send, as their paths begin."""
_LOCALE = lazy_pattern(rf"{LOCALES}/([^/]+)\.ya?ml")
UNREAD = (*(code for code in CODES if code < "E100"), "E101")  # problems of files of which something is not read


@immutable
class Source:
    """A file of a bot: its path relative to the bot's folder, and its text as it is on the disk."""

    path: str
    text: bytes


def plain_text(source: Source) -> str:
    """The text of a file in UTF-8."""
    return source.text.decode("utf-8", "replace")


class DocumentTexts(Mapping[str, str]):
    """The texts of files by path, each read when it is asked for."""

    def __init__(self, sources: Iterable[Source], text_of: Callable[[Source], str]) -> None:
        self.sources = tuple(sources)
        self._by_path = {source.path: source for source in self.sources}
        self._text_of = text_of

    def __getitem__(self, path: str) -> str:
        return self._text_of(self._by_path[path])

    def __contains__(self, path: object) -> bool:
        return path in self._by_path

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_path)

    def __len__(self) -> int:
        return len(self._by_path)


@mutable
class Documents:
    """All documents of a bot's folder, in the order of the files."""

    bots: list[Map] = field(default_factory=list)
    flows: list[Map] = field(default_factory=list)
    tests: list[Map] = field(default_factory=list)  # and evaluations
    locales: dict[str, Map] = field(default_factory=dict)  # by language


FileReader = Callable[[Source, re.Pattern[str], Problems], tuple[Node, ...]]
"""Reads the documents of a file. Those that begin with the pattern are read as far as possible."""


def read_file(source: Source, partly: re.Pattern[str], problems: Problems) -> tuple[Node, ...]:
    """Read the documents of a file."""
    return read(source.path, source.text, problems, partly)


def read_documents(sources: Iterable[Source], problems: Problems, documents_of: FileReader = read_file) -> Documents:
    """Read every file; a document of another sort is a problem.

    Files with an unread part that others depend on are `Problems.unread` and `Problems.undeclared`.
    """
    documents = Documents()
    for source in sources:
        for node in documents_of(source, _BOT if source.path == BOT_FILE else _FLOW, problems):
            _sort_in(documents, source.path, node, problems)
    for (path, _), keys in problems.emptied.items():
        if path == BOT_FILE or not _is_confined(keys):
            (problems.undeclared if keys[0] in _DECLARED and path != BOT_FILE else problems.unread).add(path)
    problems.unread |= problems.paths(("E101",))
    return documents


_BOT = lazy_pattern("")  # whatever it says
_FIRST = ("flow", "test", "evaluate")
_FLOW = lazy_pattern(r"(?:---[^\n]*\n)?(?:\s*(?:#[^\n]*)?\n)*flow\s*:")


_ALONE = ("about", "start", "interrupted", "slots", "words")
"""Keys of a flow to which nothing elsewhere refers."""
_DECLARED = ("vars", "define", "defaults")
"""Keys of a flow with what its steps refer to."""
_NAMED = ("steps", "vars")
"""Keys of a flow below which something has a name, which is all that the rest of the bot must know of it."""


def _is_confined(keys: tuple[str, str]) -> bool:
    """True if nothing else in the bot can depend on what was not read under a key of a flow."""
    key, below = keys
    return key in _ALONE or (key in ("", *_NAMED) and bool(below))


def _sort_in(documents: Documents, path: str, node: Node, problems: Problems) -> None:
    if path == BOT_FILE and isinstance(node, Map):
        documents.bots.append(node)
        return
    if (language := language_of(path)) is not None:
        _sort_in_locale(documents, language, node, problems)
        return
    first = node.entries[0][0].text if isinstance(node, Map) and node.entries else ""
    if isinstance(node, Map) and first == "flow":
        documents.flows.append(node)
    elif isinstance(node, Map) and first in _FIRST:
        documents.tests.append(node)
    else:
        what = f'this document begins with "{first}"' if first else "this document is no map of keys"
        fix = 'begin it with "flow: name", "test: what it shows" or "evaluate: what it shows"'
        if path == BOT_FILE:
            fix = "begin it with the bot's name: name: My bot"
        elif first.lower() in _FIRST:
            fix = f'write "{first.lower()}" in small letters'
        problems.add("E101", node.mark, what, fix)


def language_of(path: str) -> str | None:
    """The language of a file that is a locale, by its path; None for any other file."""
    found = _LOCALE.fullmatch(path)
    return None if found is None else found[1]


def _sort_in_locale(documents: Documents, language: str, node: Node, problems: Problems) -> None:
    if not isinstance(node, Map):
        fix = "write flow: {step: {key: text}}; `bot locales extract` makes the file"
        problems.add("E101", node.mark, "this locale is no map of keys", fix)
    elif language in documents.locales:
        first = documents.locales[language].mark
        what = f"a second locale for {language}, the first is at {first.path}:{first.line}"
        problems.add("E114", node.mark, what, "put them into one document")
    else:
        documents.locales[language] = node
