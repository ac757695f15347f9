"""Performs `Fetch`: downloads a file that a contact sent before its address expires, checks it, and keeps it; and
`DeleteFile`. Files that handlers make are kept in the same way.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from time import monotonic

from bot.core.effects import (
    NOT_FETCHED,
    PASSING,
    TOO_LARGE,
    WRONG_TYPE,
    Call,
    DeleteFile,
    Fetch,
    HttpRequest,
    Performed,
    RunHook,
)
from bot.core.errors import BotError
from bot.core.filetypes import END, FILE_TYPES, FileType, type_of
from bot.core.messages import MEDIA_BYTES
from bot.core.values import Media, UnstorableValue, with_media
from bot.runtime.performers import CallAttempt, Perform, Say
from bot.services.http_client import HttpClient, Streamed
from bot.services.public_addresses import MOST_REDIRECTS, REDIRECTS, BadAddress, HostUnknown, WebAddress, redirected_to
from bot.services.request_errors import HttpError, Oversized
from bot.store.kept_files import FilesUnavailable, KeptFiles, ObjectFiles
from bot.store.rows import CallRow

IDLE_SECONDS = 15.0


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
    or certificates. ``located`` gives the address at which a file really is, where its contact is made up.
    """

    def __init__(self, gateway_url: str, located: Callable[[str], str] = lambda url: url) -> None:
        self._gateway = WebAddress.of(gateway_url).server
        self._located = located

    @contextmanager
    def open(self, url: str, *, most: int, seconds: float) -> Iterator[Iterator[bytes]]:
        """A file's bytes as they come, at most ``most`` of them and for at most ``seconds``, redirects included.

        Raises `NotFetched` and `DownloadTooLarge`, also while the bytes are read.
        """
        deadline = monotonic() + seconds
        inside, url = True, self._located(url)
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
        again = answer.status in PASSING or answer.status >= 500
        raise NotFetched(f"{place.host} answered {answer.status}", again=again)
    length = answer.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:18]) > most:
        raise DownloadTooLarge(f"it has more than {most} bytes")
    return answer.chunks


MOST_MADE = 16 << 20
"""The most bytes of a file that a handler makes: the web service has it in memory while the gateway fetches it."""
MARGIN = 5.0
"""How many seconds before its performer's time-out a fetch ends."""

log = logging.getLogger(__name__)


class FileCalls:
    """Performs `Fetch`. Safe to use from many threads.

    A file's name is the row's key: the same fetch, begun again after a crash, keeps the same file.
    """

    def __init__(self, downloads: Downloads, files: KeptFiles) -> None:
        self._downloads = downloads
        self._files = files

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Fetch the row's file and keep it. Raises nothing."""
        assert isinstance(row.effect, Fetch)
        try:
            return self._already_kept(row) or self._fetch(row, row.effect)
        except DownloadTooLarge as error:
            return CallAttempt(TOO_LARGE, detail=str(error))
        except NotFetched as error:
            return CallAttempt(NOT_FETCHED, detail=str(error), again=error.again)
        except FilesUnavailable as error:  # an alarm says so
            return CallAttempt(NOT_FETCHED, detail=str(error), again=True)
        except OSError as error:
            log.error("a file of a contact's cannot be kept: %s", error.strerror)
            return CallAttempt(NOT_FETCHED, detail=f"it cannot be written: {error.strerror}", again=True)

    def _fetch(self, row: CallRow, effect: Fetch) -> CallAttempt:
        media, seconds = effect.media, effect.within - MARGIN
        with self._files.begin(row.contact, row.key, effect.most) as file:
            with self._downloads.open(media.url, most=effect.most, seconds=seconds) as chunks:
                for chunk in chunks:
                    file.write(chunk)
            found = type_of(*file.ends(END), media.kind)
            allowed = found is not None and (not effect.types or found.suffix in effect.types)
            if found is None or found.kind != media.kind or not allowed:
                what = "something else" if found is None else found.name
                return CallAttempt(WRONG_TYPE, detail=f"the {media.kind} is {what}")
            return _done(media, file.keep(found.suffix), found)

    def _already_kept(self, row: CallRow) -> CallAttempt | None:
        """The file that was kept before a crash, if there is one. It is not fetched again, because its address may have
        expired.
        """
        assert isinstance(row.effect, Fetch)
        kept = {PurePosixPath(file).name: file for file in self._files.of(row.contact)}
        for found in FILE_TYPES:
            if (file := kept.get(f"{row.key}.{found.suffix}")) is not None:
                return _done(row.effect.media, file, found)
        return None


