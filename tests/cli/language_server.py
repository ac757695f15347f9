"""A real YAML language server, which editors start as well, over its standard streams."""

import itertools
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any, Self

from tests.patience import PATIENCE

CURSOR = "|"


class LanguageServer:
    """A server for the files of a folder. Documents are opened in it as their texts, wherever they are said to lie."""

    def __init__(self, program: Path, folder: Path, settings: Mapping[str, Any]) -> None:
        self._folder, self._settings = folder, settings
        self._numbers = itertools.count(1)
        self._complaints: dict[str, list[str]] = {}
        self._process = subprocess.Popen([program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._watch = Timer(PATIENCE, self._process.kill)  # one that hangs is killed, so that the test fails

    def __enter__(self) -> Self:
        self._watch.start()
        able = {
            "workspace": {"configuration": True},
            "textDocument": {"completion": {"completionItem": {"snippetSupport": True}}},
        }
        folders = [{"uri": self._folder.as_uri(), "name": self._folder.name}]
        self._ask(
            "initialize", processId=None, rootUri=self._folder.as_uri(), workspaceFolders=folders, capabilities=able
        )
        self._tell("initialized")
        self._tell("workspace/didChangeConfiguration", settings={})
        while self._take().get("method") != "workspace/configuration":
            pass  # until it has asked for them, and so has them
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.cancel()
        self._process.kill()
        self._process.communicate()

    def complaints(self, path: str, *texts: str) -> list[list[str]]:
        """What the server has against each document, as ``line: message``, in the order of the lines."""
        opened = [self._open(path, text) for text in texts]
        while {*opened} - self._complaints.keys():
            self._take()
        return [self._complaints[uri] for uri in opened]

    def offered(self, path: str, text: str) -> list[str]:
        """What the server offers to write where the cursor is."""
        found = self._at_cursor("textDocument/completion", path, text)
        return [item["label"] for item in found["items"]]

    def explained(self, path: str, text: str) -> str:
        """What the server shows of what the cursor is on."""
        found: str = self._at_cursor("textDocument/hover", path, text)["contents"]["value"]
        return found

    def _at_cursor(self, method: str, path: str, text: str) -> Any:
        before, _, after = text.partition(CURSOR)
        place = {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}
        return self._ask(method, textDocument={"uri": self._open(path, before + after)}, position=place)

    def _open(self, path: str, text: str) -> str:
        number = next(self._numbers)  # no document is opened twice
        uri = (self._folder / path.replace("*", str(number))).as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": number, "text": text}
        self._tell("textDocument/didOpen", textDocument=document)
        return uri

    def _ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._take()
            if message.get("id") == number and "method" not in message:
                return message["result"]

    def _tell(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _take(self) -> dict[str, Any]:
        """The next message; what it says of documents is noted, and what it asks for is given."""
        message = self._read()
        if message.get("method") == "textDocument/publishDiagnostics":
            found = sorted(message["params"]["diagnostics"], key=lambda each: each["range"]["start"]["line"])
            lines = [f"{each['range']['start']['line'] + 1}: {each['message']}" for each in found]
            self._complaints[message["params"]["uri"]] = lines
        elif "method" in message and "id" in message:
            wanted = message["params"].get("items", ())
            self._send({"id": message["id"], "result": [self._settings.get(item["section"]) for item in wanted]})
        return message

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the language server has ended"
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message
