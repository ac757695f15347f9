"""To what each finding belongs."""

from bot.checker.drawing.flow_drawing import FindingIndex
from bot.checker.findings import Finding
from bot.language.source.problems import Mark
from tests.checker.proved import library

FLOW = """
flow: a
vars: {x: {type: text}}
steps:
  one:
    say: One
  two: {say: Two, then: end}
words:
  help: {say: Help., then: again}
---
flow: b
steps: {one: {say: One}, two: {say: Two, then: end}}
"""


def owners(*places: tuple[str, int, int]) -> list[str]:
    found = library(FLOW)
    findings = [Finding.at("W101", Mark(*place), str(number), "") for number, place in enumerate(places)]
    flags = FindingIndex.of(found, findings)
    names = {
        f"{flow.name}/{step}": flags.at_step(flow.name, step) for flow in found.flows.values() for step in flow.steps
    }
    names |= {name: flags.at_flow(name) for name in found.flows}
    names |= {path: flags.elsewhere().get(path, ()) for path, _, _ in places}
    by_number = {flag.text: name for name, found in names.items() for flag in found}
    return [by_number[str(number)] for number in range(len(places))]


def test_a_finding_belongs_to_the_step_that_it_stands_in() -> None:
    assert owners(("flow1.yml", 5, 3), ("flow1.yml", 6, 10), ("flow1.yml", 7, 15)) == ["a/one", "a/one", "a/two"]


def test_steps_in_one_line_are_told_apart() -> None:
    assert owners(("flow1.yml", 12, 15), ("flow1.yml", 12, 30)) == ["b/one", "b/two"]


def test_what_stands_beside_the_steps_is_the_flows() -> None:
    assert owners(("flow1.yml", 3, 8), ("flow1.yml", 8, 1), ("flow1.yml", 12, 1)) == ["a", "a", "b"]


def test_all_else_is_its_files() -> None:
    assert owners(("bot.yml", 2, 1), ("flow1.yml", 1, 1)) == ["bot.yml", "flow1.yml"]
