"""Reads exports of RapidPro, TextIt, Glific and goflow: flows, what stands around them, and recorded runs."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.cli.importing.imported import ExportFile, UnreadableExport
from bot.cli.importing.rapidpro.version_12 import renewed
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern

Data = Mapping[str, Any]
MEDIA_TESTS = {
    "has_image": "image",
    "has_audio": "audio",
    "has_video": "video",
    "has_file": "document",
    "has_location": "location",
}
"""The tests for files and places, each with the kind of message that passes it."""


@immutable
class RapidProNode:
    """A node of a flow. ``exits`` are the nodes to which its exits lead, by the exit's id; "" ends the flow."""

    uuid: str
    actions: tuple[Data, ...]
    router: Data | None
    exits: Mapping[str, str]

    @property
    def waits(self) -> Data | None:
        """Its wait for a message; None if it does not wait."""
        return (self.router or {}).get("wait")

    @property
    def timeout(self) -> Data | None:
        """The time-out of its wait, with `seconds` and `category_uuid`."""
        return (self.waits or {}).get("timeout")

    @property
    def categories(self) -> Mapping[str, Data]:
        """The categories of its router by their ids."""
        return {each["uuid"]: each for each in (self.router or {}).get("categories", ())}

    def target(self, category: str | None = None) -> str:
        """The node to which a category leads, or the only exit; "" if the flow ends."""
        if self.router is None:
            return next(iter(self.exits.values()), "")
        found = self.categories.get(category or "") or next(iter(self.categories.values()), {})
        return self.exits.get(found.get("exit_uuid", ""), "")


@immutable
class RapidProFlow:
    """A flow of an export. ``localization`` has translations by language, then by the id of what is translated."""

    uuid: str
    name: str
    language: str
    nodes: Mapping[str, RapidProNode]
    localization: Mapping[str, Data]
    expires: int  # minutes without an answer
    version: int
    is_glific: bool
    keywords: tuple[str, ...] = ()
    astray: tuple[str, ...] = ()  # exits that lead to nodes that are not there
    elsewhere: tuple[RapidProNode, ...] = ()  # nodes for contacts of other channels than WhatsApp


@immutable
class RecordedRun:
    """A run as goflow records it: the trigger, each input, and all that came out."""

    name: str
    data: Data


@immutable
class RapidProExport:
    """All that the files of an export say. ``others`` are files that are neither flows nor runs."""

    flows: Mapping[str, RapidProFlow]
    assets: Mapping[str, Sequence[Any]]
    runs: tuple[RecordedRun, ...] = ()
    others: tuple[str, ...] = ()


def is_flow(data: Any) -> bool:
    """True for the definition of a flow, present or old."""
    if not isinstance(data, Mapping):
        return False
    if isinstance(data.get("definition"), Mapping):
        return is_flow(data["definition"])
    nodes = data.get("nodes")
    is_of_others = (
        isinstance(nodes, list) and nodes and all(isinstance(each, Mapping) and "id" in each for each in nodes)
    )
    return (isinstance(nodes, list) and not is_of_others) or isinstance(data.get("action_sets"), list)


def has_flows(data: Any) -> bool:
    """True for an export with flows."""
    if not isinstance(data, Mapping):
        return False
    flows = data.get("flows")
    return is_flow(data) or (isinstance(flows, list) and bool(flows) and all(map(is_flow, flows)))


def is_run(data: Any) -> bool:
    """True for a recorded run."""
    return (
        isinstance(data, Mapping) and isinstance(data.get("trigger"), Mapping) and isinstance(data.get("outputs"), list)
    )


_MAPS = {"router", "wait", "timeout", "flow", "headers", "localization", "session", "definition", "metadata",
         "templating", "trigger", "contact", "event", "environment"}  # fmt: skip
_LISTS_OF_MAPS = {"nodes", "actions", "exits", "categories", "cases", "outputs", "resumes", "events", "runs", "rules",
                  "action_sets", "rule_sets"}  # fmt: skip
_LISTS = {"arguments", "quick_replies", "attachments", "groups", "labels", "addresses", "variables", "subscribers"}
_FREE = {"extra", "params", "payload", "http_mocks", "_ui", "text", "body"}  # whose values are not looked at


