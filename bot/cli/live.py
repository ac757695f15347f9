"""``bot check --live``: what the flows, as they are now, do to the conversations that are under way."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli.loading import loaded
from bot.cli.output import counted, echo_json, path_from_here, styled
from bot.folder import Folder

if TYPE_CHECKING:
    from bot.checker.replaying.migration_preview import Fate
    from bot.flow.library import Library
    from bot.store.store_reader import StoreReader


@dataclass(slots=True)
class Live:
    """How many share each fate, and how many conversations go on, or do not.

    ``dropped`` are those of which some flow is without a declared fallback, and the ``unreadable``: sessions that this
    version cannot read, so that they start anew.
    """

    fates: "Counter[Fate]" = field(default_factory=Counter)
    conversations: int = 0
    unchanged: int = 0
    unreadable: int = 0
    dropped: int = 0


def report_live(bot: Folder, store: Path, as_json: bool) -> int:
    """Print what becomes of everybody in a store, and return the exit code: 1 where somebody would be dropped.

    Raises `bot.store.files.StoreMissing`.
    """
    from bot.store.store_reader import StoreReader

    library = loaded(bot).library
    with closing(StoreReader(store)) as reader:
        live = look(library, reader)
    if as_json:
        echo_json(_object(live, bot.path))
    else:
        for line in _lines(live, bot.path):
            click.echo(line)
    return 1 if live.dropped else 0


def look(library: "Library", reader: "StoreReader") -> Live:
    """What becomes of every session of a store, counted."""
    from bot.checker.replaying.migration_preview import Becomes, fates

    live, now = Live(), datetime.now(UTC).astimezone(library.bot.timezone)
    for session in reader.all_sessions():
        if session is None:
            live.unreadable += 1
            live.dropped += 1
            continue
        changes = [fate for fate in fates(library, session, now) if fate.becomes is not Becomes.UNCHANGED]
        live.fates.update(changes)
        live.conversations += bool(session.frames)
        live.unchanged += bool(session.frames) and all(fate.becomes is Becomes.RENAMED for fate in changes)
        live.dropped += any(fate.becomes is Becomes.DROPPED for fate in changes)
    return live


def _lines(live: Live, folder: Path) -> Iterator[str]:
    for fate, count in _sorted(live):
        mark = "" if fate.mark is None else f"{path_from_here(folder, fate.mark.path)}:{fate.mark.line}  "
        below = ", below another flow" if fate.below else ""
        to = f" -> {fate.to}" if fate.to else ""
        yield f"{count:>6,}  {styled(mark, bold=True)}{fate.place}{to}{below}: {fate.becomes.value}"
    if live.unreadable:
        yield f"{live.unreadable:>6,}  cannot be read by this version: their conversations start anew"
    waiting = counted(live.conversations, "conversation")
    summary = f"{waiting} under way: {live.unchanged:,} go on unchanged"
    dropped = f"{live.dropped:,} would be dropped" if live.dropped else "nobody is dropped"
    yield f"{summary}, {styled(dropped, fg='red' if live.dropped else 'green')}."


def _object(live: Live, folder: Path) -> dict[str, Any]:
    changes = [
        {
            "count": count,
            "place": fate.place,
            "below": fate.below,
            "becomes": fate.becomes.name.lower(),
            "to": fate.to or None,
            "path": None if fate.mark is None else path_from_here(folder, fate.mark.path),
            "line": None if fate.mark is None else fate.mark.line,
        }
        for fate, count in _sorted(live)
    ]
    counts = {name: getattr(live, name) for name in ("conversations", "unchanged", "unreadable", "dropped")}
    return {**counts, "changes": changes}


def _sorted(live: Live) -> "list[tuple[Fate, int]]":
    """By what becomes of them, the worst last, and by place."""
    from bot.checker.replaying.migration_preview import Becomes

    order = list(Becomes)
    return sorted(live.fates.items(), key=lambda item: (order.index(item[0].becomes), item[0].place, item[0].below))
