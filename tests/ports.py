"""Ports that are a test's own, also while nobody listens at them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses connections, until a server is made to listen at it.

    It is bound all the time. So no other process is given it, neither before that server runs nor while it is down.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
