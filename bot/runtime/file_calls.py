"""Performs `Fetch`: downloads a file that a contact sent before its address expires, checks it, and keeps it."""

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import BinaryIO, Self

from bot.core.effects import NOT_FETCHED, TOO_LARGE, WRONG_TYPE, Fetch
from bot.core.errors import BotError
from bot.core.filetypes import END, FILE_TYPES, FileType, type_of
from bot.core.values import Media
from bot.http_client import HttpClient, HttpError, Oversized, Streamed
from bot.public_addresses import MOST_REDIRECTS, REDIRECTS, BadAddress, HostUnknown, WebAddress, redirected_to
from bot.runtime.performers import CallAttempt, Say
from bot.store.database import StoreAddress
from bot.store.files import contact_files, files_folder
from bot.store.rows import CallRow


class KeptFile:
    """A file that is written to ``folder``: beside its place first, and moved there when it is complete.

    A second try under the same ``name`` begins from the start. Leaving the block without `keep` removes what was
    written. Everything here raises `OSError`, for example on a full disk.
    """

    def __init__(self, folder: Path, name: str) -> None:
        _make(folder)
        self._folder = folder
        self._name = name
        self._part = folder / f"{name}.part"
        self._file: BinaryIO = os.fdopen(os.open(self._part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._file.close()
        finally:
            self._part.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        """Append to the file."""
        self._file.write(data)

    def ends(self, size: int) -> tuple[bytes, bytes]:
        """The first and the last ``size`` bytes of the file."""
        length = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        start = self._file.read(size)
        self._file.seek(max(0, length - size))
        return start, self._file.read(size)

    def keep(self, suffix: str) -> Path:
        """Move the file to its place. When this returns, it is durable."""
        self._file.flush()
        os.fsync(self._file.fileno())
        path = self._folder / f"{self._name}.{suffix}"
        self._part.replace(path)
        _sync(self._folder)
        return path


def _make(folder: Path) -> None:
    """Make the folder and its parents, private, each durable in its parent."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(0o700, exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


IDLE_SECONDS = 15.0
_PASSING = (408, 425, 429)


class NotFetched(BotError):
    """The file could not be fetched. ``again``: another try may help."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


class DownloadTooLarge(BotError):
    """The file has more bytes than are allowed."""


class Downloads:
    """Fetches files by http and https. Safe to use from many threads.

    Files of the gateway's own host are fetched wherever that is, also inside our network, and like the gateway
    itself, because the operator named it. All other hosts are reached directly, never with the environment's proxies
    or certificates.
    """

    def __init__(self, gateway_url: str) -> None:
        self._gateway = WebAddress.of(gateway_url).server

    @contextmanager
    def open(self, url: str, *, most: int, seconds: float) -> Iterator[Iterator[bytes]]:
        """A file's bytes as they come, at most ``most`` of them and for at most ``seconds``, redirects included.

        Raises `NotFetched` and `ValueTooLarge`: itself, and from the bytes.
        """
        deadline = monotonic() + seconds
        inside = True
        try:
            for _ in range(MOST_REDIRECTS + 1):
                place = WebAddress.of(url)
                inside = inside and place.server == self._gateway  # a redirect from outside does not lead back in
                with _answer(place, inside, most, deadline) as answer:
                    if answer.status not in REDIRECTS:
                        yield _checked(answer, place, most)
                        return
                    url = redirected_to(url, answer.headers.get("location", ""))
        except Oversized as error:
            raise DownloadTooLarge(f"it has more than {most} bytes") from error
        except (HttpError, HostUnknown) as error:
            raise NotFetched(str(error), again=True) from error
        except BadAddress as error:
            raise NotFetched(str(error)) from error
        raise NotFetched(f"more than {MOST_REDIRECTS} redirects")


@contextmanager
def _answer(place: WebAddress, inside: bool, most: int, deadline: float) -> Iterator[Streamed]:
    """The answer: if ``inside``, of the gateway's own host, reached like the gateway; else of a public host."""
    address = None if inside else place.public_address(_left(deadline))
    left = _left(deadline)
    with closing(HttpClient(place.origin, seconds=left, body_limit=most, address=address, own=inside)) as http:
        accepting = {"Accept": "*/*"}
        with http.stream("GET", place.target, None, accepting, idle_seconds=IDLE_SECONDS, seconds=left) as answer:
            yield answer


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise NotFetched("it was not there in time", again=True)
    return left


def _checked(answer: Streamed, place: WebAddress, most: int) -> Iterator[bytes]:
    if answer.status != 200:
        again = answer.status in _PASSING or answer.status >= 500
        raise NotFetched(f"{place.host} answered {answer.status}", again=again)
    length = answer.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:18]) > most:
        raise DownloadTooLarge(f"it has more than {most} bytes")
    return answer.chunks


MARGIN = 5.0
"""How many seconds before its performer's time-out a fetch ends."""

SPARE_BYTES = 256 << 20
"""Free disk space in bytes that files must leave, because the store needs it."""

log = logging.getLogger(__name__)


class FileCalls:
    """Performs `Fetch`. Safe to use from many threads.

    A file's name is the row's key: the same fetch, begun again after a crash, keeps the same file.
    """

    def __init__(self, downloads: Downloads, store: StoreAddress) -> None:
        self._downloads = downloads
        self._store = store.resolve() if isinstance(store, Path) else store

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Fetch the row's file and keep it. Raises nothing."""
        assert isinstance(row.effect, Fetch)
        folder = contact_files(self._store, row.contact)
        try:
            return _already_kept(folder, row.key, row.effect.media) or self._fetch(folder, row.key, row.effect)
        except DownloadTooLarge as error:
            return CallAttempt(TOO_LARGE, detail=str(error))
        except NotFetched as error:
            return CallAttempt(NOT_FETCHED, detail=str(error), again=error.again)
        except OSError as error:
            log.error("a file of a contact's cannot be kept: %s", error.strerror)
            return CallAttempt(NOT_FETCHED, detail=f"it cannot be written: {error.strerror}", again=True)

    def _fetch(self, folder: Path, name: str, effect: Fetch) -> CallAttempt:
        if shutil.disk_usage(files_folder(self._store).parent).free < effect.most + SPARE_BYTES:
            log.error("a file of a contact's cannot be kept: too little is free of the disk")
            return CallAttempt(NOT_FETCHED, detail="too little is free of the disk", again=True)
        media, seconds = effect.media, effect.within - MARGIN
        with KeptFile(
            folder, name
        ) as file:  # from the beginning: if the folder is erased meanwhile, this file goes, too
            with self._downloads.open(media.url, most=effect.most, seconds=seconds) as chunks:
                for chunk in chunks:
                    file.write(chunk)
            found = type_of(*file.ends(END), media.kind)
            allowed = found is not None and (not effect.types or found.suffix in effect.types)
            if found is None or found.kind != media.kind or not allowed:
                what = "something else" if found is None else found.name
                return CallAttempt(WRONG_TYPE, detail=f"the {media.kind} is {what}")
            return _done(media, file.keep(found.suffix), found)


def _already_kept(folder: Path, name: str, media: Media) -> CallAttempt | None:
    """The file that was kept before a crash, if there is one. It is not fetched again, because its address may have expired."""
    for found in FILE_TYPES:
        path = folder / f"{name}.{found.suffix}"
        if path.exists():
            return _done(media, path, found)
    return None


def _done(media: Media, path: Path, found: FileType) -> CallAttempt:
    return CallAttempt("done", replace(media, file=str(path), type=found.name))
