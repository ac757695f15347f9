"""The files that contacts sent and flows keep: in a folder, or in an S3-like store that all machines reach.

A kept file is named by a text: its path in a folder, or its address, ``s3://bucket/prefix/ab/abc.../key.jpg``.
"""

import hashlib
import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Protocol, Self

from bot.core.alarms import Alarms
from bot.core.lazy_patterns import lazy_pattern
from bot.store.database import StoreAddress
from bot.store.files import StoreUnavailable, beside, files_folder, flush
from bot.store.opening import DriverMissing

if TYPE_CHECKING:
    from obstore.store import S3Store

SPARE_BYTES = 256 << 20
"""Free disk space in bytes that files must leave, because the store needs it."""

CONNECT_SECONDS, CHECK_SECONDS, REQUEST_SECONDS = 3.0, 5.0, 60.0
"""How long a request to an S3-like store may take. No request is repeated here: the row of the call is tried again
later.
"""

PART = ".part"
"""How the name of a file ends that is being written in a folder."""

_SCHEME = "s3://"
_CODE, _STATUS = lazy_pattern("<Code>([A-Za-z]{1,60})</Code>"), lazy_pattern("status code: ([0-9]{3})")


class FilesUnavailable(StoreUnavailable):
    """The store of kept files cannot be used now. ``passes``: this may end by itself."""

    def __init__(self, what: str, advice: str, *, passes: bool = False) -> None:
        super().__init__(what, advice)
        self.passes = passes


class KeptFiles(Protocol):
    """The kept files of all contacts of a bot. Safe to use from many threads.

    A file is called ``PLACE/NAME``, with the ``place`` of all of them: a folder, or a bucket with a prefix. Every
    method raises `FilesUnavailable` for an S3-like store, and `OSError` for a folder, or a file that is gone.
    """

    place: str

    def check(self) -> None:
        """See whether files can be kept."""

    def begin(self, contact: str, name: str, most: int) -> "NewFile":
        """A new file of a contact, with ``most`` bytes at most. The same ``name`` again replaces it."""

    def of(self, contact: str) -> list[str]:
        """A contact's files that are complete, or were begun before a crash."""

    def local(self, file: str) -> AbstractContextManager[str]:
        """A path on this machine where the file is, until the block ends."""

    def names(self) -> set[str]:
        """The names of all files, of all contacts."""

    def copy(self, name: str, source: Path) -> None:
        """Keep a copy of a file. When this returns, it is durable."""

    def remove(self, file: str) -> None:
        """Remove one file, if it is there."""

    def erase(self, contact: str) -> bool:
        """Remove a contact's files. False if some are left: ask again later. Never waits for a network or raises."""


def kept_files(store: StoreAddress, alarms: Alarms | None = None) -> KeptFiles:
    """Where the files of a store are kept; ``alarms`` tell of trouble with it. Raises
    `bot.store.opening.DriverMissing`.
    """
    folder = files_folder(store.resolve()) if isinstance(store, Path) else store.files
    return FolderFiles(folder) if isinstance(folder, Path) else ObjectFiles(folder, beside(store), alarms)


def read_kept(files: KeptFiles, contact: str, name: str) -> bytes | None:
    """The content of a contact's kept file by the last part of its name; None if it is gone."""
    found = next((file for file in files.of(contact) if PurePosixPath(file).name == name), None)
    if found is None:
        return None
    try:
        with files.local(found) as path:
            return Path(path).read_bytes()
    except OSError:
        return None


def contact_path(contact: str) -> str:
    """The place of a contact's files. It is no other contact's, and does not contain the number."""
    name = hashlib.sha256(contact.encode()).hexdigest()
    return f"{name[:2]}/{name}"


class NewFile:
    """A file that is being written. Nothing of it stays unless `keep` has returned: then it is complete and durable."""

    def __init__(self, file: BinaryIO, keep: Callable[[BinaryIO, str], str], end: Callable[[], None]) -> None:
        self._file = file
        self._keep = keep
        self._end = end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.close()
        finally:
            self._end()

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

    def keep(self, suffix: str) -> str:
        """Put the file in its place, and return what it is called there."""
        self._file.flush()
        return self._keep(self._file, suffix)


