"""What Typebot says in WhatsApp: its own rules, which know nothing of the new bot's flows."""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.checker.exploring.moves import HttpResult, ModelResult
from bot.cli.importing.conversations import SourceConversation, SourceMessage, SourceTurn
from bot.cli.importing.typebot.expressions import JavaScript, NoJavaScript, UnknownJavaScript, parse, parse_path
from bot.cli.importing.typebot.reading import (
    CHOICES,
    INPUTS,
    PLACEHOLDER,
    TypebotBlock,
    TypebotExport,
    TypebotItem,
    is_shown_image,
    shown_title,
    video_text,
)

INVALID = "Invalid message. Please, try again."
RETRIES = {
    "email input": "This email doesn't seem to be valid. Can you type it again?",
    "payment input": "Payment failed. Please, try again.",
}
"""The texts for a wrong answer where the bot has none of its own."""
NO_TEXT = "―"
"""What Typebot sends above buttons without a text."""
HTTP_BLOCKS = ("Webhook", "Zapier", "Make.com", "Pabbly")
DOCUMENTS = ("pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "zip", "json", "xml", "txt")
COMPLETIONS = ("Create chat completion", "Create Chat Message", "Ask Model", "Chat")
BEGIN = datetime(2030, 5, 6, 10, 0)
UNKNOWN_RESULT = "what the code returns"
"""The value of code that is not understood, on both sides."""

_EMAIL = re.compile(r'(([^<>()\[\]\\.,;:\s@"]+(\.[^<>()\[\]\\.,;:\s@"]+)*)|(".+"))@(([a-zA-Z\-0-9]+\.)+[a-zA-Z]{2,})')
_URL = re.compile(r"(https?://)?([\w-]+\.)+[a-zA-Z]{2,}(:\d+)?([/?#]\S*)?")
_SAMPLES = {
    "text input": ("Ann", ""), "number input": ("42", "abc"), "email input": ("ann@example.com", "no mail"),
    "url input": ("https://shop.example", "no address"), "date input": ("2031-05-12", "abc"),
    "time input": ("15:30", "abc"), "phone number input": ("+6281234567890", "abc"),
    "payment input": ("paid", ""), "rating input": ("1", "abc"),
}  # fmt: skip
_SAMPLES_OF_RANGES = {"2031-05-12 to 2031-05-14": "12/05/2031 to 14/05/2031"}
_DATE_PARTS = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M"}
_LONGEST_BODY = 1024
_MOST_CONVERSATIONS, _MOST_IDLE, _MOST_TURNS, _MOST_BLOCKS = 40, 4, 24, 300

Value = str | list[str | None] | None


@dataclass(frozen=True)
class Answer:
    """What a contact sends: a text or a tap on an item."""

    kind: str
    value: str
    item: str = ""


@dataclass
class TypebotSession:
    """A conversation with a Typebot, and what it asked of services and models on the way."""

    exports: Mapping[str, TypebotExport]
    export: TypebotExport
    values: dict[str, Value] = field(default_factory=dict)
    waiting: TypebotBlock | None = None
    said: list[SourceMessage] = field(default_factory=list)
    visited: list[str] = field(default_factory=list)
    http: list[HttpResult] = field(default_factory=list)
    models: list[ModelResult] = field(default_factory=list)
    handled: list[tuple[str, Any]] = field(default_factory=list)
    draws: list[float] = field(default_factory=list)
    pause: float = 0.0
    now: datetime = BEGIN
    _next: TypebotBlock | None = None
    _below: list[tuple[TypebotExport, TypebotBlock | None]] = field(default_factory=list)
    round: int = 0
    """The number of the conversation: it decides A/B tests, and what models answer."""

    def begin(self, first: TypebotBlock) -> None:
        """Start with a block."""
        self._walk(first)

    def resume(self) -> None:
        """Go on after a pause."""
        self.now += timedelta(seconds=self.pause)
        self._walk(self._next)

    def reply(self, answer: Answer) -> None:
        """Take an answer."""
        block = self.waiting
        if block is None:
            return
        self.said, self.visited, self.pause = [], [block.place], 0.0
        content, item = self._accepted(block, answer)
        if content is None:
            retry = block.options.get("retryMessageContent") or RETRIES.get(block.type)
            text = self.rendered(retry or self.export.text("invalidMessage") or INVALID)
            self.said.append(SourceMessage(text, place=block.place))
            self._show(block)
            return
        if (name := self.variable(block.options)) is not None:
            old = self.values.get(name)
            self.values[name] = [*old, content] if isinstance(old, list) else content
        edge = item.edge if item and item.edge in self.export.edges else None
        self._walk(self.export.behind(edge) if edge else self.export.after(block))

    def variable(self, options: Mapping[str, Any], key: str = "variableId") -> str | None:
        """The name of the variable that an option means."""
        return self.export.variables.get(options.get(key) or "")

    def rendered(self, text: str | None) -> str:
        """A text with the values of its variables."""

        def one(found: re.Match[str]) -> str:
            if found["name"]:
                return shown(self.values.get(found["name"]))
            try:
                return shown(stored(self.evaluated(parse(found["code"]))))
            except (NoJavaScript, UnknownJavaScript):
                return self.rendered(found["code"])

        return PLACEHOLDER.sub(one, text or "")

    def evaluated(self, tree: JavaScript) -> Any:
        """The value of JavaScript."""
        return evaluate(tree, {name: guessed(value) for name, value in self.values.items()})

    def items(self, block: TypebotBlock) -> list[TypebotItem]:
        """The choices that a contact sees."""
        dynamic = block.options.get("dynamicVariableId")
        if block.type == "picture choice input" and (block.options.get("dynamicItems") or {}).get("isEnabled"):
            dynamic = block.options["dynamicItems"].get("titlesVariableId")
        value = self.values.get(self.export.variables.get(dynamic or "", ""))
        if value is not None:
            listed = value if isinstance(value, list) else [value]
            texts = dict.fromkeys(each for each in listed if each)
            return [TypebotItem(f"choice{n}", None, {"content": text}) for n, text in enumerate(texts)]
        if block.type == "cards":
            return [
                TypebotItem(
                    str(path.get("id")), path.get("outgoingEdgeId"), {"content": f"{item.content}: {path.get('text')}"}
                )
                for item in block.items
                for path in item.data.get("paths") or []
            ]
        return [
            TypebotItem(
                item.id, item.edge, {"content": self.rendered(item.content), "value": self.rendered(item.value)}
            )
            for item in block.items
            if item.content and self._is_displayed(item)
        ]

    def answers(self, name: str) -> Iterator[str]:
        """The values that conditions compare a variable with, and those beside a number."""
        for block in self.export.blocks() if name else ():
            for item in block.items if block.type == "Condition" else ():
                for each in (item.data.get("content") or {}).get("comparisons") or []:
                    written = str(each.get("value") or "")
                    if self.variable(each) != name or not written or "{{" in written:
                        continue
                    number = _number(written)
                    yield from [written] if math.isnan(number) else [shown(stored(number + by)) for by in (0, 1, -1)]

    def holds(self, condition: Mapping[str, Any] | None) -> bool:
        """Whether a condition is true."""
        comparisons = (condition or {}).get("comparisons") or []
        found = [self._compared(each) for each in comparisons]
        return bool(found) and (any(found) if (condition or {}).get("logicalOperator") == "OR" else all(found))

    def _is_displayed(self, item: TypebotItem) -> bool:
        shown_if = item.data.get("displayCondition") or (item.data.get("options") or {}).get("displayCondition") or {}
        return not shown_if.get("isEnabled") or not shown_if.get("condition") or self.holds(shown_if["condition"])

    def _compared(self, comparison: Mapping[str, Any]) -> bool:
        name = self.variable(comparison)
        if name is None:
            return False
        written = comparison.get("value")
        single = re.fullmatch(r"\{\{([^{}]+)\}\}", written or "")
        value: Value = self.rendered(written) if not single else self.values.get(single[1]) or ""
        return compared(
            comparison.get("comparisonOperator"),
            self.values.get(name),
            None if written in ("undefined", "null") else value,
        )

    def _walk(self, block: TypebotBlock | None) -> None:
        self.waiting, self.pause = None, 0.0
        for _ in range(_MOST_BLOCKS):
            while block is None and self._below:
                self.export, block = self._below.pop()
            if block is None:
                return
            self.visited.append(block.place)
            if block.type in INPUTS:
                self.waiting = block
                self._show(block)
                return
            following = self._after(block)
            if self.pause:
                self._next = following
                return
            block = following

    def _after(self, block: TypebotBlock) -> TypebotBlock | None:
        match block.type:
            case "text" | "image" | "video" | "audio" | "embed":
                self._bubble(block)
            case "Set variable":
                self._set(block)
            case "Condition":
                item = next((each for each in block.items if self.holds(each.data.get("content"))), None)
                if item is not None:
                    return self.export.behind(item.edge)
            case "AB test":
                percent = block.options.get("aPercent", 50)
                self.draws.append(max(percent - 1, 0) / 100 if self.round % 2 == 0 else min(percent + 1, 99) / 100)
                is_a = self.draws[-1] * 100 < percent
                edges = [item.edge for item in block.items if item.edge in self.export.edges]
                edge = (
                    block.items[0].edge
                    if is_a and block.items[0].edge in self.export.edges
                    else edges[-1:][0]
                    if edges
                    else None
                )
                if edge is not None:
                    return self.export.behind(edge)
            case "Jump":
                return self._jump(block)
            case "Typebot link":
                return self._link(block)
            case "Wait":
                seconds = _leading_number(self.rendered(str(block.options.get("secondsToWaitFor") or "")))
                self.pause = float(seconds or 0.0)
            case "Redirect":
                if url := self.rendered(block.options.get("url")):
                    self.said.append(SourceMessage(url, place=block.place))
            case kind if kind in HTTP_BLOCKS:
                self._request(block)
            case "Return":
                return None
            case _:
                self._other(block)
        return self.export.after(block)

    def _bubble(self, block: TypebotBlock) -> None:
        url = self.rendered(block.content.get("url"))
        text, media = self.rendered(block.text) if block.type == "text" else "", ""
        match block.type:
            case "image":
                media = f"image {url}" if is_shown_image(url) else ""
            case "audio":
                media = f"audio {url}" if url else ""
            case "video":
                text = video_text(url) or ""
                media = "" if text or not url else f"video {url}"
            case "embed":
                is_document = url.rpartition(".")[2] in DOCUMENTS
                text, media = ("", f"document {url}") if is_document else (url, "")
        if text.strip() or media:
            self.said.append(SourceMessage(text, media=(media,) if media else (), place=block.place))

    def _set(self, block: TypebotBlock) -> None:
        name = self.variable(block.options)
        if name is not None:
            self.values[name] = self._new_value(block, name)

    def _new_value(self, block: TypebotBlock, name: str) -> Value:
        options, old = block.options, self.values.get(name)
        listed = old if isinstance(old, list) else [] if old is None else [old]
        match options.get("type"):
            case None | "Custom":
                return self._custom(block, options.get("expressionToEvaluate"))
            case "Append value(s)":
                return [*listed, self.rendered(options.get("item")) or None]
            case "Pop" | "Shift" as kind:
                if (saved := self.variable(options, "saveItemInVariableId")) is not None and listed:
                    self.values[saved] = listed[-1 if kind == "Pop" else 0]
                if old is None:
                    return None
                return listed[:-1] if kind == "Pop" else listed[1:]
            case "Map item with same index":
                parts = options.get("mapListItemParams") or {}
                item, base, target = (
                    self.values.get(self.variable(parts, f"{key}VariableId") or "")
                    for key in ("baseItem", "baseList", "targetList")
                )
                if isinstance(base, list) and isinstance(target, list) and item in base:
                    at = base.index(str(item))
                    return target[at] if at < len(target) else None
                return None
            case "Now" | "Today":
                return f"{self.now:%Y-%m-%dT%H:%M:%S}.000Z"
            case "Tomorrow" | "Yesterday" as kind:
                return f"{self.now + timedelta(days=1 if kind == 'Tomorrow' else -1):%Y-%m-%dT%H:%M:%S}.000Z"
            case "Moment of the day":
                return "morning" if self.now.hour < 12 else "afternoon" if self.now.hour < 18 else "evening"
            case "Environment name":
                return "whatsapp"
            case "Random ID" | "User ID" | "Result ID":
                return "x0"
            case "Phone number":
                return "+6281234567890"
            case "Transcript" | "Device type":
                return "…"
            case _:  # empty, and what only a campaign of Meta gives
                return None

    def _custom(self, block: TypebotBlock, code: str | None) -> Value:
        if not code:
            return None
        if re.fullmatch(r"\{\{[^{}]+\}\}", code):
            return self.rendered(code) or None
        try:
            return stored(self.evaluated(parse(code)))
        except NoJavaScript:
            return self.rendered(code) or None
        except UnknownJavaScript:
            self.handled.append((block.place, UNKNOWN_RESULT))
            return UNKNOWN_RESULT

    def _jump(self, block: TypebotBlock) -> TypebotBlock | None:
        title = self.rendered(block.options.get("groupId") or "")
        named = next((group.id for group in self.export.groups if title and group.title == title), None)
        return self.export.at(named) if named else self.export.jumped(block)

    def _link(self, block: TypebotBlock) -> TypebotBlock | None:
        linked = block.options.get("typebotId")
        other = self.export if linked in ("current", self.export.id) else self.exports.get(linked or "")
        if other is None:
            self.handled.append((block.place, None))
            return self.export.after(block)
        self._below.append((self.export, self.export.after(block)))
        self.export = other
        return other.at(block.options["groupId"]) if block.options.get("groupId") else other.first

    def _request(self, block: TypebotBlock) -> None:
        webhook = block.options.get("webhook") or {}
        if not webhook.get("url"):
            return
        answer: Any = None
        paths = [
            (name, path)
            for each in block.options.get("responseVariableMapping") or []
            if (name := self.variable(each)) is not None and (path := _path_of(each.get("bodyPath")))
        ]
        for _, path in paths:
            answer = _merged(answer, _sample(path, {}))
        answer = (answer or {}).get("data", {"ok": True})
        address = PLACEHOLDER.sub("*", webhook["url"].partition("?")[0])
        self.http.append(HttpResult(f"{webhook.get('method') or 'POST'} {address}", json=answer))
        for name, path in paths:
            try:
                self.values[name] = stored(evaluate(path, {"data": answer, "statusCode": 200}))
            except (NoJavaScript, UnknownJavaScript):
                continue

    def _other(self, block: TypebotBlock) -> None:
        saved = saved_names(self.export, block)
        if is_completion(block):
            wanted = [each for name in saved[:1] for each in self.answers(name)]
            self.models.append(ModelResult(wanted[self.round % len(wanted)] if self.round and wanted else "Fine."))
            result: Value = self.models[-1].text
        else:
            result = (
                "https://files.example/made.mp3"
                if "saveUrlInVariableId" in block.options
                else f"result of {block.type}"
            )
            self.handled.append((block.place, result))
        self.values.update(dict.fromkeys(saved[:1], result))

    def _show(self, block: TypebotBlock) -> None:
        if block.type not in CHOICES:
            return
        items = self.items(block)
        last = self.said[-1] if self.said and self.said[-1].text and not self.said[-1].media else None
        is_many = bool(block.options.get("isMultipleChoice"))
        if is_many and block.type == "choice input":
            lines = "\n".join(f"{number}. {item.content}" for number, item in enumerate(items, 1))
            self._below_text(last, block, f"{last.text}\n\n{lines}" if last else lines)
        elif block.type == "choice input":
            titles: list[str] = []
            for number, item in enumerate(items):
                titles.append(shown_title(item.content or "", titles[number - number % 3 :]))
            self._below_text(last, block, last.text[:_LONGEST_BODY] if last else NO_TEXT, tuple(titles))
        else:
            for number, item in enumerate(block.items, 1):
                picture, about = item.data.get("pictureSrc") or item.data.get("imageUrl"), item.data.get("description")
                title = f"*{item.data['title']}*" if item.data.get("title") else None
                words = "\n\n".join(self.rendered(part) for part in (title, about) if part)
                choices = tuple(str(path.get("text") or "") for path in item.data.get("paths") or []) or ("Select",)
                media = (f"image {picture}",) if picture else ()
                if is_many:
                    words, choices = f"{number}. {words}", ()
                self.said.append(SourceMessage(words, choices, media, block.place))

    def _below_text(
        self, last: SourceMessage | None, block: TypebotBlock, text: str, choices: tuple[str, ...] = ()
    ) -> None:
        """Typebot sends the last text together with the choices."""
        if last is not None:
            self.said.pop()
        self.said.append(SourceMessage(text, choices, place=last.place if last else block.place))

    def _accepted(self, block: TypebotBlock, answer: Answer) -> tuple[str | None, TypebotItem | None]:
        """The content that is saved, None for a wrong answer; and the chosen item."""
        if block.type not in CHOICES:
            return accepted(block, answer.value), None
        items = self.items(block)
        if block.options.get("isMultipleChoice"):
            numbers = {int(number) for number in re.findall(r"\d+", answer.value)}
            chosen = [item for number, item in enumerate(items, 1) if number in numbers]
            return ", ".join(item.value or "" for item in chosen) or None, None
        found = [each for each in items if answer.item == each.id or answer.value.strip() in (each.value, each.content)]
        return (found[0].value, found[0]) if found else (None, None)


def accepted(block: TypebotBlock, text: str) -> str | None:
    """What an input other than a choice takes from a text; None for a wrong answer."""
    options = block.options
    match block.type:
        case "email input":
            return text.lower() if _EMAIL.fullmatch(text) else None
        case "url input":
            return text if _URL.fullmatch(text) else None
        case "number input":
            number = _leading_number(text.replace(",", ".", 1))
            low, high = (_leading_number(str(options.get(key) or "")) for key in ("min", "max"))
            if number is None or (low and number < low) or (high and number > high):
                return None
            return text if text.startswith("0") else shown(stored(number))
        case "rating input":
            return text if _number(text) <= (options.get("length") or 10) else None
        case "phone number input":
            digits = re.sub(r"[^\d+]", "", text)
            return digits if re.fullmatch(r"\+\d{8,15}", digits) else None
        case "date input" | "time input" as kind:
            is_time = kind == "time input"
            if options.get("isRange"):
                return _SAMPLES_OF_RANGES.get(text)
            try:
                moment = datetime.strptime(
                    text, "%H:%M" if is_time else "%Y-%m-%d %H:%M" if " " in text else "%Y-%m-%d"
                )
            except ValueError:
                return None
            moment = moment if is_time or " " in text else moment.replace(hour=12)
            form = options.get("format") or (
                "HH:mm" if is_time else "dd/MM/yyyy HH:mm" if options.get("hasTime") else "dd/MM/yyyy"
            )
            return re.sub("|".join(_DATE_PARTS), lambda found: moment.strftime(_DATE_PARTS[found[0]]), form)
        case "payment input":
            return None if text == "fail" else text
        case "file input":
            return text if _URL.fullmatch(text) else None
        case _:
            return text


def is_completion(block: TypebotBlock) -> bool:
    """Whether a block asks a model for a text."""
    return (block.options.get("action") or block.options.get("task")) in COMPLETIONS


def saved_names(export: TypebotExport, block: TypebotBlock) -> list[str]:
    """The names of the variables that an integration fills."""
    mapped = block.options.get("responseMapping") or []
    first = [
        each
        for each in mapped
        if (each.get("item") or each.get("valueToExtract")) in (None, "Message content", "Answer")
    ]
    ids = [each.get("variableId") for each in [*first, *(each for each in mapped if each not in first)]]
    ids += [each.get("variableId") for each in block.options.get("cellsToExtract") or []]
    ids += [
        value
        for key, value in block.options.items()
        if key.endswith("VariableId") and key not in ("dialogueVariableId", "contentVariableId")
    ]
    return [export.variables[each] for each in ids if each in export.variables]


def shown(value: Value) -> str:
    """A value in a text."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value or ""


def stored(value: Any) -> Value:
    """A result of JavaScript as a variable keeps it."""
    if isinstance(value, list):
        return [each if isinstance(each := stored(part), str | None) else shown(each) for part in value]
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return "null"
    if isinstance(value, bool | int | float):
        return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
    return (
        value or None if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )


def guessed(value: Value) -> Any:
    """A variable's value as code sees it: texts of numbers are numbers."""
    if not isinstance(value, str) or value.startswith("+") or re.match(r"0[^.]", value):
        return value
    known = {"true": True, "false": False, "null": None, "undefined": None}
    if value in known:
        return known[value]
    number = _number(value)
    return value if math.isnan(number) else number


def _number(text: str) -> float:
    """JavaScript's `Number()` of a text."""
    if not text.strip():
        return 0
    if not re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", text, re.IGNORECASE):
        return math.nan
    return float(text) if re.search(r"[.eE]", text) else int(text)


def _leading_number(text: str) -> float | None:
    found = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)", text)
    return None if found is None else _number(found[0])


