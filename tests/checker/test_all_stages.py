"""Problems of all stages come in one run, and nothing that only follows from another problem."""

import random
import re
from functools import cache
from pathlib import Path

import pytest

from bot.checker.prove import prove_sound
from bot.extensions.gathered import Extensions
from bot.flow.documents import Source
from bot.flow.library import LoadResult, load
from bot.folder import Folder, read_folder
from bot.program import load_handlers
from tests.checker.proved import BOT, sources

VERB = re.compile(rb"^  \w+:(?:\n    | \{)(?:say|ask|call|http|run|branch|wait|template|ai)(?=: )", re.MULTILINE)
EXAMPLES = sorted(file.parent for file in (Path(__file__).parents[2] / "examples").glob("*/bot.yml"))


def found(*flows: str, bot: str = BOT) -> list[str]:
    """The codes of problems and findings, each with its line."""
    written = sources(*flows, bot=bot)
    return found_in(load(written, Extensions()), written)


def found_in(loaded: LoadResult, written: list[Source]) -> list[str]:
    findings = [] if loaded.sound is None else prove_sound(loaded.sound, written)
    return [f"{each.line}: {each.code}" for each in sorted([*loaded.problems, *findings], key=lambda each: each.place)]


STAGES = """flow: order
start: {words: [order]}
vars: {drink: text, size: text}
steps:
  hello: {sya: Welcome!}
  drink: {ask: Which drink?, sav: drink}
  size: {ask: "Which size, {{ name }}?", save: size}
  late: {ask: Anything else?, timeout: {after: 30h, say: "Still there?", then: end}}
  loop: {say: L}
  again_: {say: A, then: loop}
  open: {http: GET https://example.org/, errors: {404: end}}
  lost: {say: X, then: sice}
  void: {say: "{{ size }}", then: end}
"""


def test_problems_of_all_stages_are_found_at_once() -> None:
    bot = BOT.replace(", errors: {else: end}", "")
    late, hole = "8: W501", "13: W301"
    assert found(STAGES, bot=bot) == ["5: E107", "6: E104", "7: E301", "9: E140", "11: E130", "12: E102"]
    sound = STAGES.replace("  hello: {sya: Welcome!}\n", "")
    sound = sound.replace(
        "steps:\n", "steps:\n  hello: {branch: [{if: today, then: late}, {if: now, then: void}, {else: drink}]}\n"
    )
    assert found(sound, bot=bot) == ["6: E104", "7: E301", late, "9: E140", "11: E130", "12: E102", hole]


def test_a_misspelt_key_hides_what_is_missing_in_its_own_step_alone() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {ask: B?, timeuot: 3h}\n  c: {ask: C?}\n"
    assert found(flow, bot="name: T") == ["4: E104", "5: E130"]
    assert found(
        flow.replace("steps:", "defaults: {tiemout: 3h}\nsteps:").replace(
            "timeuot: 3h", "timeout: {after: 1h, then: end}"
        ),
        bot="name: T",
    ) == ["3: E104"]
    assert found(flow.replace(", timeuot: 3h", ""), bot="name: T\ndefaults: {tiemout: 3h}") == ["2: E104"]
    assert found(flow.replace(", timeuot: 3h", ""), bot="name: T\nai: {modle: x}") == ["2: E104", "4: E130", "5: E130"]


def test_a_step_that_could_not_be_read_is_there_for_those_that_lead_to_it() -> None:
    flow = "flow: a\nstart: {words: [a]}\nslots: [b]\nsteps:\n  b: {aks: B?}\n  c: {say: C, then: b}\n  d: {ask: D?, words: {fix: {correct: b}}}\n  e: {run: /f}\n"
    assert found(flow, "flow: f\nvars: {x: text}\nsteps: {g: {sya: G}, h: {say: '{{ x }}'}}") == ["5: E107", "3: E107"]


def test_what_is_given_under_a_misspelt_name_is_not_missing_too() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {run: /f, with: {numbre: 1}}\n"
    assert found(flow, "flow: f\nvars: {number: {type: integer, needed: true}}\nsteps: {g: {say: '{{ number }}'}}") == [
        "4: E301"
    ]


@cache
def example(path: Path) -> tuple[Folder, Extensions]:
    folder = read_folder(path)
    return folder, load_handlers(folder)[0]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_one_misspelt_verb_is_one_problem(path: Path) -> None:
    folder, extensions = example(path)
    chance = random.Random(path.name)
    spots = [
        (source, verb)
        for source in folder.sources
        if source.path.startswith("flows") and source.text.count(b"steps:\n") == 1
        for verb in VERB.finditer(source.text, source.text.index(b"steps:\n"))
    ]
    for source, verb in chance.sample(spots, min(6, len(spots))):
        text = source.text[: verb.end()] + b"x" + source.text[verb.end() :]
        written = [Source(each.path, text) if each is source else each for each in folder.sources]
        (only,) = found_in(load(written, extensions, folder.documents), written)
        assert only.endswith("E107"), (source.path, verb[0])
