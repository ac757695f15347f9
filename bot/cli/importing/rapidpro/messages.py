"""The messages of RapidPro's actions: their text, choices and files."""

import json
from collections.abc import Mapping
from typing import Any

from bot.cli.importing.rapidpro.reading import Data
from bot.core.immutable import immutable


@immutable
class RapidProMessage:
    """A message as an action has it, with its expressions. ``abouts`` are second lines of choices."""

    text: str
    choices: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    header: str = ""
    abouts: tuple[str, ...] = ()
    button: str = ""


def message_of(action: Data) -> RapidProMessage:
    """Return the message of an action that sends one."""
    kind = action["type"]
    if kind == "play_audio":
        return RapidProMessage("", media=(f"audio:{action.get('audio_url', '')}",))
    if kind == "send_interactive_msg":
        return _interactive(action)
    replies = [
        each.get("text", "") if isinstance(each, Mapping) else str(each) for each in action.get("quick_replies") or ()
    ]
    media = tuple(str(each) for each in action.get("attachments") or () if each)
    return RapidProMessage(str(action.get("text") or ""), tuple(each for each in replies if each), media)


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
