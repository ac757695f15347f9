import dataclasses
import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from bot.cli.broadcast import trouble
from bot.cli.shared.operate import open_store, user_name
from bot.core.clock import MovableClock
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.files import ConnectionLost, StoreUnavailable
from bot.store.message_rows import MessageReader
from bot.store.sqlite_schema import migrate
from bot.testing.emulator import MessageTemplate
from bot.testing.emulator.injected_faults import Request
from tests.cli.keeping import CONTACT, Kept, kept
from tests.cli.terminal import Outcome, call, make_bot
from tests.store.store_kit import beside_the_store

SALE = MessageTemplate("sale", "en", body="Hello {{1}}, {{2}} off")
BOOK = "phone,name,share\n+62 812-3456-7890,Ann,10%\n6281234567891,Bo,20%\n6281234567892,Cy,30%\n"
BODY = ("--body", "{{name}}", "--body", "{{ share }}!")
FLOWS = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {say: Hello, then: end}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(BOOK)
    return make_bot(tmp_path, FLOWS)


@pytest.fixture
def bot(folder: Path) -> Iterator[Kept]:
    with kept(folder, server=True) as running:
        running.emulator.templates.add(SALE)
        yield running


def let_pass(bot: Kept, duration: timedelta) -> None:
    clock = bot.emulator.clock
    assert isinstance(clock, MovableClock)
    until = clock.now() + duration
    assert bot.engine.wait_settled(20)
    while (due := bot.engine.next_due()) is not None and due <= until:
        clock.move_to(due)
        assert bot.engine.wait_settled(20)
    clock.move_to(until)


def broadcast(folder: Path, *more: str, stdin: str = "", file: str = "people.csv") -> tuple[int, list[str], str]:
    ended = call("broadcast", "send", "sale", folder / file, "--bot", folder, *BODY, *more, stdin=stdin)
    return ended.code, ended.lines, ended.err


def parameters(bot: Kept) -> dict[str, list[str]]:
    components = {sent.to: sent.body["template"]["components"] for sent in bot.emulator.sent if sent.type == "template"}
    return {to: [parameter["text"] for parameter in found[0]["parameters"]] for to, found in components.items()}


def test_it_shows_what_it_will_do_and_asks(folder: Path, bot: Kept) -> None:
    code, lines, _ = broadcast(folder, stdin="n\n")
    assert code == 1
    assert lines[0] == f'sale (en) to {CONTACT}: "Ann" "10%!"'
    assert lines[1] == "3 contacts: at 60 requests a minute and 10,000 a day that takes 1 minute or more."
    assert bot.sent == []


def test_without_parameters_it_asks_which_columns_they_are(folder: Path, bot: Kept) -> None:
    ended = call(
        "broadcast", "send", "sale", folder / "people.csv", "--bot", folder, "--no-wait", stdin="nam\nname, share\ny\n"
    )
    assert ended.code == 0, ended.err
    assert ended.lines[0] == "people.csv has the columns name, share."
    assert 'Error: there is no column "nam" (did you mean "name"?)' in ended.out
    assert f'sale (en) to {CONTACT}: "Ann" "10%"' in ended.out
    let_pass(bot, timedelta(minutes=1))
    assert parameters(bot)[CONTACT] == ["Ann", "10%"]


@pytest.mark.parametrize("columns", ["phone", "phone,1,2,town"])
def test_it_does_not_ask_for_columns_that_are_numbered_or_not_there(folder: Path, bot: Kept, columns: str) -> None:
    cells = ",".join([CONTACT, "Ann", "10%", "Rome"][: columns.count(",") + 1])
    (folder / "people.csv").write_text(f"{columns}\n{cells}\n")
    ended = call("broadcast", "send", "sale", folder / "people.csv", "--bot", folder, stdin="n\n")
    assert "Which fill" not in ended.out


def test_line_breaks_in_a_cell_are_said_before_it_starts_and_sent_as_spaces(folder: Path, bot: Kept) -> None:
    (folder / "lines.csv").write_text(f'phone,name,share\n{CONTACT},"Carl\nJr.",10%\n6281234567891,Eve,20%\n')
    code, lines, err = broadcast(folder, "--yes", file="lines.csv")
    assert code == 0, lines
    assert (
        f"1 contact, the first {CONTACT}: line breaks, tabs and runs of spaces in a parameter are sent as one space"
        in err
    )
    assert parameters(bot)[CONTACT][0] == "Carl Jr."


def test_everybody_gets_the_template_with_their_own_cells(folder: Path, bot: Kept) -> None:
    code, lines, _ = broadcast(folder, "--yes", "--no-wait")
    assert (code, lines[-1]) == (0, "3 added, 0 known, 0 opted out.")
    let_pass(bot, timedelta(minutes=1))
    assert parameters(bot) == {
        CONTACT: ["Ann", "10%!"],
        "6281234567891": ["Bo", "20%!"],
        "6281234567892": ["Cy", "30%!"],
    }


def test_the_same_command_again_goes_on_and_sends_nothing_twice(folder: Path, bot: Kept) -> None:
    broadcast(folder, "--yes", "--no-wait")
    let_pass(bot, timedelta(minutes=1))
    (folder / "people.csv").write_text(BOOK + "6281234567893,Di,40%\n")
    code, lines, _ = broadcast(folder, "--yes", "--no-wait")
    assert code == 0
    assert "The broadcast already has 3 contacts; nobody gets it twice." in lines
    assert lines[-1] == "1 added, 3 known, 0 opted out."
    let_pass(bot, timedelta(minutes=1))
    assert len(bot.sent) == 4


