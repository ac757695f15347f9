"""YAML documents, told apart by what they are: a bot, a flow or a test."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bot.lang.nodes import Map, Node
from bot.lang.problems import Problems, did_you_mean
from bot.lang.source import read

BOT_FILE = "bot.yml"
FIRST_KEYS = ("flow", "test")
LEFT_OUT = ("E001", "E002", "E003", "E004", "E101")  # problems of documents that are not read any further


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a bot: its path relative to the bot's folder, and its text as it is on the disk."""

    path: str
    text: bytes


@dataclass(slots=True)
class Documents:
    """All documents of a bot's folder, in the order of the files."""

    bots: list[Map] = field(default_factory=list)
    flows: list[Map] = field(default_factory=list)
    tests: list[Map] = field(default_factory=list)


def read_documents(sources: Iterable[Source], problems: Problems) -> Documents:
    """Read every file; a document that is none of the three is a problem."""
    documents = Documents()
    for source in sources:
        for node in read(source.path, source.text, problems):
            _sort_in(documents, source.path, node, problems)
    return documents


def _sort_in(documents: Documents, path: str, node: Node, problems: Problems) -> None:
    if path == BOT_FILE and isinstance(node, Map):
        documents.bots.append(node)
        return
    first = node.entries[0][0].text if isinstance(node, Map) and node.entries else ""
    if isinstance(node, Map) and first == "flow":
        documents.flows.append(node)
    elif isinstance(node, Map) and first == "test":
        documents.tests.append(node)
    else:
        fix = 'begin it with "flow: name" or "test: what it shows"'
        what = f'this document begins with "{first}"' if first else "this document is no map of keys"
        problems.add("E101", node.mark, what, did_you_mean(first, FIRST_KEYS, fix))