class FolderFiles:
    """`KeptFiles` in a folder: beside a store of files, or shared by all machines."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.place = str(folder)

    def check(self) -> None:
        """Do nothing: a folder is checked with the settings, and its disk with each file."""

    def begin(self, contact: str, name: str, most: int) -> NewFile:
        """A new file, which is written beside its place. If the contact is erased meanwhile, it goes, too."""
        disk = self._folder if self._folder.is_dir() else self._folder.parent  # it may be a disk of its own
        if shutil.disk_usage(disk).free < most + SPARE_BYTES:
            raise OSError(0, "too little is free of the disk")
        folder = self._folder / contact_path(contact)
        _make(folder)
        part = folder / f"{name}{PART}"

        def keep(file: BinaryIO, suffix: str) -> str:
            os.fsync(file.fileno())
            path = folder / f"{name}.{suffix}"
            part.replace(path)
            flush(folder)
            return str(path)

        file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b")
        return NewFile(file, keep, lambda: part.unlink(missing_ok=True))

    def of(self, contact: str) -> list[str]:
        """The paths of a contact's files."""
        return sorted(str(file) for file in (self._folder / contact_path(contact)).rglob("*") if file.is_file())

    def local(self, file: str) -> AbstractContextManager[str]:
        """The file itself."""
        return nullcontext(file)

    def names(self) -> set[str]:
        """The names of all files."""
        return {path.relative_to(self._folder).as_posix() for path in self._folder.rglob("*") if path.is_file()}

    def copy(self, name: str, source: Path) -> None:
        """Copy a file into the folder."""
        path = self._folder / name
        _make(path.parent)
        shutil.copyfile(source, path)
        path.chmod(0o600)
        for written in (path, path.parent):
            flush(written)

    def remove(self, file: str) -> None:
        """Remove one file."""
        Path(file).unlink(missing_ok=True)

    def erase(self, contact: str) -> bool:
        """Remove a contact's folder."""
        folder = self._folder / contact_path(contact)
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()