@pytest.mark.parametrize("code", ["", "CONVERSATION_LOCKED", "conflict"])
def test_a_conflict_is_not_counted_as_sent(folder: Path, bot: Kept, code: str) -> None:
    bot.emulator.faults.add("error_before", status=409, code=code)
    broadcast(folder, "--yes", "--no-wait")
    let_pass(bot, timedelta(minutes=5))
    assert bot.emulator.counts["answered 409"] > 5
    assert outcomes(folder) == {"waiting": 3}
    assert bot.sent == []


def test_what_was_only_answered_by_conflicts_for_a_day_is_unknown(folder: Path, bot: Kept) -> None:
    (folder / "people.csv").write_text("phone,name,share\n6281234567890,Ann,10%\n")
    bot.emulator.faults.add("error_before", status=409)
    broadcast(folder, "--yes", "--no-wait")
    let_pass(bot, timedelta(days=2))
    found = outcomes(folder)
    assert found == {"unknown": 1}
    assert bot.sent == []


def outcomes(folder: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads(call("broadcast", "show", "sale: people", "--json", "--bot", folder).out)[
        "outcomes"
    ]
    return found


def test_it_waits_and_says_what_came_of_it(folder: Path, bot: Kept) -> None:
    (folder / "one.csv").write_text("phone,name,share\n6281234567890,Ann,10%\n")
    code, lines, _ = broadcast(folder, "--yes", file="one.csv")
    assert (code, lines[-1]) == (0, "1 sent.")


@pytest.mark.parametrize(
    ("name", "about", "ends"),
    [
        ("delivery-held", "", True),
        ("address-held", "", True),
        ("day-limit", "", True),
        ("broadcast-paused", "sale: people", True),
        ("broadcast-paused", "another", False),
        ("contact-limit", "", False),
        ("reload-refused", "", False),
        ("inbox-unavailable", "", False),
        ("model-unreachable", "", False),
    ],
)
def test_the_progress_ends_with_an_alarm_that_concerns_it_and_with_no_other(
    folder: Path, bot: Kept, name: str, about: str, ends: bool
) -> None:
    bot.engine.alarms.report(name, "something is wrong", "put it right", about)
    assert trouble(folder, "sale: people") == ("something is wrong (put it right)" if ends else "")


def test_what_could_not_be_sent_is_said(folder: Path, bot: Kept) -> None:
    (folder / "one.csv").write_text("phone,name,share\n6281234567890,Ann,10%\n")
    bot.emulator.faults.add("send_failed")
    code, lines, _ = broadcast(folder, "--yes", file="one.csv")
    assert (code, lines[-1]) == (1, "1 failed (WHATSAPP_SEND_FAILED). `bot queue` says why.")


REFUSED_BEFORE = {
    "a name that is not there": (
        MessageTemplate("sales", body="{{1}}"),
        'not in the gateway\'s list (did you mean "sales"?)',
    ),
    "another language": (MessageTemplate("sale", "id", body="{{1}}"), 'has no language "en" (it has id)'),
    "one that waits for approval": (MessageTemplate("sale", body="{{1}}", status="PENDING"), "is PENDING"),
    "one without placeholders' part": (MessageTemplate("sale", header="Sale"), "has no BODY, which is filled here"),
}


@pytest.mark.parametrize(("template", "words"), REFUSED_BEFORE.values(), ids=REFUSED_BEFORE.keys())
def test_what_the_gateway_would_refuse_is_said_before_anything_is_sent(
    folder: Path, template: MessageTemplate, words: str
) -> None:
    with kept(folder, server=True) as bot:
        bot.emulator.templates.add(template)
        code, lines, err = broadcast(folder, "--yes")
        assert (code, lines, bot.sent) == (1, [], [])
    assert words in err and err.endswith("Nothing was sent.\n")
    assert call("queue", "--bot", folder).lines[-1] == "0 messages wait to be sent, 0 given up."


def test_a_template_that_a_flow_fills_with_another_number_of_parameters_is_said(tmp_path: Path) -> None:
    step = "{template: {name: sale, language: en, body: [Ann]}, errors: {else: end}}"
    make_bot(tmp_path, f"flow: main\nstart: {{otherwise: true}}\nsteps:\n  sale: {step}\n")
    (tmp_path / "people.csv").write_text(BOOK)
    with kept(tmp_path, server=True) as bot:
        bot.emulator.templates.add(SALE)
        code, _, err = broadcast(tmp_path, "--yes")
        assert (code, bot.sent) == (1, [])
    assert "gets no header, 2 in the body, but no header, 1 in the body at flows/main.yml:4" in err


def test_a_header_that_is_not_filled_is_only_perhaps_wrong(folder: Path, bot: Kept) -> None:
    bot.emulator.templates.add(MessageTemplate("sale", header="Sale", body="{{1}} {{2}}"))
    code, lines, err = broadcast(folder, "--yes", "--no-wait")
    assert (code, lines[-1]) == (0, "3 added, 0 known, 0 opted out.")
    assert err.startswith("perhaps: ") and "has a HEADER, which is not filled here" in err


def test_when_nothing_can_be_sent_at_all_it_says_why_and_ends(folder: Path, bot: Kept) -> None:
    bot.emulator.faults.add("unauthorized")
    code, lines, err = broadcast(folder, "--yes")
    assert (code, lines[-1]) == (0, "3 waiting. Waiting messages are sent while a server runs.")
    assert "sale could not be checked against the gateway's list: " in err
    assert "The first message will show whether it is correct: the others wait for it." in err
    assert "nothing can be sent until this is put right" in err


def test_without_a_server_it_waits_for_one(folder: Path) -> None:
    migrate(folder / "bot.db")
    code, lines, _ = broadcast(folder, "--yes")
    assert (code, lines[-1]) == (0, "No server runs: it begins when `bot serve` does.")
    with kept(folder, template=SALE) as bot:
        let_pass(bot, timedelta(minutes=1))
        assert len(parameters(bot)) == 3


def test_a_large_file_goes_in_pieces_that_the_server_takes(folder: Path, bot: Kept) -> None:
    rows = [f"{6281234567890 + n},{'x' * 50},10%" for n in range(2000)]
    (folder / "many.csv").write_text("phone,name,share\n" + "\n".join(rows))
    code, lines, _ = broadcast(folder, "--yes", "--no-wait", file="many.csv")
    assert (code, lines[-1]) == (0, "2,000 added, 0 known, 0 opted out.")
    assert lines[1].endswith("that takes 40 minutes or more.")


# -- stopping


def test_a_broadcast_is_stopped_while_somebody_watches_it(
    folder: Path, bot: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "many.csv").write_text("phone,name,share\n" + "\n".join(f"{6281234567890 + n},x,1%" for n in range(3000)))
    told: list[Outcome] = []

    def stop_meanwhile(seconds: float) -> None:
        if not told:
            told.append(call("broadcast", "stop", "sale: many", "--bot", folder))

    monkeypatch.setattr("bot.cli.broadcast.sleep", stop_meanwhile)
    code, lines, _ = broadcast(folder, "--yes", file="many.csv")
    (stopped,) = told
    count = re.fullmatch(r"([\d,]+) contacts will not get it\.", stopped.lines[0])
    assert stopped.code == 0 and count is not None
    assert code == 0
    assert lines[-1].endswith(f"{count[1]} stopped. It was stopped: `bot broadcast resume` continues it.")
    assert len(bot.sent) + int(count[1].replace(",", "")) == 3000


def asked(folder: Path) -> list[tuple[str, str]]:
    """What operators have asked for, and who, by the trace."""
    with beside_the_store(folder / "bot.db") as execute:
        rows = execute("SELECT event FROM turns WHERE rule = 'operator' ORDER BY id").fetchall()
    return [(event["do"], event["by"]) for event in (json.loads(text) for (text,) in rows)]


def test_a_stopped_broadcast_goes_on_when_it_is_resumed(folder: Path) -> None:
    migrate(folder / "bot.db")
    name = "sale: people"
    broadcast(folder, "--yes")
    assert call("broadcast", "stop", name, "--bot", folder).lines == ["3 contacts will not get it."]
    assert call("broadcast", "stop", name, "--bot", folder).lines == ["0 contacts will not get it."]
    assert asked(folder) == [("stop", user_name())] * 2
    assert call("queue", "--bot", folder).lines[0] == 'broadcast "sale: people": 3 stopped'
    code, _, err = broadcast(folder, "--yes")
    assert code == 1
    assert f'was stopped before 3 contacts had it. To go on with it, write bot broadcast resume "{name}"' in err
    with kept(folder, server=True) as bot:
        bot.emulator.templates.add(SALE)
        assert bot.engine.wait_settled(20)
        assert bot.sent == []
        resumed = call("broadcast", "resume", name, "--bot", folder)
        assert (resumed.code, resumed.lines[0]) == (0, "3 contacts will get it now.")
        assert resumed.lines[-1] == "3 sent."
        assert len(bot.sent) == 3
        assert asked(folder) == [("resume", user_name())]  # the others are older than what is kept


@pytest.mark.parametrize("server", [True, False])
@pytest.mark.parametrize("action", ["stop", "resume"])
def test_a_name_that_is_not_there_is_refused_in_words(folder: Path, action: str, server: bool) -> None:
    migrate(folder / "bot.db")
    with kept(folder, server=True) if server else nullcontext():
        refused = call("broadcast", action, "sale", "--bot", folder)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == 'there is no broadcast "sale" (`bot broadcast list` lists them)\n'


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("sale",), "name the contacts: write CONTACTS.CSV, or --where EXPRESSION"),
        (("sale", "{}", "--edit", "a", "--name", "b"), "--edit names the broadcast: leave out --name"),
    ],
)
def test_what_is_missing_or_too_much_is_said(folder: Path, words: tuple[str, ...], complaint: str) -> None:
    refused = call("broadcast", "send", *(word.format(folder / "people.csv") for word in words), "--bot", folder)
    assert (refused.code, complaint in " ".join(refused.err.split())) == (2, True)


