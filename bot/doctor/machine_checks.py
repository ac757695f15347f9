"""Checks of this machine: SQLite, the disk, the store, the server, and past dates in the flows."""

import os
import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from bot import local_socket
from bot.doctor.check_results import CheckResult, fail, ok, warn
from bot.expressions.templates import Template
from bot.flow.library import Library
from bot.folder import env_files
from bot.settings import unknown_variables
from bot.steps.schedule import end_of
from bot.store.files import RestoreUnfinished, StoreMissing, StoreOutdated, StoreUnavailable
from bot.store.integrity import StoreHealth, StoresDiffer, health, sqlite_version

LEAST_DISK = 100 << 20
LITTLE_DISK = 1 << 30
SILENCE = timedelta(days=7)
"""After so many days of failing deliveries the gateway disables a webhook (spec: states)."""

_FIXED = (3, 51, 3)


def sqlite() -> CheckResult:
    """Which SQLite there is."""
    version = sqlite_version()
    if tuple(map(int, version.split("."))) >= _FIXED:
        return ok("sqlite", version)
    return ok(
        "sqlite", f"{version}: its bug with two writers of one file does not matter, each file here has one writer"
    )


def disk(store: Path) -> CheckResult:
    """Whether the store's folder can be written, and for how long."""
    if not os.access(store.parent, os.W_OK):
        return fail("disk", f"{store.parent} cannot be written", "give this user the right to, or set BOT_STORE")
    free = shutil.disk_usage(store.parent).free
    what = f"{free / 1e9:,.1f} GB are free for {store.name}"
    if free < LEAST_DISK:
        return fail("disk", what, "make room: on a full disk no event is accepted")
    return warn("disk", what, "make room soon") if free < LITTLE_DISK else ok("disk", what)


def env_file(folder: Path) -> Iterator[CheckResult]:
    """Whether others can read the secrets."""
    for file in env_files(folder):
        if file.stat().st_mode & 0o077:
            yield warn("secrets", f"others on this machine can read {file}", f"chmod 600 {file}")


def variables(environ: Iterable[str]) -> Iterator[CheckResult]:
    """Variables that look like settings but are unknown."""
    for line in unknown_variables(environ):
        yield warn("settings", line, "correct its name, in the environment or in .env")


def store_state(store: Path, now: datetime) -> Iterator[CheckResult]:
    """The state of the store, and the past events that it reports."""
    try:
        found = health(store)
    except StoreMissing:
        yield warn("store", f"there is no store at {store} yet", "`bot serve` makes one")
        return
    except StoreOutdated:
        yield warn("store", f"{store} is of an older version", "start the server: it brings it up to date")
        return
    except StoreUnavailable as error:
        yield fail("store", error.what, error.advice)
        return
    except (StoresDiffer, RestoreUnfinished) as error:
        yield fail("store", str(error))
        return
    yield from _files(found)
    yield from _events(found, now)


def server(store: Path, settings: Path | None = None) -> Iterator[CheckResult]:
    """Whether a server runs, its alarms, and whether it was started after ``settings`` changed."""
    try:
        status = local_socket.ask(store, {"do": "status"})
    except local_socket.NotRunning:
        yield warn("server", f"none answers for {store.name}", "`bot serve`")
        return
    if "error" in status:
        yield fail("server", f"it runs and is in trouble: {status['error']}", "see its log")
        return
    for alarm in status["alarms"]:
        yield fail("server", alarm["what"], alarm["advice"])
    if settings is not None and settings.stat().st_mtime > local_socket.socket_of(store).stat().st_mtime:
        yield warn(
            "server",
            f"it runs, and {settings} has been changed since its start",
            "restart it: settings are read at the start",
        )
    elif not status["alarms"]:
        yield ok("server", f"it runs; messages that wait to be sent: {status['waiting']:,}")


def _files(found: StoreHealth) -> Iterator[CheckResult]:
    for file in found.exposed:
        yield warn("store", f"others on this machine can read {file}", f"chmod 600 {file}")
    if found.erasures:
        what = f"contacts that are being erased, the log still holds their events: {found.erasures}"
        yield warn("store", what, "`bot serve` finishes it")
    if found.dead_letters:
        yield warn("store", f"messages and turns that were given up: {found.dead_letters}", "`bot queue` says why")
    else:
        yield ok("store", "nothing was given up")


def _events(found: StoreHealth, now: datetime) -> Iterator[CheckResult]:
    if found.last_received is None:
        yield warn("events", "none has come yet", "`bot webhook register`, then write to the bot's number")
    elif now - found.last_received > SILENCE:
        days = (now - found.last_received).days
        advice = (
            "if people write: the gateway disables a webhook that fails for 7 days, `bot webhook register` makes anew"
        )
        yield warn("events", f"the last came {days} days ago", advice)
    else:
        yield ok("events", f"the last came at {found.last_received.astimezone():%Y-%m-%d %H:%M}")
    if found.last_stale is not None and now - found.last_stale <= SILENCE:
        what = f"correctly signed events that were rejected because their timestamps are too far off: {found.stale}, the last at "
        advice = "set this machine's clock; else raise BOT_WEBHOOK_TOLERANCE, up to 10800 seconds"
        yield fail("events", f"{what}{found.last_stale.astimezone():%Y-%m-%d %H:%M}", advice)


def past_dates(library: Library, now: datetime) -> Iterator[CheckResult]:
    """Schedules and waits for a time that has passed: they happen at once, or never."""
    here = now.astimezone(library.bot.timezone)
    for point in _points(library):
        if point.constant and end_of(point, {}, here) <= now:
            yield warn("flows", f"{point.mark}: {point.source} is past", "write a later time, or take it out")


def _points(library: Library) -> Iterator[Template]:
    for step in (step for flow in library.flows.values() for step in flow.steps.values()):
        yield from step.kind.moments()
        for schedule in step.options.schedule:
            yield from (point for point in (schedule.at, schedule.until) if point is not None)
