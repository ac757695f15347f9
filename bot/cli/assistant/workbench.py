"""The functions behind the tools of `bot mcp`: an assistant works with the bot in a folder."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from time import perf_counter

import click

from bot.checker.drawing.flow_drawing import start_conditions
from bot.checker.drawing.mermaid import mermaid
from bot.cli.assistant.held_talk import HeldTalk
from bot.cli.assistant.manual import Manual
from bot.cli.graph import drawing
from bot.cli.replay import Tally, lines_of, replay_stored
from bot.cli.shared.check_report import DOCS, TITLES, KeptCheck, Report, explained, page, report_on, text
from bot.cli.shared.operate import CommandRefused, store_of
from bot.cli.shared.output import counted
from bot.language.source.problems import did_you_mean
from bot.loading.folder import Folder, read_folder, replace_files
from bot.loading.program import FaultyBot, Program, load_program
from bot.store.store_reader import StoreReader
from bot.testing.conversations.coverage import Coverage
from bot.testing.conversations.transcript import Transcript
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import explained as why
from bot.testing.conversations.transcript_run import run

MOST_WRITTEN = 1 << 20  # bytes of a file
MOST_MISSED = 10  # steps and outcomes that no test reaches, listed
MOST_TURNS = 20  # of a trace
WRITABLE = ("flows", "tests")
"""The folders in which an assistant may write."""


class Workbench:
    """The tools for one bot. Each method is a tool: its docstring tells the assistant what it does. Raises `BotError`.

    It writes only flows and tests, and reaches no contact, gateway, service or model.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._manual = Manual(DOCS)
        self._talk = HeldTalk(path)
        self._kept = KeptCheck()

    def close(self) -> None:
        """End the conversation that is held."""
        self._talk.close()

    # The docs

    def read_page(self, page: str = "", section: str = "") -> str:
        """Read the docs. Without a page, lists the pages; begin with language/README. Long pages come by section."""
        return self._manual.page(page, section)

    def search_docs(self, words: str) -> str:
        """Search the docs. Each line is: page § section: how the passage begins."""
        return self._manual.search(words)

    def explain(self, code: str) -> str:
        """Explain a code of check, such as W501: what it means, and each place of this bot that has it."""
        if code not in TITLES:
            raise CommandRefused(f'there is no code "{code}" ({did_you_mean(code, TITLES, "check lists codes")})')
        report = self._report()
        has_it = any(entry.code == code for entry in report.entries)
        return _lines(explained(report, code)) if has_it else page(code)

    # The bot's files

    def list_flows(self) -> str:
        """List the flows: file and line, what each is for, what starts it, its steps."""
        loaded = load_with_tests(read_folder(self._path), self._kept.reading)
        library = loaded.sound if loaded.program is None else loaded.program.library
        if library is None:
            raise CommandRefused("the bot has problems: check lists them")
        return _lines(
            f"{flow.name} ({flow.mark.path}:{flow.mark.line}) {flow.about}\n"
            f"  starts: {'; '.join(start_conditions(flow.trigger)) or 'by other flows or programs'}\n"
            f"  steps: {', '.join(flow.steps)}"
            for flow in library.flows.values()
        )

    def read_file(self, path: str, from_line: int = 1) -> str:
        """Read a YAML file of the bot, with the numbers of its lines."""
        sources = {source.path: source.text for source in read_folder(self._path).sources}
        if path not in sources:
            fix = did_you_mean(path, sources, f"there are {', '.join(sources)}")
            raise CommandRefused(f'there is no file "{path}" ({fix})')
        lines = sources[path].decode("utf-8", "replace").splitlines()
        return _lines(f"{number} {line}" for number, line in enumerate(lines, start=1) if number >= from_line)

    def write_file(self, path: str, content: str) -> str:
        """Write a whole file with flows or tests: flows/NAME.yml or tests/NAME.yml. Returns the check of the bot."""
        self._write(path, content.encode())
        return self.check()

    def check(self) -> str:
        """Check all files: each problem (E) and finding (W) with place, fix and a conversation that shows it."""
        return _lines(text(self._report()))

    def graph(self, flow: str = "") -> str:
        """Draw how the flows are connected, or the steps of one flow, as Mermaid text."""
        folder = read_folder(self._path)
        return mermaid(drawing(load_program(folder).library, folder, flow or None))

    # Conversations

    def talk(self, lines: str) -> str:
        """Talk to the bot as one contact, a few lines at a time; answers are lines of a test, then the state.

        lines is YAML, the lines of a test: [{user: hello}, {tap: Coffee}, {pick: Row}, {wait: 24h}, {start: flow}].
        The clock moves only by wait. Behind a line may stand what services and models answer to it:
        {http: {GET https://...: {json: {}}}}, {model: {says: Hello}}. A test, {now: 2030-05-06T09:00, talk: [...]},
        begins a new conversation. After an edit of the bot the lines so far are played again.
        """
        return self._talk.say(lines)

    def trace(self, turns: int = 3) -> str:
        """Show why the bot answered as it did in the last turns of talk: rule, steps, conditions, effects."""
        return self._talk.trace(max(1, min(turns, MOST_TURNS)))

    def keep_test(self, path: str, name: str) -> str:
        """Add the conversation of talk to a file in tests/ as a test, with what the bot said, and run it."""
        test, file = self._talk.as_test(name), self._path / path
        there = f"{file.read_text('utf-8').rstrip()}\n---\n" if _writable(path) and file.is_file() else ""
        self._write(path, f"{there}{test}".encode())
        return self.run_tests(name)

    def run_tests(self, name: str = "") -> str:
        """Run the tests with name in their name, else all; shows how each fails, and what none reaches."""
        folder = read_folder(self._path)
        loaded = load_with_tests(folder)
        if loaded.program is None or loaded.problems:
            raise FaultyBot(loaded.problems)
        chosen = [each for each in loaded.transcripts if each.tries is None and name.casefold() in each.name.casefold()]
        if not chosen:
            raise CommandRefused("there is no such test" if name else "the bot has no tests")
        coverage = Coverage(loaded.program.library)
        failed = [line for test in chosen for line in _failure(test, loaded.program, folder, coverage)]
        count = sum(line.startswith("FAIL ") for line in failed)
        verdict = f"{counted(len(chosen), 'test')}: {f'{count} failed' if count else 'all passed'}"
        return _lines([verdict, *failed, *([] if name else _covered(coverage))])

    def replay(self, days: int = 7) -> str:
        """Show what the bot, as it is in the files now, would have said in recorded conversations; personal data is
        hidden.
        """
        folder = read_folder(self._path)
        tally, began = Tally(load_program(folder).library, show=False), perf_counter()
        with _own_environment():
            store = store_of(self._path)[1]
        with closing(StoreReader(store)) as reader:
            replay_stored(reader, tally, None, datetime.now(UTC) - timedelta(days=max(1, min(days, 7))))
        return _lines(lines_of(tally, Path(), perf_counter() - began))

    def _report(self) -> Report:
        """The report on the bot, with paths from its folder on."""
        folder = read_folder(self._path)
        return replace(report_on(folder, self._kept), folder=replace(folder, path=Path()))

    def _write(self, path: str, content: bytes) -> None:
        if not _writable(path):
            raise CommandRefused(f"{path} cannot be written here: write flows/NAME.yml or tests/NAME.yml")
        if len(content) > MOST_WRITTEN:
            raise CommandRefused(f"{path} would be larger than {MOST_WRITTEN >> 20} MB: divide it")
        file = self._path / path
        replace_files(self._path, {path: (file.read_bytes() if file.exists() else None, content)})


