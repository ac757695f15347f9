"""``bot start``."""

import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.core.session import OPTED_OUT, Session
from bot.server.local_socket import socket_of
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.store_reader import StoreReader
from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call
from tests.patience import PATIENCE
from tests.postgres import about_files

ELSEWHERE = "6281234567899"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A contact who is asked how many."""
    with kept(tmp_path) as bot:
        bot.user("hi")
    return tmp_path


def test_a_flow_is_started_for_somebody_whom_the_bot_has_never_met_with_values_as_their_variables_take_them(
    folder: Path,
) -> None:
    started = call("start", "/main", "+62 812-3456-7899", "--data", "cups=3", "--data", "price=1.50", "--bot", folder)
    assert (started.code, started.out) == (0, f"main was started for {ELSEWHERE}.\n")
    assert started.err.startswith("But what is no template cannot be sent: the contact's 24-hour window is closed")
    shown = call("sessions", ELSEWHERE, "--bot", folder).out
    assert "main/cups" in shown and "cups   3" in shown and "price  1.5" in shown
    assert "start of main by bot start" in call("trace", ELSEWHERE, "--bot", folder, "-n", "1").out


LOOK = f"Look whether `bot trace {ELSEWHERE}` shows it before you give the command again"
AGAIN = "Give the command again: what is done already is not done twice"


@about_files
@pytest.mark.parametrize(
    ("line", "then"),
    [
        (("start", "main", ELSEWHERE), LOOK),
        (("send", ELSEWHERE, "Hello"), LOOK),
        (("sessions", "reset", ELSEWHERE), AGAIN),
    ],
)
def test_what_a_server_may_have_done_that_ended_before_it_answered_is_not_done_again(
    folder: Path, line: tuple[str, ...], then: str
) -> None:
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor() as threads:
        listener.bind(str(socket_of(folder / "bot.db")))
        listener.listen()
        listener.settimeout(PATIENCE)
        asked = threads.submit(call, *line, "--bot", folder)
        listener.accept()[0].close()
        started = asked.result(PATIENCE)
    assert (started.code, started.out) == (1, "")
    doubt = "the server of bot.db ended, or was silent, before it answered: it may have done this"
    assert started.err == f"{doubt}. {then}\n"
    assert call("sessions", ELSEWHERE, "--bot", folder).code == 1


def test_a_contact_in_a_flow_is_waited_for_left_alone_or_cut_in_on(folder: Path) -> None:
    waits = call("start", "main", CONTACT, "--bot", folder)
    assert (waits.code, waits.out) == (0, f"{CONTACT} is in a flow: main starts when that has ended.\n")
    skipped = call("start", "main", CONTACT, "--busy", "skip", "--bot", folder)
    assert (skipped.code, skipped.out) == (0, f"{CONTACT} is in a flow: main was not started.\n")
    cut_in = json.loads(call("start", "main", CONTACT, "--busy", "interrupt", "--json", "--bot", folder).out)
    assert cut_in == {"contact": CONTACT, "flow": "main", "outcome": "started", "detail": ""}
    assert waits.err == skipped.err == ""
    (planned,) = [line for line in call("sessions", CONTACT, "--bot", folder).lines if "to start" in line]
    assert re.fullmatch(r"main is to start at \S+ \S+", planned)


def test_who_has_opted_out_is_left_alone_and_listed_so(folder: Path) -> None:
    with closing(EngineStore(folder / "bot.db")) as store:
        commit = Commit(store.cursor, datetime.now(UTC))
        commit.sessions.set(Session(ELSEWHERE, tags=(OPTED_OUT,)), None)
        store.write(commit)
    started = call("start", "main", ELSEWHERE, "--bot", folder)
    assert (started.code, started.out, started.err) == (0, f"{ELSEWHERE} has opted out: main was not started.\n", "")
    assert "no start of main by bot start: the contact has opted out" in call("trace", ELSEWHERE, "--bot", folder).out
    assert call("sessions", "--bot", folder).lines[1].endswith("  opted out")
    assert "the contact has opted out" in call("sessions", ELSEWHERE, "--bot", folder).lines


def test_what_cannot_be_started_is_refused_before_anything_is_kept_of_it(folder: Path) -> None:
    before = call("trace", CONTACT, "--bot", folder, "--json").out
    unknown = call("start", "mian", CONTACT, "--bot", folder)
    assert (unknown.code, unknown.err) == (1, 'there is no flow "mian" to start: did you mean "main"?\n')
    unfit = call("start", "main", CONTACT, "--data", "cups=many", "--bot", folder)
    assert unfit.code == 1 and unfit.err.startswith("main was not started: cups: ")
    with closing(StoreReader(folder / "bot.db")) as reader:
        assert reader.dead_letters.newest() == []
    assert call("trace", CONTACT, "--bot", folder, "--json").out == before


@pytest.mark.parametrize("data", ["cups", "=3", "cups=[3"])
def test_data_is_names_and_values(folder: Path, data: str) -> None:
    assert call("start", "main", CONTACT, "--data", data, "--bot", folder).code == 2
