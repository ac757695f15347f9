"""Files that a person sends from the console: kept with the contact's files, under an address of the bot's own."""

from pathlib import PurePosixPath, PureWindowsPath
from uuid import uuid4

from werkzeug.datastructures import FileStorage

from bot.core.filetypes import END, FILE_TYPES, type_of
from bot.core.messages import MEDIA_BYTES
from bot.core.own_addresses import FileAddress
from bot.pages.console.routes import ActionRefused, Console
from bot.store.kept_files import NewFile, kept_files

MOST_SENT = 16 << 20
"""The most bytes of a file: the web service has it in memory while the gateway fetches it."""
ACCEPTED = ",".join(f".{each.suffix}" for each in FILE_TYPES if each.sent)
"""The types of files that the gateway takes, as a browser's choice of files wants them."""
_PIECE = 1 << 20
_LONGEST_NAME = 100  # characters


def keep_sent_file(console: Console, contact: str, upload: FileStorage) -> str:
    """Keep a file, and return its address. Raises `ActionRefused` and `bot.store.files.StoreUnavailable`."""
    try:
        kept, suffix = _kept(console, contact, upload)
    except OSError as error:
        raise ActionRefused("the file cannot be kept: see the disk of the server") from error
    address = FileAddress(_shown_name(upload.filename or "", suffix), console.clock.now(), contact, kept)
    link = None if console.addresses is None else console.addresses.file(address, kept.encode())
    assert link is not None, "without a public address the form has no field for a file"
    return link


def _kept(console: Console, contact: str, upload: FileStorage) -> tuple[str, str]:
    """Keep a file. Returns its name among the contact's files, and the ending of what it is."""
    with kept_files(console.store).begin(contact, f"sent-{uuid4().hex}", MOST_SENT) as new:
        size = _copy(upload, new)
        found = type_of(*new.ends(END))
        if found is None or not found.sent:
            raise ActionRefused(f"the gateway takes no file of this type: it takes {ACCEPTED.replace(',', ', ')}")
        if size > min(MOST_SENT, MEDIA_BYTES[found.kind]):
            most = min(MOST_SENT, MEDIA_BYTES[found.kind]) >> 20
            raise ActionRefused(f"this {found.kind} is too large: {most} MB are allowed")
        return PurePosixPath(new.keep(found.suffix)).name, found.suffix


def _copy(upload: FileStorage, new: NewFile) -> int:
    """Copy the upload, a little more than is allowed at most. Returns how many bytes were copied."""
    size = 0
    while size <= MOST_SENT and (piece := upload.stream.read(_PIECE)):
        new.write(piece)
        size += len(piece)
    return size


def _shown_name(given: str, suffix: str) -> str:
    """The name that the contact sees: the file's own, with the ending of what the file is."""
    stem = PureWindowsPath(given).stem.replace("\0", "").strip()[:_LONGEST_NAME]  # it knows both kinds of slashes
    return f"{stem or 'file'}.{suffix}"
