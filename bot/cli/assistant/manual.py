"""The pages of the docs for an assistant: read by section, and searched."""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.text import head
from bot.language.answers.passages import PassageIndex
from bot.language.source.problems import did_you_mean

MOST_SHOWN = 5000  # characters of a page, in one answer
_MOST_OF_BLOCK = 2500  # characters of a paragraph or a table that is shown whole
_MOST_TOKENS = 1200  # of the passages that are found, estimated
_EXCERPT = 280  # characters of one
_OF_THE_PROJECT = ("architecture", "contributing", "decisions", "index", "performance", "security")
"""Pages for people who work on this project itself."""


class NoPage(BotError):
    """The docs have no such page, or the page no such section."""


@immutable
class PageSection:
    """A part of a page from one heading to the next; ``level`` 1 is the page's own. A long one is several."""

    level: int
    title: str
    text: str


class Manual:
    """The pages in a folder, by their paths without the ending: ``language/questions``."""

    def __init__(self, folder: Path) -> None:
        names = (page.relative_to(folder).with_suffix("").as_posix() for page in sorted(folder.rglob("*.md")))
        self._folder = folder
        self._pages = [name for name in names if name not in _OF_THE_PROJECT]

    def page(self, name: str, section: str) -> str:
        """A page, or a section with those below it; and the titles of its sections for which there is no room."""
        if not name:
            return "\n".join(f"{page}: {self._sections(page)[0].title}" for page in self._pages)
        name = name.removesuffix(".md")
        if name not in self._pages:
            raise NoPage(
                f'there is no page "{name}" ({did_you_mean(name, self._pages, "without a name, all are listed")})'
            )
        sections = self._sections(name)
        return _fitting(_below(sections, section) if section else sections)

    def search(self, words: str) -> str:
        """The passages that match best: the page, the section, and how the passage begins."""
        found = self._index.search([words], _MOST_TOKENS)
        if not found:
            raise NoPage("nothing is found: use other words")
        return "\n".join(f"{each.file} § {each.title}: {head(' '.join(each.text.split()), _EXCERPT)}" for each in found)

    @cached_property
    def _index(self) -> PassageIndex:
        return PassageIndex((name, self._text(name)) for name in self._pages)

    def _text(self, name: str) -> str:
        return (self._folder / f"{name}.md").read_text("utf-8")

    def _sections(self, name: str) -> list[PageSection]:
        return list(_cut(self._text(name)))


def _cut(text: str) -> Iterator[PageSection]:
    level, title, body = 1, "", list[str]()
    for block in _blocks(text):
        heading = re.match(r"(#+) (.*)", block)
        is_full = sum(map(len, body)) + len(block) > MOST_SHOWN
        if body and (heading or is_full):
            yield PageSection(level, title, "\n\n".join(body))
            body = []
            if not heading:
                title = _following(title)
        if heading:
            level, title = len(heading[1]), heading[2].replace("`", "")
        body.append(block)
    yield PageSection(level, title, "\n\n".join(body))


def _following(title: str) -> str:
    """The title of the part behind a part: ``Choices`` -> ``Choices (2)`` -> ``Choices (3)``."""
    part = re.fullmatch(r"(.*) \((\d+)\)", title)
    return f"{title} (2)" if part is None else f"{part[1]} ({int(part[2]) + 1})"


def _blocks(text: str) -> Iterator[str]:
    """Return the paragraphs. An example in a fence is one paragraph; a long table is several."""
    block, in_fence = list[str](), False
    for line in text.splitlines():
        is_full = not in_fence and sum(map(len, block)) + len(line) > _MOST_OF_BLOCK
        if block and (is_full or not (line.strip() or in_fence)):
            yield "\n".join(block)
            block = []
        in_fence ^= line.startswith("```")
        if line.strip() or in_fence:
            block.append(line)
    if block:
        yield "\n".join(block)


def _below(sections: list[PageSection], title: str) -> list[PageSection]:
    """A section, its further parts, and the sections below it."""
    wanted = title.strip("# ").replace("`", "").casefold()
    first = next((number for number, each in enumerate(sections) if each.title.casefold() == wanted), None)
    if first is None:
        fix = did_you_mean(title, [each.title for each in sections], "without a section, all are listed")
        raise NoPage(f'the page has no section "{title}" ({fix})')
    found, part = [sections[first]], _following(sections[first].title)
    for each in sections[first + 1 :]:
        if each.level <= sections[first].level and each.title != part:
            break
        part = _following(part) if each.title == part else part
        found.append(each)
    return found


def _fitting(sections: list[PageSection]) -> str:
    shown, left = [sections[0].text], sections[1:]
    while left and sum(map(len, shown)) + len(left[0].text) <= MOST_SHOWN:
        shown.append(left.pop(0).text)
    more = [f"Further sections: {'; '.join(each.title for each in left)}"] if left else []
    return "\n\n".join(shown + more)
