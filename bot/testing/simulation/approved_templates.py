"""The templates that a bot's flows use, as the emulated gateway has approved them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, cast

from bot.language.flow.library import Library, TemplateUse, template_uses
from bot.language.steps.template_message import FIXED
from bot.testing.emulator import MessageTemplate, TemplateButton

URL = "https://template.example/{{1}}"
Media = Literal["", "image", "video", "document", "location"]


def approved_templates(library: Library) -> list[MessageTemplate]:
    """One template for each name and language, with the most parameters that any flow fills in.

    The gateway refuses a step that fills in fewer than another, as the real one does.
    """
    uses: dict[tuple[str, str], list[TemplateUse]] = {}
    for use in template_uses(library):
        uses.setdefault((use.notice.name, use.notice.language), []).append(use)
    return [_template(name, language, found) for (name, language), found in uses.items()]


def _template(name: str, language: str, uses: Iterable[TemplateUse]) -> MessageTemplate:
    notices = [use.notice for use in uses]
    header = next((notice.header.kind for notice in notices if notice.header is not None), "")
    replies = max((use.replies for use in uses), key=len)
    urls = max((notice.url_places(len(replies)) for notice in notices), key=len)
    body = max(len(notice.body) for notice in notices)
    return MessageTemplate(
        name,
        language,
        body=" ".join(f"{{{{{number}}}}}" for number in range(1, body + 1)),
        header={"text": "{{1}}", FIXED: "Header"}.get(header, ""),
        header_media=cast(Media, header if header not in ("text", FIXED) else ""),
        buttons=tuple(_buttons(replies, urls)),
    )


def _buttons(replies: Sequence[str], urls: Collection[int]) -> Iterator[TemplateButton]:
    """The quick replies in order, with the links at their places between them."""
    titles = iter(replies)
    for place in range(len(replies) + len(urls)):
        yield (
            TemplateButton("url", f"Link {place}", URL)
            if place in urls
            else TemplateButton("quick_reply", next(titles))
        )
