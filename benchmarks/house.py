"""How the code is arranged, from imports alone: ``python -m benchmarks.house [CHECKOUT]``.

A room is a folder, and each file that stands directly in ``bot/``. An arrow leads from a room to one that a file in it
imports from, in a function or under ``TYPE_CHECKING``, too. Floors are the rooms of the longest way along arrows; rooms
in a circle share one. ``layers`` counts the same with the names in ``bot/`` as rooms.
"""

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

Graph = Mapping[str, frozenset[str]]
LARGE = 300
"""Lines of a class."""
MANY = 25
"""Public members of a class."""
_ENTRIES = frozenset(("bot", "bot.__main__"))


def main() -> None:
    """Print the figures of a checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", nargs="?", type=Path, default=Path())
    parser.add_argument("--classes", action="store_true", help="list the classes that are large")
    options = parser.parse_args()
    files = modules(options.checkout / "bot")
    imported = {name: frozenset(imports(path, files)) for name, path in files.items()}
    for what, places in (("rooms", rooms(files)), ("layers", layers(files))):
        graph = grouped(imported, places)
        arrows = sum(map(len, graph.values()))
        print(f"{what}: {len(graph)}, arrows: {arrows}, floors: {floors(graph)}, circles: {len(circles(graph))}")
    print(f"files: {len(files)}, circles of files: {len(circles(imported))}")
    large = [row for path in files.values() for row in classes(path) if row[0] > LARGE or row[1] > MANY]
    print(f"classes over {LARGE} lines or {MANY} public members: {len(large)}")
    for lines, members, name, path in sorted(large, reverse=True) if options.classes else ():
        print(f"  {name}: {lines} lines, {members} public members ({path.relative_to(options.checkout)})")


def modules(package: Path) -> dict[str, Path]:
    """The files of a package by their dotted names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        if "starters" not in path.parts:  # bots, which import nothing of ours but what is public
            *parts, last = path.relative_to(package.parent).with_suffix("").parts
            found[".".join(parts if last == "__init__" else [*parts, last])] = path
    return found


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree."""
    return tuple(ast.walk(ast.parse(path.read_text())))


def imports(path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    """The names of those of ``files`` that a file imports."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{name.name}" for name in node.names}
            yield from (
                name if name in files else node.module for name in names if name in files or node.module in files
            )
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in files)


def rooms(files: Mapping[str, Path]) -> dict[str, str]:
    """The folder of each file, by the file's dotted name; a file directly in ``bot`` is a room of its own."""
    return {
        name: str(path if name.count(".") == 1 and path.name != "__init__.py" else path.parent)
        for name, path in files.items()
    }


def layers(files: Mapping[str, Path]) -> dict[str, str]:
    """The name in ``bot`` that each file belongs to, by the file's dotted name."""
    return {name: name.split(".")[1] if "." in name else name for name in files}


def grouped(imported: Graph, places: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The arrows between the places of files. ``bot`` itself, which the Python of bots imports, has none."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for name, others in imported.items():
        if name not in _ENTRIES:
            arrows[places[name]] |= {places[other] for other in others - _ENTRIES} - {places[name]}
    return {place: frozenset(others) for place, others in arrows.items()}


def circles(graph: Graph) -> list[set[str]]:
    """The strongly connected components of more than one room."""

    @cache
    def reached(start: str) -> frozenset[str]:
        found, todo = set(), [start]
        while todo:
            for other in graph[todo.pop()]:
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return frozenset(found)

    found: list[set[str]] = []
    for name in graph:
        circle = {other for other in reached(name) if name in reached(other)}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def floors(graph: Graph) -> int:
    """How many rooms the longest way goes through; those of a circle count as one."""
    one = {name: min(circle) for circle in circles(graph) for name in circle}
    joined: dict[str, set[str]] = defaultdict(set)
    for name, others in graph.items():
        mine = one.get(name, name)
        joined[mine] |= {one.get(other, other) for other in others} - {mine}
    height: dict[str, int] = {}
    for name in TopologicalSorter(joined).static_order():
        height[name] = 1 + max((height[other] for other in joined[name]), default=0)
    return max(height.values())


def classes(path: Path) -> Iterator[tuple[int, int, str, Path]]:
    """Each class of a file: its lines, its public members, its name."""
    for node in nodes_of(path):
        if isinstance(node, ast.ClassDef):
            yield (node.end_lineno or 0) - node.lineno + 1, len(public_members(node)), node.name, path


def public_members(node: ast.ClassDef) -> set[str]:
    """The names that a class declares for others: methods, properties, fields, and attributes that `__init__` sets."""
    names: set[str] = set()
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(each.name)
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            names.add(each.target.id)
        elif isinstance(each, ast.Assign):
            names |= {target.id for target in each.targets if isinstance(target, ast.Name)}
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            for inner in ast.walk(each):
                if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                    names.add(inner.attr)
    return {name for name in names if not name.startswith("_")}


if __name__ == "__main__":
    main()
