"""How long a check takes: ``python -m benchmarks.checker``. Bots of 1,000 and of 10,000 steps, against reading them.

Each flow of such a bot has questions with buttons, branches, calls, waits, a flow that it runs, words and a plan.
"""

import argparse
from collections.abc import Iterator
from time import process_time

from bot.checker import prove
from bot.flow.documents import Source
from bot.flow.library import load
from bot.lang.extensions import Extensions

BOT = """
name: Large
words: {stop: {say: Bye!, then: end}, menu: /flow0}
defaults:
  retry: {max: 2, else: end}
  timeout: {after: 20h, then: end}
  errors: {else: end}
http: {shop: {base: "https://shop.example"}}
"""
LIMITS = {1_000: 2.0, 10_000: 20.0}  # seconds


def sources(flows: int, steps: int) -> Iterator[Source]:
    """The files of a bot with so many flows of so many steps."""
    yield Source("bot.yml", BOT.encode())
    for number in range(flows):
        yield Source(f"flow{number}.yml", "\n".join(_flow(number, flows, steps)).encode())


def _flow(number: int, flows: int, steps: int) -> Iterator[str]:
    yield f"flow: flow{number}\nstart: {{words: [word {number}]}}\ninterrupted: resume\nvars:"
    yield "  name: {type: text}\n  size: {type: choice, of: [S, M, L]}\n  price: {type: number}\nsteps:"
    for step in range(0, steps, 5):
        yield f"  ask{step}: {{ask: \"Which size, {{{{ name or 'you' }}}}?\", buttons: [S, M, L], save: size}}"
        yield f"  if{step}: {{branch: [{{if: size == 'S', then: say{step}}}, {{else: next}}]}}"
        yield f"  get{step}: {{http: GET shop:/prices, save: {{price: answer}}, errors: {{404: ask{step}}}}}"
        if step % 50 == 0 and number + 1 < flows:
            yield f"  run{step}: {{run: /flow{number + 1}, expired: end}}"
        else:
            yield f"  wait{step}: {{wait: 10m, schedule: {{flow: flow{flows - 1}, after: 1h}}}}"
        yield f"  say{step}: {{say: \"{{{{ size }}}} is {{{{ price or 'sold out' }}}}.\"}}"


def main() -> None:
    """Print what reading and proving cost, and the whole against its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    for steps, limit in LIMITS.items():
        files = list(sources(20, steps // 20))
        begun = process_time()
        loaded = load(files, Extensions())
        read = process_time() - begun
        if loaded.library is None:
            raise SystemExit("\n".join(map(str, loaded.problems[:5])))
        begun = process_time()
        found = prove(loaded.library, files)
        proved = process_time() - begun
        print(f"{steps:6,} steps: read {read:6.2f} s, proved {proved:6.2f} s, {len(found)} findings")
        print(f"        of reading {proved / read:.2f}, of the limit of {limit:.0f} s {(read + proved) / limit:.2f}")


if __name__ == "__main__":
    main()
