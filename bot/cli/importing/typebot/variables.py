"""The variables of Typebots: their types, and texts and conditions that read them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bot.cli.importing.imported import name_of, written_out
from bot.cli.importing.typebot.evaluation import measure, python_pattern
from bot.cli.importing.typebot.expressions import (
    ANY,
    LIST,
    NUMBER,
    TEXT,
    NoJavaScript,
    OurExpression,
    UnknownJavaScript,
    parse,
    parse_path,
    quoted,
    translate,
)
from bot.cli.importing.typebot.interpreting import HTTP_BLOCKS, saved_names
from bot.cli.importing.typebot.reading import BUBBLES, INPUTS, PLACEHOLDER, TypebotBlock, TypebotExport

_URL_PATTERN = r"(https?://)?([\w-]+\.)+[a-zA-Z]{2,}(:\d+)?([/?#]\S*)?"
KEPT = ("email input", "url input", "number input", "rating input")
"""Inputs whose answers Typebot keeps as they are here."""
LISTED = ("Append value(s)", "Pop", "Shift")
"""The ways of setting a variable that make it a list."""
_ORDERED = {"Greater than": ">", "Less than": "<", "Greater or equal to": ">=", "Less or equal to": "<="}


class TypebotVariables:
    """The variables of all exports: their names here, the kinds of their values, their declarations."""

    def __init__(self, exports: Sequence[TypebotExport]) -> None:
        self._exports = exports
        self._writers = _writers(exports)
        titles = dict.fromkeys(name for export in exports for name in export.variables.values())
        self._names: dict[str, str] = {}
        for title in titles:
            self._names[title] = name_of(title, {*self._names.values(), "answer", "status"}, "value")
        self.kinds: dict[str, str] = dict.fromkeys(titles, TEXT)
        self.declared: dict[str, dict[str, Any]] = {}
        for _ in range(3):
            self.kinds = {title: self._kind(title) for title in titles}

    @property
    def expressions(self) -> dict[str, OurExpression]:
        """The variables in expressions, by their titles."""
        return {title: OurExpression(name, self.kinds[title]) for title, name in self._names.items()}

    def name(self, title: str) -> str:
        """The name of a variable, which is declared from now on."""
        self.declared.setdefault(self._names[title], self.spec(title))
        return self._names[title]

    def spec(self, title: str) -> dict[str, Any]:
        """The declaration of a variable."""
        writers = self._writers.get(title, [])
        own = input_spec(writers[0]) if len(writers) == 1 and writers[0].type in KEPT else None
        return own if own and self.kinds[title] != LIST else {"type": self.kinds[title]}

    def helper(self, title: str, spec: dict[str, Any]) -> str:
        """Declare one more variable, for an answer that is not kept as it is. Returns its name."""
        name = name_of(f"{title} answer", {*self._names.values(), *self.declared})
        self.declared[name] = spec
        return name

    def _kind(self, title: str) -> str:
        kinds = {kind for block in self._writers.get(title, []) for kind in self._written(block, title)}
        return LIST if LIST in kinds else NUMBER if kinds == {NUMBER} else TEXT

    def _written(self, block: TypebotBlock, title: str) -> Iterator[str]:
        options = block.options
        if block.type in INPUTS:
            yield NUMBER if block.type in ("number input", "rating input") else TEXT
        elif block.type == "Set variable" and options.get("type") in (None, "Custom"):
            try:
                kind = translate(parse(str(options.get("expressionToEvaluate") or "")), self.expressions).kind
                yield kind if kind in (NUMBER, LIST) else TEXT
            except (NoJavaScript, UnknownJavaScript):
                yield TEXT
        elif block.type == "Set variable":
            is_own = any(export.variables.get(options.get("variableId") or "") == title for export in self._exports)
            if options.get("type") != "Empty":
                yield LIST if options.get("type") in LISTED and is_own else TEXT
        elif block.type in HTTP_BLOCKS:
            for path in answer_paths(self._exports, block, title):
                yield LIST if path.kind == LIST else TEXT
        else:
            yield LIST if block.type == "list" else TEXT


def _writers(exports: Sequence[TypebotExport]) -> dict[str, list[TypebotBlock]]:
    """The blocks that write each variable, and those that need it to be a list."""
    found: dict[str, list[TypebotBlock]] = {}

    def add(export: TypebotExport, block: TypebotBlock, *ids: Any) -> None:
        for each in ids:
            if each in export.variables:
                found.setdefault(export.variables[each], []).append(block)

    for export in exports:
        for block in export.blocks():
            options = block.options
            if block.type in INPUTS or block.type == "Set variable":
                add(export, block, options.get("variableId"), options.get("saveItemInVariableId"))
            for each in options.get("responseVariableMapping") or []:
                add(export, block, each.get("variableId"))
            if block.type not in (*INPUTS, *BUBBLES, "Set variable", *HTTP_BLOCKS):
                for name in saved_names(export, block):
                    found.setdefault(name, []).append(block)
            mapped, dynamic = options.get("mapListItemParams") or {}, options.get("dynamicItems") or {}
            as_list = TypebotBlock("", "list", None, {}, {}, (), "", 0, "")
            add(export, as_list, options.get("dynamicVariableId"), mapped.get("baseListVariableId"))
            add(export, as_list, mapped.get("targetListVariableId"), dynamic.get("titlesVariableId"))
    return found


def answer_paths(exports: Sequence[TypebotExport], block: TypebotBlock, title: str) -> Iterator[OurExpression]:
    """The expressions, over a service's answer, that a request saves in a variable."""
    names = {"data": OurExpression("answer", ANY), "statusCode": OurExpression("status", NUMBER)}
    for each in block.options.get("responseVariableMapping") or []:
        is_meant = any(export.variables.get(each.get("variableId") or "") == title for export in exports)
        if is_meant and each.get("bodyPath"):
            try:
                yield translate(parse_path(each["bodyPath"]), names)
            except (NoJavaScript, UnknownJavaScript):
                continue


