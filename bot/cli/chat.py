"""``bot chat``."""

import json
import os
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bot.cli.shared.flow_reloader import BotFiles, FlowReloader, loaded_to_run, trouble_lines
from bot.cli.shared.operate import CommandRefused, bot_argument
from bot.cli.shared.output import echo_lines, message_lines, styled
from bot.cli.start import values_of
from bot.core.errors import BotError
from bot.core.filetypes import END, type_of
from bot.core.lazy_patterns import lazy_pattern
from bot.core.values import begins_json
from bot.language.answers.titles import with_number
from bot.language.source import wall_clock
from bot.settings import ModelService, read_model_service

if TYPE_CHECKING:
    from bot.core.clock import MovableClock
    from bot.language.source.problems import Problem
    from bot.loading.program import Program
    from bot.store.rows import CallRow
    from bot.testing.emulator.completion.completion_api import Speaker
    from bot.testing.simulation.phone import ShownMessage
    from bot.testing.simulation.simulation import Simulation

PROMPT = "you: "
MINUTE = timedelta(minutes=1)
_CLEAR_LINE = "\r\033[K"


@click.command("chat")
@bot_argument
@click.option("--ai", is_flag=True, help="Let the models of BOT_AI_URL answer, not a stub.")
@click.option("--by-hand", is_flag=True, help="Write yourself what the models answer.")
@click.option(
    "--record",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append the chat to FILE as a test.",
)
@click.pass_context
def command(ctx: click.Context, folder: Path | None, ai: bool, by_hand: bool, file: Path | None) -> None:
    """Talk to the bot in DIR as one contact, without account or key. Only the flows' own requests use the network.

    The bot runs as on a server, with an emulated gateway and a store that is deleted at the end. Write a text, or tap
    a button or pick a row by its number or its title. Flows are loaded again when you save a file.

    \b
      /wait 24h   let time pass        /vars      the current step and variables
      /restart    be a new contact     /trace     why the bot said that
      /file a.png send a file          /start FLOW name=value  as a program does
      /voice two large ones            /place 38.7 -9.1 Home
      /signal NAME name=value          /agree note, /refuse note  as a colleague
      /quit       end (Ctrl-D too)     /help      this list

    With --by-hand a line is what the model says. It can end with LEAVE exit, NOTE variable: value, CALL tool and its
    arguments as JSON, or FAIL failure. The clock stands still while you write it.

    \b
      $ bot chat flows

    Exit code 0: the chat has ended. 1: the bot has problems, which are listed.
    """
    if ai and by_hand:
        raise click.UsageError("--by-hand: the models answer themselves with --ai")
    if file is not None and not file.parent.is_dir():
        raise click.UsageError(f"--record: there is no folder {file.parent}")
    program, files = loaded_to_run(ctx, folder)
    models = read_model_service(os.environ, files.folder.settings()) if ai else None
    _run(program, files, models, file, by_hand)


def _run(program: "Program", files: BotFiles, models: ModelService | None, file: Path | None, by_hand: bool) -> None:
    """Run the chat, and append it to the file, if one is given."""
    from bot.core.clock import MovableClock
    from bot.testing.conversations.recorded_chat import RecordedSimulation
    from bot.testing.simulation.simulation import Simulation

    screen = Screen()
    clock = MovableClock(datetime.now(UTC), running=True)
    times = _Times(clock, program.library.bot.timezone)
    choices = _Choices(screen, times)
    kind = Simulation if file is None else RecordedSimulation
    answers = ModelByHand(screen, clock) if by_hand else None
    with kind(
        program, clock, choices.show, models, secrets=os.environ, asks_models=by_hand, by_hand=answers
    ) as simulation:
        screen.print(styled(f"{program.library.bot.name}. Write something, or /help for the commands.", dim=True))
        if program.library.asks_models and models is None and not by_hand:
            stub = "A stub answers instead of the models and repeats the question; see --ai and --by-hand."
            screen.print(styled(stub, dim=True))

        def use(program: "Program") -> None:
            simulation.swap(program)
            times.zone = program.library.bot.timezone
            screen.print(styled("The flows are loaded again.", dim=True))

        def complain(problems: Sequence["Problem"], trouble: str) -> None:
            screen.print(*trouble_lines(files, problems, trouble))

        with FlowReloader(files, use, complain) as reloads:
            _Chat(simulation, screen, choices, reloads).run()
        if file is not None and isinstance(simulation, RecordedSimulation):
            screen.print(_record(simulation.written(), file))


