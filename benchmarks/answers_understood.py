"""How well answers are understood: right, asked again, asked back, and wrong, by type and language.

    python -m benchmarks.answers_understood [--show] [FILE...]

A case is a line of three columns in `benchmarks/answers/LANGUAGE.tsv`: the type of the variable, what a contact writes
on Monday, 6 May 2030, at 10:00, and the value that is saved. ``-`` is asked again; ``?VALUE`` is asked back ("did you
mean ...?"). An answer that should be understood and is asked again is refused; another value than the right one that is
saved without a question is wrong, and none may be. The last table says how long the reading of short answers takes.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from bot.language.answers.segments import written
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.source.problems import Mark
from bot.language.types.type_registry import TYPES, Answer, InvalidAnswer
from bot.language.types.variable import UnsureAnswer

FOLDER = Path(__file__).with_name("answers")
NOW = datetime(2030, 5, 6, 10, tzinfo=UTC)
RESULTS = ("right", "refused", "asked back", "wrong")
SHORT = 32  # characters
_TRIES = 12  # of each answer, of which the quickest counts: the machine has others to serve


class Case(NamedTuple):
    """An answer, and the value that is right."""

    language: str
    type: str
    written: str
    value: str


def cases(files: Iterable[Path]) -> Iterator[Case]:
    """The cases of files. The name of each is its language."""
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                type_, written, value = line.split("\t")
                yield Case(file.stem, type_, written, value)


def understood(case: Case) -> str:
    """The value that is saved, ``?VALUE`` if the contact is asked back, ``-`` if the question is asked again."""
    variable = TYPES[case.type]("answer", Mark("", 0, 0))
    try:
        value = variable.accept(Answer(case.written), NOW, {CONTACT_LANGUAGE: case.language})
    except UnsureAnswer as unsure:
        return f"?{_text(unsure.values[0])}"
    except InvalidAnswer:
        return "-"
    return _text(value)


def _text(value: object) -> str:
    return str(value.replace(tzinfo=None)) if isinstance(value, datetime) else str(value)


def result(case: Case, found: str) -> str:
    """The result for a case in which ``found`` was understood."""
    if _same(found, case.value) or (found.startswith("?") and case.value == "-"):
        return "right"
    if found == "-":
        return "refused"
    return "asked back" if found.startswith("?") else "wrong"


def _same(found: str, wanted: str) -> bool:
    if found == wanted:
        return True
    try:
        return float(found) == float(wanted)
    except ValueError:
        return False


def cost(case: Case) -> float:
    """The microseconds that the reading of an answer takes, where nothing of it is remembered."""
    variable, scope = TYPES[case.type]("answer", Mark("", 0, 0)), {CONTACT_LANGUAGE: case.language}
    times = []
    for _ in range(_TRIES):
        written.cache_clear()
        begun = perf_counter()
        with suppress(InvalidAnswer):
            variable.accept(Answer(case.written), NOW, scope)
        times.append(perf_counter() - begun)
    return min(times) * 1e6


def main() -> None:
    """Print two tables, and with ``--show`` each case that is not right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="show each case that is not right")
    parser.add_argument("files", nargs="*", type=Path, default=sorted(FOLDER.glob("*.tsv")))
    options = parser.parse_args()
    table: dict[tuple[str, str], Counter[str]] = {}
    for case in cases(options.files):
        found = understood(case)
        how = result(case, found)
        for type_ in (case.type, "all"):
            table.setdefault((case.language, type_), Counter())[how] += 1
        table.setdefault(("all", "all"), Counter())[how] += 1
        if options.show and how != "right":
            print(f"{how}\t{case.language} {case.type}\t{case.written}\t{found}, right: {case.value}")
    print("| language | type | " + " | ".join(RESULTS) + " |\n|---|---|" + "--:|" * len(RESULTS))
    for (language, type_), counted in sorted(table.items()):
        print(f"| {language} | {type_} | " + " | ".join(str(counted[each]) for each in RESULTS) + " |")
    total = table.get(("all", "all"), Counter())
    print(f"{total['right']} of {total.total()} right, {total['wrong']} silently wrong\n")
    costs: dict[str, list[float]] = {}
    for case in cases(options.files):
        if len(case.written) <= SHORT:
            costs.setdefault(case.type, []).append(cost(case))
    print(
        f"| type | answers of up to {SHORT} characters | median (µs) | 19 of 20 take at most (µs) |\n|---|--:|--:|--:|"
    )
    for type_, times in sorted(costs.items()):
        print(f"| {type_} | {len(times)} | {median(times):.0f} | {sorted(times)[len(times) * 19 // 20]:.0f} |")
    sys.exit(1 if total["wrong"] else 0)


if __name__ == "__main__":
    main()
