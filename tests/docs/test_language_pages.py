"""The pages of the language leave nothing out: what a bot's files can say has an example there, which is loaded."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.language.flow.library import Library
from bot.language.keys.declared_keys import KeySet, KeySpec, integer
from bot.language.keys.fields import Fields
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.language.steps import KINDS
from bot.language.types.type_registry import TYPES
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from tests.docs.test_bots import BOTS
from tests.docs.test_docs import OF_THE_LANGUAGE, load_page

TEXT = "\n".join(page.read_text() for page in OF_THE_LANGUAGE)
Key = tuple[str, str]  # its name, and what it says


@dataclass
class Keys:
    """The keys of the maps in bots while they are loaded, those that are written, and the words that some take."""

    known: set[Key] = field(default_factory=set)
    written: set[Key] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def note(self, key: KeySpec[Any], opened: Fields) -> None:
        """One of the keys of a map."""
        self.known.add((key.name, key.about))
        self.words.update(key.form.schema.get("enum", ()))
        if opened.has(key.name):
            self.written.add((key.name, key.about))


@pytest.fixture(scope="module")
def recording() -> Iterator[Callable[[], Keys]]:
    """Begin to record which maps are opened."""
    open_, current = KeySet.open, [Keys()]

    def begin() -> Keys:
        current[0] = Keys()
        return current[0]

    def noting(self: KeySet, node: Node, *rest: Any, **more: Any) -> Fields:
        opened = open_(self, node, *rest, **more)
        for key in self if isinstance(node, Map) else ():
            current[0].note(key, opened)
        return opened

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeySet, "open", noting)
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
    assert len(pages.known) > 150
    assert sorted((pages.known | elsewhere.known) - pages.written) == []
    assert sorted(word for word in pages.words if not re.search(rf"`[^`\n]*\b{word}\b[^`\n]*`", TEXT)) == []


def test_a_key_that_stands_in_no_example_is_found(recording: Callable[[], Keys]) -> None:
    keys, mark = recording(), Mark("bot.yml", 1, 1)
    declared = KeySet(KeySpec("old", integer(), "Old."), KeySpec("new", integer(), "New."))
    declared.open(Map(mark, ((Scalar(mark, "old", "old"), Scalar(mark, 1, "1")),)), Problems(), "step")
    assert (keys.known - keys.written, keys.written) == ({("new", "New.")}, {("old", "Old.")})


def test_every_verb_and_every_type_of_variable_has_an_example(libraries: list[Library]) -> None:
    flows = [flow for library in libraries for flow in library.flows.values()]
    verbs = {step.kind.verb for flow in flows for step in flow.steps.values()}
    types = {variable.type for flow in flows for variable in flow.variables.values()}
    assert (KINDS.keys() - verbs, TYPES.keys() - types) == (set(), set())
