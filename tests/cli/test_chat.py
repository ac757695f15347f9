import os
import pty
import select
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from zoneinfo import ZoneInfo

import pytest

from tests.cli.terminal import BOT, call, make_bot
from tests.patience import PATIENCE

FLOWS = """
flow: main
start: {otherwise: true}
vars: {cups: {type: integer, max: 5}}
steps:
  hello: {say: Hello, link: {title: Menu, url: "https://a.example"}}
  drink:
    ask: What would you like?
    footer: Ask us
    list: {button: See, sections: {Hot: {Tea: {value: tea, about: Green}, Coffee: cups}}}
  cups: {ask: How many?, save: cups, remind: {after: 1h, say: Still there?}}
  sure: {ask: Sure?, buttons: {"Yes": brew, "No": end}}
  brew: {wait: 10m}
  ready: {template: {name: ready, language: en, body: ["{{ cups }}"]}, replies: {Coming: end}}
"""


def chat(folder: Path, *lines: str) -> list[str]:
    outcome = call("chat", folder, stdin="".join(f"{line}\n" for line in lines))
    assert outcome.code == 0, outcome
    assert outcome.err == ""
    return outcome.lines[1:]


def test_a_whole_conversation(tmp_path: Path) -> None:
    lines = chat(make_bot(tmp_path, FLOWS), "hi", "2", "3", "yes", "/wait 10m", "coming")
    now = next(line for line in lines if line.startswith("It is ")).removeprefix("It is ").removesuffix(" now.")
    assert lines[:-1] == [
        "you: hi",
        "bot: Hello",
        "     [Menu] https://a.example",
        "bot: What would you like?",
        "     Ask us",
        "     [See]",
        "     1  Tea  Green",
        "     2  Coffee",
        "you: 2",
        "     you pick Coffee",
        "bot: How many?",
        "you: 3",
        "bot: Sure?",
        "     1  Yes",
        "     2  No",
        "you: yes",
        "     you tap Yes",
        "you: /wait 10m",
        f"     {now}",
        "bot: [template ready, en] 3",
        "     1  Coming",
        f"It is {now} now.",
        "you: coming",
    ]


def test_a_number_is_a_text_where_nothing_is_numbered(tmp_path: Path) -> None:
    assert chat(make_bot(tmp_path, FLOWS), "hi", "2", "1")[-4:] == ["you: 1", "bot: Sure?", "     1  Yes", "     2  No"]


def test_vars_show_where_one_is(tmp_path: Path) -> None:
    lines = chat(make_bot(tmp_path, FLOWS), "hi", "2", "3", "/vars")
    assert lines[-2].startswith("in main/sure since ")
    assert lines[-1] == "  cups  3"


def test_times_are_in_the_bots_zone(tmp_path: Path) -> None:
    bot, zone = make_bot(tmp_path, FLOWS), ZoneInfo("Etc/GMT-14")
    (bot / "bot.yml").write_text("timezone: Etc/GMT-14\n" + (bot / "bot.yml").read_text())
    lines = chat(bot, "hi", "2", "3", "/vars", "/trace")
    since = next(line for line in lines if line.startswith("in main/sure")).partition("since ")[2].partition(",")[0]
    wrote = next(line for line in lines if 'wrote "3"' in line)[: len(since)]
    for shown in (since, wrote):
        at = datetime.fromisoformat(shown).replace(tzinfo=zone)
        assert abs(datetime.now(UTC) - at) < timedelta(hours=1)


