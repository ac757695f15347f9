"""``bot replay``."""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import takewhile, zip_longest
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from bot.checker.replaying.differences import ReplayDifference, ReplayResult
from bot.checker.replaying.redaction import Redaction, common_words
from bot.cli.shared.operate import CommandRefused, bot_option, loaded, number, span, store_of
from bot.cli.shared.output import counted, echo_json, echo_lines, local_time, place_object, quiet_log, styled, where
from bot.core.immutable import mutable
from bot.core.text import printable
from bot.language.flow.library import Library
from bot.testing.conversations.transcript_run import ComparedRow, beside

if TYPE_CHECKING:
    from bot.store.store_reader import StoreReader


EVER = datetime.min.replace(tzinfo=UTC)


@click.command("replay")
@click.argument("contact", required=False)
@bot_option
@click.option("--since", metavar="DURATION", callback=span, help="Only conversations with a turn in this time.")
@click.option("--show", is_flag=True, help="Show numbers, names and values, which are hidden by default.")
@click.option("--json", "as_json", is_flag=True, help="Print an object: conversations, alike, stopped, differences.")
@click.pass_context
def command(
    ctx: click.Context, contact: str | None, folder: Path | None, since: timedelta | None, show: bool, as_json: bool
) -> None:
    """Show what the edited bot would have said in past conversations.

    The contacts' messages, and the results of calls, requests and models, come from the store. Nothing is sent, called
    or asked. Only the first difference of each conversation counts; equal differences are shown once.

    \b
      $ bot replay --since 1d
      $ bot replay 6281234567890 --show

    Exit code 0: no difference. 1: differences, or the bot has problems, or there is no store or no turn of the
    contact. 2: wrong usage.
    """
    from bot.store.store_reader import StoreReader

    quiet_log()
    bot, path = store_of(folder)
    library, began = loaded(bot).library, perf_counter()
    tally = Tally(library, show)
    with closing(StoreReader(path)) as store:
        replay_stored(store, tally, contact, EVER if since is None else datetime.now(UTC) - since)
    if contact is not None and not tally.conversations:
        raise CommandRefused(f"no conversation of {number(contact)} is recorded (turns are kept for 7 days)")
    if as_json:
        echo_json(object_of(tally, bot.path))
    else:
        echo_lines(lines_of(tally, bot.path, perf_counter() - began))
    ctx.exit(1 if tally.differ else 0)


def replay_stored(store: "StoreReader", tally: "Tally", contact: str | None, since: datetime) -> None:
    """Replay the conversations that a store has: those of a contact, or all, with a turn since then."""
    from bot.checker.replaying.conversation_replay import replay
    from bot.store.trace_rows import UnreadableRecord

    for each in store.trace.contacts(since) if contact is None else (store.sessions.known_as(number(contact)),):
        try:
            recorded = [found for found in store.trace.conversations(each) if found.turns[-1].event.at >= since]
        except UnreadableRecord:
            tally.add_unreadable()
            continue
        for conversation in recorded:
            tally.add(conversation.contact, replay(tally.library, conversation))


UNREADABLE = "cannot be read by this version"
MOST_LINES = 12  # of each side
INDENT = 7
_HEADS = "before", "now"


@mutable
class Group:
    """Conversations with the same difference.

    ``first`` is the example, of ``contact``; the lines are fit to be shown.
    """

    contact: str
    first: ReplayDifference
    before: tuple[str, ...]
    after: tuple[str, ...]
    why: str
    count: int = 0