def compared(operator: str | None, left: Value, right: Value) -> bool:
    """The result of a comparison of a condition."""
    if operator in ("Greater than", "Less than", "Greater or equal to", "Less or equal to"):
        if left is None or right is None:
            return False
        one, other = _measures(left, right)
        signs = {"Greater than": one > other, "Less than": one < other, "Greater or equal to": one >= other}
        return signs.get(operator, one <= other)
    if operator in ("Is set", "Is empty"):
        return bool(left) == (operator == "Is set")
    is_list = isinstance(left, list)
    pairs = [
        (a, b)
        for a in (left if isinstance(left, list) else [left])
        for b in (right if isinstance(right, list) else [right])
    ]
    match operator:
        case "Equal to":
            return all(_same(a, b) for a, b in pairs)
        case "Not equal":
            return all(not _same(a, b) for a, b in pairs)
        case "Contains":
            return any(
                (_same(a, b) or None in (a, b)) if is_list else bool(a and b) and _plain(b) in _plain(a)
                for a, b in pairs
            )
        case "Does not contain":
            return all(not _same(a, b) if is_list else not (a and b) or _plain(b) not in _plain(a) for a, b in pairs)
        case "Starts with":
            return all(bool(a and b) and _plain(a).startswith(_plain(b)) for a, b in pairs)
        case "Ends with":
            return all(bool(a and b) and _plain(a).endswith(_plain(b)) for a, b in pairs)
        case "Matches regex":
            return any(bool(a and b) and _matches(b, a) for a, b in pairs)
        case "Does not match regex":
            return all(bool(a and b) and not _matches(b, a) for a, b in pairs)
        case _:
            return False