def _check_shapes(value: Any, where: str) -> None:
    """Check that each part that is read is a map or a list. Raises `UnreadableExport` with the path."""
    for key, part in (
        value.items() if isinstance(value, Mapping) else enumerate(value if isinstance(value, list) else ())
    ):
        path = f"{where}[{key}]" if isinstance(key, int) else f"{where}.{key}"
        if key in _FREE:
            continue
        kind: Any = Mapping if key in _MAPS else list if key in _LISTS_OF_MAPS | _LISTS else object
        if key == "quick_replies" and isinstance(part, list | Mapping):
            kind = object  # some old versions have a list for each language
        if part is not None and not isinstance(part, kind):
            raise UnreadableExport(f"{path} is no {'map' if kind is Mapping else 'list'} (export the flow again)")
        if key in _LISTS_OF_MAPS and not all(isinstance(each, Mapping) for each in list(part or ())):
            raise UnreadableExport(f"{path} is no list of maps (export the flow again)")
        _check_shapes(part, path)


def read_files(files: Sequence[ExportFile]) -> RapidProExport:
    """Read all files. Raises `UnreadableExport`, which names the file and the place in it."""
    flows: dict[str, RapidProFlow] = {}
    assets: dict[str, list[Any]] = {}
    runs: list[RecordedRun] = []
    others: list[str] = []
    for file in files:
        written = renewed(file.data) if has_flows(file.data) else file.data
        if is_run(written) or has_flows(written):
            _check_shapes(written, f"{file.path}: $")
        if is_run(written):
            runs.append(RecordedRun(file.path.stem, written))
        elif has_flows(written):
            listed = [written] if is_flow(written) else written["flows"]
            for place, data in enumerate(listed):
                where = f"{file.path}: $" if is_flow(written) else f"{file.path}: $.flows[{place}]"
                flow = _flow(data, where)
                if flow.uuid in flows:
                    raise UnreadableExport(
                        f"{where} has the uuid of another flow, {flow.uuid}: import the files one by one"
                    )
                flows[flow.uuid] = flow
            for key, value in written.items():
                if isinstance(value, list) and key not in ("flows", "nodes", "action_sets", "rule_sets"):
                    assets.setdefault(key, []).extend(value)
        else:
            others.append(file.path.name)
    return RapidProExport(flows, assets, tuple(runs), tuple(others))


def _flow(data: Data, where: str) -> RapidProFlow:
    keywords = _texts(data.get("keywords"))
    if isinstance(data.get("definition"), Mapping):
        data = {"id": data.get("id"), "name": data.get("name"), **data["definition"]}
    is_old = "action_sets" in data
    if is_old:
        data = _migrated(data, where)
    nodes = {}
    for place, node in enumerate(data["nodes"]):
        read = _node(node, f"{where}.nodes[{place}]")
        nodes[read.uuid] = read
    astray = tuple(
        f"{uuid} > {to}" for uuid, node in nodes.items() for to in node.exits.values() if to and to not in nodes
    )
    nodes = {
        uuid: replace(node, exits={key: to if to in nodes else "" for key, to in node.exits.items()})
        for uuid, node in nodes.items()
    }
    split = {uuid: _on_whatsapp(node) for uuid, node in nodes.items()}
    kept = _reached(split) | (nodes.keys() - _reached(nodes))
    elsewhere = tuple(node for uuid, node in nodes.items() if uuid not in kept)
    nodes = {uuid: node for uuid, node in split.items() if uuid in kept}
    version = re.match(r"\d+", str(data.get("spec_version", "13")))
    language = str(data.get("language") or "eng")
    return RapidProFlow(
        str(data.get("uuid") or data.get("name") or where), str(data.get("name") or "Flow"), language, nodes,
        data.get("localization") or {}, int(data.get("expire_after_minutes") or 0), int(version[0]) if version else 13,
        not is_old and (language == "base" or "vars" in data or "keywords" in data or bool(keywords)),
        keywords or _texts(data.get("keywords")), astray, elsewhere,
    )  # fmt: skip


BY_CHANNEL = "@(urn_parts(contact.urn).scheme)"
"""The operand of a split by channel."""


def _on_whatsapp(node: RapidProNode) -> RapidProNode:
    """The node with only the way that a contact on WhatsApp takes."""
    router = node.router
    if router is None or router.get("operand") != BY_CHANNEL:
        return node
    ways = (case["category_uuid"] for case in router.get("cases") or () if case.get("arguments") == ["whatsapp"])
    category = node.categories.get(next(ways, str(router.get("default_category_uuid"))), {})
    exit_uuid = category.get("exit_uuid", "")
    only = {"cases": [], "categories": [category], "default_category_uuid": category.get("uuid")}
    return replace(node, router={**router, **only}, exits={exit_uuid: node.exits.get(exit_uuid, "")})


