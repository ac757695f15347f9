"""A Typebot's blocks as steps. Groups vanish: steps follow each other, and a text becomes the words of the question below it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.cli.importing.imported import Fate, ImportedBot, ImportedNode, name_of
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
from bot.cli.importing.typebot.interpreting import (
    DOCUMENTS,
    HTTP_BLOCKS,
    INVALID,
    NO_TEXT,
    RETRIES,
    is_completion,
    saved_names,
)
from bot.cli.importing.typebot.reading import (
    BUBBLES,
    CHOICES,
    INPUTS,
    PLACEHOLDER,
    TypebotBlock,
    TypebotExport,
    TypebotItem,
    is_shown_image,
    shown_title,
    video_text,
)

UNFINISHED = "unfinished"
"""The flow that passes contacts to a person where the new bot has no code yet."""
_URL_PATTERN = r"(https?://)?([\w-]+\.)+[a-zA-Z]{2,}(:\d+)?([/?#]\S*)?"
_KEPT = ("email input", "url input", "number input", "rating input")
"""Inputs whose answers Typebot keeps as they are here."""
_LISTED = ("Append value(s)", "Pop", "Shift")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SILENT = ("Set variable", "Condition", "AB test", "Jump", "Code", "Email", "Google Sheets", "OpenAI", *HTTP_BLOCKS)
_ORDERED = {"Greater than": ">", "Less than": "<", "Greater or equal to": ">=", "Less or equal to": "<="}
_DATE_PARTS = {
    "dd": "('0' ~ {0}.day)[-2:]", "MM": "('0' ~ {0}.month)[-2:]", "yyyy": "({0}.year ~ '')", "yy": "({0}.year ~ '')[-2:]",
    "HH": "('0' ~ {0}.hour)[-2:]", "mm": "('0' ~ {0}.minute)[-2:]",
}  # fmt: skip
_WAITING = {"ask", "wait", "handoff"}
_ROUNDS = 100
_LONGEST, _LONGEST_QUESTION = 4096, 1024
_ROWS, _BUTTONS, _ABOUT = 10, 3, 72
_SESSION_HOURS = 4

Step = dict[str, Any]


@dataclass
class _Mark:
    """What became of a block: the worst of its fates, and all that differs."""

    fate: Fate
    step: tuple[str, str]
    notes: list[str] = field(default_factory=list)


class TypebotVariables:
    """The variables of all exports: their names here, the kinds of their values, their declarations."""

    def __init__(self, exports: Sequence[TypebotExport]) -> None:
        self._exports = exports
        self._writers = _writers(exports)
        titles = dict.fromkeys(name for export in exports for name in export.variables.values())
        self._names: dict[str, str] = {}
        for title in titles:
            self._names[title] = name_of(title, self._names.values(), "value")
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
        own = input_spec(writers[0]) if len(writers) == 1 and writers[0].type in _KEPT else None
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
                yield LIST if options.get("type") in _LISTED and is_own else TEXT
        elif block.type in HTTP_BLOCKS:
            for path in _paths(self._exports, block, title):
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


def _paths(exports: Sequence[TypebotExport], block: TypebotBlock, title: str) -> Iterator[OurExpression]:
    names = {"data": OurExpression("answer", ANY), "statusCode": OurExpression("status", NUMBER)}
    for each in block.options.get("responseVariableMapping") or []:
        if any(export.variables.get(each.get("variableId") or "") == title for export in exports) and each.get(
            "bodyPath"
        ):
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
            limits = {key: _literal_number(options.get(key)) for key in ("min", "max")}
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


def _literal_number(value: Any) -> float | int | None:
    found = re.fullmatch(r"-?\d+(\.\d+)?", str(value).strip())
    return None if found is None else float(found[0]) if found[1] else int(found[0])


class TypebotTexts:
    """Texts and conditions with variables, in our language."""

    def __init__(self, variables: TypebotVariables) -> None:
        self._variables = variables
        self.notes: list[str] = []

    def template(self, text: str) -> str:
        """A text with the values of its variables."""
        return "".join(self._parts(text, _escaped, lambda found: f"{{{{ {found.text} }}}}"))

    def expression(self, text: str) -> str:
        """The same as an expression."""
        parts = self._parts(text, quoted, lambda found: found.inner)
        return " ~ ".join(part for part in parts if part != "''") or "''"

    def taken(self) -> list[str]:
        """What differs in the texts since the last time."""
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
            for name in self.reads(found["code"].replace("{{=", "")):
                self._declare(name)
            return made
        if found["name"] not in self._variables.kinds:
            return None
        self._declare(found["name"])
        variable = self._variables.expressions[found["name"]]
        return OurExpression(variable.as_text, TEXT) if variable.kind == LIST else variable

    def _declare(self, title: str) -> None:
        if title in self._variables.kinds:
            self._variables.name(title)

    def condition(self, export: TypebotExport, condition: Mapping[str, Any] | None) -> str:
        """A condition as an expression."""
        found = [self._comparison(export, each) for each in (condition or {}).get("comparisons") or []]
        word = " or " if (condition or {}).get("logicalOperator") == "OR" else " and "
        return (
            (f"({found[0]})" if len(found) < 2 else word.join(f"({each})" for each in found))[1:-1]
            if len(found) == 1
            else (word.join(f"({each})" for each in found) or "false")
        )

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
            limit = self._limit(written, left.kind)
            return (
                f"{left.text} is not null and {self._measured(left)} {_ORDERED[operator]} {limit}" if limit else "false"
            )
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
        if kind == LIST and _literal_number(written or "0") is None:
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


def _escaped(text: str) -> str:
    return re.sub(r"\{[{%#]", lambda found: f"{{{{ '{found[0]}' }}}}", text)


class TypebotTranslator:
    """Translates the exports: the first is the bot's main flow, the others are flows that it runs."""

    def __init__(self, exports: Sequence[TypebotExport]) -> None:
        self.bot = ImportedBot("Typebot", exports[0].name)
        self.variables = TypebotVariables(exports)
        self.texts = TypebotTexts(self.variables)
        self.handlers: dict[str, str] = {}
        """The functions that stand for code and integrations, by the blocks' places."""
        self.roots: list[tuple[str, TypebotExport, TypebotBlock]] = []
        """The flows that conversations begin in: their names, and the blocks with which they begin."""
        self._exports = {export.id: export for export in exports}
        self._flows: dict[str, str] = {}
        for export in exports:
            self._flows[export.id] = name_of(export.name, {UNFINISHED, *self._flows.values()}, "main")
        self._marks: dict[str, _Mark] = {}
        self._steps: dict[tuple[str, str], str] = {}
        self._todo: list[Callable[[], None]] = []
        self._export, self._flow = exports[0], ""
        for export in exports:
            self._translate(export, is_main=export is exports[0])
        self._finish(exports)

    def _translate(self, export: TypebotExport, is_main: bool) -> None:
        self._export = export
        targets = {to[0] for to in export.edges.values()} | {
            block.options.get("groupId") for block in export.blocks() if block.type == "Jump"
        }
        groups = sorted((group for group in export.groups if group.blocks), key=lambda group: group.left)
        others = sorted(groups, key=lambda group: group.id in targets)
        for block, flow in [(export.first, self._flows[export.id]), *((group.blocks[0], "") for group in others)]:
            if block is None or (not flow and block.id in self._marks):
                continue
            self._flow = flow or name_of(block.group, {*self.bot.flows, *self._flows.values(), UNFINISHED}, "group")
            self.variables.declared = {}
            start = {"start": {"otherwise": True}} if flow and is_main else {}
            document: dict[str, Any] = {**start, "vars": {}, "steps": {}}
            self.bot.flows[self._flow] = document
            self._steps.clear()
            first_target = self._target(block)
            while self._todo:
                self._todo.pop()()
            if not document["steps"] and not flow:
                del self.bot.flows[self._flow]
                continue
            document["steps"] = document["steps"] or {"nothing": {"branch": [{"else": "end"}]}}
            self._order(document, first_target)
            self._bound(document["steps"])
            document["vars"] = dict(sorted(self.variables.declared.items()))
            if not document["vars"]:
                del document["vars"]
            self.roots.append((self._flow, export, block))

    def _order(self, document: dict[str, Any], first: str) -> None:
        """The first step comes first, and a `then` to the next step is left out."""
        steps = document["steps"]
        if first in steps and next(iter(steps)) != first:
            steps = {first: steps[first], **steps}
        following = [*steps][1:]
        for step, after in zip([*steps.values()], following, strict=False):
            if step.get("then") == after and not {"branch", "handoff"} & {*step}:
                del step["then"]
        document["steps"] = steps

    def _bound(self, steps: dict[str, Step]) -> None:
        """Limit the rounds of steps that never wait, as Typebot's time-out does."""
        following = {
            name: targets_of(step, after)
            for (name, step), after in zip(steps.items(), [*[*steps][1:], "end"], strict=True)
        }
        for name in steps:
            seen: set[str] = set()
            left = [*following[name]]
            while left:
                each = left.pop()
                if each == name:
                    steps[name]["visits"] = {"max": _ROUNDS, "else": f"/{UNFINISHED}"}
                    block = next(key[0] for key, step in self._steps.items() if step == name)
                    mark = self._marks[block]
                    mark.notes.append(f"blocks that go round without waiting end after {_ROUNDS} rounds")
                    mark.fate = Fate.NEARLY if mark.fate is Fate.SAME else mark.fate
                    following[name] = []
                    break
                if (
                    each in steps
                    and each not in seen
                    and not _WAITING & {*steps[each]}
                    and not _WAITING & {*steps[name]}
                ):
                    seen.add(each)
                    left += following[each]

    def _finish(self, exports: Sequence[TypebotExport]) -> None:
        hours = ((exports[0].settings.get("whatsApp") or {}).get("sessionExpiryTimeout")) or _SESSION_HOURS
        self.bot.settings = {
            "small_talk": [],
            "defaults": {"errors": {"else": f"/{UNFINISHED}"}, "timeout": {"after": f"{hours:g}h", "then": "end"}},
        }
        note = "The imported bot has failed here, or has no code for it yet. import-report.md has the list of what is lost."
        self.bot.flows[UNFINISHED] = {
            "steps": {"person": {"handoff": {"team": "operators", "note": note}, "closed": "end"}}
        }
        for export in exports:
            for event in export.events:
                if event.get("type") != "start":
                    place = f"{export.name} > event {event.get('type')}"
                    self.bot.lost(place, "events are not imported: write words of the flow (docs/language/routing.md)")
            for block in export.blocks():
                mark = self._marks.get(block.id)
                if mark is None:
                    self.bot.nodes.append(ImportedNode(block.place, Fate.SAME, "nothing leads to it"))
                else:
                    notes = "; ".join(dict.fromkeys(mark.notes))
                    self.bot.nodes.append(ImportedNode(block.place, mark.fate, notes, *mark.step))

    def _mark(self, block: TypebotBlock, step: str, *notes: str, fate: Fate = Fate.NEARLY) -> None:
        """Note what became of a block: ``notes`` are differences."""
        mark = self._marks.setdefault(block.id, _Mark(Fate.SAME, (self._flow, step)))
        mark.step = mark.step if mark.step[1] else (self._flow, step)
        mark.notes += notes
        if notes and mark.fate is not Fate.LOST:
            mark.fate = fate

    def _target(self, block: TypebotBlock | None, pending: TypebotBlock | None = None) -> str:
        """The step to which a block leads; ``pending`` is a text that is not said yet."""
        seen: set[str] = set()
        while block is not None and block.id not in seen:
            seen.add(block.id)
            if block.type == "Jump" and not PLACEHOLDER.search(block.options.get("groupId") or ""):
                self._mark(block, "")
                block = self._export.jumped(block)
            elif pending is None and block.type in BUBBLES and not self._is_sent(block):
                block = self._export.after(block)
            elif block.type == "Return":
                self._mark(block, "", "the conversation ends here")
                block = None
            else:
                break
        else:
            block = None
        if pending is None and block is not None and block.type == "text" and self._waits_for_question(block):
            return self._target(self._export.after(block), block)
        is_kept = (
            block is not None and (block.type in INPUTS or self._is_silent(block)) and not self._changes(block, pending)
        )
        if pending is not None and block is not None and self._changes(block, pending):
            self._mark(
                pending, "", "its buttons are a message of their own: a variable that it shows changes before them"
            )
        if pending is not None and not is_kept:
            return self._step(
                pending, block.id if block else "end", lambda name: self._say(pending, name, self._target(block))
            )
        if block is None:
            return "end"
        kept = block
        return self._step(block, pending.id if pending else "", lambda name: self._write(kept, name, pending))

    def _step(self, block: TypebotBlock, key: str, write: Callable[[str], Step]) -> str:
        """The name of the step for a block in its situation, which is written later if it is new."""
        if (block.id, key) in self._steps:
            return self._steps[block.id, key]
        steps = self.bot.flows[self._flow]["steps"]
        name = name_of(block.group or block.type, {*steps, *self._steps.values()})
        self._steps[block.id, key] = name

        def make() -> None:
            steps[name] = {}
            steps[name] = write(name)

        self._todo.append(make)
        return name

    def _is_silent(self, block: TypebotBlock) -> bool:
        return block.type in _SILENT or block.type not in (
            *BUBBLES,
            *INPUTS,
            "Redirect",
            "Wait",
            "Typebot link",
            "Return",
        )

    def _waits_for_question(self, block: TypebotBlock) -> bool:
        """Whether Typebot sends a text together with the buttons that follow, or a question follows at once."""
        after = self._export.after(block)
        while after is not None and after.type == "Jump" and after is not (after := self._export.jumped(after)):
            continue
        if after is not None and after.type in CHOICES[1:] and not after.options.get("isMultipleChoice"):
            return False
        return (after is not None and after.type in INPUTS) or self._leads_to_choices(after, set())

    def _leads_to_choices(self, block: TypebotBlock | None, seen: set[str]) -> bool:
        if block is None or block.id in seen:
            return False
        seen.add(block.id)
        if block.type == "choice input":
            return True
        if not self._is_silent(block):
            return False
        after = self._export.jumped(block) if block.type == "Jump" else self._export.after(block)
        branches = [self._export.behind(item.edge) for item in block.items]
        return any(self._leads_to_choices(each, seen) for each in [*branches, after])

    def _changes(self, block: TypebotBlock, pending: TypebotBlock | None) -> bool:
        """Whether a block writes a variable that the text which waits shows."""
        if pending is None or block.type in INPUTS:
            return False
        ids = [
            block.options.get("variableId"),
            *(each.get("variableId") for each in block.options.get("responseVariableMapping") or []),
        ]
        written = {self._export.variables.get(each or "") for each in ids} | {*saved_names(self._export, block)}
        return bool(written & self.texts.reads(pending.text))

    def _is_sent(self, block: TypebotBlock) -> bool:
        url = str(block.content.get("url") or "")
        if block.type == "text":
            if not block.text.strip():
                self._mark(block, "")
            return bool(block.text.strip())
        if not url:
            self._mark(block, "")
            return False
        if block.type == "image" and not PLACEHOLDER.match(url) and not is_shown_image(url):
            why = "WhatsApp shows no GIF and no SVG, so Typebot leaves it out there, too: send it as a video or a PNG"
            self._mark(block, "", why, fate=Fate.LOST)
            return False
        return True

    def _write(self, block: TypebotBlock, name: str, pending: TypebotBlock | None) -> Step:
        if pending is not None and block.type in INPUTS:
            self._mark(pending, name)
        step = self._written(block, name, pending)
        self._mark(block, name, *self.texts.taken())
        return step

    def _written(self, block: TypebotBlock, name: str, pending: TypebotBlock | None) -> Step:
        if block.type in BUBBLES:
            return self._say(block, name, self._target(self._export.after(block)))
        if block.type in INPUTS:
            return self._ask(block, name, pending)
        match block.type:
            case "Set variable":
                step = self._set(block, name)
            case "Condition":
                return self._branch(
                    block,
                    [(self.texts.condition(self._export, item.data.get("content")), item.edge) for item in block.items],
                    pending,
                )
            case "AB test":
                share = block.options.get("aPercent", 50) / 100
                a, b = (
                    [item.edge if item.edge in self._export.edges else None for item in block.items] + [None, None]
                )[:2]
                return self._branch(block, [(f"random() < {share:g}", a)] * bool(a) + [("true", b)] * bool(b), pending)
            case "Jump":
                titles = [(group.title, group.id) for group in self._export.groups if group.blocks]
                value = self.texts.expression(block.options["groupId"])
                options = [
                    (f"{value} == {quoted(title)}", self._target(self._export.at(each), pending))
                    for title, each in titles
                ]
                return {"branch": [*({"if": test, "then": then} for test, then in options), {"else": "end"}]}
            case "Wait":
                step = self._wait(block, name)
            case "Redirect":
                step = {"say": self.texts.template(str(block.options.get("url") or NO_TEXT)), "preview_url": True}
            case "Typebot link":
                return self._link(block, name)
            case kind if kind in HTTP_BLOCKS:
                step = self._http(block, name)
            case _:
                step = self._ai(block, name) if is_completion(block) else self._lost(block, name)
        after = self._target(self._export.after(block), pending)
        if not step:
            return {"branch": [{"else": after}]}
        step["then"] = after
        if "http" in step:
            step["errors"] = {"else": step["then"]}
        return step

    def _say(self, block: TypebotBlock, name: str, then: str) -> Step:
        url = self.texts.template(str(block.content.get("url") or ""))
        self._mark(block, name)
        match block.type:
            case "text":
                step: Step = {"say": self._cut(block, name, self.texts.template(block.text), _LONGEST)}
            case "video" if shown := video_text(url):
                step = {"say": shown, "preview_url": True}
            case "embed" if url.rpartition(".")[2] in DOCUMENTS:
                step = {"say": None, "document": {"link": url, "filename": url.rpartition("/")[2]}}
            case "embed":
                step = {"say": url, "preview_url": True}
            case kind:
                step = {"say": None, kind: url}
        if block.type == "image" and (block.content.get("clickLink") or {}).get("url"):
            self._mark(block, name, "the picture is no link")
        if block.type != "text" and PLACEHOLDER.search(str(block.content.get("url") or "")):
            step["errors"] = {"else": then}
            self._mark(block, name, "an empty or wrong address is left out, and so is a GIF by its variable")
        self._mark(block, name, *self.texts.taken())
        return step | {"then": then}

    def _pictures(
        self, block: TypebotBlock, name: str, items: Sequence[TypebotItem], ask: Callable[[str], Step]
    ) -> Step:
        """Pictures come first, each with its title; then the question."""
        if not items:
            return ask(name)
        item, *others = items
        following = self._step(block, f"{name} {len(others)}", lambda own: self._pictures(block, own, others, ask))
        lines = [f"*{item.content}*" if item.data.get("title") else "", str(item.data.get("description") or "")]
        words = self.texts.template("\n\n".join(line for line in lines if line))
        picture = self.texts.template(str(item.data.get("pictureSrc") or item.data.get("imageUrl")))
        return {"say": words or None, "image": picture, "errors": {"else": following}, "then": following}

    def _cut(self, block: TypebotBlock, name: str, text: str, most: int) -> str:
        if len(text) > most and "{{" not in text[most - 100 :]:
            self._mark(block, name, f"a text of more than {most} characters is cut")
            return text[:most]
        return text

    def _ask(self, block: TypebotBlock, name: str, pending: TypebotBlock | None) -> Step:
        most = _LONGEST_QUESTION if block.type in CHOICES else _LONGEST
        text = self._cut(block, name, self.texts.template(pending.text), most) if pending else ""
        retry = block.options.get("retryMessageContent") or RETRIES.get(block.type)
        retry = self.texts.template(retry or self._export.text("invalidMessage") or INVALID)
        if block.type in CHOICES:
            pictures = [item for item in block.items if item.data.get("pictureSrc") or item.data.get("imageUrl")]
            return self._pictures(block, name, pictures, lambda own: self._choices(block, own, text, retry))
        step: Step = {"ask": text, "then": self._target(self._export.after(block))}
        if block.type == "payment input":
            amount = f"{block.options.get('amount') or ''} {block.options.get('currency') or 'USD'}".strip()
            note = f"Typebot asked for a payment here: {self.texts.template(amount)}"
            why = "payments are not imported: write a link and a signal (docs/language/cookbook.md, A payment)"
            self._mark(block, name, why, fate=Fate.LOST)
            says = {"say": text} if text else {}
            return {"handoff": {"team": "payments", "note": note, **says}, "closed": step["then"]}
        if block.type != "text input":
            step["retry"] = {"say": retry}
        self._save(block, name, step)
        return step

    def _save(self, block: TypebotBlock, name: str, step: Step) -> None:
        """Where the answer goes: into the variable, or into one of its own from which the variable is set."""
        title = self._title(block.options)
        spec = input_spec(block)
        self._mark(block, name, *self._input_notes(block))
        if spec is None and title is None:
            return
        is_kept = block.type in (*_KEPT, "text input") or spec is None
        if title is not None and is_kept and self.variables.spec(title) == (spec or {"type": TEXT}):
            step["save"] = self.variables.name(title)
            return
        answer = self.variables.helper(title or block.group or "the", spec or {"type": TEXT})
        step["save"] = answer
        if title is not None:
            step["set"] = self._kept(title, _answer_text(block, answer), name, block)

    def _kept(self, title: str, value: OurExpression, name: str, block: TypebotBlock) -> Step:
        """A value in its variable: an answer stands behind what a list has already, a result replaces it."""
        variable = self.variables.name(title)
        kind = self.variables.kinds[title]
        if kind == LIST:
            self._mark(block, name, "a single value is a list of one here")
            is_answer = block.type in INPUTS
            return {
                variable: f"{{{{ {variable} | append({value.as_text}) }}}}"
                if is_answer
                else f"{{{{ [{value.as_text}] }}}}"
            }
        return {variable: f"{{{{ {value.text if kind in (NUMBER, value.kind) else value.as_text} }}}}"}

    def _input_notes(self, block: TypebotBlock) -> Iterator[str]:
        options = block.options
        match block.type:
            case "text input" if (options.get("audioClip") or {}).get("isEnabled"):
                yield "a voice note is no answer: set `transcribe` in bot.yml, or ask into a variable of type answer"
            case "text input" if (options.get("attachments") or {}).get("isEnabled"):
                yield "a file is no answer: ask into a variable of type answer"
            case "number input":
                yield "also takes five, 5k and 5 people, drops zeros at the front, and refuses a number before other words"
                if any(PLACEHOLDER.search(str(options.get(key) or "")) for key in ("min", "max")):
                    yield "limits that are variables are not checked: write a check at the variable"
            case "rating input":
                yield "also takes a mark in words"
            case "email input":
                yield "also takes an address among words; capitals before the @ stay"
            case "url input":
                yield "also takes an address among words"
            case "phone number input":
                yield "which numbers are valid may differ"
            case "date input":
                yield "days in words are read by the rules of docs/language/data.md"
                if options.get("isRange"):
                    yield "any text is taken: a range of days is not checked"
                if options.get("min") or options.get("max"):
                    yield "the first and last day are not checked: write after or before at the variable"
                if re.search(r"[A-Za-z]", re.sub("|".join(_DATE_PARTS), "", options.get("format") or "")):
                    yield f"the format {options['format']} is not translated"
            case "time input":
                yield "times in words are read by the rules of docs/language/data.md"
            case "file input":
                yield "its address is valid for 24 hours (keep: true keeps the file); only one file is taken"

    def _choices(self, block: TypebotBlock, name: str, text: str, retry: str) -> Step:
        after = self._target(self._export.after(block))
        title = self._title(block.options)
        step: Step = {"ask": text or NO_TEXT}
        dynamic = self._export.variables.get(block.options.get("dynamicVariableId") or "")
        if (block.options.get("dynamicItems") or {}).get("isEnabled"):
            dynamic = self._export.variables.get(block.options["dynamicItems"].get("titlesVariableId") or "")
            self._mark(block, name, "the pictures are left out")
        items = [item for item in block.items if item.content or item.data.get("paths")]
        if not items and dynamic is None:
            self._mark(block, name, "it has no buttons: every answer leads on here, none there", fate=Fate.LOST)
            return step | {"then": after}
        is_many = bool(block.options.get("isMultipleChoice"))
        if is_many:
            step |= {"many": {"max": len(items)} if dynamic is None else True, "show": "numbers"}
            self._mark(
                block,
                name,
                "one number alone is asked on until Done; the answers are in the order in which they were chosen",
            )
        else:
            step["match"] = "exact"
        if not text and is_many:
            self._mark(block, name, f"{NO_TEXT} stands above the choices")
        step["options"] = (
            self._listed(dynamic, block, name, is_many)
            if dynamic is not None
            else self._options(block, items, name, title is not None, is_many, after)
        )
        step["retry"] = {"ask": retry}
        if title is not None:
            self._save_choice(block, title, name, step, is_many)
        if is_many and title is None:
            step["save"] = self.variables.helper(block.group or "the", {"type": LIST})
        is_open = is_many or dynamic is not None or title is not None
        return step | ({"then": after} if is_open else {})

    def _save_choice(self, block: TypebotBlock, title: str, name: str, step: Step, is_many: bool) -> None:
        if not is_many and self.variables.spec(title) == {"type": TEXT}:
            step["save"] = self.variables.name(title)
            return
        answer = self.variables.helper(title, {"type": LIST if is_many else TEXT})
        value = OurExpression(f"({answer} | join(', '))" if is_many else answer, TEXT)
        step["save"] = answer
        step["set"] = self._kept(title, value, name, block)

    def _listed(self, dynamic: str, block: TypebotBlock, name: str, is_many: bool) -> Step:
        listed = self.variables.name(dynamic)
        self._mark(block, name, "an empty list fails here; a hundred choices at most")
        usual = ", ".join(quoted(item.content) for item in block.items if item.content)
        title = "{{ it }}" if is_many else "{{ it if (it | length) <= 20 else it[:18] ~ '..' }}"
        return {"from": f"{listed} | default([{usual}]) | unique", "title": title, "words": "{{ it }}"}

    def _options(
        self, block: TypebotBlock, items: Sequence[TypebotItem], name: str, is_saved: bool, is_many: bool, after: str
    ) -> Step:
        options: Step = {}
        if not is_many and len(items) > _BUTTONS:
            self._mark(block, name, "Typebot sends the buttons three by three; here they are one list")
        if len(items) > _ROWS and not is_many:
            self._mark(block, name, f"more than {_ROWS} choices are on pages")
        if block.type != "choice input":
            self._mark(block, name, "the pictures come before the question, which has their titles")
        taken = {bare(shown_title(self.texts.template(content))) for item in items for content, _ in _paths_of(item)}
        for item in items:
            for content, edge in _paths_of(item):
                whole = self.texts.template(content)
                shown = whole if is_many or "{{" in whole else shown_title(whole, [*options])
                number = 2
                while is_many and shown in options:
                    shown, number = f"{whole} ({number})", number + 1
                choice: Step = {}
                value = self.texts.template(item.value or content)
                words = [
                    each
                    for each in dict.fromkeys((whole, value))
                    if "{{" not in each and bare(each) not in taken | {bare(shown)}
                ]
                taken |= {bare(shown), *map(bare, words)}
                if is_saved or is_many:
                    choice["value"] = value
                if words:
                    choice["words"] = words
                if shown != whole and len(items) > _BUTTONS and len(whole) <= _ABOUT:
                    choice["about"] = whole
                condition = (
                    item.data.get("displayCondition") or (item.data.get("options") or {}).get("displayCondition")
                ) or {}
                if condition.get("isEnabled") and condition.get("condition"):
                    choice["if"] = self.texts.condition(self._export, condition["condition"])
                if not is_many and (edge in self._export.edges or not is_saved):
                    choice["then"] = self._target(self._export.behind(edge)) if edge in self._export.edges else after
                options[shown] = choice["then"] if [*choice] == ["then"] else choice
        return options

    def _title(self, options: Mapping[str, Any], key: str = "variableId") -> str | None:
        return self._export.variables.get(options.get(key) or "")

    def _branch(
        self, block: TypebotBlock, branches: Sequence[tuple[str, str | None]], pending: TypebotBlock | None
    ) -> Step:
        after = self._target(self._export.after(block), pending)
        written = [{"if": test, "then": self._target(self._export.behind(edge), pending)} for test, edge in branches]
        return {"branch": [*written, {"else": after}]}

    def _wait(self, block: TypebotBlock, name: str) -> Step:
        written = str(block.options.get("secondsToWaitFor") or "")
        if PLACEHOLDER.search(written):
            self._mark(block, name, "a time that is no number fails here")
            return {"wait": f"{{{{ now + minutes(({self.texts.expression(written)} | as_number) / 60) }}}}"}
        seconds = _literal_number(written) or 0
        if seconds > 10:
            self._mark(block, name, "in WhatsApp Typebot waits for 10 s at most")
        if seconds != round(seconds):
            self._mark(block, name, "whole seconds")
        return {"wait": f"{max(round(seconds), 1)}s"} if seconds > 0 else {}

    def _link(self, block: TypebotBlock, name: str) -> Step:
        linked, group = block.options.get("typebotId"), block.options.get("groupId")
        after = self._export.after(block)
        if linked in ("current", self._export.id):
            if after is not None:
                self._mark(block, name, "it does not come back: write the group as a flow of its own, and run it")
            target = self._target(self._export.at(group) if group else self._export.first)
            return {"branch": [{"else": target}]}
        other = self._exports.get(linked or "")
        if other is None:
            return self._lost(block, name) | {"then": self._target(after)}
        if group and (other.first is None or other.at(group) is not other.first):
            self._mark(block, name, "it begins with the first group of the other bot")
        shared = [each for each in self._export.variables.values() if each in other.variables.values()]
        names = [self.variables.name(each) for each in shared if self.variables.kinds.get(each)]
        given = (
            {"with": {each: f"{{{{ {each} }}}}" for each in names}, "save": {each: each for each in names}}
            if names
            else {}
        )
        return {"run": f"/{self._flows[other.id]}", **given, "then": self._target(after)}

    def _set(self, block: TypebotBlock, name: str) -> Step:
        title = self._title(block.options)
        if title is None:
            return {}
        kind, options = block.options.get("type"), block.options
        if kind in (None, "Custom"):
            return self._custom(block, title, name)
        variable = self.variables.name(title)
        listed = f"({variable} | default([]))"
        more: Step = {}
        if kind in ("Pop", "Shift") and (saved := self._title(options, "saveItemInVariableId")) is not None:
            more = {self.variables.name(saved): f"{{{{ {listed} | {'last' if kind == 'Pop' else 'first'} }}}}"}
        values: dict[str, Callable[[], str | None]] = {
            "Append value(s)": lambda: f"{variable} | append({self.texts.expression(str(options.get('item') or ''))})",
            "Pop": lambda: f"{listed}[:-1]",
            "Shift": lambda: f"{listed}[1:]",
            "Map item with same index": lambda: self._mapped(options.get("mapListItemParams") or {}),
            "Now": lambda: "(now | utc)[:-1] ~ '.000Z'",
            "Today": lambda: "(now | utc)[:-1] ~ '.000Z'",
            "Tomorrow": lambda: "((now + hours(24)) | utc)[:-1] ~ '.000Z'",
            "Yesterday": lambda: "((now - hours(24)) | utc)[:-1] ~ '.000Z'",
            "Moment of the day": lambda: "'morning' if now.hour < 12 else 'afternoon' if now.hour < 18 else 'evening'",
            "Environment name": lambda: "'whatsapp'",
            "Random ID": lambda: "'id' ~ ((random() * 1000000000000) | floor)",
            "User ID": lambda: "contact.id",
            "Result ID": lambda: "contact.id",
            "Contact name": lambda: "contact.name",
            "Phone number": lambda: "'+' ~ contact.id",
            "Transcript": lambda: (
                """history | map(("Assistant:" if it.role == "bot" else "User:") ~ ' "' ~ it.text ~ '"') | join("\\n\\n")"""
            ),
            "Device type": lambda: "'mobile'",
        }
        notes = {
            "Now": "in UTC, milliseconds are 000", "Today": "in UTC, milliseconds are 000", "Tomorrow": "in UTC",
            "Yesterday": "in UTC", "Random ID": "12 digits, drawn once for each message", "User ID": "it is the contact's number",
            "Result ID": "it is the contact's number", "Transcript": "the last 20 messages, each cut at 500 characters",
            "Device type": "always mobile", "Contact name": "the name may change later",
            "Moment of the day": "in the bot's time zone, by the clock of the message",
            "Referral Click ID": "not known here: empty", "Referral Source ID": "not known here: empty",
        }  # fmt: skip
        if kind in notes:
            self._mark(block, name, notes[kind])
        made = values[kind]() if kind in values else None
        if made is None:
            return {"set": {variable: None}}
        if self.variables.kinds[title] == LIST and kind not in _LISTED:
            made = f"[{made}]"
        return {"set": {variable: f"{{{{ {made} }}}}", **more}}

    def _mapped(self, parts: Mapping[str, Any]) -> str | None:
        titles = [self._title(parts, f"{key}VariableId") for key in ("baseItem", "baseList", "targetList")]
        if None in titles:
            return None
        item, base, target = (self.variables.name(title) for title in titles if title is not None)
        listed = f"({base} | default([]))"
        return f"({target} | default([]))[:{listed} | length] | where({listed}[loop.index - 1] == {item}) | first"

    def _custom(self, block: TypebotBlock, title: str, name: str) -> Step:
        code = str(block.options.get("expressionToEvaluate") or "")
        variable, kind = self.variables.name(title), self.variables.kinds[title]
        if not code:
            return {"set": {variable: None}}
        if block.options.get("saveErrorInVariableId"):
            self._mark(block, name, "an error is not saved")
        try:
            made = translate(parse(code), self.variables.expressions)
        except NoJavaScript:
            template = self.texts.template(code)
            text = self.texts.expression(code)
            return {"set": {variable: f"{{{{ [{text}] }}}}" if kind == LIST else template if template else None}}
        except UnknownJavaScript as error:
            self._mark(block, name, f"write {variable} as a handler ({error})", fate=Fate.LOST)
            return self._call(block, name, code, title)
        for read in self.texts.reads(code):
            if read in self.variables.kinds:
                self.variables.name(read)
        self._mark(block, name, *dict.fromkeys(made.notes))
        if self.texts.reads(code) and not re.fullmatch(r"\{\{[^{}]+\}\}", code):
            self._mark(block, name, "a variable without a value fails here (NaN or undefined there)")
        if kind == NUMBER and (number := _literal_number(made.text)) is not None:
            return {"set": {variable: number}}
        if kind == LIST:
            return {"set": {variable: f"{{{{ {made.text if made.kind == LIST else f'[{made.as_text}]'} }}}}"}}
        return {"set": {variable: f"{{{{ {made.text if kind == made.kind else made.as_text} }}}}"}}

    def _call(self, block: TypebotBlock, name: str, original: str, title: str | None) -> Step:
        """A step that calls a function which somebody has to write."""
        read = [each for each in self.texts.reads(original) if each in self.variables.kinds]
        parameters = {
            self.variables.name(each): {NUMBER: "float", LIST: "list"}.get(self.variables.kinds[each], "str")
            for each in sorted(read)
        }
        handler = name_of(f"{block.group or block.type} {title or block.type}", self.bot.functions)
        self.bot.untranslatable(handler, original, parameters)
        self.handlers[block.place] = handler
        given = {"with": {each: f"{{{{ {each} }}}}" for each in parameters}} if parameters else {}
        if title is None:
            return {"call": handler, **given}
        if self.variables.kinds[title] == TEXT:
            return {"call": handler, **given, "save": self.variables.name(title)}
        answer = self.variables.helper(title, {"type": TEXT})
        value = OurExpression(answer, TEXT)
        return {"call": handler, **given, "save": answer, "set": self._kept(title, value, name, block)}

    def _lost(self, block: TypebotBlock, name: str) -> Step:
        what = block.options.get("action") or block.options.get("task") or block.options.get("name") or ""
        why = f"{block.type} {what}".strip() + ": write the handler, or an http step to its API (docs/language/http.md)"
        self._mark(block, name, why, fate=Fate.LOST)
        mapped = block.options.get("responseVariableMapping") or []
        titles = [title for each in mapped if (title := self._title(each)) is not None and each.get("bodyPath")]
        saved = [*titles, *saved_names(self._export, block)]
        content = block.options.get("content")
        original = str(content) if content else json.dumps(dict(block.options), ensure_ascii=False, indent=1)
        return self._call(block, name, original, saved[0] if saved else None)

    def _ai(self, block: TypebotBlock, name: str) -> Step:
        """A model's words: the last message is what it reads, all others are instructions."""
        self._mark(
            block, name, "the bot's own model answers; earlier messages are in its instructions, each as one line"
        )
        messages = [each for each in block.options.get("messages") or [] if isinstance(each, Mapping)]
        if system := block.options.get("systemMessage"):
            messages.insert(0, {"role": "system", "content": system})
        lines, text = [], ""
        for number, message in enumerate(messages, 1):
            role, content = str(message.get("role") or ""), self.texts.template(str(message.get("content") or ""))
            if role == "Dialogue" and (title := self._title(message, "dialogueVariableId")) is not None:
                listed = self.variables.name(title)
                said = listed if self.variables.kinds[title] == LIST else f"[{listed}]"
                lines.append(f"The conversation so far: {{{{ {said} | join(' / ') }}}}")
                text = f"{{{{ {said} | last }}}}"
            elif content and role == "user" and number == len(messages) and number > 1:
                text = content
            elif content:
                lines.append(content if role == "system" or number == 1 else f"{role.capitalize()}: {content}")
        saved = saved_names(self._export, block)
        step: Step = {"write": "\n".join(lines) or "Answer the contact."}
        step |= {"text": text} if text else {}
        if len(saved) > 1:
            self._mark(block, name, "only the words of the answer are saved")
        if saved and self.variables.kinds[saved[0]] == TEXT:
            return step | {"save": self.variables.name(saved[0])}
        answer = self.variables.helper(saved[0] if saved else "the", {"type": TEXT})
        kept = {"set": self._kept(saved[0], OurExpression(answer, TEXT), name, block)} if saved else {}
        return step | {"save": answer, **kept}

    def _http(self, block: TypebotBlock, name: str) -> Step:
        webhook = block.options.get("webhook") or {}
        method, url = webhook.get("method") or "POST", str(webhook.get("url") or "")
        if not url:
            return {}
        if method not in _METHODS or not re.match(r"https?://[^{}/]+(/|$|\?)", url):
            return self._lost(block, name)
        self._mark(block, name, "values in the address are quoted; after a failure no variable changes")
        step: Step = {"http": f"{method} {self.texts.template(url)}"}
        for key, source in (("query", "queryParams"), ("headers", "headers")):
            pairs = {
                each["key"]: self.texts.template(str(each.get("value") or ""))
                for each in webhook.get(source) or [] if each.get("key")
            }  # fmt: skip
            step |= {key: pairs} if pairs else {}
        if method != "GET":
            body = self._body(block, webhook.get("body"), name)
            step |= {"json": body} if body is not None else {}
        if seconds := block.options.get("timeout"):
            step["within"] = f"{seconds:g}s"
        saved = self._answers(block, name)
        return step | ({"save": saved} if saved else {})

    def _body(self, block: TypebotBlock, body: str | None, name: str) -> Any:
        if not block.options.get("isCustomBody") or not body:
            if body == "{}" or block.options.get("isCustomBody"):
                return None
            self._mark(
                block, name, "the body has all variables by their names; Typebot sends the answers by their groups"
            )
            return {each: f"{{{{ {self.variables.name(each)} }}}}" for each in self._export.variables.values()}
        try:
            read = json.loads(re.sub(r'(?<!["\w{ ])\s*(\{\{[^{}"]+\}\})\s*(?=[,}\]]|$)', r' "\1"', body))
        except ValueError:
            self._mark(block, name, "the body is no JSON with variables: it is sent as one text of JSON")
            return self.texts.template(body)
        return self._in_json(read)

    def _in_json(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self._in_json(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._in_json(part) for part in value]
        return self.texts.template(value) if isinstance(value, str) else value

    def _answers(self, block: TypebotBlock, name: str) -> Step:
        saved: Step = {}
        for each in block.options.get("responseVariableMapping") or []:
            title = self._title(each)
            if title is None or not each.get("bodyPath"):
                continue
            found = next(
                _paths(
                    [self._export],
                    TypebotBlock("", "", None, {"responseVariableMapping": [each]}, {}, (), "", 0, ""),
                    title,
                ),
                None,
            )
            if found is None:
                self._mark(block, name, f"{each['bodyPath']} is not translated: {title} is not saved", fate=Fate.LOST)
                continue
            variable, kind = self.variables.name(title), self.variables.kinds[title]
            if kind == LIST:
                saved[variable] = found.text if found.kind == LIST else f"{found.inner} | default([]) | map(it ~ '')"
            elif found.kind == NUMBER and kind == NUMBER:
                saved[variable] = found.text
            else:
                saved[variable] = (
                    f"({found.text} ~ '') if {found.text} is defined else none" if found.kind == ANY else found.as_text
                )
        return saved


def targets_of(step: Step, after: str) -> list[str]:
    """The steps to which a step that does not wait for an answer can lead."""
    branches = [each.get("then") or each.get("else") for each in step.get("branch") or []]
    errors = [each for each in (step.get("errors") or {}).values() if isinstance(each, str)]
    usual = [] if "branch" in step else [step.get("then") or step.get("closed") or after]
    return [each for each in [*branches, *errors, *usual] if each]


def bare(title: str) -> str:
    """A title without what does not tell it from others."""
    return re.sub(r"\W", "", title.casefold()) or title


def _paths_of(item: TypebotItem) -> Iterator[tuple[str, str | None]]:
    """The titles of an item with the edges behind them: several for a card."""
    if item.data.get("paths"):
        for path in item.data["paths"]:
            title = f"{item.content}: {path.get('text')}" if item.content else str(path.get("text") or "")
            yield title, path.get("outgoingEdgeId")
    else:
        yield item.content or "", item.edge


def _answer_text(block: TypebotBlock, answer: str) -> OurExpression:
    """An answer as Typebot keeps it: days and times in their format, a phone number with its plus."""
    match block.type:
        case "date input" | "time input" if not block.options.get("isRange"):
            is_time = block.type == "time input"
            usual = "HH:mm" if is_time else "dd/MM/yyyy HH:mm" if block.options.get("hasTime") else "dd/MM/yyyy"
            parts = re.split(f"({'|'.join(_DATE_PARTS)})", block.options.get("format") or usual)
            made = [_DATE_PARTS[part].format(answer) if part in _DATE_PARTS else quoted(part) for part in parts if part]
            return OurExpression(" ~ ".join(made), TEXT, (), True)
        case "phone number input":
            return OurExpression(f"'+' ~ {answer}", TEXT, (), True)
        case "file input":
            return OurExpression(f"{answer}.url", TEXT)
        case "email input":
            return OurExpression(f"({answer} | lower)", TEXT)
        case "number input" | "rating input":
            return OurExpression(answer, NUMBER)
        case _:
            return OurExpression(answer, TEXT)
