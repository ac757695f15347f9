"""The report of `bot check` for people: each line that is meant, marked, with what to do about it."""

import shutil
import sys
import unicodedata
from collections.abc import Iterator

from bot.cli.output import counted, printable, styled
from bot.cli.report import Entry, Report
from bot.lang.problems import CODES

_PIPED = 120  # columns, where no terminal says how many there are


def text(report: Report) -> Iterator[str]:
    """Each problem and finding with its line, its fix, and the talk that leads there; then how much was found."""
    for entry in report.entries:
        yield f"{_place(entry)} {entry.what}"
        yield from _excerpt(entry)
        yield from _talk(report.talk(entry))
        yield ""
    yield from _end(report)
    if report.entries:
        yield f"`bot check --explain {report.entries[0].code}` says more about the first."


def short(report: Report) -> Iterator[str]:
    """One line each, for editors and `grep`."""
    for entry in report.entries:
        yield f"{_place(entry)} {entry.what}" + (f" ({entry.fix})" if entry.fix else "")
    yield from _end(report)


def _place(entry: Entry) -> str:
    place = styled(f"{entry.path}:{entry.line}:{entry.column}:", bold=True)
    return f"{place} {styled(entry.code, fg=_colour(entry.code))}"


def _colour(code: str) -> str:
    return "red" if code in CODES else "yellow"


def _excerpt(entry: Entry) -> Iterator[str]:
    number = str(entry.line)
    margin = f"  {'':{len(number)}} "
    if entry.text.strip():
        line, before, meant = _cut(_shown(entry.text), entry.column - 1, entry.width)
        yield f"  {styled(f'{number} |', dim=True)} {line}"
        yield f"{margin}{styled('|', dim=True)} {before}{styled(meant, fg=_colour(entry.code))}"
    if entry.fix:
        yield f"{margin}{styled('fix:', fg='green')} {entry.fix}"


def _talk(sentences: tuple[str, ...]) -> Iterator[str]:
    if sentences:
        yield "  How it comes to that:"
        yield from (f"    {printable(sentence)}" for sentence in sentences)


def _shown(text: str) -> str:
    """A line without what moves the cursor, character by character."""
    return "".join(character if character.isprintable() else " " for character in text)


def _cut(line: str, start: int, width: int) -> tuple[str, str, str]:
    """As much of a line as has room around what is meant, and what stands below it: blanks, and the mark."""
    room = (shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPED) - 10
    first = 0 if len(line) <= room else max(0, min(start - room // 3, len(line) - room))
    shown = line[first : first + room]
    if first:
        shown = "…" + shown[1:]
    if first + room < len(line):
        shown = shown[:-1] + "…"
    start -= first
    return shown, " " * _columns(shown[:start]), "^" * max(1, _columns(shown[start : start + width]))


def _columns(text: str) -> int:
    """How many columns a text takes: wide characters two, marks on others none."""
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
        yield f"{report.folder.name}: no problems in {', '.join(parts[:-1])} and {parts[-1]}."
        return
    yield styled(report.summary, fg=_colour(min(codes)))
    if program is None:
        yield "What else may go wrong is looked for once the bot loads."
