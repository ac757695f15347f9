"""What the supervisor's two children run: ``python -m bot.child web|engine``. Each imports only its own half."""

import json
import logging
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

from bot import telemetry
from bot.clock import SystemClock
from bot.core.errors import BotError
from bot.settings import Settings, read_settings

ORPHAN_SECONDS = 1.0  # to end in, when the supervisor was killed
WATCH_SECONDS = 0.5
log = logging.getLogger("bot")


def main() -> int:
    """Run one of the two; the arguments are the supervisor's."""
    role, arguments = sys.argv[1], json.loads(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor says when
    settings = read_settings(Path(arguments["folder"]), os.environ, {})
    telemetry.set_up(role, settings.secrets)
    threading.Thread(target=_end_with, args=(arguments["lifeline"],), name="lifeline", daemon=True).start()
    try:
        return (_web if role == "web" else _engine)(settings, arguments)
    except BotError as error:
        log.error("%s", error)
        return 1


def _end_with(lifeline: int) -> None:
    """Stop when the supervisor is gone, politely and then at once."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(ORPHAN_SECONDS)
    os._exit(1)


def _web(settings: Settings, arguments: dict[str, Any]) -> int:
    from bot import local
    from bot.store.inbox import InboxWriter
    from bot.web.app import Door, create_app
    from bot.web.server import Server

    clock = SystemClock()
    inbox = InboxWriter(settings.store, clock)
    door = Door(
        inbox=inbox,
        secrets=settings.webhook_secrets,
        tolerance=settings.webhook_tolerance,
        clock=clock,
        wake=lambda: _wake(arguments["wake"]),
        engine_is_up=lambda: local.answers(settings.store),
        path=settings.webhook_path,
    )
    server = Server(create_app(door), socket.socket(fileno=arguments["listener"]))
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    os.write(arguments["news"], b"web\n")
    server.run()
    inbox.close()
    return 0


def _wake(pipe: int) -> None:
    """Wake the engine. A full pipe means that it has been told often enough."""
    try:
        os.write(pipe, b"x")
    except BlockingIOError:
        pass