def test_what_comes_after_a_while_has_its_time(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    lines = chat(make_bot(tmp_path, FLOWS, bot=f"{BOT}timezone: Asia/Jakarta\n"), "hi", "2", "/wait 26h", "3")
    asked = lines.index("bot: Still there?")
    late = [before.astimezone(ZoneInfo("Asia/Jakarta")) + timedelta(minutes=60 + later) for later in range(3)]
    assert lines[asked - 1] in [f"     {at:%A, %d %B %Y, %H:%M}" for at in late]
    assert lines[asked - 2] == "you: /wait 26h"
    assert lines[lines.index("you: 3") + 1] == "bot: Hello"  # it comes at once


def test_trace_shows_the_turns_since_the_last_one(tmp_path: Path) -> None:
    lines = chat(make_bot(tmp_path, FLOWS), "hi", "/trace", "2", "/trace", "/trace")
    assert "  main/hello  then -> drink" in lines
    assert '  send text "How many?"' in lines
    assert sum('wrote "hi"' in line for line in lines) == 1
    assert lines[-1] == "Nothing has happened."


def test_restart_is_somebody_new(tmp_path: Path) -> None:
    lines = chat(make_bot(tmp_path, FLOWS), "hi", "2", "/restart", "/vars", "hi")
    assert lines[lines.index("you: /vars") + 1] == "in no flow"
    assert "bot: Hello" in lines[-8:]


def test_a_voice_note_is_what_is_written_behind_it(tmp_path: Path) -> None:
    bot = "name: Café\ndefaults: {timeout: {after: 1h, then: end}, retry: {max: 3, else: end}}\n"
    service = "transcribe: {http: 'POST https://speech.example/x', form: {f: '{{ voice }}'}}\n"
    lines = chat(make_bot(tmp_path, FLOWS, bot=bot + service), "hi", "/voice tea")
    assert lines[-2:] == ["     you send a voice note", "bot: How many?"]


@pytest.mark.parametrize("line", ["/dance", "/wait soon", "/wait"])
def test_a_line_that_means_nothing_is_explained_and_not_sent(tmp_path: Path, line: str) -> None:
    lines = chat(make_bot(tmp_path, FLOWS), line)
    assert len(lines) == 2
    assert lines[1].startswith(("There is no command /dance", "Write how long"))


def test_help_lists_every_line_and_quit_ends(tmp_path: Path) -> None:
    lines = chat(make_bot(tmp_path, FLOWS), "/help", "/quit", "hi")
    assert [line.split()[0] for line in lines[1:-1]] == [
        "/wait",
        "/file",
        "/voice",
        "/place",
        "/start",
        "/signal",
        "/agree",
        "/refuse",
        "/vars",
        "/trace",
        "/restart",
        "/help",
        "/quit",
    ]
    assert lines[-1] == "you: /quit"


def test_what_the_bot_gives_up_is_said(tmp_path: Path) -> None:
    lines = chat(make_bot(tmp_path, FLOWS.replace("https://a.example", "{{ cups }}")), "hi")
    assert lines[-1].startswith("Problem: main/hello: failed: a message that the gateway does not take: ")
    own = FLOWS.replace('link: {title: Menu, url: "https://a.example"}', "document: \"{{ 'a.pdf' }}\"")
    lines = chat(make_bot(tmp_path, own), "hi")
    assert lines[-1].endswith("; a file of the folder files is written document: {file: ...}")
    lines = chat(
        make_bot(
            tmp_path, FLOWS.replace('link: {title: Menu, url: "https://a.example"}', "image: http://127.0.0.1/1.png")
        ),
        "hi",
    )
    assert any(line.startswith("Problem: VALIDATION_INVALID_URL: ") for line in lines)


def test_a_recorded_chat_is_a_test_that_passes(tmp_path: Path) -> None:
    bot = make_bot(tmp_path / "bot", FLOWS)
    file = bot / "flows" / "recorded.yml"
    for number in (1, 2):
        said = call("chat", bot, "--record", file, stdin="hi\n2\n3\nyes\n/wait 10m\ncoming\n")
        assert said.lines[-1] == f"The chat is in {file} as a test."
        tested = call("test", bot)
        assert (tested.code, len(tested.lines)) == (0, number + 1), tested.out


def test_a_chat_in_which_nothing_was_said_leaves_no_file(tmp_path: Path) -> None:
    bot = make_bot(tmp_path / "bot", FLOWS)
    said = call("chat", bot, "--record", tmp_path / "t.yml", stdin="/vars\n")
    assert said.lines[-1] == "The chat has no messages, so nothing was recorded."
    assert not (tmp_path / "t.yml").exists()


def test_a_chat_cannot_be_recorded_where_no_file_can_be(tmp_path: Path) -> None:
    refused = call("chat", make_bot(tmp_path, FLOWS), "--record", tmp_path / "none" / "t.yml")
    assert refused.code == 2
    assert f"there is no folder {tmp_path / 'none'}" in refused.err


def test_a_faulty_bot_is_listed_and_no_chat_begins(tmp_path: Path) -> None:
    refused = call("chat", make_bot(tmp_path, FLOWS.replace("Coffee: cups", "Coffee: cup")))
    assert refused.code == 1
    assert 'E102 no step "cup" (did you mean "cups"?)' in refused.out


class Chat:
    """A chat in a process of its own. On a terminal both ends are one."""

    def __init__(self, folder: Path, *, terminal: bool, **environ: str) -> None:
        self.master, theirs = pty.openpty() if terminal else os.pipe()
        code = "from bot.cli import main; main()"
        if terminal:
            reads: int = theirs
            self.writes = self.master
        else:
            reads, self.writes = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "chat", str(folder)],
            stdin=reads,
            stdout=theirs,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "xterm", **environ},
            start_new_session=True,
        )
        os.close(theirs)
        if not terminal:
            os.close(reads)
        self.text = ""

    def write(self, text: str) -> None:
        os.write(self.writes, text.encode())

    def until(self, words: str) -> str:
        """What comes up to some words."""
        deadline = monotonic() + PATIENCE
        while words not in self.text:
            ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - monotonic()))
            assert ready, f"{words!r} did not come: {self.text!r}"
            data = os.read(self.master, 65536)
            assert data, f"{words!r} did not come before the end: {self.text!r}"
            self.text += data.decode()
        found, _, self.text = self.text.partition(words)
        return found + words

    def end(self) -> int:
        code = self.process.wait(PATIENCE)
        os.close(self.master)
        if self.writes != self.master:
            os.close(self.writes)
        return code


