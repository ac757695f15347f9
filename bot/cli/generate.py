"""``bot generate``."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from bot.cli.shared.operate import CommandRefused, bot_argument, sound
from bot.cli.shared.output import counted, quiet_log, styled, where
from bot.core.immutable import immutable
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, read
from bot.loading.folder import Folder, find_bot, read_folder
from bot.loading.program import Program
from bot.testing.conversations.coverage import Coverage
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.generation import ConversationGenerator, GeneratedTest
from bot.testing.conversations.transcript import KnownNames, Transcript
from bot.testing.conversations.transcript_reader import LoadedTests, TranscriptReader, load_with_tests
from bot.testing.conversations.transcript_run import run

GENERATED = "tests/generated/"
"""The folder of generated tests, in the bot's folder."""

HEAD = "# Written by `bot generate`: what the bot says now. `--force` overwrites it.\n"


@click.command("generate")
@bot_argument
@click.option(
    "--walks", default=0, metavar="N", type=click.IntRange(0, 1000), help="Write also N random conversations."
)
@click.option("--seed", default=1, metavar="N", help="Another N makes other random conversations.")
@click.option("--force", is_flag=True, help="Overwrite generated tests.")
def command(folder: Path | None, walks: int, seed: int, force: bool) -> None:
    """Write tests that reach every step and outcome of a bot.

    Conversations are searched for, tried, and written to tests/generated with what the bot says now. Read them once,
    like a chat: they do not know what it should say.

    \b
      $ bot generate flows --walks 20
    """
    quiet_log()
    bot = read_folder(find_bot(folder))
    tests = _without_generated(load_with_tests(bot))
    generate(bot, sound(bot, tests), tests.transcripts, walks=walks, seed=seed, force=force)


@immutable
class GenerationResult:
    """The tests that hold by the real path, and the names of those that do not."""

    tests: list[GeneratedTest]
    left_out: list[str]
    coverage: Coverage


def _without_generated(loaded: LoadedTests) -> LoadedTests:
    """The bot with the tests that people wrote, and the problems that are not in generated tests."""
    tests = [transcript for transcript in loaded.transcripts if not transcript.mark.path.startswith(GENERATED)]
    problems = [problem for problem in loaded.problems if not problem.path.startswith(GENERATED)]
    return LoadedTests(loaded.program, tests, problems)


def generate(
    bot: Folder, program: Program, transcripts: Iterable[Transcript], *, walks: int, seed: int, force: bool
) -> None:
    """Make tests, run each, and write those that pass to the bot's folder. With force, existing ones are replaced.

    Raises `CommandRefused` if there are some already, or if a file cannot be written.
    """
    folder = bot.path / GENERATED
    try:
        files = {path: path.read_bytes().startswith(HEAD.encode()) for path in sorted(folder.glob("*.yml"))}
        if any(files.values()) and not force:
            raise CommandRefused(f"{folder} contains generated tests already: add --force to overwrite them")
        made = _made(bot, program, transcripts, walks, seed)
        written = _write(folder, files, made.tests)
    except OSError as error:
        raise CommandRefused(f"{folder} cannot be written: {error.strerror}") from error
    for path in written:
        click.echo(path)
    _report(bot.path, made)


def _made(bot: Folder, program: Program, own: Iterable[Transcript], walks: int, seed: int) -> GenerationResult:
    click.echo("Searching for conversations ...", err=True)
    generator = ConversationGenerator(program, examples_from(program.extensions, own))
    found = [*generator.covering(), *generator.walks(walks, seed)]
    made = GenerationResult([], [], Coverage(program.library))
    with click.progressbar(found, label="Trying them", file=sys.stderr) as generated:
        for each in generated:
            coverage, transcript = Coverage(program.library), transcript_of(each, program, bot)
            if transcript is not None and run(transcript, program, bot, coverage) is None:
                made.tests.append(each)
                made.coverage.take_in(coverage)
            else:
                made.left_out.append(each.name)
    return made


def transcript_of(generated: GeneratedTest, program: Program, bot: Folder) -> Transcript | None:
    """The test that was read back; None if a test cannot express it."""
    problems, library = Problems(), program.library
    known = KnownNames(library.flows, program.extensions.calls, library.bot.languages, library.bot.signals, bot.path)
    reader = TranscriptReader(known)
    nodes = read(GENERATED, generated.text, problems)
    transcripts = [reader.read(node, problems) for node in nodes if isinstance(node, Map)]
    return None if problems else transcripts[0]


def _write(folder: Path, files: Mapping[Path, bool], tests: Iterable[GeneratedTest]) -> list[Path]:
    """Write each test to its file, in place of the generated ``files``. Tests that people wrote are not changed."""
    texts: dict[Path, list[str]] = {}
    for test in tests:
        texts.setdefault(folder / test.file, []).append(test.text)
    for path in texts:
        if files.get(path) is False:
            raise CommandRefused(f"{path} is no generated test any more: move it to another folder")
    for path, generated in files.items():
        if generated:
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    for path, documents in texts.items():
        path.write_text(HEAD + "---\n".join(documents), encoding="utf-8")
    return [*texts]


def _report(folder: Path, made: GenerationResult) -> None:
    coverage = made.coverage
    tests = styled(counted(len(made.tests), "test"), fg="green")
    click.echo(f"{tests} written. They reach {coverage.percent} % of the steps and outcomes.")
    if made.left_out:
        left_out = counted(len(made.left_out), "conversation")
        click.echo(f"{left_out} left out: the real bot answered differently than expected.")
    for missed in coverage.missed():
        click.echo(f"  never reached: {where(folder, missed.mark)} {missed.what}")
