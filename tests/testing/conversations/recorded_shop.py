"""A model that does what the evaluations of `examples/shop` ask for, at the emulated service.

``python -m tests.testing.conversations.recorded_shop`` records it. Run it after each change of the prompts.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bot.testing.emulator.completion import CompletionService, ModelAnswer
from tests.cli.terminal import Outcome, call

SHOP = Path(__file__).parents[3] / "examples" / "shop"
MODEL = "acme/stand-in"


def assistant(body: dict[str, Any]) -> ModelAnswer | str:
    """The shop's assistant, and the judge of what it says."""
    rules, said = (body["messages"][number]["content"] for number in (0, -1))
    if rules.startswith("You judge"):
        return "Yes. The chatbot does so in its answer."
    if "Sunday" in said:
        return "Yes, we are open daily from 9:00 to 18:00, on Sundays too."
    if "AB123456" in said:
        return ModelAnswer(
            "One moment, I look.", calls=[("remember", {"order_no": "AB123456"}), ("leave_tracking", {})]
        )
    if "money back" in said:
        return "I am sorry about your shoes. A colleague can look at it with you: shall I get one?"
    return ModelAnswer("I get a colleague for you.", calls=[("leave_person", {})])


@contextmanager
def shop_model() -> Iterator[dict[str, str]]:
    """The settings by which that model is asked."""
    with CompletionService(models=(MODEL,), threads=2) as service:
        service.answer_with(assistant)
        yield {"BOT_AI_URL": service.url, "BOT_AI_KEY": service.key, "BOT_AI_MODEL": MODEL}


def record(folder: Path) -> Outcome:
    """Record the evaluations of a copy of the shop."""
    with shop_model() as settings:
        os.environ.update(settings)
        return call("evaluate", folder, "--record")


if __name__ == "__main__":
    recorded = record(SHOP)
    print(recorded.out, recorded.err)
    sys.exit(recorded.code)