def test_a_command_that_is_misspelt_is_guessed(folder: Path) -> None:
    refused = call("broadcast", "sned", "sale", "--bot", folder)
    assert (refused.code, 'there is no command "bot broadcast sned" (did you mean "send"?)' in refused.err) == (2, True)


def test_what_a_broadcast_could_not_send_is_sent_again_with_it(folder: Path, bot: Kept) -> None:
    bot.emulator.faults.add("send_failed")
    assert broadcast(folder, "--yes")[1][-1] == "3 failed (WHATSAPP_SEND_FAILED). `bot queue` says why."
    bot.emulator.faults.clear()
    again = call("queue", "retry", "--all", "--broadcast", "sale: people", "--yes", "--bot", folder)
    assert again.out == "To be sent again: 3 messages.\n"
    assert call("queue", "retry", "--all", "--broadcast", "sale: people", "--yes", "--bot", folder).code == 0
    assert broadcast(folder, "--yes")[1][-1] == "3 sent."
    assert len(bot.sent) == 3


# -- refusals and corrections


WRONG = ("--body", "{{name}}", "--yes")
NAME = "sale: people"


def test_a_broadcast_with_wrong_parameters_costs_one_message_and_is_corrected(folder: Path, bot: Kept) -> None:
    wrong = call("broadcast", "send", "sale", folder / "people.csv", *WRONG, "--bot", folder)
    assert wrong.code == 1
    assert wrong.lines[-1] == (
        "1 failed (132001), 2 paused. It was paused: `bot broadcast resume` continues it. `bot queue` says why."
    )
    assert 'the broadcast "sale: people" is paused: the gateway refuses its messages with 132001' in wrong.err
    queue = call("queue", "--bot", folder).lines
    assert f'broadcast "{NAME}": 1 failed (132001), 2 paused (bot broadcast show "{NAME}" says why)' in queue
    shown = call("broadcast", "show", NAME, "--bot", folder)
    assert (shown.code, shown.lines[0]) == (0, f"sale: people: sale (en), started by {user_name()}")
    assert f"  {CONTACT}  failed (132001)" in shown.lines
    code, _, err = broadcast(folder, "--yes")
    assert code == 1 and "was paused before 2 contacts had it" in err and '--edit "sale: people"' in err
    edited = broadcast(folder, "--yes", "--edit", NAME)
    assert edited[:2] == (
        0,
        [
            'sale (en) to 6281234567890: "Ann" "10%!"',
            "3 contacts: at 60 requests a minute and 10,000 a day that takes 1 minute or more.",
            "3 corrected, 0 added, 0 had it, 0 unknown, 0 opted out, 0 left out.",
            f'It is stopped. To go on with it: bot broadcast resume "{NAME}"',
        ],
    )
    assert bot.sent == []
    resumed = call("broadcast", "resume", NAME, "--bot", folder)
    assert (resumed.code, resumed.lines[-1]) == (0, "3 sent.")
    assert parameters(bot)["6281234567892"] == ["Cy", "30%!"]
    assert call("broadcast", "show", NAME, "--bot", folder).lines[-1] == "3 sent."