def _reached(nodes: Mapping[str, RapidProNode]) -> set[str]:
    """The nodes to which the first one leads, and itself."""
    waiting = [*nodes][:1]
    found = {*waiting}
    while waiting:
        more = {to for to in nodes[waiting.pop()].exits.values() if to} - found
        found |= more
        waiting += more
    return found


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _node(node: Any, where: str) -> RapidProNode:
    if (
        not isinstance(node, Mapping)
        or not isinstance(node.get("uuid"), str)
        or not isinstance(node.get("exits"), list)
    ):
        raise UnreadableExport(f"{where} is no node: it needs a uuid and exits (export the flow again)")
    actions, router = node.get("actions") or [], node.get("router")
    for place, action in enumerate(actions):
        if not isinstance(action, Mapping) or not isinstance(action.get("type"), str):
            raise UnreadableExport(f"{where}.actions[{place}] is no action: it needs a type (export the flow again)")
    if router is not None:
        _check_router(router, where)
    exits = {str(each["uuid"]): str(each.get("destination_uuid") or "") for each in node["exits"] if "uuid" in each}
    return RapidProNode(node["uuid"], tuple(actions), router, exits)


def _check_router(router: Any, where: str) -> None:
    known = isinstance(router, Mapping) and router.get("type") in ("switch", "random", "smart")
    if not known or not isinstance(router.get("categories"), list):
        raise UnreadableExport(
            f"{where}.router is no switch and no random router with categories (export the flow again)"
        )
    if any(not {"uuid", "exit_uuid"} <= {*each} for each in router["categories"]):
        raise UnreadableExport(f"{where}.router.categories: each needs uuid and exit_uuid (export the flow again)")
    if any("type" not in each or "category_uuid" not in each for each in router.get("cases") or ()):
        raise UnreadableExport(f"{where}.router.cases: each needs type and category_uuid (export the flow again)")


_OLD_TESTS = {
    "contains": "has_all_words", "contains_any": "has_any_word", "contains_phrase": "has_phrase",
    "contains_only_phrase": "has_only_phrase", "starts": "has_beginning", "regex": "has_pattern",
    "lt": "has_number_lt", "lte": "has_number_lte", "eq": "has_number_eq", "gte": "has_number_gte",
    "gt": "has_number_gt", "between": "has_number_between", "date_before": "has_date_lt", "date_equal": "has_date_eq",
    "date_after": "has_date_gt", "has_email": "has_email", "not_empty": "has_text",
}  # fmt: skip


def _migrated(data: Data, where: str) -> Data:
    """A flow of version 11 or before as one of version 13."""
    language = str(data.get("base_language") or "base")
    localization: dict[str, dict[str, Any]] = {}

    def said(value: Any, uuid: str, key: str, place: int = 0) -> str:
        if not isinstance(value, Mapping):
            return old_template(str(value or ""))
        for other, text in value.items():
            if other != language and isinstance(text, str):
                texts = localization.setdefault(other, {}).setdefault(uuid, {}).setdefault(key, [])
                texts += [""] * (place - len(texts)) + [old_template(text)]
        return old_template(str(value.get(language) or next(iter(value.values()), "")))

    try:
        nodes = [_old_actions(each, said) for each in data["action_sets"]]
        is_oldest = int(str(data.get("version") or 0).partition(".")[0]) < 5
        rule_sets = data.get("rule_sets") or ()
        nodes += [_old_rules(part, said) for each in rule_sets for part in (_apart(each) if is_oldest else [each])]
        about = data.get("metadata") or {}
        entry = _old_entry(data)
        nodes.sort(key=lambda node: node["uuid"] != entry)
        return {
            "uuid": str(about.get("uuid") or data.get("uuid") or data.get("id") or ""), "name": about.get("name") or data.get("name"),
            "language": language,
            "nodes": nodes, "localization": localization, "spec_version": "13",
            "expire_after_minutes": about.get("expires"),
        }  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"lacks {error}" if isinstance(error, KeyError) else "has another form than is known"
        raise UnreadableExport(
            f"{where}: this flow of an old version {why} (save it in RapidPro and export it again)"
        ) from error


def _old_entry(data: Data) -> Any:
    """The id of the first node: the named one, else the topmost on the canvas."""
    written = [*data["action_sets"], *(data.get("rule_sets") or ())]
    if any(node["uuid"] == data.get("entry") for node in written):
        return data["entry"]
    placed = [node for node in written if isinstance(node.get("y"), int | float)]
    return min(placed, key=lambda node: node["y"])["uuid"] if placed else None


