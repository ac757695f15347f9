"""A bot's folder: which files belong to the bot, and their content at one moment."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.language.flow.documents import BOT_FILE, FILES, Source
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, Node, Scalar, one_or_more, read
from bot.language.steps.mcp_servers import LISTS

DEFAULT = Path("flows")
_SUFFIXES = (".yml", ".yaml")
_PLAIN = (".md", ".txt")
_READ = (*_PLAIN, ".pdf", ".docx")
_DOCUMENTS = (*_READ, ".json")
MOST_DOCUMENT = 2 << 20  # bytes
MOST_FILE = 16 << 20  # bytes of a file that steps send, or of a PDF: each engine has it in memory, each version too


class NoBot(BotError):
    """There is no bot to be found, or a file of it cannot be read."""


@immutable
class Folder:
    """A bot's files as they were at one moment: what was checked is what runs, also if the disk changes later."""

    path: Path
    sources: tuple[Source, ...]  # YAML files
    code: tuple[Source, ...]  # handlers.py, or the modules of handlers/
    documents: tuple[Source, ...] = ()  # those that AI turns may know; lists of tools; all in files/, to be sent

    @property
    def name(self) -> str:
        """The bot's name, or its folder's where it has none."""
        name = self.written("name")
        return name.text if isinstance(name, Scalar) else self.path.resolve().name

    @property
    def timezone(self) -> ZoneInfo:
        """The bot's time zone: UTC where it has none. The check reports an unknown one."""
        zone = self.written("timezone")
        try:
            return ZoneInfo(zone.text if isinstance(zone, Scalar) else "UTC")
        except (KeyError, ValueError):
            return ZoneInfo("UTC")

    @property
    def is_named(self) -> bool:
        """True if `bot.yml` can be read and its time zone exists; else `name` and `timezone` are defaults."""
        zone = self.written("timezone")
        return self._bot_file is not None and (not isinstance(zone, Scalar) or zone.text == self.timezone.key)

    @property
    def files(self) -> tuple[Source, ...]:
        """All of its files."""
        return *self.sources, *self.code, *self.documents

    @property
    def digest(self) -> str:
        """A text that is the same for the same files with the same content."""
        digest = hashlib.sha256()
        for source in sorted(self.files, key=lambda source: source.path):
            digest.update(f"{source.path}\0{len(source.text)}\0".encode() + source.text)
        return digest.hexdigest()

    def packed(self) -> bytes:
        """All of its files as a zip archive."""
        from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo  # 3 ms, which bots that publish no versions need not spend

        archive = BytesIO()
        with ZipFile(archive, "w", ZIP_DEFLATED) as zipped:
            for source in self.files:
                zipped.writestr(ZipInfo(source.path), source.text, ZIP_DEFLATED)
        return archive.getvalue()

    def settings(self) -> dict[str, str]:
        """The settings in `bot.yml`. The check reports mistakes in that file."""
        settings = self.written("settings")
        entries = settings.entries if isinstance(settings, Map) else ()
        return {key.text: value.text for key, value in entries if isinstance(value, Scalar)}

    def secrets(self) -> tuple[str, ...]:
        """The names of environment variables that `bot.yml` lists as secrets."""
        listed = one_or_more(self.written("secrets"))
        return tuple(name.text for name in listed if isinstance(name, Scalar))

    def written(self, key: str) -> Node | None:
        """The value of a key of `bot.yml`."""
        return None if self._bot_file is None else self._bot_file.get(key)

    @property
    def _bot_file(self) -> Map | None:
        texts = [source.text for source in self.sources if source.path == BOT_FILE]
        documents = [node for text in texts for node in read(BOT_FILE, text, Problems())]
        return documents[0] if documents and isinstance(documents[0], Map) else None


@immutable
class FileChanges:
    """The paths of the files that differ between two states of a bot's folder."""

    changed: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]

    def __str__(self) -> str:
        counts = ((getattr(self, name), name) for name in ("changed", "new", "gone"))
        return ", ".join(f"{len(paths)} {name}" for paths, name in counts if paths) or "no file differs"