def test_a_template_that_is_paused_in_the_middle_stops_the_rest(folder: Path, bot: Kept) -> None:
    (folder / "many.csv").write_text("phone,name,share\n" + "\n".join(f"{6281234567890 + n},x,1%" for n in range(100)))

    def paused_after_20(request: Request) -> bool:
        if len(bot.emulator.sent) == 20:
            bot.emulator.templates.add(dataclasses.replace(SALE, status="PAUSED"))
        return False

    fault = bot.emulator.faults.add("slow", when=paused_after_20)
    broadcast(folder, "--yes", "--no-wait", file="many.csv")
    let_pass(bot, timedelta(minutes=5))
    state = json.loads(call("broadcast", "show", "sale: many", "--json", "--bot", folder).out)
    assert (state["state"], state["code"]) == ("paused", "132006")
    assert len(bot.sent) == state["outcomes"]["sent"] < 40
    assert state["outcomes"]["failed (132006)"] < 40  # those that were on their way
    nothing_yet = dict.fromkeys(("delivered", "read", "answered"), False)
    assert {"contact": CONTACT, "outcome": "sent", "code": "", **nothing_yet} in state["recipients"]
    bot.emulator.faults.remove(fault)
    bot.emulator.templates.add(SALE)
    call("broadcast", "resume", "sale: many", "--no-wait", "--bot", folder)
    let_pass(bot, timedelta(minutes=5))
    assert call("broadcast", "show", "sale: many", "--bot", folder).lines[-1] == "100 sent."
    assert len(bot.sent) == 100


def test_a_retry_of_refused_messages_uses_what_was_corrected_and_waits_for_the_resumption(
    folder: Path, bot: Kept
) -> None:
    call("broadcast", "send", "sale", folder / "people.csv", *WRONG, "--bot", folder)
    broadcast(folder, "--yes", "--edit", NAME)
    retried = call("queue", "retry", "--all", "--broadcast", NAME, "--yes", "--bot", folder)
    assert retried.lines == [
        "To be sent again: 1 message.",
        f'They wait because the broadcast "{NAME}" is stopped or paused (bot broadcast resume "{NAME}" resumes it).',
    ]
    assert call("broadcast", "resume", NAME, "--bot", folder).lines[-1] == "3 sent."
    assert parameters(bot)[CONTACT] == ["Ann", "10%!"]


def test_who_is_not_in_a_corrected_file_is_said_before_it_is_corrected(folder: Path, bot: Kept) -> None:
    call("broadcast", "send", "sale", folder / "people.csv", *WRONG, "--bot", folder)
    (folder / "fewer.csv").write_text("phone,name,share\n6281234567890,Ann,10%\n")
    code, lines, _ = broadcast(folder, "--edit", NAME, file="fewer.csv", stdin="n\n")
    assert code == 1
    assert "2 contacts who did not get it and are not in the file will not get it." in lines
    assert call("broadcast", "show", NAME, "--bot", folder).lines[-1].startswith("1 failed (132001), 2 paused.")


def test_the_same_command_with_other_parameters_says_that_those_in_it_keep_theirs(folder: Path) -> None:
    migrate(folder / "bot.db")
    broadcast(folder, "--yes")
    ended = call("broadcast", "send", "sale", folder / "people.csv", *WRONG, "--bot", folder)
    assert '3 contacts in it have other parameters, and keep them: --edit "sale: people" corrects that.' in ended.err


@pytest.mark.parametrize("arguments", [("show", "sprign"), ("send", "sale", "{}", *BODY, "--yes", "--edit", "sprign")])
def test_a_broadcast_that_is_not_there_is_neither_shown_nor_corrected(folder: Path, arguments: tuple[str, ...]) -> None:
    migrate(folder / "bot.db")
    words = (argument.format(folder / "people.csv") for argument in arguments)
    ended = call("broadcast", *words, "--bot", folder)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.endswith('there is no broadcast "sprign" (`bot broadcast list` lists them)\n')