def _writable(path: str) -> bool:
    """True for a YAML file below one of the folders; `replace_files` refuses links out of the bot and hidden files."""
    parts = PurePosixPath(path).parts
    plain = "\\" not in path and not any(part.startswith((".", "__")) for part in parts)
    return plain and len(parts) > 1 and parts[0] in WRITABLE and parts[-1].endswith(".yml") and parts[-1] != "bot.yml"


def _failure(test: Transcript, program: Program, folder: Folder, coverage: Coverage) -> Iterator[str]:
    failure = run(test, program, folder, coverage)
    if failure is not None:
        yield f"FAIL {test.name}\n  {failure.mark.path}:{failure.mark.line}: {failure.what}"
        yield from (f"    {line}" for line in why(failure))


def _covered(coverage: Coverage) -> Iterator[str]:
    missed = coverage.missed()
    yield f"{coverage.percent} % of the steps and outcomes are reached, {coverage.taken} of {coverage.total}"
    yield from (f"  never: {each.mark.path}:{each.mark.line} {each.what}" for each in missed[:MOST_MISSED])
    if len(missed) > MOST_MISSED:
        yield f"  and {len(missed) - MOST_MISSED} more"


def _lines(found: "Iterator[str] | list[str]") -> str:
    return "\n".join(map(click.unstyle, found))


@contextmanager
def _own_environment() -> Iterator[None]:
    """In this context `.env` may be read. Its secrets reach no code of the bot's that runs later."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
