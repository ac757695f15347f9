"""A message as its reader sees it: its parts for a test, the options to tap, and a sentence for people."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from bot.core.immutable import immutable
from bot.core.messages import (
    Buttons,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    TemplateMessage,
    TextMessage,
)
from bot.core.own_addresses import EXAMPLE
from bot.core.text import head
from bot.language.flow.library import Library
from bot.language.steps.step_kind import ReplyId


@immutable
class TapOption:
    """Something that can be tapped. ``picked``: it is a row of a list."""

    reply: str
    title: str
    picked: bool = False


def options_of(message: Message, library: Library) -> Iterator[TapOption]:
    """The options of a message that can be tapped. The titles of a template's buttons come from its step."""
    match message:
        case Buttons(buttons=buttons):
            yield from (TapOption(button.id, button.title) for button in buttons)
        case ListMessage():
            yield from (TapOption(row.id, row.title, picked=True) for row in message.rows)
        case TemplateMessage(replies=replies):
            for reply in replies:
                title = _title_of(reply, library)
                if title is not None:
                    yield TapOption(reply, title)


def _title_of(reply: str, library: Library) -> str | None:
    tap = ReplyId.parse(reply)
    if tap is None or tap.flow not in library.flows or tap.step not in library.flows[tap.flow].steps:
        return None
    titles = list(dict.fromkeys(answer.owner for answer in library.flows[tap.flow].steps[tap.step].facts.answers))
    return titles[tap.choice] if tap.choice < len(titles) else None


def message_parts(message: Message) -> str | Mapping[str, Any]:
    """A message as a test expects it: a text alone if it has no other parts."""
    parts = {key: part for key, part in _parts(message).items() if part}
    text = parts.get("says")
    return text if len(parts) == 1 and isinstance(text, str) else parts


def _parts(message: Message) -> Mapping[str, Any]:
    match message:
        case TextMessage(body):
            return {"says": body}
        case Buttons(body, buttons, header):
            return {"says": body, "header": header, "buttons": [button.title for button in buttons]}
        case ListMessage(body=body, footer=footer):
            return {"says": body, "footer": footer, "rows": [row.title for row in message.rows]}
        case LinkButton(body, _, url, header, footer):
            return {"says": body, "header": header, "footer": footer, "link": url}
        case MediaMessage(kind, _, caption, filename, content) if content is not None:
            return {"says": caption, kind: {"filename": filename, "text": content}}
        case MediaMessage(kind, link, caption):
            own = EXAMPLE.file_at(link)
            return {"says": caption, kind: link if own is None else own.path}
        case LocationMessage(latitude, longitude, name, address):
            return {"says": address, "location": name or f"{latitude}, {longitude}"}
        case TemplateMessage(name, language, _, body):
            texts = [_parameter(parameter) for parameter in body]
            return {"template": name, "language": language, "body": texts}


def _parameter(parameter: Mapping[str, Any]) -> str:
    value = parameter[parameter["type"]]
    return str(value) if not isinstance(value, Mapping) else str(value.get("link") or value.get("fallback_value"))


def message_sentence(message: Message) -> str:
    """A sentence about a message, for people: ``says "Thank you."``, ``asks "Which one?" [Tea] [Coffee]``."""
    match message:
        case Buttons(body, buttons):
            return f"asks {quoted(body)} {' '.join(f'[{button.title}]' for button in buttons)}"
        case ListMessage(body):
            rows = [f"[{row.title}]" for row in message.rows]
            more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
            return f"asks {quoted(body)} {' '.join(rows[:_MOST_ROWS])}{more}"
        case TemplateMessage(name=name, body=body):
            texts = ", ".join(short(_parameter(parameter)) for parameter in body)
            return f"sends the template {name}" + (f" ({texts})" if texts else "")
        case LocationMessage(name=name):
            return f"sends a place{'' if name is None else f', {quoted(name)}'}"
        case MediaMessage(kind, _, caption):
            return (
                f"sends {'an' if kind[0] in 'aeiou' else 'a'} {kind}{'' if caption is None else f', {quoted(caption)}'}"
            )
        case TextMessage(body) | LinkButton(body=body):
            return f"{'asks' if body.rstrip().endswith('?') else 'says'} {quoted(body)}"


_MOST_ROWS = 10  # rows that a sentence names


def quoted(text: str) -> str:
    """A text in quotes, on one line and not too long to be read."""
    return f'"{short(text)}"'


def short(value: Any) -> str:
    """The beginning of a value, on one line: at most 120 characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{head(text, _LONGEST).rstrip()}…"


_LONGEST = 120  # characters


def approximate_duration(duration: timedelta) -> str:
    """A duration for people: ``26 hours``, ``3 days and 2 hours``, ``1 minute``."""
    left, parts = round(duration.total_seconds()), []
    units = _UNITS if left >= 2 * _UNITS["day"] else {unit: _UNITS[unit] for unit in ("hour", "minute", "second")}
    for unit, seconds in units.items():
        count, left = divmod(left, seconds)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " and ".join(parts[:2]) or "a moment"


_UNITS = {"day": 86_400, "hour": 3600, "minute": 60, "second": 1}
