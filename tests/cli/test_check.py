"""`bot check`: its forms, its options, its exit codes."""

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from bot import __version__
from tests.cli.terminal import call, make_bot
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
GOOD = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {say: Hello, then: end}\n"
BAD = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {say: Hello, then: helo}\n  bye: {sya: Bye}\n"
LONELY = GOOD + "  bye: {say: Bye}\n"
NOTHING_FOUND = "Test Bot: no problems in 1 flow, 1 step and 0 tests.\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


SEARCHING = """\
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You answer from our documents.
    knowledge: {folder: policies/}
    exits: {done: {when: they have what they need, then: end}}
    errors: {else: {say: Please call us., then: end}}
"""


def generated_bot(folder: Path, steps: int, flows: int = 20) -> Path:
    """A bot of many steps, of the kinds and sizes that real flows have."""
    (folder / "bot.yml").write_text("name: Large\ndefaults: {timeout: {after: 20h, then: end}, errors: {else: end}}\n")
    for flow in range(flows):
        lines = [
            f"flow: flow_{flow}",
            f"start: {{words: [go {flow}]}}",
            "vars: {name: {type: text}, count: {type: integer, min: 1}}",
            "steps:",
        ]
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
    assert (checked.code, checked.out) == (0, NOTHING_FOUND)


def test_the_passages_of_documents_are_counted(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, SEARCHING)
    (flow,) = (path for path in bot.rglob("*.yml") if path.name != "bot.yml")
    (flow.parent / "policies").mkdir()
    (flow.parent / "policies" / "house.md").write_text("# Pets\nYes.\n\n# Parking\nNo.\n")
    folder = (flow.parent / "policies").relative_to(bot).as_posix()
    assert f"0 tests and 2 passages in {folder}/." in call("check", bot).out
    (flow.parent / "policies" / "scan.pdf").write_bytes(b"%PDF")
    checked = call("check", bot, "--format", "short").out
    assert "E001" in checked and f'the file "{folder}/scan.pdf" cannot be read (PdfStreamError)' in checked


def test_each_problem_is_shown_in_its_line_with_its_fix(here: Path) -> None:
    make_bot(here / "one", BAD, tests="test: t\ntalk: [{usr: hi}]\n")
    checked = call("check", "one")
    assert checked.code == 1
    assert checked.out == (
        'one/flows/main.yml:4:29: E102 no step "helo"\n'
        "  4 |   hello: {say: Hello, then: helo}\n"
        "    |                             ^^^^\n"
        '    fix: did you mean "hello"?\n'
        "\n"
        'one/flows/main.yml:5:8: E107 step "bye" has no verb, it begins with "sya"\n'
        "  5 |   bye: {sya: Bye}\n"
        "    |        ^\n"
        '    fix: did you mean "say"?\n'
        "\n"
        'one/flows/tests.yml:2:8: E601 talk: a line cannot begin with "usr"\n'
        "  2 | talk: [{usr: hi}]\n"
        "    |        ^\n"
        '    fix: did you mean "user"?\n'
        "\n"
        "3 problems\n"
        "More may be found once the bot loads: correct what is wrong, and check again.\n"
        "`bot explain E102` says more about the first.\n"
    )


