"""A load that uses what earlier loads have read gives the same as one that reads all."""

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from benchmarks.plausible import Plausible
from bot.checker.run_rules import run_rules, run_rules_on_sound_steps
from bot.language.flow import library
from bot.language.flow.definition import Flow
from bot.language.flow.documents import Source, read_documents
from bot.language.flow.flow_file import read_flow
from bot.language.flow.kept_reading import KeptReading
from bot.language.flow.library import LoadResult, load
from bot.language.flow.translations import all_spots
from bot.language.keys.text_shapes import Part
from bot.language.python.gathered import Extensions, extensions_in
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, Scalar
from bot.language.steps.custom_steps import all_kinds
from tests.random_bots import FACTS, FLOWS, HANDLERS, Author, written
from tests.searches import search, tries

BOT = "name: Test\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}\n"
ASK = "flow: ask\nstart: {words: [ask]}\nsteps:\n  one: {say: One., then: /tell}\n"
TELL = "flow: tell\nsteps:\n  two: {say: Two.}\n"

_ADDRESS = re.compile(r" at 0x\w+|@\d{6,}")


def loaded(
    kept: KeptReading, bot: str = BOT, ask: str = ASK, tell: str = TELL, documents: Sequence[Source] = ()
) -> LoadResult:
    files = {"bot.yml": bot, "ask.yml": ask, "tell.yml": tell}
    return load([Source(path, text.encode()) for path, text in files.items()], Extensions(), documents, kept=kept)


def rereads(first: LoadResult, second: LoadResult) -> set[str]:
    """The flows that were read again."""
    assert first.library is not None
    assert second.library is not None
    before, after = first.library.flows, second.library.flows
    return {name for name in after if name not in before or after[name].steps is not before[name].steps}


def test_only_an_edited_flow_is_read_again() -> None:
    kept = KeptReading()
    assert rereads(loaded(kept), loaded(kept, ask=ASK.replace("One", "Uno"))) == {"ask"}


def test_all_flows_are_read_again_when_the_bot_file_is_edited() -> None:
    kept = KeptReading()
    assert rereads(loaded(kept), loaded(kept, bot=BOT.replace("1h", "2h"))) == {"ask", "tell"}


def test_all_flows_are_read_again_when_a_document_is_edited() -> None:
    kept = KeptReading()
    first = loaded(kept, documents=[Source("facts.md", b"Open.")])
    assert rereads(first, loaded(kept, documents=[Source("facts.md", b"Shut.")])) == {"ask", "tell"}


@pytest.mark.parametrize(
    ("bot", "ask"),
    [(BOT, ASK.replace("say: One.", "sya: One.")), (BOT, "flow: ask\nsteps: {one: ["), (f"{BOT}unknown: 1\n", ASK)],
    ids=["flow", "YAML", "bot"],
)
def test_what_has_a_problem_has_it_each_time(bot: str, ask: str) -> None:
    kept = KeptReading()
    first = loaded(kept, bot, ask)
    assert first.problems
    assert loaded(kept, bot, ask).problems == first.problems


