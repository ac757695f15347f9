"""Checks at load against the gateway's limits, where what is written is known before it is sent."""

from bot.core.messages import MEDIA_SUFFIXES, URL, wrong_suffix
from bot.expressions.templates import Template
from bot.keys.fields import Fields


def check_length(fields: Fields, key: str, text: Template | None, most: int) -> None:
    """A text that is written out in the flow fits the gateway's limit (spec: Limits)."""
    for wording in () if text is None else text.wordings:
        if wording.constant and len(wording.source) > most:
            what = f"{fields.what}: {key} has {len(wording.source)} characters, {most} are allowed"
            fields.problems.add("E402", wording.mark, what, "shorten it")


def check_text(fields: Fields, name: str, text: Template | None, most: int, fix: str = "shorten it") -> None:
    """The same for a text further inside, which is called by a name."""
    if text is not None and text.constant and len(text.source) > most:
        what = f"{fields.what}: {name} has {len(text.source)} characters, {most} are allowed"
        fields.problems.add("E402", text.mark, what, fix)


def check_address(fields: Fields, key: str, url: Template | None) -> None:
    """An address that is written out in the flow is one that the gateway can fetch or open."""
    if url is None or not url.constant:
        return
    address = url.source
    if not address.startswith(("https://", "http://")) or len(address) > URL or any(c.isspace() for c in address):
        fields.problems.add(
            "E405", fields.mark_of(key), f'{fields.what}: "{address}" is no address', "write it out, with https://"
        )


def check_media(fields: Fields, key: str, kind: str, link: Template | None) -> None:
    """An address of media that is written out in the flow ends in no type that the gateway refuses for this kind."""
    check_address(fields, key, link)
    suffix = wrong_suffix(kind, link.source) if link is not None and link.constant else None
    if suffix is not None:
        fields.problems.add(
            "E404",
            fields.mark_of(key),
            f"{fields.what}: the gateway takes no .{suffix} as {kind}",
            f"use {', '.join(MEDIA_SUFFIXES[kind])}",
        )
