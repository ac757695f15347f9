"""The versions that were published, in the console of a `bot serve`."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from bot.core.values import time_text
from bot.loading.folder import read_folder
from bot.store.database import ServingMachine
from tests.browsing import Opens, violations
from tests.cli.terminal import call, make_bot
from tests.pages.console.client import logged_in
from tests.pages.console.conftest import NOON, PASSWORD, USERS, Served
from tests.pages.playground.conftest import FLOWS, SETTINGS
from tests.server.process.conftest import folder, serve  # noqa: F401
from tests.server.process.serving import Serve
from tests.store.store_kit import beside_the_store

ASK = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {ask: Who are you?, then: end}\n"


def test_an_operator_sees_what_an_earlier_version_does_and_rolls_back_to_it(
    serve: Serve,  # noqa: F811
    folder: Path,  # noqa: F811
    opens_page: Opens,
) -> None:
    users = {"BOT_CONSOLE_USERS": " ".join(USERS), "BOT_CONSOLE_PORT": "0"}
    serving = serve(arguments=["--console"], **users)
    url = serving.line_with("The console is at ").split(" at ")[1].removesuffix(".")
    serving.up()
    page = opens_page(f"{url}/versions")
    page.get_by_label("Name").fill("olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("main")).to_contain_text("Each server follows the files of its own folder")
    call("publish", folder, "--note", "says hello")
    expect(page.locator("main tbody tr")).to_contain_text("says hello")  # without loading the page again
    (folder / "main.yml").write_text(ASK)
    call("publish", folder, "--note", "asks")
    assert serving.post("evt-1") == 200
    serving.settle(1)
    expect(page.locator("main tbody tr").first).to_contain_text("2 served")
    assert violations(page) == []
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.locator("main")).to_contain_text("Compared with version 2, which is served: changed main.yml.")
    assert page.get_by_role("button", name="Roll back to version 1").count() == 0
    page.get_by_role("button", name="Check now").click()
    expect(page.locator("main tbody")).to_contain_text("main/hello")
    assert violations(page) == []
    page.get_by_role("button", name="Roll back to version 1").click()
    expect(page.locator(".said")).to_have_text("The files of version 1 are served now, as a new version.")
    expect(page.locator("main tbody tr").first).to_contain_text("3 served")
    expect(page.locator("main tbody tr").first).to_contain_text("olga")
    serving.line_with("olga (operator): publish version 1")


def test_the_name_and_the_times_are_those_of_the_version_that_is_served(served: Served) -> None:
    client, path = logged_in(served, "vera"), served.console.folder.path
    assert "Times are those of UTC." in client.ask("/state").text
    make_bot(path, FLOWS, bot=f"{SETTINGS.replace('Test Bot', 'Toko')}timezone: Asia/Jakarta\n")
    files = read_folder(path)
    with beside_the_store(served.console.store) as execute:
        at = time_text(NOON)
        execute("INSERT INTO versions VALUES (1, ?, 'ann', '', ?, ?)", (at, files.digest, files.packed()))
    shown = client.ask("/state").text
    assert "Times are those of Asia/Jakarta." in shown and "Toko" in shown and "Test Bot" not in shown


def test_without_a_version_the_name_and_the_times_follow_the_files_but_no_faulty_edit(served: Served) -> None:
    client, file = logged_in(served, "vera"), served.console.folder.path / "bot.yml"

    def shown() -> tuple[str, str]:
        text = client.ask("/state").text
        zone = re.search(r"Times are those of ([\w/]+)", text)
        return text.partition("<title>")[2].partition("</title>")[0].rpartition(" ")[2], zone[1] if zone else ""

    assert shown() == ("Bot", "UTC")
    edited = f"{SETTINGS.replace('Test Bot', 'Toko')}timezone: Asia/Jakarta\n"
    file.write_text(edited)
    assert shown() == ("Toko", "Asia/Jakarta")
    for faulty in (f"{edited}oops: [\n", edited.replace("Jakarta", "Jakart"), ""):
        file.write_text(faulty.replace("Toko", "Kedai"))
        assert shown() == ("Toko", "Asia/Jakarta")
    file.unlink()
    assert shown() == ("Toko", "Asia/Jakarta")
    file.write_text(SETTINGS)
    assert shown() == ("Bot", "UTC")


def test_the_state_names_the_machines_that_serve(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    machines = [
        *(ServingMachine("one", "works"), ServingMachine("two", "waits"), ServingMachine("three", "none")),
        *(ServingMachine("four", "works", (3,), (0, 1, 2)), ServingMachine("five", "works", (0, 1, 2), (3,))),
    ]
    monkeypatch.setattr(served.console.reader.database, "machines", lambda: machines)
    shown = logged_in(served, "vera").ask("/state").text
    words = re.findall(r"<td>(\w+)</td><td>([^<]*)</td>", shown)
    assert words == [
        *(("one", "works"), ("two", "waits to take over"), ("three", "none: it accepts events")),
        *(("four", "works on shard 3"), ("five", "works on shards 0, 1 and 2")),
    ]
