"""Groups by query: `age > 50 AND gender = male` becomes a condition, and a flow keeps the tags of these groups."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.cli.importing.imported import name_of
from bot.cli.importing.rapidpro.expressions import Untranslatable, quoted
from bot.core.lazy_patterns import lazy_pattern

_TOKEN = lazy_pattern(r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<sign>\(|\)|!=|>=|<=|[=~<>])|(?P<word>[^\s()=~<>!"]+))')


class GroupQuery:
    """Reads a query as a condition of the new bot. ``subject`` gives the value of a property, as an expression."""

    def __init__(self, query: str, subject: Callable[[str], str]) -> None:
        self._tokens = [found[found.lastgroup or 0] for found in _TOKEN.finditer(query)]
        self._subject = subject

    def read(self) -> str:
        """Return the condition. Raises `Untranslatable`."""
        condition = self._any()
        if self._tokens:
            raise Untranslatable(f"{self._tokens[0]} in a query")
        return condition

    def _next(self) -> str:
        return self._tokens[0].lower() if self._tokens else ""

    def _any(self) -> str:
        parts = [self._all()]
        while self._next() == "or":
            self._tokens.pop(0)
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"

    def _all(self) -> str:
        parts = [self._one()]
        while self._next() not in ("", "or", ")"):
            if self._next() == "and":
                self._tokens.pop(0)
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else f"({' and '.join(parts)})"

    def _one(self) -> str:
        if self._next() == "(":
            self._tokens.pop(0)
            condition = self._any()
            if self._next() != ")":
                raise Untranslatable("a query without its closing bracket")
            self._tokens.pop(0)
            return condition
        if len(self._tokens) < 3:
            raise Untranslatable("a query without a comparison")
        name, sign, value = self._tokens[:3]
        del self._tokens[:3]
        sign = {"is": "=", "has": "~"}.get(sign.lower(), sign)
        if sign not in ("=", "!=", "~", ">", ">=", "<", "<="):
            raise Untranslatable(f"{sign} in a query")
        text = value[1:-1] if value.startswith('"') else value
        return f"fits_query({self._subject(name.lower())}, {quoted(sign)}, {quoted(text)})"


def group_steps(groups: Mapping[str, str]) -> dict[str, Any]:
    """Return the steps that give a contact the tags of the groups whose conditions are true, and take the others."""
    steps: dict[str, Any] = {}
    names: list[str] = []
    for group in groups:
        names.append(name_of(group, names, "group"))
    for place, (group, condition) in enumerate(groups.items()):
        name, following = names[place], [*names, "end"][place + 1]
        steps[name] = {"branch": [{"if": condition, "then": f"join_{name}"}, {"else": f"leave_{name}"}]}
        steps[f"join_{name}"] = {"tag": group, "then": following}
        steps[f"leave_{name}"] = {"untag": group, "then": following}
    return steps
