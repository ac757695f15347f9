"""Edits of a bot's texts by a person who sees them on the page: tried out while they type, then saved in the files."""

import difflib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.language.flow.documents import Source
from bot.language.flow.kept_reading import KeptReading
from bot.language.flow.library import load
from bot.language.keys.text_shapes import Path as KeyPath
from bot.language.python.gathered import Extensions
from bot.language.source.problems import CODES, Mark, Problem
from bot.language.source.rewriting import Unwritable, with_block, with_more, with_text, without_item
from bot.language.source.writing import block_style
from bot.language.source.yaml_tree import List, Node
from bot.loading.document_text import document_text
from bot.loading.folder import FileEdit, Folder, read_folder, replace_files
from bot.pages.playground.editable_texts import EditableTexts, Place, TextField, file_of, path_of, renamed
from bot.pages.playground.refused import Refused
from bot.pages.playground.shared_findings import SharedFindings

BLOCK = "block"
"""The id of the field that holds a whole step."""
EMPTY = "E105", "no text can be empty: write something, or delete its key in the file"
"""The problem of a text that has been deleted."""
DIFF = {" ": "same", "-": "old", "+": "new", "@": "gap"}
"""The kinds of lines of a difference, besides the names of files: by how `difflib` begins them."""
LoadedPython = tuple[Extensions, tuple[Source, ...]]
FieldMark = tuple[Mark, str, int]
"""The place of a field in the files, its id, and how many lines it has at most."""


@immutable
class TextEdit:
    """A text that a person has written into a field, and the one that stood there before."""

    id: str
    was: str
    text: str


class EditConflict(BotError):
    """The files were changed meanwhile; ``now`` are the texts on the disk, by the ids of fields."""

    def __init__(self, now: Mapping[str, str]) -> None:
        super().__init__("the text was changed on the disk meanwhile: nothing is saved")
        self.now = now


@immutable
class FieldProblem:
    """A problem that an edit brings, and the field that it belongs to; empty where it is in none of the form's."""

    id: str
    code: str
    words: str

    @property
    def is_error(self) -> bool:
        """True if the bot does not load with it."""
        return self.code in CODES


@immutable
class EditDraft:
    """The effect of edits: the changed files, and the problems that the bot did not have before."""

    files: Mapping[str, FileEdit] = field(default_factory=dict)
    problems: tuple[FieldProblem, ...] = ()

    @property
    def diff(self) -> list[tuple[str, str]]:
        """The lines that change, with their neighbours: each a `DIFF` kind and its text."""
        found: list[tuple[str, str]] = []
        for name, (before, after) in self.files.items():
            found.append(("file", name if before is not None else f"{name} (new)"))
            lines = islice(difflib.unified_diff(_lines(before), _lines(after), n=1, lineterm=""), 2, None)
            found += [(DIFF[line[0]], line[1:]) for line in lines]
        return found

    @property
    def loads(self) -> bool:
        """True if the bot still loads."""
        return not any(problem.is_error for problem in self.problems)