def test_the_short_form_is_a_line_each_that_an_editor_can_jump_to(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(here / "one", BAD)
    checked = call("check", "one", "--format", "short")
    assert checked.code == 1
    assert checked.lines[:3] == [
        'one/flows/main.yml:4:29: E102 no step "helo" (did you mean "hello"?)',
        'one/flows/main.yml:5:8: E107 step "bye" has no verb, it begins with "sya" (did you mean "say"?)',
        "2 problems",
    ]
    monkeypatch.chdir(here / "one" / "flows")
    assert call("check", "..", "--format", "short").lines[0].startswith("main.yml:4:29: ")


def test_findings_are_shown_like_problems_and_beside_those_of_tests(here: Path) -> None:
    make_bot(here / "one", LONELY, tests="test: t\ntalk: [{usr: hi}]\n")
    checked = call("check", "one")
    assert checked.code == 1
    assert checked.out.startswith(
        'one/flows/main.yml:5:3: W101 nobody reaches step "bye"\n  5 |   bye: {say: Bye}\n    |   ^^^\n'
    )
    assert checked.lines[-2:] == ["1 problem and 1 finding", "`bot explain W101` says more about the first."]


def test_a_finding_that_a_comment_allows_is_none(tmp_path: Path) -> None:
    checked = call("check", make_bot(tmp_path, LONELY.rstrip() + "  # allow W101: for later\n"))
    assert (checked.code, checked.out) == (0, NOTHING_FOUND.replace("1 step", "2 steps"))


@pytest.mark.parametrize(
    ("written", "marked"),
    [
        ("  a: {say: Hi, then: gone}", "gone"),
        ("  a: {say: Hi, then: 'gone'}", "'gone'"),
        ("  a: {say: 日本, then: gone}", "gone"),
        ("  a: {say: e\u0301e\u0301, then: gone}", "gone"),
        ("  a:\n    say: Hi, you\n    then: gone  # so", "gone"),
        (f"  a: {{say: {'long ' * 60}, then: gone}}", "gone"),
        (f"  a: {{then: gone, say: {'long ' * 60}}}", "gone"),
    ],
)
def test_the_mark_stands_below_what_is_meant(tmp_path: Path, written: str, marked: str) -> None:
    shown = call("check", make_bot(tmp_path, f"flow: main\nstart: {{otherwise: true}}\nsteps:\n{written}\n")).lines
    line, mark = (part.partition("| ")[2] for part in shown[1:3])
    wide = line.replace("日本", "日本  ").replace("e\u0301", "e")  # a wide character takes two columns, an accent none
    assert mark.count("^") == len(marked)
    assert wide[mark.index("^") : len(mark)] == marked
    assert len(wide) <= 120


def test_a_problem_without_a_line_of_its_own_is_shown_without_one(here: Path) -> None:
    make_bot(here / "one", GOOD, bot="")
    assert call("check", "one").lines[:2] == [
        "one/bot.yml:1:1: E100 bot.yml is empty or missing",
        "    fix: write the bot's name into it: name: My bot",
    ]


def test_a_line_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    assert "\033" not in call("check", make_bot(tmp_path, GOOD.replace("Hello", "\033[2J"))).out


def test_a_finding_beside_a_problem_is_shown_without_a_conversation(here: Path) -> None:
    flows = """flow: main
start: {otherwise: true}
vars: {note: text}
steps:
  note: {ask: "Yes?", buttons: {"Yes": note_, "No": other}}
  other: {say: "{{ 1 + }}", then: end}
  note_: {say: "So {{ note }}", then: end}
"""
    make_bot(here, flows)
    checked = call("check")
    assert checked.code == 1 and checked.err == ""
    assert [line.split()[1] for line in checked.lines if line.startswith("flows/")] == ["E201", "W301"]
    assert call("check", "--json").code == 1


@pytest.mark.parametrize("failure", ["provider_error", "rate_limit_exceeded", "broken_off", "timeout", "unauthorized"])
def test_a_model_that_fails_in_a_test_is_no_hindrance_to_conversations(here: Path, failure: str) -> None:
    flows = """flow: main
start: {otherwise: true}
vars: {tone: text, note: text}
steps:
  note: {ask: A note?, save: note, skip: [none]}
  tone: {write: A tone., save: tone, errors: {else: sorry}}
  sorry: {say: "So {{ note }}", then: end}
---
test: a model fails
talk: [user: hi, bot: A note?, user: x, model: {fails: FAILURE}]
"""
    make_bot(here, flows.replace("FAILURE", failure))
    assert "How to get there" in call("check").out


def test_texts_that_nobody_can_tell_the_length_of_are_listed_when_asked_for(here: Path) -> None:
    make_bot(here, GOOD.replace("Hello,", '"Hello {{ contact.name }}",'))
    checked = call("check", "--cuts")
    listed = (
        'flows/main.yml:4:16: step "hello": say: at most 4096 characters are sent\n1 text may be cut when it is sent.\n'
    )
    assert checked.code == 0 and checked.out.endswith(listed)
    assert call("check", "--cuts", "--json").code == 2


def test_how_much_each_flow_sends_is_listed_when_asked_for(here: Path) -> None:
    make_bot(here, GOOD)
    checked = call("check", "--load")
    listed = "  main  1 in one turn, 1 in one conversation; 1,000 contacts x 1 message: 17 min\n"
    assert checked.code == 0 and checked.out.endswith(f"At most, by 60 messages a minute and 10,000 a day:\n{listed}")
    assert call("check", "--load", "--json").code == 2
    (here / "bot.yml").write_text(
        (here / "bot.yml").read_text()
        + 'transcribe: {http: POST https://stt.example/v1, form: {file: "{{ voice }}"}, tries: 2}\n'
    )
    listed = (
        "what the voice notes of one contact can cost a day (UTC):\n  transcribe  50 voice notes, asked for 100 times\n"
    )
    assert call("check", "--load").out.endswith(listed)


ASKING = """\
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You help.
    knowledge: {folder: policies/, rewrite: true}
    unsupported: {prices: retry}
    judge: {share: 2.5%, questions: [Is it polite?, Is it true?]}
    exits: {done: {when: all is said, then: end}}
    budget: {contact: 9000, else: {say: Bye., then: end}}
"""


def test_all_requests_to_models_that_one_turn_may_cause_are_listed(here: Path) -> None:
    make_bot(here, ASKING)
    (here / "flows" / "policies").mkdir()
    (here / "flows" / "policies" / "house.md").write_text("# Pets\nYes.\n")
    cost, each, in_all = call("check", "--load").lines[-3:]
    assert re.fullmatch(
        r"  main/talk  1,[\d,]{7} tokens \(9,000 of its budget, [\d,]{7} under way, 1,[\d,]{7} of judges under way\), "
        r"49 requests \(each counts 200 or more\)",
        cost,
    ), cost
    assert each.strip() == (
        "one turn: up to 9 requests (1 for what to search, 8 to answer, 1 of them to write it again), and 2 to judge "
        "2.5% of the answers"
    )
    assert in_all.startswith("  in all ") and "49 requests" in in_all
    make_bot(here, ASKING.replace("    unsupported: {prices: retry}\n", "").replace(", rewrite: true", ""))
    assert "one turn: up to 8 requests, and 2 to judge" in call("check", "--load").out


def test_json_is_a_list_of_objects(here: Path) -> None:
    make_bot(here / "bot", BAD)
    checked = call("check", "bot", "--json")
    assert checked.code == 1
    assert json.loads(checked.out)[0] == {
        "path": "bot/flows/main.yml",
        "line": 4,
        "column": 29,
        "code": "E102",
        "what": 'no step "helo"',
        "fix": 'did you mean "hello"?',
        "conversation": [],
        "confirmed": True,
    }
    assert call("check", "bot", "--format", "json").out == checked.out
    make_bot(here / "bot", GOOD)
    checked = call("check", "bot", "--json")
    assert (checked.code, json.loads(checked.out)) == (0, [])


def sarif(folder: str) -> dict[str, Any]:
    log = json.loads(call("check", folder, "--format", "sarif").out)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def test_sarif_has_what_code_reviews_need(here: Path) -> None:
    make_bot(here / "a bot", LONELY, tests="test: t\ntalk: [{usr: hi}]\n")
    run = sarif("a bot")
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("bot check", __version__)
    assert [rule["id"] for rule in driver["rules"]] == ["E601", "W101"]
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] and rule["help"]["text"].startswith(f"# {rule['id']}: ")
    found, problem = run["results"]
    assert (found["ruleId"], found["level"], found["ruleIndex"]) == ("W101", "warning", 1)
    assert (problem["ruleId"], problem["level"], problem["ruleIndex"]) == ("E601", "error", 0)
    assert found["message"]["text"].startswith('nobody reaches step "bye": ')
    (place,) = found["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20bot/flows/main.yml"},
        "region": {"startLine": 5, "startColumn": 3, "endColumn": 6},
    }
    assert run["columnKind"] == "unicodeCodePoints"


