"""The parts of a view: routes, each with the role that it needs, and the running bot that they show."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from time import monotonic
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from flask import g
from werkzeug.wrappers import Response

from bot.core.clock import Clock
from bot.core.engine_answers import EngineAnswer, EngineRefused
from bot.core.engine_requests import A, Act, EngineRequest, as_json
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.own_addresses import OwnAddresses
from bot.language.flow.documents import BOT_FILE
from bot.loading.folder import Folder, NoBot, read_folder
from bot.pages.console.live_check import LiveCheck
from bot.pages.console.login import Login
from bot.pages.console.masking import masked_number
from bot.server import local_socket
from bot.store.database import StoreAddress
from bot.store.files import StoreUnavailable
from bot.store.published_versions import PublishedVersion, files_of, served_version
from bot.store.store_reader import StoreReader

REFRESH = "X-Refresh"  # the header of a page that asks for itself, while its user may be far away
ENGINE_SECONDS = 10.0  # for the engine to answer
LONG = 0.05  # seconds
THE_SAME_FILES_LAST = 3600.0  # seconds
_MOST_KEPT = 100
T = TypeVar("T")
log = logging.getLogger("bot.pages.console")


class ActionRefused(BotError):
    """The user's request was not carried out; the text says why."""


class Console:
    """The live bot: what there is to see of it (``reader``), and what can be asked of its engine.

    ``addresses`` are those of files that persons send; None: the bot has no public address.
    """

    def __init__(
        self, folder: Folder, store: StoreAddress, clock: Clock, addresses: OwnAddresses | None = None
    ) -> None:
        self.addresses = addresses
        self.folder = folder
        self.clock = clock
        self.store = store
        self.reader = StoreReader(store)
        self.live_check = LiveCheck(folder.path, store, clock)
        self._kept: dict[object, tuple[float, Any]] = {}
        self._bot = folder.name, folder.timezone

    def changes(self) -> str:
        """A text that differs when there is something else to see."""
        return f"{self.reader.commits()}.{self.live_check.changes}"

    @property
    def name(self) -> str:
        """The name of the bot that is served."""
        return self._served_bot()[0]

    @property
    def zone(self) -> tzinfo:
        """The time zone of the bot that is served."""
        return self._served_bot()[1]

    def _served_bot(self) -> tuple[str, ZoneInfo]:
        """Both, looked up once for each request. While the store or the file cannot be read they are as they were."""
        if "served_bot" not in g:
            with suppress(StoreUnavailable, NoBot, OSError):
                served = served_version(self.reader.database)
                file = (self.folder.path / BOT_FILE).stat() if served is None else None
                what = "bot", served, file and (file.st_mtime_ns, file.st_size)
                self._bot = self.cached(what, partial(self._read_served_bot, served), lambda _: THE_SAME_FILES_LAST)
            g.served_bot = self._bot
        found: tuple[str, ZoneInfo] = g.served_bot
        return found

    def _read_served_bot(self, served: PublishedVersion | None) -> tuple[str, ZoneInfo]:
        path = self.folder.path
        files = read_folder(path) if served is None else files_of(self.reader.database, served.number, path)
        return (files.name, files.timezone) if files.is_named else self._bot

    def cached(self, what: object, read: Callable[[], T], seconds: Callable[[T], float] = lambda found: 0.0) -> T:
        """Return the result of ``read``, cached for all users: for ``seconds``, or fifty times as long as a slow
        reading took.
        """
        begun = monotonic()
        if what in self._kept and begun < self._kept[what][0]:
            found: T = self._kept[what][1]
            return found
        found = read()
        took = monotonic() - begun
        if keep := max(seconds(found), 50 * took if took > LONG else 0.0):
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[what] = monotonic() + keep, found
        return found

    def ask(self, request: EngineRequest[A]) -> A:
        """Ask the engine something that changes nothing. Raises `ActionRefused` in its words, and
        `bot.server.local_socket.NotRunning`.
        """
        try:
            return local_socket.ask_engine(self.store, request, ENGINE_SECONDS)
        except EngineRefused as error:
            raise ActionRefused(str(error)) from error

    def act(self, request: Act[A]) -> A:
        """Have an operator's request done in the user's name, and note it in the log: who, what, and what about (of a
        contact's number the last digits).

        Raises as `ask` does.
        """
        answer = self.ask(replace(request, by=current_login().user.name))
        fields = as_json(request)
        about = masked_number(fields["contact"]) if "contact" in fields else fields.get("ids", fields.get("name", ""))
        note_action(request.do, about)
        return answer

    def tried(self, request: Act[EngineAnswer]) -> bool:
        """Have something done as `act` does. The user's next page says what is refused."""
        try:
            self.act(request)
        except (ActionRefused, local_socket.NotRunning) as error:
            say(str(error))
            return False
        return True


View = Callable[..., str | Response]
"""Makes a page: called with the `Console`, the `User`, and by name the address's parts between ``<`` and ``>``."""


@immutable
class Route:
    """A view at an address below the console's, for users whose role is ``role`` or may do more.

    With a ``title`` it is an entry of the navigation. With ``posts`` it takes the form of a page instead.
    """

    address: str
    view: View
    role: str
    title: str = ""
    posts: bool = False

    @property
    def name(self) -> str:
        """The name for ``url_for``."""
        return self.view.__name__


def current_login() -> Login:
    """The login of the user who has made this request."""
    login: Login = g.login
    return login


def note_action(what: str, about: object) -> None:
    """Note in the log what the user does, and what about."""
    user = current_login().user
    log.warning("%s (%s): %s %s", user.name, user.role, what, about)


def say(sentence: str) -> None:
    """Show a note on the user's next page."""
    current_login().said.append(sentence)