def _same(one: str | None, other: str | None) -> bool:
    return (
        one == other
        if one is None or other is None
        else unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    )


def _plain(text: str | None) -> str:
    return unicodedata.normalize("NFC", (text or "").lower().strip())


def _matches(pattern: str | None, text: str | None) -> bool:
    written = python_pattern(pattern or "")
    return written is not None and re.search(written, text or "") is not None


def python_pattern(pattern: str) -> str | None:
    """A pattern of JavaScript, perhaps `/pattern/flags`, for Python; None if Python cannot read it."""
    flagged = re.search(r"/(.+)/([gimuy]*)$", pattern)
    body, flags = (flagged[1], "".join(flag for flag in flagged[2] if flag in "im")) if flagged else (pattern, "")
    written = (f"(?{flags})" if flags else "") + re.sub(r"\(\?<(?![=!])", "(?P<", body)
    try:
        re.compile(written)
    except re.error:
        return None
    return written


def _measures(left: str | list[str | None], right: str | list[str | None]) -> tuple[float, float]:
    if isinstance(left, str) and isinstance(right, str):
        return measure(left), measure(right)
    return (_number(left) if isinstance(left, str) else len(left)), (
        _number(right) if isinstance(right, str) else len(right)
    )


def measure(text: str) -> float:
    """The number by which a text is compared: itself, its moment, or its length."""
    number = math.nan if text.startswith("+") else _number(text)
    if not math.isnan(number):
        return number
    try:
        return datetime.fromisoformat(text).timestamp() * 1000
    except ValueError:
        return len(text)


