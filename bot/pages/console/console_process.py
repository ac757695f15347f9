"""The console's process: shows the store to those who log in.

Only this file of the server imports what the console needs.
"""

import os
import signal
import socket
import threading
from collections.abc import Mapping
from pathlib import Path

from bot.core.clock import SystemClock
from bot.core.own_addresses import OwnAddresses
from bot.loading.folder import read_folder
from bot.server.process.child import end_with, tell_up
from bot.settings import Settings
from bot.store.opening import signal_key

NICENESS = 5  # the webhook and the engine come first


def run(settings: Settings, folder: Path, files: Mapping[str, int]) -> None:
    """Serve the console until SIGTERM."""
    from bot.pages.console.console_app import console_app
    from bot.pages.console.routes import Console
    from bot.pages.console.users import users_in
    from bot.pages.shared.page_server import PageServer

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # one thread waits for it, and it interrupts none
    end_with(files["lifeline"])
    os.nice(NICENESS)
    listener, stopping = socket.socket(fileno=files["listener"]), threading.Event()
    address = settings.console_url or f"http://127.0.0.1:{listener.getsockname()[1]}"
    public = settings.public_url
    addresses = None if public is None else OwnAddresses(public, signal_key(settings.store))
    console = Console(read_folder(folder), settings.store, SystemClock(), addresses)
    with PageServer(console_app(console, users_in(settings.console_users), address, stopping), listener, stopping):
        tell_up(files["news"], "console")
        signal.sigwait([signal.SIGTERM])
