"""What comes back from outside, and waits for the next pass."""

from typing import Any

import pytest

from bot.runtime.engine_input import EngineInput


@pytest.mark.parametrize(
    ("most", "sent", "called", "requests"),
    [(1, 1, 0, 0), (2, 2, 0, 0), (3, 2, 1, 0), (5, 2, 3, 0), (6, 2, 3, 1), (9, 2, 3, 2)],
)
def test_a_pass_takes_the_first_of_what_waits_results_before_requests(
    most: int, sent: int, called: int, requests: int
) -> None:
    named: list[Any] = [["s1", "s2"], ["c1", "c2", "c3"], ["r1", "r2"]]
    incoming = EngineInput(*named)
    first = incoming.first(most)
    assert first == EngineInput(named[0][:sent], named[1][:called], named[2][:requests])
    left = len(incoming) - len(first)
    incoming.drop(first)
    assert len(incoming) == left