def test_flows_are_loaded_again_when_a_file_is_saved(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    chat = Chat(tmp_path, terminal=False)
    chat.write("hi\n")
    chat.until("2  Coffee")
    make_bot(tmp_path, FLOWS.replace("Coffee: cups", "Coffee: cup"))
    chat.until("flows/main.yml:10:")  # nobody wrote anything: it was seen while the chat waited
    chat.write("2\n")
    chat.until("bot: How many?")
    make_bot(tmp_path, FLOWS.replace("How many?", "How many cups?"))
    chat.write("/restart\n")
    chat.until("The flows are loaded again.")
    chat.write("hi\n2\n")
    chat.until("bot: How many cups?")
    chat.write("/quit\n")
    assert chat.end() == 0


def test_a_terminal_has_a_prompt_and_colours_and_ends_with_ctrl_d(tmp_path: Path) -> None:
    chat = Chat(make_bot(tmp_path, FLOWS), terminal=True)
    chat.until("you: ")
    chat.write("hi\n")
    shown = chat.until("Coffee")
    assert "\033[36mbot:\033[0m" in shown
    chat.until("you: ")
    chat.write("\x04")
    assert chat.end() == 0


def test_no_color_is_respected(tmp_path: Path) -> None:
    chat = Chat(make_bot(tmp_path, FLOWS), terminal=True, NO_COLOR="1")
    chat.until("you: ")
    chat.write("hi\n")
    assert "bot: Hello" in chat.until("Coffee")
    chat.until("you: ")
    chat.write("/quit\n")
    assert chat.end() == 0


HANGS = """
from bot import handler

@handler("hang")
def hang() -> str:
    return open("{pipe}").read()
"""
HANGING = """
flow: main
start: {otherwise: true}
steps:
  hang: {call: hang, within: 2m}
  done: {say: Done, then: end}
"""


def test_ctrl_c_ends_the_chat_while_the_bot_works(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    chat = Chat(make_bot(tmp_path, HANGING, handlers=HANGS.format(pipe=pipe)), terminal=True)
    chat.until("you: ")
    chat.write("hi\n")
    with pipe.open("w"):  # from here on the handler reads
        chat.process.send_signal(signal.SIGINT)
        chat.until("The chat ends; the bot has a few seconds to finish.")
    assert chat.end() == 0
    assert "Traceback" not in chat.text


def test_a_bot_that_hangs_is_said_and_the_chat_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.testing.simulation.simulation.SETTLED_WITHIN", 0.0)  # no bot is as quick as that
    lines = chat(make_bot(tmp_path, FLOWS), "hi", "/help")
    at = next(number for number, line in enumerate(lines) if line.startswith("the bot has not settled within"))
    assert "you: /help" in lines[at:]


PHOTO = """
flow: main
start: {otherwise: true}
vars: {photo: {type: media, kinds: [image, audio], keep: true}}
steps:
  photo:
    ask: Your photo?
    save: photo
    retry: {say: "A photo, please.", then: again}
    errors: {else: {say: I could not get it., then: end}}
  thanks: {say: "{{ photo.type }}", then: end}
"""


@pytest.mark.parametrize(("name", "kind"), [("small.png", "image/png"), ("voice.aac", "audio/aac")])
def test_a_file_is_sent_and_kept(tmp_path: Path, name: str, kind: str) -> None:
    """A real image of 2 by 2 pixels, a real frame of silence."""
    content = {
        "small.png": "89504e470d0a1a0a0000000d49484452000000020000000208020000"
        "00fdd49a730000000c49444154789c636060f80f00010301001bb6ee560000000049454e44ae426082",
        "voice.aac": "fff15040017ffc01402280a37ff85c2d2e2e2e2e2e2e2e2e2e2e2e5e",
    }[name]
    (tmp_path / name).write_bytes(bytes.fromhex(content))
    shown = chat(make_bot(tmp_path / "bot", PHOTO), "hi", f"/file {tmp_path / name}")
    assert [line for line in shown if kind in line] == [f"     you send {kind}", f"bot: {kind}"]


def test_a_file_that_nobody_could_send_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "x.exe").write_bytes(b"MZ\x90\x00\x03")
    shown = chat(make_bot(tmp_path / "bot", PHOTO), f"/file {tmp_path / 'x.exe'}", "/file /no/such.png", "/file")
    assert [line for line in shown if not line.startswith("you: ")] == [
        f"{tmp_path / 'x.exe'} is not a type of file that contacts can send.",
        "/no/such.png: No such file or directory. Write which file, such as /file a.png.",
        "Write which file, such as /file a.png.",
    ]


PLAYED = """
flow: where
start: {words: [where]}
vars: {at: {type: location}}
steps: {at: {ask: Where?, save: at}, done: {say: "{{ at.latitude }} {{ at.name or 'nowhere' }}", then: end}}
---
flow: visit
vars: {when: date, who: {type: text}}
steps: {tell: {say: "{{ when | date }} {{ who }}", then: end}}
---
flow: picture
start: {words: [picture]}
vars: {photo: {type: media}}
steps: {ask: {ask: A photo?, save: photo}, done: {say: "{{ photo.caption }}!", then: end}}
---
flow: talk
start: {words: [question]}
vars: {wish: {type: text}}
steps:
  talk:
    ai: Answer.
    fill: {wish: what they wish}
    exits: {order: {when: They order., then: done}}
    errors: {else: end}
  done: {say: "You wish {{ wish | default('nothing') }}.", then: end}
"""


def test_places_and_starts_of_flows_are_written_and_recorded(tmp_path: Path) -> None:
    folder = make_bot(tmp_path, PLAYED)
    (tmp_path / "a.png").write_bytes(bytes.fromhex("89504e470d0a1a0a"))
    lines = ["where", "/place 38.7 -9.1 At home", "where", "/place 1.5 2", "/place here", "picture"]
    lines += [
        f"/file {tmp_path / 'a.png'} My cat",
        "/start visit when=2030-05-12 'who=Dr Lee'",
        "/start visit when=soon",
        "/start",
    ]
    outcome = call("chat", folder, "--record", tmp_path / "tests.yml", stdin="".join(f"{line}\n" for line in lines))
    said = [line for line in outcome.lines if not line.startswith("you: ")]
    assert "bot: 38.7 At home" in said and "bot: 1.5 nowhere" in said and "bot: My cat!" in said
    assert "bot: 12 May 2030 Dr Lee" in said
    assert [line for line in said if line.startswith("The bot refuses this: visit was not started: when: ")]
    assert "Write its latitude and longitude, such as /place 38.7 -9.1 Home." in said
    assert "Write a flow and its values, such as /start visit when=2030-05-12." in said
    assert call("test", folder).code == 0, (tmp_path / "tests.yml").read_text()


def test_a_place_is_one_on_earth_and_may_be_pasted_from_a_map(tmp_path: Path) -> None:
    wrong = ["/place 95 40", "/place 38.7 400", "/place nan 3", "/place 38,7 -9,1 Home"]
    said = chat(make_bot(tmp_path, PLAYED), "where", *wrong, "/place 38.7, -9.1")
    assert said.count("A latitude is a number from -90 to 90, a longitude one from -180 to 180.") == 3
    assert said.count("Write its latitude and longitude, such as /place 38.7 -9.1 Home.") == 1
    assert "bot: 38.7 nowhere" in said


def test_what_a_start_or_a_signal_did_not_do_is_said(tmp_path: Path) -> None:
    flows = f"{PLAYED}---\nflow: polite\nstart: {{busy: skip}}\nsteps: {{s: {{say: Hello!}}}}\n"
    folder = make_bot(tmp_path, flows, bot=f"{BOT}signals: {{arrived: {{}}}}\n")
    said = chat(folder, "where", "/start /visit when=2030-05-12", "/start polite", "/start vist", "/signal arrived")
    assert [line for line in said if not line.startswith(("you: ", "bot: "))][-4:] == [
        "You are in a flow: visit starts when that has ended.",
        "You are in a flow: polite was not started.",
        'The bot refuses this: there is no flow "vist" to start: did you mean "visit"?',
        "No step waits for arrived: nothing has happened.",
    ]


def test_a_person_writes_what_the_model_says(tmp_path: Path) -> None:
    folder = make_bot(tmp_path, PLAYED)
    lines = [
        "question",
        "Ask me anything.",
        "a cake",
        "NOTE wish: a cake",
        "Anything else?",
        "no",
        "With pleasure. LEAVE order",
    ]
    outcome = call("chat", folder, "--by-hand", stdin="".join(f"{line}\n" for line in lines))
    assert [line for line in outcome.lines if line.startswith(("bot:", "model:"))] == [
        "model: Ask me anything.",
        "bot: Ask me anything.",
        "model: NOTE wish: a cake",
        "model: Anything else?",
        "bot: Anything else?",
        "model: With pleasure. LEAVE order",
        "bot: With pleasure.",
        "bot: You wish a cake.",
    ]
    assert "     a model is asked; beside a text it can: NOTE wish: , LEAVE order" in outcome.lines


def test_the_person_sees_what_the_models_calls_have_brought(tmp_path: Path) -> None:
    folder = make_bot(tmp_path, PLAYED.replace("    fill:", "    tools: [price]\n    fill:"))
    (folder / "handlers.py").write_text(
        'from bot import handler\n\n\n@handler("price")\ndef price(cake: str) -> str:\n    "A price."\n    return f"{cake}: 3"\n'
    )
    lines = [
        "question",
        "Ask me anything.",
        "a cake",
        'CALL price {"cake": "pie"}',
        "FAIL",
        "FAIL nonsense",
        "It is 3.",
    ]
    outcome = call("chat", folder, "--by-hand", stdin="".join(f"{line}\n" for line in lines))
    shown = outcome.lines[outcome.lines.index('model: CALL price {"cake": "pie"}') + 1 :]
    acts = 'CALL price {"cake": ""}, NOTE wish: , LEAVE order'
    assert shown[:2] == ["     price: pie: 3", f"     a model is asked; beside a text it can: {acts}"]
    assert shown[3].startswith("     FAIL needs a name: there are invalid_request_error")
    assert shown[5].startswith('     no model fails with "nonsense": there are invalid_request_error')
    assert shown[-1] == "bot: It is 3."


def test_a_signal_is_reported_as_a_program_does(tmp_path: Path) -> None:
    bot = BOT + "signals: {paid: {amount: number}}\n"
    flow = """
flow: main
start: {otherwise: true}
steps: {pay: {ask: Please pay., signals: {paid: {say: "Thank you for {{ event.amount }}.", then: end}}}}
"""
    said = chat(
        make_bot(tmp_path, flow, bot=bot), "hi", "/signal paid amount=much", "/signal", "/signal paid amount=12.5"
    )
    assert any(line.startswith("The bot refuses this: ") for line in said)
    assert "Write a signal and its data, such as /signal paid amount=12." in said
    assert "bot: Thank you for 12.5." in said


@pytest.mark.parametrize("quote", ["", "'"])
def test_a_list_of_a_signal_is_written_as_json_with_and_without_the_quotes_of_a_shell(
    tmp_path: Path, quote: str
) -> None:
    bot = BOT + "signals: {free: {day: text, slots: list}}\n"
    say = "{{ event.day }}: {{ event.slots | map(it.id) | join(', ') }}"
    flow = f"""
flow: main
start: {{otherwise: true}}
steps: {{ask: {{ask: Wait., signals: {{free: {{say: "{say}"}}}}}}}}
"""
    slots = f'slots={quote}[{{"id": "a"}}, {{"id": "b c"}}]{quote}'
    said = chat(
        make_bot(tmp_path, flow, bot=bot), "hi", f'/signal free {slots} day="May 7"', "/signal free slots=[{id}]"
    )
    assert "bot: May 7: a, b c" in said
    assert said[-1] == 'slots is not JSON: write it like slots=[{"id": "a"}, 2]'


def test_a_remark_is_no_problem_and_neither_is_a_failure_that_the_step_names_or_ignores(tmp_path: Path) -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {n: integer, word: {type: text, value: many}}
steps:
  pay: {ask: Pay?, signals: {paid: {if: event.amount > 9, then: end}}}
  named: {set: {n: "{{ word }}"}, errors: {mismatch: next}}
  ignored: {set: {n: "{{ word }}"}, errors: {else: next}}
  unnamed: {set: {n: "{{ word }}"}, errors: {else: end}}
"""
    folder = make_bot(tmp_path, flows, bot=f"{BOT}signals: {{paid: {{amount: number}}}}\n")
    lines = chat(folder, "hi", "/signal paid amount=3", "/trace", "yes")
    assert any("not heard: event.amount > 9 is not true" in line for line in lines)
    problems = [line for line in lines if line.startswith("Problem: ")]
    assert [line.removeprefix("Problem: ").partition(": ")[0] for line in problems] == ["main/unnamed"]


NIGHTS = """
flow: stay
start: {otherwise: true}
vars: {nights: text}
steps:
  nights: {ask: How long?, options: [2 nights, 1 night, A week], save: nights}
  done: {say: "{{ nights }}!", then: end}
"""


def test_a_number_in_another_title_is_a_text_as_in_a_test(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, NIGHTS)
    assert chat(bot, "hi", "2")[-2:] == ["you: 2", "bot: 2 nights!"]
    assert chat(bot, "hi", "1")[-2:] == ["you: 1", "bot: 1 night!"]
    assert chat(bot, "hi", "3")[-3:] == ["you: 3", "     you tap A week", "bot: A week!"]


def test_files_of_the_bots_own_are_named_and_those_that_are_made_are_shown(tmp_path: Path) -> None:
    bot = make_bot(
        tmp_path,
        """
flow: main
start: {otherwise: true}
steps:
  rules: {say: The rules., document: {file: house/rules.txt}}
  bill: {say: , document: {text: "Tea 3\\nCake 4", filename: bill.txt}, then: end}
""",
    )
    (bot / "files" / "house").mkdir(parents=True)
    (bot / "files" / "house" / "rules.txt").write_text("No shoes.")
    shown = chat(bot, "hi")
    assert shown[1:6] == [
        "bot: [document] house/rules.txt",
        "     The rules.",
        "bot: [document] bill.txt",
        "       Tea 3",
        "       Cake 4",
    ]


def test_a_colleague_who_is_asked_decides(tmp_path: Path) -> None:
    tools = "    tools: [{call: price, confirm: {by: bar, say: Let me ask.}}]\n    fill:"
    folder = make_bot(tmp_path, PLAYED.replace("    fill:", tools))
    (folder / "handlers.py").write_text(
        'from bot import handler\n\n\n@handler("price")\ndef price(cake: str) -> str:\n    "A price."\n    return f"{cake}: 3"\n'
    )
    lines = ["question", 'CALL price {"cake": "pie"}', "/agree", "It is 3.", "/refuse"]
    outcome = call("chat", folder, "--by-hand", stdin="".join(f"{line}\n" for line in lines))
    asked = outcome.lines.index("     bar is asked (/agree or /refuse):")
    assert outcome.lines[asked + 1 : asked + 4] == ["     A price.", '     cake: "pie"', "you: /agree"]
    assert "     price: pie: 3" in outcome.lines
    assert outcome.lines[-1] == "The bot refuses this: no colleague is asked anything"