def test_a_result_of_sarif_is_known_again_where_its_line_has_moved(here: Path) -> None:
    def prints() -> list[str]:
        return [result["partialFingerprints"]["botCheck/v1"] for result in sarif("bot")["results"]]

    make_bot(here / "bot", BAD)
    before = prints()
    make_bot(here / "bot", "# moved\n\n" + BAD)
    assert prints() == before
    make_bot(here / "bot", BAD.replace("helo", "hallo"))
    assert prints()[0] != before[0]
    assert len(set(before)) == 2


@pytest.mark.parametrize(
    ("code", "title"), [("E102", "# E102: no such step"), ("W101", "# W101: a step that nobody reaches")]
)
def test_a_code_is_explained(code: str, title: str) -> None:
    explained = call("explain", code)
    assert (explained.code, explained.lines[0]) == (0, title)
    assert "Wrong" in explained.out


@pytest.mark.parametrize(("code", "times"), [("W302", 1), ("W501", 1), ("E102", 0)])
def test_a_findings_explanation_says_once_how_it_is_allowed(code: str, times: int) -> None:
    explained = call("explain", code).out
    assert (explained.count("## Allowing it"), explained.count(f"# allow {code}: ")) == (times, times)


def test_a_code_is_explained_on_each_place_of_a_bot_that_has_it(here: Path) -> None:
    make_bot(here / "one", BAD)
    explained = call("explain", "E102", "one")
    assert explained.code == 1
    assert explained.lines[0] == "# E102: no such step"
    assert "Wrong" not in explained.out
    assert explained.out.endswith(
        'one/flows/main.yml:4:29: E102 no step "helo"\n'
        "  4 |   hello: {say: Hello, then: helo}\n"
        "    |                             ^^^^\n"
        '    fix: did you mean "hello"?\n'
        "\n"
        "`bot explain E102` has an example of it, and the same without the fault.\n"
    )
    assert "E107" not in explained.out


