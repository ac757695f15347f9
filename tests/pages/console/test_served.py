"""The whole of `bot serve --console`, with the gateway's emulator and a real Chromium: a person takes over and gives back."""

from pathlib import Path

from playwright.sync_api import expect

from bot.testing.emulator.emulator import Emulator
from tests.browsing import Opens
from tests.pages.console.conftest import PASSWORD, USERS
from tests.patience import PATIENCE
from tests.server.process.conftest import folder, serve  # noqa: F401
from tests.server.process.serving import CONTACT, SECRET, Serve

FLOWS = """
flow: main
start: {otherwise: true}
steps:
  desk: {handoff: {team: bar, note: Oat milk?, say: One moment.}, closed: bye}
  bye: {say: Bye for now., then: end}
"""


def test_a_person_takes_a_conversation_over_and_gives_it_back(serve: Serve, folder: Path, opens_page: Opens) -> None:  # noqa: F811
    (folder / "main.yml").write_text(FLOWS)
    users = {"BOT_CONSOLE_USERS": " ".join(USERS), "BOT_CONSOLE_PORT": "0"}
    with Emulator() as gateway:
        serving = serve(arguments=["--console"], BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key, **users)
        url = serving.line_with("The console is at ").split(" at ")[1].removesuffix(".")
        serving.up()
        gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
        page = opens_page(f"{url}/inbox")
        page.get_by_label("Name").fill("abel")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("#inbox")).to_contain_text("Nobody waits.")
        gateway.receive(CONTACT, "hi")
        expect(page.locator("#inbox tbody tr")).to_contain_text("Oat milk?")
        page.get_by_role("button", name="Take over").click()
        page.get_by_label("Your answer").fill("Oat milk it is.")
        page.get_by_role("button", name="Send", exact=True).click()
        assert gateway.wait_until(lambda: len(gateway.sent) == 2, PATIENCE)
        expect(page.locator(".bubble.bot .by")).to_have_text("abel")
        gateway.receive(CONTACT, "Thanks!")
        expect(page.locator(".bubble.mine .text")).to_have_text(["hi", "Thanks!"])
        page.get_by_role("button", name="Give back to the bot").click()
        assert gateway.wait_until(lambda: len(gateway.sent) == 3, PATIENCE)
        texts = [message.body["text"]["body"] for message in gateway.sent]
        assert texts == ["One moment.", "Oat milk it is.", "Bye for now."]
        expect(page.locator("#person")).to_contain_text("The bot has the conversation.")
