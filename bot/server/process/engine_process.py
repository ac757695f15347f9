"""The engine process: takes the events of the inbox, sends messages, and makes calls. With shards, each has its own
engine process.
"""

import logging
import math
import os
import select
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

from bot.core.clock import SystemClock
from bot.core.engine_answers import EngineAnswer, FilesLoaded, Status
from bot.core.engine_requests import AnyRequest, PublishVersion, Reload
from bot.core.own_addresses import OwnAddresses
from bot.loading.program import Program
from bot.loading.watchdog import WATCHDOG, end_when_deaf
from bot.runtime.engine_loop import EngineStopped, WakePipe
from bot.server import local_socket
from bot.server.app import Engine, GatewayAccount
from bot.server.process.balance import shard_to_move, should_yield
from bot.server.process.child import end_with, tell_up
from bot.server.process.program_loader import ProgramLoader, VersionRefused
from bot.settings import Settings
from bot.store.crash_quarantine import lost_connection
from bot.store.database import Database, StoreAddress, role_name, shards_of, whole_of
from bot.store.files import ConnectionLost, StoreLocked, StoreUnavailable
from bot.store.kept_files import FilesUnavailable, kept_files
from bot.store.lock_watch import watches_locks
from bot.store.opening import (
    ask_elsewhere,
    engine_reader,
    engine_writer,
    is_shared,
    other_engines,
    serves_others,
    signal_key,
)

WATCH_SECONDS = 0.5  # between two looks at the bot's files
TAKE_OVER_SECONDS = 0.2  # between two tries to be the engine that writes a store of several machines
LEFT_SECONDS = 1.0  # a free shard is left to another machine for so long; then any machine takes it
MOVE_SECONDS = 5.0  # the engine of a shard that is to move waits so long for a moment without calls
STUCK = 70  # the exit code of an engine in which Python of the bot's own cannot be stopped
log = logging.getLogger("bot")


def _check_files(settings: Settings) -> None:
    """Check that files of contacts can be kept at the place that is set. Raises `bot.store.kept_files.FilesUnavailable`
    for what somebody has to put right.
    """
    if settings.files is not None:
        try:
            kept_files(settings.store).check()
        except FilesUnavailable as error:
            if not error.passes:
                raise
            log.error("no file can be kept now: %s", error)


def run(settings: Settings, folder: Path, files: Mapping[str, int]) -> None:
    """Take events until SIGTERM, and load the bot again when a version is published, or files that it follows are
    saved.
    """
    WATCHDOG.on_stuck = lambda what: os._exit(STUCK)  # started again, the engine gives up the event that does it
    end_when_deaf()
    signals = _signals()
    end_with(files["lifeline"])
    first, *_ = shards_of(whole_of(settings.store))  # it has the versions, and its engine publishes
    with (
        os.fdopen(files["last_good"], "r+b", buffering=0) as last_good,
        closing(engine_reader(first)) as versions,
    ):
        shares_files = settings.files is not None or not is_shared(settings.store)
        _report_lost_run(files["lost_run"], settings.store)
        loader = ProgramLoader(folder, last_good, versions, shares_files=shares_files)
        _check_files(settings)
        engine = _composed_in_turn(settings, loader, versions, files, signals)
        if engine is None:
            return
        loader.tell(engine.alarms)
        server = local_socket.LocalServer(settings.store, partial(_answer, engine, loader))
        try:
            engine.start()
            server.start()
            tell_up(files["news"], role_name("engine", settings.store))
            with (
                watches_locks({"nothing is taken or sent": engine.database}, engine.alarms),
                serves_others(settings.store, engine.wake, partial(_answer_others, engine, loader)),
            ):
                _run_until_end(engine, loader, signals, ShardWatch(settings.store, engine, loader, versions))
        except ConnectionLost:
            note_lost_run(files["lost_run"], engine.run_number)
            raise
        server.stop()
        engine.stop()


def note_lost_run(file: int, run: int) -> None:
    """Let the next process know that this run was no crash. On a full disk it counts as a crash."""
    with suppress(OSError):
        os.pwrite(file, str(run).encode(), 0)


