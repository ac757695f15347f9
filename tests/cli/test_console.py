import pytest

from bot.pages.console.passwords import Passwords
from bot.pages.console.users import users_in
from bot.settings.setting_values import console_users
from tests.cli.terminal import call

PASSWORD = "correct horse battery"


def test_a_user_is_printed_as_a_setting_in_quotes_and_can_log_in() -> None:
    outcome = call("console", "password", "--name", "anna", "--role", "operator", stdin=f"{PASSWORD}\n")
    assert outcome.code == 0 and PASSWORD not in outcome.out
    name, equals, entry = outcome.lines[0].partition("=")
    assert (name, equals) == ("BOT_CONSOLE_USERS", "=") and entry[0] == entry[-1] == "'"
    anna = users_in(console_users(entry.strip("'")))["anna"]
    assert (anna.role, anna.teams) == ("operator", ())
    assert Passwords().fits(PASSWORD, anna.hash) and not Passwords().fits("correct horse", anna.hash)


def test_a_user_may_have_teams_whatever_they_are_called() -> None:
    teams = [part for team in ("support", "Café, upstairs") for part in ("--team", team)]
    outcome = call("console", "password", "--name", "tom", "--role", "agent", *teams, stdin=f"{PASSWORD}\n")
    entry = outcome.lines[0].partition("=")[2].strip("'")
    assert entry.startswith("tom:agent:support,Caf%C3%A9%2C%20upstairs:$argon2id$")
    assert users_in(console_users(entry))["tom"].teams == ("support", "Café, upstairs")


@pytest.mark.parametrize(
    ("name", "password", "says"),
    [
        ("anna", "short", "a password has 12 to 1000 characters, and this one 5"),
        ("an na", PASSWORD, '"an na" is no name for a user: write letters, digits and . _ - @'),
        ("a:b", PASSWORD, '"a:b" is no name for a user'),
    ],
)
def test_a_name_or_password_that_cannot_be_used_is_refused(name: str, password: str, says: str) -> None:
    outcome = call("console", "password", "--name", name, "--role", "agent", stdin=f"{password}\n")
    assert outcome.code == 1 and says in outcome.err
    assert password not in outcome.err + outcome.out
