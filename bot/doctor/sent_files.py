"""The files that flows send by a literal address: would the gateway get them?"""

import threading
from collections.abc import Iterator

from bot.core.filetypes import END, type_of
from bot.core.messages import MEDIA_BYTES
from bot.doctor.finding import Check, Finding, fail, ok, together
from bot.flow.library import Library, template_uses
from bot.runtime.file_calls import Downloads, FileTooLarge, NotFetched
from bot.steps.step_facts import SentFile

AT_ONCE = 16


def reachable(library: Library, gateway_url: str, seconds: float) -> Iterator[Finding]:
    """Whether each can be got, within ``seconds`` in all, and is small enough. One is got once, however often it is sent."""
    downloads, turns = Downloads(gateway_url), threading.BoundedSemaphore(AT_ONCE)
    found = {(file.link.source, file.kind): file for file in reversed(list(_sent_files(library)))}
    yield from together([_check(file, downloads, turns, seconds) for file in found.values()], seconds)


def _check(file: SentFile, downloads: Downloads, turns: threading.BoundedSemaphore, seconds: float) -> Check:
    place = f"{file.link.mark}: {file.link.source}"

    def look() -> Iterator[Finding]:
        with turns:
            yield _looked_at(file, place, downloads, seconds)

    late = f"{place}: it was not there in time"
    return Check(look, fail("files", late, "see whether the gateway gets it from there in a few seconds"))


def _looked_at(file: SentFile, place: str, downloads: Downloads, seconds: float) -> Finding:
    most = MEDIA_BYTES[file.kind]
    try:
        with downloads.open(file.link.source, most=most, seconds=seconds) as chunks:
            return _judged(file, place, next(chunks, b""))
    except FileTooLarge:
        return fail("files", f"{place} is too large", f"{most >> 20} MB are allowed for {file.kind}")
    except NotFetched as error:
        return fail("files", f"{place}: {error}", "the gateway must be able to get it from there")


def _sent_files(library: Library) -> Iterator[SentFile]:
    """Every file of a literal address: of steps, and of templates' headers."""
    of_templates = (file for use in template_uses(library) for file in use.notice.files())
    of_steps = (sent for flow in library.flows.values() for step in flow.steps.values() for sent in step.kind.sends())
    for file in (*of_templates, *of_steps):
        if isinstance(file, SentFile) and file.link.constant:
            yield file


def _judged(file: SentFile, place: str, start: bytes) -> Finding:
    found = type_of(start[:END], b"", file.kind)
    is_one = found is not None and found.kind == file.kind and found.sent
    if is_one or (found is None and file.kind == "document"):  # of some documents only the end tells
        return ok("files", place)
    what = "" if found is None else f": by its content it is {found.name}"
    advice = "see what the address really leads to"
    return fail("files", f"{place} is no {file.kind} that the gateway takes{what}", advice)