def keep_made(files: KeptFiles, row: CallRow, content: bytes) -> Media:
    """Keep a file that a handler has made in this call, under the row's key: the same call, made again after a crash,
    replaces it.

    Raises `UnstorableValue` if the gateway does not take it, and `FilesUnavailable` or `OSError`.
    """
    found = type_of(content[:END], content[-END:])
    if found is None or not found.sent:
        taken = ", ".join(each.suffix.upper() for each in FILE_TYPES if each.sent)
        raise UnstorableValue(f"its bytes are no file that the gateway takes: {taken}")
    if len(content) > (most := min(MOST_MADE, MEDIA_BYTES[found.kind])):
        raise UnstorableValue(f"the {found.kind} has {len(content) / (1 << 20):.1f} MB, {most >> 20} MB are allowed")
    with files.begin(row.contact, row.key, len(content)) as new:
        new.write(content)
        return Media(found.kind, "", file=new.keep(found.suffix), type=found.name)


class FileDeletions:
    """Performs `DeleteFile`, for files of the row's contact only. A crash repeats it: a file may be gone."""

    def __init__(self, files: KeptFiles) -> None:
        self._files = files

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Delete the row's file. Raises nothing."""
        assert isinstance(row.effect, DeleteFile)
        try:
            if row.effect.file in self._files.of(row.contact):
                self._files.remove(row.effect.file)
        except (FilesUnavailable, OSError) as error:
            what = error.strerror if isinstance(error, OSError) else error
            log.error("a file that a flow has cleared cannot be deleted yet: %s", what)
            return CallAttempt("error", detail=f"it cannot be deleted: {what}", again=True)
        return CallAttempt("done")


def _done(media: Media, file: str, found: FileType) -> CallAttempt:
    return CallAttempt("done", replace(media, file=file, type=found.name))


class LocalFiles:
    """Gives calls a local copy of each kept file that lies elsewhere. ``perform`` then performs the row."""

    def __init__(self, files: ObjectFiles, perform: Perform) -> None:
        files.forget_copies()
        self._files = files
        self._perform = perform

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Perform the row with local paths; a result that names such a path names the kept file. Raises nothing."""
        kept: dict[str | None, str] = {}
        with ExitStack() as copies:

            def copied(media: Media) -> Media:
                if media.file is None:
                    return media
                path = copies.enter_context(self._files.local(media.file))
                kept[path] = media.file
                return replace(media, file=path)

            try:
                effect = _with_given(row.effect, copied)
            except (FilesUnavailable, OSError) as error:
                what = error.strerror if isinstance(error, OSError) else error
                outcome = "unreachable" if isinstance(row.effect, HttpRequest) else "error"
                return CallAttempt(
                    outcome,
                    detail=f"a kept file cannot be read: {what}",
                    again=not isinstance(error, FileNotFoundError),
                )
            ended = self._perform(replace(row, effect=effect), say)
            return replace(
                ended, value=with_media(ended.value, lambda each: replace(each, file=kept.get(each.file, each.file)))
            )


def _with_given(effect: Performed, change: Callable[[Media], Media]) -> Performed:
    """The effect with the changed files in what it gives to a handler, a hook or a service."""
    match effect:
        case Call(arguments=given):
            return replace(effect, arguments=with_media(given, change))
        case RunHook(told=given):
            return replace(effect, told=with_media(given, change))
        case HttpRequest(files=given):
            return replace(effect, files=with_media(given, change))
    return effect
