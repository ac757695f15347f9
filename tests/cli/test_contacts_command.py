import csv
import json
from datetime import timedelta
from pathlib import Path

import pytest

from bot.cli.shared import operate
from bot.core.engine_answers import EngineAnswer
from bot.core.engine_requests import AnyRequest
from bot.core.errors import BotError
from bot.server.local_socket import LocalServer
from bot.services.gateway.gateway_client import Gateway
from bot.store.files import server_lock
from bot.testing.emulator import Emulator
from tests.cli.keeping import kept
from tests.cli.terminal import call
from tests.postgres import store_at

ANN, BEN, CEM = "6281234567890", "6281234567891", "6281234567892"


@pytest.fixture
def there(gateway: Emulator) -> None:
    """Two contacts that the gateway has."""
    client = Gateway(gateway.url, gateway.api_key)
    client.put_contact(ANN, "Ann", "ann@example.com", ["vip"])
    client.put_contact(BEN, "=cmd()", None, [])
    client.close()


def listed(bot: Path) -> dict[str, dict[str, object]]:
    return {contact["phone"]: contact for contact in json.loads(call("contacts", "list", "--bot", bot, "--json").out)}


def push(bot: Path, text: str, *options: str) -> tuple[int, str, str]:
    file = bot / "contacts.csv"
    file.write_text(text)
    pushed = call("contacts", "push", file, "--bot", bot, *options)
    return pushed.code, pushed.out, pushed.err.replace(str(file), "contacts.csv")


@pytest.mark.usefixtures("there")
def test_the_contacts_are_listed(bot: Path) -> None:
    shown = call("contacts", "list", "--bot", bot)
    assert (shown.code, shown.err) == (0, "")
    assert shown.lines[0].split() == [ANN, "Ann", "ann@example.com", "vip"]
    assert shown.lines[1].split() == [BEN, "=cmd()", "-", "-"]
    assert shown.lines[-1] == "2 contacts."


def test_a_gateway_without_contacts_is_said_in_words(bot: Path) -> None:
    assert call("contacts", "list", "--bot", bot).out == "The gateway has no contacts.\n"


def test_more_than_a_page_of_contacts_is_listed_to_its_end(bot: Path, gateway: Emulator) -> None:
    for number in range(201):
        gateway.receive(f"628{number:010}", "hi")
    assert call("contacts", "list", "--bot", bot).lines[-1] == "201 contacts."
    assert gateway.requests == 3


@pytest.mark.usefixtures("there")
def test_what_was_pulled_is_pushed_without_a_change(bot: Path, gateway: Emulator) -> None:
    file = bot / "contacts.csv"
    assert call("contacts", "pull", file, "--bot", bot).out == f"2 contacts in {file}.\n"
    assert file.stat().st_mode & 0o777 == 0o600
    before = gateway.requests
    pushed = call("contacts", "push", file, "--bot", bot)
    assert (pushed.code, pushed.out) == (0, "0 new, 0 to change, 2 unchanged.\n")
    assert gateway.requests == before + 1


@pytest.mark.usefixtures("there")
def test_a_name_that_a_spreadsheet_would_run_is_no_formula_in_the_file(bot: Path) -> None:
    printed = call("contacts", "pull", "--bot", bot).out
    rows = list(csv.DictReader(printed.splitlines()))
    assert [(row["phone"], row["name"]) for row in rows] == [(ANN, "Ann"), (BEN, "'=cmd()")]


def test_a_pull_that_fails_leaves_the_file_as_it_was(bot: Path, gateway: Emulator) -> None:
    file = bot / "contacts.csv"
    file.write_text("mine")
    gateway.faults.add("unauthorized")
    failed = call("contacts", "pull", file, "--bot", bot)
    assert failed.code == 1
    assert "BOT_GATEWAY_KEY" in failed.err
    assert file.read_text() == "mine"


@pytest.mark.usefixtures("there")
def test_a_push_adds_tags_and_keeps_what_it_is_silent_about(bot: Path) -> None:
    code, out, _ = push(bot, f"phone,name,tags\n+62 812-3456-7890,,new; vip\n{CEM},Cem,\n")
    assert (code, out) == (0, "1 new, 1 to change, 0 unchanged.\n")
    contacts = listed(bot)
    assert (contacts[ANN]["name"], contacts[ANN]["email"]) == ("Ann", "ann@example.com")
    assert contacts[ANN]["tags"] == ["vip", "new"]
    assert contacts[CEM]["name"] == "Cem"


def test_a_contact_without_a_name_is_made_all_the_same(bot: Path) -> None:
    pushed = push(bot, f"phone\n{ANN}\n")
    assert (pushed[0], pushed[2]) == (0, "")
    assert listed(bot)[ANN]["name"] is None


@pytest.mark.usefixtures("there")
def test_a_push_reads_what_a_spreadsheet_saves(bot: Path) -> None:
    pushed = push(bot, f'\ufeffphone;name;tags\n{ANN};Änn;\n{CEM};Cem;"a;b"\n')
    assert (pushed[0], pushed[2]) == (0, "")
    assert listed(bot)[ANN]["name"] == "Änn"
    assert listed(bot)[CEM]["tags"] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("name\nAnn\n", ['1: there is no column "phone" (the first line names the columns)']),
        ("phone,mail\n", ['1: there is no use for a column "mail" (did you mean "email"?)']),
        (f"phone\n081234\n{ANN}\n{ANN}\n6.28E+12\n", [
            '2: "081234" is no phone number (digits with the country code; format the column as text)',
            f"4: {ANN} is in line 3 already",
            '5: "6.28E+12" is no phone number (digits with the country code; format the column as text)',
        ]),
        (f"phone,name\n{ANN},Ann,x\n", ["2: there are more cells than columns"]),
        (f"phone,name\n{ANN},A\0nn\n", ["2: there is a NUL character in a cell (save the file anew as CSV UTF-8)"]),
        ("", ['1: there is no column "phone" (the first line names the columns)']),
    ],
)  # fmt: skip
def test_every_problem_of_the_file_is_named_and_nothing_is_asked(
    bot: Path, gateway: Emulator, text: str, problems: list[str]
) -> None:
    code, out, err = push(bot, text)
    assert (code, out) == (1, "")
    assert err.splitlines() == [f"contacts.csv:{problem}" for problem in problems]
    assert gateway.requests == 0