def _report_lost_run(file: int, store: StoreAddress) -> None:
    """Note in the store that the run of the process before this one was no crash, if it ended because its connection
    was lost.
    """
    if run := os.pread(file, 20, 0):
        with closing(engine_reader(store)) as database, database.transaction() as execute:
            lost_connection(execute, int(run))
        os.ftruncate(file, 0)


def _composed_in_turn(
    settings: Settings, loader: ProgramLoader, database: Database, files: Mapping[str, int], signals: int
) -> Engine | None:
    """Wait until no other machine's engine writes the store and the published version can be served, and return the
    engine; None if SIGTERM comes first. Raises `bot.store.files.StoreLocked` if the store has only this machine.
    """
    try:
        if not _is_left(settings.store, database):
            return _composed(settings, loader, WakePipe(files["woken"]))
    except StoreLocked:
        if not is_shared(settings.store):
            raise
        log.warning("the engine of another machine runs: this one waits, and takes over when that one ends")
    except VersionRefused:
        pass  # the loader has said it
    with ExitStack() as standing_by:
        others_run = standing_by.enter_context(other_engines(settings.store, lambda: loader.refusal is None))
        server = local_socket.LocalServer(settings.store, partial(_answer_in_wait, settings.store, loader, others_run))
        server.start()
        standing_by.callback(server.stop)
        # what is accepted here, another engine takes, or this one later
        tell_up(files["news"], role_name("engine", settings.store))
        free_at = monotonic()
        while True:
            if not _pass_on(files["woken"], signals, settings.store, database):
                return None
            with suppress(StoreLocked, StoreUnavailable, VersionRefused):  # a third one was quicker
                alone = not others_run()
                loader.newest()  # before its turn comes: then it takes over at once
                if not alone:
                    free_at = monotonic()
                elif monotonic() > free_at + LEFT_SECONDS or not _is_left(settings.store, database):
                    return _composed(settings, loader, WakePipe(files["woken"]))


def _pass_on(woken: int, signals: int, store: StoreAddress, database: Database) -> bool:
    """For `TAKE_OVER_SECONDS`, wake the engine of another machine when events were accepted here. False after
    SIGTERM.
    """
    shard = 0 if isinstance(store, Path) else store.shard or 0
    until = monotonic() + TAKE_OVER_SECONDS
    while (left := until - monotonic()) > 0:
        ready, _, _ = select.select([signals, woken], [], [], left)
        if signals in ready and signal.SIGTERM in os.read(signals, 1000):
            return False
        if woken in ready:
            os.read(woken, 65536)
            database.wake((shard,))
    return True


def _answer_in_wait(
    store: StoreAddress, loader: ProgramLoader, others_run: Callable[[], bool], request: AnyRequest
) -> EngineAnswer:
    """Answer a local client while this engine waits. If no other engine runs, another version can be published."""
    if loader.refusal is None:
        return ask_elsewhere(store, request)
    if others_run():
        answer = ask_elsewhere(store, request)
        if isinstance(answer, Status):
            return replace(answer, alarms=[*answer.alarms, loader.refusal.alarm.as_json()])
        return answer
    if not isinstance(request, PublishVersion):
        raise loader.refusal
    with closing(engine_writer(store)) as database:
        return loader.publish(request, database, lambda program: None)


def _composed(settings: Settings, loader: ProgramLoader, wakes: WakePipe) -> Engine:
    while True:
        engine = _engine_of(settings, loader.newest(), wakes)
        if loader.is_newest():  # none was published before the store was this engine's
            return engine
        engine.stop()