class ObjectFiles:
    """`KeptFiles` in an S3-like bucket, below a prefix. While a handler reads a copy, it lies beside ``beside``."""

    def __init__(self, url: str, beside: Path, alarms: Alarms | None = None) -> None:
        if find_spec("obstore") is None:
            raise DriverMissing(
                "files are kept in an S3-like store, and its library is not installed: pip install 'bot-flows[s3]'"
            )
        self.place = url.rstrip("/")
        self._bucket = self.place.removeprefix(_SCHEME).partition("/")[0]
        self._copies = beside.with_name(f"{beside.name}.copies")
        self._alarms = alarms
        self._lock = threading.Lock()
        self._being_written: Counter[str] = Counter()  # by contact
        self._eraser = ThreadPoolExecutor(1, "erasure")
        self._erasures: dict[str, Future[bool]] = {}  # by contact: whether all is gone; until a new file is begun

    @cached_property
    def _store(self) -> "S3Store":
        return self._opened(REQUEST_SECONDS)

    def _opened(self, seconds: float) -> "S3Store":
        from obstore.store import S3Store

        endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        return S3Store.from_url(
            self.place,
            client_options={
                "timeout": timedelta(seconds=seconds),
                "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                "allow_http": endpoint.startswith("http://"),
            },
            retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=seconds)},
        )

    def check(self) -> None:
        """Put, list, get and delete an object, to find out what is not allowed or not there."""
        import obstore

        store, name = self._opened(CHECK_SECONDS), "check/check"
        with self._asked():
            obstore.put(store, name, b"", use_multipart=False)
            _listed(store, "check")
            obstore.get(store, name).bytes()
            obstore.delete(store, name)

    def forget_copies(self) -> None:
        """Remove the copies that a crash left."""
        shutil.rmtree(self._copies, ignore_errors=True)

    def begin(self, contact: str, name: str, most: int) -> NewFile:
        """A new file, in a temporary one without a name until it is uploaded in one request. Its contact is not erased
        before it has ended: after a crash, too, the erasure finds what arrived.
        """
        import obstore

        def keep(file: BinaryIO, suffix: str) -> str:
            path = f"{contact_path(contact)}/{name}.{suffix}"
            file.seek(0)
            with self._asked():
                obstore.put(self._store, path, file, use_multipart=False)
            return f"{self.place}/{path}"

        def end() -> None:
            with self._lock:
                self._being_written -= Counter([contact])

        new = NewFile(tempfile.TemporaryFile(), keep, end)  # first: the disk may be full  # noqa: SIM115
        with self._lock:
            self._being_written[contact] += 1
            self._erasures.pop(contact, None)
        return new

    def of(self, contact: str) -> list[str]:
        """The addresses of a contact's files."""
        with self._asked():
            return sorted(f"{self.place}/{path}" for path in _listed(self._store, contact_path(contact)))

    @contextmanager
    def local(self, file: str) -> Iterator[str]:
        """A copy of the file, beside the bot's lock. Raises `FileNotFoundError`, too."""
        import obstore

        with self._asked():
            content = obstore.get(self._store, self._path(file)).bytes()
        self._copies.mkdir(0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._copies) as folder:
            path = Path(folder) / PurePosixPath(file).name
            path.write_bytes(content)
            yield str(path)

    def names(self) -> set[str]:
        """The names of all files."""
        with self._asked():
            return set(_listed(self._store))

    def copy(self, name: str, source: Path) -> None:
        """Upload a file in one request."""
        import obstore

        with self._asked():
            obstore.put(self._store, name, source, use_multipart=False)

    def remove(self, file: str) -> None:
        """Remove one file."""
        import obstore

        with self._asked():
            obstore.delete(self._store, self._path(file))

    def erase(self, contact: str) -> bool:
        """Begin to remove a contact's files on a thread of its own, and return True once they are gone."""
        with self._lock:
            if self._being_written[contact]:
                return False
            if contact not in self._erasures:
                self._erasures[contact] = self._eraser.submit(self._erase, contact)
            if not self._erasures[contact].done():
                return False
            return self._erasures.pop(contact).result()

    def _erase(self, contact: str) -> bool:
        import obstore

        with suppress(FilesUnavailable, OSError), self._asked():  # it is an alarm, and asked for again
            if paths := _listed(self._store, contact_path(contact)):
                obstore.delete(self._store, paths)
            return True
        return False

    def _path(self, file: str) -> str:
        """The path of a file below the prefix. Raises `FileNotFoundError` for a file of another bucket or prefix."""
        if not file.startswith(f"{self.place}/"):
            raise FileNotFoundError(2, f"it is not in {self.place}")
        return file.removeprefix(f"{self.place}/")

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Raise `FilesUnavailable`, and report an alarm until a request succeeds, if the S3-like store fails."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            answered = _CODE.search(said := str(error)) or _STATUS.search(said)
            code = "" if answered is None else answered[1]
            if isinstance(error, FileNotFoundError) and code != "NoSuchBucket":
                raise FileNotFoundError(2, "it is gone") from None
            trouble = self._trouble(code, said)
            if self._alarms is not None:
                self._alarms.report("files-unavailable", f"no file can be kept or read: {trouble.what}", trouble.advice)
            raise trouble from None  # its own words are long, and name a contact's folder
        if self._alarms is not None:
            self._alarms.clear("files-unavailable")

    def _trouble(self, code: str, said: str) -> FilesUnavailable:
        where = f"the bucket {self._bucket} of BOT_FILES"
        if "http://169.254.169.254" in said:  # where a machine in a cloud has its key from
            advice = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in the environment or in .env"
            return FilesUnavailable(f"there is no key for {where}", advice)
        match code:
            case "NoSuchBucket":
                return FilesUnavailable(f"{where} does not exist", "make it, or name another")
            case "InvalidAccessKeyId" | "SignatureDoesNotMatch":
                wrong = "AWS_ACCESS_KEY_ID" if code == "InvalidAccessKeyId" else "AWS_SECRET_ACCESS_KEY"
                return FilesUnavailable(
                    f"{where} refuses the key: {wrong} is wrong", "set it, in the environment or in .env"
                )
            case "AccessDenied":
                advice = "give it the rights to list the bucket, and to put, get and delete its objects"
                return FilesUnavailable(f"{where} does not allow this key to do that (or does not exist)", advice)
        if code:
            return FilesUnavailable(f"{where} answers {code}", "see what its service says to that", passes=True)
        slow = "it did not answer in time" if "Timeout" in said or "TimedOut" in said else "there is no connection"
        return FilesUnavailable(
            f"{where} is not reached: {slow}", "check AWS_ENDPOINT_URL, AWS_REGION and the network", passes=True
        )


def _listed(store: "S3Store", folder: str | None = None) -> list[str]:
    import obstore

    return [each["path"] for some in obstore.list(store, folder) for each in some]


def _make(folder: Path) -> None:
    """Make the folder and its parents, private, each durable in its parent."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(0o700, exist_ok=True)
        flush(folder.parent)