def _record(tests: str, file: Path) -> str:
    """Append tests to a file. Returns the line to print."""
    if not tests:
        return "The chat has no messages, so nothing was recorded."
    there = file.stat().st_size if file.exists() else 0
    with file.open("a", encoding="utf-8") as writing:
        writing.write(f"---\n{tests}" if there else tests)
    return f"The chat is in {file} as a test."


class _Command(NamedTuple):
    """A command of the chat itself, as `/wait`."""

    usage: str
    about: str
    act: Callable[["_Chat", str], None]


class _Chat:
    """The chat: takes the lines that a person types or a file has."""

    def __init__(self, simulation: "Simulation", screen: "Screen", choices: "_Choices", reloads: FlowReloader) -> None:
        self._simulation = simulation
        self._screen = screen
        self._choices = choices
        self._reloads = reloads
        self._traced: set[str] = set()
        self._asked = ""  # the question to the team that was shown last
        self._reported: Counter[str] = Counter()
        self._going = True

    def run(self) -> None:
        """Take lines until there are no more, or ``/quit``."""
        while self._going and (line := self._screen.ask()) is not None:
            try:
                self._reloads.look()
                self._take(line.strip())
                self._show_question()
                self._complain()
            except BotError as error:  # what was written is wrong, the bot hangs, or what was tapped is gone
                self._screen.print(styled(str(error), fg="red"))
            except KeyboardInterrupt:
                self._screen.print("", styled("The chat ends; the bot has a few seconds to finish.", dim=True))
                return

    def _take(self, line: str) -> None:
        if line.startswith("/"):
            name, _, rest = line.partition(" ")
            known = COMMANDS.get(name)
            if known is None:
                raise CommandRefused(f"There is no command {name}: /help lists the commands.")
            known.act(self, rest.strip())
        elif line:
            self._say(line)

    def _say(self, text: str) -> None:
        choice = self._choices.take(text)
        if choice is None:
            self._simulation.user(text)
            return
        title, is_row = choice
        self._screen.print(styled(f"     you {'pick' if is_row else 'tap'} {title}", dim=True))
        (self._simulation.pick if is_row else self._simulation.tap)(title)

    def _show_question(self) -> None:
        """Print what a colleague is asked, once."""
        asked = self._simulation.stored.session().team_question
        if asked is not None and asked.id != self._asked:
            lines = [f"{asked.team} is asked (/agree or /refuse):", *asked.text.splitlines()]
            self._screen.print(*(styled(f"     {line}", dim=True) for line in lines))
        self._asked = "" if asked is None else asked.id

    def _complain(self) -> None:
        """Print the problems since the last line. In a chat no log shows them."""
        complaints = Counter(self._simulation.stored.complaints())
        for complaint in (complaints - self._reported).elements():
            self._screen.print(styled(f"Problem: {complaint}", fg="red"))
        self._reported = complaints

    def wait(self, text: str) -> None:
        """``/wait 24h``."""
        duration = wall_clock.spoken_duration(text)
        if duration is None:
            raise CommandRefused("Write how long, such as /wait 30m or /wait 24h.")
        self._simulation.wait(duration)
        self._screen.print(styled(f"It is {self._choices.times.now()} now.", dim=True))

    def file(self, text: str) -> None:
        """``/file a.png``, or ``/file a.png with a caption``."""
        name, _, caption = (text, "", "") if Path(text).expanduser().is_file() else text.partition(" ")
        if not name:
            raise CommandRefused("Write which file, such as /file a.png.")
        try:
            content = Path(name).expanduser().read_bytes()
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or "no file has such a name"
            raise CommandRefused(f"{text}: {why}. Write which file, such as /file a.png.") from None
        found = type_of(content[:END], content[-END:])
        if found is None:
            raise CommandRefused(f"{text} is not a type of file that contacts can send.")
        self._screen.print(styled(f"     you send {found.name}", dim=True))
        self._simulation.send(found.kind, caption.strip() or None, content)

    def voice(self, text: str) -> None:
        """``/voice two large ones``."""
        self._screen.print(styled("     you send a voice note", dim=True))
        self._simulation.speak(text)

    def place(self, text: str) -> None:
        """``/place 38.7 -9.1 Home``."""
        parts = text.split(maxsplit=2)
        try:
            latitude, longitude = float(parts[0].removesuffix(",")), float(parts[1])
        except (ValueError, IndexError):
            raise CommandRefused("Write its latitude and longitude, such as /place 38.7 -9.1 Home.") from None
        if not (abs(latitude) <= 90 and abs(longitude) <= 180):
            raise CommandRefused("A latitude is a number from -90 to 90, a longitude one from -180 to 180.")
        place = {"latitude": latitude, "longitude": longitude}
        self._simulation.send("location", location=place | ({"name": parts[2]} if len(parts) > 2 else {}))

    def start(self, text: str) -> None:
        """``/start FLOW name=value``."""
        flow, data = _named(text, "Write a flow and its values, such as /start visit when=2030-05-12.")
        self._tell(self._simulation.operator.start(flow.removeprefix("/"), data, None), _NOT_STARTED)

    def signal(self, text: str) -> None:
        """``/signal NAME name=value``."""
        signal, data = _named(text, "Write a signal and its data, such as /signal paid amount=12.")
        self._tell(self._simulation.operator.signal(signal, data), _NOT_HEARD)

    def _tell(self, refusal: str, words: Mapping[str, str]) -> None:
        """Print why a start or a signal has done nothing yet; what it did is seen."""
        answer = self._simulation.operator.answer
        if refusal:
            raise CommandRefused(f"The bot refuses this: {refusal}")
        if answer is not None and answer.outcome in words:
            self._screen.print(styled(words[answer.outcome].format(**asdict(answer)), dim=True))

    def agree(self, text: str) -> None:
        """``/agree note``."""
        self._tell(self._simulation.operator.decide(True, text), {})

    def refuse(self, text: str) -> None:
        """``/refuse note``."""
        self._tell(self._simulation.operator.decide(False, text), {})

    def variables(self, _: str) -> None:
        """``/vars``."""
        from bot.cli.shared.explain import session_lines

        self._screen.print(*session_lines(self._simulation.stored.session(), self._choices.times.zone))

    def trace(self, _: str) -> None:
        """``/trace``: the turns since the last one."""
        from bot.cli.shared.explain import turn_lines

        new = [turn for turn in self._simulation.stored.trace() if turn.event_id not in self._traced]
        self._traced.update(turn.event_id for turn in new)
        lines = [line for turn in new for line in turn_lines(turn, self._choices.times.zone)]
        self._screen.print(*lines or ["Nothing has happened."])

    def restart(self, _: str) -> None:
        """``/restart``."""
        self._simulation.become_new_contact()
        self._choices.take("")
        self._screen.print(styled("You are a new contact. Write something.", dim=True))

    def help(self, _: str) -> None:
        """``/help``."""
        self._screen.print(*(f"{command.usage:25}{command.about}" for command in COMMANDS.values()))

    def quit(self, _: str) -> None:
        """``/quit``."""
        self._going = False