def _path_of(code: str | None) -> JavaScript | None:
    try:
        return parse_path(code or "")
    except (NoJavaScript, UnknownJavaScript):
        return None


def _sample(path: JavaScript, element: Mapping[str, Any], leaf: Any = "value") -> Any:
    """An answer of a service that has a value at a path."""
    if path.kind == "name":
        return {path.value: leaf}
    if path.kind == "member":
        return _sample(path.parts[0], element, ["value"] if path.value == "length" else {path.value: leaf})
    if path.kind == "index":
        return _sample(path.parts[0], element, [leaf] * 3)
    if path.kind == "call" and path.parts[0].kind == "member":
        arrows = [part for part in path.parts[1:] if part.kind == "arrow"]
        names = {name for arrow in arrows for name in arrow.value}
        wanted = _sample(arrows[0].parts[0], {}) if arrows else {}
        inner = next((wanted[name] for name in names if isinstance(wanted, dict) and name in wanted), leaf)
        return _sample(path.parts[0].parts[0], element, [_numbered(inner, 1), _numbered(inner, 2)])
    return _sample(path.parts[0], element, leaf) if path.parts else {}


def _numbered(value: Any, number: int) -> Any:
    """A value unlike those of other elements."""
    if isinstance(value, dict):
        return {key: _numbered(part, number) for key, part in value.items()}
    return f"{value} {number}" if isinstance(value, str) else value


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _merged(one.get(key), other.get(key)) for key in {**one, **other}}
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(a, b) for a, b in zip(one, other, strict=False)]
    return other if one is None else one


