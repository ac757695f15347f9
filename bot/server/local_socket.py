"""The local socket: how a command on the same machine asks a running server. A line of JSON asks, and a line of JSON
answers.

It lies beside the store with mode 0600: a user who may read the store may ask.
"""

import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bot.core.defects import NoThread, found, guard, start_thread
from bot.core.engine_answers import EngineAnswer, EngineRefused
from bot.core.engine_requests import (
    A,
    AnyRequest,
    AskStatus,
    EngineRequest,
    answer_as_json,
    as_json,
    read_answer,
    read_request,
)
from bot.core.errors import BotError, OutcomeLost
from bot.server.shard_requests import ask_shards
from bot.store.database import REQUEST_BYTES, StoreAddress
from bot.store.files import beside
from bot.store.opening import ask_elsewhere, works_elsewhere

CLIENTS = 16
FULL_SECONDS = 0.1  # until it is tried again whether a file can be opened
PATIENCE = 5.0  # seconds for a client to say what it wants
TELL_SECONDS = 10.0  # for a server to tell its status, also if the client would wait longer for other requests
log = logging.getLogger("bot")
_ADDRESS_BYTES = 100  # the system's limit for a socket's path is 104 to 108


class NotRunning(BotError):
    """No server runs on this store, or it does not answer."""


class NotAnswered(NotRunning, OutcomeLost):
    """A server ran and got the request. It may have done it."""


def socket_of(store: StoreAddress) -> Path:
    """The path at which the server of a store listens on this machine."""
    return beside(store).with_name(beside(store).name + ".sock")


def ask(store: StoreAddress, request: EngineRequest[A], timeout: float = 10.0) -> A:
    """Ask the server of this machine that runs on ``store``, and wait ``timeout`` seconds for its answer. With shards,
    only the engines concerned are asked (`bot.server.shard_requests`).

    Raises `NotRunning`, `NotAnswered` once it is connected, and the `EngineRefused` that is the answer.
    """
    return ask_shards(store, request, partial(_ask, timeout=timeout))


def _ask(store: StoreAddress, request: AnyRequest, timeout: float) -> EngineAnswer:
    connected, only_tells = False, request.only_tells
    try:
        with socket.socket(socket.AF_UNIX) as client, _address(socket_of(store)) as address:
            client.settimeout(min(timeout, TELL_SECONDS) if only_tells else timeout)
            client.connect(address)
            connected = True
            client.sendall(json.dumps(as_json(request)).encode() + b"\n")
            with client.makefile("rb") as answer:
                return read_answer(request, json.loads(answer.readline()))
    except (OSError, ValueError) as error:
        name = store.name if isinstance(store, Path) else store
        if connected:
            known = "see its log" if only_tells else "it may have done this"
            raise NotAnswered(f"the server of {name} ended, or was silent, before it answered: {known}") from error
        raise NotRunning(f"no server answers for {name}: is `bot serve` running?") from error


def ask_engine(store: StoreAddress, request: EngineRequest[A], timeout: float = 10.0) -> A:
    """Ask as `ask` does; if no server listens on this machine, ask the engine of another one. Raises as `ask`, and for
    a store that machines share `bot.store.files.StoreUnavailable`.
    """
    return ask_shards(store, request, partial(_ask_engine, timeout=timeout))


def _ask_engine(store: StoreAddress, request: AnyRequest, timeout: float) -> EngineAnswer:
    try:
        return _ask(store, request, timeout)
    except NotRunning as silence:
        if isinstance(silence, NotAnswered) or not works_elsewhere(store):
            raise
        return ask_elsewhere(store, request)


def answers(store: StoreAddress, timeout: float = 1.0) -> bool:
    """True if a server runs on ``store``, on whichever machine, and answers within ``timeout`` seconds. Raises as
    `ask_engine`.
    """
    try:
        ask_engine(store, AskStatus(), timeout)
    except (NotRunning, EngineRefused):
        return False
    return True


class LocalServer:
    """Answers local requests. Each client has a thread of its own, so that a client that hangs delays no other."""

    def __init__(self, store: StoreAddress, answer: Callable[[AnyRequest], EngineAnswer]) -> None:
        self._path = socket_of(store)
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._free = threading.BoundedSemaphore(CLIENTS)
        self._ended = threading.Event()

    def start(self) -> None:
        """Listen. The caller holds the store's lock, so a socket that lies there is a dead server's."""
        self._path.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            with _address(self._path) as address:
                self._listener.bind(address)
        finally:
            os.umask(mask)
        self._listener.listen(CLIENTS)
        threading.Thread(target=guard(self._accept), name="local", daemon=True).start()

    def stop(self) -> None:
        """Stop listening."""
        self._ended.set()
        self._path.unlink(missing_ok=True)
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept(), which close() would not
        except OSError:
            pass
        self._listener.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:  # it has ended, or no more files can be opened just now
                self._ended.wait(FULL_SECONDS)
                continue
            if not self._free.acquire(blocking=False):
                client.close()
                continue
            try:
                start_thread(
                    threading.Thread(
                        target=guard(self._serve, ends_process=False), args=(client,), name="local client", daemon=True
                    )
                )
            except NoThread as error:
                log.error("a local request is not answered: %s", error)
                client.close()
                self._free.release()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, client.makefile("rb") as lines:
                client.settimeout(PATIENCE)
                client.sendall(json.dumps(answer_as_json(self._reply(lines.readline(REQUEST_BYTES)))).encode() + b"\n")
        except OSError:
            pass  # it went away, or never said anything
        finally:
            self._free.release()

    def _reply(self, line: bytes) -> EngineAnswer | BotError:
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict):
            return EngineRefused("a request is one line of JSON, an object")
        try:
            return self._answer(read_request(read))
        except BotError as error:
            return error
        except Exception as defect:
            found(defect, "local client", ends_process=False)
            return EngineRefused("the server could not do this: its log says why")


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """A socket's address, by way of its open folder where the whole path is too long for one."""
    if len(os.fsencode(path)) <= _ADDRESS_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
