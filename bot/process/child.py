"""What the supervisor's two children run. Each imports only its own half."""

import gc
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from bot import local_socket, telemetry
from bot.clock import SystemClock
from bot.core.errors import BotError
from bot.settings import Settings, read_settings
from bot.store.files import RestoreUnfinished, StoreDamaged, StoreMissing
from bot.store.integrity import StoresDiffer

if TYPE_CHECKING:
    from bot.app import Engine
    from bot.process.program_loader import ProgramLoader
    from bot.program import Program
    from bot.web.web_service import WebService

ORPHAN_SECONDS = 1.0  # to end in, when the supervisor was killed
ASK_SECONDS = 1.0  # for the engine to answer the web process
WATCH_SECONDS = 0.5  # between two looks at the bot's files
STUCK = 70  # the exit code of an engine in which Python of the bot's own cannot be stopped
UNFIT = 71  # and of either where the store's files cannot be used, however often it is started again
BREATH_SECONDS = 0.001  # one wake-up is enough for all events of so short a time
_UNFIT = (StoresDiffer, StoreDamaged, StoreMissing, RestoreUnfinished)
log = logging.getLogger("bot")


def main() -> None:
    """Run one of the two. The arguments are the supervisor's: descriptors by name, and the bot's folder."""
    role, arguments = sys.argv[1], json.loads(sys.argv[2])
    gc.disable()  # until it is up: nothing that is loaded is garbage, and collecting took a fifth of the start
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor says when
    settings = read_settings(Path(arguments["folder"]), os.environ, {}, arguments["secrets"])
    telemetry.set_up(role, settings.secrets, settings.log_format, turns=settings.log == "turns")
    code = 1
    try:
        (_web if role == "web" else _engine)(settings, arguments)
        code = 0
    except BotError as error:
        print(error, file=sys.stderr, flush=True)
        code = UNFIT if isinstance(error, _UNFIT) else 1
    except Exception:
        log.exception("the %s process ends", role)
    finally:
        os._exit(code)  # a handler that hangs on its thread would hold up an ordinary exit


def _end_with(lifeline: int) -> None:
    """Stop when the supervisor is gone, politely and then at once."""

    def watch() -> None:
        os.read(lifeline, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


def _web(settings: Settings, arguments: dict[str, Any]) -> None:
    from bot.web.web_service import WebService

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # one thread waits for it, and it interrupts none
    _end_with(arguments["lifeline"])
    service = WebService(
        settings.store,
        socket.socket(fileno=arguments["listener"]),
        SystemClock(),
        secrets=settings.webhook_secrets,
        tolerance=settings.webhook_tolerance,
        path=settings.webhook_path,
        begun=_Once(arguments["begun"]),
        wake=lambda: _tell(arguments["wake"], b"x"),
        ask=lambda request: local_socket.ask(settings.store, request, ASK_SECONDS),
        api_key=settings.api_key,
    )
    threading.Thread(target=_stop_on_sigterm, args=(service,), name="signals", daemon=True).start()
    _tell_up(arguments["news"], b"web\n")
    service.run()


class _Once:
    """Whether anything was ever written to a pipe. Nobody reads it, so it is still true after a restart."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._written = False

    def __call__(self) -> bool:
        self._written = self._written or bool(select.select([self._pipe], [], [], 0)[0])
        return self._written


def _stop_on_sigterm(service: "WebService") -> None:
    signal.sigwait([signal.SIGTERM])
    service.stop()


def _tell_up(news: int, role: bytes) -> None:
    gc.enable()
    _tell(news, role)


def _tell(pipe: int, news: bytes) -> None:
    """Write to a pipe of the supervisor's. A full one means that the news is known; a broken one, that we end too."""
    with suppress(BlockingIOError, BrokenPipeError):
        os.write(pipe, news)


def _engine(settings: Settings, arguments: dict[str, Any]) -> None:
    from bot.process.program_loader import ProgramLoader
    from bot.watchdog import WATCHDOG, end_when_deaf

    WATCHDOG.on_stuck = lambda what: os._exit(STUCK)  # started again, the engine gives up the event that does it
    end_when_deaf()
    signals = _signals()
    _end_with(arguments["lifeline"])
    with os.fdopen(arguments["last_good"], "r+b") as last_good:
        reloads = ProgramLoader(Path(arguments["folder"]), last_good)
        engine = _composed(settings, reloads.first())
        reloads.tell(engine.alarms)
        server = local_socket.LocalServer(settings.store, lambda request: _answer(engine, reloads, request))
        engine.start()
        _tell(arguments["begin"], b"x")
        server.start()
        _tell_up(arguments["news"], b"engine\n")
        _run_until_sigterm(engine, reloads, signals, arguments["woken"])
        server.stop()
        engine.stop()


def _composed(settings: Settings, program: "Program") -> "Engine":
    from bot.app import Engine

    if program.library.asks_models and settings.model_service is None:
        log.error("flows ask models, and no service is set up: set BOT_AI_URL, BOT_AI_KEY and BOT_AI_MODEL")
    return Engine(
        program,
        settings.store,
        SystemClock(),
        gateway_url=settings.gateway_url,
        gateway_key=settings.gateway_key,
        channel_id=settings.channel_id,
        per_minute=settings.gateway_per_minute,
        per_day=settings.gateway_per_day,
        per_contact=settings.gateway_per_contact,
        repeat_unknown=settings.repeat_unknown,
        models=settings.model_service,
        secrets=os.environ,  # those that flows name, which a reload may change
    )


def _signals() -> int:
    """A descriptor on which SIGTERM and SIGHUP are a byte each."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return read


def _answer(engine: "Engine", reloads: "ProgramLoader", request: dict[str, Any]) -> dict[str, Any]:
    """What a local client asks: ``reload`` is for the files, all else for the engine."""
    if request.get("do") == "reload":
        return {"reloaded": _reload(engine, reloads)}
    return engine.operate(request)


def _reload(engine: "Engine", reloads: "ProgramLoader") -> bool:
    program = reloads.again()
    if program is not None:
        engine.swap(program)
    return program is not None


def _run_until_sigterm(engine: "Engine", reloads: "ProgramLoader", signals: int, woken: int) -> None:
    """Wake the engine when the web process says so, reload when files are saved, return on SIGTERM."""
    look_at = monotonic() + WATCH_SECONDS
    woken_at = 0.0
    while True:
        ready, _, _ = select.select([signals, woken], [], [], max(0.0, look_at - monotonic()))
        if woken in ready:
            if monotonic() - woken_at < 2 * BREATH_SECONDS:
                sleep(BREATH_SECONDS)
            os.read(woken, 65536)
            engine.wake()
            woken_at = monotonic()
        received = os.read(signals, 1000) if signals in ready else b""
        if signal.SIGTERM in received:
            return
        if monotonic() >= look_at or signal.SIGHUP in received:
            look_at = monotonic() + WATCH_SECONDS
            if reloads.changed() or signal.SIGHUP in received:
                _reload(engine, reloads)
        engine.check()