def test_a_finding_is_explained_with_its_conversation_or_its_path(here: Path) -> None:
    late = "flow: main\nstart: {words: [hi]}\nsteps:\n  a: {ask: A?, buttons: {B: end}, timeout: {after: 30h, say: Hello?, then: end}}\n"
    make_bot(here / "one", late)
    explained = call("explain", "W501", "one")
    assert (explained.code, explained.lines[0]) == (1, "# W501: a message after the window has closed")
    assert (
        '  How to get there:\n    you write "hi"\n' in explained.out
        and "    fix: declare `window_closed: {template: {name: ..., language: ...}}`" in explained.out
    )
    none = (
        "flow: main\nstart: {words: [hi]}\nvars: {n: integer, m: integer}\nsteps:\n  a: {ask: N?, save: n, timeout: {after: 1h, then: end}}\n"
        "  b: {branch: [{if: n * n == 1018081, then: c}, {else: end}]}\n  c: {say: '{{ m }}'}\n"
    )
    make_bot(here / "two", none)
    explained = call("explain", "W301", "two")
    path = "  The path there:\n    step main/a is left by `then`\n    step main/b is left by `if 1: n * n == 1018081`\n"
    assert explained.code == 1 and path in explained.out


def test_a_code_that_a_bot_does_not_have_is_explained_by_its_page(here: Path) -> None:
    make_bot(here / "one", GOOD)
    explained = call("explain", "E102", "one")
    assert explained.code == 0
    assert "Wrong" in explained.out and explained.lines[-1] == f"{NOTHING_FOUND.partition(':')[0]} has no E102."
    make_bot(here / "one", BAD)
    explained = call("explain", "W301", "one")
    assert (explained.code, explained.lines[-1]) == (
        0,
        "More may be found once the bot loads: correct what is wrong, and check again.",
    )


def test_a_code_that_is_none_is_wrong_usage() -> None:
    explained = call("explain", "W999")
    assert explained.code == 2
    assert "there is no code W999" in explained.err


@pytest.mark.parametrize("text", ["", "- a list"])
def test_defaults_that_could_not_be_read_are_not_missed_at_every_step(tmp_path: Path, text: str) -> None:
    waits = "flow: main\nstart: {otherwise: true}\nsteps:\n  ask: {ask: Well?, buttons: {Good: end}}\n"
    assert "E130" in call("check", make_bot(tmp_path, waits, bot="name: Without defaults")).out
    checked = call("check", make_bot(tmp_path, waits, bot=text), "--json")
    assert checked.code == 1
    assert {problem["code"] for problem in json.loads(checked.out)} <= {"E100", "E101"}


def test_what_handlers_print_is_no_part_of_the_report(tmp_path: Path) -> None:
    checked = call("check", make_bot(tmp_path, GOOD, handlers='print("connected")\n'), "--json")
    assert (json.loads(checked.out), checked.err) == ([], "connected\n")


def test_problems_of_a_test_are_no_hindrance_to_serving(tmp_path: Path) -> None:
    from bot.loading.folder import read_folder
    from bot.loading.program import problems_of

    make_bot(tmp_path, GOOD, tests="test: t\ntalk: [{usr: hi}]\n")
    assert problems_of(read_folder(tmp_path)) == []
    assert call("check", tmp_path).code == 1


