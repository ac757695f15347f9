"""The test of a counterexample, run with all parts of the bot, as `bot test` runs it."""

from bot.checker.counterexamples.counterexample import Counterexample
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, read
from bot.loading.folder import Folder
from bot.loading.program import Program
from bot.testing.conversations.transcript import BotLine, ExpectLine, InputLine, KnownNames
from bot.testing.conversations.transcript_reader import TranscriptReader
from bot.testing.conversations.transcript_run import run


def why_not_shown(conversation: Counterexample, program: Program, folder: Folder) -> str:
    """The reason why the test does not fail by the fault alone, in its last turn; empty if it does."""
    problems = Problems()
    (node,) = read("found.yml", conversation.test, problems)
    assert isinstance(node, Map)
    known = KnownNames(
        program.library.flows,
        program.extensions.calls,
        program.library.bot.languages,
        program.library.bot.signals,
        folder.path,
    )
    transcript = TranscriptReader(known).read(node, problems)
    if problems:
        return "\n".join(map(str, problems.sorted()))
    failure = run(transcript, program, folder)
    if failure is None:
        return "it passes"
    lines = list(transcript.conversation)
    number = next(number for number, line in enumerate(lines) if line.mark == failure.mark)
    acts = sum(isinstance(line, InputLine) for line in lines[number:])
    early = isinstance(lines[number], ExpectLine) and acts == 1  # it is expected before the last thing that happens
    if isinstance(lines[number], BotLine | ExpectLine) and (acts == 0 or early):
        return ""
    return f"it fails before its end, at line {failure.mark.line}: {failure.what}"
