import json
from pathlib import Path

import pytest

from bot.store.sqlite_schema import migrate
from bot.testing.emulator import Emulator, MessageTemplate
from tests.cli.keeping import kept
from tests.cli.terminal import call

FLOW = """
flow: main
start: {otherwise: true}
steps:
  hello: {template: {name: hello, language: en, body: [a]}, errors: {else: end}}
"""


@pytest.fixture
def naming(bot: Path) -> Path:
    """The bot, with a flow that names a template."""
    (bot / "flows" / "main.yml").write_text(FLOW)
    return bot


def test_the_templates_are_listed(bot: Path, gateway: Emulator) -> None:
    gateway.templates.add(
        MessageTemplate("hello", body="Hi {{1}}", footer="Bye"),
        MessageTemplate("sale", "id", body="Now", category="MARKETING", status="PENDING"),
    )
    shown = call("templates", "--bot", bot)
    assert (shown.code, shown.err) == (0, "")
    assert [line.split() for line in shown.lines] == [
        ["hello", "en", "APPROVED", "UTILITY", "BODY", "FOOTER"],
        ["sale", "id", "PENDING", "MARKETING", "BODY"],
        ["2", "templates."],
    ]
    assert gateway.unknown_fields == set()


@pytest.mark.usefixtures("gateway")
def test_a_channel_without_templates_is_said_in_words(bot: Path) -> None:
    assert call("templates", "--bot", bot).out == "The channel has no templates.\n"


def test_programs_get_the_templates_as_objects(bot: Path, gateway: Emulator) -> None:
    gateway.templates.add(MessageTemplate("hello", body="Hi"))
    (shown,) = json.loads(call("templates", "--bot", bot, "--json").out)
    assert shown == {
        "name": "hello",
        "language": "en",
        "category": "UTILITY",
        "status": "APPROVED",
        "components": ["BODY"],
    }


def test_flows_that_fit_the_list_have_no_problem(naming: Path, gateway: Emulator) -> None:
    gateway.templates.add(MessageTemplate("hello", body="Hi {{1}}"))
    checked = call("templates", "--check", "--bot", naming)
    assert (checked.code, checked.out) == (0, "No problem in 1 place with a template.\n")


def test_the_files_are_checked_and_where_others_are_served_it_says_so(naming: Path, gateway: Emulator) -> None:
    gateway.templates.add(MessageTemplate("hello", body="Hi {{1}}"), MessageTemplate("bye", body="Bye {{1}}"))
    migrate(naming / "bot.db")
    call("publish", naming)
    assert call("templates", "--check", "--bot", naming).err == ""
    (naming / "flows" / "main.yml").write_text(FLOW.replace("name: hello", "name: goodbye"))
    checked = call("templates", "--check", "--bot", naming)
    assert (checked.code, '"goodbye"' in checked.out) == (1, True)
    assert checked.err.endswith(" differ: this command reads the files, `bot doctor` looks at what is served\n")


def test_a_flow_that_does_not_fit_the_list_is_named_with_its_place(naming: Path, gateway: Emulator) -> None:
    gateway.templates.add(MessageTemplate("hello", body="Hi {{1}}", status="PAUSED"))
    checked = call("templates", "--check", "--bot", naming)
    assert checked.code == 1
    place, what = checked.lines[0].split(": ", 1)
    assert place.endswith("flows/main.yml:5:3")
    assert what == 'template "hello" (en) is PAUSED (only an APPROVED one can be sent)'
    assert checked.lines[1] == "1 problem"


def test_what_may_be_right_is_said_and_is_no_problem(naming: Path, gateway: Emulator) -> None:
    gateway.templates.add(MessageTemplate("hello", body="Hi {{1}}", header="Welcome"))
    checked = call("templates", "--check", "--bot", naming)
    assert checked.code == 0
    assert "perhaps: " in checked.lines[0]


def test_programs_get_what_does_not_fit_as_objects(naming: Path, gateway: Emulator) -> None:
    checked = call("templates", "--check", "--bot", naming, "--json")
    assert checked.code == 1
    (misfit,) = json.loads(checked.out)
    assert (misfit["line"], misfit["column"], misfit["certain"]) == (5, 3, True)
    assert misfit["what"] == 'template "hello" is not in the gateway\'s list'


def test_a_bot_with_problems_of_its_own_is_told_these(naming: Path, gateway: Emulator) -> None:
    (naming / "flows" / "main.yml").write_text(FLOW.replace("else: end", "else: nowhere"))
    checked = call("templates", "--check", "--bot", naming)
    assert checked.code == 1
    assert "E102" in checked.err


def test_a_running_server_is_what_asks_for_the_templates(tmp_path: Path, bot: Path, gateway: Emulator) -> None:
    folder = tmp_path / "kept"
    with kept(folder, server=True) as running:
        running.emulator.templates.add(MessageTemplate("unheard_of", body="{{1}}"))
        assert call("templates", "--check", "--bot", folder).code == 0
        assert running.emulator.requests == 2
    assert gateway.requests == 0
