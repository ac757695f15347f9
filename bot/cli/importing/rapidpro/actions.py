"""The actions of RapidPro's nodes as steps: messages, results, groups, webhooks, other flows."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from bot.cli.importing.imported import name_of
from bot.cli.importing.rapidpro.expressions import Excellent, Inserted, Untranslatable, parts_of, quoted
from bot.cli.importing.rapidpro.flow_texts import FlowTexts
from bot.cli.importing.rapidpro.messages import RapidProMessage, message_of
from bot.cli.importing.rapidpro.reading import OLD_BODY, Data, RapidProNode, language_of, result_key
from bot.core.immutable import mutable

Step = dict[str, Any]
NEXT = "<next>"
"""The target that stands for the next step, until its name is known."""
MOST_BUTTONS, BUTTON_TITLE, ROW_TITLE, MOST_ROWS = 3, 20, 24, 10  # of the messaging platform
_WINDOW = 86_100  # seconds of silence after which the gateway takes templates only
_LATE = (
    "so late the platform takes templates only: what is said then waits until the contact writes (write window_closed)"
)
_INPUT = ("input", "text")
_MOST_ROUNDS = 100  # steps that RapidPro takes without a wait


@mutable
class NodeStep:
    """A step of a node. ``label`` names it, and ``name`` where it must be called so; ``texts`` are its translations."""

    step: Step
    label: str = "step"
    name: str = ""
    texts: dict[str, Step] = field(default_factory=dict)


class NodeSteps:
    """The steps of a node, in order."""

    def __init__(self, texts: FlowTexts, node: RapidProNode) -> None:
        self.texts = texts
        self.node = node
        self.listed: list[NodeStep] = []

    def add(self, step: Step, label: str = "step", name: str = "", texts: dict[str, Step] | None = None) -> None:
        """Add a step. If the step can fail, the operator is told, and the flow goes on with the next step."""
        if self.texts.can_fail and "errors" not in step:
            step["errors"] = {"else": NEXT}
        self.texts.can_fail = False
        self.listed.append(NodeStep(step, label, name, texts or {}))

    def finished(self, target: str, rounds: bool) -> dict[str, Step]:
        """Return the steps by their names; the last leads to the target. ``rounds``: they may lead in a circle."""
        if not self.listed:
            self.listed.append(NodeStep({"branch": [{"else": target}]}))
        for place, each in enumerate(self.listed):
            first = place == 0 and not each.name
            each.name = each.name or (
                self.texts.entries[self.node.uuid] if first else name_of(each.label, self.texts.taken)
            )
            self.texts.taken.add(each.name)
        made: dict[str, Step] = {}
        for place, each in enumerate(self.listed):
            last = place + 1 == len(self.listed)
            step = _with_next(each.step, target if last else self.listed[place + 1].name)
            if last and not {"branch", "handoff", "then"} & step.keys():
                step["then"] = target
            if rounds and place == 0:
                step["visits"] = {"max": _MOST_ROUNDS, "else": "end"}
                note = f"a circle without a wait: at most {_MOST_ROUNDS} rounds here, {_MOST_ROUNDS} steps there"
                self.texts.notes[self.node.uuid].nearly.append(note)
            made[each.name] = step
            for language, texts in each.texts.items():
                self.texts.locale.setdefault(language, {})[each.name] = texts
        return made


def _with_next(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_next(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_next(each, name) for each in value]
    return name if value == NEXT else value


def add_action(steps: NodeSteps, action: Data, asks: RapidProNode | None) -> None:
    """Add the steps of an action. ``asks``: the node that waits for the answer to this message."""
    kind = str(action["type"])
    if kind in _ACTIONS:
        _ACTIONS[kind](steps, action)
    elif kind in ("send_msg", "send_interactive_msg", "say_msg", "play_audio"):
        _message(steps, action, asks)
    else:
        _lost(steps, kind, action, _LOST.get(kind, f"the action {kind} has no counterpart"))


_LOST = {
    "send_email": "there are no e-mails: write the function in handlers.py",
    "send_broadcast": "messages to other contacts: write the function, or use bot broadcast",
    "start_session": "starting a flow for other contacts: write a start step, or bot broadcast --flow",
    "transfer_airtime": "there are no transfers of airtime: write the function in handlers.py",
    "call_classifier": "the classifier is not imported: write a classify step",
    "set_contact_channel": "a contact has one channel here",
    "set_contact_timezone": "the contact's time zone is set by set: {timezone: ...}, with contact_timezones in bot.yml",
    "request_optin": "there are no opt-ins here: a contact that writes can be answered",
    "set_contact_profile": "a contact has no profiles here: keep them in variables",
    "call_llm": "calls of a model are not imported: write an ai step",
}


# messages


def _message(steps: NodeSteps, action: Data, asks: RapidProNode | None) -> None:
    texts, node = steps.texts, steps.node
    message = message_of(action)
    if action["type"] in ("say_msg", "play_audio"):
        texts.notes[node.uuid].nearly.append("what was said in a call is a message here")
    templating = action.get("templating")
    if templating and not message.text:
        _template(steps, templating)
        if asks is not None:
            _ask(steps, asks, RapidProMessage(""), str(action.get("uuid", "")))
        return
    if templating:
        texts.notes[node.uuid].nearly.append(
            "the text is sent, not its template: write window_closed for contacts who were silent"
        )
    if action.get("all_urns"):
        texts.notes[node.uuid].nearly.append("the message is sent to the contact's one number")
    uuid = str(action.get("uuid", ""))
    text = texts.base(uuid, "text", message.text)
    media = [_media(texts, node, each) for each in message.media]
    asked = RapidProMessage(text, message.choices, (), message.header, message.abouts, message.button)
    texts.can_fail = False
    if asks is not None and (text or not message.choices):
        for kind, url in media:
            steps.add({"say": "", kind: url}, kind)
        texts.text(node, text)
        if not message.choices and (texts.can_fail or _may_be_empty(text)):
            _say(steps, text, uuid, {})
            asked = RapidProMessage("")
        _ask(steps, asks, asked, uuid)
        return
    if message.choices and text:
        for kind, url in media:
            steps.add({"say": "", kind: url}, kind)
        steps.add(*_said_with_buttons(steps, asked))
        return
    for place, (kind, url) in enumerate(media):
        last = place + 1 == len(media) and kind != "audio"
        if last:
            _say(steps, text, uuid, {kind: url})
        else:
            steps.add({"say": "", kind: url}, kind)
    if text and (not media or media[-1][0] == "audio"):
        _say(steps, text, uuid, {})
    if not text and not media:
        steps.add({"branch": [{"else": NEXT}]})


def _say(steps: NodeSteps, text: str, uuid: str, media: Step) -> None:
    texts, node = steps.texts, steps.node
    said = texts.text(node, text)
    failing = texts.can_fail
    local = {language: {"say": texts.text(node, each)} for language, each in texts.translated(uuid, "text")}
    texts.can_fail = failing or texts.can_fail or (_may_be_empty(text) and not media)
    steps.add({"say": said, **media}, _words(text) or "say", texts=local)


def _may_be_empty(text: str) -> bool:
    """True for a text that has nothing but values."""
    try:
        return not any(isinstance(part, str) and part.strip() for part in parts_of(text)) and bool(text)
    except Untranslatable:
        return False


def _words(text: str) -> str:
    return " ".join(re.findall(r"[A-Za-z][\w']*", re.sub(r"@\([^)]*\)|@[\w.]+", " ", text))[:4])[:30]


def _media(texts: FlowTexts, node: RapidProNode, attachment: str) -> tuple[str, str]:
    kind, _, url = attachment.partition(":")
    main = kind.partition("/")[0].strip()
    found = main if main in ("image", "audio", "video") else "document"
    return found, texts.text(node, url)


def _said_with_buttons(steps: NodeSteps, message: RapidProMessage) -> tuple[Step, str]:
    """A message with quick replies that nothing waits for."""
    texts, node = steps.texts, steps.node
    note = "nothing waits for an answer to this message: a tap on its buttons is a message like any other"
    if len(message.choices) > MOST_BUTTONS or any("@" in each or len(each) > BUTTON_TITLE for each in message.choices):
        note = f"nothing waits for an answer: only {MOST_BUTTONS} buttons of {BUTTON_TITLE} characters are shown"
    texts.notes[node.uuid].nearly.append(note)
    shown = [each for each in message.choices if "@" not in each and len(each) <= BUTTON_TITLE][:MOST_BUTTONS]
    said: Step = {"say": texts.text(node, message.text)}
    if shown:
        said["buttons"] = {title: {"payload": f"reply:{title}"} for title in shown}
    return said, _words(message.text) or "say"


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
        _choices(steps, message, step, uuid, local)
        values[key] = "{{ message.text | default('') }}"
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
        other[file] = "{{ message.file.url | default('') }}" if texts.flow.is_glific else (
            "{{ (message.kind ~ ':' ~ message.file.url) if message.file else '' }}"
        )  # fmt: skip
    if values:
        step["set"] = values
    step["other"] = {"set": other, "then": after}
    texts.can_fail = False
    hint = (asks.waits or {}).get("type")
    if hint not in ("msg", None):
        texts.notes[asks.uuid].lost.append(f"a wait for {hint} is a wait for a message here")
    if asks.timeout and (timeout := asks.categories.get(str(asks.timeout.get("category_uuid")))) is not None:
        if int(asks.timeout.get("seconds") or 60) >= _WINDOW:
            texts.notes[asks.uuid].nearly.append(_LATE)
        leaves: Step = {
            "after": f"{int(asks.timeout.get('seconds') or 60)}s",
            "then": texts.target(asks.target(timeout["uuid"])),
        }
        if router.get("result_name"):
            name = result_key(str(router["result_name"]))
            leaves["set"] = {scope.result(name): "", scope.result(name, "category"): str(timeout.get("name"))}
        step["timeout"] = leaves
    step["then"] = after
    steps.add(step, _words(message.text) or "wait", texts=local)


def _choices(steps: NodeSteps, message: RapidProMessage, step: Step, uuid: str, local: dict[str, Step]) -> None:
    """The quick replies of a question: any other text is an answer, too."""
    texts, node = steps.texts, steps.node
    titles = list(dict.fromkeys(message.choices))
    step |= {"accepts": "text", "match": "exact"}
    if message.header and len(titles) <= MOST_BUTTONS:
        step["header"] = texts.text(node, message.header)
    longest = BUTTON_TITLE if len(titles) <= MOST_BUTTONS else ROW_TITLE
    if any(len(each) > ROW_TITLE for each in titles):
        texts.notes[node.uuid].nearly.append(
            f"titles of more than {ROW_TITLE} characters are shortened by the platform"
        )
    elif any(len(each) > longest for each in titles) or len(titles) > MOST_BUTTONS:
        texts.notes[node.uuid].nearly.append("more than 3 buttons, or long ones, are a list here")
    if len(titles) > MOST_ROWS:
        texts.notes[node.uuid].nearly.append(f"more than {MOST_ROWS} choices are several pages")
    if any("@" in each for each in titles):
        step["options"] = {"from": f"[{', '.join(texts.value(node, each) for each in titles)}]"}
        return
    if message.abouts:
        rows = {title: {"about": about} if about else {} for title, about in zip(titles, message.abouts, strict=False)}
        step["list"] = {"button": (message.button or "Choose")[:BUTTON_TITLE], "rows": rows}
        return
    step["options"] = titles
    for language in list(local):
        replies = [
            text
            for at in range(len(titles))
            for lang, text in texts.translated(uuid, "quick_replies", at)
            if lang == language
        ]
        if len(replies) == len(titles):
            local[language]["options"] = dict(zip(titles, replies, strict=True))


def _template(steps: NodeSteps, templating: Data) -> None:
    texts, node = steps.texts, steps.node
    name = str((templating.get("template") or {}).get("name") or "template")
    body = [texts.text(node, each) for each in templating.get("variables") or ()]
    language = texts.names.languages[0]
    steps.add(
        {"template": {"name": name, "language": language, **({"body": body} if body else {})}}, f"template {name}"
    )
    texts.notes[node.uuid].nearly.append("the template must exist at the gateway under this name and language")


# values


def _set_result(steps: NodeSteps, action: Data) -> None:
    texts, node = steps.texts, steps.node
    key = result_key(str(action["name"]))
    values = {texts.scope.result(key): texts.shown(node, action.get("value"))}
    if texts.scope.reads("results", key, "category"):
        values[texts.scope.result(key, "category")] = texts.text(node, action.get("category"))
    if texts.scope.reads("results", key, "category_localized"):
        values[texts.scope.result(key, "category_localized")] = texts.text(node, action.get("category"))
    steps.add({"set": values}, f"set {key}")


def _set_local(steps: NodeSteps, action: Data) -> None:
    texts = steps.texts
    key = str(action.get("local"))
    name = texts.scope.name(("locals", key), f"local {key}")
    value = texts.value(steps.node, action.get("value"))
    if action.get("operation") == "increment":
        value = f"shown(to_number({name} | default(0)) + to_number({value}))"
    elif action.get("operation") == "clear":
        value = '""'
    steps.add({"set": {name: f"{{{{ {value} }}}}"}}, f"set {key}")


def _set_field(steps: NodeSteps, action: Data) -> None:
    key = str((action.get("field") or {}).get("key"))
    name = steps.texts.scope.field(key)
    steps.add({"set": {name: steps.texts.shown(steps.node, action.get("value"))}}, f"set {key}")
    _update_groups(steps)


def _update_groups(steps: NodeSteps) -> None:
    if steps.texts.names.group_flow:
        steps.add({"run": f"/{steps.texts.names.group_flow}"}, "update groups")


def _set_name(steps: NodeSteps, action: Data) -> None:
    scope = steps.texts.scope
    for other in steps.texts.names.scopes.values():
        other.read.add(("contact", "name"))
    name = scope.name(("contact", "name"), "own name", type="text", value="", keep=True)
    steps.add({"set": {name: steps.texts.shown(steps.node, action.get("name"))}}, "set name")
    steps.texts.notes[steps.node.uuid].nearly.append(
        "the name is kept by the bot; the gateway's own name of the contact stays"
    )


def _add_urn(steps: NodeSteps, action: Data) -> None:
    scope, texts = steps.texts.scope, steps.texts
    name = scope.other_addresses()
    path = texts.value(steps.node, action.get("path"))
    steps.add(
        {"set": {name: f"{{{{ {name} ~ ' ' ~ {quoted(str(action.get('scheme')) + ':')} ~ {path} }}}}"}}, "add address"
    )
    texts.notes[steps.node.uuid].nearly.append(
        "a contact has one number here: another address is only noted in a variable"
    )
    _update_groups(steps)


def _set_language(steps: NodeSteps, action: Data) -> None:
    names, written = steps.texts.names, str(action.get("language") or "")
    if "@" in written:
        return _lost(steps, "set_contact_language", action, "a language that is calculated: write set: {language: ...}")
    language = language_of(written) if written else names.languages[0]
    if language not in names.languages:
        names.languages.append(language)
    return steps.add({"set": {"language": language}}, "set language")


def _groups(steps: NodeSteps, action: Data) -> None:
    texts, node = steps.texts, steps.node
    adds = action["type"] == "add_contact_groups"
    if action.get("all_groups"):
        known = [str(each["name"]) for each in texts.names.export.assets.get("groups", ()) if not each.get("query")]
        named = {str(group.get("name")) for flow in texts.names.export.flows.values() for other in flow.nodes.values()
                 for each in other.actions if "groups" in each["type"]
                 for group in each.get("groups") or () if group.get("name")}  # fmt: skip
        tags = list(dict.fromkeys([*known, *sorted(named)]))
        texts.notes[node.uuid].nearly.append("the groups that the export names are removed; tags of other origin stay")
    else:
        groups = action.get("groups") or ()
        tags = [str(each["name"]) if each.get("name") else texts.text(node, each.get("name_match")) for each in groups]
    if tags:
        steps.add(
            {"tag" if adds else "untag": tags[0] if len(tags) == 1 else tags},
            "add to group" if adds else "remove from group",
        )
    else:
        steps.add({"branch": [{"else": NEXT}]}, "groups")


def _labels(steps: NodeSteps, action: Data) -> None:
    texts, node = steps.texts, steps.node
    labels = action.get("labels") or ()
    tags = [
        f"label {each['name']}" if each.get("name") else f"label {texts.text(node, each.get('name_match'))}"
        for each in labels
    ]
    steps.add({"tag": tags[0] if len(tags) == 1 else tags} if tags else {"branch": [{"else": NEXT}]}, "label")
    texts.notes[node.uuid].nearly.append("a label of the message is a tag of the contact: label NAME")


def _status(steps: NodeSteps, action: Data) -> None:
    status = action.get("status")
    if status not in ("active", "stopped", "blocked"):
        return _lost(steps, "set_contact_status", action, f"the status {status} has no counterpart")
    steps.add({"untag" if status == "active" else "tag": "opted_out"}, "set status")
    note = f"the status {status} is the tag opted_out, which keeps the bot from writing first; groups stay"
    return steps.texts.notes[steps.node.uuid].nearly.append(note)


# other flows and services


def _enter_flow(steps: NodeSteps, action: Data) -> None:
    texts, node, names = steps.texts, steps.node, steps.texts.names
    reference = action.get("flow") or {}
    flow = names.flow_name(reference)
    child = names.scopes.get(str(reference.get("uuid")))
    if child is None:
        texts.notes[node.uuid].lost.append(
            f"the export lacks the flow {reference.get('name')}: export it together with this one"
        )
    if node.uuid in texts.endless:
        texts.notes[node.uuid].lost.append(
            "the flows enter each other without a wait, where RapidPro stops after 100 steps: let one wait"
        )
        handler = names.bot.untranslatable(
            name_of(f"endless {flow}", names.bot.functions), f"enter the flow {reference.get('name')}"
        )
        return steps.add({"call": handler, "errors": {"else": "end"}}, f"run {flow}")
    if action.get("terminal"):
        theirs = {} if child is None else child.names
        shared = [
            name
            for key, name in texts.scope.names.items()
            if name in theirs.values() and key[0] not in ("input", "contact")
        ]
        given = {name: texts.shown_path(node, key[1:]) for key, name in theirs.items() if key[0] == "parent"}
        texts.scope.variables |= {name: {"type": "text", "value": ""} for name in given}
        leaves: Step = {
            **({"clear": shared} if shared else {}),
            **({"set": given} if given else {}),
            "then": f"/{flow}",
        }
        return steps.add(leaves if len(leaves) > 1 else {"branch": [{"else": f"/{flow}"}]}, f"go to {flow}")
    step: Step = {"run": f"/{flow}"}
    given = (
        {}
        if child is None
        else {name: texts.shown_path(node, key[1:]) for key, name in child.names.items() if key[0] == "parent"}
    )
    taken: dict[str, str] = {}
    done: dict[str, str] = {}
    mine = texts.scope.names.get(_INPUT)
    its = None if child is None else child.names.get(_INPUT)
    if mine is not None and its is not None:
        given[its], taken[mine] = f"{{{{ {mine} }}}}", its
    for key in sorted(each for each in texts.scope.read if each[0] == "child"):
        name = texts.scope.written(key)[0]
        match key[1:]:
            case ("status",):
                done[name] = "completed"
            case ("flow", "name"):
                done[name] = str(reference.get("name"))
            case ("results", result, *parts) if child is not None:
                part = parts[0] if parts else "value"
                child.read.add(("results", result_key(result), part))
                taken[name] = child.result(result, part)
            case ("contact", *rest):
                done[name] = f"{{{{ {texts.scope.written(('contact', *rest))[0]} }}}}"
    step |= {"with": given} if given else {}
    step |= {"save": taken} if taken else {}
    step |= {"set": done} if done else {}
    status = {name: "expired" for name in done if name == texts.scope.names.get(("child", "status"))}
    if status:
        step["expired"] = {"set": status, "then": NEXT}
    step["errors"] = {"else": "end"}
    return steps.add(step, f"run {flow}")


def _address(texts: FlowTexts, node: RapidProNode, url: str) -> str | None:
    """An address as an http step has it: its values are encoded there. None if its host is a value."""
    written = ""
    for part in parts_of(url):
        if isinstance(part, str):
            written += part
            continue
        if not re.match(r"https?://[^/?]+[/?]", written):
            return None
        tree = part.tree
        match part:
            case Inserted(Excellent("call", "url_encode" | "urlencode", (inner,))):
                tree = inner
            case _:
                texts.notes[node.uuid].nearly.append("values in the address are encoded here")
        written += f"{{{{ {texts.writer().shown(tree)} }}}}"
    return written if re.match(r"https?://[^/?]+", written) else None


def _result_sets(texts: FlowTexts, action: Data, value: str, category: str) -> dict[str, str]:
    """Return the values that a call sets: the value and the category of its result."""
    if not action.get("result_name"):
        return {}
    key = result_key(str(action["result_name"]))
    values = {texts.scope.result(key): value}
    if texts.scope.reads("results", key, "category"):
        values[texts.scope.result(key, "category")] = category
    return values


def _webhook(steps: NodeSteps, action: Data) -> None:
    texts, node = steps.texts, steps.node
    method, url = str(action.get("method") or "GET").upper(), str(action.get("url") or "")
    try:
        address = None if method == "FUNCTION" else _address(texts, node, url)
    except Untranslatable:
        address = None
    if address is None or method not in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        why = f"the function {url} is one of Glific's own" if method == "FUNCTION" else "the address is a value"
        return _call(
            steps,
            url if method == "FUNCTION" else "call webhook",
            action,
            f"{why}: write it in handlers.py",
            _body(texts, node, action),
        )
    headers = {
        name: texts.text(node, each)
        for name, each in (action.get("headers") or {}).items()
        if name.lower() != "content-type"
    }
    if (own := texts.names.service_address(address)) != address:
        texts.notes[node.uuid].nearly.append("the address is in a private network: bot.yml allows this")
    step: Step = {"http": f"{method} {own}", **({"headers": headers} if headers else {})}
    if method != "GET" and action.get("body"):
        step["json"] = _body(texts, node, action)
        if action.get("body") == OLD_BODY:
            texts.notes[node.uuid].nearly.append(
                "the body has the contact, the flow and the results, and not all that RapidPro sends"
            )
    return _http(steps, action, step, f"{method} {url}")


def _http(steps: NodeSteps, action: Data, step: Step, request: str, after_others: bool = False) -> None:
    """An http step with what it sets after success and after failure. ``after_others``: an earlier failure stays."""
    texts, scope = steps.texts, steps.texts.scope
    saved: dict[str, str] = {}
    failed = _result_sets(texts, action, "{{ (status | default(0)) ~ '' }}", "Failure")
    done = _result_sets(texts, action, "", "Success")
    if action.get("result_name"):
        key = result_key(str(action["result_name"]))
        saved[scope.result(key)] = "status ~ ''"
        done.pop(scope.result(key))
        if scope.reads("results", key, "extra"):
            saved[scope.result(key, "extra")] = '{"json": answer}'
            failed[scope.result(key, "extra")] = '{{ {"json": answer} }}'
        if scope.reads("legacy_extra"):
            more = f"with_extra({scope.extra()}, {quoted(key)}, answer)"
            saved[scope.extra()], failed[scope.extra()] = more, f"{{{{ {more} }}}}"
        if scope.reads("results", key, "input"):
            done[scope.result(key, "input")] = failed[scope.result(key, "input")] = texts.text(steps.node, request)
    if scope.reads("webhook"):
        asked = texts.value(steps.node, request)
        record = f'{{"json": answer | default(""), "status": status | default(0), "request": {asked}}}'
        saved[scope.name(("webhook",), "webhook", type="object", value={"json": "", "status": 0, "request": ""})] = (
            record
        )
        failed[scope.names[("webhook",)]] = f"{{{{ {record} }}}}"
    if after_others and action.get("result_name"):
        key = result_key(str(action["result_name"]))
        scope.read.add(("results", key, "category"))
        done.pop(category := scope.result(key, "category"), None)
        saved = {name: f'{name} if {category} == "Failure" else ({each})' for name, each in saved.items()}
    step |= {"save": saved} if saved else {}
    step |= {"set": done} if done else {}
    step["errors"] = {"else": {"set": failed, "then": NEXT} if failed else NEXT}
    steps.add(step, "call webhook")


def _body(texts: FlowTexts, node: RapidProNode, action: Data) -> Any:
    """The body of a webhook as a value: its texts have values in `{{ }}`."""
    body = str(action.get("body") or "")

    def filled(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [filled(each) for each in value]
        return texts.text(node, value) if isinstance(value, str) else value

    try:
        return filled(json.loads(body)) if body.strip() else {}
    except ValueError:
        pass
    try:
        match parts_of(body):
            case [Inserted(Excellent("call", "json", (inner,)))]:
                return f"{{{{ {texts.writer().written(inner)[0]} }}}}"
    except Untranslatable:
        pass
    texts.notes[node.uuid].nearly.append("the body is sent as one JSON text")
    return texts.text(node, body)


def _resthook(steps: NodeSteps, action: Data) -> None:
    texts, slug = steps.texts, action.get("resthook")
    hooks = texts.names.export.assets.get("resthooks", ())
    addresses = next((each.get("subscribers") or () for each in hooks if each.get("slug") == slug), ())
    if not addresses:
        return _call(
            steps,
            f"resthook {slug}",
            action,
            f"the export has no addresses of the resthook {slug}: write an http step",
            {},
        )
    for place, url in enumerate(addresses):
        body = {
            "contact": {"name": "{{ contact.name }}", "urn": "tel:+{{ contact.id }}"},
            "flow": {"name": texts.flow.name},
        }
        _http(
            steps,
            action,
            {"http": f"POST {texts.names.service_address(url)}", "json": body},
            f"POST {url}",
            after_others=place > 0,
        )
    return texts.notes[steps.node.uuid].nearly.append(
        "the body has the contact and the flow, and not all that RapidPro sends"
    )


def _ticket(steps: NodeSteps, action: Data) -> None:
    texts, node = steps.texts, steps.node
    topic = str((action.get("topic") or {}).get("name") or "support")
    if _is_silent(texts, node, node.actions.index(action)):
        note = texts.text(node, action.get("body") or action.get("note"))
        steps.add({"handoff": {"team": topic, "note": note}, "closed": NEXT, "timeout": {"after": "24h", "then": NEXT},
                   "set": _result_sets(texts, action, "opened", "Success")}, "ticket")  # fmt: skip
        texts.notes[node.uuid].nearly.append("the ticket is a handoff: the flow goes on when a person has closed it")
    else:
        note = "the flow goes on after the ticket is opened: write handoff where the conversation is handed over"
        _call(steps, "open ticket", action, note, {"topic": topic, "body": texts.text(node, action.get("body"))})


def _is_silent(texts: FlowTexts, node: RapidProNode, place: int) -> bool:
    """True if no message and no wait follows an action."""
    waiting, seen = [node.uuid], {node.uuid}
    actions: Sequence[Data] = node.actions[place + 1 :]
    while True:
        if any(each["type"] in ("send_msg", "send_interactive_msg", "enter_flow", "say_msg") for each in actions):
            return False
        current = texts.flow.nodes[waiting.pop()]
        if current.waits is not None:
            return False
        for target in current.exits.values():
            if target and target not in seen:
                seen.add(target)
                waiting.append(target)
        if not waiting:
            return True
        actions = texts.flow.nodes[waiting[-1]].actions


def _call(steps: NodeSteps, title: str, action: Data, note: str, given: Any) -> None:
    """A call of a function that is still to be written, with a result that says whether it worked."""
    texts, scope, node = steps.texts, steps.texts.scope, steps.node
    values = given if isinstance(given, Mapping) else {"body": given}
    names = {name_of(key, (), "value"): value for key, value in values.items()}
    original = json.dumps({key: value for key, value in action.items() if key != "uuid"}, indent=1, ensure_ascii=False)
    handler = name_of(
        title, [each for each, made in texts.names.bot.functions.items() if not made.doc.endswith(original)], "call"
    )
    texts.names.bot.untranslatable(handler, original, dict.fromkeys(names, "Any"))
    texts.names.handlers[json.dumps({key: value for key, value in action.items() if key != "uuid"}, sort_keys=True)] = (
        handler
    )
    step: Step = {"call": handler, **({"with": names} if names else {})}
    done = _result_sets(texts, action, "200", "Success")
    key = result_key(str(action.get("result_name") or ""))
    if key and scope.reads("results", key, "extra"):
        returned = scope.name(("returned", key), f"{key} returned", type="object")
        step["save"] = returned
        done[scope.result(key, "extra")] = f'{{{{ {{"json": {returned}}} }}}}'
    step |= {"set": done} if done else {}
    failed = _result_sets(texts, action, "0", "Failure")
    step["errors"] = {"else": {"set": failed, "then": NEXT} if failed else NEXT}
    steps.add(step, title)
    texts.notes[node.uuid].lost.append(note)


def _lost(steps: NodeSteps, title: str, action: Data, note: str) -> None:
    texts, node = steps.texts, steps.node
    given = {key: texts.text(node, value) for key, value in action.items() if isinstance(value, str) and key in _GIVEN}
    _call(steps, title, action, note, given)


_GIVEN = ("text", "body", "subject", "path", "scheme", "input", "timezone", "instructions", "address")


def _wait_for_time(steps: NodeSteps, action: Data) -> None:
    if int(action.get("delay") or 60) >= _WINDOW:
        steps.texts.notes[steps.node.uuid].nearly.append(_LATE)
    steps.add({"wait": f"{max(1, int(action.get('delay') or 60))}s"}, "wait")


_ACTIONS: dict[str, Callable[[NodeSteps, Data], None]] = {
    "set_run_result": _set_result,
    "set_run_local": _set_local,
    "set_contact_field": _set_field,
    "set_contact_name": _set_name,
    "set_contact_language": _set_language,
    "set_contact_status": _status,
    "add_contact_urn": _add_urn,
    "add_contact_groups": _groups,
    "remove_contact_groups": _groups,
    "add_input_labels": _labels,
    "enter_flow": _enter_flow,
    "call_webhook": _webhook,
    "call_resthook": _resthook,
    "open_ticket": _ticket,
    "wait_for_time": _wait_for_time,
}
