"""Ports that are a test's own, also while nobody listens at them."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

_held = ExitStack()


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses connections, until a server is made to listen at it.

    It is bound all the time. So no other process is given it, neither before that server runs nor while it is down.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@cache
def usual_port() -> int:
    """The port at which this process's servers of pages listen, one after the other: so a browser, for which they are
    one server, need not load their styles and scripts again.
    """
    return _held.enter_context(reserved_port())


def pages_listener() -> socket.socket:
    """Listens at the usual port, or at any other while a server listens there."""
    try:
        return socket.create_server(("127.0.0.1", usual_port()))
    except OSError:
        return socket.create_server(("127.0.0.1", 0))
