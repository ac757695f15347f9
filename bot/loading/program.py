"""Loading a bot's files as one thing to run: its flows, its own Python (`handlers.py` or ``handlers/``),
and its tests.
"""

import importlib
import importlib.util
import inspect
import itertools
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.language.expressions.sandbox import OutOfTime
from bot.language.flow.documents import Source
from bot.language.flow.kept_reading import KeptReading
from bot.language.flow.library import Library, load
from bot.language.python.decorators import BadDeclaration
from bot.language.python.gathered import Extensions, extensions_in
from bot.language.source.problems import Mark, Problem, Problems
from bot.language.source.yaml_tree import Map
from bot.language.steps.custom_steps import refuse_taken
from bot.language.steps.mcp_servers import server_calls
from bot.loading.document_text import document_text
from bot.loading.folder import Folder
from bot.loading.watchdog import WATCHDOG, guarded

NOT_IN_PYTHON = ("E107", "E204", "E501")  # verbs, functions and handlers that the Python may have


class FaultyBot(BotError):
    """A bot whose files have problems: ``problems`` are all of them, sorted. ``sound`` is the rest of it, if that can
    be checked further, and ``tests`` its test documents as they are.
    """

    def __init__(self, problems: list[Problem], sound: Library | None = None, tests: Sequence[Map] = ()) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
        self.sound = sound
        self.tests = tests


@immutable
class Program:
    """A loaded bot: its flows and the Python that they use, which are swapped together; and its tests."""

    library: Library
    extensions: Extensions
    tests: list[Map]


def load_program(folder: Folder, kept: KeptReading | None = None) -> Program:
    """Load a bot's Python and flows. Raises `FaultyBot` with every problem of every file.

    ``kept`` is what was read by earlier loads of the bot.
    """
    extensions, problems = load_handlers(folder)
    loaded = load(folder.sources, extensions, folder.documents, document_text, kept)
    # if the Python could not be loaded, each call would be reported although it is right
    doubtful = {*NOT_IN_PYTHON} if problems else set()
    sound = None if problems else loaded.sound
    problems += [found for found in loaded.problems if found.code not in doubtful]
    if problems or loaded.library is None:
        raise FaultyBot(sorted(problems), sound, loaded.tests)
    extensions = replace(extensions, tools=server_calls(loaded.library.bot.mcp))
    return Program(loaded.library, extensions, loaded.tests)


def problems_of(folder: Folder) -> list[Problem]:
    """Every problem of a bot's files; none when it can run."""
    try:
        load_program(folder)
    except FaultyBot as error:
        return error.problems
    return []


IMPORT_SECONDS = 60.0
_numbers = itertools.count(1)


def load_handlers(folder: Folder) -> tuple[Extensions, list[Problem]]:
    """Import a bot's own Python from the text that was read. Whatever its code raises becomes a problem."""
    if not folder.code:
        return Extensions(), []
    modules = _Modules(folder, f"bot_handlers_{next(_numbers)}")
    with modules.importable():
        try:
            modules.check()
            with _exits_raise():
                loaded = WATCHDOG.run(folder.code[0].path, modules.load, IMPORT_SECONDS)
            extensions = extensions_in(vars(module) for module in loaded)
            refuse_taken(extensions)
            return extensions.guarded(guarded), []
        except (Exception, SystemExit) as error:
            modules.forget()
            return Extensions(), [modules.problem(error)]


class _EndsProcess(SystemExit):
    """The code asked for the end of the process. Its text is the function's name."""


@contextmanager
def _exits_raise() -> Iterator[None]:
    """In this context, code that would end the process raises `_EndsProcess` in this thread. A process that the code
    forks ends as it asks to.
    """
    here, pid, real = threading.get_ident(), os.getpid(), {name: getattr(os, name) for name in ("_exit", "abort")}
    lasts = True

    def standing_in(name: str) -> Callable[..., None]:
        def end(*arguments: int) -> None:
            if lasts and (threading.get_ident(), os.getpid()) == (here, pid):
                raise _EndsProcess(f"os.{name}")
            real[name](*arguments)

        return end

    for name in real:
        setattr(os, name, standing_in(name))
    try:
        yield
    finally:
        lasts = False
        for name, function in real.items():
            setattr(os, name, function)


