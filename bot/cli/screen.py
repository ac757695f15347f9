"""The terminal of a chat: messages may come while a line is being typed. Works with piped input just as well."""

import sys
import threading

import click

PROMPT = "you: "
_CLEAR_LINE = "\r\033[K"


class Screen:
    """Asks for lines and prints, from any thread."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._lock = threading.Lock()
        self._asking = False
        if self._is_terminal:
            import readline

            self._typed = readline.get_line_buffer

    def ask(self) -> str | None:
        """The next line; None at the end of the input, and on Ctrl-C."""
        if not self._is_terminal:
            line = sys.stdin.readline()
            if line:
                self.print(PROMPT + line.rstrip("\n"))
            return line or None
        self._asking = True
        try:
            return input(PROMPT)
        except (EOFError, KeyboardInterrupt):
            click.echo()
            return None
        finally:
            self._asking = False

    def print(self, *lines: str) -> None:
        """Print lines; what is being typed moves below them."""
        with self._lock:
            if self._asking:
                click.echo(_CLEAR_LINE, nl=False)
            for line in lines:
                click.echo(line)
            if self._asking:
                click.echo(PROMPT + self._typed(), nl=False)
            sys.stdout.flush()
