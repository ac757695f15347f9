"""Which mutants there are of the product's code, and the sample of them that a seed draws."""

import ast
import difflib
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_dict_arguments, operator_string

PACKAGES = ("engine", "runtime", "store", "server/web", "server/process")
OPERATORS = [(of, make) for of, make in mutation_operators if make not in (operator_string, operator_dict_arguments)]
TEXTS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)  # wordings and SQL
UNMUTATED = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom)


@dataclass(frozen=True)
class Mutant:
    """One change of one expression or statement."""

    path: str  # within the tree
    line: int
    name: str  # of the outermost function or method: "Delivery.run"; "" outside of all
    module: cst.Module
    node: cst.CSTNode
    changed: cst.CSTNode

    @cached_property
    def key(self) -> str:
        """What stays the same while other parts of the file are edited."""
        code = (self.module.code_for_node(each).strip() for each in (self.node, self.changed))
        return hashlib.sha256("\n".join([self.path, self.name, *code]).encode()).hexdigest()[:16]

    @cached_property
    def source(self) -> str:
        """The whole file, changed."""
        code: str = cst.ensure_type(self.module.deep_replace(self.node, self.changed), cst.Module).code
        return code

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (source.splitlines(True) for source in (self.module.code, self.source))
        return "".join(difflib.unified_diff(before, after, self.path, self.path, n=2))


def sample(tree: Path, size: int, seed: int) -> list[Mutant]:
    """``size`` mutants, of one line one, spread over the packages by their lines.

    Of a line first one of the operators that fit is drawn: removed arguments would be most of the sample else. A larger
    sample of the same seed holds the smaller one, and an edit changes little of it.
    """

    def place(*of: str) -> bytes:
        return hashlib.sha256(":".join([str(seed), *of]).encode()).digest()

    files = {
        package: {path.relative_to(tree).as_posix(): File(path) for path in (tree / "bot" / package).rglob("*.py")}
        for package in PACKAGES
    }
    total = sum(len(file.lines) for package in files.values() for file in package.values())
    drawn = []
    for package in files.values():
        lines = [(path, number, text) for path, file in package.items() for number, text in file.lines.items()]
        quota = round(size * len(lines) / total)
        for path, number, text in sorted(lines, key=lambda line: place(line[0], line[2])):
            if not quota:
                break
            operators = package[path].mutants(path, number)
            if operators:
                operator = min(operators, key=lambda operator: place(path, text, operator))
                drawn.append(min(operators[operator], key=lambda mutant: place(mutant.key)))
                quota -= 1
    return sorted(drawn, key=lambda mutant: place(mutant.key))


class File:
    """A file's lines of code, and the mutants of each."""

    def __init__(self, path: Path) -> None:
        self._source = path.read_text()
        texts = enumerate(self._source.splitlines(), 1)
        self.lines = {number: text for number, text in texts if text.strip() and not text.strip().startswith("#")}

    @cached_property
    def _module(self) -> cst.Module:
        return cst.parse_module(self._source)

    @cached_property
    def _nodes(self) -> dict[int, list[cst.CSTNode]]:
        positions = MetadataWrapper(self._module, unsafe_skip_copy=True).resolve(PositionProvider)
        nodes = defaultdict(list)
        for node in _mutable(self._module):
            if node in positions:
                nodes[positions[node].start.line].append(node)
        return nodes

    def mutants(self, path: str, line: int) -> dict[str, list[Mutant]]:
        """All mutants that begin in a line, by operator; none of annotations, decorators, texts and what is logged."""
        found: dict[str, list[Mutant]] = defaultdict(list)
        for node in self._nodes[line]:
            for of, make in OPERATORS:
                for changed in make(node) if isinstance(node, of) else ():
                    if not _is_of_a_text(node, changed) and not _is_none_for_false(node, changed):
                        mutant = Mutant(path, line, self._name_at(line), self._module, node, changed)
                        found[make.__name__].append(mutant)
        return found

    def _name_at(self, line: int) -> str:
        for node in ast.parse(self._source).body:
            inner = node.body if isinstance(node, ast.ClassDef) else [node]
            prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for each in inner:
                if isinstance(each, ast.FunctionDef) and each.lineno <= line <= (each.end_lineno or 0):
                    return prefix + each.name
        return ""


def _mutable(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(node, UNMUTATED) or _is_logging(node):
        return
    yield node
    for child in node.children:
        yield from _mutable(child)


def _is_logging(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Assign):
        return isinstance(node.targets[0].target, cst.Name) and node.targets[0].target.value == "log"
    called = node.func if isinstance(node, cst.Call) else None
    return isinstance(called, cst.Attribute) and isinstance(called.value, cst.Name) and called.value.value == "log"


def _is_of_a_text(node: cst.CSTNode, changed: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Call) or not isinstance(changed, cst.Call):
        return False
    kept = {id(argument) for argument in changed.args}
    return any(id(argument) not in kept and isinstance(argument.value, TEXTS) for argument in node.args)


def _is_none_for_false(node: cst.CSTNode, changed: cst.CSTNode) -> bool:
    """Whether both are as good as false, so that nothing can tell them apart."""
    if not isinstance(node, cst.Assign | cst.AnnAssign) or not isinstance(changed, cst.Assign | cst.AnnAssign):
        return False
    value = node.value
    return isinstance(value, cst.Name) and value.value == "False"
