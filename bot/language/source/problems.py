"""Problems of a bot's files: what is wrong, at which place, and what to do. They are collected, not raised.

It reads ``flows/order.yml:14:9: E102 no step "pya" (did you mean "pay"?)``.
"""

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from bot.core.immutable import immutable


@immutable
class Mark:
    """A place in a file; line and column count from 1."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"

    @property
    def position(self) -> tuple[str, int, int]:
        """Its file, line and column: by it, places are in order."""
        return self.path, self.line, self.column


CODES: dict[str, str] = {
    # E0: the file and its YAML
    "E001": "the file cannot be read as text",
    "E002": "the YAML cannot be read",
    "E003": "the file is too large",
    "E004": "nested too deeply",
    "E005": "an alias, an anchor or a tag",
    "E006": "a key twice",
    "E007": "a text that YAML reads as something else",
    "E008": "a key that is no text",
    # E1: structure, keys, names and targets
    "E100": "a part of the bot is missing or stands twice",
    "E101": "a document of no known kind",
    "E102": "no such step",
    "E103": "no such flow",
    "E104": "an unknown key",
    "E105": "something needed is missing",
    "E106": "a value of the wrong form",
    "E107": "not exactly one verb",
    "E108": "a bad name",
    "E109": "an unknown choice",
    "E110": "not a target",
    "E111": "two flows of one name",
    "E112": "a step's name where no flow is",
    "E113": "no such file",
    "E114": "a locale that has no place",
    "E115": "no such opening hours",
    "E116": "a name under which nothing is scheduled",
    "E121": "two keys that exclude each other",
    "E122": "what comes after `else`, or after a transition without `if`",
    "E123": "an option that has no effect at this step",
    "E124": "`retry` beside `other`",
    "E130": "an outcome that leads nowhere",
    "E131": "a transition without a target",
    "E140": "a loop that never waits",
    # E2: templates and expressions
    "E201": "a template that cannot be read",
    "E202": "an expression that cannot be read",
    "E203": "something that templates may not do",
    "E204": "no such filter, test or function",
    "E205": "a template that is too large or too deep",
    # E3: variables and words
    "E301": "no such variable",
    "E302": "no such property of a contact",
    "E303": "a value that does not fit its variable",
    "E304": "no such type",
    "E305": "a pattern that cannot be read",
    "E306": "a name that is taken",
    "E307": "bounds that nothing can keep",
    "E308": "a definition that reads itself",
    "E311": "one word for two answers",
    "E312": "a word that is taken",
    "E313": "two flows for one event, or for everything else",
    # E4: the gateway's limits
    "E401": "too many choices",
    "E402": "a text that is too long",
    "E403": "a part that this message cannot have",
    "E404": "a file that the gateway refuses",
    "E405": "not an address",
    "E406": "a title twice",
    "E407": "a file of the bot that is not there",
    # E5: handlers
    "E501": "no such handler",
    "E502": "no such argument",
    "E503": "an argument is missing",
    "E504": "an error that the step cannot end with",
    "E505": "handlers.py cannot be read",
    "E506": "a handler that no model can call",
    "E507": "a handler whose result is of the wrong type",
    "E508": "no such service",
    "E509": "no such secret",
    "E510": "an address in a private network",
    "E511": "no such tool of an MCP server",
    # E6: tests
    "E601": "a line of a conversation that cannot be read",
    "E602": "a time that cannot be read",
}


@immutable(order=True)
class Problem:
    """A problem: what is wrong, and what to do about it."""

    path: str
    line: int
    column: int
    code: str
    what: str
    fix: str = ""

    @property
    def mark(self) -> Mark:
        """Its place."""
        return Mark(self.path, self.line, self.column)

    @property
    def place(self) -> tuple[str, int, int, str]:
        """Its place and its code."""
        return self.path, self.line, self.column, self.code

    def __str__(self) -> str:
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.what}{fix}"


class Problems:
    """All problems found so far.

    ``definitions`` are the names that expressions may use where they are found, each with what it stands for
    (`bot.language.expressions.templates.Definition`). ``types`` are the bot's own types of variables, by their names
    (`bot.language.types.variable.Variable`).

    ``unread`` are the files in which any part may be unread; ``undeclared`` are those in which only variables,
    definitions or defaults of flows could not be read. ``emptied`` are the lines, by file and number, of keys whose
    values could not be read: only these keys are known. ``taken`` are names, by file, that are declared but not
    allowed: reading them is no further problem.
    """

    def __init__(self) -> None:
        self._found: set[Problem] = set()
        self.definitions: Mapping[str, Any] = {}
        self.types: Mapping[str, Any] = {}
        self.unread: set[str] = set()
        self.undeclared: set[str] = set()
        self.emptied: dict[tuple[str, int], tuple[str, str]] = {}  # the document's key, and the one below it
        self.taken: set[tuple[str, str]] = set()

    def defining(self, definitions: Mapping[str, Any]) -> "Problems":
        """The same problems, where expressions may use these names as well."""
        inner = copy(self)
        inner.definitions = {**self.definitions, **definitions}
        return inner

    def apart(self) -> "Problems":
        """No problems yet, with the same names, types and files: for what one part of the bot adds."""
        inner = copy(self)
        inner._found = set()
        return inner

    def add(self, code: str, mark: Mark, what: str, fix: str = "") -> Problem:
        """Note a problem. Raises `KeyError` for a code that is not in `CODES`."""
        CODES[code]
        problem = Problem(mark.path, mark.line, mark.column, code, what, fix)
        self._found.add(problem)
        return problem

    def check_name(self, code: str, mark: Mark, name: str, known: Collection[str], what: str, fix: str = "") -> None:
        """Note a name that is not known. The fix is the name that is probably meant, else ``fix``."""
        if name not in known:
            self.add(code, mark, what, did_you_mean(name, known, fix))

    def add_taken(self, mark: Mark, what: str, name: str, why: str, fix: str) -> None:
        """Note that a name cannot be declared (E306)."""
        self.add("E306", mark, f"{what}: {why}", fix)
        self.taken.add((mark.path, name))

    def is_taken(self, mark: Mark, name: str) -> bool:
        """True if a name is declared in the file of a mark, and cannot be."""
        return (mark.path, name) in self.taken

    def withdraw(self, problems: Iterable[Problem]) -> None:
        """Remove problems that follow from another one."""
        self._found.difference_update(problems)

    def take_over(self, further: "Problems", path: str, where: str) -> None:
        """Add the problems of the same files, read again with the texts of another file, ``path``: all except those
        whose code is known at the same place. One that stands in a different file begins with ``where``, because it
        only occurs there.
        """
        known = {found.place for found in self._found}
        for found in further._found:
            if found.place not in known:
                what = found.what if found.path == path else f"{where}: {found.what}"
                self._found.add(replace(found, what=what))

    def include(self, further: "Problems") -> None:
        """Add the problems of other files."""
        self._found |= further._found
        self.unread |= further.unread
        self.emptied |= further.emptied
        self.taken |= further.taken

    def of_line(self, line: int) -> "Problems":
        """The problems of a line."""
        found = Problems()
        found._found = {each for each in self._found if each.line == line}
        return found

    def drop(self, codes: Collection[str], paths: Collection[str] | None = None) -> None:
        """Remove the problems of some codes, in some files or in all."""
        within = {found for found in self._found if paths is None or found.path in paths}
        self._found -= {found for found in within if found.code in codes}

    def paths(self, codes: Collection[str]) -> frozenset[str]:
        """The files that have a problem with one of these codes."""
        return frozenset(found.path for found in self._found if found.code in codes)

    def any_of(self, codes: Collection[str]) -> bool:
        """True if one of these codes has been found."""
        return any(problem.code in codes for problem in self._found)

    def sorted(self) -> list[Problem]:
        """All of them, by file, line and column."""
        return sorted(self._found)

    def __len__(self) -> int:
        return len(self._found)


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that is most like a misspelt word."""
    known = {candidate.lower(): candidate for candidate in reversed([*candidates])}
    import difflib  # 1 ms, which a bot without problems need not spend

    word = word.lower()
    letters = sorted(word)
    alike = [  # "main" is not "again", and "munber" is "number"
        each for each in known if each[:1] == word[:1] or word.endswith(each) or sorted(each) == letters
    ]
    close = difflib.get_close_matches(word, known, 1, 0.72) or difflib.get_close_matches(word, alike, 1, 0.62)
    return known[close[0]] if close else None


