"""Flows of version 12, in which the exits of a node are its categories, in the form of version 13."""

from collections.abc import Mapping
from typing import Any

from bot.core.lazy_patterns import lazy_pattern

_TESTS = {"is_text_eq": "has_only_text", "has_run_status": "has_only_text"}
_PROPERTIES = ("name", "language")  # of a contact
_RUN = lazy_pattern(r"(?<=[@(,\s])run\.(results|input)\b")
_CHILD, _INPUT = "@child.status", "@input.text"
_OPERANDS = {"@input": _INPUT, "@child": _CHILD}


def renewed(data: Any) -> Any:
    """A flow or an export, its nodes of version 12 as nodes of version 13. Other data is returned as it is."""
    if isinstance(data, list):
        return [*map(renewed, data)]
    if not isinstance(data, Mapping):
        return data
    parts = {key: renewed(data[key]) for key in ("flows", "definition", "nodes") if key in data}
    exits, router = data.get("exits"), data.get("router")
    if not isinstance(exits, list) or not all(isinstance(each, Mapping) and "uuid" in each for each in exits):
        return {**data, **parts}
    is_old = any("destination_node_uuid" in each for each in exits)
    is_old |= isinstance(router, Mapping) and "default_exit_uuid" in router
    return _node(data, exits) if is_old else {**data, **parts}


def _node(node: Mapping[str, Any], exits: list[Mapping[str, Any]]) -> dict[str, Any]:
    new_exits = [
        {"uuid": each["uuid"], "destination_uuid": each.get("destination_node_uuid") or each.get("destination_uuid")}
        for each in exits
    ]
    found = {key: value for key, value in node.items() if key not in ("wait", "router")}
    actions = node.get("actions")
    found["actions"] = [*map(_action, actions)] if isinstance(actions, list) else actions
    router, wait = node.get("router"), node.get("wait")
    waits = isinstance(wait, Mapping) and wait.get("type") == "msg"
    if exits and (waits or isinstance(router, Mapping)):
        found["router"] = _router(router if isinstance(router, Mapping) else {}, exits)
        if waits:
            found["router"]["wait"] = _wait(wait, router, found["router"]["default_category_uuid"])
    return {**found, "exits": new_exits}


def _router(router: Mapping[str, Any], exits: list[Mapping[str, Any]]) -> dict[str, Any]:
    operand = _today(str(router.get("operand") or _INPUT))
    cases = [
        {**each, "type": _TESTS.get(each["type"], each["type"]), "category_uuid": each["exit_uuid"]}
        for each in _cases(router)
        if each["type"] != "has_wait_timed_out"
    ]
    names = [{"uuid": each["uuid"], "name": each.get("name"), "exit_uuid": each["uuid"]} for each in exits]
    return {
        "type": router.get("type", "switch"), "operand": _OPERANDS.get(operand, operand), "cases": cases,
        "categories": names, "default_category_uuid": router.get("default_exit_uuid") or exits[-1]["uuid"],
        "result_name": router.get("result_name"),
    }  # fmt: skip


def _cases(router: Any) -> list[Mapping[str, Any]]:
    listed = router.get("cases") if isinstance(router, Mapping) else None
    cases = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    return [each for each in cases if "type" in each and "exit_uuid" in each]


def _wait(wait: Any, router: Any, default: str) -> dict[str, Any]:
    """The wait; its time-out takes the exit of a test for it, else the default one."""
    timed_out = (each["exit_uuid"] for each in _cases(router) if each["type"] == "has_wait_timed_out")
    seconds = wait.get("timeout")
    timeout = {"seconds": seconds, "category_uuid": next(timed_out, default)} if isinstance(seconds, int) else None
    return {"type": "msg", **({"timeout": timeout} if timeout else {})}


def _action(action: Any) -> Any:
    if not isinstance(action, Mapping):
        return action
    found = {key: _today(value) if isinstance(value, str) else value for key, value in action.items()}
    if found.get("type") == "start_flow":
        found["type"] = "enter_flow"
    elif found.get("type") == "set_contact_property" and found.get("property") in _PROPERTIES:
        found |= {"type": f"set_contact_{found['property']}", found["property"]: found.get("value")}
    return found


def _today(text: str) -> str:
    return _RUN.sub(r"\1", text)
