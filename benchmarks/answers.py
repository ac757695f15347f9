"""How soon a model's answer begins: ``python -m benchmarks.answers``. In paragraphs, against waiting for the whole.

The model is emulated and speaks at a steady rate; client, stream and paragraphs are the real ones. Printed is what
a contact waits for the first message, up to where it is handed to the engine.
"""

import argparse
import statistics
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from time import monotonic

from bot.core.alarms import Alarms
from bot.core.clock import SystemClock
from bot.core.effects import AskModel
from bot.runtime.model_calls import ModelBreaker, ModelCalls
from bot.services.ai.ai_client import Completions
from bot.store.rows import CallRow
from bot.testing.emulator.completion import CompletionService

MODEL = "acme/steady"
PARAGRAPHS = 3  # said early


def answer(tokens: int, paragraph: int) -> str:
    """So many words, each a piece of the stream, in paragraphs of so many."""
    words = [f"word{number}" for number in range(tokens)]
    cut = [words[start : start + paragraph] for start in range(0, tokens, paragraph)]
    return "\n\n".join(" ".join(part) for part in cut)


def first_message(completing: ModelCalls, number: int, paragraphs: int) -> float:
    """The seconds until there is something to send."""
    row = CallRow(
        id=number,
        ref=f"e{number}#0",
        key=f"key{number}",
        contact=f"62812345{number:05}",
        effect=AskModel(({"role": "user", "content": "Tell me."},), paragraphs=paragraphs),
        attempts=0,
        due_at=datetime.now(UTC),
    )
    started = monotonic()
    said: list[float] = []

    def say(text: str) -> bool:
        said.append(monotonic() - started)
        return True

    ended = completing(row, say)
    assert ended.outcome == "done", ended
    return said[0] if said else monotonic() - started


def measure(service: CompletionService, paragraphs: int, contacts: int) -> list[float]:
    """How long so many contacts at once wait."""
    clock = SystemClock()
    client = Completions(service.url, service.key)
    completing = ModelCalls(
        client,
        ModelBreaker(clock),
        [MODEL],
        lambda contact, since: 0,
        lambda name, given, key: None,
        clock,
        Alarms(clock),
    )
    with ThreadPoolExecutor(contacts) as pool:
        waits = list(pool.map(lambda number: first_message(completing, number, paragraphs), range(contacts)))
    client.close()
    return waits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--rate", type=float, default=30.0, help="tokens a second")
    parser.add_argument("--paragraph", type=int, default=60, help="tokens a paragraph")
    parser.add_argument("--contacts", type=int, default=8, help="how many ask at once")
    given = parser.parse_args()
    text = answer(given.tokens, given.paragraph)
    with CompletionService(models=[MODEL], threads=given.contacts) as service:
        service.answer_with(lambda request: text)
        service.pieces_per_second = given.rate
        whole = measure(service, 0, given.contacts)
        early = measure(service, PARAGRAPHS, given.contacts)
    print(
        f"{given.tokens} tokens at {given.rate:g} a second, paragraphs of {given.paragraph}, {given.contacts} at once"
    )
    for name, waits, ideal in (
        ("waiting for the whole", whole, given.tokens / given.rate),
        ("paragraph by paragraph", early, given.paragraph / given.rate),
    ):
        median, worst = statistics.median(waits), max(waits)
        print(f"{name:>24}: first message after {median:6.2f} s (worst {worst:.2f}; the model alone {ideal:.2f})")
    print(f"{'':>24}  {statistics.median(whole) / statistics.median(early):.1f} times sooner")


if __name__ == "__main__":
    main()
