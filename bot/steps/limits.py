"""Checks at load against the gateway's limits, where what is written is known before it is sent."""

from bot.core.messages import URL
from bot.lang.fields import Fields
from bot.lang.templates import Template


def check_length(fields: Fields, key: str, text: Template | None, most: int) -> None:
    """A text that is written out in the flow fits the gateway's limit (spec: Limits)."""
    if text is not None and text.constant and len(text.source) > most:
        fields.problems.add(
            "E402",
            fields.mark_of(key),
            f"{fields.what}: {key} has {len(text.source)} characters, {most} are allowed",
            "shorten it",
        )


def check_address(fields: Fields, key: str, url: Template | None) -> None:
    """An address that is written out in the flow is one that the gateway can fetch or open."""
    if url is None or not url.constant:
        return
    address = url.source
    if not address.startswith(("https://", "http://")) or len(address) > URL or any(c.isspace() for c in address):
        fields.problems.add(
            "E405", fields.mark_of(key), f'{fields.what}: "{address}" is no address', "write it out, with https://"
        )
