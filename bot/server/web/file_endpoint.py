"""The endpoint from which the gateway fetches the files of messages: those of the bot's own, texts made into files, and
those that a person sends.

Nobody else can know an address: it is sealed, and it expires.
"""

from collections.abc import Callable
from datetime import datetime
from urllib.parse import quote

from flask import Flask, Response

from bot.core.clock import Clock
from bot.core.filetypes import END, TXT, type_of
from bot.core.own_addresses import OwnAddresses
from bot.server.web.web_endpoints import RETRY_AFTER, WholeResponse, json_answer
from bot.store.files import StoreUnavailable
from bot.store.store_reader import StoreReader

CSV = ".csv"
_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}


class FileEndpoint:
    """Answers with the file that an address is about.

    ``own`` returns the content of a file of the bot's own by its path, ``kept`` that of a contact's kept file by its
    name, both None if it is missing. A file that is made of a text stands in its message, which the ``store`` has.
    """

    def __init__(
        self,
        addresses: OwnAddresses | None,
        own: Callable[[str], bytes | None],
        kept: Callable[[str, str], bytes | None],
        store: StoreReader,
        clock: Clock,
    ) -> None:
        self._addresses = addresses
        self._own = own
        self._kept = kept
        self._store = store
        self._clock = clock

    def add_to(self, app: Flask) -> None:
        """Add the route."""
        app.add_url_rule("/files/<token>/<name>", "file", self.file)

    def file(self, token: str, name: str) -> Response:
        """The file. Strangers get 404, and an address that has expired 410."""
        address = None if self._addresses is None else self._addresses.read_file(token, name)
        if address is None:
            return json_answer(404, "there is nothing here")
        if not address.is_valid(self._clock.now()):
            return json_answer(410, "this address has expired")
        try:
            if address.kept_as:
                content = self._kept(address.made_for, address.kept_as)
            elif address.made_for:
                content = self._made(address.made_for, f"/files/{token}/{quote(name)}", address.at)
            else:
                content = self._own(address.path)
        except StoreUnavailable:
            return json_answer(503, "the file cannot be read now: ask again", RETRY_AFTER)
        if content is None:
            return json_answer(404, "this file is not there any more")
        found = type_of(content[:END], content[-END:])
        kind = "application/octet-stream" if found is None else found.name
        answer = WholeResponse(
            content, content_type=f"{kind}; charset=utf-8" if found == TXT else kind, headers=_HEADERS
        )
        answer.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name)}"
        return answer

    def _made(self, contact: str, ends: str, at: datetime) -> bytes | None:
        """The file of a message; None if the message is not kept any more, or its contact was erased."""
        message = self._store.messages.with_file(contact, ends, at)
        if message is None or message.content is None:
            return None
        marked = (message.filename or "").lower().endswith(CSV)  # else spreadsheets take it for another encoding
        return message.content.encode("utf-8-sig" if marked else "utf-8", "replace")