def _old_actions(node: Data, said: Any) -> Data:
    exit_uuid = node.get("exit_uuid") or f"{node['uuid']}-exit"
    listed = enumerate(node.get("actions") or ())  # older ones have no uuid
    actions = [
        action
        for place, each in listed
        for action in _old_action({**each, "uuid": each.get("uuid") or f"{node['uuid']}-{place}"}, said)
    ]
    exits = [{"uuid": exit_uuid, "destination_uuid": node.get("destination")}]
    return {"uuid": node["uuid"], "actions": actions, "exits": exits}


def _old_action(action: Data, said: Any) -> Iterator[Data]:
    uuid, kind = action["uuid"], action["type"]
    match kind:
        case "reply" | "say":
            listed = enumerate(_old_replies(action.get("quick_replies") or ()))
            replies = [said(each, uuid, "quick_replies", place) for place, each in listed]
            media = [said(each, uuid, "attachments") for each in [action.get("media")] if each]
            text = said(action.get("msg"), uuid, "text")
            yield {"type": "send_msg", "uuid": uuid, "text": text, "attachments": media, "quick_replies": replies}
        case "save":
            key = str(action.get("field", ""))
            value, name = old_template(str(action.get("value", ""))), str(action.get("label") or key)
            if key in ("name", "first_name"):
                yield {"type": "set_contact_name", "uuid": uuid, "name": value}
            else:
                yield {"type": "set_contact_field", "uuid": uuid, "field": {"key": key, "name": name}, "value": value}
        case "add_group" | "del_group":
            new = "add_contact_groups" if kind == "add_group" else "remove_contact_groups"
            groups = [each if isinstance(each, Mapping) else {"name": each} for each in action.get("groups") or ()]
            yield {"type": new, "uuid": uuid, "groups": groups, "all_groups": kind == "del_group" and not groups}
        case "add_label":
            yield {"type": "add_input_labels", "uuid": uuid, "labels": action.get("labels") or []}
        case "lang":
            yield {"type": "set_contact_language", "uuid": uuid, "language": action.get("lang")}
        case "flow":
            yield {"type": "enter_flow", "uuid": uuid, "flow": _old_flow(action), "terminal": True}
        case "email":
            text = {key: old_template(str(action.get(key, ""))) for key in ("subject", "msg")}
            addresses = action.get("emails") or []
            yield {
                "type": "send_email",
                "uuid": uuid,
                "addresses": addresses,
                "subject": text["subject"],
                "body": text["msg"],
            }
        case "send":
            yield {"type": "send_broadcast", "uuid": uuid, "text": said(action.get("msg"), uuid, "text")}
        case "trigger-flow":
            yield {"type": "start_session", "uuid": uuid, "flow": _old_flow(action)}
        case _:
            yield {"type": str(kind), "uuid": uuid}


def _old_replies(written: Any) -> Sequence[Any]:
    """Quick replies, each with its translations; in some versions each language has a list."""
    if not isinstance(written, Mapping):
        return list(written)
    lists = {
        code: [each.get("title") or each.get("payload") or "" for each in listed] for code, listed in written.items()
    }
    longest = max(map(len, lists.values()), default=0)
    return [{code: titles[n] for code, titles in lists.items() if n < len(titles)} for n in range(longest)]


def _old_flow(reference: Data) -> Data:
    """The flow that an action names; the oldest ones name it by a number."""
    found: Data = reference.get("flow") or {"uuid": str(reference["id"]), "name": reference.get("name")}
    return found


def _old_kind(node: Data) -> str:
    """The kind of a rule set. Up to version 4 its operand says whether it waits."""
    waits = "@step" in (node.get("operand") or "@step")
    return node.get("ruleset_type") or ("wait_message" if waits else "webhook" if node.get("webhook") else "expression")


def _apart(node: Data) -> list[Data]:
    """A rule set; up to version 4 one that waits and asks a service then is two: they wait, and decide."""
    if not node.get("webhook") or not _old_kind(node).startswith("wait_"):
        return [node]
    asks = f"{node['uuid']}-hook"
    rule = {"uuid": f"{node['uuid']}-all", "category": "All Responses", "test": {"type": "true"}, "destination": asks}
    waits = {**node, "ruleset_type": "wait_message", "label": "", "webhook": None, "operand": None, "rules": [rule]}
    return [waits, {**node, "uuid": asks, "ruleset_type": "webhook"}]


