"""A proxy on loopback: it relays what it is told to, or refuses it."""

import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

_TARGET = re.compile(r"(?:CONNECT |[A-Z]+ http://)([^:/ ]+)(?::(\d+))?")


class Proxy:
    """Relays to the port on loopback that stands for a host in ``ports``; with ``status`` it refuses instead.

    ``heads`` are the requests that it was sent, with their headers.
    """

    def __init__(self, ports: Mapping[str, int], status: int = 200) -> None:
        self.heads: list[str] = []
        self._ports = ports
        self._status = status
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head and (data := connection.recv(4096)):
                head += data
            self.heads.append(head.decode())
            if self._status != 200:
                connection.sendall(f"HTTP/1.1 {self._status} No\r\nContent-Length: 0\r\n\r\n".encode())
                return
            found = _TARGET.match(self.heads[-1])
            assert found is not None
            with socket.create_connection(("127.0.0.1", self._ports[found[1]])) as target:
                if head.startswith(b"CONNECT"):
                    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    target.sendall(head)
                back = threading.Thread(target=relay, args=(target, connection), daemon=True)
                back.start()
                relay(connection, target)
                back.join()


def relay(come: socket.socket, go: socket.socket) -> None:
    with suppress(OSError):
        while data := come.recv(65536):
            go.sendall(data)
        go.shutdown(socket.SHUT_WR)


@contextmanager
def proxy(ports: Mapping[str, int], status: int = 200) -> Iterator[Proxy]:
    running = Proxy(ports, status)
    try:
        yield running
    finally:
        running.close()