# -- its file


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name,share\nAnn,1\n", ':1: there is no column "phone"'),
        ("phone,name,share\nAnn,Ann,1\n", ':2: "Ann" is no phone number'),
        ("phone,name,share\n62812345678,Ann,1\n62812345678,Bo,1\n", ":3: 62812345678 is in line 2 already"),
        ("phone,name,share\n62812345678,,1\n", ":2: parameter 1 is empty"),
        ("phone,name,share\n62812345678,Ann,1,2\n", ":2: there are more cells than columns"),
        ("phone,name\n62812345678,Ann\n", '--body names a column "share", which is not there (there are: name)'),
        ("phone,name,share\n", "there is nobody to send to"),
        ("phone,name,share\n081234567890,Ann,1\n", ':2: "081234567890" is no phone number'),
        ("phone,name,share\n62812345678,Ann\n", ":2: there are fewer cells than columns"),
    ],
)
def test_a_faulty_file_is_explained_line_by_line(folder: Path, text: str, complaint: str) -> None:
    (folder / "people.csv").write_text(text)
    code, lines, err = broadcast(folder, "--yes")
    assert (code, lines) == (1, [])
    assert complaint in err


def test_a_number_that_is_left_out_among_the_columns_is_said(folder: Path) -> None:
    (folder / "people.csv").write_text("phone,1,3\n6281234567890,Ann,20%\n")
    ended = call("broadcast", "send", "sale", folder / "people.csv", "--bot", folder)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.endswith('people.csv:1: there is a column "3" and none "2": parameters are numbered from 1\n')


def test_columns_of_numbers_are_the_parameters(folder: Path, bot: Kept) -> None:
    (folder / "people.csv").write_text("phone;2;1;note\n6281234567890;20%;Ann;old customer\n")
    assert call("broadcast", "send", "sale", folder / "people.csv", "--bot", folder, "--yes").code == 0
    assert parameters(bot) == {CONTACT: ["Ann", "20%"]}


# -- bot send


def test_a_text_is_sent_while_the_window_is_open(folder: Path, bot: Kept) -> None:
    bot.user("hi")
    ended = call("send", "+62 812 3456 7890", "Your parcel is here", "--bot", folder)
    assert (ended.code, ended.lines) == (0, [f"The message to {CONTACT} was sent."])
    assert bot.emulator.sent[-1].body["text"] == {"body": "Your parcel is here"}


def test_why_a_message_was_not_sent_is_said(folder: Path, bot: Kept) -> None:
    ended = call("send", CONTACT, "Hello?", "--bot", folder)
    assert ended.code == 1
    assert ended.err.startswith(f"The message to {CONTACT} was not sent: the 24-hour window is closed")
    assert "(a template can be sent at any time: --template NAME)" in ended.err


@pytest.mark.parametrize("contact", ["12", "abc", "081234567890", ""])
def test_what_is_no_number_is_sent_nothing(folder: Path, contact: str) -> None:
    migrate(folder / "bot.db")
    ended = call("send", contact, "Hello", "--bot", folder)
    assert ended.code == 1
    assert ended.err == f'"{contact}" is no phone number: write its digits, with the country code\n'


def test_programs_are_told_what_became_of_a_message(folder: Path, bot: Kept) -> None:
    bot.user("hi")
    told = json.loads(call("send", CONTACT, "Your parcel is here", "--json", "--bot", folder).out)
    assert (told["contact"], told["outcome"]) == (CONTACT, "sent")


def test_a_template_needs_no_window(folder: Path, bot: Kept) -> None:
    ended = call("send", CONTACT, "--template", "sale", "--body", "Ann", "--body", "10%", "--bot", folder)
    assert (ended.code, ended.lines) == (0, [f"The message to {CONTACT} was sent."])
    assert parameters(bot) == {CONTACT: ["Ann", "10%"]}


def test_a_message_that_is_accepted_is_not_called_failed_while_its_outcome_cannot_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(reader: MessageReader, id: int) -> tuple[str, str]:
        raise StoreUnavailable("the database is away", "start it")

    migrate(folder / "bot.db")
    monkeypatch.setattr(MessageReader, "outcome", away)
    ended = call("send", CONTACT, "Hello", "--bot", folder)
    assert ended.code == 0 and ended.out.startswith(f"The message to {CONTACT} is accepted, and is sent as soon as")
    assert "the database is away: start it. `bot trace` and `bot queue` show" in ended.out


def test_a_message_whose_commit_may_have_reached_the_database_may_be_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = EngineStore.write

    def lost(store: EngineStore, commit: Commit) -> bool:
        write(store, commit)
        raise ConnectionLost("postgresql://db.example/bot")

    migrate(folder / "bot.db")
    monkeypatch.setattr(EngineStore, "write", lost)
    ended = call("send", CONTACT, "Hello", "--bot", folder)
    assert ended.code == 1 and "was lost: it may have done this. Look whether `bot trace" in ended.err
    assert "Hello" in call("trace", CONTACT, "--bot", folder).out


def test_without_a_server_a_message_waits(folder: Path) -> None:
    migrate(folder / "bot.db")
    ended = call("send", CONTACT, "Hello", "--bot", folder)
    assert (ended.code, ended.lines) == (0, [f"The message to {CONTACT} waits to be sent: `bot queue` shows it."])
    (pending,) = json.loads(call("queue", "--bot", folder, "--json").out)["pending"]
    assert pending["contact"] == CONTACT


@pytest.mark.parametrize("arguments", [(), ("text", "--template", "sale")])
def test_a_message_is_a_text_or_a_template(folder: Path, arguments: tuple[str, ...]) -> None:
    assert call("send", CONTACT, *arguments, "--bot", folder).code == 2


