"""A load that uses what earlier loads have read gives the same as one that reads all."""

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from bot.checker.run_rules import run_rules, run_rules_on_sound_steps
from bot.language.flow import library
from bot.language.flow.definition import Flow
from bot.language.flow.documents import Source
from bot.language.flow.flow_file import read_flow
from bot.language.flow.kept_reading import KeptReading
from bot.language.flow.library import LoadResult, load
from bot.language.python.gathered import Extensions, extensions_in
from bot.language.source.yaml_tree import Map
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


def test_a_flow_with_a_problem_is_read_each_time() -> None:
    kept, broken = KeptReading(), ASK.replace("say: One.", "sya: One.")
    first = loaded(kept, ask=broken)
    assert first.problems
    assert loaded(kept, ask=broken).problems == first.problems


@pytest.mark.parametrize("broken", ["flow: ask\nsteps: {one: [", ASK.replace("say: One.", "sya: One.")])
def test_a_problem_of_a_file_keeps_what_others_have(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, read = KeptReading(), list[str]()

    def counted(node: Map, *others: Any) -> Flow:
        read.append(node.mark.path)
        return read_flow(node, *others)

    monkeypatch.setattr(library, "read_flow", counted)
    assert loaded(kept, ask=broken).problems
    read.clear()
    loaded(kept, ask=broken)
    assert set(read) <= {"ask.yml"}


@search
@pytest.mark.parametrize("seed", range(tries(3, 300)))
def test_edits_give_what_reading_all_gives(seed: int) -> None:
    kept, random, extensions = KeptReading(), Random(seed), extensions_in([HANDLERS])
    author = Author(seed)
    bot = author.bot()
    files = {name: written([author.flow(name)])[0] for name in FLOWS}
    for _ in range(4):
        sources = [Source("bot.yml", json.dumps(bot).encode())]
        sources += [Source(f"{name}.yml", text.encode()) for name, text in files.items()]
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
                bot = author.bot()


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
        _ADDRESS.sub("", repr((library.bot, library.flows))),
    )