def input_spec(block: TypebotBlock) -> dict[str, Any] | None:
    """The type of an input's answers; None where any text is an answer."""
    options = block.options
    match block.type:
        case "email input":
            return {"type": "email"}
        case "url input":
            return {"type": "text", "pattern": _URL_PATTERN}
        case "number input":
            limits = {key: literal_number(options.get(key)) for key in ("min", "max")}
            return {"type": "number", **{key: value for key, value in limits.items() if value}}
        case "rating input":
            return {"type": "number", "max": options.get("length") or 10}
        case "phone number input":
            country = options.get("defaultCountryCode")
            return {"type": "phone", **({"country": country} if country else {})}
        case "date input" if not options.get("isRange"):
            return {"type": "datetime" if options.get("hasTime") else "date"}
        case "time input":
            return {"type": "time"}
        case "file input":
            return {"type": "media"}
        case _:
            return None


def literal_number(value: Any) -> float | int | None:
    """The number that is written; None for any other value."""
    found = re.fullmatch(r"-?\d+(\.\d+)?", str(value).strip())
    return None if found is None else float(found[0]) if found[1] else int(found[0])


class TypebotTexts:
    """Texts and conditions with variables, in our language."""

    def __init__(self, variables: TypebotVariables) -> None:
        self._variables = variables
        self.notes: list[str] = []

    def template(self, text: str) -> str:
        """A text with the values of its variables."""
        return "".join(self._parts(text, written_out, lambda found: f"{{{{ {found.text} }}}}"))

    def expression(self, text: str) -> str:
        """The same as an expression."""
        parts = self._parts(text, quoted, lambda found: found.inner)
        return " ~ ".join(part for part in parts if part != "''") or "''"

    def taken(self) -> list[str]:
        """Return the differences of the texts since the last time."""
        notes, self.notes = self.notes, []
        return list(dict.fromkeys(notes))

    def reads(self, text: str) -> set[str]:
        """The titles of the variables that a text shows."""
        return {found["name"] for found in PLACEHOLDER.finditer(text) if found["name"]}

    def _parts(self, text: str, words: Callable[[str], str], value: Callable[[OurExpression], str]) -> Iterator[str]:
        at = 0
        for found in PLACEHOLDER.finditer(text):
            yield words(text[at : found.start()])
            at = found.end()
            if (expression := self._value(found)) is not None:
                yield value(expression)
        yield words(text[at:])

    def _value(self, found: re.Match[str]) -> OurExpression | None:
        if found["code"]:
            try:
                made = translate(parse(found["code"]), self._variables.expressions)
            except (NoJavaScript, UnknownJavaScript) as error:
                self.notes.append(f"the code {found['code'].strip()} is left out ({error}): write it as an expression")
                return None
            self.notes += made.notes
            read = self.reads(found["code"].replace("{{=", ""))
            if read:
                self.notes.append("code with a variable that has no value fails here")
            for name in read & self._variables.kinds.keys():
                self._variables.name(name)
            return made
        if found["name"] not in self._variables.kinds:
            return None
        self._variables.name(found["name"])
        variable = self._variables.expressions[found["name"]]
        return OurExpression(variable.as_text, TEXT) if variable.kind == LIST else variable

    def condition(self, export: TypebotExport, condition: Mapping[str, Any] | None) -> str:
        """A condition as an expression."""
        found = [self._comparison(export, each) for each in (condition or {}).get("comparisons") or []]
        word = " or " if (condition or {}).get("logicalOperator") == "OR" else " and "
        return found[0] if len(found) == 1 else word.join(f"({each})" for each in found) or "false"

    def _comparison(self, export: TypebotExport, comparison: Mapping[str, Any]) -> str:
        title = export.variables.get(comparison.get("variableId") or "")
        operator, written = comparison.get("comparisonOperator"), str(comparison.get("value") or "")
        if title is None or operator is None:
            return "false"
        left = OurExpression(self._variables.name(title), self._variables.kinds[title])
        if operator in ("Is set", "Is empty"):
            found = {LIST: f"({left.text} | default([]) | length) > 0", TEXT: f"({left.text} | default('')) != ''"}
            is_set = found.get(left.kind, f"{left.text} is not null")
            opposite = is_set.replace(" > 0", " == 0").replace(" != ''", " == ''").replace("is not null", "is null")
            return is_set if operator == "Is set" else opposite
        if written in ("undefined", "null"):
            some = f"({left.text} | default([]) | length) > 0" if left.kind == LIST else "false"
            found = {"Equal to": f"{left.text} is null", "Not equal": f"{left.text} is not null", "Contains": some}
            return found.get(operator, "true" if operator == "Does not contain" else "false")
        if operator in _ORDERED:
            if not (limit := self._limit(written, left.kind)):
                return "false"
            return f"{left.text} is not null and {self._measured(left)} {_ORDERED[operator]} {limit}"
        if operator in ("Matches regex", "Does not match regex"):
            return self._pattern(left, written, operator == "Matches regex")
        return self._texts(left, operator, written)

    def _measured(self, value: OurExpression) -> str:
        if value.kind == NUMBER:
            return value.text
        if value.kind == LIST:
            return f"({value.text} | length)"
        self.notes.append("a day as a text is compared by its length")
        return f"(({value.text} | as_number) if {value.text} | matches('-?[0-9]+([.][0-9]+)?') else ({value.text} | length))"

    def _limit(self, written: str, kind: str) -> str:
        """The number that a value is compared with; empty where the comparison is never true."""
        single = re.fullmatch(r"\{\{([^{}]+)\}\}", written)
        if single and single[1] in self._variables.kinds:
            name = self._variables.name(single[1])
            return self._measured(OurExpression(name, self._variables.kinds[single[1]]))
        if PLACEHOLDER.search(written):
            self.notes.append("a limit with variables among words is not translated: the condition is false here")
            return ""
        number = measure(written)
        if kind == LIST and literal_number(written or "0") is None:
            return ""
        return str(int(number) if float(number).is_integer() else number)

    def _pattern(self, left: OurExpression, written: str, is_wanted: bool) -> str:
        pattern = None if PLACEHOLDER.search(written) else python_pattern(written)
        if not pattern:
            if written:
                self.notes.append("the pattern is not translated: the condition is false here")
            return "false"
        flags = re.match(r"\(\?([im]+)\)", pattern)
        body = pattern[flags.end() :] if flags else pattern
        whole = f"(?s{flags[1] if flags else ''}).*?(?:{body}).*"
        if left.kind == LIST:
            found = f"({left.text} | where(it | matches({quoted(whole)})) | length) {'>' if is_wanted else '=='} 0"
        else:
            text = left.text if left.kind == TEXT else f"({left.text} ~ '')"
            found = f"{'' if is_wanted else 'not '}({text} | matches({quoted(whole)}))"
        return f"{left.text} is not null and {found}"

    def _texts(self, left: OurExpression, operator: str, written: str) -> str:
        right = self.expression(written)
        right = f"({right})" if " ~ " in right and not right.startswith("(") else right
        is_literal = not PLACEHOLDER.search(written)
        if left.kind == LIST:
            listed = f"({left.text} | default([]))"
            found = {
                "Equal to": f"({listed} | where(it != {right}) | length) == 0",
                "Not equal": f"{right} not in {listed}",
                "Contains": f"{right} in {listed}",
                "Does not contain": f"{right} not in {listed}",
            }
            return found.get(operator, "false")
        text = left.text if left.kind == TEXT else f"({left.text} ~ '')"
        if operator in ("Equal to", "Not equal"):
            if operator == "Equal to" and not is_literal:
                return f"{left.text} is not null and {text} == {right}"
            return f"{text} {'==' if operator == 'Equal to' else '!='} {right}"
        plain = f"({text} | default('') | lower | trim)"
        wanted = quoted(written.lower().strip()) if is_literal else f"({right} | lower | trim)"
        if wanted == "''":
            return "true" if operator == "Does not contain" else "false"
        size = str(len(written.lower().strip())) if is_literal else f"({wanted} | length)"
        found = {
            "Contains": f"{wanted} in {plain}",
            "Does not contain": f"{wanted} not in {plain}",
            "Starts with": f"{plain}[:{size}] == {wanted}",
            "Ends with": f"{plain}[-{size}:] == {wanted}",
        }
        guard = "" if is_literal else f"{wanted} != '' and "
        return f"{guard}{found[operator]}" if operator in found else "false"