def _named(text: str, otherwise: str) -> tuple[str, dict[str, Any]]:
    """``visit when=2030-05-12 slots=[{"id": "a"}]`` -> ``("visit", {"when": "2030-05-12", "slots": [{"id": "a"}]})``.

    Raises `CommandRefused`, with the text ``otherwise`` unless it is a list or a map that is wrong.
    """
    try:
        name, *values = _words_of(text)
        return name, values_of(tuple(values))
    except (ValueError, click.UsageError):
        raise CommandRefused(otherwise) from None


_BEFORE_JSON = lazy_pattern(r"\w+=(?=[\[{])")


def _words_of(text: str) -> Iterator[str]:
    """The words of a line as a shell reads them, with quotes; but a list or a map in JSON is one word as it stands."""
    while text := text.lstrip():
        named = _BEFORE_JSON.match(text)
        if named is not None and begins_json(text[named.end() :]):
            try:
                _, end = json.JSONDecoder().raw_decode(text, named.end())
            except (ValueError, RecursionError):
                raise CommandRefused(
                    f'{named[0][:-1]} is not JSON: write it like {named[0]}[{{"id": "a"}}, 2]'
                ) from None
            yield text[:end]
            text = text[end:]
        else:
            rest = StringIO(text)
            shell = shlex.shlex(rest, posix=True)
            shell.whitespace_split, shell.commenters = True, ""
            yield shell.get_token() or ""
            text = rest.read()