class Tally:
    """Counts the results of conversations. ``show``: personal data is shown."""

    def __init__(self, library: Library, show: bool) -> None:
        self.library = library
        self.show = show
        self.alike = 0
        self.stopped: Counter[str] = Counter()
        self._groups: dict[Any, Group] = {}

    @property
    def groups(self) -> list[Group]:
        """The differences, the most frequent first."""
        return sorted(self._groups.values(), key=lambda group: -group.count)

    @property
    def differ(self) -> int:
        """The number of conversations that differ."""
        return sum(group.count for group in self._groups.values())

    @property
    def conversations(self) -> int:
        """The number of all conversations."""
        return self.alike + self.differ + self.stopped.total()

    def add(self, contact: str, replayed: ReplayResult) -> None:
        """A conversation has been replayed."""
        if replayed.difference is not None:
            self._group(contact, replayed.difference).count += 1
        elif replayed.stopped is not None:
            self.stopped[replayed.stopped] += 1
        else:
            self.alike += 1

    def add_unreadable(self) -> None:
        """The recorded conversation of a contact cannot be read."""
        self.stopped[UNREADABLE] += 1

    def _group(self, contact: str, found: ReplayDifference) -> Group:
        before, after = _apart(found.before, found.after)
        if not self.show:
            redaction = Redaction(found, self._common)
            before, after = tuple(map(redaction.over, before)), tuple(map(redaction.over, after))
        why = found.why or "" if self.show else redaction.over(found.why or "")
        key = (found.kind, found.was_at, found.at, before, after, why)
        return self._groups.setdefault(key, Group(contact, found, before, after, why))

    @cached_property
    def _common(self) -> frozenset[str]:
        return common_words(self.library)


def lines_of(tally: Tally, folder: Path, seconds: float) -> Iterator[str]:
    """The report for people."""
    for group in tally.groups:
        yield from _group_lines(group, folder, tally.show)
        yield ""
    yield from _sum(tally, seconds)
    for reason, count in tally.stopped.most_common():
        yield f"{counted(count, 'conversation')} could not be compared: {'it' if count == 1 else 'each'} {reason}."


def object_of(tally: Tally, folder: Path) -> dict[str, Any]:
    """The report for programs."""
    return {
        "conversations": tally.conversations,
        "alike": tally.alike,
        "stopped": dict(tally.stopped),
        "differences": [_group_object(group, folder, tally.show) for group in tally.groups],
    }


def _sum(tally: Tally, seconds: float) -> Iterator[str]:
    if tally.differ:
        some = styled(f"{tally.differ:,} of {counted(tally.conversations, 'conversation')}", fg="red")
        ways = counted(len(tally.groups), "way")
        yield f"{some} differ, in {ways}; as they were: {tally.alike:,}. It took {seconds:.1f} s."
    elif tally.alike:
        alike = styled("all as they were", fg="green")
        yield f"{counted(tally.alike, 'conversation')}: {alike}. It took {seconds:.1f} s."
    elif not tally.stopped:
        yield "No conversation is recorded in this time."


def _group_lines(group: Group, folder: Path, show: bool) -> Iterator[str]:
    found = group.first
    places = " -> ".join(dict.fromkeys(place for place in (found.was_at, found.at) if place))
    mark = "" if found.mark is None else f"{where(folder, found.mark)}  "
    yield f"{group.count:>{INDENT - 2},}  {styled(mark, bold=True)}{places}: {found.kind.value}"
    for line in _sides(group):
        yield f"{' ' * INDENT}{line}"
    whose = f" of {group.contact}" if show else ""
    yield styled(f"{' ' * INDENT}such as turn {found.number}{whose} at {local_time(found.when)}", dim=True)


def _sides(group: Group) -> Iterator[str]:
    rows = [ComparedRow(left, right, left != right) for left, right in zip_longest(*_shown(group), fillvalue="")]
    if rows:
        width = shutil.get_terminal_size().columns - INDENT
        yield from beside(rows, _HEADS, lambda text, colour: styled(text, fg=colour), width)
    if rows and group.before == group.after:
        yield "They differ in what is hidden: --show shows it."
    if group.why:
        yield f"Went wrong: {printable(group.why)}"


def _shown(group: Group) -> Iterator[list[str]]:
    for side in (group.before, group.after):
        lines = [printable(line) for line in side[:MOST_LINES]]
        yield lines if len(side) <= MOST_LINES else [*lines, f"({len(side) - MOST_LINES} more)"]


def _group_object(group: Group, folder: Path, show: bool) -> dict[str, Any]:
    found = group.first
    example = {"turn": found.number, "at": found.when} | ({"contact": group.contact} if show else {})
    return {
        "count": group.count,
        "kind": found.kind.name.lower(),
        "was_at": found.was_at or None,
        "at": found.at or None,
        **place_object(folder, found.mark),
        "before": list(group.before),
        "after": list(group.after),
        "why": group.why or None,
        "example": example,
    }


def _apart(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both sides from the first line that differs to the last."""
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    return before[start : len(before) - end], after[start : len(after) - end]


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    """The number of lines that both begin with."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