class TextEditor:
    """Edits the files of the bot in a folder. Safe to use from many threads.

    ``python`` returns what the bot's Python adds to the language, and the files from which it was loaded.
    """

    def __init__(self, path: Path, python: Callable[[], LoadedPython], findings: SharedFindings) -> None:
        self._path = path
        self._python = python
        self._findings = findings
        self._lock = threading.Lock()
        self._kept = KeptReading()
        self._saved: list[Mapping[str, FileEdit]] = []
        self._checked: tuple[Sequence[Source], list[Problem]] = (), []

    def _extensions(self) -> Extensions:
        return self._python()[0]

    def texts(self) -> EditableTexts:
        """The texts as they are on the disk."""
        return EditableTexts(read_folder(self._path), self._extensions())

    def draft(self, place: Place, edits: Iterable[TextEdit]) -> EditDraft:
        """The effect of edits of texts at a place. Raises `EditConflict`, and `BotError` for what cannot be."""
        folder = read_folder(self._path)
        texts = EditableTexts(folder, self._extensions())
        edits = [edit for edit in edits if edit.text != edit.was]
        block = next((edit for edit in edits if edit.id == BLOCK), None)
        if block is not None:
            mark, files = _block_edited(folder, texts, place, block)
            return self._checked_draft(folder, files, lambda _: [(mark, BLOCK, block.text.count("\n"))])
        fields = texts.fields()
        found = [(edit, fields.get(edit.id)) for edit in edits]
        now = {edit.id: "" if field is None else field.text for edit, field in found}
        if any(now[edit.id] != edit.was for edit in edits):
            raise EditConflict({edit.id: now[edit.id] for edit in edits if now[edit.id] != edit.was})
        changed = [
            (field, edit.text) for edit, field in found if field is not None and (field.mark or edit.text.strip())
        ]
        names = {path_of(each.id): text for each, text in changed if each.on_key}
        files = _edited(folder, changed)
        for id in (renamed(each.id, names) for each, _ in changed if each.language):
            noted = EditableTexts(_with(folder, files), self._extensions()).renoted(id)
            files |= dict([noted] if noted else ())
        draft = self._checked_draft(folder, files, lambda edited: self._marks(texts, edited, place, names))
        said = {problem.id for problem in draft.problems}
        emptied = (each for each, text in changed if not text.strip() and not each.may_be_empty)
        empty = [each.id for each in emptied if each.id not in said]
        return replace(draft, problems=(*draft.problems, *(FieldProblem(id, *EMPTY) for id in empty)))

    def save(self, place: Place, edits: Iterable[TextEdit]) -> tuple[EditDraft, int]:
        """Write edits into the files, unless the bot would not load with them. Returns a number for `take_back`."""
        with self._lock:
            draft = self.draft(place, edits)
            if draft.files and draft.loads:
                replace_files(self._path, draft.files)
                self._saved.append(draft.files)
            return draft, len(self._saved) - 1

    def take_back(self, number: int) -> None:
        """Put back what the files were before a save. Raises `bot.loading.folder.NotSaved` if they changed since."""
        with self._lock:
            if not 0 <= number < len(self._saved):
                raise Refused("this was saved by another run of `bot dev`: use the history of your editor")
            replace_files(self._path, {name: (after, before) for name, (before, after) in self._saved[number].items()})

    def _checked_draft(
        self, folder: Folder, changed: Mapping[str, bytes], fields_in: Callable[[Folder], list[FieldMark]]
    ) -> EditDraft:
        """The draft of changed files; ``fields_in`` returns where the form's fields are in the edited folder."""
        old = {source.path: source.text for source in folder.sources}
        files: dict[str, FileEdit] = {
            path: (old.get(path), after) for path, after in changed.items() if old.get(path) != after
        }
        edited = _with(folder, changed)
        before = self._problems_before(folder)
        known = {problem.place for problem in before} | {_said(problem) for problem in before}
        new = [each for each in self._problems(edited) if each.place not in known and _said(each) not in known]
        marks = fields_in(edited) if new else []
        return EditDraft(files, tuple(_field_problem(problem, marks) for problem in new))

    def _problems(self, folder: Folder) -> list[Problem]:
        """The problems of the bot's files, or if they load, the findings of the checks."""
        extensions, code = self._python()
        loaded = load(folder.sources, extensions, folder.documents, document_text, self._kept)
        findings = [] if loaded.library is None else self._findings.of(loaded.library, replace(folder, code=code))
        return [*loaded.problems, *findings]

    def _problems_before(self, folder: Folder) -> list[Problem]:
        """The same for the files on the disk, which are checked once."""
        if self._checked[0] != folder.sources:
            self._checked = folder.sources, self._problems(folder)
        return self._checked[1]

    def _marks(
        self, before: EditableTexts, edited: Folder, place: Place, names: Mapping[KeyPath, str]
    ) -> list[FieldMark]:
        """The fields of a form in the edited files; ``names`` are new titles, by the keys that lead to the old ones."""
        after = EditableTexts(edited, self._extensions()).fields()
        marks = []
        for group in before.groups(place):
            for each in group.fields:
                now = after.get(renamed(each.id, names))
                if now is not None and now.mark is not None:
                    marks.append((now.mark, each.id, now.text.count("\n") + 1))
        return marks


