"""The command line, called in this process."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from bot.cli import main

BOT = "name: Test Bot\ndefaults: {retry: {max: 3, else: end}, timeout: {after: 20h, then: end}, errors: {else: end}}\n"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def call(*arguments: str | Path, stdin: str = "") -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err), patch("sys.stdin", io.StringIO(stdin)):
        with patch.object(sys, "argv", ["bot", *map(str, arguments)]), patch.dict(os.environ):  # .env may add to it
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    return Outcome(code, out.getvalue(), err.getvalue())


def make_bot(folder: Path, flows: str, handlers: str = "", tests: str = "", bot: str = BOT) -> Path:
    (folder / "flows").mkdir(parents=True, exist_ok=True)
    (folder / "bot.yml").write_text(bot)
    (folder / "flows" / "main.yml").write_text(flows)
    if handlers:
        (folder / "handlers.py").write_text(handlers)
    if tests:
        (folder / "flows" / "tests.yml").write_text(tests)
    return folder
