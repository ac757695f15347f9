"""Exports of RapidPro that tests write: a flow with nodes, routers and waits, without ids by hand."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from bot.cli.importing.imported import ExportFile, ImportedBot
from bot.cli.importing.rapidpro import import_bot
from bot.cli.importing.verification import Verification, verify
from bot.cli.importing.writing import write_bot
from bot.loading.folder import read_folder
from bot.loading.program import load_program

Case = tuple[str, Sequence[str], str]
"""A case of a router: its test, the arguments, and the name of its category."""
_IDS: Iterator[int] = count(1)


def new_id() -> str:
    """A uuid that no other part of an export has."""
    return f"00000000-0000-4000-8000-{next(_IDS):012d}"


class ExportedFlow:
    """A flow of version 13. `node` adds a node and returns its id."""

    def __init__(self, name: str, **data: Any) -> None:
        self.data: dict[str, Any] = {
            "uuid": new_id(), "name": name, "language": "eng", "spec_version": "13.1.0", "nodes": [], "localization": {}, **data,
        }  # fmt: skip

    @property
    def reference(self) -> dict[str, str]:
        """The flow as an action names it."""
        return {"uuid": self.data["uuid"], "name": self.data["name"]}

    def node(
        self, *actions: Mapping[str, Any], to: str = "", uuid: str = "", router: Mapping[str, Any] | None = None
    ) -> str:
        """Add a node with actions, and a router or one exit."""
        exits = [{"uuid": new_id(), "destination_uuid": to or None}]
        node: dict[str, Any] = {"uuid": uuid or new_id(), "actions": [{"uuid": new_id(), **each} for each in actions]}
        if router is not None:
            node["router"] = {key: value for key, value in router.items() if key != "exits"}
            exits = router["exits"]
        self.data["nodes"].append({**node, "exits": exits})
        return str(node["uuid"])


def router(
    *cases: Case,
    default: str = "Other",
    to: Mapping[str, str] | None = None,
    wait: bool = True,
    timeout: int = 0,
    **data: Any,
) -> dict[str, Any]:
    """A switch over the input, with a category for each name. ``to`` says where categories lead."""
    names = list(dict.fromkeys([*(case[2] for case in cases), default, *(["No Response"] if timeout else [])]))
    exits = {name: new_id() for name in names}
    ids = {name: new_id() for name in names}
    made: dict[str, Any] = {
        "type": "switch", "operand": "@input.text", "default_category_uuid": ids[default],
        "cases": [{"uuid": new_id(), "type": kind, "arguments": [*words], "category_uuid": ids[name]} for kind, words, name in cases],
        "categories": [{"uuid": ids[name], "name": name, "exit_uuid": exits[name]} for name in names],
        "exits": [{"uuid": exits[name], "destination_uuid": (to or {}).get(name)} for name in names], **data,
    }  # fmt: skip
    if wait:
        made["wait"] = {"type": "msg"}
        if timeout:
            made["wait"]["timeout"] = {"seconds": timeout, "category_uuid": ids["No Response"]}
    return made


def says(text: str, *replies: str, **data: Any) -> dict[str, Any]:
    """The action that sends a message."""
    return {"type": "send_msg", "text": text, "quick_replies": [*replies], **data}


def imported(*flows: ExportedFlow, **assets: Any) -> ImportedBot:
    """The bot of an export."""
    data = {"version": "13", "flows": [flow.data for flow in flows], **assets}
    return import_bot([ExportFile(Path("export.json"), data)])


def proved(bot: ImportedBot, folder: Path) -> Verification:
    """Write the bot, load it, and play its conversations."""
    write_bot(bot, folder)
    return verify(bot.conversations, bot.nodes, load_program(read_folder(folder)))