def _with(folder: Folder, changed: Mapping[str, bytes]) -> Folder:
    """The folder with other content in some of its files."""
    texts = {source.path: source.text for source in folder.sources} | dict(changed)
    return replace(folder, sources=tuple(Source(path, text) for path, text in texts.items()))


def _said(problem: Problem) -> tuple[str, str, str]:
    return problem.path, problem.code, problem.what


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode("utf-8", "replace").splitlines()


def _field_problem(problem: Problem, marks: Iterable[FieldMark]) -> FieldProblem:
    """A problem with the field that it stands in; else the next one in its line, as behind a key that is named."""
    at, fields = (problem.line, problem.column), [each for each in marks if each[0].path == problem.path]
    inside = [
        (mark.line, mark.column, id)
        for mark, id, lines in fields
        if (mark.line, mark.column) <= at and problem.line <= mark.line + lines
    ]
    behind = [(mark.column, id) for mark, id, _ in fields if mark.line == problem.line and mark.column > problem.column]
    in_line = [each for each in inside if each[0] == problem.line]
    id = max(in_line)[-1] if in_line else min(behind)[-1] if behind else max(inside)[-1] if inside else ""
    words = f"{problem.what}: {problem.fix}" if problem.fix else problem.what
    return FieldProblem(id, problem.code, words if id else f"{problem.path}:{problem.line}: {words}")


def _block_edited(folder: Folder, texts: EditableTexts, place: Place, edit: TextEdit) -> tuple[Mark, dict[str, bytes]]:
    found = texts.block(place)
    if found is None or found[1] != edit.was:
        raise EditConflict({BLOCK: "" if found is None else found[1]})
    mark = found[0]
    content = next(source.text for source in folder.sources if source.path == mark.path)
    return mark, {mark.path: with_block(content, mark, edit.text)}


def _edited(folder: Folder, changed: Iterable[tuple[TextField, str]]) -> dict[str, bytes]:
    """The content of the files with these texts in them. Raises `Unwritable`."""
    contents = {source.path: source.text for source in folder.sources}
    texts: dict[Mark, str] = {}
    more: dict[Mark, tuple[Node, Any]] = {}
    less: dict[Mark, List] = {}
    new_files: dict[str, Any] = {}
    for each, text in changed:
        if each.mark is not None and each.among is not None and not text.strip() and each.may_be_empty:
            less[each.mark] = each.among
        elif each.mark is not None:
            texts |= dict.fromkeys((each.mark, *each.keys), text)
        elif each.into is None:
            _merge(new_files.setdefault(file_of(each.language), {}), _under(each.below, text))
        else:
            value = [text] if isinstance(each.into, List) else _under(each.below, text)
            known = more.setdefault(each.into.mark, (each.into, value))[1]
            _merge(known, value)
    for mark in sorted({*texts, *more, *less}, key=lambda at: at.position, reverse=True):  # the last first
        if mark in more:
            contents[mark.path] = with_more(contents[mark.path], *more[mark])
        if mark in less:
            contents[mark.path] = without_item(contents[mark.path], less[mark], mark)
        if mark in texts:
            contents[mark.path] = with_text(contents[mark.path], mark, texts[mark])
    for path, value in new_files.items():
        if path in contents:
            raise Unwritable(f"{path} has a problem: correct it first")
        lines = (line for key, item in value.items() for line in block_style(key, item))
        contents[path] = "".join(f"{line}\n" for line in lines).encode()
    return contents


def _under(below: KeyPath, text: str) -> Any:
    """A text under keys; an empty last key stands for a list."""
    value: Any = text
    for key in reversed(below):
        value = {key: value} if key else [value]
    return value


def _merge(known: Any, value: Any) -> None:
    """Add what a map has to another map, at all depths."""
    if known is value or not isinstance(known, dict):
        return
    for key, item in value.items():
        if isinstance(known.get(key), dict):
            _merge(known[key], item)
        else:
            known[key] = item
