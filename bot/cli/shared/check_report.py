"""The report of `bot check`: as text, as JSON, as SARIF, and the load of each flow."""

import contextlib
import hashlib
import re
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bot import __version__
from bot.checker import rules
from bot.checker.analysis.loads import flow_loads, model_loads
from bot.checker.findings import Finding
from bot.checker.rules.gateway_limits import PER_MINUTE
from bot.checker.run_rules import run_rules, run_rules_on_sound_steps, uncollected
from bot.cli.shared.output import counted, path_from_here, styled
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import head, printable
from bot.core.values import LEAST_COUNTED
from bot.language.flow.documents import UNREAD
from bot.language.flow.kept_reading import KeptReading
from bot.language.flow.library import Library
from bot.language.source.problems import CODES, Problem
from bot.language.steps.step_facts import Spends
from bot.loading.folder import Folder
from bot.testing.conversations.transcript_reader import LoadedTests, load_with_tests

if TYPE_CHECKING:
    from bot.cli.shared.counterexamples import Counterexamples, KeptSearches


TITLES = CODES | rules.TITLES
"""The title of each code, in a few words."""
_PACKAGED = Path(__file__).parent.with_name("docs")  # setup.py puts the pages there in a wheel
DOCS = _PACKAGED if _PACKAGED.exists() else Path(__file__).parents[3] / "docs"
"""The folder with the pages of the docs."""
_PAGES = DOCS / "checks"


def page(code: str) -> str:
    """The text about a code: the page of a finding's code, or the section of a problem's."""
    if code in rules.TITLES:
        return (_PAGES / f"{code}.md").read_text("utf-8")
    sections = re.split(r"^#(?=# )", (_PAGES / f"{code[:2]}.md").read_text("utf-8"), flags=re.MULTILINE)
    return next(section for section in sections if section.startswith(f"# {code}:"))


def meaning(code: str) -> str:
    """The meaning of a code: the text of its page up to the example."""
    return re.split(r"^(?:```|(?:## )?Wrong\b)", page(code), maxsplit=1, flags=re.MULTILINE)[0].strip()


_MEANT = lazy_pattern(
    r""" "(?:[^"\\]|\\.)*" | '(?:[^']|'')*'                    # what stands in quotes
      | [{\[] | .+? (?= \s* (?: [,\]}] | :(?:\s|$) | \s\# | $ ) ) # a bracket, or a text without quotes""",
    re.VERBOSE,
)


@immutable
class ReportEntry:
    """A problem or a finding. ``path`` is relative to the current folder; ``text`` is the line, if there is one."""

    path: str
    line: int
    column: int
    code: str
    what: str
    fix: str
    text: str
    found: Problem | Finding

    @property
    def width(self) -> int:
        """The number of characters of the line that the entry is about."""
        meant = _MEANT.match(self.text, self.column - 1)
        return 1 if meant is None else len(meant[0])


@immutable
class Report:
    """The problems and findings of a bot. If it does not load, the findings are those of the steps without problems."""

    folder: Folder
    loaded: LoadedTests
    findings: list[Finding]
    searches: "KeptSearches"

    @cached_property
    def entries(self) -> list[ReportEntry]:
        """Problems and findings, by file, line and column."""
        found: list[Problem | Finding] = [*self.loaded.problems, *self.findings]
        return [self._entry(each) for each in sorted(found, key=lambda each: (each.path, each.line, each.column))]

    @property
    def summary(self) -> str:
        """The numbers of problems and findings, in words."""
        found = {"problem": len(self.loaded.problems), "finding": len(self.findings)}
        return " and ".join(counted(number, what) for what, number in found.items() if number)

    def conversation(self, entry: ReportEntry) -> tuple[str, ...]:
        """The conversation that leads to a finding, in sentences; empty if none was found."""
        conversation = self.counterexamples.of(entry.found) if isinstance(entry.found, Finding) else None
        return () if conversation is None else conversation.sentences

    @cached_property
    def counterexamples(self) -> "Counterexamples":
        """The counterexamples of the findings."""
        from bot.cli.shared.counterexamples import Counterexamples  # of which a clean bot needs none

        return Counterexamples(self.loaded, self.searches)

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        sources = (*self.folder.sources, *self.folder.code)
        return {source.path: source.text.decode("utf-8-sig", "replace").splitlines() for source in sources}

    def _entry(self, found: Problem | Finding) -> ReportEntry:
        lines = self._lines.get(found.path, [])
        text = lines[found.line - 1] if found.line <= len(lines) else ""
        path = path_from_here(self.folder.path, found.path)
        return ReportEntry(path, found.line, found.column, found.code, found.what, found.fix, text, found)


