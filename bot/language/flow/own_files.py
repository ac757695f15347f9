"""The files of the bot's own that messages have: those in its folder ``files``, texts that are made into files, and
files that handlers make.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from bot.core.filetypes import END, TXT, type_of
from bot.core.immutable import immutable
from bot.core.messages import MEDIA_BYTES, MEDIA_SUFFIXES
from bot.core.own_addresses import FileAddress, OwnAddresses
from bot.core.values import Media
from bot.language.flow.documents import FILES
from bot.language.source.problems import Problems, did_you_mean
from bot.language.steps.step_facts import SentFile, StepFailed


@immutable
class FileLinks:
    """Makes the addresses of files for the messages of a turn, at this time and to this contact."""

    files: Mapping[str, bytes]
    addresses: OwnAddresses
    at: datetime
    contact: str

    def of_own(self, kind: str, path: str) -> str:
        """The address of a file in the folder. Raises `StepFailed` if it is not there, or the gateway refuses it."""
        if (found := _objection(self.files, kind, path)) is not None:
            _, what, fix = found
            raise StepFailed("failed", f"{what}: {fix}")
        return self._made(FileAddress(path, self.at), self.files[path])

    def of_text(self, filename: str, text: str) -> str:
        """The address of a file with this text. The gateway knows it as plain text, whatever its ``filename``."""
        path = f"{filename.rpartition('/')[2].rpartition('.')[0] or 'file'}.{TXT.suffix}"
        return self._made(FileAddress(path, self.at, self.contact), text.encode(errors="replace"))

    def of_made(self, kind: str, file: Media, filename: str) -> str:
        """The address of a file that a handler has made. Its name ends as its content says. Raises `StepFailed` for a
        file of a contact's, and for one of another kind.
        """
        if file.file is None or not file.made:
            raise StepFailed("failed", "a file that a contact has sent cannot be sent")
        if file.kind != kind:
            raise StepFailed("failed", f"the file is {file.type}: send it as {file.kind}, not as {kind}")
        kept = file.file.rpartition("/")[2]
        suffix = f".{kept.rpartition('.')[2]}"
        stem = filename.rpartition("/")[2].removesuffix(suffix) or kind
        return self._made(FileAddress(f"{stem}{suffix}", self.at, self.contact, kept), kept.encode())

    def _made(self, file: FileAddress, content: bytes) -> str:
        found = self.addresses.file(file, content)
        if found is None:
            raise StepFailed("failed", "the gateway cannot fetch the bot's files: set BOT_PUBLIC_URL")
        return found


def check_files(sent: Iterable[SentFile], files: Mapping[str, bytes], problems: Problems) -> None:
    """Check that the files of the bot's own that flows name are there, and that the gateway takes them."""
    for file in dict.fromkeys(each for each in sent if each.own and each.link.constant):
        if (found := _objection(files, file.kind, file.link.source)) is not None:
            code, what, fix = found
            problems.add(code, file.link.mark, what, fix)


def _objection(files: Mapping[str, bytes], kind: str, path: str) -> tuple[str, str, str] | None:
    """The reason why a file cannot be sent as this kind, with its code and what to do; None if it can."""
    content, name = files.get(path), f"{FILES}{path}"
    if content is None:
        return "E407", f"there is no file {name}", did_you_mean(path, files, f"put it into the folder {FILES}")
    found, most = type_of(content[:END], content[-END:], kind), MEDIA_BYTES[kind]
    taken = ", ".join(MEDIA_SUFFIXES[kind])
    if found is None or not found.sent or found.kind != kind:
        what = f"{name} is {'of no type that the gateway takes' if found is None else found.name} by its content"
        return "E404", what, f"use {taken} as {kind}"
    last = path.rpartition("/")[2]
    stem, _, suffix = last.rpartition(".")
    if suffix.lower().replace("jpeg", "jpg") != found.suffix:
        shown = f", and write filename: {last}" if found == TXT else ""
        fix = f"rename it to {stem or last}.{found.suffix}{shown}"
        return "E404", f"{name} is {found.name} by its content, and its name does not end in .{found.suffix}", fix
    if len(content) > most:
        size = f"{len(content) / (1 << 20):.1f} MB"
        return "E404", f"{name} has {size}, {most >> 20} MB are allowed for {kind}", "make it smaller"
    return None
