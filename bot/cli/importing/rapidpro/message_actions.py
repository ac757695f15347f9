"""RapidPro's messages and questions as steps: texts, attachments, quick replies, templates."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.cli.importing.imported import shortened, unsendable
from bot.cli.importing.rapidpro.expressions import Untranslatable, parts_of
from bot.cli.importing.rapidpro.flow_texts import FlowTexts
from bot.cli.importing.rapidpro.messages import ROW_TITLE, RapidProMessage, file_of, message_of
from bot.cli.importing.rapidpro.node_steps import NEXT, NodeSteps, Step
from bot.cli.importing.rapidpro.reading import Data, RapidProNode, result_key
from bot.cli.importing.rapidpro.scopes import first_words

MOST_BUTTONS, BUTTON_TITLE, MOST_ROWS = 3, 20, 10  # of the messaging platform
WINDOW = 86_100  # seconds of silence after which the gateway takes templates only
LATE = (
    "so late the platform takes templates only: what is said then waits until the contact writes (write window_closed)"
)


def add_message(steps: NodeSteps, action: Data, asks: RapidProNode | None) -> None:
    """Add the steps of a message. ``asks``: the node that waits for its answer."""
    texts, node = steps.texts, steps.node
    message = message_of(action)
    if action["type"] in ("say_msg", "play_audio"):
        texts.nearly(node, "what was said in a call is a message here")
    templating = action.get("templating")
    if templating and not message.text:
        _template(steps, templating)
        if asks is not None:
            _ask(steps, asks, RapidProMessage(""), str(action.get("uuid", "")))
        return
    if templating:
        texts.nearly(node, "the text is sent, not its template: write window_closed for contacts who were silent")
    if action.get("all_urns"):
        texts.nearly(node, "the message is sent to the contact's one number")
    uuid = str(action.get("uuid", ""))
    text = texts.base(uuid, "text", message.text)
    media = [*_media(steps, message, uuid)]
    asked = replace(message, text=text)
    texts.can_fail = False
    if asks is not None and (text or not message.choices):
        _files(steps, media)
        texts.text(node, text)
        if not message.choices and (texts.can_fail or _may_be_empty(text)):
            _say(steps, text, uuid, {})
            asked = RapidProMessage("")
        _ask(steps, asks, asked, uuid)
        return
    if message.choices and text:
        _files(steps, media)
        _said_with_buttons(steps, asked, uuid)
        return
    has_caption = media and media[-1][0] != "audio" and not _may_fail(media[-1][1])
    above = media[-1:] if has_caption else []  # the file with the text as its caption
    _files(steps, media[:-1] if above else media)
    if text or above:
        _say(steps, text, uuid, dict(above))
    elif not media:
        steps.add({"branch": [{"else": NEXT}]})


def _media(steps: NodeSteps, message: RapidProMessage, uuid: str) -> Iterator[tuple[str, str]]:
    """The files that the gateway takes, as their kinds and addresses."""
    for place, (kind, url) in enumerate(map(file_of, message.media)):
        local = {code: file_of(other)[1] for code, other in steps.texts.translated(uuid, "attachments", place)}
        why = "" if "@" in url else unsendable(kind, url)
        if why:
            steps.texts.lost(steps.node, why)
        elif set(local.values()) <= {url}:
            yield kind, steps.texts.text(steps.node, url)
        else:
            urls = {code: steps.texts.value(steps.node, other) for code, other in local.items()}
            choice = " else ".join(f'{other} if language == "{code}"' for code, other in urls.items())
            yield kind, f"{{{{ {choice} else {steps.texts.value(steps.node, url)} }}}}"


def _may_fail(url: str) -> bool:
    """True for an address whose host is a value, which may be empty."""
    return not url.startswith(("http://", "https://", '{{ "http'))


def _files(steps: NodeSteps, media: Sequence[tuple[str, str]]) -> None:
    for kind, url in media:
        if _may_fail(url):
            steps.texts.nearly(steps.node, f"the {kind} is left out where its address is not complete")
            steps.texts.can_fail = True
        steps.add({"say": "", kind: url}, kind)


def _say(steps: NodeSteps, text: str, uuid: str, media: Step) -> None:
    texts, node = steps.texts, steps.node
    said = texts.text(node, text)
    failing = texts.can_fail
    local = {language: {"say": texts.text(node, each)} for language, each in texts.translated(uuid, "text")}
    texts.can_fail = failing or texts.can_fail or (_may_be_empty(text) and not media)
    steps.add({"say": said, **media}, first_words(text) or "say", texts=local)


def _may_be_empty(text: str) -> bool:
    """True for a text that has nothing but values."""
    try:
        return not any(isinstance(part, str) and part.strip() for part in parts_of(text)) and bool(text)
    except Untranslatable:
        return False


def _said_with_buttons(steps: NodeSteps, message: RapidProMessage, uuid: str) -> None:
    """A message with quick replies that nothing waits for."""
    texts, node = steps.texts, steps.node
    note = "nothing waits for an answer to this message: a tap on its buttons is a message like any other"
    if len(message.choices) > MOST_BUTTONS or any("@" in each or len(each) > BUTTON_TITLE for each in message.choices):
        note = f"nothing waits for an answer: only {MOST_BUTTONS} buttons of {BUTTON_TITLE} characters are shown"
    texts.nearly(node, note)
    shown = [each for each in message.choices if "@" not in each and len(each) <= BUTTON_TITLE][:MOST_BUTTONS]
    said: Step = {"say": texts.text(node, message.text)}
    if shown:
        said["buttons"] = {title: {"payload": f"reply:{title}"} for title in shown}
    local: dict[str, Step] = {code: {"say": texts.text(node, text)} for code, text in texts.translated(uuid, "text")}
    for code, replies in _translated_replies(texts, uuid, message.choices).items():
        local.setdefault(code, {})["buttons"] = {
            title: shortened([reply], BUTTON_TITLE)[0]
            for title, reply in zip(message.choices, replies, strict=True)
            if title in shown
        }
    steps.add(said, first_words(message.text) or "say", texts=local)


def _translated_replies(texts: FlowTexts, uuid: str, titles: Sequence[str]) -> dict[str, list[str]]:
    """The quick replies in each language that has some of them; the others are as in the flow's own language."""
    found: dict[str, list[str]] = {}
    for place in range(len(titles)):
        for code, reply in texts.translated(uuid, "quick_replies", place):
            found.setdefault(code, [*titles])[place] = reply
    return found


