"""The messages of RapidPro's actions: their text, choices and files."""

import json
from collections.abc import Mapping
from typing import Any

from bot.cli.importing.rapidpro.reading import Data
from bot.core.immutable import immutable

ROW_TITLE = 24  # of the messaging platform


@immutable
class RapidProMessage:
    """A message as an action has it, with its expressions. ``abouts`` are second lines of choices."""

    text: str
    choices: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    header: str = ""
    abouts: tuple[str, ...] = ()
    button: str = ""


def replies_of(listed: Any) -> tuple[str, ...]:
    """Return quick replies, of which each is a text or a map with one."""
    return tuple(each.get("text", "") if isinstance(each, Mapping) else str(each) for each in listed or ())


def file_of(attachment: str) -> tuple[str, str]:
    """Return the kind and the address of an attachment: `image/png:https://x.example/a` is an image."""
    kind, _, url = attachment.partition(":")
    main = kind.partition("/")[0].strip()
    return main if main in ("image", "audio", "video") else "document", url


def message_of(action: Data) -> RapidProMessage:
    """Return the message of an action that sends one."""
    kind = action["type"]
    if kind == "play_audio":
        return RapidProMessage("", media=(f"audio:{action.get('audio_url', '')}",))
    if kind == "send_interactive_msg":
        return _interactive(action)
    media = tuple(str(each) for each in action.get("attachments") or () if each)
    return RapidProMessage(
        str(action.get("text") or ""), tuple(filter(None, replies_of(action.get("quick_replies")))), media
    )


def _interactive(action: Data) -> RapidProMessage:
    """An interactive message of Glific: JSON in a text."""
    try:
        data: Any = json.loads(str(action.get("text") or "{}"))
    except ValueError:
        data = {}
    content = data.get("content") or {}
    if data.get("type") == "list":
        rows = [each for item in data.get("items") or () for each in item.get("options") or ()]
        buttons = data.get("globalButtons") or ()
        abouts = tuple(str(each.get("description") or "") for each in rows)
        return RapidProMessage(
            str(data.get("body") or ""), tuple(str(each.get("title")) for each in rows), (),
            str(data.get("title") or ""),
            abouts if any(abouts) else (), str(buttons[0].get("title")) if buttons else "",
        )  # fmt: skip
    if isinstance(data.get("body"), Mapping):  # a request for a location
        return RapidProMessage(str(data["body"].get("text") or ""))
    kind, url = content.get("type"), content.get("url")
    media = (f"{'document' if kind == 'file' else kind}:{url}",) if url and kind in ("image", "video", "file") else ()
    titles = tuple(str(each.get("title")) for each in data.get("options") or () if each.get("title"))
    return RapidProMessage(
        str(content.get("text") or content.get("caption") or ""), titles, media, str(content.get("header") or "")
    )