def _old_rules(node: Data, said: Any) -> Data:
    """A rule set as a node: what it does before it decides, and its rules as cases and categories."""
    kind, name, config = _old_kind(node), node.get("label") or "", node.get("config") or {}
    config = {"webhook": node.get("webhook"), "webhook_action": node.get("webhook_action"), **config}
    actions: list[Data] = []
    operand = old_template(node.get("operand") or "@input.text")
    wait: dict[str, Any] | None = {"type": "msg"} if kind.startswith("wait_") else None
    match kind:
        case "webhook":
            headers = {each["name"]: old_template(each["value"]) for each in config.get("webhook_headers") or ()}
            method, url = config.get("webhook_action") or "GET", old_template(config["webhook"])
            body = OLD_BODY if method == "POST" else ""
            actions.append({"type": "call_webhook", "method": method, "headers": headers, "url": url,
                            "result_name": name, "body": body})  # fmt: skip
        case "resthook":
            actions.append({"type": "call_resthook", "resthook": config.get("resthook"), "result_name": name})
        case "airtime":
            actions.append({"type": "transfer_airtime", "amounts": {}, "result_name": name})
        case "subflow":
            actions.append({"type": "enter_flow", "flow": _old_flow(config)})
            operand = "@child.status"
        case "group":
            operand = "@contact.groups"
        case "form_field":
            sign = str(config.get("field_delimiter") or " ")
            place, sign = int(config.get("field_index") or 0), _DELIMITERS.get(sign, sign)
            operand = f"@(field({operand.removeprefix('@')}, {place}, {json.dumps(sign)}))"
    tests = {rule["test"]["type"] for rule in node.get("rules") or ()}
    tests_value = kind == "webhook" and not tests <= {"true", "webhook_status"}  # up to version 9
    has_result = kind in ("webhook", "resthook", "airtime") and not tests_value  # its action has one already
    operand = f"@results.{result_key(name)}.category" if has_result else operand
    cases: list[Data] = []
    categories: dict[str, str] = {}
    exits: list[Data] = []
    default = None
    for rule in node.get("rules") or ():
        test, category = rule["test"], said(rule.get("category"), rule["uuid"], "name")
        uuid = categories.setdefault(category, rule["uuid"])
        if uuid == rule["uuid"]:
            exits.append({"uuid": f"{uuid}-exit", "destination_uuid": rule.get("destination")})
        match test["type"]:
            case "true":
                default = uuid
            case "timeout" if wait is not None:
                wait["timeout"] = {"seconds": int(test.get("minutes", 5)) * 60, "category_uuid": uuid}
            case _:
                new, arguments = _old_test(rule, category, said)
                cases.append({"uuid": rule["uuid"], "type": new, "arguments": arguments, "category_uuid": uuid})
    listed = [{"uuid": uuid, "name": category, "exit_uuid": f"{uuid}-exit"} for category, uuid in categories.items()]
    default = default or (listed[-1]["uuid"] if listed else None)
    router: dict[str, Any] = {"type": "random" if kind == "random" else "switch", "operand": operand, "cases": cases,
                              "categories": listed, "default_category_uuid": default}  # fmt: skip
    router |= {"wait": wait} if wait else {}
    router |= {"result_name": name} if name and not has_result else {}
    return {"uuid": node["uuid"], "actions": actions, "router": router, "exits": exits}


def _old_test(rule: Data, category: str, said: Any) -> tuple[str, list[Any]]:
    """The test of a rule as one of today, with its arguments."""
    test = rule["test"]
    match test["type"]:
        case "webhook_status" | "airtime_status":
            return "has_only_text", [category]
        case "subflow":
            return "has_only_text", [test.get("exit_type")]
        case "in_group":
            return "has_group", [test["test"]["uuid"], test["test"]["name"]]
        case kind:
            keys = ("min", "max") if kind == "between" else ("test",)
            given = enumerate(key for key in keys if key in test)
            arguments = [said(test[key], rule["uuid"], "arguments", place) for place, key in given]
            return _OLD_TESTS.get(kind, f"has_{kind}"), arguments


_DELIMITERS = {"space": " ", "plus": "+", "period": "."}
OLD_BODY = '{"contact": "@contact.name", "flow": "@flow.name", "results": "@results"}'
"""The body of a webhook of old flows, shortened."""
_OLD_PATH = lazy_pattern(r"(?<![\w.@])(flow|contact|step|extra|channel|date)((?:\.\w+)*)\b(?!\s*\()")


