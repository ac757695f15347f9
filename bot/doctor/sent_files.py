"""The files that flows send by a literal address: would the gateway get them?"""

from collections.abc import Iterator
from dataclasses import dataclass

from bot.core.filetypes import END, type_of
from bot.core.messages import MEDIA_BYTES
from bot.doctor.finding import Finding, fail, ok
from bot.download import Downloads, NotFetched, TooLarge
from bot.flow.library import Library
from bot.flow.notices import template_uses
from bot.lang.nodes import Mark
from bot.steps.say import File, Say

PATIENCE = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file's address as it is written, and where."""

    mark: Mark
    kind: str
    link: str


def reachable(library: Library, gateway_url: str) -> Iterator[Finding]:
    """Whether each can be got, and is small enough. One is got once, however often it is sent."""
    downloads = Downloads(gateway_url)
    found = {(file.link, file.kind): file for file in reversed(list(_sent_files(library)))}
    for file in found.values():
        place = f"{file.mark}: {file.link}"
        most = MEDIA_BYTES[file.kind]
        try:
            with downloads.open(file.link, most=most, seconds=PATIENCE) as chunks:
                start = next(chunks, b"")
            yield _judged(file, place, start)
        except TooLarge:
            yield fail("files", f"{place} is too large", f"{most >> 20} MB are allowed for {file.kind}")
        except NotFetched as error:
            yield fail("files", f"{place}: {error}", "the gateway must be able to get it from there")


def _sent_files(library: Library) -> Iterator[SentFile]:
    """Every literal address of a file: in ``say`` steps, and in templates' headers."""
    for use in template_uses(library):
        header = use.notice.header
        link = None if header is None else header.parts.get("link")
        if header is not None and link is not None and link.constant:
            yield SentFile(link.mark, header.kind, link.source)
    for flow in library.flows.values():
        for step in flow.steps.values():
            if isinstance(step.kind, Say) and isinstance(file := step.kind.attachment, File) and file.link.constant:
                yield SentFile(file.link.mark, file.kind, file.link.source)


def _judged(file: SentFile, place: str, start: bytes) -> Finding:
    found = type_of(start[:END], b"")
    is_one = found is not None and found.kind == file.kind
    if is_one or (found is None and file.kind == "document"):  # of some documents only the end tells
        return ok("files", place)
    what = "what the gateway takes" if found is None else f"{file.kind}: by its content it is {found.name}"
    return fail("files", f"{place} is not {what}", "see what the address really leads to")
