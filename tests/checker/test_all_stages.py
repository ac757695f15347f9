"""Problems of all stages come in one run, and nothing that only follows from another problem."""

import random
import re
from functools import cache
from pathlib import Path

import pytest

from bot.checker.run_rules import run_rules_on_sound_steps
from bot.language.flow.documents import Source
from bot.language.flow.library import LoadResult, load
from bot.language.python.gathered import Extensions
from bot.loading.folder import Folder, read_folder
from bot.loading.program import load_handlers
from tests.checker.proved import BOT, sources
from tests.searches import over

VERB = re.compile(rb"^  \w+:(?:\n    | \{)(?:say|ask|call|http|run|branch|wait|template|ai)(?=: )", re.MULTILINE)
EXAMPLES = sorted(file.parent for file in (Path(__file__).parents[2] / "examples").glob("*/bot.yml"))


def found(*flows: str, bot: str = BOT) -> list[str]:
    """The codes of problems and findings, each with its line."""
    written = sources(*flows, bot=bot)
    return found_in(load(written, Extensions()), written)


def found_in(loaded: LoadResult, written: list[Source]) -> list[str]:
    findings = [] if loaded.sound is None else run_rules_on_sound_steps(loaded.sound, written)
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
        "steps:\n",
        "steps:\n  hello: {branch: [{if: window_open, then: late}, {if: contact.name, then: void}, {else: drink}]}\n",
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


@over(5, "path", EXAMPLES)
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


UNREAD = """flow: order
start: {words: [order]}
vars:
  drink: text
  size: {type: text
steps:
  hello: {say: "Welcome!}
  drink:
    ask: What would you like: tea or coffee?
    save: drink
  size: {ask: Which size?, save: size, then: halo}
  bye:
    say: "{{ drnk }}, {{ size }}."
    then: hello
     tag: x
  late: {say: L, then: end}
"""


def test_each_step_that_can_be_read_is_checked_whatever_stands_in_the_others() -> None:
    assert found(UNREAD) == ["5: E002", "7: E002", "9: E007", "11: E102", "15: E002"]
    assert found(UNREAD.replace("     tag", "    tag")) == ["5: E002", "7: E002", "9: E007", "11: E102", "13: E301"]


def test_a_key_that_is_written_below_the_line_of_its_step_is_one_problem() -> None:
    flow = "flow: a\nstart: {otherwise: true}\nsteps:\n  b: {say: B}\n    then: nowhere\n"
    assert found(flow) == ["5: E002"]


def test_what_stands_under_a_key_that_could_not_be_read_is_not_missing_elsewhere() -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {x: {type: text\ndefaults: {timeout: {after: 1h, then: end}}\nsteps:\n  b: {ask: B?, save: x}\n  c: {say: '{{ x }}', then: d}\n"
    other = "flow: f\nstart: {words: [f]}\nsteps:\n  b: {run: /a, with: {x: 1}, then: g}\n"
    assert found(flow, other) == ["3: E002", "7: E102", "4: E102"]
    bot = 'name: "T\nsignals: {paid: {n: integer}}\ndefine: {late: now > today}\nlanguages: [en]\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}'
    uses = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {ask: '{{ language }}', signals: {paid: {if: event.n > 1 and late, then: c}}}\n  c: {say: C, then: d}\n"
    assert found(uses, bot=bot) == ["1: E002", "5: E102"]


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [("   say: a", "   say: a", 0), ("  b:\n", "   b:\n", 6), ("    then: d\n", "     then: d\n", 8), ("  b:\n", "  b\n", 6), ("flow: a", "flow a", 1),
     ("steps:", "steps", 3), ('"{{ x }}"', '{{ x }}"', 11), ("say: B", "say: B: b", 7), ("{say: D}", "{say: D", 9)],
)  # fmt: skip
def test_one_slip_is_one_problem(right: str, wrong: str, line: int) -> None:
    flow = 'flow: a\nstart: {words: [a]}\nsteps:\n  a:\n    say: a\n  b:\n    say: B\n    then: d\n  d: {say: D}\n  e:\n    say: "{{ x }}"\nvars: {x: {type: text, value: x}}\n'
    assert right in flow
    assert [each.partition(":")[0] for each in found(flow.replace(right, wrong, 1))] == ([str(line)] if line else [])


def test_a_slot_that_is_no_step_is_one_problem() -> None:
    flow = "flow: a\nstart: {words: [a]}\nslots: [dya, n]\nvars: {n: integer, day: date}\nsteps:\n  n: {ask: N?, save: n}\n  day: {ask: D?, save: day}\n"
    assert found(flow) == ["3: E102"]
