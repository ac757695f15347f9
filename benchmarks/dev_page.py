"""How soon the page of `bot dev` shows something: ``python -m benchmarks.dev_page``. A conversation of 1,000 turns in a
flow of 100 steps.

In a real Chromium: the time from an address to the first view (messages, map, turns), and from Enter to the painted
answer of the bot. Medians of ``--runs``, also with all messages shown.
"""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

from bot.cli.shared.flow_reloader import BotFiles
from bot.core.clock import MovableClock
from bot.pages.playground.playground import Playground
from bot.pages.playground.playground_server import PlaygroundServer
from tests.tools import chromium_path

STEPS, TURNS = 100, 1_000
LIMITS = {"first view": 1_000.0, "answer": 150.0}  # ms
FIRST_VIEW = """() => new Promise((done) => {
  const look = () => document.querySelector("#drawing svg") && document.querySelector(".bubble.bot")
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now())))
    : requestAnimationFrame(look);
  look();
})"""
ANSWER = """(text) => new Promise((done) => {
  const field = document.getElementById("text");
  const newest = () => [...document.querySelectorAll(".bubble.bot")].at(-1)?.id;
  const before = newest();
  field.value = text;
  const begun = performance.now();
  field.form.requestSubmit();
  const look = () => newest() !== before
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)))
    : requestAnimationFrame(look);
  look();
})"""


def flow() -> str:
    """A flow of `STEPS` questions, which begins anew at its end."""
    lines = ["flow: main", "start: {otherwise: true}", "vars: {answer: {type: text}}", "steps:"]
    for step in range(STEPS):
        then = f"s{(step + 1) % STEPS}"
        lines.append(f"  s{step}: {{ask: What is the answer to question {step}?, save: answer, then: {then}}}")
    return "\n".join(lines)


def first_view(browser: Browser, url: str) -> tuple[Page, float]:
    """A page in a browser that knows nothing of it yet, and the milliseconds until it showed something."""
    page = browser.new_context(viewport={"width": 1920, "height": 1080}).new_page()
    page.goto(url, wait_until="commit")
    return page, float(page.evaluate(FIRST_VIEW))


def measured(browser: Browser, url: str, runs: int) -> dict[str, float]:
    """The medians, in milliseconds."""
    views, answers = [], []
    for run in range(runs):
        page, taken = first_view(browser, url)
        views.append(taken)
        answers += [float(page.evaluate(ANSWER, f"answer {run}.{number}")) for number in range(5)]
        page.context.close()
    return {"first view": median(views), "answer": median(answers)}


def main() -> int:
    """Measure, and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=5)
    runs = options.parse_args().runs
    with TemporaryDirectory() as folder:
        Path(folder, "bot.yml").write_text("name: Hundred\ndefaults: {timeout: {after: 20h, then: end}}\n")
        Path(folder, "main.yml").write_text(flow())
        files = BotFiles(Path(folder))
        program = files.load()
        clock = MovableClock(datetime(2030, 5, 6, 12, tzinfo=UTC), running=True)
        with Playground(program, clock, secrets={}) as playground, sync_playwright() as playwright:
            for turn in range(TURNS):
                playground.write(playground.chats.contacts[0], f"answer {turn}")
                playground.simulation.settle()
            with (
                PlaygroundServer(playground, program, files.folder) as server,
                playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"]) as browser,
            ):
                address = f"{server.url}contact/{playground.chats.contacts[0]}"
                found = measured(browser, address, runs)
                whole = measured(browser, f"{address}?all=1", runs)
    for name, taken in found.items():
        print(f"{name:12}{taken:6.0f} ms of at most {LIMITS[name]:.0f}; with all messages {whole[name]:.0f} ms")
    return int(any(found[name] > LIMITS[name] for name in found))


if __name__ == "__main__":
    sys.exit(main())
