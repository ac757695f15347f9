"""What the machines of a bot have in common: a gateway, and a store in PostgreSQL."""

from dataclasses import dataclass, field
from pathlib import Path

from bot.store.database import PostgresAddress
from bot.testing.emulator.emulator import Emulator
from tests.server.process.warm import Forked
from tests.server.test_kill import Server

BOT = "name: Echo\ndefaults: {timeout: {after: 20h, then: end}}\n"
FLOW = """
flow: main
start: {otherwise: true}
vars: {text: {type: text}}
steps: {echo: {ask: "You wrote: {{ text }}", save: text, then: echo}}
"""


@dataclass
class Shared:
    """A gateway and a database, beside which servers are started; each has a folder of its own."""

    folder: Path
    gateway: Emulator
    store: PostgresAddress
    servers: list[Server] = field(default_factory=list)

    def start(self, name: str, *roles: str, flow: str = FLOW, handlers: str = "", **files: str) -> Server:
        """Start a server, with more files beside its bot, or without. It is stopped at the end of the test."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "bot.yml").write_text(BOT)
        (folder / "main.yml").write_text(flow)
        (folder / "handlers.py").write_text(handlers)
        for file, text in files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        self.servers.append(Server(folder, self.gateway, self.store.url, roles=roles, run=Forked))
        return self.servers[-1]