def test_a_large_bot_is_checked_whole(tmp_path: Path) -> None:
    checked = call("check", generated_bot(tmp_path, steps=200, flows=5))
    assert (checked.code, checked.out) == (0, "Large: no problems in 5 flows, 200 steps and 0 tests.\n")


def test_colours_are_for_a_terminal_only(tmp_path: Path) -> None:
    assert "\033" not in call("check", make_bot(tmp_path, BAD)).out


class Watching:
    """`bot check --watch` in a process of its own, on a pipe or a terminal."""

    def __init__(self, folder: Path, terminal: bool) -> None:
        self._end, out = pty.openpty() if terminal else os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bot", "check", str(folder), "--format", "short", "--watch"], stdout=out, cwd=ROOT
        )
        os.close(out)

    def until(self, words: str) -> None:
        """Wait for a report that has these words: while files are being written, there may be others before it."""
        while words not in self._report():
            pass

    def _report(self) -> str:
        """What is printed until it waits for the next change."""
        printed = b""
        while b"Ctrl-C ends." not in printed:
            assert select.select([self._end], [], [], PATIENCE)[0], printed
            read = os.read(self._end, 1)
            assert read, printed
            printed += read
        return click.unstyle(printed.decode())

    def interrupt(self) -> int:
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._end)


@pytest.fixture(params=[False, True], ids=["piped", "terminal"])
def watching(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watching]:
    watching = Watching(make_bot(tmp_path, BAD), request.param)
    yield watching
    watching.close()


def test_watching_writes_no_tests(tmp_path: Path) -> None:
    refused = call("check", make_bot(tmp_path, BAD), "--watch", "--write-tests", tmp_path / "out")
    assert (refused.code, "--watch prints text only: leave out --write-tests" in refused.err) == (2, True)


def test_it_checks_again_when_a_file_is_saved_until_it_is_interrupted(watching: Watching, tmp_path: Path) -> None:
    watching.until("2 problems")
    make_bot(tmp_path, GOOD)
    watching.until("no problems in 1 flow")
    assert watching.interrupt() == 0


def test_what_is_for_programs_is_not_watched(tmp_path: Path) -> None:
    refused = call("check", make_bot(tmp_path, GOOD), "--watch", "--json")
    assert refused.code == 2
    assert "--watch" in refused.err


def hooks() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert isinstance(loaded, list)
    return loaded


def test_the_pre_commit_hook_runs_and_fails_where_something_is_found(here: Path) -> None:
    (hook,) = hooks()
    command, *arguments = shlex.split(hook["entry"])
    assert (command, hook["language"], hook["pass_filenames"]) == ("bot", "python", False)
    make_bot(here / "bots", BAD)
    assert call(*arguments, "bots").code == 1
    make_bot(here / "bots", GOOD)
    assert call(*arguments, "bots").code == 0


def test_the_documented_hook_is_the_one_that_there_is() -> None:
    page = (ROOT / "docs" / "checks" / "README.md").read_text()
    written = yaml.safe_load(page.partition("```yaml .pre-commit-config.yaml\n")[2].partition("```")[0])
    assert [hook["id"] for repository in written["repos"] for hook in repository["hooks"]] == [hooks()[0]["id"]]


def test_a_group_of_a_pattern_that_is_no_variable_is_a_problem_and_no_defect(tmp_path: Path) -> None:
    flow = "flow: a\nstart: {pattern: 'take (?P<count>[0-9]+)'}\nsteps:\n  a: {say: A, then: end}\n"
    checked = call("check", make_bot(tmp_path, flow), "--format", "short")
    assert checked.code == 1
    assert 'E301 flow "a": start: no variable "count" (declare it under vars: count: {type: text})' in checked.out


@pytest.mark.parametrize("name", ["Main", "my-flow", "5", "[a, b]"])
def test_a_flow_whose_name_is_none_is_a_problem_and_no_defect(tmp_path: Path, name: str) -> None:
    leading = "flow: a\nstart: {words: [a]}\nsteps:\n  a: {say: A, then: /main}\n---\n"
    folder = make_bot(tmp_path, f"{leading}flow: {name}\nstart: {{words: [b]}}\nsteps:\n  b: {{say: B}}\n")
    checked = call("check", folder, "--format", "short")
    assert (checked.code, checked.out.count(" E1")) == (1, 1)
    assert " this document: flow: " in checked.out
