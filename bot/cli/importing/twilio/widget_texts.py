"""The texts, values and conditions of a Studio widget in the words of this language."""

import json
import re
from typing import Any

from bot.cli.importing.imported import name_of
from bot.cli.importing.twilio.expressions import (
    LiquidError,
    LiquidExpression,
    LiquidFilter,
    LiquidOutput,
    LiquidWriter,
    WrittenLiquid,
    parse_liquid,
    paths_in,
    quoted,
)
from bot.cli.importing.twilio.reading import StudioCondition, StudioWidget
from bot.cli.importing.twilio.scope import StudioScope, TechnicalId
from bot.core.lazy_patterns import lazy_pattern

_NUMBER = lazy_pattern("-?[0-9]+([.][0-9]+)?")


class WidgetTexts:
    """The texts, values and conditions of a widget, and what may differ in them."""

    def __init__(self, scope: StudioScope, widget: StudioWidget) -> None:
        self.scope = scope
        self.widget = widget
        self.notes: list[str] = []
        self.lost: list[str] = []

    def json(self, text: str) -> Any:
        """JSON whose texts, and whose values without quotes, can be Liquid."""
        outputs: list[str] = []

        def hold(match: re.Match[str]) -> str:
            outputs.append(match[0].strip())
            return f'"\\u0000{len(outputs) - 1}"'

        try:
            data = json.loads(text)
        except ValueError:
            try:
                data = json.loads(re.sub(r"(?<=[:\[,])\s*\{\{.*?\}\}(?=\s*[,\]}])", hold, text))
            except ValueError:
                raise LiquidError("its body is no JSON") from None
        return self._in_json(data, outputs)

    def _in_json(self, data: Any, outputs: list[str]) -> Any:
        if isinstance(data, dict):
            return {key: self._in_json(value, outputs) for key, value in data.items()}
        if isinstance(data, list):
            return [self._in_json(value, outputs) for value in data]
        if not isinstance(data, str):
            return data
        if not data.startswith("\0"):
            return self.value(data)
        (node,) = parse_liquid(outputs[int(data[1:])])
        if not isinstance(node, LiquidOutput):
            raise LiquidError("its body is no JSON")
        expression = node.expression
        if isinstance(expression, LiquidFilter) and expression.name in ("json", "to_json"):
            expression = expression.operand
        written = self.expression(expression)
        if written.kind == "text":
            self.notes.append("a text that stands in the JSON without quotes is sent as a text")
        return f"{{{{ {written.safe} }}}}"

    def expression(self, node: LiquidExpression) -> WrittenLiquid:
        """An expression."""
        return self._writer().expression(node)

    def json_value(self, name: str, text: str) -> Any:
        """The JSON of a variable, which gets its type."""
        try:
            data = self.json(text)
        except LiquidError:
            nodes = parse_liquid(text)
            if len(nodes) == 1 and isinstance(nodes[0], LiquidOutput):
                return f"{{{{ {self.expression(nodes[0].expression).safe} }}}}"
            return self.value(text)
        kinds: dict[type, str] = {dict: "object", list: "list", bool: "boolean", int: "number", float: "number"}
        self.scope.declared[name]["type"] = kinds.get(type(data), "text")
        return data

    def _writer(self) -> LiquidWriter:
        return LiquidWriter(self._resolve, self.notes)

    def _resolve(self, parts: tuple[str | int, ...]) -> WrittenLiquid:
        if parts[-1] in ("From", "address"):
            self.notes.append('a number on WhatsApp has no "whatsapp:" before it')
        if parts == ("flow", "data"):
            self.notes.append("all values together are a record, which a text shows in another form")
        try:
            return self.scope.resolve(parts)
        except TechnicalId as error:
            self.notes.append(f"{error} is empty: nothing here has it")
            return WrittenLiquid('""', "text")

    def text(self, text: str) -> str:
        """A text with values."""
        try:
            return self._writer().template(text)
        except LiquidError as error:
            return self._function_for(text, error)

    def value(self, text: str) -> str:
        """A text for a variable of type text."""
        try:
            return self._writer().value(text)
        except LiquidError as error:
            return self._function_for(text, error)

    def argument(self, text: str) -> str:
        """A value for a function: all values with which the flow was started stay a record."""
        if text.strip("{ }") == "flow.data":
            return f"{{{{ {self._resolve(('flow', 'data')).text} }}}}"
        return self.value(text)

    def _function_for(self, text: str, error: LiquidError) -> str:
        """A call of a function that must make the text, with all values that the text reads."""
        self.lost.append(f"a text is made by a function in handlers.py that must be written: {error}")
        given: dict[str, str] = {}
        for path in paths_in(text):
            try:
                given.setdefault(name_of(str(path[-1]), given, "value"), self._resolve(path).safe)
            except LiquidError:
                continue
        title = f"{self.scope.flow}_{self.scope.names[self.widget.name]}_text"
        name = self.scope.bot.untranslatable(
            name_of(title, self.scope.bot.functions), text, dict.fromkeys(given, "Any"), "function"
        )
        return f"{{{{ {name}({', '.join(given.values())}) }}}}"

    def operand(self, text: str) -> str:
        """A text as an expression."""
        try:
            return self._writer().operand(text).safe
        except LiquidError as error:
            return self._function_for(text, error)[3:-3]

    def condition(self, condition: StudioCondition) -> str:
        """A condition. Capitals do not count in Studio, nor do the spaces around a text."""
        kind, is_opposite = condition.test
        subject = f"{self.operand(condition.argument or self.widget.text('input'))} | trim | lower"
        plain = condition.value.strip()
        value = quoted(plain.lower()) if "{" not in plain else f"({self.operand(plain)} | trim | lower)"
        if kind in _DIFFER:
            self.notes.append(_DIFFER[kind])
        try:
            written = written_condition(kind, subject, value, plain)
        except LiquidError as error:
            self.lost.append(f"{error}: it never holds")
            return "false"
        return f"not ({written})" if is_opposite else written