def evaluate(tree: JavaScript, scope: Mapping[str, Any]) -> Any:
    """The value of JavaScript. Raises `UnknownJavaScript` for what is not simple, `NoJavaScript` where it throws."""
    match tree.kind:
        case "literal":
            return tree.value
        case "variable" | "name":
            return scope.get(tree.value)
        case "list":
            return [evaluate(part, scope) for part in tree.parts]
        case "template":
            return "".join(_string(evaluate(part, scope)) for part in tree.parts)
        case "unary":
            value = evaluate(tree.parts[0], scope)
            return not value if tree.value == "!" else _as_number(value) * (-1 if tree.value == "-" else 1)
        case "choice":
            return evaluate(tree.parts[1 if evaluate(tree.parts[0], scope) else 2], scope)
        case "binary":
            return _binary(tree.value, *(evaluate(part, scope) for part in tree.parts))
        case "index":
            owner, at = (evaluate(part, scope) for part in tree.parts)
            return _at(owner, at)
        case "member":
            return _member(evaluate(tree.parts[0], scope), tree.value)
        case "call":
            return _called(tree, scope)
        case _:
            raise UnknownJavaScript(tree.kind)


def _binary(sign: str, left: Any, right: Any) -> Any:
    if sign in ("&&", "||", "??"):
        return (right if left else left) if sign == "&&" else (left or right)
    if sign in ("===", "=="):
        return left == right or (sign == "==" and _string(left) == _string(right))
    if sign in ("!==", "!="):
        return not _binary(sign[:1].replace("!", "=") * (len(sign)), left, right)
    if sign == "+" and isinstance(left, str | list) | isinstance(right, str | list):
        return _string(left) + _string(right)
    one, other = _as_number(left), _as_number(right)
    if sign in ("/", "%") and other == 0:
        return math.nan if sign == "%" or one == 0 or math.isnan(one) else math.copysign(math.inf, one)
    match sign:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
        case "/":
            return one / other
        case "%":
            return math.fmod(one, other)
        case "**":
            return one**other
        case "<":
            return one < other
        case ">":
            return one > other
        case "<=":
            return one <= other
        case _:
            return one >= other