class _Modules(MetaPathFinder, ExecutionLoader):
    """The modules of one bot under a private name, from memory: no stale bytecode, and no other bot's `handlers`."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._files = {name: Source("handlers/__init__.py", b"")}  # where the folder has none
        self._files |= {_module(source.path, name): source for source in folder.code}

    def check(self) -> None:
        """Raise `BadDeclaration` when the bot has both a module and a folder of that name."""
        kinds = {source.path.split("/")[0] for source in self._folder.code}
        if len(kinds) > 1:
            raise BadDeclaration("there are both handlers.py and handlers/: keep one of them")

    def load(self) -> list[ModuleType]:
        """Import every module, packages first."""
        return [importlib.import_module(name) for name in sorted(self._files)]

    @contextmanager
    def importable(self) -> Iterator[None]:
        """While this lasts the import system finds the modules."""
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)

    def forget(self) -> None:
        """Remove the modules again: a half-imported module is of no use."""
        for name in self._files:
            sys.modules.pop(name, None)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The import system's question: is this module here?"""
        return importlib.util.spec_from_loader(fullname, self) if fullname in self._files else None

    def get_filename(self, fullname: str) -> str:
        """Where the module lies on the disk."""
        return str(self._folder.path.resolve() / self._files[fullname].path)

    def get_source(self, fullname: str) -> str:
        """The module's text as it was read."""
        return importlib.util.decode_source(self._files[fullname].text)

    @staticmethod
    def source_to_code(data: Any, path: Any = "<string>") -> CodeType:
        """The module's code. Text with a null byte is a `SyntaxError`, as it is since Python 3.11.4."""
        try:
            return ExecutionLoader.source_to_code(data, path)
        except ValueError as error:
            raise SyntaxError(str(error), (path, 1, 1, None)) from None

    def is_package(self, fullname: str) -> bool:
        """True if it is the `__init__.py` of a folder."""
        return self._files[fullname].path.endswith("/__init__.py")

    def problem(self, error: BaseException) -> Problem:
        """An exception as a problem, at the line of the bot's own code where it came from."""
        problems = Problems()
        mark = self._mark(error)
        if isinstance(error, BadDeclaration):
            problems.add("E505", mark, str(error))
        elif isinstance(error, _EndsProcess):
            problems.add("E505", mark, f"importing it ends the process ({error})", "take that out")
        elif isinstance(error, OutOfTime):
            problems.add("E505", mark, f"importing it {error}", "do nothing long where a module is imported")
        elif isinstance(error, SyntaxError):
            problems.add("E505", mark, f"this is no Python: {error.msg}", "look at this line and the one above")
        else:
            what = next(filter(str.strip, str(error).splitlines()), "it gives no reason").strip()
            missing = isinstance(error, ModuleNotFoundError)
            fix = "correct the name, or install what it belongs to" if missing else "correct this line"
            problems.add("E505", mark, f"importing it raises {type(error).__name__}: {what}", fix)
        return problems.sorted()[0]

    def _mark(self, error: BaseException) -> Mark:
        places = {self.get_filename(name): source.path for name, source in self._files.items()}
        if isinstance(error, SyntaxError) and error.filename in places:
            return Mark(places[error.filename], error.lineno or 1, error.offset or 1)
        target = error.target if isinstance(error, BadDeclaration) else None
        code = getattr(inspect.unwrap(target), "__code__", None) if callable(target) else None
        if code is not None and code.co_filename in places:
            return Mark(places[code.co_filename], code.co_firstlineno, 1)
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename in places:
                return Mark(places[frame.filename], frame.lineno or 1, 1)
        return Mark(self._folder.code[0].path, 1, 1)


def _module(path: str, name: str) -> str:
    """``handlers.py`` and ``handlers/__init__.py`` are the private name itself, ``handlers/a.py`` is below it."""
    parts = path.removesuffix(".py").split("/")[1:]
    return ".".join([name, *(part for part in parts if part != "__init__")])