def file_changes(before: Folder | None, after: Folder) -> FileChanges:
    """The differences in the files of a bot; without a state before, all are new."""
    old = {} if before is None else {source.path: source.text for source in before.files}
    texts = {source.path: source.text for source in after.files}
    return FileChanges(
        changed=tuple(path for path, text in texts.items() if old.get(path, text) != text),
        new=tuple(path for path in texts if path not in old),
        gone=tuple(path for path in old if path not in texts),
    )


def find_bot(given: str | Path | None) -> Path:
    """The bot's folder: the one given, else the current one if it holds a `bot.yml`, else ``flows``. Raises `NoBot`."""
    if given is not None:
        folder = Path(given)
        if (folder / BOT_FILE).is_file():
            return folder
        raise NoBot(_why_no_bot(folder))
    for folder in (Path(), DEFAULT):
        if (folder / BOT_FILE).is_file():
            return folder
        if (folder / _MISNAMED).is_file():
            raise NoBot(_why_no_bot(folder))
    raise NoBot(f"there is no {BOT_FILE} here or in {DEFAULT}/: name the bot's folder, or make one with `bot new DIR`")


_MISNAMED = "bot.yaml"


def _why_no_bot(folder: Path) -> str:
    if not folder.exists():
        return f"there is no folder {folder}: name a bot's folder, or make one with `bot new {folder}`"
    if not folder.is_dir():
        return f"{folder} is no folder: name the folder that {BOT_FILE} lies in"
    if (folder / _MISNAMED).is_file():
        return f"there is no {BOT_FILE} in {folder}: rename {_MISNAMED} to {BOT_FILE}"
    return f"there is no {BOT_FILE} in {folder}: a bot is a folder with one (`bot new DIR` makes a bot)"


def read_folder(path: Path) -> Folder:
    """Read all files of a bot. Raises `NoBot` if a file cannot be read."""
    names = ((file, file.relative_to(path).as_posix()) for file in _files(path))
    return _folder(path, (Source(name, _bytes(file, _most(name))) for file, name in names))


def read_file(path: Path, name: str) -> bytes | None:
    """The content of a file that steps send, by its path in ``files/``; None if it cannot be read."""
    try:
        return _bytes(path / FILES / name, MOST_FILE)
    except NoBot:
        return None


def _most(name: str) -> int | None:
    """The bytes that a file of the bot may have, by its path; None for any number."""
    if name.startswith(FILES) or name.endswith(_DOCUMENTS):
        return MOST_DOCUMENT if name.endswith((*_PLAIN, ".json")) and not name.startswith(FILES) else MOST_FILE
    return None


def unpacked(path: Path, archive: bytes) -> Folder:
    """The files of `Folder.packed`, as if they were in a folder."""
    from zipfile import ZipFile  # likewise

    with ZipFile(BytesIO(archive)) as zipped:
        return _folder(path, [Source(name, zipped.read(name)) for name in zipped.namelist()])


def _folder(path: Path, sources: Iterable[Source]) -> Folder:
    yaml: list[Source] = []
    python: list[Source] = []
    documents: list[Source] = []
    for source in sources:
        if source.path.startswith(FILES) or source.path.endswith(_DOCUMENTS):
            documents.append(source)
        else:
            (python if source.path.endswith(".py") else yaml).append(source)
    return Folder(path, tuple(yaml), tuple(python), tuple(documents))


def links_out(path: Path) -> list[tuple[str, Path]]:
    """Links out of the bot's folder, or to a hidden file such as ``.env``, each with its target. They are not read."""
    folder = path.resolve()
    files = ((file.relative_to(path).as_posix(), file.resolve()) for file in _files(path))
    return [(name, to) for name, to in files if not to.is_relative_to(folder) or to.name.startswith(".")]


class NotSaved(BotError):
    """A file of a bot could not be written: it has been changed, it is no part of the bot, or the disk refuses."""


FileEdit = tuple[bytes | None, bytes | None]
"""A file's content before and after an edit; None where there is no file."""