def _engine_of(settings: Settings, program: Program, wakes: WakePipe) -> Engine:
    if settings.model_service is None and (lack := program.library.lacks_model) is not None:
        log.error("%s: set BOT_AI_URL, BOT_AI_KEY and BOT_AI_MODEL", lack)
    if program.library.makes_addresses and settings.public_url is None:
        log.error("flows call signal_url, and nobody could reach these addresses: set BOT_PUBLIC_URL")
    return Engine(
        program,
        settings.store,
        SystemClock(),
        GatewayAccount(
            settings.gateway_url,
            settings.gateway_key,
            channel_id=settings.channel_id,
            per_minute=settings.gateway_per_minute,
            per_day=settings.gateway_per_day,
            per_contact=settings.gateway_per_contact,
            repeat_unknown=settings.repeat_unknown,
        ),
        answer_ids=settings.answer_ids,
        results_days=settings.results_days,
        models=settings.model_service,
        addresses=OwnAddresses(settings.public_url, signal_key(settings.store)),
        secrets=os.environ,  # those that flows name, which a reload may change
        wakes=wakes,
    )


def _signals() -> int:
    """A descriptor on which SIGTERM and SIGHUP are a byte each."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return read


def _answer(engine: Engine, loader: ProgramLoader, request: AnyRequest) -> EngineAnswer:
    """Answer a client: the loader reloads and publishes, the engine does all else."""
    if isinstance(request, Reload):
        return FilesLoaded(_reload(engine, loader))
    if isinstance(request, PublishVersion):
        return loader.publish(request, engine.database, engine.swap)
    return engine.operate(request)


def _answer_others(engine: Engine, loader: ProgramLoader, request: AnyRequest) -> EngineAnswer | None:
    """Answer a request of another machine; None if this engine ends before it is done, because the next one does it."""
    with suppress(EngineStopped, ConnectionLost):
        return _answer(engine, loader, request)
    return None


def _reload(engine: Engine, loader: ProgramLoader) -> bool:
    program = loader.again()
    if program is not None:
        engine.swap(program)
    return program is not None


def _is_left(store: StoreAddress, database: Database) -> bool:
    """True if this machine leaves a free shard to another machine: `bot.server.process.balance.should_yield`."""
    return not isinstance(store, Path) and store.shard is not None and should_yield(database.machines(), store.shard)


class ShardWatch:
    """Tells whether the engine of a shard is to end. Until then the engine serves each version that is published."""

    def __init__(self, store: StoreAddress, engine: Engine, loader: ProgramLoader, database: Database) -> None:
        self._shard = None if isinstance(store, Path) or store.shard is None else store
        self._engine = engine
        self._loader = loader
        self._database = database
        self._moves_by = math.inf

    def ends(self) -> bool:
        """True if the newest version cannot be served here, or the shard is to move
        (`bot.server.process.balance.shard_to_move`).

        A move waits until no call is under way, because `Engine.stop` would wait for it, but at most `MOVE_SECONDS`.
        """
        if self._shard is None:
            return False
        try:
            if not self._loader.is_newest():
                self._engine.swap(self._loader.newest())
            if shard_to_move(self._database.machines(), self._shard.shards) != self._shard.shard:
                self._moves_by = math.inf
                return False
            self._moves_by = min(self._moves_by, monotonic() + MOVE_SECONDS)
            moves = not self._engine.is_calling() or monotonic() >= self._moves_by
        except VersionRefused:
            return True  # the loader has said it
        except StoreUnavailable:
            return False  # `Engine.check` sees what that means
        if moves:
            log.info("the engine of another machine, which works on fewer shards, takes this one over")
        return moves


def _run_until_end(engine: Engine, loader: ProgramLoader, signals: int, watch: ShardWatch) -> None:
    """Reload when files are saved. Return on SIGTERM, or when the engine of a shard is to end."""
    look_at = monotonic() + WATCH_SECONDS
    while True:
        ready, _, _ = select.select([signals], [], [], max(0.0, look_at - monotonic()))
        received = os.read(signals, 1000) if signals in ready else b""
        if signal.SIGTERM in received:
            return
        if monotonic() >= look_at or signal.SIGHUP in received:
            look_at = monotonic() + WATCH_SECONDS
            if loader.changed() or signal.SIGHUP in received:
                _reload(engine, loader)
            if watch.ends():
                return
        engine.check()
