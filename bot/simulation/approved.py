"""The templates that a bot's flows name, as the gateway would have approved them: for talks without an account."""

from collections.abc import Iterable, Iterator
from typing import Literal, cast

from bot.emulator import MessageTemplate, TemplateButton
from bot.flow.library import Library
from bot.steps.template import Notice, TemplateStep

URL = "https://template.example/{{1}}"
Media = Literal["", "image", "video", "document", "location"]


def approved_templates(library: Library) -> list[MessageTemplate]:
    """One template for each name and language, with the most that any flow fills in.

    A step that fills in less than another is refused by the gateway, as it would be in earnest.
    """
    uses: dict[tuple[str, str], list[tuple[Notice, tuple[str, ...]]]] = {}
    for notice, replies in _uses(library):
        uses.setdefault((notice.name, notice.language), []).append((notice, replies))
    return [_template(name, language, found) for (name, language), found in uses.items()]


def _uses(library: Library) -> Iterator[tuple[Notice, tuple[str, ...]]]:
    """Every notice with the titles of its quick reply buttons."""
    if library.bot.defaults.window_closed is not None:
        yield library.bot.defaults.window_closed, ()
    for step in (step for flow in library.flows.values() for step in flow.steps.values()):
        if step.defaults.window_closed is not None:
            yield step.defaults.window_closed, ()
        if isinstance(step.kind, TemplateStep):
            yield step.kind.notice, tuple(reply.title for reply in step.kind.replies)


def _template(name: str, language: str, uses: Iterable[tuple[Notice, tuple[str, ...]]]) -> MessageTemplate:
    notices = [notice for notice, _ in uses]
    header = next((notice.header[0] for notice in notices if notice.header is not None), "")
    replies = max((titles for _, titles in uses), key=len)
    urls = max(len(notice.buttons) for notice in notices)
    body = max(len(notice.body) for notice in notices)
    return MessageTemplate(
        name,
        language,
        body=" ".join(f"{{{{{number}}}}}" for number in range(1, body + 1)),
        header="{{1}}" if header == "text" else "",
        header_media=cast(Media, "" if header == "text" else header),
        buttons=(
            *(TemplateButton("quick_reply", title) for title in replies),
            *(TemplateButton("url", f"Link {number}", URL) for number in range(1, urls + 1)),
        ),
    )
