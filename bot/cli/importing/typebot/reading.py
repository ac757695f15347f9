"""The model of a Typebot export: groups of blocks, edges between them, and variables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.cli.importing.imported import UnreadableExport
from bot.core.lazy_patterns import lazy_pattern

_VERSIONS = ("3", "4", "5", "6", "6.1")
BUBBLES = ("text", "image", "video", "audio", "embed")
CHOICES = ("choice input", "picture choice input", "cards")
INPUTS = (
    "text input",
    "number input",
    "email input",
    "url input",
    "date input",
    "time input",
    "phone number input",
    "payment input",
    "rating input",
    "file input",
    *CHOICES,
)
PLACEHOLDER = lazy_pattern(r"\{\{=(?P<code>.+?)=\}\}|\{\{(?P<name>[^{}]+)\}\}")
"""A placeholder in a text: for the value of a variable, or of a piece of JavaScript."""
_TEXTS = {"type", "value", "comparisonOperator", "logicalOperator", "expressionToEvaluate", "url", "item", "bodyPath", "body",
          "method", "text", "title", "retryMessageContent", "key", "role", "format", "secondsToWaitFor", "description",
          "pictureSrc", "imageUrl", "amount", "currency", "defaultCountryCode", "systemMessage", "action", "task",
          "invalidMessage", "name"}  # fmt: skip
_LISTS = {"richText", "children", "comparisons", "responseVariableMapping", "messages", "items", "queryParams", "headers",
          "responseMapping", "paths", "cellsToExtract"}  # fmt: skip
_MAPS = {"options", "webhook", "displayCondition", "condition", "mapListItemParams", "dynamicItems", "general",
         "systemMessages", "whatsApp", "audioClip", "attachments", "clickLink"}  # fmt: skip
_NUMBERS = {"aPercent", "length", "timeout", "x", "sessionExpiryTimeout"}
SHOWN_ID = 8
"""So many characters of a block's id stand in its place."""


@dataclass(frozen=True, slots=True)
class TypebotItem:
    """A button, a picture, or a condition's branch, with the edge that leaves it."""

    id: str
    edge: str | None
    data: Mapping[str, Any]

    @property
    def content(self) -> str | None:
        """The words that a contact sees; None for an item without any."""
        return self.data.get("content") or self.data.get("title") or self.data.get("pictureSrc") or None

    @property
    def value(self) -> str | None:
        """The text that is saved."""
        return self.data.get("value") or self.content

    @property
    def picture(self) -> str | None:
        """The address of its picture."""
        return self.data.get("pictureSrc") or self.data.get("imageUrl")

    @property
    def shown_if(self) -> Mapping[str, Any] | None:
        """The condition under which it is shown, if it has one that is enabled."""
        found = self.data.get("displayCondition") or (self.data.get("options") or {}).get("displayCondition") or {}
        return found.get("condition") or None if found.get("isEnabled") else None


@dataclass(frozen=True, slots=True)
class TypebotBlock:
    """A block, with where it stands: its bot, its group, and its number in there."""

    id: str
    type: str
    edge: str | None
    options: Mapping[str, Any]
    content: Mapping[str, Any]
    items: tuple[TypebotItem, ...]
    group: str
    number: int
    bot: str

    @property
    def place(self) -> str:
        """Where it stands in the export, for the report: ``Lead > "Email" > 2: email input (sc4f8a…)``."""
        return f'{self.bot} > "{self.group}" > {self.number + 1}: {self.type} ({self.id[:SHOWN_ID]}…)'

    @property
    def is_many(self) -> bool:
        """True if a contact can choose several of its items."""
        return bool(self.options.get("isMultipleChoice"))

    @property
    def text(self) -> str:
        """The words of a text bubble, as WhatsApp marks them up."""
        return markup(self.content["richText"]) if "richText" in self.content else ""

    @property
    def lacks_request(self) -> bool:
        """True if it names a request that is not in the export: up to version 5 requests stood elsewhere."""
        return "webhookId" in self.options and "webhook" not in self.options

    @property
    def is_of_web_page(self) -> bool:
        """True if it acts on a web page alone, so that Typebot passes it in WhatsApp."""
        runs_there = self.type == "Code" and self.options.get("isExecutedOnClient") is not False
        return runs_there or self.type in ("Pixel", "Google Analytics", "Chatwoot")