_OLD_DAYS = {
    "": "(now())", "now": "(now())", "today": "(format_date(today()))",
    "tomorrow": '(format_date(datetime_add(now(), 1, "D")))',
    "yesterday": '(format_date(datetime_add(now(), -1, "D")))',
}  # fmt: skip
"""The expressions of today for `@date.today` and the like."""
_OLD_FILTERS = {"lower_case": "lower", "upper_case": "upper", "title_case": "title", "read_digits": "read_chars"}
_OLD_BARE = lazy_pattern(
    rf"(?<!@)@((?:flow|contact|step|extra|channel|date|parent|child)(?:\.\w+)*)((?:\|(?:{'|'.join(_OLD_FILTERS)}))*)"
)


def old_template(text: str) -> str:
    """Return a text of an old flow with the expressions of today: `@flow.age` is `@results.age`."""

    def path(names: str) -> str:
        return _OLD_PATH.sub(lambda found: _new_path(found[1], found[2].strip(".")), names)

    def bare(found: re.Match[str]) -> str:
        written = _bare(path, found[1])
        for name in found[2].split("|")[1:]:
            written = f"{_OLD_FILTERS[name]}({written})"
        return f"@({written})" if found[2] else f"@{written}"

    text = re.sub(r"@\(((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\)", lambda found: f"@({path(found[1])})", text)
    return _OLD_BARE.sub(bare, text)


def _bare(path: Any, names: str) -> str:
    root, _, rest = names.partition(".")
    if root in ("parent", "child") and rest:
        first = rest.split(".")[0]
        return names if first in ("contact", "run", "flow", "status", "results", "urns") else f"{root}.results.{rest}"
    return str(path(names))


def _new_path(root: str, rest: str) -> str:
    first, _, more = rest.partition(".")
    match root:
        case "flow":
            part = "input" if more == "text" else more
            return f"results.{first}{'.' if part else ''}{part}" if first else "results"
        case "contact":
            known = ("name", "first_name", "language", "groups", "uuid", "id", "urn", "tel", "tel_e164", "")
            if first in ("twitter", "telegram", "facebook", "mailto", "whatsapp"):
                return f"urns.{first}"
            return f"contact.{rest}".rstrip(".") if first in known else f"fields.{rest}"
        case "step" if first == "contact":
            return _new_path("contact", more)
        case "step":
            return {"value": "input.text", "": "input", "text": "input.text"}.get(rest, f"input.{rest}")
        case "extra":
            return f"legacy_extra.{rest}".rstrip(".")
        case "date":
            return _OLD_DAYS.get(rest, f"date.{rest}")
    return f"{root}.{rest}".rstrip(".")


def action_key(action: Data) -> str:
    """Return the JSON of an action without its id: equal actions have the same."""
    return json.dumps({key: value for key, value in action.items() if key != "uuid"}, sort_keys=True)


def result_key(name: str) -> str:
    """Return the key of a result: `Result 1` is `result_1`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


LANGUAGES = {
    "eng": "en", "spa": "es", "fra": "fr", "fre": "fr", "por": "pt", "deu": "de", "ger": "de", "ita": "it", "nld": "nl",
    "rus": "ru", "ara": "ar", "hin": "hi", "ind": "id", "tur": "tr", "swa": "sw", "kin": "rw", "jpn": "ja", "zho": "zh",
    "ben": "bn", "mar": "mr", "tam": "ta", "tel": "te", "guj": "gu", "kan": "kn", "mal": "ml", "pan": "pa", "urd": "ur",
    "vie": "vi", "tha": "th", "ukr": "uk", "pol": "pl", "ron": "ro", "hau": "ha", "ibo": "ig", "yor": "yo", "zul": "zu",
    "xho": "xh", "som": "so", "amh": "am", "nep": "ne", "sin": "si", "msa": "ms", "tgl": "tl", "fil": "tl", "mya": "my",
    "khm": "km", "lao": "lo", "fas": "fa", "per": "fa", "kor": "ko", "ell": "el", "ces": "cs", "swe": "sv", "dan": "da",
    "fin": "fi", "hun": "hu", "bul": "bg", "srp": "sr", "hrv": "hr", "base": "en",
}  # fmt: skip
"""Languages of RapidPro, in three letters, as they are called here."""


def language_of(code: str) -> str:
    """Return the code of a language in two letters."""
    short = LANGUAGES.get(code.lower(), code.lower().partition("-")[0][:2])
    return short if re.fullmatch("[a-z]{2}", short) else "en"
