import json
import re
from pathlib import Path

import pytest
from dotenv import dotenv_values

from bot.testing.emulator import Emulator
from tests.cli.keeping import kept
from tests.cli.terminal import call

URL = "https://bot.example/webhook"
OLD = "an-old-secret-of-the-gateway"


@pytest.fixture
def file(bot: Path) -> Path:
    return bot / ".env"


def registered(gateway: Emulator) -> list[tuple[str, str, str]]:
    return [(webhook.name, webhook.url, webhook.secret) for webhook in gateway.webhooks.registered]


def test_the_secret_of_a_new_webhook_is_shown(bot: Path, gateway: Emulator, file: Path) -> None:
    shown = call("webhook", "register", URL, "--bot", bot)
    assert shown.code == 0
    ((name, url, secret),) = registered(gateway)
    assert (name, url) == ("Test Bot", URL)
    assert shown.lines[0].startswith(f"The gateway sends 11 events to {URL}: Test Bot (")
    assert shown.lines[-1] == f"The secret that signs them, shown only now: {secret}"
    assert secret not in shown.err
    assert (
        shown.err == "Put the secret in front of those in BOT_WEBHOOK_SECRET, with a comma, and restart `bot serve`.\n"
    )
    assert not file.exists()


def test_the_secret_is_written_in_front_of_the_old_one_and_nothing_else_changes(
    bot: Path, gateway: Emulator, file: Path
) -> None:
    file.write_text(f"# mine\nBOT_PORT=9000\nexport OTHER='a # b'\nBOT_WEBHOOK_SECRET={OLD}\nLAST=1")
    shown = call("webhook", "register", URL, "--bot", bot, "--write-env")
    ((_, _, secret),) = registered(gateway)
    assert shown.err == f"The secret that signs them is in {file}. Restart `bot serve` to use it.\n"
    assert secret not in shown.out + shown.err
    assert dotenv_values(file) == {
        "BOT_PORT": "9000",
        "OTHER": "a # b",
        "BOT_WEBHOOK_SECRET": f"{secret},{OLD}",
        "LAST": "1",
        "BOT_PUBLIC_URL": "https://bot.example",
    }
    assert file.read_text().startswith("# mine\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in bot.glob(".env*")] == [".env"]


def test_a_secret_that_was_too_short_is_replaced_and_that_is_said(bot: Path, gateway: Emulator, file: Path) -> None:
    file.write_text("BOT_WEBHOOK_SECRET=short\n")
    shown = call("webhook", "register", URL, "--bot", bot, "--write-env")
    assert shown.code == 0 and shown.err.startswith("An existing secret was left out, because it is too short")
    assert dotenv_values(file)["BOT_WEBHOOK_SECRET"] == registered(gateway)[0][2]


def test_a_file_that_is_not_there_is_made(bot: Path, gateway: Emulator, file: Path) -> None:
    assert call("webhook", "register", URL, "--bot", bot, "--write-env").code == 0
    assert dotenv_values(file) == {
        "BOT_WEBHOOK_SECRET": registered(gateway)[0][2],
        "BOT_PUBLIC_URL": "https://bot.example",
    }


def test_the_public_address_is_that_of_the_webhook_without_the_path_of_the_server(bot: Path, file: Path) -> None:
    file.write_text("BOT_PUBLIC_URL=https://old.example\n")
    assert call("webhook", "register", "https://bot.example/shop/webhook", "--bot", bot, "--write-env").code == 0
    assert dotenv_values(file)["BOT_PUBLIC_URL"] == "https://bot.example/shop"
    assert call("webhook", "register", "https://bot.example/elsewhere", "--bot", bot, "--write-env").code == 0
    assert dotenv_values(file)["BOT_PUBLIC_URL"] == "https://bot.example/shop", "its base is not known"


def test_a_public_address_in_the_environment_counts_before_the_file_and_that_is_said(
    bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_PUBLIC_URL", "https://old.example")
    shown = call("webhook", "register", URL, "--bot", bot, "--write-env")
    assert "BOT_PUBLIC_URL is set in the environment, which has priority" in shown.err


def test_an_old_secret_that_stands_in_bot_yml_goes_on_counting(bot: Path, file: Path) -> None:
    with (bot / "bot.yml").open("a") as bot_yml:
        bot_yml.write(f"settings: {{webhook_secret: {OLD}}}\n")
    call("webhook", "register", URL, "--bot", bot, "--write-env")
    assert re.fullmatch(rf"[\w-]{{43}},{OLD}", dotenv_values(file)["BOT_WEBHOOK_SECRET"] or "")


def test_a_link_to_the_file_stays_one(bot: Path, file: Path) -> None:
    real = bot.parent / "settings"
    real.write_text("BOT_PORT=9000\n")
    file.symlink_to(real)
    assert call("webhook", "register", URL, "--bot", bot, "--write-env").code == 0
    assert file.is_symlink()
    assert list(dotenv_values(real)) == ["BOT_PORT", "BOT_WEBHOOK_SECRET", "BOT_PUBLIC_URL"]


def test_a_secret_is_written_before_the_gateway_hears_of_it(bot: Path, gateway: Emulator, file: Path) -> None:
    gateway.faults.add("truncated")  # registered, but nobody here gets to know
    failed = call("webhook", "register", URL, "--bot", bot, "--write-env")
    assert failed.code == 1
    assert failed.err.splitlines()[-1] == f"{file} contains the new secret, which does no harm"
    assert registered(gateway)[0][2] == dotenv_values(file)["BOT_WEBHOOK_SECRET"]


def test_a_file_that_cannot_be_written_keeps_the_gateway_from_being_asked(bot: Path, gateway: Emulator) -> None:
    (bot / ".env").symlink_to(bot / "nowhere" / ".env")
    failed = call("webhook", "register", URL, "--bot", bot, "--write-env")
    assert failed.code == 1
    assert "nowhere" in failed.err and "Traceback" not in failed.err
    assert gateway.requests == 0


def test_a_secret_in_the_environment_counts_before_the_file_and_that_is_said(
    bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_WEBHOOK_SECRET", OLD)
    shown = call("webhook", "register", URL, "--bot", bot, "--write-env")
    assert "BOT_WEBHOOK_SECRET is set in the environment, which has priority: set it there" in shown.err


def test_a_secret_of_ones_own_is_read_from_a_pipe(bot: Path, gateway: Emulator, file: Path) -> None:
    shown = call("webhook", "register", URL, "--bot", bot, "--secret", "--write-env", stdin="my-own-secret-16\n")
    assert shown.code == 0
    assert registered(gateway)[0][2] == "my-own-secret-16"
    assert dotenv_values(file)["BOT_WEBHOOK_SECRET"] == "my-own-secret-16"


@pytest.mark.parametrize(
    "secret", ["", "two words of a secret\n", "a,long-enough-secret\n", "sécret-of-the-gateway\n", "fifteen-letters\n"]
)
def test_a_secret_that_could_not_be_set_is_none(bot: Path, gateway: Emulator, secret: str) -> None:
    assert call("webhook", "register", URL, "--bot", bot, "--secret", stdin=secret).code == 2
    assert gateway.requests == 0


def test_an_address_without_a_path_gets_the_one_that_is_answered(
    bot: Path, gateway: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_WEBHOOK_PATH", "/events")
    assert "Mind the path" not in call("webhook", "register", "https://bot.example", "--bot", bot).err
    assert registered(gateway)[0][1] == "https://bot.example/events"
    assert "The path differs: `bot serve` answers at /events" in call("webhook", "register", URL, "--bot", bot).err


def test_only_the_events_that_are_named_come(bot: Path, gateway: Emulator) -> None:
    arguments = ("--events", "message.inbound, message.read", "--name", "Second")
    call("webhook", "register", URL, "--bot", bot, *arguments)
    (webhook,) = gateway.webhooks.registered
    assert (webhook.name, set(webhook.events)) == ("Second", {"message.inbound", "message.read"})


def test_programs_get_the_registration(bot: Path, gateway: Emulator) -> None:
    answer = json.loads(call("webhook", "register", URL, "--bot", bot, "--json").out)
    assert (answer["url"], answer["secret"]) == (URL, registered(gateway)[0][2])


def test_what_the_gateway_says_of_a_bad_key_is_shown_with_what_to_do(bot: Path, gateway: Emulator) -> None:
    gateway.faults.add("unauthorized")
    refused = call("webhook", "register", URL, "--bot", bot)
    assert (refused.code, refused.out) == (1, "")
    assert "set BOT_GATEWAY_KEY to a valid key" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [["http://bot.example"], ["bot.example"], [URL, "--events", "message.lost"], [], [URL, "--secret", "on-the-line"]],
)
def test_wrong_usage_of_register(bot: Path, gateway: Emulator, arguments: list[str]) -> None:
    assert call("webhook", "register", *arguments, "--bot", bot).code == 2
    assert gateway.requests == 0


def test_a_webhook_that_is_registered_while_the_server_runs(tmp_path: Path, bot: Path) -> None:
    with kept(tmp_path / "kept", server=True) as running:
        assert call("webhook", "register", URL, "--bot", tmp_path / "kept").code == 0
        assert running.emulator.unknown_fields == set()


def test_what_is_known_of_the_webhook_is_shown(tmp_path: Path, bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kept"
    monkeypatch.setenv("BOT_WEBHOOK_SECRET", "one,two")
    with kept(folder) as running:
        first = call("webhook", "show", "--bot", folder)
        assert first.lines[:2] == [
            "`bot serve` receives events at /webhook, signed with any of 2 secrets.",
            "No event has arrived yet.",
        ]
        running.user("hi")
    assert re.match(
        r"The last event arrived at 2030-05-0\d \d\d:\d\d:\d\d\.", call("webhook", "show", "--bot", folder).lines[1]
    )
    known = json.loads(call("webhook", "show", "--bot", folder, "--json").out)
    assert (known["path"], known["secrets"], known["stale"]) == ("/webhook", 2, 0)
    assert known["last_event"].startswith("2030-05-06T10:00:00")


def test_the_webhook_is_shown_before_the_first_start(bot: Path) -> None:
    shown = call("webhook", "show", "--bot", bot)
    assert shown.code == 0
    assert shown.lines[0].endswith("signed with no secret yet: `bot webhook register URL --write-env` makes one.")
    assert shown.lines[1] == "No event has arrived yet."
