"""`bot evaluate`, and what `bot test` does with recordings."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.testing.emulator.completion import CompletionService
from tests.cli.terminal import call, make_bot

SWIFT, WISE = "acme/swift", "acme/wise"
FLOWS = """
flow: main
start: {otherwise: true}
steps: {talk: {ai: You greet., exits: {done: {when: they go, then: end}}, errors: {else: {say: Sorry., then: end}}}}
"""
TESTS = """test: a greeting
talk: [{user: hi}, {model: Hello}, {bot: Hello}]
---
evaluate: it greets
times: 2
talk: [{user: hi}, {expect: {says: {contains: hello}}}]
"""
RECORDING = Path("flows", "tests.recorded.json")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[CompletionService]:
    with CompletionService(models=(SWIFT, WISE), threads=2) as emulated:
        emulated.answer_with(lambda body: "Hello!" if body["model"] == SWIFT else "Good bye")
        for name, value in {"URL": emulated.url, "KEY": emulated.key, "MODEL": SWIFT}.items():
            monkeypatch.setenv(f"BOT_AI_{name}", value)
        yield emulated


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_bot(tmp_path, FLOWS, tests=TESTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_models_are_compared_and_a_failing_try_is_shown(greeter: Path, service: CompletionService) -> None:
    held = call("evaluate", "--model", f"{SWIFT},{WISE}")
    assert held.code == 1
    good, bad, *shown = held.lines[:-3]
    assert good.startswith(f"ok    it greets: 2 of 2, 16-100 %, with {SWIFT}, ") and good.endswith(" s an answer")
    assert bad.startswith(f"FAIL  it greets: 0 of 2, 0-84 %, with {WISE}, ")
    assert shown == [
        "      flows/tests.yml:6: the conversation is not as expected (tries 1, 2)",
        "",
        "      user   hi",
        "      bot    Good bye",
        "",
        "      expected                   got",
        "      says: contains: hello    ≠ says: contains: Good bye",
        "",
    ]
    assert held.lines[-3].startswith(f"{SWIFT}: 1 evaluation, all passed (100 % of 2 tries); ")
    assert held.lines[-2].startswith(f"{WISE}: 1 evaluation, 1 failed (0 % of 2 tries); ")
    assert held.lines[-1].endswith(" of 500,000 tokens used up.")
    assert len(service.requests("chat/completions")) == 4


def test_of_what_failed_in_an_evaluation_that_passes_the_place_is_named(
    greeter: Path, service: CompletionService
) -> None:
    (greeter / "flows" / "tests.yml").write_text(TESTS.replace("times: 2", "pass: 30%"))
    service.say("Good bye")
    held = call("evaluate")
    assert held.code == 0
    assert held.lines[1].startswith(f"ok    it greets: 5 of 6, 36-100 %, with {SWIFT}, ")
    assert held.lines[2] == ("      flows/tests.yml:6: the conversation is not as expected: says: contains (try 1)")


def test_after_the_first_try_it_says_how_many_a_bar_needs_and_what_they_cost(
    greeter: Path, service: CompletionService
) -> None:
    (greeter / "flows" / "tests.yml").write_text(TESTS.replace("times: 2", "pass: 30%"))
    held = call("evaluate")
    announced, passed, *_, used = held.lines
    one = int(used.partition(" ")[0].replace(",", "")) // 3
    needs = "it greets: at least 3 tries are needed, about"
    assert announced == f"{needs} {3 * one:,} tokens (at most 12, {12 * one:,} tokens)"
    assert passed.startswith(f"ok    it greets: 3 of 3, 29-100 %, with {SWIFT}, {3 * one:,} tokens, ")


def test_a_run_stops_at_once_if_the_tries_that_are_needed_cost_too_much(
    greeter: Path, service: CompletionService
) -> None:
    (greeter / "flows" / "tests.yml").write_text(TESTS.replace("times: 2", "pass: 97%"))
    short = call("evaluate", "--budget", "9000")
    assert short.code == 1 and len(service.requests("chat/completions")) == 1
    assert "of 9,000 tokens are left, and the tries that are needed may cost " in short.lines[-1]


def test_too_many_failures_fail_and_too_few_tries_are_unsure(greeter: Path, service: CompletionService) -> None:
    tests = greeter / "flows" / "tests.yml"
    tests.write_text(TESTS.replace("times: 2", "pass: 30%"))
    failed = call("evaluate", "--model", WISE)
    assert failed.code == 1
    assert failed.lines[1].startswith(f"FAIL  it greets: 0 of 3, 0-71 %, with {WISE}, ")
    assert failed.lines[2] == "      too many failures to show that more than 30 % pass"
    tests.write_text(TESTS.replace("times: 2", "times: 3\npass: 30%"))
    service.say("Good bye")
    unsure = call("evaluate")
    assert unsure.code == 1
    assert unsure.lines[1].startswith(f"?     it greets: 0 of 1, 0-97 %, with {SWIFT}, ")
    assert unsure.lines[2] == "      not sure that more than 30 % pass: 5 more tries decide if all pass (times: 6)"
    assert ": 1 evaluation, 1 not sure (0 % of 1 try); " in unsure.out


def test_what_is_recorded_is_held_by_bot_test_without_a_model(greeter: Path, service: CompletionService) -> None:
    before = call("test")
    assert before.code == 0
    assert before.lines[-1] == (
        "1 evaluation is not run, because there is no recording: `bot evaluate --record` asks a model."
    )
    assert call("evaluate", "--record").code == 0
    asked = service.counts["requests"]
    after = call("test")
    assert (after.code, service.counts["requests"]) == (0, asked)
    assert after.lines[1].startswith(f"ok    it greets: 2 of 2, 16-100 %, with {SWIFT}, recorded, ")
    assert after.lines[-1].startswith(f"{SWIFT}, recorded: 1 evaluation, all passed")


def test_a_stale_recording_fails_and_says_how_to_make_it_anew(greeter: Path, service: CompletionService) -> None:
    call("evaluate", "--record")
    (greeter / "flows" / "main.yml").write_text(FLOWS.replace("greet", "greet warmly"))
    stale = call("test", "-k", "it greets")
    assert stale.code == 1
    assert stale.lines[:4] == [
        f"FAIL  it greets with {SWIFT}, recorded",
        "      flows/tests.yml:4: the recording is of other questions: the text for the model has changed: its "
        "instructions, the facts or the known values",
        f"      Record it again: bot evaluate . --model {SWIFT} --record -k 'it greets'",
        f"      Or take {SWIFT} out of flows/tests.recorded.json, if it is not used any more.",
    ]
    assert call("evaluate", ".", "--model", SWIFT, "--record", "-k", "it greets").code == 0
    assert call("test").code == 0


def test_a_file_that_is_no_recording_is_named_with_what_to_do(greeter: Path, service: CompletionService) -> None:
    (greeter / RECORDING).write_text('{"it greets": {"acme/swift": [[{}]]}}')
    broken = call("test")
    assert broken.code == 1
    assert broken.err.startswith("flows/tests.recorded.json cannot be read as a recording: delete it, or write it anew")
    assert call("evaluate", "--record").code == 0
    assert call("test").code == 0


def test_only_what_was_recorded_of_evaluations_that_are_there_is_kept(
    greeter: Path, service: CompletionService
) -> None:
    (greeter / "flows" / "tests.yml").write_text(TESTS.replace("hello", "o"))
    call("evaluate", "--model", f"{SWIFT},{WISE}", "--record")
    tests = greeter / "flows" / "tests.yml"
    tests.write_text(tests.read_text().replace("it greets", "it says hello"))
    call("evaluate", "--record")
    recorded = json.loads((greeter / RECORDING).read_text())
    assert {name: [*models] for name, models in recorded.items()} == {"it says hello": [SWIFT]}


def test_what_fails_is_not_recorded(greeter: Path, service: CompletionService) -> None:
    held = call("evaluate", "--model", WISE, "--record")
    assert held.code == 1
    assert "      Not recorded, since it failed." in held.lines
    assert not (greeter / RECORDING).exists()


def test_two_evaluations_of_one_name_in_a_file_are_a_problem(greeter: Path, service: CompletionService) -> None:
    make_bot(greeter, FLOWS, tests=f"{TESTS}---\nevaluate: it greets\ntalk: [user: hi]\n")
    doubled = call("test")
    assert doubled.code == 1
    assert doubled.lines[0].startswith(
        'flows/tests.yml:8:1: E108 a second evaluation "it greets", the first is in line 4'
    )


def test_the_check_counts_them_beside_the_tests(greeter: Path) -> None:
    assert call("check").lines[-1].endswith(" and 1 evaluation.")


def test_a_program_reads_how_each_try_went(greeter: Path, service: CompletionService) -> None:
    held = json.loads(call("evaluate", "--model", WISE, "--json").out)
    (one,) = held["evaluations"]
    assert (one["evaluate"], one["model"], one["line"]) == ("it greets", WISE, 4)
    assert (one["passed"], one["recorded"], one["times"], one["pass"], one["stale"]) == (False, False, 2, None, None)
    assert (one["verdict"], one["interval"]) == ("failed", [0, 84])
    assert one["tries"][0]["failure"]["differences"] == [
        {"what": "says: contains", "expected": "hello", "got": "Good bye"}
    ]
    assert one["tries"][0]["tokens"]["prompt"] > 0 and one["tries"][0]["seconds"] >= 0
    assert held["stopped"] == []
    tested = json.loads(call("test", "--json").out)
    assert [test["test"] for test in tested["tests"]] == ["a greeting"]
    assert (tested["evaluations"], tested["unrecorded"]) == ([], ["it greets"])


def test_a_run_that_stops_says_why_and_what_to_do(greeter: Path, service: CompletionService) -> None:
    short = call("evaluate", "--budget", "1300")
    assert short.code == 1
    assert short.lines[-1].startswith(f"{SWIFT}: 1 of 1 evaluation is not run: ") and "--budget" in short.lines[-1]
    assert short.lines[-2].endswith(" of 1,300 tokens used up.") and not short.lines[-2].startswith("0 ")
    service.close_key()
    refused = call("evaluate", "--json")
    assert refused.code == 1
    assert "BOT_AI_KEY" in json.loads(refused.out)["stopped"][0]


def test_a_comparison_records_nothing(greeter: Path, service: CompletionService) -> None:
    refused = call("evaluate", "--compare", "--record")
    assert (refused.code, "--compare records nothing: leave out --record" in refused.err) == (2, True)


def test_without_a_model_or_an_evaluation_nothing_is_held(
    greeter: Path, service: CompletionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = call("evaluate", "-k", "a greeting")
    assert none.code == 1
    assert none.out == 'Test Bot has no evaluation with "a greeting" in its name: there are it greets.\n'
    monkeypatch.delenv("BOT_AI_MODEL")
    unnamed = call("evaluate")
    assert unnamed.code != 0 and "BOT_AI_MODEL" in unnamed.err


def test_a_model_that_is_not_listed_is_named_before_anything_is_asked(
    greeter: Path, service: CompletionService
) -> None:
    unknown = call("evaluate", "--model", "acme/swfit")
    assert unknown.code == 2
    assert 'there is no model "acme/swfit" (did you mean "acme/swift"?)' in unknown.err
    assert call("evaluate", "--judge", "acme/judge").code == 2
    assert service.requests("chat/completions") == []


def test_an_interrupted_run_says_what_was_held_and_used_up(greeter: Path, service: CompletionService) -> None:
    def speak(body: dict[str, Any]) -> str:
        if body["model"] == WISE:
            signal.raise_signal(signal.SIGINT)  # Ctrl-C, while the second model is asked
        return "Hello"

    service.answer_with(speak)
    held = call("evaluate", "--model", f"{SWIFT},{WISE}")
    assert held.code == 1
    assert held.lines[0].startswith(f"ok    it greets: 2 of 2, 16-100 %, with {SWIFT}, ")
    assert held.lines[-2].endswith(" of 500,000 tokens used up.")
    assert held.lines[-1] == f"{WISE}: 1 of 1 evaluation is not run: interrupted"


def test_a_model_that_fails_leaves_the_others_to_be_compared(greeter: Path, service: CompletionService) -> None:
    service.fail("quota_exceeded", reset_in="3h")
    held = call("evaluate", "--model", f"{WISE},{SWIFT}")
    assert held.code == 1
    assert held.lines[0].startswith(f"ok    it greets: 2 of 2, 16-100 %, with {SWIFT}, ")
    assert held.lines[-1].startswith(f"{WISE}: 1 of 1 evaluation is not run: quota_exceeded: ")


def test_another_model_judges_and_one_that_judges_itself_is_named(
    greeter: Path, service: CompletionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = greeter / "flows" / "tests.yml"
    tests.write_text(TESTS.replace("contains: hello", "judge: Is it?").replace("times: 2", "times: 1"))
    service.answer_with(lambda body: "Yes.")
    alone = call("evaluate")
    assert alone.lines[-1] == f"{SWIFT} has judged itself: name another model with --judge, or in BOT_AI_MODEL."
    monkeypatch.setenv("BOT_AI_MODEL", f"{WISE},{SWIFT}")
    both = call("evaluate")
    assert "judged itself" not in both.out
    assert [seen.body["model"] for seen in service.requests("chat/completions")[-4:]] == [WISE, SWIFT, SWIFT, WISE]


def test_a_judge_cannot_move_the_cursor(greeter: Path, service: CompletionService) -> None:
    tests = greeter / "flows" / "tests.yml"
    tests.write_text(TESTS.replace("contains: hello", "judge: Is it?").replace("times: 2", "times: 1"))
    service.say("Hello")
    service.say("No, \x1b[2Jit is not.")
    held = call("evaluate")
    assert "\x1b" not in held.out and "it is not." in held.out
