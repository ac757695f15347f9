"""The deterministic simulation of `bot serve`: ``python -m tests.testing.simulation --seeds 10000``.

It has nothing to do with `bot.testing.simulation`, which is the stage of `bot chat` and `bot test`. See docs/architecture.md,
"How the promises are tested".
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

from tests.testing.simulation.plan import Plan, drawn
from tests.testing.simulation.promises import broken
from tests.testing.simulation.world import NewStore, in_files, in_postgres, played

_AT_ONCE = 20  # seeds
_MEMORY = Path("/dev/shm")

Found = dict[str, list[str]]


def main(arguments: Sequence[str]) -> int:
    """Run seeds, or one of them. The exit code is 1 where a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.testing.simulation", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds are run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes run them")
    parser.add_argument("--seed", type=int, help="run this seed alone, and print its history")
    parser.add_argument("--steps", help="of its plan, only these steps: 0,3,4")
    parser.add_argument("--store", choices=STORES, default="files", help="where the bot's store is")
    parser.add_argument("--shrink", action="store_true", help="leave out steps while the same promise is broken")
    given = parser.parse_args(arguments)
    _work_in_memory()
    if given.seed is None:
        return _run_many(range(given.first, given.first + given.seeds), given.jobs, given.store)
    plan = drawn(given.seed)
    kept: Sequence[int] = (
        range(len(plan.steps)) if given.steps is None else [int(number) for number in given.steps.split(",")]
    )
    if given.shrink:
        kept = shrunk(plan, kept, given.store)
    return _show(plan, kept, given.store)


STORES: dict[str, NewStore] = {"files": in_files, "postgres": in_postgres}


def found_in(plan: Plan, store: str = "files") -> Found:
    """The promises that a plan breaks, by name."""
    with played(plan, STORES[store]) as world:
        return broken(world)


def only(plan: Plan, steps: Sequence[int]) -> Plan:
    """A plan with only these of its steps, at the times that they had."""
    kept, waited = [], 0.0
    for number, step in enumerate(plan.steps):
        waited += step.after
        if number in steps:
            kept.append(replace(step, after=waited))
            waited = 0.0
    return replace(plan, steps=tuple(kept))


def shrunk(plan: Plan, steps: Sequence[int], store: str = "files") -> Sequence[int]:
    """As few of a plan's steps as still break a promise that all of them break; all of them where none is broken."""
    names = found_in(only(plan, steps), store).keys()
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            fewer = [*steps[:start], *steps[start + size :]]
            if names & found_in(only(plan, fewer), store).keys():
                steps = fewer
                break
        else:
            size //= 2
    return steps


def _run_many(seeds: range, jobs: int, store: str) -> int:
    began, failed = monotonic(), 0
    pieces = [seeds[start : start + _AT_ONCE] for start in range(0, len(seeds), _AT_ONCE)]
    with ProcessPoolExecutor(jobs, initializer=_work_in_memory) as pool:
        for piece in pool.map(partial(_found_in_seeds, store), pieces):
            for seed, found in piece.items():
                failed += 1
                print(
                    f"seed {seed}: {_in_words(found)}\n  see: python -m tests.testing.simulation --seed {seed} --store {store} --shrink",
                    flush=True,
                )
    print(f"{len(seeds)} seeds in {monotonic() - began:.0f} s, {failed} of them broke a promise")
    return min(failed, 1)


def _found_in_seeds(store: str, seeds: range) -> dict[int, Found]:
    return {seed: found for seed in seeds if (found := found_in(drawn(seed), store))}


def _show(plan: Plan, steps: Sequence[int], store: str) -> int:
    print(f"seed {plan.seed}: {plan.world}")
    for number in steps:
        print(f"{number:>4} {plan.steps[number]}")
    with played(only(plan, steps), STORES[store]) as world:
        found = broken(world)
        print(*world.machine.history, sep="\n")
    print(_in_words(found) or "every promise held")
    if found:
        print(
            f"again: python -m tests.testing.simulation --seed {plan.seed} --store {store} --steps {','.join(map(str, steps))}"
        )
    return min(len(found), 1)


def _in_words(found: Found) -> str:
    return "; ".join(f"{name} ({len(what)}): {what[0]}" for name, what in found.items())


def _work_in_memory() -> None:
    if _MEMORY.is_dir():
        tempfile.tempdir = str(_MEMORY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
