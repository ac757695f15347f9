"""Typebot exports that tests write: groups of blocks, with edges by the titles of groups."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.cli.importing.export_files import import_export
from bot.cli.importing.imported import ExportFile, ImportedBot
from bot.cli.importing.verification import Verification, verify
from bot.cli.importing.writing import write_bot
from bot.loading.folder import read_folder
from bot.loading.program import load_program

Block = dict[str, Any]


def text(*words: str, to: str = "") -> Block:
    """A text bubble: a paragraph for each text."""
    rich = [{"type": "p", "children": [{"text": each}]} for each in words]
    return {"type": "text", "content": {"richText": rich}, "to": to}


def block(kind: str, variable: str = "", to: str = "", items: Sequence[Block] = (), **options: Any) -> Block:
    """Any other block; ``content`` is that of a bubble."""
    content = options.pop("content") if isinstance(options.get("content"), dict) else None
    made: Block = {"type": kind, "to": to, "items": [*items], "options": options}
    if variable:
        options["variableId"] = f"v {variable}"
    return made | ({"content": content} if content else {})


def buttons(
    *titles: str, variable: str = "", to: str = "", edges: Mapping[str, str] | None = None, **options: Any
) -> Block:
    """A question with buttons; ``edges`` are the groups behind some of them."""
    items = [{"content": title, "to": (edges or {}).get(title, "")} for title in titles]
    return block("choice input", variable, to, items, **options)


def custom(variable: str, code: str, **options: Any) -> Block:
    """A block that sets a variable to what code gives."""
    return block("Set variable", variable, expressionToEvaluate=code, **options)


def condition(*comparisons: tuple[str, str, str], to: str, word: str = "AND", otherwise: str = "") -> Block:
    """A condition with one branch: the comparisons are variables, operators and values."""
    written = [
        {"variableId": f"v {name}", "comparisonOperator": sign, "value": value} for name, sign, value in comparisons
    ]
    item = {"to": to, "content": {"logicalOperator": word, "comparisons": written}}
    return block("Condition", to=otherwise, items=[item])


def export(
    *groups: tuple[str, Sequence[Block]], name: str = "Shop", variables: str = "", **more: Any
) -> dict[str, Any]:
    """An export: it begins with the first group. ``variables`` are names between commas."""
    edges: list[Block] = []

    def edge(title: str, source: str) -> Block:
        if not title:
            return {}
        edges.append({"id": f"e {len(edges)}", "from": {"blockId": source}, "to": {"groupId": f"g {title}"}})
        return {"outgoingEdgeId": edges[-1]["id"]}

    written = []
    for title, blocks in groups:
        made = []
        for number, each in enumerate(blocks):
            own = f"{title} {number}"
            items = [
                {key: value for key, value in item.items() if key != "to"}
                | {"id": f"{own} {place}"} | edge(item.get("to", ""), own)
                for place, item in enumerate(each.get("items", []))
            ]  # fmt: skip
            kept = {key: value for key, value in each.items() if key not in ("to", "items")}
            made.append(kept | {"id": own} | edge(each.get("to", ""), own) | ({"items": items} if items else {}))
        written.append({"id": f"g {title}", "title": title, "blocks": made})
    start = {"id": "start", "type": "start"} | edge(groups[0][0], "start")
    ids = [{"id": f"v {each.strip()}", "name": each.strip()} for each in variables.split(",") if each.strip()]
    return {
        "version": "6", "id": f"id of {name}", "name": name, "events": [start, *more.pop("events", [])],
        "groups": written, "edges": edges, "variables": ids, "settings": {}, **more,
    }  # fmt: skip


def imported(*exports: Any) -> ImportedBot:
    """The imported bot."""
    return import_export([ExportFile(Path(f"{number}.json"), each) for number, each in enumerate(exports)], "typebot")


def proved(folder: Path, *exports: Any) -> tuple[ImportedBot, Verification]:
    """The imported bot, written and loaded, and what its conversations show."""
    bot = imported(*exports)
    write_bot(bot, folder)
    return bot, verify(bot.conversations, bot.nodes, load_program(read_folder(folder)))