def _as_number(value: Any) -> float:
    if value is None or isinstance(value, dict):
        return math.nan
    return _number(value) if isinstance(value, str) else _number(_string(value)) if isinstance(value, list) else value


def _string(value: Any) -> str:
    if isinstance(value, list):
        return ",".join("" if part is None else _string(part) for part in value)
    return (
        value
        if isinstance(value, str)
        else "undefined"
        if value is None
        else shown(stored(value)).replace("null", "NaN")
    )


def _at(owner: Any, at: Any) -> Any:
    if isinstance(owner, dict):
        return owner.get(at)
    if isinstance(owner, str | list) and isinstance(at, int | float) and 0 <= at < len(owner):
        return owner[int(at)]
    return None


def _member(owner: Any, name: str) -> Any:
    if owner is None:
        raise NoJavaScript(f"there is no .{name} of undefined")
    if name == "length" and isinstance(owner, str | list):
        return len(owner)
    return owner.get(name) if isinstance(owner, dict) else None


def _called(tree: JavaScript, scope: Mapping[str, Any]) -> Any:
    called, arrows = tree.parts[0], [part for part in tree.parts[1:] if part.kind == "arrow"]
    if called.kind == "name" or (called.kind == "member" and called.parts[0].value == "Math"):
        return _function(called.value, [evaluate(part, scope) for part in tree.parts[1:]])
    if called.kind != "member" or called.parts[0].kind == "new":
        raise UnknownJavaScript("a call")
    owner = evaluate(called.parts[0], scope)
    if arrows and isinstance(owner, list):
        results = [evaluate(arrows[0].parts[0], {**scope, arrows[0].value[0]: each}) for each in owner]
        kept = [each for each, keeps in zip(owner, results, strict=True) if keeps]
        made = {"map": results, "filter": kept, "find": kept[0] if kept else None}
        flat = [part for each in results for part in (each if isinstance(each, list) else [each])]
        return flat if called.value == "flatMap" else made.get(called.value)
    return _method(called.value, owner, [evaluate(part, scope) for part in tree.parts[1:]])