@pytest.mark.parametrize(
    ("header", "parameter"),
    [
        ("Hello", {"type": "text", "text": "Hello"}),
        ("https://shop.example/a.PNG", {"type": "image", "image": {"link": "https://shop.example/a.PNG"}}),
        ("https://shop.example/bill.pdf", {"type": "document", "document": {"link": "https://shop.example/bill.pdf"}}),
        ("see a.png", {"type": "text", "text": "see a.png"}),
    ],
)
def test_a_header_that_is_the_address_of_a_file_is_that_file(header: str, parameter: dict[str, object]) -> None:
    from bot.cli.shared.csv_rows import header as read

    assert read(header) == parameter


# -- contacts by what the bot knows of them


TOWNS = """
flow: main
start: {otherwise: true}
vars: {town: {type: text, keep: true}, cups: {type: integer, keep: true}}
steps:
  town: {ask: Where are you?, save: town}
  cups: {branch: [{if: town == 'Rome', then: many}, {else: end}]}
  many: {set: {cups: 7}}
  count: {run: /count, of: Rome, then: end, errors: {else: end}}
---
flow: count
shared: place
vars: {town: {type: text, keep: true}}
steps: {rome: {set: {town: Rome}, then: end}}
"""


@pytest.fixture
def towns(tmp_path: Path) -> Iterator[Kept]:
    make_bot(tmp_path, TOWNS)
    (tmp_path / "people.csv").write_text(BOOK)
    with kept(tmp_path, server=True) as bot:
        bot.emulator.templates.add(SALE)
        for number, town in enumerate(("Rome", "Oslo", "Rome")):
            bot.user("hi", town, contact=str(int(CONTACT) + number))
        yield bot


def where(folder: Path, expression: str, *more: str, stdin: str = "") -> Outcome:
    body = ("--body", "{{ town }}", "--body", "{{ contact.id }}")
    return call("broadcast", "send", "sale", "--where", expression, "--bot", folder, *body, *more, stdin=stdin)


def test_a_record_that_contacts_share_is_no_contact(tmp_path: Path, towns: Kept) -> None:
    with open_store(tmp_path) as store:
        assert store.sessions.get("@place:Rome") is not None
    assert where(tmp_path, "town == 'Rome'", stdin="n\n").lines[0] == "2 of 3 contacts who have written match."


def test_an_expression_selects_contacts_and_fills_the_parameters(tmp_path: Path, towns: Kept) -> None:
    asked = where(tmp_path, "town == 'Rome'", stdin="n\n")
    assert (asked.code, asked.lines[0]) == (1, "2 of 3 contacts who have written match.")
    assert where(tmp_path, "town == 'Rome'", "--yes", "--no-wait").lines[-1] == "2 added, 0 known, 0 opted out."
    let_pass(towns, timedelta(minutes=1))
    assert parameters(towns) == {CONTACT: ["Rome", CONTACT], "6281234567892": ["Rome", "6281234567892"]}
    assert call("broadcast", "show", "sale: town == 'Rome'", "--bot", tmp_path).code == 0


def test_an_expression_selects_among_the_contacts_of_a_file(tmp_path: Path, towns: Kept) -> None:
    (tmp_path / "people.csv").write_text(BOOK + "6281234567899,Unknown,1%\n")
    code, lines, _ = broadcast(tmp_path, "--where", "town == 'Oslo'", "--yes", "--no-wait")
    assert (code, lines[0]) == (0, "1 of 4 contacts in the file match.")
    let_pass(towns, timedelta(minutes=1))
    assert parameters(towns) == {"6281234567891": ["Bo", "20%!"]}


def test_contacts_for_whom_an_expression_fails_are_left_out_and_counted(tmp_path: Path, towns: Kept) -> None:
    selected = where(tmp_path, "cups > 5", "--yes", "--no-wait")
    assert (selected.code, selected.lines[0]) == (0, "2 of 3 contacts who have written match.")
    assert "1 contact could not be asked and gets nothing: --where:1:1: " in selected.err


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("twon == 'Rome'", '--where: no variable "twon" (did you mean "town"?)'),
        ("'vip' in contact.tgas", '--where: a contact has no "tgas" (did you mean "tags"?)'),
        ("contact['tgas']", '--where: a contact has no "tgas" (did you mean "tags"?)'),
        ("town = 'Rome'", "(write == to compare)"),
        ("message.text == 'x'", '--where: no variable "message"'),
        ("is_vip(town)", '--where: no function "is_vip"'),
        ("town == 'Lima'", "Nothing was sent: nobody matches."),
    ],
)
def test_a_mistake_in_an_expression_is_explained(tmp_path: Path, towns: Kept, expression: str, words: str) -> None:
    refused = where(tmp_path, expression, "--yes")
    assert refused.code == 1
    assert words in refused.err
    assert "template" not in towns.sent


# -- later


WHEN = "At 2130-12-24 18:00 on each contact's clock: 3 contacts at 2130-12-24 18:00 (UTC)."


def test_a_broadcast_waits_for_its_time(folder: Path, bot: Kept) -> None:
    code, lines, _ = broadcast(folder, "--yes", "--at", "2130-12-24 18:00")
    assert (code, lines[-1]) == (0, "3 scheduled.")
    assert WHEN in lines
    assert "If no server runs then, it is sent up to 1h late, and else counted as missed." in lines
    assert call("broadcast", "show", NAME, "--bot", folder).lines[1] == WHEN
    assert f'broadcast "{NAME}": 3 scheduled (the next at 2130-12-24 18:00:00)' in call("queue", "--bot", folder).lines
    state = json.loads(call("broadcast", "show", NAME, "--json", "--bot", folder).out)
    assert (state["at"], state["late"], state["begins_at"]) == ("2130-12-24 18:00", 3600, "2130-12-24T18:00:00+00:00")
    assert state["to_come"] == [{"at": "2130-12-24T18:00:00+00:00", "contacts": 3}]
    assert broadcast(folder, "--yes", "--at", "2130-12-24 19:00")[2].endswith(
        f'the broadcast "{NAME}" was requested for another time: `--edit "{NAME}"` corrects it\n'
    )
    assert bot.sent == []