@dataclass(frozen=True)
class TypebotGroup:
    """A group of blocks, which follow each other."""

    id: str
    title: str
    blocks: tuple[TypebotBlock, ...]
    left: float
    """Where it stands on the canvas: flows go from left to right."""


@dataclass(frozen=True)
class TypebotExport:
    """One exported bot."""

    id: str
    name: str
    groups: tuple[TypebotGroup, ...]
    edges: Mapping[str, tuple[str, str | None]]  # the group and block to which each leads
    variables: Mapping[str, str]  # names by their ids
    events: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any]
    _blocks: dict[str, tuple[TypebotGroup, TypebotBlock]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._blocks.update({block.id: (group, block) for group in self.groups for block in group.blocks})

    @property
    def first(self) -> TypebotBlock | None:
        """The block with which a conversation begins."""
        return next((self.behind(event.get("outgoingEdgeId")) for event in self.events if _is_start(event)), None)

    def blocks(self) -> Iterator[TypebotBlock]:
        """All blocks, in order."""
        return (block for group in self.groups for block in group.blocks)

    def at(self, group: str | None, block: str | None = None) -> TypebotBlock | None:
        """A block of a group, by default its first; None if the group has no such block."""
        found = next((each for each in self.groups if each.id == group), None)
        blocks = found.blocks if found else ()
        return next((each for each in blocks if block in (None, each.id)), None)

    def behind(self, edge: str | None) -> TypebotBlock | None:
        """The block to which an edge leads."""
        return self.at(*self.edges[edge]) if edge is not None and edge in self.edges else None

    def below(self, block: TypebotBlock) -> TypebotBlock | None:
        """The next block of the same group."""
        group = self._blocks[block.id][0]
        return group.blocks[block.number + 1] if block.number + 1 < len(group.blocks) else None

    def after(self, block: TypebotBlock) -> TypebotBlock | None:
        """The block that follows by default: an edge in the middle of a group counts, but not a bubble's."""
        below = self.below(block)
        if block.edge in self.edges and not (below and block.type in BUBBLES):
            return self.behind(block.edge)
        return below

    def halves(self, block: TypebotBlock) -> tuple[str | None, str | None]:
        """The edges of both halves of an A/B test; None where one leads nowhere."""
        first, second, *_ = [*(item.edge if item.edge in self.edges else None for item in block.items), None, None]
        return first, second

    def jumped(self, block: TypebotBlock) -> TypebotBlock | None:
        """The target of a jump."""
        return self.at(block.options.get("groupId"), block.options.get("blockId"))

    def text(self, name: str) -> str:
        """A system message that the bot words itself, else empty."""
        general = self.settings.get("general") or {}
        return str((general.get("systemMessages") or {}).get(name) or "")


def _is_start(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "start"


def is_export(data: Any) -> bool:
    """Return whether a document looks like a bot that Typebot exports, of any version."""
    if not isinstance(data, Mapping) or "edges" not in data or "typebotVersion" in data:
        return False
    blocks = data.get("blocks")
    return "groups" in data or (
        isinstance(blocks, list) and any(isinstance(each, Mapping) and "steps" in each for each in blocks)
    )


def read(path: str, data: Any) -> TypebotExport:
    """Read one export; raises `UnreadableExport`, with the file and the place in it."""
    reader = _Reader(path)
    document = _with_groups(reader.map("$", data))
    version = str(document.get("version") or "3")  # the oldest exports name none
    if version not in _VERSIONS:
        why = f"it has version {version}, not 3 to 6 (open it in Typebot, export it again)"
        raise reader.no("$.version", why)
    name = str(document.get("name") or "Typebot")
    groups = tuple(reader.group(place, each, name) for place, each in reader.list("$.groups", document["groups"]))
    events = [reader.part(*each) for each in reader.maps("$.events", document.get("events") or [])]
    return TypebotExport(
        id=str(document.get("id") or ""),
        name=name,
        groups=groups,
        edges=dict(reader.edge(place, each) for place, each in reader.list("$.edges", document["edges"])),
        variables={
            reader.text(f"{place}.id", each.get("id")): str(each.get("name") or "")
            for place, each in reader.maps("$.variables", document.get("variables") or [])
        },
        events=(*events, *reader.starts),
        settings=reader.part("$.settings", reader.map("$.settings", document.get("settings") or {})),
    )


def _with_groups(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """An export in the words of today: the oldest ones say block for a group, and step for a block."""
    if "groups" in document:
        return document
    new = {"blockId": "groupId", "stepId": "blockId", "blocks": "groups", "steps": "blocks"}

    def renamed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {new.get(str(key), key): renamed(each) for key, each in value.items()}
        return [*map(renamed, value)] if isinstance(value, list) else value

    found: Mapping[str, Any] = renamed(document)
    return found


class _Reader:
    """Reads the parts of an export, and says where one is no such part."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.starts: list[Mapping[str, Any]] = []
        """The blocks that start a conversation: up to version 5 these are no events."""

    def no(self, place: str, why: str) -> UnreadableExport:
        return UnreadableExport(f"{self.path}: {place}: {why}")

    def map(self, place: str, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.no(place, f"an object is expected, not {value!r:.40}")
        return value

    def list(self, place: str, value: Any) -> Sequence[tuple[str, Any]]:
        if not isinstance(value, list):
            raise self.no(place, f"a list is expected, not {value!r:.40}")
        return [(f"{place}[{number}]", each) for number, each in enumerate(value)]

    def maps(self, place: str, value: Any) -> Sequence[tuple[str, Mapping[str, Any]]]:
        return [(each, self.map(each, part)) for each, part in self.list(place, value)]

    def text(self, place: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.no(place, f"a text is expected, not {value!r:.40}")
        return value

    def part(self, place: str, value: Mapping[str, Any], is_choice: bool = False) -> dict[str, Any]:
        """A part of the export without nulls; each key that an import reads has the type that Typebot writes."""
        read: dict[str, Any] = {}
        for key, each in value.items():
            at = f"{place}.{key}"
            if each is None:
                continue
            if key in _NUMBERS and (isinstance(each, bool) or not isinstance(each, int | float)):
                raise self.no(at, f"a number is expected, not {each!r:.40}")
            if key in _TEXTS or key.endswith(("Id", "EdgeId")) or (key == "content" and is_choice):
                is_number = isinstance(each, int | float) and not isinstance(each, bool)
                read[key] = str(each) if is_number else self.text(at, each)
            elif key in _LISTS:
                choice = value.get("type") in CHOICES
                read[key] = [self.part(where, item, choice) for where, item in self.maps(at, each)]
            elif key in _MAPS:
                read[key] = self.part(at, self.map(at, each))
            elif key == "content":
                read[key] = each if isinstance(each, str) else self.part(at, self.map(at, each))
            else:
                read[key] = each
        return read

    def group(self, place: str, value: Any, bot: str) -> TypebotGroup:
        group = self.map(place, value)
        title = str(group.get("title") or "").strip()
        written = self.maps(f"{place}.blocks", group.get("blocks") or [])
        self.starts += [self.part(at, each) for at, each in written if _is_start(each)]
        blocks = enumerate((at, each) for at, each in written if not _is_start(each))
        return TypebotGroup(
            self.text(f"{place}.id", group.get("id")),
            title,
            tuple(self.block(at, each, title, number, bot) for number, (at, each) in blocks),
            float(self.part(place, self.map(place, group.get("graphCoordinates") or {})).get("x", 0)),
        )

    def block(self, place: str, written: Mapping[str, Any], group: str, number: int, bot: str) -> TypebotBlock:
        block = self.part(place, written)
        items = self.maps(f"{place}.items", block.get("items") or [])
        return TypebotBlock(
            id=self.text(f"{place}.id", block.get("id")),
            type=self.text(f"{place}.type", block.get("type")),
            edge=block.get("outgoingEdgeId"),
            options={key: block[key] for key in ("webhookId",) if key in block}
            | dict(self.map(f"{place}.options", block.get("options") or {})),
            content=self.map(f"{place}.content", block.get("content") or {}),
            items=tuple(TypebotItem(str(each.get("id")), each.get("outgoingEdgeId"), each) for _, each in items),
            group=group,
            number=number,
            bot=bot,
        )

    def edge(self, place: str, value: Any) -> tuple[str, tuple[str, str | None]]:
        edge = self.map(place, value)
        to = self.map(f"{place}.to", edge.get("to"))
        return self.text(f"{place}.id", edge.get("id")), (
            self.text(f"{place}.to.groupId", to.get("groupId")),
            self.part(place, to).get("blockId"),
        )


def markup(elements: Sequence[Mapping[str, Any]]) -> str:
    """Typebot's rich text as its WhatsApp integration writes it: ``Hello *you*, see the docs (https://…)``."""
    lines: list[str] = []
    for before, element in zip([None, *elements], elements, strict=False):
        if _is_list(element) and before and _is_list(before):
            lines.append("")
        lines += _lines(element)
    return "\n".join(lines)


def may_be_empty(text: str) -> bool:
    """Return whether a text has no words of its own, so that it is empty if its variables are."""
    return not PLACEHOLDER.sub("", text).strip()


def _is_list(element: Mapping[str, Any]) -> bool:
    return element.get("type") in ("ul", "ol")


def _lines(element: Mapping[str, Any], indent: str = "") -> list[str]:
    if not _is_list(element):
        return (indent + _inline(element)).split("\n")
    lines = []
    for number, item in enumerate(element.get("children") or [], 1):
        mark = "* " if element["type"] == "ul" else f"{number}. "
        parts = item.get("children") or []
        lines.append(indent + mark + "".join(_inline(part) for part in parts if not _is_list(part)))
        lines += [line for part in parts if _is_list(part) for line in _lines(part, indent + " " * len(mark))]
    return lines


def _inline(node: Mapping[str, Any]) -> str:
    if "text" in node:
        return _marked(str(node["text"]), node)
    words = "".join(_inline(child) for child in node.get("children") or [])
    if node.get("type") == "a" and node.get("url"):
        return f"{words} ({node['url']})" if words else str(node["url"])
    return words


def _marked(words: str, node: Mapping[str, Any]) -> str:
    """Marks stand at words, not at the spaces around them."""
    bare = words.strip()
    if not bare:
        return words
    marks = [mark for key, mark in (("bold", "*"), ("italic", "_"), ("strikethrough", "~")) if node.get(key)]
    inner = "".join(marks) + bare + "".join(reversed(marks))
    return words.replace(bare, inner, 1) if marks else words


def shown_title(title: str, taken: Sequence[str] = ()) -> str:
    """A button's title as Typebot shortens it for WhatsApp: to 20 characters, and unlike those before it."""
    shown = title if len(title) <= 20 else f"{title[:18]}.."
    number = 1
    while shown in taken:
        suffix = f"({number})"
        shown = f"{title[: 17 - len(suffix)]} {suffix}.."
        number += 1
    return shown


def video_text(url: str) -> str | None:
    """The address that stands for a video of a platform; None for a file."""
    for pattern, base in (
        (r"youtube\.com/(?:watch\?v=|shorts/)([\w-]+)|youtu\.be/([\w-]+)", "https://www.youtube.com/embed"),
        (r"vimeo\.com/(\d+)", "https://player.vimeo.com/video"),
        (r"gumlet\.(?:com|tv)/watch/(\w+)", "https://play.gumlet.io/embed"),
        (r"tiktok\.com/@[\w.-]+/video/(\d+)", "https://www.tiktok.com/embed/v2"),
    ):
        if found := re.search(pattern, url):
            return f"{base}/{next(part for part in found.groups() if part)}"
    return None


def is_shown_image(url: str) -> bool:
    """Return whether WhatsApp takes the image, so that Typebot sends it."""
    return url.startswith(("http://", "https://")) and not re.search(r"\.(gif|svg)(\?|$)", url)