def _function(name: str, values: Sequence[Any]) -> Any:
    numbers = [_as_number(value) for value in values] if name not in ("String", "encodeURIComponent", "random") else []
    if name in ("round", "floor", "ceil", "abs", "min", "max", "pow") and any(map(math.isnan, numbers)):
        return math.nan
    match name:
        case "round":
            return math.floor(numbers[0] + 0.5)
        case "floor" | "parseInt":
            return math.nan if math.isnan(numbers[0]) else math.floor(numbers[0])
        case "ceil":
            return math.ceil(numbers[0])
        case "abs":
            return abs(numbers[0])
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
        case "pow":
            return numbers[0] ** numbers[1]
        case "Number" | "parseFloat":
            return numbers[0]
        case "String":
            return _string(values[0])
        case _:
            raise UnknownJavaScript(name)


def _method(name: str, owner: Any, values: Sequence[Any]) -> Any:
    if owner is None:
        raise NoJavaScript(f"there is no .{name}() of undefined")
    text = _string(owner)
    first = values[0] if values else None
    match name:
        case "toUpperCase":
            return text.upper()
        case "toLowerCase":
            return text.lower()
        case "trim":
            return text.strip()
        case "toString":
            return text
        case "toFixed":
            return f"{_as_number(owner):.{int(first or 0)}f}"
        case "includes":
            return first in owner if isinstance(owner, list) else _string(first) in text
        case "startsWith":
            return text.startswith(_string(first))
        case "endsWith":
            return text.endswith(_string(first))
        case "replaceAll":
            return text.replace(_string(first), _string(values[1]))
        case "split":
            return text.split(_string(first))
        case "join":
            return ("," if first is None else _string(first)).join(_string(part) for part in owner)
        case "concat" if isinstance(owner, list):
            return [*owner, *(first if isinstance(first, list) else [first])]
        case "slice" | "substring":
            return owner[int(first or 0) : int(values[1]) if len(values) > 1 else None]
        case "at":
            return owner[int(first or 0)] if owner else None
        case _:
            raise UnknownJavaScript(name)