def test_a_flow_that_is_read_again_knows_the_types_of_the_bot() -> None:
    kept, bot = KeptReading(), f"{BOT}types: {{size: {{type: choice, of: [small, large]}}}}\n"
    ask = ASK.replace("steps:", "vars: {size: size}\nsteps:")
    assert rereads(loaded(kept, bot, ask), loaded(kept, bot, ask.replace("One", "Uno"))) == {"ask"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The file of each flow that is read."""
    found: list[str] = []

    def noted(node: Map, *others: Any) -> Flow:
        found.append(node.mark.path)
        return read_flow(node, *others)

    monkeypatch.setattr(library, "read_flow", noted)
    return found


@pytest.mark.parametrize("broken", ["flow: ask\nsteps: {one: [", ASK.replace("say: One.", "sya: One.")])
def test_a_problem_of_a_file_keeps_what_others_have(broken: str, read: list[str]) -> None:
    kept = KeptReading()
    assert loaded(kept, ask=broken).problems
    read.clear()
    loaded(kept, ask=broken)
    assert set(read) <= {"ask.yml"}


def test_only_an_edited_flow_is_read_again_in_each_language(read: list[str]) -> None:
    kept, locale = KeptReading(), "ask: {one: {say: Satu.}}\ntell: {two: {say: Dua.}}\n"
    load_spoken(kept, ASK, locale)
    for edited, again in (
        ((ASK.replace("/tell", "end"), locale), ["ask.yml", "ask.yml"]),
        ((ASK, locale.replace("Dua", "Kedua")), ["ask.yml", "ask.yml", "tell.yml"]),
    ):
        read.clear()
        found, sources = load_spoken(kept, *edited)
        assert sorted(read) == again
        anew, _ = load_spoken(KeptReading(), *edited)
        assert found.library is not None and seen(found, sources) == seen(anew, sources)


def load_spoken(kept: KeptReading, ask: str, locale: str) -> tuple[LoadResult, list[Source]]:
    """A bot in two languages, and its files."""
    files = {"bot.yml": f"{BOT}languages: [en, id]\n", "ask.yml": ask, "tell.yml": TELL, "locales/id.yml": locale}
    sources = [Source(path, text.encode()) for path, text in files.items()]
    return load(sources, Extensions(), kept=kept), sources


@search
@pytest.mark.parametrize("seed", range(tries(3, 60)))
@pytest.mark.parametrize("kind", [Author, Plausible])
def test_edits_give_what_reading_all_gives(kind: type[Author], seed: int) -> None:
    kept, random, extensions = KeptReading(), Random(seed), extensions_in([HANDLERS])
    author = kind(seed)
    bot = author.bot() | {"languages": ["en", "id"]}
    files = {name: written([author.flow(name)])[0] for name in FLOWS}
    for _ in range(4):
        sources = [Source("bot.yml", json.dumps(bot).encode())]
        sources += [Source(f"{name}.yml", text.encode()) for name, text in files.items()]
        sources += [Source("locales/id.yml", translated(sources, random.randrange(2)))]
        again, anew = load(sources, extensions, FACTS, kept=kept), load(sources, extensions, FACTS)
        assert seen(again, sources) == seen(anew, sources)
        edited = random.choice(FLOWS)
        lines = files[edited].split("\n")
        match random.choice(("without a line", "another flow", "twice", "bot")):
            case "without a line":
                del lines[random.randrange(len(lines))]
                files[edited] = "\n".join(lines)
            case "another flow":
                files[edited] = written([author.flow(edited)])[0]
            case "twice":
                files[edited] = f"{files[edited]}\n{written([author.flow(random.choice(FLOWS))])[0]}"
            case "bot":
                bot = author.bot() | {"languages": ["en", "id"]}


def translated(sources: Sequence[Source], rest: int) -> bytes:
    """A locale with every second text."""
    locale: dict[str, Any] = {}
    spots = all_spots(read_documents(sources, Problems()), all_kinds(extensions_in([HANDLERS]).verbs))
    texts = [(spot.path, spot.node.text) for spot in spots if spot.part is Part.TEXT and isinstance(spot.node, Scalar)]
    for number, (path, text) in enumerate(texts):
        below = locale
        for key in path[:-1]:
            below = below.setdefault(key, {})
        if number % 2 == rest:
            below[path[-1]] = f"{text} {number}"
    return json.dumps(locale).encode()


def seen(loaded: LoadResult, sources: Sequence[Source]) -> object:
    """All that is known of a bot: its problems, its findings, and each of its flows."""
    library = loaded.library or loaded.sound
    if library is None:
        return loaded.problems
    rules = run_rules if loaded.library is not None else run_rules_on_sound_steps
    return (
        loaded.problems,
        rules(library, sources),
        library.version,
        _ADDRESS.sub("", repr((library.bot, library.flows, library.translations))),
    )
