"""Writes an imported bot as a folder: settings, flows, Python, locales, tests, and the report."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.cli.importing.imported import Fate, ImportedBot, ImportedFunction, ImportedNode
from bot.cli.importing.verification import Difference, Verification
from bot.cli.shared.output import counted
from bot.language.source.writing import INDENT, block_style, inline
from bot.language.source.yaml_tree import MAX_BYTES

REPORT = "import-report.md"
_WIDTH = 100  # characters of a line with a map
Places = Mapping[tuple[str, str], str]
"""The place of each flow and step in the new files: ``flows/main.yml:12``, by flow and step."""


def write_bot(bot: ImportedBot, folder: Path) -> Places:
    """Write all but the tests and the report. Returns the places of the flows and steps."""
    (folder / "flows").mkdir(parents=True, exist_ok=True)
    settings = {"name": bot.name, **bot.settings}
    _write(folder / "bot.yml", [line for key, value in settings.items() for line in _lines(key, value)])
    places: dict[tuple[str, str], str] = {}
    for name, flow in bot.flows.items():
        lines = list(_lines("flow", name))
        places[name, ""] = f"flows/{name}.yml:1"
        for key, value in flow.items():
            if key != "steps":
                lines += _lines(key, value)
                continue
            lines.append("steps:")
            for step, written in value.items():
                places[name, step] = f"flows/{name}.yml:{len(lines) + 1}"
                lines += (f"{INDENT}{line}" if line else "" for line in _lines(step, written))
        _write(folder / "flows" / f"{name}.yml", lines)
    if bot.functions or bot.sources:
        _write(folder / "handlers.py", _python(bot))
    for language, texts in bot.locales.items():
        (folder / "locales").mkdir(exist_ok=True)
        lines = [line for key, value in texts.items() for line in _lines(key, value)]
        _write(folder / "locales" / f"{language}.yml", lines)
    return places


def write_proof(bot: ImportedBot, folder: Path, places: Places, proof: Verification) -> None:
    """Write the report, and each conversation that is the same as a test."""
    for number, tests in enumerate(_files(proof.tests), start=1):
        (folder / "tests").mkdir(exist_ok=True)
        name = "test_imported.yml" if number == 1 else f"test_imported_{number}.yml"
        (folder / "tests" / name).write_text("---\n".join(tests), "utf-8")
    _write(folder / REPORT, [*_report(bot, places, proof)])


def _files(tests: Iterable[str]) -> Iterator[list[str]]:
    """The tests, as many in each file as a file may have bytes."""
    found: list[str] = []
    size = 0
    for test in tests:
        more = len(test.encode()) + len("---\n")
        if found and size + more > MAX_BYTES:
            yield found
            found, size = [], 0
        found.append(test)
        size += more
    if found:
        yield found


def node_counts(nodes: Sequence[ImportedNode]) -> str:
    """The numbers of nodes by their fate, in words."""
    counts = Counter(node.fate for node in nodes)
    return f"{counts[Fate.SAME]} the same, {counts[Fate.NEARLY]} nearly, {counts[Fate.LOST]} lost"


def _write(file: Path, lines: Iterable[str]) -> None:
    file.write_text("\n".join(lines) + "\n", "utf-8")


def _lines(key: str, value: Any) -> Iterator[str]:
    """The lines of a key: a map stands on one line where it fits there."""
    if not isinstance(value, Mapping) or len(line := f"{inline(key)}: {inline(value)}") <= _WIDTH or not value:
        yield from (line,) if isinstance(value, Mapping) else block_style(key, value)
        return
    yield f"{inline(key)}:"
    yield from (f"{INDENT}{line}" if line else "" for name, item in value.items() for line in _lines(str(name), item))


def _python(bot: ImportedBot) -> Iterator[str]:
    own = {"function"} if any(source.startswith("@function") for source in bot.sources) else set()
    decorators = sorted({function.decorator for function in bot.functions.values()} | own)
    yield f'"""The Python of {_in_python(bot.name)}, imported from {bot.system}."""'
    imports = sorted({*bot.imports, "from typing import Any"}, key=lambda line: (line.startswith("from"), line))
    yield from ("", *imports, "", f"from bot import {', '.join(decorators)}")
    for function in bot.functions.values():
        yield from ("", "", *_function(function))
    for source in bot.sources:
        yield from ("", "", *source.rstrip().split("\n"))


def _function(function: ImportedFunction) -> Iterator[str]:
    parameters = ", ".join(f"{name}: {annotation}" for name, annotation in function.parameters.items())
    python_name = function.name.replace(".", "_")
    yield f'@{function.decorator}("{function.name}")'
    yield f"def {python_name}({parameters}) -> {function.returns}:"
    first, *more = (_in_python(function.doc) or "Do what the name says.").split("\n")
    yield f'    """{first}' + ("" if more else '"""')
    yield from (f"    {line}".rstrip() for line in more)
    if more:
        yield '    """'
    yield from (f"    {line}".rstrip() for line in function.body)


def _in_python(text: str) -> str:
    """A text as it can stand in a docstring."""
    return text.replace("\\", "\\\\").replace('"""', r"\"\"\"")


def _report(bot: ImportedBot, places: Places, proof: Verification) -> Iterator[str]:
    yield f"# {bot.name}: what became of each node"
    yield ""
    yield f"Imported from {bot.system}. {counted(len(bot.nodes), 'node')}: {node_counts(bot.nodes)}."
    yield f"{proof.summary}"
    for fate, title, note in (
        (Fate.LOST, "Lost", "why, and what to write instead"),
        (Fate.NEARLY, "Nearly the same", "what differs"),
        (Fate.SAME, "The same", ""),
    ):
        nodes = [node for node in bot.nodes if node.fate is fate]
        if nodes:
            heads = ["in the export", "here", *([note] if note else [])]
            rows = [[node.place, _here(node, places), *([node.note] if note else [])] for node in nodes]
            yield from ("", f"## {title}", "", *_table(heads, rows))
    if proof.differences:
        yield from ("", "## Conversations that differ", "")
        yield from (line for difference in proof.differences for line in _difference(difference))


def _here(node: ImportedNode, places: Places) -> str:
    place = places.get((node.flow, node.step)) or places.get((node.flow, ""))
    return "" if place is None else f"{place} `{node.step or node.flow}`"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", r"\|").split())


def _difference(difference: Difference) -> Iterator[str]:
    yield f"* **{_cell(difference.conversation)}**, {_cell(difference.when)}: {_cell(difference.what)}"
    if not difference.reasons:
        yield "  NOT EXPLAINED: no node above says why. Please compare both bots here before you go live."
        return
    reasons = "; ".join(f"{_cell(node.place)} ({node.fate}: {_cell(node.note)})" for node in difference.reasons)
    yield f"  Because of{' an earlier node' if difference.earlier else ''}: {reasons}"