def conversations_of(
    exports: Mapping[str, TypebotExport],
    export: TypebotExport,
    first: TypebotBlock,
    flow: str,
    handlers: Mapping[str, str],
    is_main: bool,
) -> list[SourceConversation]:
    """Conversations that begin with a block, and take each answer and each branch once, if they can.

    ``handlers`` are names by places. Contacts begin the main flow by a message, a program begins the others.
    """
    explored = _Explored(exports, export, first, is_main)
    found: list[SourceConversation] = []
    idle = 0
    for number in range(_MOST_CONVERSATIONS):
        if idle > _MOST_IDLE:
            break
        seen = explored.covered
        session, turns = explored.conversation(number)
        idle = idle + 1 if explored.covered == seen else 0
        if idle and found:
            continue
        words = " > ".join(turn.value for turn in turns[1:] if turn.kind != "wait")[:60].rstrip(" >")
        results: dict[str, list[Any]] = {}
        for place, value in session.handled:
            if place in handlers:
                results.setdefault(handlers[place], []).append(value)
        found.append(
            SourceConversation(
                f"{flow} {len(found) + 1}: {words or 'hello'}",
                flow,
                tuple(turns),
                now=BEGIN,
                http=tuple(session.http),
                models=tuple(session.models),
                handlers={name: tuple(values) for name, values in results.items()},
                draws=tuple(session.draws),
            )
        )
    return found


class _Explored:
    """Which answers and blocks conversations have taken."""

    def __init__(
        self, exports: Mapping[str, TypebotExport], export: TypebotExport, first: TypebotBlock, is_main: bool
    ) -> None:
        self._exports = exports
        self._begin = export, first, is_main
        self._taken: Counter[tuple[str, str]] = Counter()
        self._passed: set[tuple[str, str]] = set()

    @property
    def covered(self) -> int:
        """How much has been taken at least once."""
        return len(self._taken) + len(self._passed)

    def conversation(self, number: int) -> tuple[TypebotSession, list[SourceTurn]]:
        """A conversation whose answers are those that were taken least."""
        export, first, is_main = self._begin
        session = TypebotSession(self._exports, export, round=number)
        session.begin(first)
        turns = [self._turn("text" if is_main else "start", "Hello" if is_main else "", session)]
        while len(turns) < _MOST_TURNS:
            if session.pause:
                seconds = session.pause
                session.said, session.visited = [], []
                session.resume()
                turns.append(self._turn("wait", f"{seconds:g}", session))
                continue
            block = session.waiting
            answers = [] if block is None else list(self._answers(session, block))
            if block is None or not answers:
                break
            answer = min(answers, key=lambda each: self._taken[block.id, each.value])
            self._taken[block.id, answer.value] += 1
            session.reply(answer)
            turns.append(self._turn(answer.kind, answer.value, session))
        return session, turns

    def _turn(self, kind: str, value: str, session: TypebotSession) -> SourceTurn:
        self._passed.update(zip(session.visited, session.visited[1:], strict=False))
        return SourceTurn(kind, value, tuple(session.said), tuple(session.visited))

    def _answers(self, session: TypebotSession, block: TypebotBlock) -> Iterator[Answer]:
        """Answers to a question: right ones, and once a wrong one."""
        wrong = _SAMPLES.get(block.type, ("", "zzz"))[1]
        if block.type in CHOICES:
            items = session.items(block)
            if block.options.get("isMultipleChoice"):
                yield from (Answer("text", f"{n}, {n + 1}") for n in range(1, len(items), 2))
            elif block.type == "choice input":
                titles: list[str] = []
                for number, item in enumerate(items):
                    titles.append(shown_title(item.content or "", titles[number - number % 3 :]))
                    yield Answer("choice", titles[-1], item.id)
            else:
                yield from (Answer("choice", shown_title(item.content or ""), item.id) for item in items)
        elif block.type == "file input":
            yield Answer("image", "https://files.example/image")
        else:
            name = session.variable(block.options)
            usual = _SAMPLES[block.type][0]
            if block.type == "date input" and block.options.get("isRange"):
                usual = next(iter(_SAMPLES_OF_RANGES))
            elif block.type == "date input" and block.options.get("hasTime"):
                usual = f"{usual} 15:30"
            texts = [usual, *(session.answers(name) if name else ())]
            yield from (Answer("text", text) for text in dict.fromkeys(texts) if accepted(block, text) is not None)
        if wrong and not self._taken[block.id, wrong]:
            yield Answer("text", wrong)
