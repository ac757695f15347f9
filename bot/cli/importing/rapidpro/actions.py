"""The actions of RapidPro's nodes as steps. `_ACTIONS` is the list; here are those that set values and enter flows."""

from collections.abc import Callable

from bot.cli.importing.imported import name_of
from bot.cli.importing.rapidpro.expressions import quoted
from bot.cli.importing.rapidpro.message_actions import LATE, WINDOW, add_message
from bot.cli.importing.rapidpro.node_steps import NEXT, NodeSteps, Step
from bot.cli.importing.rapidpro.reading import Data, RapidProNode, language_of, result_key
from bot.cli.importing.rapidpro.scopes import result_names
from bot.cli.importing.rapidpro.service_actions import add_lost, call_resthook, call_webhook, open_ticket

_INPUT = ("input", "text")


def add_action(steps: NodeSteps, action: Data, asks: RapidProNode | None) -> None:
    """Add the steps of an action. ``asks``: the node that waits for the answer to this message."""
    kind = str(action["type"])
    if kind in _ACTIONS:
        _ACTIONS[kind](steps, action)
    elif kind in ("send_msg", "send_interactive_msg", "say_msg", "play_audio"):
        add_message(steps, action, asks)
    else:
        add_lost(steps, kind, action, _LOST.get(kind, f"the action {kind} has no counterpart"))


_LOST = {
    "send_email": "there are no e-mails: write the function in handlers.py",
    "send_broadcast": "messages to other contacts: write the function, or use bot broadcast send",
    "start_session": "starting a flow for other contacts: write a start step, or bot broadcast start",
    "transfer_airtime": "there are no transfers of airtime: write the function in handlers.py",
    "call_classifier": "the classifier is not imported: write a classify step",
    "set_contact_channel": "a contact has one channel here",
    "set_contact_timezone": "the contact's time zone is set by set: {timezone: ...}, with contact_timezones in bot.yml",
    "request_optin": "there are no opt-ins here: a contact that writes can be answered",
    "set_contact_profile": "a contact has no profiles here: keep them in variables",
    "call_llm": "calls of a model are not imported: write an ai step",
}


def _set_result(steps: NodeSteps, action: Data) -> None:
    texts, node = steps.texts, steps.node
    key = result_key(str(action["name"]))
    values = {texts.scope.result(key): texts.shown(node, action.get("value"))}
    for part in ("category", "category_localized"):
        if texts.scope.reads("results", key, part):
            values[texts.scope.result(key, part)] = texts.text(node, action.get("category"))
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
    steps.texts.nearly(steps.node, "the name is kept by the bot; the gateway's own name of the contact stays")


def _add_urn(steps: NodeSteps, action: Data) -> None:
    scope, texts = steps.texts.scope, steps.texts
    name = scope.other_addresses()
    path = texts.value(steps.node, action.get("path"))
    steps.add(
        {"set": {name: f"{{{{ {name} ~ ' ' ~ {quoted(str(action.get('scheme')) + ':')} ~ {path} }}}}"}}, "add address"
    )
    steps.texts.nearly(steps.node, "a contact has one number here: another address is only noted in a variable")
    _update_groups(steps)


def _set_language(steps: NodeSteps, action: Data) -> None:
    names, written = steps.texts.names, str(action.get("language") or "")
    if "@" in written:
        return add_lost(
            steps, "set_contact_language", action, "a language that is calculated: write set: {language: ...}"
        )
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
        texts.nearly(node, "the groups that the export names are removed; tags of other origin stay")
    else:
        groups = action.get("groups") or ()
        tags = [str(each.get("name") or texts.text(node, each.get("name_match"))) for each in groups]
    title = ("add to group" if adds else "remove from group") if tags else "groups"
    steps.add(_tagging("tag" if adds else "untag", tags), title)


def _tagging(verb: str, tags: list[str]) -> Step:
    return {verb: tags[0] if len(tags) == 1 else tags} if tags else {"branch": [{"else": NEXT}]}


