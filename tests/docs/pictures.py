"""The pictures of the docs, from the real pages: ``python -m tests.docs.pictures`` makes them anew."""

import struct
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.docs.test_docs import ROOT
from tests.docs.tutorial import PAGES, blocks, write, write_up_to
from tests.pages.console.conftest import PASSWORD, console_of
from tests.pages.playground.conftest import running
from tests.pages.test_views import SITI, answered, cafe, siti_waits
from tests.tools import chromium_path

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1180, 760
FRAME = 1.6
"""The seconds for which a picture of the film is shown."""


@dataclass(frozen=True)
class Scene:
    """A page of the tutorial, what the customer does, and what the phone must show at the end."""

    page: int
    writes: tuple[str, ...]
    shows: str
    then: str = ""

    @property
    def name(self) -> str:
        """The picture's file."""
        return f"tutorial-{self.page}.png"


SCENES = (
    Scene(1, ("hi",), "We cut hair from 20 euros."),
    Scene(2, ("hi",), "What would you like?"),
    Scene(4, ("I need an appointment", "a cut please", "Friday"), "These times are free on Friday, 10 May:"),
    Scene(5, ("I need an appointment", "a cut please", "Friday", "10:30"), "I will come", "To the next event"),
    Scene(6, ("hi",), "Welcome to Salon Ines!"),
    Scene(7, ("português",), "Bem-vindo ao Salão Ines!"),
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def calendar(folder: Path) -> Iterator[int]:
    """The tutorial's calendar, as ``python3 -m http.server`` serves it; its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder / "calendar"))) as served:
        threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
        yield served.server_port
        served.shutdown()


def lay_out(scene: Scene, folder: Path) -> Path:
    """Write the bot as it is at the end of the scene's page; its folder."""
    page = PAGES[scene.page - 1]
    write_up_to(page, folder)
    written: set[str] = set()
    for block in blocks(page):
        if block.name and not (scene.page == 1 and block.name in written):  # its last one is wrong on purpose
            write(block, folder)
            written.add(block.name)
    return folder / "salon"


def say(page: Page, text: str) -> None:
    """Write a message, and wait until the bot has answered."""
    bubbles = page.locator(".bubble.bot")
    before = bubbles.count()
    page.fill("#text", text)
    page.press("#text", "Enter")
    expect(bubbles.nth(before)).to_be_visible()
    expect(page.locator(".bubble.waiting")).to_have_count(0)


def play(scene: Scene, page: Page) -> None:
    """Do what the customer does, and wait for what the phone must show."""
    expect(page.locator("#drawing svg")).to_be_attached()
    for text in scene.writes:
        say(page, text)
    if scene.then:
        page.get_by_role("button", name=scene.then).click()
    expect(page.locator("#conversation").get_by_text(scene.shows).last).to_be_visible()
    expect(page.locator(".bubble.waiting")).to_have_count(0)


FILM = ("hello", "1", "latte", "lots", "2", "1")
"""What a guest of the café in `flows/` writes in the README's film."""


def film(frames: list[bytes]) -> bytes:
    """An animated PNG of these pictures, which all have one size (PNG specification, third edition: acTL, fcTL, fdAT)."""
    sequence = 0
    made = frames[0][:8] + _chunk(b"IHDR", _chunks(frames[0], b"IHDR")[0])
    made += _chunk(b"acTL", struct.pack(">II", len(frames), 0))
    for n, frame in enumerate(frames):
        width, height = struct.unpack(">II", _chunks(frame, b"IHDR")[0][:8])
        control = struct.pack(">IIIIIHHBB", sequence, width, height, 0, 0, int(FRAME * 100), 100, 0, 0)
        made += _chunk(b"fcTL", control)
        sequence += 1
        data = b"".join(_chunks(frame, b"IDAT"))
        if n == 0:
            made += _chunk(b"IDAT", data)
        else:
            made += _chunk(b"fdAT", struct.pack(">I", sequence) + data)
            sequence += 1
    return made + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(picture: bytes, kind: bytes) -> list[bytes]:
    """The data of the picture's chunks of a kind."""
    found, at = [], 8
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        if picture[at + 4 : at + 8] == kind:
            found.append(picture[at + 8 : at + 8 + length])
        at += length + 12
    return found


@contextmanager
def served(scene: Scene) -> Iterator[str]:
    """The scene's bot in `bot dev`, with the calendar that the tutorial serves; the page's address."""
    with tempfile.TemporaryDirectory() as name, calendar(Path(name)) as port:
        salon = lay_out(scene, Path(name))
        settings = salon / "bot.yml"
        settings.write_text(settings.read_text(encoding="utf-8").replace(":8800", f":{port}"), encoding="utf-8")
        with running(salon) as (_, server):
            yield server.url


def picture_console(page: Page, folder: Path) -> None:
    """The console while an agent answers a contact."""
    with console_of(cafe(folder)) as found:
        siti_waits(found)
        found.simulation.clock.move(timedelta(minutes=20))
        answered(found)
        page.goto(f"{found.url}/contact/{SITI}")
        page.get_by_label("Name").fill("abel")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator(".bubble").last).to_contain_text("Sure, thank you!")
        page.screenshot(path=IMAGES / "console.png")


def main() -> None:
    """Make all pictures anew."""
    with sync_playwright() as playwright:
        with playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"]) as browser:
            for scene in SCENES:
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, locale="en-GB")
                with served(scene) as url:
                    page.goto(url)
                    play(scene, page)
                    page.screenshot(path=IMAGES / scene.name)
                page.close()
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, locale="en-GB")
            with tempfile.TemporaryDirectory() as name:
                picture_console(page, Path(name))
            page.close()
            for look in ("light", "dark"):
                page = browser.new_page(
                    viewport={"width": WIDTH, "height": HEIGHT},
                    locale="en-GB",
                    color_scheme="dark" if look == "dark" else "light",
                )
                frames = []
                with running(ROOT / "flows") as (_, server):
                    page.goto(server.url)
                    expect(page.locator("#drawing svg")).to_be_attached()
                    frames.append(page.screenshot())
                    for text in FILM:
                        say(page, text)
                        page.wait_for_timeout(300)  # a picture of the whole answer
                        frames.append(page.screenshot())
                (IMAGES / f"dev-{look}.png").write_bytes(film(frames))
                page.close()


if __name__ == "__main__":
    main()
