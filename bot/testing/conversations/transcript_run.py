"""Runs a test with the real bot in a simulation of its own, and explains why it failed, with two texts side by side."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from textwrap import wrap

from bot.core.clock import MovableClock
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.language.source.problems import Mark
from bot.loading.folder import Folder
from bot.loading.program import Program, load_handlers
from bot.testing.conversations.comparison import NAMED_PARTS, PARTS, ExpectationDifference, differences_of
from bot.testing.conversations.coverage import Coverage
from bot.testing.conversations.player import ConversationFailed, EvaluationModels, Player
from bot.testing.conversations.spoken_lines import SpokenLine, message_text, part_text
from bot.testing.conversations.stubs import Stubs
from bot.testing.conversations.transcript import BotLine, StubDefinitions, Transcript
from bot.testing.simulation.phone import ShownMessage
from bot.testing.simulation.simulation import Simulation

Paint = Callable[[str, str], str]
"""A function that gives a text a colour."""

NARROWEST = 20  # characters of a column


@immutable
class ComparedRow:
    """A row: the left text, and the right one."""

    left: str
    right: str
    differs: bool


def beside(rows: Sequence[ComparedRow], heads: tuple[str, str], paint: Paint, width: int) -> Iterator[str]:
    """Two columns below their headings, with a mark between them where they differ."""
    half = max(NARROWEST, min((width - 5) // 2, max(len(line) for row in rows for line in _lines_of(row))))
    yield f"{heads[0]:{half}}   {heads[1]}"
    for row in rows:
        left, right = _wrapped(row.left, half), _wrapped(row.right, half)
        for number, (one, other) in enumerate(zip_longest(left, right, fillvalue="")):
            between = "≠" if row.differs and number == 0 else " " if row.differs else "|"
            one = f"{one:{half}}"
            if row.differs:
                one, other = paint(one, "green"), paint(other, "red") if other else ""
            yield f"{one} {between} {other}".rstrip()


def _lines_of(row: ComparedRow) -> list[str]:
    return [*row.left.split("\n"), *row.right.split("\n")]


def _wrapped(text: str, width: int) -> list[str]:
    return [part for line in text.split("\n") for part in wrap(line, width, replace_whitespace=False) or [""]]


@contextmanager
def isolated_simulation(
    program: Program,
    folder: Folder,
    now: datetime,
    stub_definitions: StubDefinitions,
    contact: str | None,
    models: EvaluationModels | None = None,
) -> Iterator[tuple[Simulation, Player]]:
    """Run a bot with the stubs of a test, from ``now`` on: a time on the bot's clock, unless it has a zone."""
    fresh, _ = load_handlers(folder)  # what the bot's Python remembers is no business of the next test
    stubs = Stubs(stub_definitions)
    program = stubs.play(replace(program, extensions=replace(fresh, tools=program.extensions.tools)))
    clock = MovableClock(now if now.tzinfo is not None else now.replace(tzinfo=program.library.bot.timezone))
    asks = models is not None
    with Simulation(program, clock, requester=stubs.request, contact=contact, asks_models=asks) as simulation:
        stubs.pass_time = simulation.wait_meanwhile
        simulation.service.answer_with(stubs.speak if models is None else models.speak)
        yield simulation, Player(simulation, stubs, models)


@immutable
class FailedTest:
    """The reason why a test failed, and where. ``conversation`` is what was said until then.

    ``expected`` are the messages that the test lists at that place, ``found`` those that came instead. ``complaints``
    are what else went wrong, such as a message that the gateway refused.
    """

    mark: Mark
    what: str
    differences: tuple[ExpectationDifference, ...] = ()
    conversation: tuple[SpokenLine, ...] = ()
    expected: tuple[BotLine, ...] = ()
    found: tuple[ShownMessage, ...] = ()
    complaints: tuple[str, ...] = ()


def run(
    transcript: Transcript, program: Program, folder: Folder, coverage: Coverage | None = None
) -> FailedTest | None:
    """Run one test in a simulation of its own; None when it passes.

    ``coverage`` notes which steps and outcomes it took.
    """
    with isolated_simulation(program, folder, transcript.now, transcript.stub_definitions, transcript.contact) as (
        simulation,
        player,
    ):
        failure = play(transcript, simulation, player)
        if coverage is not None:
            coverage.note(simulation.stored.turns_of_all())
        return failure


def play(transcript: Transcript, simulation: Simulation, player: Player) -> FailedTest | None:
    """Play a test in a running simulation; None when it passes."""
    mark = transcript.mark
    try:
        for number, line in enumerate(transcript.conversation, start=1):
            mark = line.mark
            player.take(line, transcript.conversation[number:])
        player.finish()
    except BotError as error:
        return failure_of(error, mark, simulation, player)
    return None


def failure_of(error: BotError, mark: Mark, simulation: Simulation, player: Player) -> FailedTest:
    """The failed test for an error."""
    conversation, complaints = tuple(player.conversation), tuple(simulation.stored.complaints())
    if not isinstance(error, ConversationFailed):
        return FailedTest(mark, str(error), conversation=conversation, complaints=complaints)
    return FailedTest(mark, str(error), error.differences, conversation, error.expected, error.found, complaints)


COLOURS = {"bot": "cyan", "wait": "yellow"}
WHO_WIDTH = 7
WIDTH = 100  # of a terminal of which nothing is known


def plain(text: str, colour: str) -> str:
    """The text without a colour."""
    return text


def explained(failure: FailedTest, paint: Paint = plain, width: int = WIDTH) -> Iterator[str]:
    """The lines of a failure: the conversation so far, both sides from where they differ, and what else went wrong."""
    for spoken in failure.conversation:
        yield from _spoken(spoken, paint)
    rows = rows_of(failure)
    if rows:
        yield ""
        yield from beside(rows, ("expected", "got"), paint, width)
    for complaint in failure.complaints:
        yield ""
        yield f"Went wrong: {complaint}"


def rows_of(failure: FailedTest) -> list[ComparedRow]:
    """Both sides from where they differ: messages part by part, or what was expected of the conversation."""
    if failure.expected or failure.found:
        pairs = zip_longest(failure.expected, failure.found)
        return [row for says, message in pairs for row in _message_rows(says, message)]
    return [
        ComparedRow(f"{each.what}: {each.expected}", f"{each.what}: {each.found}", True) for each in failure.differences
    ]


def _message_rows(says: BotLine | None, message: ShownMessage | None) -> Iterator[ComparedRow]:
    """A message that is expected and one that came, part by part; what is neither expected nor wrong is shown too."""
    wanted = {} if says is None else says.parts
    there = (
        {} if message is None else {key: NAMED_PARTS[key](message) for key in (*PARTS, *wanted) if key in NAMED_PARTS}
    )
    if "contains" in wanted:
        there["contains"] = there.pop("says", "")
    if says is None or message is None:
        differing = {*wanted, *there}
    else:
        differing = {difference.what for difference in differences_of(says, message)}
    for key in ("contains", *NAMED_PARTS):
        left, right = part_text(key, wanted.get(key)), part_text(key, there.get(key), found=True)
        if left or right:
            yield ComparedRow(left, right, key in differing)


def _spoken(spoken: SpokenLine, paint: Paint) -> Iterator[str]:
    """A line of the conversation: who, and what was said, with what there was to choose from."""
    lines = [spoken.text] if spoken.message is None else message_text(spoken.message).split("\n")
    for number, line in enumerate(lines):
        who = f"{spoken.who if number == 0 else '':{WHO_WIDTH}}"
        yield f"{paint(who, COLOURS.get(spoken.who, 'white'))}{line}".rstrip()