class KeptCheck:
    """The results of reading and searching from earlier checks of a bot."""

    def __init__(self) -> None:
        self.reading = KeptReading()
        self.searches: KeptSearches = {}


def report_on(folder: Folder, kept: KeptCheck | None = None) -> Report:
    """Check a bot. Prints of the bot's own Python go to standard error, because they are no part of the report.

    ``kept`` is from earlier checks of the bot.
    """
    with contextlib.redirect_stdout(sys.stderr), uncollected():
        loaded = load_with_tests(folder, None if kept is None else kept.reading)
        findings = _findings(folder, loaded)
    return Report(folder, loaded, findings, {} if kept is None else kept.searches)


def _findings(folder: Folder, loaded: LoadedTests) -> list[Finding]:
    """The findings of a bot; where some steps have problems, those of the others."""
    if loaded.program is not None:
        return run_rules(loaded.program.library, folder.sources)
    if loaded.sound is None:
        return []
    broken = {problem.path for problem in loaded.problems if problem.code in UNREAD}
    return run_rules_on_sound_steps(loaded.sound, [source for source in folder.sources if source.path not in broken])


_PIPED = 120  # columns, where no terminal says how many there are
_LATER = "More may be found once the bot loads: correct what is wrong, and check again."


def text(report: Report) -> Iterator[str]:
    """Each problem and finding with its line, its fix, and the conversation that leads there; then the totals."""
    for entry in report.entries:
        yield f"{_place(entry)} {entry.what}"
        yield from _excerpt(entry)
        yield from _conversation_lines(report.conversation(entry))
        yield ""
    yield from _end(report)
    if report.entries:
        yield f"`bot explain {report.entries[0].code}` says more about the first."


def explained(report: Report, code: str) -> Iterator[str]:
    """The meaning of a code, and each place of a bot that has it: its line, what is wrong there, how a conversation
    gets there, and the fix.
    """
    entries = [entry for entry in report.entries if entry.code == code]
    yield from (meaning(code) if entries else page(code)).splitlines()
    yield ""
    for entry in entries:
        yield f"{_place(entry)} {entry.what}"
        yield from _excerpt(entry)
        conversation = report.conversation(entry)
        yield from _conversation_lines(conversation)
        if not conversation and isinstance(entry.found, Finding):
            if entry.found.route:
                yield "  The path there:"
            for edge in entry.found.route:
                yield f"    step {'/'.join(edge.source)} is left by `{edge.outcome}`"
        yield ""
    if entries:
        yield f"`bot explain {code}` has an example of it, and the same without the fault."
    else:
        yield f"{report.folder.name} has no {code}."
        if report.loaded.program is None and code in rules.TITLES:
            yield _LATER


def short(report: Report) -> Iterator[str]:
    """One line each, for editors and `grep`."""
    for entry in report.entries:
        yield f"{_place(entry)} {entry.what}" + (f" ({entry.fix})" if entry.fix else "")
    yield from _end(report)


def _place(entry: ReportEntry) -> str:
    place = styled(f"{entry.path}:{entry.line}:{entry.column}:", bold=True)
    return f"{place} {styled(entry.code, fg=_colour(entry.code))}"


def _colour(code: str) -> str:
    return "red" if code in CODES else "yellow"


def _excerpt(entry: ReportEntry) -> Iterator[str]:
    number = str(entry.line)
    margin = f"  {'':{len(number)}} "
    if entry.text.strip():
        line, before, meant = _cut(_shown(entry.text), entry.column - 1, entry.width)
        yield f"  {styled(f'{number} |', dim=True)} {line}"
        yield f"{margin}{styled('|', dim=True)} {before}{styled(meant, fg=_colour(entry.code))}"
    if entry.fix:
        yield f"{margin}{styled('fix:', fg='green')} {entry.fix}"


