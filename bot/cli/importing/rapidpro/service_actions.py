"""RapidPro's calls of services and people as steps: webhooks, resthooks, tickets, and calls still to be written."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.cli.importing.imported import name_of
from bot.cli.importing.rapidpro.expressions import Excellent, Inserted, Untranslatable, parts_of, quoted
from bot.cli.importing.rapidpro.flow_texts import FlowTexts
from bot.cli.importing.rapidpro.node_steps import NEXT, NodeSteps, Step
from bot.cli.importing.rapidpro.reading import OLD_BODY, Data, RapidProNode, action_key, result_key


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
                texts.nearly(node, "values in the address are encoded here")
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


def call_webhook(steps: NodeSteps, action: Data) -> None:
    """Add the request of a webhook."""
    texts, node = steps.texts, steps.node
    method, url = str(action.get("method") or "GET").upper(), str(action.get("url") or "")
    try:
        address = None if method == "FUNCTION" else _address(texts, node, url)
    except Untranslatable:
        address = None
    if address is None or method not in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        why = f"the function {url} is one of Glific's own" if method == "FUNCTION" else "the address is a value"
        title, body = url if method == "FUNCTION" else "call webhook", _body(texts, node, action)
        return _call(steps, title, action, f"{why}: write it in handlers.py", body)
    headers = {
        name: texts.text(node, each)
        for name, each in (action.get("headers") or {}).items()
        if name.lower() != "content-type"
    }
    if (own := texts.names.service_address(address)) != address:
        texts.nearly(node, "the address is in a private network: bot.yml allows this")
    step: Step = {"http": f"{method} {own}", **({"headers": headers} if headers else {})}
    if method != "GET" and action.get("body"):
        step["json"] = _body(texts, node, action)
        if action.get("body") == OLD_BODY:
            texts.nearly(node, "the body has the contact, the flow and the results, and not all that RapidPro sends")
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
        name = scope.webhook()
        saved[name], failed[name] = record, f"{{{{ {record} }}}}"
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
    texts.nearly(node, "the body is sent as one JSON text")
    return texts.text(node, body)


def call_resthook(steps: NodeSteps, action: Data) -> None:
    """Add a request to each address of a resthook."""
    texts, slug = steps.texts, action.get("resthook")
    hooks = texts.names.export.assets.get("resthooks", ())
    addresses = next((each.get("subscribers") or () for each in hooks if each.get("slug") == slug), ())
    if not addresses:
        why = f"the export has no addresses of the resthook {slug}: write an http step"
        return _call(steps, f"resthook {slug}", action, why, {})
    for place, url in enumerate(addresses):
        contact = {"name": "{{ contact.name }}", "urn": "tel:+{{ contact.id }}"}
        body = {"contact": contact, "flow": {"name": texts.flow.name}}
        step: Step = {"http": f"POST {texts.names.service_address(url)}", "json": body}
        _http(steps, action, step, f"POST {url}", after_others=place > 0)
    return steps.texts.nearly(steps.node, "the body has the contact and the flow, and not all that RapidPro sends")


def open_ticket(steps: NodeSteps, action: Data) -> None:
    """Add a handoff, or a call where the flow goes on after the ticket is opened."""
    texts, node = steps.texts, steps.node
    topic = str((action.get("topic") or {}).get("name") or "support")
    if _is_silent(texts, node, node.actions.index(action)):
        note = texts.text(node, action.get("body") or action.get("note"))
        steps.add({"handoff": {"team": topic, "note": note}, "closed": NEXT, "timeout": {"after": "24h", "then": NEXT},
                   "set": _result_sets(texts, action, "opened", "Success")}, "ticket")  # fmt: skip
        texts.nearly(node, "the ticket is a handoff: the flow goes on when a person has closed it")
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
    texts.names.handlers[action_key(action)] = handler
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
    texts.lost(node, note)


def add_lost(steps: NodeSteps, title: str, action: Data, note: str) -> None:
    """Add a call that is still to be written for an action without a counterpart, and note why."""
    texts, node = steps.texts, steps.node
    given = {key: texts.text(node, value) for key, value in action.items() if isinstance(value, str) and key in _GIVEN}
    _call(steps, title, action, note, given)


_GIVEN = ("text", "body", "subject", "path", "scheme", "input", "timezone", "instructions", "address")
