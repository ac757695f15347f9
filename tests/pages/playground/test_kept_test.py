"""A conversation of the playground that is kept as a test, and one that is replayed, without the page."""

from datetime import timedelta
from pathlib import Path

from bot.pages.playground.kept_test import kept_test
from bot.pages.playground.replaying import replay
from tests.cli.terminal import call
from tests.pages.playground.conftest import Serves
from tests.pages.playground.test_playground_app import CONTACT

FLOWS = """
flow: main
start: {otherwise: true}
steps:
  drink: {ask: What would you like?, remind: {after: 10m, say: Still there?}, timeout: {after: 30m, then: late}}
  thanks: {say: "Thanks!", then: end}
  late: {say: Too late., then: end}
"""


def test_the_next_event_is_the_next_one_in_the_kept_test_and_in_a_replay(serves: Serves, tmp_path: Path) -> None:
    playground, _ = serves(FLOWS)
    playground.write(CONTACT, "hi")
    playground.simulation.settle()
    for _ in range(2):
        playground.simulation.clock.move(timedelta(seconds=47))
        playground.wait_for_next()
    said = [bubble.message.text for bubble in playground.chats.bubbles(CONTACT) if bubble.message]
    assert said == ["What would you like?", "Still there?", "Too late."]
    test = kept_test(playground, CONTACT)
    (tmp_path / "tests.yml").write_text(test)
    outcome = call("test", tmp_path)
    assert outcome.code == 0, f"{test}\n{outcome.out}"
    assert replay(playground, CONTACT).difference == ""