def _conversation_lines(sentences: tuple[str, ...]) -> Iterator[str]:
    if sentences:
        yield "  How to get there:"
        yield from (f"    {printable(sentence)}" for sentence in sentences)


def _shown(text: str) -> str:
    """A line without characters that move the cursor."""
    return "".join(character if character.isprintable() else " " for character in text)


def _cut(line: str, start: int, width: int) -> tuple[str, str, str]:
    """The part of a line that fits around the marked part, and the two parts of the line below it: spaces, and the
    mark.
    """
    room = (shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPED) - 10
    first = 0 if len(line) <= room else max(0, min(start - room // 3, len(line) - room))
    shown, end = head(line, room), first + room
    if first:
        first = len(head(line, first + 1))
        shown = "…" + head(line[first:], room - 1)
        start -= first - 1
    if end < len(line):
        shown = head(shown, len(shown) - 1) + "…"
    return shown, " " * _columns(shown[:start]), "^" * max(1, _columns(shown[start : start + width]))


def _columns(text: str) -> int:
    """The number of columns that a text takes: two for a wide character, none for a mark on another character."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _end(report: Report) -> Iterator[str]:
    program, codes = report.loaded.program, [entry.code for entry in report.entries]
    if program is not None and not codes:
        flows = program.library.flows.values()
        steps = counted(sum(len(flow.steps) for flow in flows), "step")
        evaluations = sum(transcript.tries is not None for transcript in report.loaded.transcripts)
        parts = [counted(len(flows), "flow"), steps, counted(len(report.loaded.transcripts) - evaluations, "test")]
        parts += [counted(evaluations, "evaluation")] if evaluations else []
        searched: dict[str, int] = {}
        for flow in flows:
            for step in flow.steps.values():
                searched |= step.facts.searched
        parts += [f"{counted(found, 'passage')} in {folder}" for folder, found in searched.items()]
        yield f"{report.folder.name}: no problems in {', '.join(parts[:-1])} and {parts[-1]}."
        return
    yield styled(report.summary, fg=_colour(min(codes)))
    if program is None:
        yield _LATER


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def objects(report: Report) -> list[dict[str, Any]]:
    """An object for each problem and finding.

    ``confirmed``: its effect was seen. That is so for each problem, and for a finding with a conversation.
    """
    return [_object(entry, report.conversation(entry)) for entry in report.entries]


def _object(entry: ReportEntry, conversation: tuple[str, ...]) -> dict[str, Any]:
    return {
        "path": entry.path,
        "line": entry.line,
        "column": entry.column,
        "code": entry.code,
        "what": entry.what,
        "fix": entry.fix,
        "conversation": conversation,
        "confirmed": entry.code in CODES or bool(conversation),
    }


def sarif(report: Report) -> dict[str, Any]:
    """A SARIF log with one run. Paths are relative to where the command was called: to a repository's top, there."""
    codes = sorted({entry.code for entry in report.entries})
    driver = {"name": "bot check", "semanticVersion": __version__, "rules": [_rule(code) for code in codes]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [*_results(report, codes)]}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    explained = page(code)
    return {
        "id": code,
        "shortDescription": {"text": TITLES[code]},
        "help": {"text": explained, "markdown": explained},
        "defaultConfiguration": {"level": _level(code)},
    }


def _level(code: str) -> str:
    return "error" if code in CODES else "warning"


def _results(report: Report, codes: list[str]) -> Iterator[dict[str, Any]]:
    known: Counter[str] = Counter()
    for entry in report.entries:
        mark = _fingerprint(entry)
        known[mark] += 1
        yield _result(entry, codes.index(entry.code), f"{mark}:{known[mark]}")


def _result(entry: ReportEntry, rule: int, fingerprint: str) -> dict[str, Any]:
    region = {"startLine": entry.line, "startColumn": entry.column, "endColumn": entry.column + entry.width}
    place = {"artifactLocation": {"uri": quote(entry.path, errors="surrogateescape")}, "region": region}
    return {
        "ruleId": entry.code,
        "ruleIndex": rule,
        "level": _level(entry.code),
        "message": {"text": f"{entry.what}: {entry.fix}" if entry.fix else entry.what},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"botCheck/v1": fingerprint},
    }


def _fingerprint(entry: ReportEntry) -> str:
    """The identity of a result, which stays the same when lines above it are added or removed."""
    known_by = "\0".join((entry.path, entry.code, entry.what, entry.text.strip()))
    return hashlib.sha256(known_by.encode("utf-8", "replace")).hexdigest()[:16]


PER_DAY = 10_000
CONTACTS = 1_000
"""The number of contacts in the example of a flow that is started for many at once."""


def lines(library: Library) -> Iterator[str]:
    """A line for each flow."""
    yield f"At most, by {PER_MINUTE} messages a minute and {PER_DAY:,} a day:"
    width = max((len(name) for name in library.flows), default=0)
    for load in flow_loads(library):
        rounds = f": round by {'/'.join(load.cycle)}" if load.cycle else ""
        said = f"{_most(load.turn)} in one turn, {_most(load.conversation)} in one conversation{rounds}"
        yield f"  {load.flow:{width}}  {said}; {_started(load.first)}"
    yield from _models(library)
    transcription = library.bot.transcription
    if transcription is not None:
        tries = transcription.daily * transcription.tries
        yield "At most, what the voice notes of one contact can cost a day (UTC):"
        yield f"  transcribe  {counted(transcription.daily, 'voice note')}, asked for {counted(tries, 'time')}"


def _models(library: Library) -> Iterator[str]:
    """The most that one contact can cost a day, whatever the contact and the model write."""
    found = model_loads(library)
    if not found:
        return
    yield "At most, what one contact can cost a day (UTC), whatever it writes and a model answers:"
    width = max(len("/".join(load.place)) for load in found)
    for load in found:
        spends = load.spends
        budget = "no budget" if spends.contact is None else f"{spends.contact:,} of its budget"
        under_way = f"{f'{spends.at_once} x ' if spends.at_once > 1 else ''}{load.request:,} under way"
        judging = f", {load.judging:,} of judges under way" if load.judges else ""
        calls = f", {_most(load.calls)} calls of tools ({spends.calls} each)" if spends.calls else ""
        tokens, requests = _most(load.tokens, load.judging), _most(load.requests, load.judges)
        asked = f"{requests} requests (each counts {LEAST_COUNTED} or more)"
        yield f"  {'/'.join(load.place):{width}}  {tokens} tokens ({budget}, {under_way}{judging}), {asked}{calls}"
        if spends.asks > 1:
            yield f"  {'':{width}}  one turn: {_requests_of_turn(spends)}"
    tokens, requests, calls = (
        _most(None if None in all else max(each for each in all if each is not None), max(beside))
        for all, beside in (
            ([load.tokens for load in found], [load.judging for load in found]),
            ([load.requests for load in found], [load.judges for load in found]),
            ([load.calls for load in found], [0]),
        )
    )
    yield f"  {'in all':{width}}  {tokens} tokens, {requests} requests, {calls} calls of tools: the steps share a contact's day"


def _requests_of_turn(spends: Spends) -> str:
    """The most requests of one turn, and what they are for."""
    parts = [f"{spends.searches} for what to search", f"{spends.asks} to answer"] if spends.searches else []
    parts += ["1 of them to write it again"] if spends.repeats else []
    why = f" ({', '.join(parts)})" if parts else ""
    judges = f", and {spends.judges} to judge {100 * spends.share:g}% of the answers" if spends.judges else ""
    return f"up to {spends.searches + spends.asks} requests{why}{judges}"


def _most(most: int | None, beside: int = 0) -> str:
    return "no end" if most is None else f"{most + beside:,}"


def _started(messages: int | None) -> str:
    """The cost of starting a flow for many contacts if its first turn sends so many messages to each."""
    if messages is None:
        return "its first turn has no end"
    sent = CONTACTS * messages
    time = f"{ceil(sent / PER_DAY):,} days" if sent > PER_DAY else f"{ceil(sent / PER_MINUTE)} min"
    return f"{CONTACTS:,} contacts x {counted(messages, 'message')}: {time}"
