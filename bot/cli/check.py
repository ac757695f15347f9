"""``bot check``."""

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli.shared.operate import NUMBER, bot_argument, loaded, refuse_together, store_of
from bot.cli.shared.output import counted, echo_json, echo_lines, place_object, styled, where
from bot.core.immutable import mutable
from bot.loading.folder import Folder, NoBot, Watch, find_bot, read_folder
from bot.store.database import StoreAddress

if TYPE_CHECKING:
    from bot.checker.replaying.migration_preview import MigrationOutcome
    from bot.cli.shared.check_report import KeptCheck, Report
    from bot.language.flow.library import Library
    from bot.store.store_reader import StoreReader


@click.command("check")
@bot_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "short", "json", "sarif"]),
    help="text for people (the default), short: one line each, json for programs, sarif for code reviews.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: a list of objects.")
@click.option(
    "--write-tests",
    "tests",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="For each finding, write a test that shows it: it fails until the problem is fixed.",
)
@click.option("--cuts", is_flag=True, help="Also list the texts that may be too long and are cut then.")
@click.option(
    "--load",
    is_flag=True,
    help="Also list how many messages each flow can send, and what one contact can cost a day in steps that ask a model.",
)
@click.option("--watch", is_flag=True, help="Check again whenever a file is saved, until Ctrl-C.")
@click.option(
    "--live",
    is_flag=True,
    help="Show what the flows do to current conversations in the store; exit code 1 if a contact would be dropped.",
)
@click.option(
    "--store", metavar="PATH", type=click.Path(path_type=Path, dir_okay=False), help="With --live: use another store."
)
@click.option("--version", "number", metavar="N", type=NUMBER, help="With --live: a published version, not the files.")
@click.pass_context
def command(
    ctx: click.Context,
    folder: Path | None,
    form: str | None,
    as_json: bool,
    tests: Path | None,
    cuts: bool,
    load: bool,
    watch: bool,
    live: bool,
    store: StoreAddress | None,
    number: int | None,
) -> None:
    """Check the bot in DIR: list every problem in every file, and problems that a customer would meet.

    Nothing is sent, and the store is not changed. Handlers are imported, not called. A bot with a problem (E) cannot be
    served; a finding (W) does not prevent that. Each comes with its line and its fix:

    \b
      $ bot check flows
      flows/order.yml:14:9: E102 no step "pya"
        14 |   then: pya
           |         ^^^
           fix: did you mean "pay"?
    \b
      1 problem

    A comment `# allow W501: the reason` in the line, or above it, allows a finding.

    Exit code 0: nothing was found. 1: there are problems or findings.
    """
    refuse_together(format=form, json=as_json)
    form = form or ("json" if as_json else "text")
    if (store is not None or number is not None) and not live:
        raise click.UsageError("--store and --version go with --live")
    if live:
        if watch or cuts or load or tests is not None or form not in ("text", "json"):
            raise click.UsageError("--live goes with --json, --store and --version only")
        bot, own = store_of(folder)
        ctx.exit(report_live(bot, store or own, form == "json", number))
    if (cuts or load) and (watch or form not in ("text", "short")):
        raise click.UsageError(
            f"--{'cuts' if cuts else 'load'} prints text only: leave out --watch, --json and --format"
        )
    path = find_bot(folder)
    if watch:
        if form not in ("text", "short"):
            raise click.UsageError(f"--watch prints text only: leave out --format {form}")
        if tests is not None:
            raise click.UsageError("--watch prints text only: leave out --write-tests")
        from bot.cli.shared.check_report import KeptCheck

        kept = KeptCheck()
        watched(path, lambda: _report(path, form, kept))
    else:
        report = _report(path, form)
        if cuts:
            _list_cuts(report)
        if load:
            _list_load(report)
        if tests is not None:
            _write_tests(report, tests)
        ctx.exit(1 if report.entries else 0)


def _report(path: Path, form: str, kept: "KeptCheck | None" = None) -> "Report":
    from bot.checker.run_rules import uncollected
    from bot.cli.shared.check_report import objects, report_on, sarif, short, text

    with uncollected():
        report = report_on(read_folder(path), kept)
        if kept is None:
            gc.freeze()  # to collect what is left took a twelfth of the time
            click.get_current_context().call_on_close(gc.unfreeze)
    if form == "json":
        echo_json(objects(report))
    elif form == "sarif":
        echo_json(sarif(report))
    else:
        lines = text(report) if form == "text" else short(report)
        echo_lines(lines)
    return report


def _list_cuts(report: "Report") -> None:
    from bot.checker.rules.text_lengths import notes

    if report.loaded.program is not None:
        found = notes(report.loaded.program.library)
        for note in found:
            click.echo(f"{where(report.folder.path, note.mark)}:{note.mark.column}: {note.what}")
        they_are = "it is" if len(found) == 1 else "they are"
        click.echo(f"{counted(len(found), 'text')} may be cut when {they_are} sent.")


def _list_load(report: "Report") -> None:
    from bot.cli.shared.check_report import lines

    if report.loaded.program is not None:
        echo_lines(lines(report.loaded.program.library))