_NOT_STARTED = {
    "waits": "You are in a flow: {flow} starts when that has ended.",
    "skipped": "You are in a flow: {flow} was not started.",
}
_NOT_HEARD = {
    "waits": "{signal} waits until a call has ended, an agent has given the conversation back, or its flow goes on.",
    "unheard": "No step waits for {signal}: nothing has happened.",
}
COMMANDS = {
    "/wait": _Command("/wait 24h", "skip a time; everything due in it happens", _Chat.wait),
    "/file": _Command("/file a.png", "send a file: an image, a recording, a video, a document", _Chat.file),
    "/voice": _Command("/voice two large ones", "send a voice note that says this", _Chat.voice),
    "/place": _Command("/place 38.7 -9.1 Home", "send a place on the map", _Chat.place),
    "/start": _Command("/start FLOW name=value", "start a flow as a program does", _Chat.start),
    "/signal": _Command("/signal NAME name=value", "report a signal as a program does", _Chat.signal),
    "/agree": _Command("/agree note", "agree as a colleague to what the bot asks the team", _Chat.agree),
    "/refuse": _Command("/refuse note", "refuse it", _Chat.refuse),
    "/vars": _Command("/vars", "the current step, and the variables", _Chat.variables),
    "/trace": _Command("/trace", "why the bot did what it did since the last /trace", _Chat.trace),
    "/restart": _Command("/restart", "be a contact that the bot does not know", _Chat.restart),
    "/help": _Command("/help", "this list", _Chat.help),
    "/quit": _Command("/quit", "end (Ctrl-D too)", _Chat.quit),
}


class ModelByHand:
    """Answers for the models with what a person writes. Called on the threads that ask models."""

    def __init__(self, screen: "Screen", clock: "MovableClock") -> None:
        self._screen = screen
        self._clock = clock
        self._lock = threading.Lock()

    def waits(self, row: "CallRow") -> bool:
        """The chat goes on when the person has answered."""
        return False

    def __call__(self, row: "CallRow") -> "Speaker":
        """Ask the person for an answer."""
        from bot.core.effects import AskModel
        from bot.testing.conversations.answers_by_hand import UnclearAnswer, acts_of, answer_by_hand, results_for
        from bot.testing.conversations.stubs import spoken
        from bot.testing.emulator.completion.completion_api import echo

        assert isinstance(row.effect, AskModel)
        within, acts = timedelta(seconds=row.effect.seconds), ", ".join(acts_of(row.effect))
        asked = "a model is asked" + (f"; beside a text it can: {acts}" if acts else "")
        with self._lock:
            self._screen.print(*(styled(f"     {line}", dim=True) for line in [*results_for(row.effect), asked]))
            while (line := self._screen.ask(MODEL_PROMPT)) is not None:
                try:
                    answer = answer_by_hand(line)
                except UnclearAnswer as error:
                    self._screen.print(styled(f"     {error}", fg="red"))
                else:
                    return lambda _: spoken(answer, lambda _: self._clock.move(within))
        return echo