def ask_without_text(steps: NodeSteps, asks: RapidProNode) -> None:
    """Add a wait for a message that another step has asked for."""
    _ask(steps, asks, RapidProMessage(""), "")


def _ask(steps: NodeSteps, asks: RapidProNode, message: RapidProMessage, uuid: str) -> None:
    """A question, and what its answer sets: the input, and the result of a router without cases."""
    texts, node, scope = steps.texts, steps.node, steps.texts.scope
    router = asks.router or {}
    after = texts.routers[asks.uuid]
    key = scope.name(("input", "text"), "input")
    step: Step = {"ask": texts.text(node, message.text)}
    local: dict[str, Step] = {
        lang: {"ask": texts.text(node, text)} for lang, text in texts.translated(uuid, "text") if message.text
    }
    values: dict[str, str] = {}
    if message.choices:
        cut = _choices(steps, message, step, uuid, local)
        written = f"{cut}[message.text] | default(message.text | default(''))" if cut else "message.text | default('')"
        values[key] = f"{{{{ {written} }}}}"
    else:
        step["save"] = key
    other: dict[str, str] = {key: "{{ message.file.caption | default('') }}"}
    if scope.reads("input", "kind"):
        kind = scope.name(("input", "kind"), "input kind")
        values[kind] = "text"
        other[kind] = "{{ message.kind }}"
    if scope.reads("input", "file"):
        file = scope.name(("input", "file"), "input file")
        values[file] = ""
        with_kind = "{{ (message.kind ~ ':' ~ message.file.url) if message.file else '' }}"
        other[file] = "{{ message.file.url | default('') }}" if texts.flow.is_glific else with_kind
    if values:
        step["set"] = values
    step["other"] = {"set": other, "then": after}
    texts.can_fail = False
    hint = (asks.waits or {}).get("type")
    if hint not in ("msg", None):
        texts.lost(asks, f"a wait for {hint} is a wait for a message here")
    if asks.timeout and (timeout := asks.categories.get(str(asks.timeout.get("category_uuid")))) is not None:
        seconds = int(asks.timeout.get("seconds") or 60)
        if seconds >= WINDOW:
            texts.nearly(asks, LATE)
        leaves: Step = {"after": f"{seconds}s", "then": texts.target(asks.target(timeout["uuid"]))}
        if router.get("result_name"):
            name = result_key(str(router["result_name"]))
            leaves["set"] = {scope.result(name): "", scope.result(name, "category"): str(timeout.get("name"))}
        step["timeout"] = leaves
    step["then"] = after
    steps.add(step, first_words(message.text) or "wait", texts=local)