def replace_files(path: Path, edits: Mapping[str, FileEdit]) -> None:
    """Write these files of a bot's folder: each at once, and all or none. Raises `NotSaved`.

    No file is written that has been changed, or that is a link out of the folder.
    """
    targets = {name: _target(path, name) for name in edits}
    for name, (before, _) in edits.items():
        if _content(targets[name]) != before:
            raise NotSaved(f"{name} has been changed on the disk meanwhile")
    done: list[str] = []
    try:
        for name, (_, after) in edits.items():
            _put(targets[name], after)
            done.append(name)
    except OSError as error:
        for name in done:
            with suppress(OSError):
                _put(targets[name], edits[name][0])
        raise NotSaved(f"{error.filename or path} cannot be written: {error.strerror}") from error


def _target(path: Path, name: str) -> Path:
    """The file that a name in the folder leads to."""
    folder, target = path.resolve(), (path / name).resolve()
    if not target.is_relative_to(folder) or any(part.startswith(".") for part in target.relative_to(folder).parts):
        raise NotSaved(f"{name} is a link out of the bot's folder: edit the file that it leads to")
    return target


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotSaved(f"{file} cannot be read: {error.strerror}") from error


def _put(file: Path, content: bytes | None) -> None:
    """Write a file so that it is there whole, old or new; None removes it."""
    if content is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(exist_ok=True)
    draft = file.with_name(f".{file.name}.new")
    draft.unlink(missing_ok=True)
    try:
        with draft.open("xb") as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
        if file.exists():
            draft.chmod(stat.S_IMODE(file.stat().st_mode))
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


class Watch:
    """Tells when a bot's files have been saved. Make one before the files are read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = self._last = fingerprint(path)

    def changed(self) -> bool:
        """True once after each change, when the files were the same at two looks in a row: an upload has many."""
        last, self._last = self._last, fingerprint(self._path)
        settled = self._last == last and self._last != self._known
        if settled:
            self._known = self._last
        return settled


def env_files(path: Path) -> list[Path]:
    """The files called ``.env`` that there are, here and beside `bot.yml`: the first of them counts."""
    here, beside = Path(".env"), path / ".env"
    files = [here] if here.absolute() == beside.absolute() else [here, beside]
    return [file for file in files if file.is_file()]


def fingerprint(path: Path) -> int:
    """A number that changes when a file of the bot does: to notice that one was saved."""
    try:
        return hash(tuple(_stamps(path)))
    except NoBot as error:  # who reads them then says it
        return hash(str(error))


def _stamps(path: Path) -> Iterator[tuple[str, int, int]]:
    for file in _files(path):
        try:
            known = file.stat()
        except OSError:
            continue  # gone since it was listed
        yield str(file), known.st_mtime_ns, known.st_size


def _files(path: Path) -> Iterator[Path]:
    """The bot's YAML files, documents, handler modules, lists of tools, and all in ``files/``, in a fixed order.

    A folder below with a `bot.yml` is another bot. Raises `NoBot` if a folder cannot be listed: without its files, the
    bot would be another one.
    """
    for folder, folders, names in os.walk(path, onerror=_unlisted):
        here = Path(folder)
        if here != path and BOT_FILE in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        top = here.relative_to(path).parts[:1]
        for name in sorted(names):
            if name.startswith("."):
                continue
            is_code = name.endswith(".py") and (top == ("handlers",) or here / name == path / "handlers.py")
            is_list = name.endswith(".json") and top == (LISTS.rstrip("/"),)
            is_read = name.endswith((*_SUFFIXES, *_READ))
            if is_code or is_list or is_read or top == (FILES.rstrip("/"),):
                yield here / name


def _unlisted(error: OSError) -> None:
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        raise NoBot(f"{error.filename} cannot be listed: {error.strerror}") from error


def _bytes(file: Path, most: int | None) -> bytes:
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            raise NoBot(f"{file} is no regular file: a read might never end")
        if most is not None and found.st_size > most:
            raise NoBot(f"{file} is larger than {most >> 20} MB: divide it, or keep it elsewhere")
        return file.read_bytes()
    except OSError as error:
        raise NoBot(f"{file} cannot be read: {error.strerror}") from error