MODEL_PROMPT = "model: "


class _Times:
    """Tells what time it is in the bot's ``zone``, and whether that was told within the last minute."""

    def __init__(self, clock: "MovableClock", zone: tzinfo) -> None:
        self.zone = zone
        self._clock = clock
        self._told = clock.now()

    def now(self) -> str:
        """The time, in words."""
        self._told = self._clock.now()
        return f"{self._told.astimezone(self.zone):%A, %d %B %Y, %H:%M}"

    def after_a_while(self) -> list[str]:
        """A line with the time if a minute has passed since it was told."""
        return [styled(f"     {self.now()}", dim=True)] if self._clock.now() - self._told >= MINUTE else []


class _Choices:
    """Prints the bot's messages and numbers their choices. The numbers begin again after each line of the contact's.

    A message that comes a while after the one before has its time.
    """

    def __init__(self, screen: "Screen", times: _Times) -> None:
        self.times = times
        self._screen = screen
        self._shown: list[tuple[str, bool]] = []  # title, and whether it is a list's row

    def show(self, message: "ShownMessage") -> None:
        """Print a message with its numbered choices. Called on the emulator's threads, one message at a time."""
        lines = [f"{styled('bot:', fg='cyan') if number == 0 else '    '} {line}"
                 for number, line in enumerate(message_lines(message))]  # fmt: skip
        about = {row.title: row.description for row in message.rows}
        if message.opens:
            lines.append(f"     [{styled(message.opens, bold=True)}]")
        for number, title in enumerate(message.choices, start=len(self._shown) + 1):
            beside = styled(f"  {about[title]}", dim=True) if about.get(title) else ""
            lines.append(f"     {styled(str(number), fg='cyan', bold=True)}  {title}{beside}")
        self._shown += [(title, bool(message.rows)) for title in message.choices]
        self._screen.print(*self.times.after_a_while(), *lines)

    def take(self, text: str) -> tuple[str, bool] | None:
        """The choice with this number or title, None if there is none. Forgets all numbers.

        A number that stands in another title is a text.
        """
        shown, self._shown = self._shown, []
        if text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= len(shown):
            place = int(text[:4]) - 1
            titled = with_number(Decimal(text), frozenset(), [title for title, _ in shown], None)
            return shown[place] if titled in ([], [place]) else None  # "2" is "2 nights", as on a phone
        return next((choice for choice in shown if choice[0].casefold() == text.casefold()), None)


class Screen:
    """The terminal: asks for lines, and prints from any thread."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._lock = threading.Lock()
        self._asking = False
        if self._is_terminal:
            import readline

            self._typed = readline.get_line_buffer

    def ask(self, prompt: str = PROMPT) -> str | None:
        """The next line; None at the end of the input, on Ctrl-C, and where a line is being asked for already."""
        if self._asking:
            return None
        if not self._is_terminal:
            line = sys.stdin.readline()
            if line:
                self.print(prompt + line.rstrip("\n"))
            return line or None
        self._asking = True
        try:
            return input(prompt)
        except (EOFError, KeyboardInterrupt):
            click.echo()
            return None
        finally:
            self._asking = False

    def print(self, *lines: str) -> None:
        """Print lines; what is being typed moves below them."""
        with self._lock:
            if self._asking:
                click.echo(_CLEAR_LINE, nl=False)
            echo_lines(lines)
            if self._asking:
                click.echo(PROMPT + self._typed(), nl=False)
            sys.stdout.flush()