def test_a_file_that_is_no_utf_8_is_said_to_be_none(bot: Path) -> None:
    file = bot / "contacts.csv"
    file.write_bytes("phone,name\n6281,J\xf6rg\n".encode("latin-1"))
    assert call("contacts", "push", file, "--bot", bot).err == f"{file} is not in UTF-8: save it as CSV UTF-8\n"


def test_a_contact_that_the_gateway_refuses_keeps_none_of_the_others(bot: Path, gateway: Emulator) -> None:
    gateway.faults.add("refused_type", when=lambda request: request.body.get("phone") == ANN)
    code, _, err = push(bot, f"phone,name\n{ANN},Ann\n{BEN},Ben\n")
    assert code == 1
    assert err.startswith("contacts.csv:2: VALIDATION_INVALID_TYPE: ")
    assert list(listed(bot)) == [BEN]


def test_a_push_that_was_stopped_goes_on_when_it_is_run_again(bot: Path, gateway: Emulator) -> None:
    text = f"phone,name\n{ANN},Ann\n{BEN},Ben\n{CEM},Cem\n"
    gateway.faults.add("error_before", count=1, when=lambda request: request.body.get("phone") == BEN)
    code, _, err = push(bot, text)
    assert code == 1
    assert err.splitlines()[-1] == "1 of 3 are done: run the command again to continue"
    code, out, err = push(bot, text)
    assert (code, out) == (0, "2 new, 0 to change, 1 unchanged.\n"), err
    assert list(listed(bot)) == [ANN, BEN, CEM]


@pytest.mark.parametrize("kind", ["rate_limited", "error_before"])
def test_a_push_waits_as_long_as_the_gateway_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    with kept(tmp_path, server=True) as running:
        monkeypatch.setattr(operate, "sleep", lambda seconds: running.clock.move(timedelta(seconds=seconds)))
        waits = running.emulator.faults.add(
            kind,
            count=2,
            status=503,
            headers={"Retry-After": "100"},
            when=lambda request: request.body.get("phone") == BEN,
        )
        code, out, err = push(tmp_path, f"phone,name\n{ANN},Ann\n{BEN},Ben\n{CEM},Cem\n")
        assert (code, out, waits.hits) == (0, "3 new, 0 to change, 0 unchanged.\n", 2)
        assert err.splitlines() == ["the gateway asks to wait: this goes on in 100 s"] * 2
        assert list(listed(tmp_path)) == [ANN, BEN, CEM]


def test_a_push_does_not_wait_longer_than_a_quarter_of_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kept(tmp_path, server=True) as running:
        monkeypatch.setattr(operate, "sleep", lambda seconds: running.clock.move(timedelta(seconds=seconds)))
        running.emulator.faults.add("rate_limited", seconds=500, when=lambda request: request.body.get("phone") == BEN)
        code, _, err = push(tmp_path, f"phone,name\n{ANN},Ann\n{BEN},Ben\n")
        assert code == 1
        assert err.splitlines()[-1] == "1 of 2 are done: run the command again to continue"


def test_programs_get_counts(bot: Path) -> None:
    _, out, _ = push(bot, f"phone,name\n{ANN},Ann\n", "--json")
    assert json.loads(out) == {"new": 1, "changed": 0, "unchanged": 0, "refused": []}


def test_a_running_server_is_what_asks(tmp_path: Path) -> None:
    with kept(tmp_path, server=True) as running:
        assert push(tmp_path, f"phone,name\n{ANN},Ann\n")[0] == 0
        assert list(listed(tmp_path)) == [ANN]
        assert running.emulator.requests == 3
        assert running.emulator.unknown_fields == set()


def test_a_server_that_does_not_answer_keeps_its_budget_to_itself(bot: Path, gateway: Emulator) -> None:
    lock = server_lock(store_at(bot / "bot.db"))
    refused = call("contacts", "list", "--bot", bot)
    lock.release()
    assert refused.code == 1
    assert "is in use, by a server that does not answer now" in refused.err
    assert gateway.requests == 0


def test_what_a_server_in_trouble_says_is_said(bot: Path, gateway: Emulator) -> None:
    def trouble(request: AnyRequest) -> EngineAnswer:
        raise BotError("the database is away")

    server = LocalServer(store_at(bot / "bot.db"), trouble)
    server.start()
    refused = call("contacts", "list", "--bot", bot)
    server.stop()
    assert (refused.code, refused.err) == (1, "the database is away\n")
    assert gateway.requests == 0


def test_the_account_is_needed(bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOT_GATEWAY_KEY")
    refused = call("contacts", "list", "--bot", bot)
    assert (refused.code, refused.err) == (
        1,
        "BOT_GATEWAY_KEY is missing: set it, in the environment or in .env, to the gateway's API key\n",
    )


@pytest.mark.parametrize("arguments", [["push"], ["push", "/nowhere.csv"], ["nonsense"]])
def test_wrong_usage_of_contacts(bot: Path, arguments: list[str]) -> None:
    assert call("contacts", *arguments).code == 2
