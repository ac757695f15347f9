"""The rules of `send-message` for text, media and locations (spec: "POST send-message", "Limits")."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from bot.emulator import rules
from bot.emulator.answers import refuse

TYPES = ("text", "image", "audio", "video", "document", "location", "template", "interactive")
TEXT_MAX = 4096
CAPTION_MAX = 1024
_SUFFIXES = {
    "image": {".jpg", ".jpeg", ".png"},
    "audio": {".mp3", ".ogg", ".amr"},
    "video": {".mp4"},
    "document": {".pdf", ".docx", ".xlsx", ".txt"},
}
_OTHER_FILES = {
    *(".gif", ".webp", ".svg", ".bmp", ".tiff", ".heic", ".wav", ".m4a", ".aac", ".flac", ".opus", ".mov", ".avi"),
    *(".mkv", ".webm", ".3gp", ".doc", ".xls", ".ppt", ".pptx", ".csv", ".rtf", ".odt", ".zip", ".gz", ".html"),
}
_KNOWN = _OTHER_FILES.union(*_SUFFIXES.values())
_MEGABYTE = 1024 * 1024
SIZES = {"image": 5 * _MEGABYTE, "audio": 16 * _MEGABYTE, "video": 16 * _MEGABYTE, "document": 100 * _MEGABYTE}

Files = Mapping[str, int | None]
"""What is known about media addresses: their size in bytes, or None for one that cannot be reached."""


def check_text(body: Mapping[str, Any], files: Files) -> None:
    """``text.body`` and ``text.preview_url``."""
    value = rules.required_object(body, "text")
    rules.text(value.get("body"), "text.body", TEXT_MAX)
    if not isinstance(value.get("preview_url", False), bool):
        rules.invalid("text.preview_url", "text.preview_url must be a boolean")


def check_location(body: Mapping[str, Any], files: Files) -> None:
    """``location``: latitude, longitude, name, address."""
    value = rules.required_object(body, "location")
    rules.number(value.get("latitude"), "location.latitude", -90, 90)
    rules.number(value.get("longitude"), "location.longitude", -180, 180)
    rules.optional_text(value.get("name"), "location.name")
    rules.optional_text(value.get("address"), "location.address")


def _check_media(kind: str) -> Callable[[Mapping[str, Any], Files], None]:
    def check(body: Mapping[str, Any], files: Files) -> None:
        value = rules.required_object(body, kind)
        _check_link(kind, value.get("link"), files)
        if kind != "audio":
            rules.optional_text(value.get("caption"), f"{kind}.caption", CAPTION_MAX)
        if kind == "document":
            rules.optional_text(value.get("filename"), "document.filename")

    return check


def _check_link(kind: str, link: Any, files: Files) -> None:
    field = f"{kind}.link"
    if link is None or link == "":
        rules.missing(field)
    parts = rules.web_address(link)
    if parts is None or not rules.is_public(parts.hostname or ""):
        refuse("VALIDATION_INVALID_URL", f"{field} is no public address", field=field)
    suffix = PurePosixPath(parts.path).suffix.lower()
    if suffix in _KNOWN and suffix not in _SUFFIXES[kind]:
        hint = f"one of {', '.join(sorted(_SUFFIXES[kind]))}"
        refuse("VALIDATION_INVALID_URL", f"{field} is no {kind}", field=field, received=suffix, hint=hint)
    size = files.get(link, 0)
    if size is None:
        refuse("VALIDATION_INVALID_URL", f"{field} cannot be reached", field=field)
    if size > SIZES[kind]:
        refuse("VALIDATION_FILE_TOO_LARGE", f"{field} is too large", field=field, max=SIZES[kind], received=size)


CHECKS: dict[str, Callable[[Mapping[str, Any], Files], None]] = {
    "text": check_text,
    "location": check_location,
    **{kind: _check_media(kind) for kind in SIZES},
}
"""The check of each plain type; it raises `bot.emulator.answers.Refusal`."""
