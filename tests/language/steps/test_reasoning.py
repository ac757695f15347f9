"""What a model thinks is never read as its answer, wherever the service puts it."""

from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation
from tests.cli.terminal import make_bot
from tests.talk import START

BOT = "name: T\nai: {reasoning_split: true}\ndefaults: {timeout: {after: 20h, then: end}, errors: {else: end}}\n"
FLOWS = """
flow: order
start: {words: [order], about: They want to order., title: Order}
steps: {order: {say: You order., then: end}}
---
flow: hours
start: {about: They ask when we are open., title: Hours}
steps: {hours: {say: We are open., then: end}}
---
flow: sort
start: {words: [sort]}
steps:
  sort:
    classify: What is it?
    text: When may I come?
    exits: {order: {when: An order., then: ordered}, hours: {when: Hours., then: opened}}
    other: neither
  ordered: {say: Sorted as order., then: end}
  opened: {say: Sorted as hours., then: end}
  neither: {say: Sorted as nothing., then: end}
---
flow: table
start: {words: [table]}
slots: {fill: [guests, day], model: true}
vars: {guests: integer, day: date}
steps:
  guests: {ask: How many?, save: guests, retry: {say: Hm?}}
  day: {ask: Which day?, save: day}
  done: {say: "{{ guests }} guests", then: end}
"""


@pytest.mark.parametrize("place", ["left", "apart"])
@pytest.mark.parametrize(
    ("lines", "think", "answer", "last"),
    [
        (["when may I come"], "order 95", "hours 90", "We are open."),
        (["sort"], "order", "hours", "Sorted as hours."),
        (["table", "as many as last time"], '{"guests": 9}', '{"guests": "12"}', "Which day?"),
        (["sort"], "order", "none", "Sorted as nothing."),
    ],
)
def test_it_is_not_the_answer(tmp_path: Path, place: Any, lines: list[str], think: str, answer: str, last: str) -> None:
    program = load_program(read_folder(make_bot(tmp_path, FLOWS, bot=BOT)))
    with Simulation(program, MovableClock(START)) as chat:
        chat.service.behaviour.reasoning = place
        chat.service.say(answer, think=think)
        for line in lines:
            chat.user(line)
        assert chat.phones.heard()[-1].text == last
        frame = chat.stored.session().frame
        assert frame is None or frame.vars["guests"] == 12
        assert chat.service.requests()[-1].body["reasoning_split"] is True