def _choices(steps: NodeSteps, message: RapidProMessage, step: Step, uuid: str, local: dict[str, Step]) -> str:
    """Add the quick replies to a question: any other text is an answer, too. Returns the map of those that are cut."""
    texts, node = steps.texts, steps.node
    titles = list(dict.fromkeys(message.choices))
    shown = shortened(titles, ROW_TITLE)
    cut = {short: title for short, title in zip(shown, titles, strict=True) if short != title}
    step |= {"accepts": "text", "match": "exact"}
    if message.header and len(titles) <= MOST_BUTTONS:
        step["header"] = texts.text(node, message.header)
    longest = BUTTON_TITLE if len(titles) <= MOST_BUTTONS else ROW_TITLE
    if any(len(each) > ROW_TITLE for each in titles):
        texts.nearly(node, f"titles of more than {ROW_TITLE} characters are shortened, as the platform does")
    elif any(len(each) > longest for each in titles) or len(titles) > MOST_BUTTONS:
        texts.nearly(node, "more than 3 buttons, or long ones, are a list here")
    if len(titles) > MOST_ROWS:
        texts.nearly(node, f"more than {MOST_ROWS} choices are several pages")
    if any("@" in each for each in titles):
        step["options"] = {"from": f"[{', '.join(texts.value(node, each) for each in titles)}]"}
        return ""
    if message.abouts:
        rows = {title: {"about": about} if about else {} for title, about in zip(shown, message.abouts, strict=False)}
        step["list"] = {"button": (message.button or "Choose")[:BUTTON_TITLE], "rows": rows}
        return json.dumps(cut, ensure_ascii=False) if cut else ""
    step["options"] = shown
    for language, replies in _translated_replies(texts, uuid, titles).items():
        short = shortened(replies, ROW_TITLE)
        local.setdefault(language, {})["options"] = dict(zip(shown, short, strict=True))
        cut |= {each: reply for each, reply in zip(short, replies, strict=True) if each != reply}
    return json.dumps(cut, ensure_ascii=False) if cut else ""


def _template(steps: NodeSteps, templating: Data) -> None:
    texts, node = steps.texts, steps.node
    name = str((templating.get("template") or {}).get("name") or "template")
    body = [texts.text(node, each) for each in templating.get("variables") or ()]
    language = texts.names.languages[0]
    steps.add(
        {"template": {"name": name, "language": language, **({"body": body} if body else {})}}, f"template {name}"
    )
    texts.nearly(node, "the template must exist at the gateway under this name and language")
