"""Loading a bot together with its tests: what `bot check` and `bot test` start from."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.flow.documents import read_documents
from bot.folder import Folder
from bot.lang.problems import Problem, Problems
from bot.program import FaultyBot, Program, load_program
from bot.settings.known import problems_in
from bot.testing.known import Known
from bot.testing.reading import read_transcript
from bot.testing.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Loaded:
    """A bot with its tests, and every problem of all its files. Without problems ``program`` is there."""

    program: Program | None
    transcripts: list[Transcript]
    problems: list[Problem]


def load_with_tests(folder: Folder) -> Loaded:
    """Load a bot's handlers, flows and tests, and look at the settings in its bot.yml."""
    settings = folder.written("settings")
    found = Problems() if settings is None else problems_in(settings)
    try:
        program = load_program(folder)
    except FaultyBot as error:
        tests = read_documents(folder.sources, Problems()).tests
        unknown = Known(folder=folder.path, complete=False)
        transcripts = [read_transcript(node, unknown, found) for node in tests]
        return Loaded(None, transcripts, sorted({*error.problems, *found.sorted()}))
    library = program.library
    known = Known(library.flows, program.extensions.calls, library.bot.languages, folder.path)
    transcripts = [read_transcript(node, known, found) for node in program.tests]
    _check_names(transcripts, found)
    return Loaded(program, transcripts, found.sorted())


def _check_names(transcripts: Iterable[Transcript], problems: Problems) -> None:
    """Recordings know evaluations by their names."""
    first: dict[tuple[str, str], Transcript] = {}
    for each in transcripts:
        known = first.setdefault((each.mark.path, each.name), each) if each.tries is not None else each
        if known is not each:
            what = f'a second evaluation "{each.name}", the first is in line {known.mark.line}'
            problems.add("E108", each.mark, what, "give it another name")
