"""Typebot's own rules for conversations in WhatsApp. They know nothing of the new bot's flows."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.checker.exploring.moves import HttpResult, ModelResult
from bot.cli.importing.conversations import SourceConversation, SourceMessage, SourceTurn
from bot.cli.importing.typebot.evaluation import (
    Value,
    compared,
    evaluate,
    guessed,
    leading_number,
    number_of,
    shown,
    stored,
)
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
from bot.core.lazy_patterns import lazy_pattern
from bot.testing.conversations.transcript_reader import NOW

INVALID = "Invalid message. Please, try again."
RETRIES = {
    "email input": "This email doesn't seem to be valid. Can you type it again?",
    "payment input": "Payment failed. Please, try again.",
}
"""The texts for a wrong answer where the bot has none of its own."""
NO_TEXT = "―"
"""The text above buttons that have none."""
HTTP_BLOCKS = ("Webhook", "Zapier", "Make.com", "Pabbly")
DOCUMENTS = ("pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "zip", "json", "xml", "txt")
COMPLETIONS = ("Create chat completion", "Create Chat Message", "Ask Model", "Chat")
UNKNOWN_RESULT = "what the code returns"
"""The value of code that is not understood, on both sides."""

_EMAIL = lazy_pattern(r'(([^<>()\[\]\\.,;:\s@"]+(\.[^<>()\[\]\\.,;:\s@"]+)*)|(".+"))@(([a-zA-Z\-0-9]+\.)+[a-zA-Z]{2,})')
_URL = lazy_pattern(r"(https?://)?([\w-]+\.)+[a-zA-Z]{2,}(:\d+)?([/?#]\S*)?")
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


@dataclass(frozen=True)
class TypebotAnswer:
    """A text that a contact writes, or a tap on an item."""

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
    now: datetime = NOW
    _next: TypebotBlock | None = None
    _address: SourceMessage | None = None  # the last message, if it is no text but an address
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

    def reply(self, answer: TypebotAnswer) -> None:
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
        values = {name: guessed(value) for name, value in self.values.items()}
        return evaluate(tree, {**values, "Math.random": self._random, "Date": self.now})

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
                item.id, item.edge, {"content": self.rendered(item.content).strip(), "value": self.rendered(item.value)}
            )
            for item in block.items
            if self.rendered(item.content).strip() and (item.shown_if is None or self.holds(item.shown_if))
        ]

    def answers(self, name: str) -> Iterator[str]:
        """The values that conditions compare a variable with, and those beside a number."""
        for block in self.export.blocks() if name else ():
            for item in block.items if block.type == "Condition" else ():
                for each in (item.data.get("content") or {}).get("comparisons") or []:
                    written = str(each.get("value") or "")
                    if self.variable(each) != name or not written or "{{" in written:
                        continue
                    number = number_of(written)
                    yield from [written] if math.isnan(number) else [shown(stored(number + by)) for by in (0, 1, -1)]

    def holds(self, condition: Mapping[str, Any] | None) -> bool:
        """Return whether a condition is true."""
        comparisons = (condition or {}).get("comparisons") or []
        found = [self._compared(each) for each in comparisons]
        return bool(found) and (any(found) if (condition or {}).get("logicalOperator") == "OR" else all(found))

    def _compared(self, comparison: Mapping[str, Any]) -> bool:
        name = self.variable(comparison)
        if name is None:
            return False
        written = comparison.get("value")
        single = re.fullmatch(r"\{\{([^{}]+)\}\}", written or "")
        value: Value = self.rendered(written) if not single else self.values.get(single[1]) or ""
        other = None if written in ("undefined", "null") else value
        return compared(comparison.get("comparisonOperator"), self.values.get(name), other)

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
                a, b = self.export.halves(block)
                edge = a if a and self._draw(block.options.get("aPercent", 50)) else b
                if edge is not None:
                    return self.export.behind(edge)
            case "Jump":
                return self._jump(block)
            case "Typebot link":
                return self._link(block)
            case "Wait":
                seconds = leading_number(self.rendered(str(block.options.get("secondsToWaitFor") or "")))
                self.pause = float(seconds or 0.0)
            case "Redirect":
                if url := self.rendered(block.options.get("url")):
                    self.said.append(SourceMessage(url, place=block.place))
            case kind if kind in HTTP_BLOCKS:
                _request(self, block)
            case "Return":
                return None
            case _ if not block.is_of_web_page:
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
            self._address = None if block.type == "text" else self.said[-1]

    def _draw(self, percent: float) -> bool:
        """Draw a half of an A/B test: they take turns."""
        self.draws.append(max(percent - 1, 0) / 100 if self.round % 2 == 0 else min(percent + 1, 99) / 100)
        return self.draws[-1] * 100 < percent

    def _random(self) -> float:
        self.draws.append(0.25)
        return self.draws[-1]

    def _set(self, block: TypebotBlock) -> None:
        name = self.variable(block.options)
        if name is not None:
            self.values[name] = _new_value(self, block, name)

    def custom(self, block: TypebotBlock, code: str | None) -> Value:
        """The value of an expression, or the text that it is."""
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

    def _other(self, block: TypebotBlock) -> None:
        saved = saved_names(self.export, block)
        if is_completion(block):
            wanted = [each for name in saved[:1] for each in self.answers(name)]
            self.models.append(ModelResult(wanted[self.round % len(wanted)] if self.round and wanted else "Fine."))
            result: Value = self.models[-1].text
        else:
            is_file = "saveUrlInVariableId" in block.options
            result = "https://files.example/made.mp3" if is_file else f"result of {block.type}"
            self.handled.append((block.place, result))
        self.values.update(dict.fromkeys(saved[:1], result))

    def _show(self, block: TypebotBlock) -> None:
        if block.type not in CHOICES:
            return
        items = self.items(block)
        last = self.said[-1] if self.said and self.said[-1].text and not self.said[-1].media else None
        last = None if last is self._address else last
        if block.is_many and block.type == "choice input":
            lines = "\n".join(f"{number}. {item.content}" for number, item in enumerate(items, 1))
            self._below_text(last, block, f"{last.text}\n\n{lines}" if last else lines)
        elif block.type == "choice input":
            self._below_text(last, block, last.text[:_LONGEST_BODY] if last else NO_TEXT, _titles(items))
        else:
            self.said += _pictures(self, block)

    def _below_text(
        self, last: SourceMessage | None, block: TypebotBlock, text: str, choices: tuple[str, ...] = ()
    ) -> None:
        """Typebot sends the last text together with the choices."""
        if last is not None:
            self.said.pop()
        self.said.append(SourceMessage(text, choices, place=last.place if last else block.place))

    def _accepted(self, block: TypebotBlock, answer: TypebotAnswer) -> tuple[str | None, TypebotItem | None]:
        """The content that is saved, None for a wrong answer; and the chosen item."""
        if block.type not in CHOICES:
            return accepted(block, answer.value), None
        items = self.items(block)
        if block.is_many:
            numbers = {int(number) for number in re.findall(r"\d+", answer.value)}
            chosen = [item for number, item in enumerate(items, 1) if number in numbers]
            return ", ".join(item.value or "" for item in chosen) or None, None
        found = [each for each in items if answer.item == each.id or answer.value.strip() in (each.value, each.content)]
        return (found[0].value, found[0]) if found else (None, None)


def _new_value(session: TypebotSession, block: TypebotBlock, name: str) -> Value:
    options, old = block.options, session.values.get(name)
    listed: list[str | None] = [] if old is None else [*old] if isinstance(old, list) else [old]
    match options.get("type"):
        case None | "Custom":
            return session.custom(block, options.get("expressionToEvaluate"))
        case "Append value(s)":
            return [*listed, session.rendered(options.get("item")) or None]
        case "Pop" | "Shift" as kind:
            if (saved := session.variable(options, "saveItemInVariableId")) is not None and listed:
                session.values[saved] = listed[-1 if kind == "Pop" else 0]
            if old is None:
                return None
            return listed[:-1] if kind == "Pop" else listed[1:]
        case "Map item with same index":
            parts = options.get("mapListItemParams") or {}
            item, base, target = (
                session.values.get(session.variable(parts, f"{key}VariableId") or "")
                for key in ("baseItem", "baseList", "targetList")
            )
            if isinstance(base, list) and isinstance(target, list) and item in base:
                at = base.index(str(item))
                return target[at] if at < len(target) else None
            return None
        case "Now" | "Today":
            return f"{session.now:%Y-%m-%dT%H:%M:%S}.000Z"
        case "Tomorrow" | "Yesterday" as kind:
            return f"{session.now + timedelta(days=1 if kind == 'Tomorrow' else -1):%Y-%m-%dT%H:%M:%S}.000Z"
        case "Moment of the day":
            return "morning" if session.now.hour < 12 else "afternoon" if session.now.hour < 18 else "evening"
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


def _request(session: TypebotSession, block: TypebotBlock) -> None:
    webhook = block.options.get("webhook") or {}
    if not webhook.get("url"):
        session.handled += [(block.place, None)] if block.lacks_request else []
        return
    answer: Any = None
    paths = [
        (name, path)
        for each in block.options.get("responseVariableMapping") or []
        if (name := session.variable(each)) is not None and (path := _path_of(each.get("bodyPath")))
    ]
    for _, path in paths:
        answer = _merged(answer, _sample(path, {}))
    answer = (answer or {}).get("data", {"ok": True})
    address = PLACEHOLDER.sub("*", webhook["url"].partition("?")[0])
    session.http.append(HttpResult(f"{webhook.get('method') or 'POST'} {address}", json=answer))
    if not paths:
        session.handled.append((block.place, None))
    for name, path in paths:
        try:
            session.values[name] = stored(evaluate(path, {"data": answer, "statusCode": 200}))
        except (NoJavaScript, UnknownJavaScript):
            continue
        if name == paths[0][0]:
            session.handled.append((block.place, session.values[name]))


def _pictures(session: TypebotSession, block: TypebotBlock) -> Iterator[SourceMessage]:
    """Each picture or card, with its buttons."""
    for number, item in enumerate(block.items, 1):
        title = f"*{item.data['title']}*" if item.data.get("title") else None
        words = "\n\n".join(session.rendered(part) for part in (title, item.data.get("description")) if part)
        choices = tuple(str(path.get("text") or "") for path in item.data.get("paths") or []) or ("Select",)
        if block.is_many:
            words, choices = f"{number}. {words}", ()
        yield SourceMessage(words, choices, (f"image {item.picture}",) if item.picture else (), block.place)


def _titles(items: Sequence[TypebotItem]) -> tuple[str, ...]:
    """The titles of buttons, which Typebot sends three by three."""
    titles: list[str] = []
    for number, item in enumerate(items):
        titles.append(shown_title(item.content or "", titles[number - number % 3 :]))
    return tuple(titles)


def accepted(block: TypebotBlock, text: str) -> str | None:
    """The content that an input other than a choice takes from a text; None for a wrong answer."""
    options = block.options
    match block.type:
        case "email input":
            return text.lower() if _EMAIL.fullmatch(text) else None
        case "url input" | "file input":
            return text if _URL.fullmatch(text) else None
        case "number input":
            number = leading_number(text.replace(",", ".", 1))
            low, high = (leading_number(str(options.get(key) or "")) for key in ("min", "max"))
            if number is None or (low and number < low) or (high and number > high):
                return None
            return text if text.startswith("0") else shown(stored(number))
        case "rating input":
            return text if number_of(text) <= (options.get("length") or 10) else None
        case "phone number input":
            digits = re.sub(r"[^\d+]", "", text)
            return digits if re.fullmatch(r"\+\d{8,15}", digits) else None
        case "date input" | "time input" as kind:
            is_time = kind == "time input"
            if options.get("isRange"):
                return _SAMPLES_OF_RANGES.get(text)
            read = "%H:%M" if is_time else "%Y-%m-%d %H:%M" if " " in text else "%Y-%m-%d"
            try:
                moment = datetime.strptime(text, read)
            except ValueError:
                return None
            moment = moment if is_time or " " in text else moment.replace(hour=12)
            form = date_format(block)
            return re.sub("|".join(_DATE_PARTS), lambda found: moment.strftime(_DATE_PARTS[found[0]]), form)
        case "payment input":
            return None if text == "fail" else text
        case _:
            return text


def date_format(block: TypebotBlock) -> str:
    """The format in which Typebot keeps the day or the time that an input asks for."""
    usual = (
        "HH:mm" if block.type == "time input" else "dd/MM/yyyy HH:mm" if block.options.get("hasTime") else "dd/MM/yyyy"
    )
    return str(block.options.get("format") or usual)


def is_completion(block: TypebotBlock) -> bool:
    """Return whether a block asks a model for a text."""
    return (block.options.get("action") or block.options.get("task")) in COMPLETIONS


def saved_names(export: TypebotExport, block: TypebotBlock) -> list[str]:
    """The names of the variables that an integration fills."""
    mapped = block.options.get("responseMapping") or []
    words = (None, "Message content", "Answer")
    words_first = sorted(mapped, key=lambda each: (each.get("item") or each.get("valueToExtract")) not in words)
    ids = [each.get("variableId") for each in words_first]
    ids += [each.get("variableId") for each in block.options.get("cellsToExtract") or []]
    ids += [
        value
        for key, value in block.options.items()
        if key.endswith("VariableId") and key not in ("dialogueVariableId", "contentVariableId")
    ]
    return [export.variables[each] for each in ids if each in export.variables]


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
                http=tuple(session.http),
                models=tuple(session.models),
                handlers={name: tuple(values) for name, values in results.items()},
                draws=tuple(session.draws),
            )
        )
    return found


class _Explored:
    """Makes conversations, and counts the answers and the ways between blocks that these have taken."""

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

    def _answers(self, session: TypebotSession, block: TypebotBlock) -> Iterator[TypebotAnswer]:
        """Answers to a question: right ones, and once a wrong one."""
        wrong = _SAMPLES.get(block.type, ("", "zzz"))[1]
        if block.type in CHOICES:
            items = session.items(block)
            if block.is_many:
                yield from (TypebotAnswer("text", f"{n}, {n + 1}") for n in range(1, len(items), 2))
            elif block.type == "choice input":
                titles = zip(_titles(items), items, strict=True)
                yield from (TypebotAnswer("choice", title, item.id) for title, item in titles)
            else:
                yield from (TypebotAnswer("choice", shown_title(item.content or ""), item.id) for item in items)
        elif block.type == "file input":
            yield TypebotAnswer("image", "https://files.example/image")
        else:
            name = session.variable(block.options)
            usual = _SAMPLES[block.type][0]
            if block.type == "date input" and block.options.get("isRange"):
                usual = next(iter(_SAMPLES_OF_RANGES))
            elif block.type == "date input" and block.options.get("hasTime"):
                usual = f"{usual} 15:30"
            texts = [usual, *(session.answers(name) if name else ())]
            yield from (
                TypebotAnswer("text", text) for text in dict.fromkeys(texts) if accepted(block, text) is not None
            )
        if wrong and not self._taken[block.id, wrong]:
            yield TypebotAnswer("text", wrong)