def _write_tests(report: "Report", folder: Path) -> None:
    from bot.cli.shared.counterexamples import write_tests

    try:
        written, there = write_tests(report.findings, report.counterexamples, folder)
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be written: {error.strerror}") from error
    click.echo(f"{counted(len(written), 'test')} written to {folder}.", err=True)
    if there:
        click.echo(
            f"{counted(len(there), 'test')} already there and unchanged: delete a file to write it again.", err=True
        )


@mutable
class Live:
    """The counts of sessions by outcome, and of conversations that continue or not.

    ``dropped`` are sessions with a flow that has no declared fallback, and the ``unreadable`` ones: this version
    cannot read them, so they begin again.
    """

    outcomes: "Counter[MigrationOutcome]" = field(default_factory=Counter)
    conversations: int = 0
    unchanged: int = 0
    unreadable: int = 0
    dropped: int = 0

    @property
    def ends_or_moves(self) -> bool:
        """True if anybody does not go on at the step where they are."""
        from bot.checker.replaying.migration_preview import MigrationKind

        stays = MigrationKind.RENAMED, MigrationKind.EDITED, MigrationKind.ASKED
        return bool(self.unreadable) or any(outcome.becomes not in stays for outcome in self.outcomes)


def report_live(bot: Folder, store: StoreAddress, as_json: bool, number: int | None) -> int:
    """Report what the files of a bot, or a published version, do to every session in a store, and return the exit code:
    1 if a conversation would be dropped.

    Raises `bot.store.files.StoreMissing` and `bot.store.published_versions.NoSuchVersion`.
    """
    from bot.store.published_versions import files_of
    from bot.store.store_reader import StoreReader

    with closing(StoreReader(store)) as reader:
        files = bot if number is None else files_of(reader.database, number, bot.path)
        live = look(loaded(files).library, reader)
    if as_json:
        echo_json(_object(live, bot.path))
    else:
        echo_lines(live_lines(live, bot.path))
    return 1 if live.dropped else 0


def look(library: "Library", reader: "StoreReader") -> Live:
    """The outcomes for all sessions of a store, counted."""
    from bot.checker.replaying.migration_preview import MigrationKind, migration_outcomes

    live, now = Live(), datetime.now(UTC).astimezone(library.bot.timezone)
    for session in reader.sessions.all():
        if session is None:
            live.unreadable += 1
            live.dropped += 1
            continue
        outcomes = migration_outcomes(library, session, now)
        changes = [outcome for outcome in outcomes if outcome.becomes is not MigrationKind.UNCHANGED]
        live.outcomes.update(changes)
        there = bool(session.frames or session.drafts)
        live.conversations += there
        live.unchanged += there and all(outcome.becomes is MigrationKind.RENAMED for outcome in changes)
        live.dropped += any(outcome.becomes is MigrationKind.DROPPED for outcome in changes)
    return live


def live_lines(live: Live, folder: Path) -> Iterator[str]:
    """The outcomes for the conversations under way, a line each."""
    for outcome, count in _sorted(live):
        mark = "" if outcome.mark is None else f"{where(folder, outcome.mark)}  "
        below = ", below another flow" if outcome.below else ""
        to = f" -> {outcome.to}" if outcome.to else ""
        yield f"{count:>6,}  {styled(mark, bold=True)}{outcome.place}{to}{below}: {outcome.becomes.value}"
    if live.unreadable:
        yield f"{live.unreadable:>6,}  cannot be read by this version: their conversations start anew"
    waiting = counted(live.conversations, "conversation")
    summary = f"{waiting} under way: {live.unchanged:,} {'goes' if live.unchanged == 1 else 'go'} on unchanged"
    dropped = f"{live.dropped:,} would be dropped" if live.dropped else "nobody is dropped"
    yield f"{summary}, {styled(dropped, fg='red' if live.dropped else 'green')}."


def _object(live: Live, folder: Path) -> dict[str, Any]:
    changes = [
        {
            "count": count,
            "place": outcome.place,
            "below": outcome.below,
            "becomes": outcome.becomes.name.lower(),
            "to": outcome.to or None,
            **place_object(folder, outcome.mark),
        }
        for outcome, count in _sorted(live)
    ]
    counts = {name: getattr(live, name) for name in ("conversations", "unchanged", "unreadable", "dropped")}
    return {**counts, "changes": changes}


def _sorted(live: Live) -> "list[tuple[MigrationOutcome, int]]":
    """The outcomes with their counts, the worst last, then by place."""
    from bot.checker.replaying.migration_preview import MigrationKind

    order = list(MigrationKind)
    return sorted(live.outcomes.items(), key=lambda item: (order.index(item[0].becomes), item[0].place, item[0].below))


LOOK_SECONDS = 0.05  # a change counts once two looks in a row find the same


def watched(path: Path, report: Callable[[], object]) -> None:
    """Print a report now and after each change, on a terminal in place of the last one; returns on Ctrl-C."""
    try:
        files = Watch(path)
        _print(report)
        while True:
            time.sleep(LOOK_SECONDS)
            if files.changed():
                _print(report)
    except KeyboardInterrupt:
        click.echo()


def _print(report: Callable[[], object]) -> None:
    click.clear()
    try:
        report()
    except NoBot as error:  # a file is being replaced
        click.echo(styled(str(error), fg="red"))
    click.echo(styled("Waiting for a change; Ctrl-C ends.", dim=True))