def test_a_correction_gives_a_broadcast_another_time_or_leaves_it(folder: Path, bot: Kept) -> None:
    broadcast(folder, "--yes", "--at", "2130-12-24 18:00", "--late", "3h")
    broadcast(folder, "--yes", "--edit", NAME)
    resumed = call("broadcast", "resume", NAME, "--bot", folder).lines
    assert resumed[0] == "0 contacts will get it now, 3 contacts at their time."
    assert call("broadcast", "show", NAME, "--bot", folder).lines[1] == WHEN
    broadcast(folder, "--yes", "--at", "2130-12-24 19:00", "--edit", NAME)
    assert call("broadcast", "resume", NAME, "--bot", folder).lines[-1] == "3 scheduled."
    assert call("broadcast", "show", NAME, "--bot", folder).lines[1] == WHEN.replace("18:", "19:")


def test_a_contact_who_is_added_later_waits_for_the_same_time(folder: Path, bot: Kept) -> None:
    broadcast(folder, "--yes", "--at", "2130-12-24 18:00", "--no-wait")
    (folder / "people.csv").write_text(BOOK + "6281234567893,Di,40%\n")
    assert broadcast(folder, "--yes", "--no-wait")[1][-1] == "1 added, 3 known, 0 opted out."
    assert call("broadcast", "show", NAME, "--bot", folder).lines[-1] == "4 scheduled."
    assert call("broadcast", "show", NAME, "--bot", folder).lines[1] == WHEN.replace("3 contacts", "4 contacts")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--at", "tomorrow"), '--at "tomorrow" is no time: write a time of day, such as 9:00, or a day and a time'),
        (("--at", "24:00"), '--at "24:00" is no time'),
        (("--at", "2020-12-24 18:00"), "--at 2020-12-24 18:00 is over for all contacts: write a later time"),
        (("--late", "3h"), "--late is for --at"),
        (("--at", "9:00", "--late", "10s"), "--late is 1m at least"),
        (("--at", "9:00", "--late", "soon"), "'soon' is no duration"),
    ],
)
def test_a_time_that_cannot_be_is_refused(folder: Path, options: tuple[str, ...], words: str) -> None:
    migrate(folder / "bot.db")
    code, _, err = broadcast(folder, "--yes", *options)
    assert code != 0
    assert words in " ".join(err.split())
    assert call("broadcast", "list", "--bot", folder).lines == ["There are no broadcasts."]


# -- what became of it


def test_all_broadcasts_are_listed_with_their_states_and_times(folder: Path, bot: Kept) -> None:
    assert call("broadcast", "list", "--bot", folder).lines == ["There are no broadcasts."]
    broadcast(folder, "--yes", "--name", "first")
    let_pass(bot, timedelta(minutes=1))
    broadcast(folder, "--yes", "--name", "later", "--at", "2130-12-24 18:00")
    head, later, first = call("broadcast", "list", "--bot", folder).lines
    assert head == "state      begin             end               name"
    note = "(3 to come, next at 2130-12-24 18:00)"
    assert later == f"scheduled  2130-12-24 18:00                    later  {note}"
    assert re.fullmatch(r"finished   \S+ \S+  \S+ \S+  first", first)
    listed = json.loads(call("broadcast", "list", "--json", "--bot", folder).out)["broadcasts"]
    assert [(each["name"], each["state"], each["ended_at"] is None) for each in listed] == [
        ("later", "scheduled", True), ("first", "finished", False)
    ]  # fmt: skip
    assert (listed[0]["to_come"], listed[0]["next_at"], listed[0]["missed"]) == (3, "2130-12-24T18:00:00+00:00", 0)


def test_a_broadcast_counts_what_was_delivered_read_and_answered(folder: Path, bot: Kept) -> None:
    (folder / "people.csv").write_text(BOOK + "6281234567893,Di,40%\n")
    broadcast(folder, "--yes", "--no-wait")
    let_pass(bot, timedelta(minutes=1))
    to = {sent.to: sent.message_id for sent in bot.emulator.sent}
    told: tuple[tuple[int, Literal["delivered", "read"]], ...]
    told = ((0, "delivered"), (1, "read"), (2, "delivered"), (2, "read"))
    for number, status in told:
        bot.emulator.status(to[str(int(CONTACT) + number)], status)
    bot.user("Yes!", contact=CONTACT)
    let_pass(bot, timedelta(hours=25))
    bot.user("Too late", contact="6281234567891")
    assert call("broadcast", "show", NAME, "--bot", folder).lines[-2:] == [
        "4 sent: 3 delivered, 2 read, 1 answered within 24 hours.", "4 sent."
    ]  # fmt: skip
    shown = json.loads(call("broadcast", "show", NAME, "--json", "--bot", folder).out)
    assert shown["started_by"] == user_name()
    assert shown["reached"] == {"known": 4, "delivered": 3, "read": 2, "answered": 1}
    ann = {"contact": CONTACT, "outcome": "sent", "code": "", "delivered": True, "read": False, "answered": True}
    assert shown["recipients"][0] == ann
    let_pass(bot, timedelta(days=8))
    bot.user("hello", contact="6281234567899")
    shown = call("broadcast", "show", NAME, "--bot", folder)
    assert (shown.lines[1].startswith("It ended at "), shown.lines[2:]) == (True, ["4 sent."])


# -- starting a flow


COURSE = """
flow: course
vars: {day: {type: integer, needed: true}, name: {type: text}}
steps:
  lesson: {say: "Day {{ day }}, {{ name or 'you' }}", window_closed: {template: {name: lesson, language: en}}, then: end}
"""
VALUES = ("--with", "day=3", "--with", "name={{name}}")