_DIFFER = {
    "regex": "the pattern must match the whole text, in capitals or not",
    "is_before_date": "days are compared as texts like 2030-05-12",
    "is_after_date": "days are compared as texts like 2030-05-12",
    "is_before_time": "times are compared as texts like 09:30",
    "is_after_time": "times are compared as texts like 09:30",
}


def written_condition(kind: str, subject: str, value: str, plain: str) -> str:
    """A condition in this language. ``value`` is an expression for the value, ``plain`` is as it was written."""
    if kind == "equal_to":
        return f"{subject} == {value}"
    if kind == "is_blank":
        return f'{subject} == ""'
    if kind == "contains":
        return f"{value} in {subject}"
    if kind == "starts_with":
        length = f"{value} | length" if "{" in plain else len(plain)
        return f"({subject})[:{length}] == {value}"
    if kind == "matches_any_of":
        if "{" in plain:
            return f'{subject} in ({value} | split(","))'
        return f"{subject} in [{', '.join(quoted(each.strip().lower()) for each in plain.split(','))}]"
    if kind in ("less_than", "greater_than"):
        sign = "<" if kind == "less_than" else ">"
        limit = plain if _NUMBER.fullmatch(plain) else f"({value} | as_number)"
        numbers = [subject] if _NUMBER.fullmatch(plain) else [subject, value]
        known = " and ".join(f"{each} | matches({quoted(_NUMBER.pattern)})" for each in numbers)
        return f"{known} and {subject} | as_number {sign} {limit}"
    if kind == "regex" and "{{" not in plain:
        try:
            re.compile(plain)
        except re.error:
            raise LiquidError(f'the pattern "{plain}" cannot be read') from None
        return f"{subject} | matches({quoted('(?i)' + plain)})"
    if kind in ("is_before_date", "is_after_date", "is_before_time", "is_after_time"):
        length = 10 if kind.endswith("date") else 5
        return f"({subject})[:{length}] {'<' if 'before' in kind else '>'} {value}[:{length}]"
    raise LiquidError(f'the condition "{kind}" has no counterpart here')