CALLED_ELSEWHERE: dict[str, str | tuple[str, ...]] = {
    "text": "say", "message": "say", "send": "say", "reply": "say",
    "question": "ask", "prompt": "ask", "input": "ask",
    "if": "branch", "condition": "branch", "switch": "branch",
    "goto": "then", "next": "then", "exit": "end", "quit": "end", "stop": "end", "finish": "end", "repeat": "again", "previous": "back",
    "body": "json", "params": ("body", "query", "with"), "parameters": ("body", "query", "with"), "args": "with", "arguments": "with", "photo": "image", "picture": "image", "file": "document",
    "url": "link", "lat": "latitude", "lon": "longitude", "lng": "longitude", "in": "after",
    "delay": ("wait", "after"), "pause": "wait", "sleep": "wait", "variables": "vars", "trigger": "start", "description": "about",
    "choices": ("options", "of"), "options": "of", "values": "of", "enum": ("of", "choice"), "quick_replies": ("buttons", "replies"), "buttons": "replies",
    "required": "needed", "mandatory": "needed", "default": "value", "min": "after", "max": "before", "regex": "pattern",
    "string": "text", "str": "text", "int": "integer", "float": "number", "bool": "boolean", "array": "list",
}  # fmt: skip
"""Names of verbs, keys and types in other tools, with the names here: the first that is known in a place counts."""


def called_here(word: str, candidates: Collection[str]) -> str | None:
    """The candidate that other tools call by this word."""
    elsewhere = CALLED_ELSEWHERE.get(word.lower(), ())
    return next(
        (each for each in ([elsewhere] if isinstance(elsewhere, str) else elsewhere) if each in candidates), None
    )


def meant_by(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that is meant: what other tools call so, or what is most like it."""
    candidates = list(candidates)
    return called_here(word, candidates) or nearest(word, candidates)


_LOOKALIKES = {
    **dict.fromkeys("\u00a0\u2007\u202f\u3000", "a plain space in place of one that does not break"),
    **dict.fromkeys("“”„‟«»‘‚", "straight quotes in place of curly ones"),
    "：": "a plain colon and a space in place of the wide one",
    "，": "a plain comma in place of the wide one",
}
"""Characters that YAML does not take for the one that is meant, each with what to write."""


def lookalike(word: str) -> str | None:
    """The text of a fix for a name that has a character which only looks like the one that is meant."""
    return next((f"write {meant}" for letter, meant in _LOOKALIKES.items() if letter in word), None)


def did_you_mean(word: str, candidates: Iterable[str], otherwise: str = "") -> str:
    """The text of a fix: the candidate that is meant, or what to do when there is none."""
    if "=" in word:
        return "write a colon and a space in place of ="
    if (fix := lookalike(word)) is not None:
        return fix
    found = meant_by(word, candidates)
    return otherwise if found is None else f'did you mean "{found}"?'
