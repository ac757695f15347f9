"""Exports of Studio, written out: widgets with their transitions."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.cli.importing.export_files import import_export, read_export
from bot.cli.importing.imported import ImportedBot
from bot.cli.importing.verification import Verification, verify
from bot.cli.importing.writing import write_bot
from bot.loading.folder import read_folder
from bot.loading.program import load_program

Widget = Mapping[str, Any]
CONTACT = "{{contact.channel.address}}"


def widget(name: str, kind: str, leads: Mapping[str, str | None], **properties: Any) -> Widget:
    """A widget; ``leads`` has the widget after each event."""
    transitions = [{"event": event, **({"next": target} if target else {})} for event, target in leads.items()]
    return {"name": name, "type": kind, "transitions": transitions, "properties": properties}


def say(name: str, body: str, then: str | None = None, **properties: Any) -> Widget:
    return widget(name, "send-message", {"sent": then, "failed": then}, **{"to": CONTACT, "body": body, **properties})


def ask(name: str, body: str, then: str, silent: str | None = None, **properties: Any) -> Widget:
    leads = {"incomingMessage": then, "timeout": silent, "deliveryFailure": None}
    return widget(name, "send-and-wait-for-reply", leads, body=body, **{"timeout": "3600", **properties})


def split(name: str, tested: str, *branches: tuple[str, str, str], otherwise: str | None = None) -> Widget:
    """A split; each branch has the kind of its condition, a value and a target."""
    matches = [
        {"event": "match", "next": target, "conditions": [{"type": kind, "arguments": [tested], "value": value}]}
        for kind, value, target in branches
    ]
    no_match = {"event": "noMatch", **({"next": otherwise} if otherwise else {})}
    return {
        "name": name,
        "type": "split-based-on",
        "transitions": [no_match, *matches],
        "properties": {"input": tested},
    }


def put(name: str, then: str | None, **variables: str) -> Widget:
    pairs = [{"key": key, "value": value} for key, value in variables.items()]
    return widget(name, "set-variables", {"next": then}, variables=pairs)


def flow(*widgets: Widget, **entries: str) -> dict[str, Any]:
    """A definition; ``entries`` are events of the trigger, by default the first message leads to the first widget."""
    trigger = widget("Trigger", "trigger", entries or {"incomingMessage": str(widgets[0]["name"])})
    return {"states": [trigger, *widgets], "initial_state": "Trigger", "flags": {"allow_concurrent_calls": True}}


def imported(folder: Path, *definitions: Mapping[str, Any] | list[Any]) -> ImportedBot:
    """The bot that definitions become."""
    files = [folder / f"shop_{number}.json" for number in range(1, len(definitions) + 1)]
    for file, definition in zip(files, definitions, strict=True):
        file.write_text(json.dumps(definition))
    return import_export(read_export(files), "twilio")


def proved(folder: Path, bot: ImportedBot) -> Verification:
    """The conversations of a bot, played."""
    write_bot(bot, folder / "bot")
    return verify(bot.conversations, bot.nodes, load_program(read_folder(folder / "bot")))
