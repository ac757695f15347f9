"""How natural first messages of contacts are answered: taken, helped, poor or bad, by bot.

    python -m benchmarks.first_messages [--show] [--sample NAME] [BOT...]

A line of a sample in `benchmarks/first_messages/` is a message in a fresh chat on Monday, 6 May 2030, at 10:00: the
bot, what the contact has written before, the message, and what a fair judge calls *taken* (the bot does it, or answers
it), *helped* (what is possible here is said) and *bad* (something that was not asked for, or harm). Everything else is
poor. Each is a list of alternatives: a part of what the bot says, or the flow and step where the contact is then. Among
what was written before, `/wait 10m` lets time pass and `/start FLOW` starts a flow. Each sample was written, judged and
committed before any of its messages was tried; then the bots learned from it.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bot.core.errors import BotError
from bot.core.session import Session
from bot.loading.folder import Folder, read_folder
from bot.loading.program import Program, load_program
from bot.testing.conversations.transcript import StubDefinitions
from bot.testing.conversations.transcript_reader import NOW
from bot.testing.conversations.transcript_run import isolated_simulation

SAMPLES = Path(__file__).with_suffix("")
ROOT = Path(__file__).parent.parent
FOLDERS = ("{}", "bot/cli/starters/{}", "examples/{}")
STARTERS = ("menu", "form", "survey", "assistant")  # of which some share their name with an example
RESULTS = ("taken", "helped", "poor", "bad")
_COPIES = TemporaryDirectory()
HELP = (
    "didn't understand", "please", "you can write", "i cannot read", "i only need", "is enough", "one of the three", ", like ", "automatic assistant", "no hurry"
)  # fmt: skip
"""Parts of the texts that say what is possible. In a case, `?` stands for them, unless they are the same again."""


class Case(NamedTuple):
    """A message, and what is thought of the answers."""

    bot: str
    before: tuple[str, ...]
    message: str
    taken: tuple[str, ...]
    helped: tuple[str, ...]
    bad: tuple[str, ...]


class Answer(NamedTuple):
    """The bot's words after the last message and the one before, and where the contact is (``flow/step``)."""

    before: tuple[str, ...]
    said: tuple[str, ...]
    place: str


def cases(sample: Path) -> Iterator[Case]:
    """The cases of a sample."""
    for line in sample.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            bot, before, message, taken, helped, bad = (*line.split("\t"), "", "", "")[:6]
            yield Case(bot, _several(before), message, _several(taken), _several(helped), _several(bad))


def _several(cell: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in cell.split("|") if each.strip())


@cache
def _loaded(bot: str) -> tuple[Program, Folder]:
    folders = FOLDERS[1:] if bot in STARTERS else FOLDERS
    path = next(path for each in folders if (path := ROOT / each.format(bot)).joinpath("bot.yml").exists())
    folder = read_folder(copytree(path, Path(_COPIES.name) / bot))  # a handler may write beside the flows
    return load_program(folder), folder


def answered(case: Case) -> Answer:
    """Play a case with the real bot, in a simulation of its own."""
    program, folder = _loaded(case.bot)
    said: tuple[str, ...] = ()
    before = said
    with isolated_simulation(program, folder, NOW, StubDefinitions(), None) as (simulation, _):
        for text in (*case.before, case.message):
            before = said
            command, _, given = text.partition(" ")
            try:
                if command == "/wait":
                    simulation.wait(timedelta(minutes=int(given.removesuffix("m"))))
                elif command == "/start":
                    simulation.operator.start(given, {}, None)
                else:
                    simulation.user(text)
            except BotError as error:
                said = (f"({error})",)
            else:
                heard = simulation.phones.heard()
                if not heard:  # a step may gather several messages
                    simulation.wait(timedelta(seconds=5))
                    heard = simulation.phones.heard()
                said = tuple("\n".join((each.text, *each.choices)) for each in heard)
        return Answer(before, said, _place(simulation.stored.session()))


def _place(session: Session) -> str:
    return "" if session.frame is None else f"{session.frame.flow}/{session.frame.step}"


def judged(case: Case, answer: Answer) -> tuple[str, str]:
    """The result of a case, and the reason."""
    for result, alternatives in (("bad", case.bad), ("taken", case.taken), ("helped", (*case.helped, "?"))):
        met = next((each for each in alternatives if _is_met(each, answer)), None)
        if met is not None:
            return result, met
    if not answer.said:
        return "poor", "no answer"
    return "poor", "the same again" if set(answer.said) <= set(answer.before) else "something else"


def _is_met(alternative: str, answer: Answer) -> bool:
    said = "\n".join(answer.said).casefold().replace("’", "'")
    if alternative == "?":
        return any(each in said for each in HELP) and not set(answer.said) <= set(answer.before)
    if alternative.startswith("@"):
        place = alternative[1:]
        return answer.place == place or ("/" not in place and answer.place.partition("/")[0] == place)
    return alternative.casefold() in said


def main() -> None:
    """Print a table of each sample, and with ``--show`` each message that is not taken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--show", action="store_true", help="show each message that is not taken as it could be, with the reason"
    )
    parser.add_argument("--sample", help="of this sample only")
    parser.add_argument("bots", nargs="*", help="of these bots only")
    options = parser.parse_args()
    for sample in sorted(SAMPLES.glob("*.tsv")):
        if options.sample in (None, sample.stem):
            _measure(sample, options.bots, shows=options.show)


def _measure(sample: Path, bots: Sequence[str], *, shows: bool) -> None:
    table: dict[str, Counter[str]] = {}
    for case in cases(sample):
        if bots and case.bot not in bots:
            continue
        answer = answered(case)
        result, reason = judged(case, answer)
        for bot in (case.bot, "all"):
            table.setdefault(bot, Counter())[result] += 1
        if shows and (result in ("poor", "bad") or (result == "helped" and case.taken)):
            said = " / ".join(each.replace("\n", " ") for each in answer.said)
            print(f"{result}\t{case.bot}\t{case.message}\t{reason}\t@{answer.place}: {said}")
    print(f"| {sample.stem} | " + " | ".join(RESULTS) + " |\n|---|" + "--:|" * len(RESULTS))
    for bot, counted in sorted(table.items(), key=lambda row: row[0] == "all"):
        print(f"| {bot} | " + " | ".join(str(counted[each]) for each in RESULTS) + " |")


if __name__ == "__main__":
    main()