def _labels(steps: NodeSteps, action: Data) -> None:
    texts, node = steps.texts, steps.node
    labels = action.get("labels") or ()
    tags = [f"label {each.get('name') or texts.text(node, each.get('name_match'))}" for each in labels]
    steps.add(_tagging("tag", tags), "label")
    texts.nearly(node, "a label of the message is a tag of the contact: label NAME")


def _status(steps: NodeSteps, action: Data) -> None:
    status = action.get("status")
    if status not in ("active", "stopped", "blocked"):
        return add_lost(steps, "set_contact_status", action, f"the status {status} has no counterpart")
    steps.add({"untag" if status == "active" else "tag": "opted_out"}, "set status")
    note = f"the status {status} is the tag opted_out, which keeps the bot from writing first; groups stay"
    return steps.texts.nearly(steps.node, note)


def _enter_flow(steps: NodeSteps, action: Data) -> None:
    texts, node, names = steps.texts, steps.node, steps.texts.names
    reference = action.get("flow") or {}
    flow = names.flow_name(reference)
    child = names.scopes.get(str(reference.get("uuid")))
    if child is None:
        texts.lost(node, f"the export lacks the flow {reference.get('name')}: export it together with this one")
    if node.uuid in texts.endless:
        texts.lost(
            node, "the flows enter each other without a wait, where RapidPro stops after 100 steps: let one wait"
        )
        handler = names.bot.untranslatable(
            name_of(f"endless {flow}", names.bot.functions), f"enter the flow {reference.get('name')}"
        )
        return steps.add({"call": handler, "errors": {"else": "end"}}, f"run {flow}")
    theirs = {} if child is None else child.names
    given = {name: texts.shown_path(node, key[1:]) for key, name in theirs.items() if key[0] == "parent"}
    if action.get("terminal"):
        if texts.is_run:
            texts.nearly(node, "there all flows end here; here the flow that has run this one goes on afterwards")
        shared = [
            name
            for key, name in texts.scope.names.items()
            if name in theirs.values() and key[0] not in ("input", "contact")
        ]
        texts.scope.variables |= {name: {"type": "text", "value": ""} for name in given}
        leaves: Step = {
            **({"clear": shared} if shared else {}),
            **({"set": given} if given else {}),
            "then": f"/{flow}",
        }
        return steps.add(leaves if len(leaves) > 1 else {"branch": [{"else": f"/{flow}"}]}, f"go to {flow}")
    if node.uuid in texts.piles:
        why = "the flows enter each other: at most 10 flows are open at a time, then they end"
        texts.nearly(node, f"{why}; lead back to an open one by then: /{flow}")
    step: Step = {"run": f"/{flow}"}
    taken: dict[str, str] = {}
    done: dict[str, str] = {}
    mine = texts.scope.names.get(_INPUT)
    its = theirs.get(_INPUT)
    if mine is not None and its is not None:
        given[its], taken[mine] = f"{{{{ {mine} }}}}", its
    its_results = {result_key(each) for each in result_names(child.flow)} if child is not None else set()
    for key in sorted(each for each in texts.scope.read if each[0] == "child"):
        name = texts.scope.written(key)[0]
        match key[1:]:
            case ("status",):
                done[name] = "completed"
            case ("flow", "name"):
                done[name] = str(reference.get("name"))
            case ("results", result, *_) if child is not None and result_key(result) not in its_results:
                done[name] = ""
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


def _wait_for_time(steps: NodeSteps, action: Data) -> None:
    seconds = int(action.get("delay") or 60)
    if seconds >= WINDOW:
        steps.texts.nearly(steps.node, LATE)
    steps.add({"wait": f"{max(1, seconds)}s"}, "wait")


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
    "call_webhook": call_webhook,
    "call_resthook": call_resthook,
    "open_ticket": open_ticket,
    "wait_for_time": _wait_for_time,
}