@pytest.fixture
def course(folder: Path) -> Path:
    return make_bot(folder, f"{FLOWS}---{COURSE}")


def start(folder: Path, flow: str = "course", values: tuple[str, ...] = VALUES) -> Outcome:
    return call("broadcast", "start", flow, folder / "people.csv", *values, "--bot", folder, "--yes", "--no-wait")


def test_a_flow_starts_for_each_contact_with_its_own_cells_as_the_docs_show_it(course: Path) -> None:
    with kept(course, server=True) as bot:
        bot.emulator.templates.add(MessageTemplate("lesson"))
        bot.user("hi")
        began = start(course)
        docs = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
        assert began.lines[0] in docs and 'start course contacts.csv --with "day=3" --with "name={{name}}"' in docs
        assert (began.code, began.lines[-1]) == (0, "3 added, 0 known, 0 opted out.")
        let_pass(bot, timedelta(minutes=1))
        assert bot.emulator.sent[1].body["text"] == {"body": "Day 3, Ann"}
        assert bot.sent == ["text", "text", "template", "template"]
    shown = call("broadcast", "show", "course: people", "--bot", course).lines
    assert shown[0] == f"course: people: flow course, started by {user_name()}"
    assert shown[-2:] == ["3 sent: 0 delivered, 0 read, 0 answered within 24 hours.", "3 started."]
    state = json.loads(call("broadcast", "show", "course: people", "--json", "--bot", course).out)
    assert (state["flow"], state["outcomes"]) == ("course", {"started": 3})


@pytest.mark.parametrize(
    ("flow", "values", "book", "complaint"),
    [
        ("cours", ("--with", "day=3"), BOOK, 'there is no flow "cours" to start: did you mean "course"?\n'),
        ("course", (), BOOK, "--with: course was not started: it needs day\n"),
        (
            "/course",
            ("--with", "dya=3"),
            BOOK,
            '--with: course was not started: no variable "dya": did you mean',
        ),
        (
            "/course",
            ("--with", "day={{share}}"),
            "phone,share\n6281234567890,1\n6281234567891,\n",
            ".csv:3: course was",
        ),
        (
            "/course",
            ("--with", "day={{share}}"),
            "phone,share\n6281234567890,x\n6281234567891,1\n",
            ".csv:2: course was",
        ),
        (
            "/course",
            ("--with", "day={{dya}}"),
            BOOK,
            '--with names a column "dya", which is not there (there are: name',
        ),
    ],
)
def test_what_the_flow_cannot_be_started_with_is_said_before_anything_is_sent(
    course: Path, flow: str, values: tuple[str, ...], book: str, complaint: str
) -> None:
    migrate(course / "bot.db")
    (course / "people.csv").write_text(book)
    refused = start(course, flow, values)
    assert (refused.code, refused.out) == (1, "")
    assert complaint in refused.err
    assert call("broadcast", "list", "--bot", course).lines == ["There are no broadcasts."]


def test_a_value_without_a_name_is_said(course: Path) -> None:
    ended = start(course, values=("--with", "day"))
    assert (ended.code, "--with day: write NAME=VALUE" in ended.err) == (2, True)


def test_contacts_of_the_store_get_a_flow_with_what_the_bot_knows_of_them(course: Path) -> None:
    with kept(course, server=True) as bot:
        bot.user("hi")
        bot.user("hi", contact="6281234567891")
        options = (
            "--where",
            "contact.id == '6281234567891'",
            "--with",
            "day=1",
            "--with",
            "name={{ contact.id }}",
        )
        began = call("broadcast", "start", "/course", *options, "--bot", course, "--yes", "--no-wait")
        assert began.lines[:2] == [
            "1 of 2 contacts who have written match.",
            "flow course for 6281234567891: day=1 name=6281234567891",
        ]
        bot.settle()
        assert bot.emulator.sent[-1].body["text"] == {"body": "Day 1, 6281234567891"}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--with", "name=Ann"), "--with: course was not started: it needs day\n"),
        (("--with", "day=soon"), "--with: course was not started: day: it is no number\n"),
        (
            ("--with", "name={{ contact.id }}"),
            "1 contact could not be asked and gets nothing: course was not started: it needs day\nNothing was sent.\n",
        ),
    ],
)
def test_values_that_fit_no_contact_of_the_store_are_not_taken_for_a_wrong_expression(
    course: Path, options: tuple[str, ...], complaint: str
) -> None:
    with kept(course, server=True) as bot:
        bot.user("hi")
        refused = call("broadcast", "start", "course", "--where", "true", *options, "--bot", course, "--yes")
    assert (refused.code, refused.err) == (1, complaint)


def test_the_queue_says_what_became_of_the_contacts_of_a_flow(tmp_path: Path) -> None:
    make_bot(tmp_path, "flow: main\nstart: {otherwise: true, busy: skip}\nsteps: {q: {ask: Well?, then: end}}\n")
    (tmp_path / "people.csv").write_text("phone\n6281234567890\n6281234567891\n6281234567892\n")
    with kept(tmp_path, server=True) as bot:
        bot.user("hi")
        start(tmp_path, "main", ())
        let_pass(bot, timedelta(minutes=1))
        call("broadcast", "stop", "main: people", "--bot", tmp_path)
    assert call("broadcast", "show", "main: people", "--bot", tmp_path).lines == [
        f"main: people: flow main, started by {user_name()}",
        "  6281234567890  skipped",
        "  6281234567891  failed (window_closed)",
        "  6281234567892  failed (window_closed)",
        "2 failed (window_closed), 1 skipped. `bot queue` says why.",
    ]
