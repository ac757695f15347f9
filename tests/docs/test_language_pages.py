"""The pages of the language leave nothing out: what a bot's files can say has an example there, which is loaded."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any
from weakref import WeakSet

import pytest

from bot.flow.library import Library
from bot.folder import read_folder
from bot.keys import declared_keys, fields
from bot.keys.fields import Fields
from bot.lang.problems import Mark, Problems
from bot.lang.source import Map, Node, Scalar
from bot.program import load_program
from bot.steps import KINDS
from bot.types.type_registry import TYPES
from tests.docs.test_bots import BOTS
from tests.docs.test_docs import OF_THE_LANGUAGE, load_page

TEXT = "\n".join(page.read_text() for page in OF_THE_LANGUAGE)
Key = tuple[str, str]  # the function that reads it, and its name


@dataclass
class Keys:
    """The keys that the code asks for while bots are loaded, those that are written, and the words that some take."""

    asked: set[Key] = field(default_factory=set)
    written: set[Key] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def note(self, key: str, node: Node | None) -> None:
        """A key is asked for. ``node`` is what is written under it."""
        reader = _reader(sys._getframe(2), key)
        if reader is not None:
            self.asked.add((reader, key))
        if reader is not None and node is not None:
            self.written.add((reader, key))


def _reader(frame: FrameType | None, key: str) -> str | None:
    """The function that reads a key. One that was given the key hands it on; one that refuses it does not know it."""
    while frame is not None:
        code = frame.f_code
        given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
        if code.co_name.startswith(("_refuse", "_check")):
            return None
        if code.co_filename not in (fields.__file__, declared_keys.__file__) and key not in [
            item for item in given if isinstance(item, str)
        ]:
            return f"{frame.f_globals['__name__']}.{code.co_qualname.partition('.<locals>')[0]}"
        frame = frame.f_back
    return None


@pytest.fixture(scope="module")
def recording() -> Iterator[Callable[[], Keys]]:
    """Begin to record what `Fields` is asked for."""
    raw, entries, choice, current = Fields.raw, Fields.entries, Fields.choice, [Keys()]
    listed: WeakSet[Fields] = WeakSet()  # what is read of these are the authors' own names: of variables, steps, words

    def begin() -> Keys:
        current[0] = Keys()
        return current[0]

    def noting_raw(self: Fields, key: str) -> Node | None:
        node = raw(self, key)
        if self not in listed:
            current[0].note(key, node)
        return node

    def noting_entries(self: Fields) -> tuple[tuple[Scalar, Node], ...]:
        listed.add(self)
        return entries(self)

    def noting_choice(self: Fields, key: str, options: Iterable[str], default: str | None = None) -> str | None:
        known = list(options)
        current[0].words.update(known)
        return choice(self, key, known, default)

    with pytest.MonkeyPatch.context() as patch:
        for name, noting in (("raw", noting_raw), ("entries", noting_entries), ("choice", noting_choice)):
            patch.setattr(Fields, name, noting)
        yield begin


@pytest.fixture(scope="module")
def libraries() -> list[Library]:
    loaded = [load_page(page).library for page in OF_THE_LANGUAGE]
    return [library for library in loaded if library is not None]


def test_every_key_has_an_example(recording: Callable[[], Keys]) -> None:
    pages = recording()
    for page in OF_THE_LANGUAGE:
        load_page(page)
    elsewhere = recording()
    for path in BOTS:
        load_program(read_folder(path))
    assert len(pages.asked) > 150
    assert sorted((pages.asked | elsewhere.asked) - pages.written) == []
    assert sorted(word for word in pages.words if not re.search(rf"`[^`\n]*\b{word}\b[^`\n]*`", TEXT)) == []


def test_a_key_that_stands_in_no_example_is_found(recording: Callable[[], Keys]) -> None:
    keys, this = recording(), f"{__name__}.test_a_key_that_stands_in_no_example_is_found"
    mark = Mark("bot.yml", 1, 1)
    fields = Fields(Map(mark, ((Scalar(mark, "old", "old"), Scalar(mark, 1, "1")),)), Problems(), "step")
    fields.integer("old")
    fields.integer("new")
    assert (keys.asked - keys.written, keys.written) == ({(this, "new")}, {(this, "old")})


def test_every_verb_and_every_type_of_variable_has_an_example(libraries: list[Library]) -> None:
    flows = [flow for library in libraries for flow in library.flows.values()]
    verbs = {step.kind.verb for flow in flows for step in flow.steps.values()}
    types = {variable.type for flow in flows for variable in flow.variables.values()}
    assert (KINDS.keys() - verbs, TYPES.keys() - types) == (set(), set())


@pytest.fixture
def closed_at() -> Iterator[dict[Mark, bool]]:
    """Where each map stands that `Fields` reads key by key, and whether its unknown keys were refused."""
    init, entries, close, expect = Fields.__init__, Fields.entries, Fields.close, Fields.expect
    maps: dict[Mark, bool] = {}

    def noting_init(self: Fields, node: Node, *rest: Any, **more: Any) -> None:
        init(self, node, *rest, **more)
        if isinstance(node, Map):
            maps.setdefault(node.mark, False)

    def noting_entries(self: Fields) -> tuple[tuple[Scalar, Node], ...]:
        maps[self.mark] = True  # all of them are the author's own names
        return entries(self)

    def noting_close(self: Fields, *rest: Any, **more: Any) -> None:
        maps[self.mark] = True
        close(self, *rest, **more)

    def noting_expect(self: Fields, *rest: Any, **more: Any) -> None:
        maps[self.mark] = True
        expect(self, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fields, "expect", noting_expect)
        for name, noting in (("__init__", noting_init), ("entries", noting_entries), ("close", noting_close)):
            patch.setattr(Fields, name, noting)
        yield maps


def test_no_map_of_any_page_takes_a_key_that_nobody_knows(closed_at: dict[Mark, bool]) -> None:
    looked_at = 0
    for page in OF_THE_LANGUAGE:
        closed_at.clear()  # the pages' files have the same names
        load_page(page)
        assert [str(mark) for mark, closed in closed_at.items() if not closed] == [], page.name
        looked_at += len(closed_at)
    assert looked_at > 500
