import json
from pathlib import Path

import pytest

from tests.cli.terminal import call, make_bot

GOOD = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {say: Hello, then: end}\n"
BAD = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {say: Hello, then: helo}\n  bye: {sya: Bye}\n"


def generated_bot(folder: Path, steps: int, flows: int = 20) -> Path:
    """A bot of many steps, of the kinds and sizes that real flows have."""
    (folder / "bot.yml").write_text("name: Large\ndefaults: {timeout: {after: 20h, then: end}, errors: {else: end}}\n")
    for flow in range(flows):
        lines = [f"flow: flow_{flow}", "vars: {name: {type: text}, count: {type: integer, min: 1}}", "steps:"]
        for step in range(steps // flows // 4):
            lines += [
                f"  ask_{step}: {{ask: \"How many, {{{{ name | default('you') }}}}?\", save: count, "
                "retry: {say: A number please.}}",
                f"  if_{step}: {{branch: [{{if: count > {step}, then: say_{step}}}, {{else: pick_{step}}}]}}",
                f'  say_{step}: {{say: "You said {{{{ count }}}} of {step}.", tag: seen}}',
                f"  pick_{step}:\n    ask: Which one?\n    buttons: {{One: next, Two: ask_0, Three: end}}",
            ]
        (folder / f"flow_{flow}.yml").write_text("\n".join(lines) + "\n")
    return folder


def test_a_good_bot_has_no_problems(tmp_path: Path) -> None:
    checked = call("check", make_bot(tmp_path, GOOD))
    assert (checked.code, checked.out) == (0, "Test Bot: no problems in 1 flow, 1 step and 0 tests.\n")


def test_every_problem_is_a_line_that_an_editor_can_jump_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path / "bots" / "one", BAD, tests="test: t\ntalk: [{usr: hi}]\n")
    monkeypatch.chdir(tmp_path / "bots")
    checked = call("check", "one")
    assert checked.code == 1
    assert checked.lines == [
        'one/flows/main.yml:4:29: E102 no step "helo" (did you mean "hello"?)',
        'one/flows/main.yml:5:8: E107 step "bye" has no verb, it begins with "sya" (did you mean "say"?)',
        'one/flows/tests.yml:2:8: E601 a line of a talk cannot begin with "usr" (did you mean "user"?)',
        "3 problems",
    ]
    monkeypatch.chdir(tmp_path / "bots" / "one" / "flows")
    assert call("check", "..").lines[0].startswith("main.yml:4:29: ")


def test_json_is_a_list_of_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_bot(tmp_path / "bot", BAD)
    checked = call("check", "bot", "--json")
    assert checked.code == 1
    assert json.loads(checked.out)[0] == {
        "path": "bot/flows/main.yml",
        "line": 4,
        "column": 29,
        "code": "E102",
        "what": 'no step "helo"',
        "fix": 'did you mean "hello"?',
    }
    make_bot(tmp_path / "bot", GOOD)
    checked = call("check", "bot", "--json")
    assert (checked.code, json.loads(checked.out)) == (0, [])


@pytest.mark.parametrize("text", ["", "- a list"])
def test_defaults_that_could_not_be_read_are_not_missed_at_every_step(tmp_path: Path, text: str) -> None:
    waits = "flow: main\nstart: {otherwise: true}\nsteps:\n  ask: {ask: Well?, buttons: {Good: end}}\n"
    assert "E130" in call("check", make_bot(tmp_path, waits, bot="name: Without defaults")).out
    checked = call("check", make_bot(tmp_path, waits, bot=text))
    assert checked.code == 1
    assert {line.split()[1] for line in checked.lines[:-1]} <= {"E100", "E101"}


def test_what_handlers_print_is_no_part_of_the_report(tmp_path: Path) -> None:
    checked = call("check", make_bot(tmp_path, GOOD, handlers='print("connected")\n'), "--json")
    assert (json.loads(checked.out), checked.err) == ([], "connected\n")


def test_problems_of_a_test_are_no_hindrance_to_serving(tmp_path: Path) -> None:
    from bot.folder import read_folder
    from bot.program import problems_of

    make_bot(tmp_path, GOOD, tests="test: t\ntalk: [{usr: hi}]\n")
    assert problems_of(read_folder(tmp_path)) == []
    assert call("check", tmp_path).code == 1


def test_a_large_bot_is_checked_whole(tmp_path: Path) -> None:
    checked = call("check", generated_bot(tmp_path, steps=200, flows=5))
    assert (checked.code, checked.out) == (0, "Large: no problems in 5 flows, 200 steps and 0 tests.\n")


def test_colours_are_for_a_terminal_only(tmp_path: Path) -> None:
    assert "\033" not in call("check", make_bot(tmp_path, BAD)).out
