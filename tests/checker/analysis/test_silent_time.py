"""The longest silence before messages."""

import pytest

from bot.checker.analysis.longest_paths import LongestPaths, Node, Path
from bot.checker.analysis.silent_time import SilentTimes
from bot.checker.graph import Graph
from tests.checker.proved import BOT, library


def test_a_part_that_several_paths_have_in_common_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = "".join(f"\n  w{number}: {{wait: 26h}}\n  s{number}: {{say: Hello {number}}}" for number in range(40))
    graph = Graph(library(f"flow: main\nstart: {{words: [hi]}}\nsteps:{steps}"))
    silent_times, followed = SilentTimes(graph), list[Node]()
    beginning = LongestPaths.beginning

    def noted(paths: LongestPaths, node: Node) -> Path:
        followed.append(node)
        return beginning(paths, node)

    monkeypatch.setattr(LongestPaths, "beginning", noted)
    late = [place for place in graph.steps if place[1].startswith("s")]
    first = silent_times.first(late)
    assert first == dict.fromkeys(late, ("main", "s0"))
    assert len(followed) == len(set(followed))


def test_a_circle_may_set_the_language() -> None:
    steps = "{ask: {ask: Drink?, timeout: {after: 26h, then: switch}}, switch: {set: {language: en}, then: ask}}"
    flow = f"flow: main\nstart: {{words: [hi]}}\nsteps: {steps}\n"
    graph = Graph(library(flow, bot=f"{BOT}\nlanguages: [en, fr]\n"))
    assert SilentTimes(graph).first([("main", "ask")]) == {("main", "ask"): ("main", "ask")}
