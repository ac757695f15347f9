"""How long a check takes: ``python -m benchmarks.checker``. Bots of 1,000 and of 10,000 steps: reading, proving, and
all of ``bot check`` with the start of its process, in seconds of CPU. Then a save: what `bot dev` spends for an edit
of one of ten files with 300 steps, and how long it is until it has seen that.

Each flow of such a bot has questions with buttons, branches, calls, waits, a flow that it runs, words and a plan. No
two of its texts are the same, so that nothing is known of one by another.
"""

import argparse
import gc
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event
from time import perf_counter, process_time

from bot.checker.run_rules import run_rules
from bot.cli.shared.flow_reloader import BotFiles, FlowReloader
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.gathered import Extensions
from bot.loading.program import Program
from bot.pages.playground.flow_map import FlowMap
from bot.pages.playground.shared_findings import SharedFindings

BOT = """
name: Large
words: {stop: {say: Bye!, then: end}, menu: /flow0}
defaults:
  retry: {max: 2, else: end}
  timeout: {after: 20h, then: end}
  errors: {else: end}
http: {shop: {base: "https://shop.example"}}
"""
# as users have it: with the bytecode of earlier starts
_USUAL = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
LIMITS = {1_000: 1.0, 10_000: 6.0}  # seconds
SAVED, SAVES = 0.15, 20  # seconds for one, and how many
EDITS = {
    "a text": ("Size 5.10,", "Which {} of 5.10,"),
    "a target": ("then: say10}", "then: wait{}}}"),
    "a step": ("steps:", "steps:\n  new{}: {{say: New.}}"),
    "a flow's name": ("flow: flow5", "flow: other{}"),
}


def sources(flows: int, steps: int, *, knotted: bool = False) -> Iterator[Source]:
    """The files of a bot with so many flows of so many steps. ``knotted``: they run each other in many places."""
    yield Source("bot.yml", BOT.encode())
    for number in range(flows):
        yield Source(f"flow{number}.yml", "\n".join(_flow(number, flows, steps, knotted=knotted)).encode())


def _flow(number: int, flows: int, steps: int, *, knotted: bool) -> Iterator[str]:
    yield f"flow: flow{number}\nstart: {{words: [word {number}]}}\ninterrupted: resume\nvars:"
    yield "  name: {type: text}\n  size: {type: choice, of: [S, M, L]}\n  price: {type: number}\nsteps:"
    for step in range(0, steps, 5):
        here = f"{number}.{step}"
        yield f"  ask{step}: {{ask: \"Size {here}, {{{{ name or 'you' }}}}?\", buttons: [S, M, L], save: size}}"
        yield f"  if{step}: {{branch: [{{if: size == 'S', then: say{step}}}, {{else: next}}]}}"
        yield f"  get{step}: {{http: GET shop:/prices, save: {{price: answer}}, errors: {{404: ask{step}}}}}"
        if knotted and step % 10 == 0:
            yield f"  run{step}: {{run: /flow{(number * 7 + step) % flows}, expired: next}}"
        elif step % 50 == 0 and number + 1 < flows:
            yield f"  run{step}: {{run: /flow{number + 1}, expired: end}}"
        else:
            yield f"  wait{step}: {{wait: 10m, schedule: {{flow: flow{flows - 1}, after: 1h}}}}"
        yield f"  say{step}: {{say: \"{here}: {{{{ size }}}} is {{{{ price or 'sold out' }}}}.\"}}"


def checked(files: Iterable[Source]) -> float:
    """The CPU of `bot check` for these files, from the start of its process to its end."""
    with TemporaryDirectory() as folder:
        for source in files:
            (Path(folder) / source.path).write_bytes(source.text)
        before = _of_children()
        command = [sys.executable, "-m", "bot", "check", folder, "--format", "short"]
        subprocess.run(command, capture_output=True, env=_USUAL)
        return _of_children() - before


def _of_children() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def saved(name: str, before: str, after: str) -> str:
    """The CPU from an edit of a file to its checked and drawn map, and the wait before that, as medians.

    No edit is one of the last two, of which the findings are known.
    """
    seen, spent, waited = Event(), list[float](), list[float]()
    with TemporaryDirectory() as folder:
        for source in sources(10, 30):
            (Path(folder) / source.path).write_bytes(source.text.replace(b"run: /flow5", b"run: /flow6"))
        files, findings, edited = BotFiles(Path(folder)), SharedFindings(), Path(folder) / "flow5.yml"
        text, begun = edited.read_text(), 0.0
        files.load()

        def use(program: Program) -> None:
            shown = FlowMap(program, files.folder, findings)
            shown.check()
            shown.drawing(shown.flows[5])
            seen.set()

        with FlowReloader(files, use, lambda problems, why: sys.exit(f"{problems}{why}")):
            for number in range(SAVES):
                begun, cpu = perf_counter(), process_time()
                edited.write_text(text.replace(before, after.format(5 * (1 + number % 4))))
                seen.wait()
                seen.clear()
                spent.append(process_time() - cpu)
                waited.append(perf_counter() - begun - spent[-1])
    cost = median(spent)
    return f"{name:14}{cost * 1000:4.0f} ms, of the limit {cost / SAVED:.2f}; {median(waited) * 1000:.0f} ms of waits"


def main() -> None:
    """Print what reading and proving cost, and all of it against its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    checked(sources(1, 5))  # which writes the bytecode
    for name, edit in EDITS.items():
        print(saved(name, *edit))
    gc.disable()  # as `bot check` does
    for (steps, limit), knotted in product(LIMITS.items(), (False, True)):
        files = list(sources(20, steps // 20, knotted=knotted))
        begun = process_time()
        loaded = load(files, Extensions())
        read = process_time() - begun
        if loaded.library is None:
            raise SystemExit("\n".join(map(str, loaded.problems[:5])))
        begun = process_time()
        found = run_rules(loaded.library, files)
        proved = process_time() - begun
        whole = checked(files)
        shape = " in a knot" if knotted else ""
        print(f"{steps:6,} steps{shape}: read {read:6.2f} s, proved {proved:6.2f} s, {len(found)} findings")
        print(f"        bot check {whole:.2f} s, of the limit of {limit:.0f} s {whole / limit:.2f}")


if __name__ == "__main__":
    main()
