"""Liquid, the language of Studio's texts: its grammar, and how each part is written here."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TypeAlias

from bot.cli.importing.imported import tokens_in, written_out
from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.grammar import MAX_LOOPS


class LiquidError(BotError):
    """A text that cannot be read, or that cannot be written in this language."""


@dataclass(frozen=True)
class LiquidValue:
    """A value that is written out: a text, a number, true, false, nil, or the words blank and empty."""

    value: str | int | float | bool | None
    word: str = ""  # "blank", "empty"


@dataclass(frozen=True)
class LiquidPath:
    """A value of the execution: `widgets.ask.inbound.Body`."""

    parts: tuple[str | int, ...]


@dataclass(frozen=True)
class LiquidFilter:
    """A value that a filter makes of another one."""

    operand: "LiquidExpression"
    name: str
    arguments: tuple["LiquidExpression", ...]


@dataclass(frozen=True)
class LiquidTest:
    """A comparison, or `and` and `or` between two conditions."""

    operator: str
    left: "LiquidExpression"
    right: "LiquidExpression"


LiquidExpression: TypeAlias = LiquidValue | LiquidPath | LiquidFilter | LiquidTest


@dataclass(frozen=True)
class LiquidOutput:
    """`{{ expression }}`."""

    expression: LiquidExpression


@dataclass(frozen=True)
class LiquidIf:
    """`{% if %}`, `{% unless %}` and `{% case %}`: the first body whose condition holds; None: otherwise."""

    branches: tuple[tuple[LiquidExpression | None, "LiquidText", bool], ...]  # condition, body, whether it is negated


@dataclass(frozen=True)
class LiquidFor:
    """`{% for name in list %}`."""

    name: str
    over: LiquidExpression
    body: "LiquidText"
    otherwise: "LiquidText"


@dataclass(frozen=True)
class LiquidAssign:
    """`{% assign name = expression %}`."""

    name: str
    expression: LiquidExpression


@dataclass(frozen=True)
class LiquidCapture:
    """`{% capture name %}`: a name for a piece of text."""

    name: str
    body: "LiquidText"


LiquidNode: TypeAlias = str | LiquidOutput | LiquidIf | LiquidFor | LiquidAssign | LiquidCapture
LiquidText: TypeAlias = tuple[LiquidNode, ...]

_PIECES = lazy_pattern(r"(\{\{-?.*?-?\}\}|\{%-?.*?-?%\})", re.DOTALL)
_TOKEN = lazy_pattern(
    r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<number>-?\d+(?:\.\d+)?(?![\w.-]))|(?P<word>[A-Za-z_][\w-]*\??)"""
    r"""|(?P<sign>==|!=|<>|<=|>=|\.\.|[<>|:,.\[\]()=]))"""
)
_COMPARISONS = ("==", "!=", "<>", "<", ">", "<=", ">=", "contains")


def parse_liquid(text: str) -> LiquidText:
    """The tree of a text: `parse_liquid("Hi {{ name }}")  -> ("Hi ", LiquidOutput(LiquidPath(("name",))))`."""
    return _Blocks(_pieces(text)).read()


def _pieces(text: str) -> list[tuple[str, str]]:
    """Texts, outputs and tags in their order, without the space that `-` takes away."""
    found: list[tuple[str, str]] = []
    strips = False
    for piece in _PIECES.split(text):
        if piece.startswith(("{{", "{%")) and _PIECES.fullmatch(piece):
            kind, inner = ("output" if piece[1] == "{" else "tag"), piece[2:-2]
            if inner.startswith("-"):
                inner = inner[1:]
                if found and found[-1][0] == "text":
                    found[-1] = ("text", found[-1][1].rstrip())
            strips = inner.endswith("-")
            found.append((kind, inner[:-1] if strips else inner))
        elif piece:
            found.append(("text", piece.lstrip() if strips else piece))
            strips = False
    return found


class _Blocks:
    """A reader of pieces: outputs, and tags with their bodies."""

    def __init__(self, pieces: Sequence[tuple[str, str]]) -> None:
        self.pieces = pieces
        self.at = 0
        self.last: tuple[str, str] = ("", "")  # the tag that ended a body: its name and the rest of it

    def read(self, *ends: str) -> LiquidText:
        nodes: list[LiquidNode] = []
        while self.at < len(self.pieces):
            kind, inner = self.pieces[self.at]
            self.at += 1
            if kind == "text":
                nodes.append(inner)
            elif kind == "output":
                nodes.append(LiquidOutput(_Tokens(inner).whole()))
            else:
                name, _, rest = inner.strip().partition(" ")
                if name in ends:
                    self.last = (name, rest)
                    return tuple(nodes)
                nodes += self._tag(name, rest.strip())
        if ends:
            raise LiquidError(f"{{% {ends[-1]} %}} is missing")
        return tuple(nodes)

    def _tag(self, name: str, rest: str) -> list[LiquidNode]:
        if name in ("if", "unless"):
            return [self._if(rest, name == "unless")]
        if name == "case":
            return [self._case(rest)]
        if name == "for":
            tokens = _Tokens(rest)
            each = tokens.word()
            if tokens.word() != "in":
                raise LiquidError(f"{{% for {rest} %}} cannot be read")
            over = tokens.whole()
            body = self.read("else", "endfor")
            return [LiquidFor(each, over, body, self.read("endfor") if self.last[0] == "else" else ())]
        if name == "assign":
            tokens = _Tokens(rest)
            target = tokens.word()
            tokens.sign("=")
            return [LiquidAssign(target, tokens.whole())]
        if name == "capture":
            return [LiquidCapture(rest, self.read("endcapture"))]
        if name in ("comment", "raw"):
            start = self.at
            while self.at < len(self.pieces) and self.pieces[self.at] != ("tag", self.pieces[self.at][1]):
                self.at += 1
            while self.at < len(self.pieces) and self.pieces[self.at][1].strip() != f"end{name}":
                self.at += 1
            inside = self.pieces[start : self.at]
            self.at += 1
            marks = {"text": "{0}", "output": "{{{{{0}}}}}", "tag": "{{%{0}%}}"}
            return [] if name == "comment" else ["".join(marks[kind].format(inner) for kind, inner in inside)]
        raise LiquidError(f"the tag {{% {name} %}} has no counterpart here")

    def _if(self, rest: str, negated: bool) -> LiquidIf:
        branches: list[tuple[LiquidExpression | None, LiquidText, bool]] = []
        condition: LiquidExpression | None = _Tokens(rest).condition()
        while True:
            body = self.read("elsif", "else", "endif", "endunless")
            branches.append((condition, body, negated))
            negated = False
            if self.last[0] in ("endif", "endunless"):
                return LiquidIf(tuple(branches))
            condition = None if self.last[0] == "else" else _Tokens(self.last[1]).condition()

    def _case(self, rest: str) -> LiquidIf:
        subject = _Tokens(rest).whole()
        self.read("when", "else", "endcase")
        branches: list[tuple[LiquidExpression | None, LiquidText, bool]] = []
        while self.last[0] != "endcase":
            condition = None if self.last[0] == "else" else _Tokens(self.last[1]).any_of(subject)
            branches.append((condition, self.read("when", "else", "endcase"), False))
        return LiquidIf(tuple(branches))


class _Tokens:
    def __init__(self, text: str) -> None:
        self.original = text.strip()
        self.tokens = tokens_in(text, _TOKEN, lambda rest: self._unreadable(rest.strip()[:20]))
        self.at = 0

    def _unreadable(self, there: str) -> LiquidError:
        return LiquidError(f'"{self.original}" cannot be read at "{there}"')

    def whole(self) -> LiquidExpression:
        """A value with its filters, up to the end."""
        value: LiquidExpression = self._value()
        while self._take("|"):
            name = self.word()
            arguments: list[LiquidExpression] = []
            if self._take(":"):
                arguments.append(self._value())
                while self._take(","):
                    arguments.append(self._value())
            value = LiquidFilter(value, name, tuple(arguments))
        return self._ended(value)

    def condition(self) -> LiquidExpression:
        """Comparisons with `and` and `or`, which Liquid reads from the right."""
        left = self._comparison()
        if self._peek() in (("word", "and"), ("word", "or")):
            return LiquidTest(self.word(), left, self.condition())
        return self._ended(left)

    def any_of(self, subject: LiquidExpression) -> LiquidExpression:
        """The values of a `when`, each compared with the subject of its `case`."""
        found: LiquidExpression = LiquidTest("==", subject, self._value())
        while self._take(",") or self._take("or"):
            found = LiquidTest("or", found, LiquidTest("==", subject, self._value()))
        return self._ended(found)

    def word(self) -> str:
        kind, text = self._next()
        if kind != "word":
            raise self._unreadable(text)
        return text

    def sign(self, sign: str) -> None:
        if not self._take(sign):
            raise LiquidError(f'"{self.original}" has no "{sign}"')

    def _comparison(self) -> LiquidExpression:
        left = self._value()
        _, text = self._peek()
        if text in _COMPARISONS:
            self.at += 1
            return LiquidTest(text.replace("<>", "!="), left, self._value())
        return left

    def _value(self) -> LiquidExpression:
        kind, text = self._next()
        if kind == "text":
            return LiquidValue(text[1:-1])
        if kind == "number":
            return LiquidValue(float(text) if "." in text else int(text))
        if kind != "word":
            raise self._unreadable(text)
        if text in _WORDS:
            return _WORDS[text]
        parts: list[str | int] = [text]
        while self._peek()[1] in (".", "["):
            dot = self._next()[1] == "."
            kind, text = self._next()
            if kind == "word" and not dot:
                raise LiquidError(f'the place "[{text}]" is calculated')
            parts.append(text.strip("\"'") if kind != "number" else int(text))
            if not dot:
                self.sign("]")
        return LiquidPath(tuple(parts))

    def _ended(self, value: LiquidExpression) -> LiquidExpression:
        if self.at < len(self.tokens):
            raise self._unreadable(self.tokens[self.at][1])
        return value

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        if token[0] == "end":
            raise LiquidError(f'"{self.original}" ends too early')
        self.at += 1
        return token

    def _take(self, text: str) -> bool:
        if self._peek()[1] != text or self._peek()[0] == "text":
            return False
        self.at += 1
        return True


_WORDS = {
    "true": LiquidValue(True),
    "false": LiquidValue(False),
    "nil": LiquidValue(None),
    "null": LiquidValue(None),
    "blank": LiquidValue("", "blank"),
    "empty": LiquidValue("", "empty"),
}


def paths_in(text: str) -> list[tuple[str | int, ...]]:
    """All values that a text reads; none if it cannot be read."""
    try:
        return list(_paths(parse_liquid(text)))
    except LiquidError:
        return []


def may_be_empty(text: str) -> bool:
    """True if a text has no words of its own outside of values and blocks."""
    try:
        return not any(isinstance(node, str) and node.strip() for node in parse_liquid(text))
    except LiquidError:
        return True


def _paths(node: object) -> Iterator[tuple[str | int, ...]]:
    if isinstance(node, LiquidPath):
        yield node.parts
    elif isinstance(node, LiquidFor):
        yield from _paths(node.over)
        for path in (*_paths(node.body), *_paths(node.otherwise)):
            if path[0] != node.name:
                yield path
            elif isinstance(node.over, LiquidPath):
                yield (*node.over.parts, 0, *path[1:])
    elif isinstance(node, tuple):
        for each in node:
            yield from _paths(each)
    elif is_dataclass(node):
        for each in fields(node):
            yield from _paths(getattr(node, each.name))


@dataclass(frozen=True)
class WrittenLiquid:
    """An expression as it is written here, and what is known of its value: `text`, `number`, `boolean`, `any`."""

    text: str
    kind: str = "any"
    may_miss: bool = False  # a field that may not be there: it is read with `default`

    @property
    def safe(self) -> str:
        """The value, or an empty text where it is missing."""
        return f'({self.text} | default(""))' if self.may_miss else self.text

    @property
    def as_text(self) -> str:
        """The value as a text."""
        return self.safe if self.kind == "text" else f'({self.safe} ~ "")'

    @property
    def number(self) -> str:
        """The value as Liquid's filters for numbers read it: a text that is none counts as 0."""
        if self.kind == "number":
            return self.text
        plain = f"{self.as_text} | trim"
        return f'({plain} | as_number if {plain} | matches("-?[0-9]+([.][0-9]+)?") else 0)'

    @property
    def truth(self) -> str:
        """A condition that holds if Liquid counts the value as true: all but nil and false."""
        if self.kind == "boolean":
            return self.text
        known = f"{self.text} is not null" + ("" if self.kind == "text" else f" and {self.text} != false")
        return f"({self.text} is defined and {known})" if self.may_miss else f"({known})"


def quoted(text: str) -> str:
    """A text as an expression."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


Resolve: TypeAlias = Callable[[tuple[str | int, ...]], WrittenLiquid]


@dataclass
class LiquidWriter:
    """Writes Liquid in this language; `notes` say where a value may differ."""

    resolve: Resolve
    notes: list[str] = field(default_factory=list)
    assigned: dict[str, WrittenLiquid] = field(default_factory=dict)
    _inside: int = 0

    def template(self, text: str) -> str:
        """A text with values: `Hi {{ widgets.ask.inbound.Body }}` becomes `Hi {{ ask }}`."""
        written = self._text(parse_liquid(text))
        # A line of blocks alone is a line in Liquid; an empty value keeps it one here.
        return "\n".join(line + '{{ "" }}' if _ONLY_BLOCKS.fullmatch(line) else line for line in written.split("\n"))

    def value(self, text: str) -> str:
        """A text for a variable of type text: one value alone is made a text as well."""
        nodes = parse_liquid(text)
        if len(nodes) == 1 and isinstance(nodes[0], LiquidOutput):
            written = self.expression(nodes[0].expression)
            if written.text == '""':
                return ""
            return f"{{{{ {written.safe} }}}}" if written.kind == "text" else f'{{{{ {written.safe} ~ "" }}}}'
        return self.template(text)

    def operand(self, text: str) -> WrittenLiquid:
        """A text as one expression, whose value is a text."""
        return self._joined(parse_liquid(text))

    def expression(self, node: LiquidExpression) -> WrittenLiquid:
        """An expression."""
        if isinstance(node, LiquidValue):
            if isinstance(node.value, str):
                return WrittenLiquid(quoted(node.value), "text")
            if node.value is None:
                return WrittenLiquid("none")
            if isinstance(node.value, bool):
                return WrittenLiquid("true" if node.value else "false", "boolean")
            return WrittenLiquid(str(node.value), "number")
        if isinstance(node, LiquidPath):
            name = str(node.parts[0])
            if name in self.assigned:
                base = self.assigned[name]
                rest = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in node.parts[1:])
                return WrittenLiquid(base.text + rest, "any", True) if rest else base
            return self.resolve(node.parts)
        if isinstance(node, LiquidTest):
            return WrittenLiquid(self._test(node), "boolean")
        return self._filter(node)

    def _text(self, nodes: LiquidText) -> str:
        return "".join(self._node(node) for node in nodes)

    def _node(self, node: LiquidNode) -> str:
        if isinstance(node, str):
            return written_out(node)
        if isinstance(node, LiquidOutput):
            return f"{{{{ {self.expression(node.expression).safe} }}}}"
        if isinstance(node, LiquidAssign | LiquidCapture):
            if self._inside:
                raise LiquidError("a name that is assigned within a block has no counterpart here")
            value = self.expression(node.expression) if isinstance(node, LiquidAssign) else self._joined(node.body)
            is_name = re.fullmatch(r"\w+", value.text)
            self.assigned[node.name] = value if is_name else WrittenLiquid(f"({value.safe})", value.kind)
            return ""
        self._inside += 1
        written = self._for(node) if isinstance(node, LiquidFor) else self._if(node)
        self._inside -= 1
        return written

    def _for(self, node: LiquidFor) -> str:
        if self._inside > MAX_LOOPS:
            raise LiquidError("loops within more than one loop have no counterpart here")
        over = self.expression(node.over)
        elements = f"({over.text} | default([]))" if over.may_miss else over.text
        if over.kind != "any":
            self.notes.append("a loop over a text ends the flow")
        before = dict(self.assigned)
        name = f"each_{node.name}".replace("-", "_")
        self.assigned[node.name] = WrittenLiquid(name)
        self.assigned["forloop"] = WrittenLiquid("loop")
        body = self._text(node.body)
        self.assigned = before
        otherwise = f"{{% else %}}{self._text(node.otherwise)}" if node.otherwise else ""
        return f"{{% for {name} in {elements} %}}{body}{otherwise}{{% endfor %}}"

    def _if(self, node: LiquidIf) -> str:
        written, word = "", "if"
        for condition, body, negated in node.branches:
            if condition is None:
                written += f"{{% else %}}{self._text(body)}" if written else self._text(body)
                continue
            truth = self.expression(condition).truth
            written += f"{{% {word} {f'not ({truth})' if negated else truth} %}}{self._text(body)}"
            word = "elif"
        return written + "{% endif %}" if word == "elif" else written

    def _joined(self, nodes: LiquidText) -> WrittenLiquid:
        parts = []
        for node in nodes:
            if isinstance(node, str):
                parts.append(WrittenLiquid(quoted(node), "text"))
            elif isinstance(node, LiquidOutput):
                parts.append(self.expression(node.expression))
            elif isinstance(node, LiquidAssign | LiquidCapture):
                self._node(node)
            else:
                raise LiquidError("a block within a value that is compared has no counterpart here")
        if not parts:
            return WrittenLiquid('""', "text")
        if len(parts) == 1:
            return parts[0] if parts[0].kind == "text" else WrittenLiquid(parts[0].as_text, "text")
        return WrittenLiquid("(" + " ~ ".join(part.safe for part in parts) + ")", "text")

    def _test(self, node: LiquidTest) -> str:
        if node.operator in ("and", "or"):
            return f"({self.expression(node.left).truth} {node.operator} {self.expression(node.right).truth})"
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(node.right, LiquidValue) and node.right.word:
            stripped = f'({left.safe} ~ "") | trim' if node.right.word == "blank" else f'({left.safe} ~ "")'
            return f'({stripped} {node.operator} "")'
        if node.right == LiquidValue(None):
            known = f"({f'{left.text} is defined and ' if left.may_miss else ''}{left.text} is not null)"
            return known if node.operator == "!=" else f"(not {known})"
        if node.operator == "contains":
            is_word = isinstance(node.right, LiquidValue) and right.kind == "text"
            part = right.safe if is_word else f'({right.safe} ~ "")'
            return f'({part} in ({left.safe} or ""))'
        if node.operator in ("==", "!="):
            return f"({left.safe} {node.operator} {right.safe})"
        if "number" in (left.kind, right.kind):
            if left.kind != right.kind:
                self.notes.append("a text that is compared with a number counts as its number, else as 0")
            return f"({left.number} {node.operator} {right.number})"
        return f'(({left.safe} ~ "") {node.operator} ({right.safe} ~ ""))'

    def _filter(self, node: LiquidFilter) -> WrittenLiquid:
        value = self.expression(node.operand)
        given = [self.expression(argument) for argument in node.arguments]
        if node.name in _ARITHMETIC and given:
            return self._number(node, value, given[0])
        if node.name == "date" and len(node.arguments) == 1:
            return self._date(node)
        if node.name in ("append", "prepend") and given:
            first, second = (value, given[0]) if node.name == "append" else (given[0], value)
            return WrittenLiquid(f"({first.safe} ~ {second.safe})", "text")
        if node.name == "default" and given:
            kind = value.kind if value.kind == given[0].kind else "any"
            return WrittenLiquid(f"({value.text} | default({given[0].safe}))", kind)
        if node.name in ("round", "ceil", "floor", "abs"):
            arguments = f"({given[0].text})" if given and node.name == "round" else ""
            return WrittenLiquid(f"({value.number} | {node.name}{arguments})", "number")
        if node.name in _DIFFER:
            self.notes.append(_DIFFER[node.name])
        if node.name in _SAME:
            name, kind = _SAME[node.name]
            arguments = f"({', '.join(each.safe for each in given)})" if given else ""
            if node.name == "size" and value.kind == "number":
                return WrittenLiquid("0", "number")
            is_text = value.kind == "text" or node.name not in _OF_TEXTS
            return WrittenLiquid(f"({value.safe if is_text else value.as_text} | {name}{arguments})", kind)
        if node.name == "remove" and given:
            return WrittenLiquid(f'({value.safe} | replace({given[0].safe}, ""))', "text")
        if node.name == "concat" and given:
            return WrittenLiquid(f"({value.safe} + {given[0].safe})")
        if node.name == "slice" and given and all(isinstance(each, LiquidValue) for each in node.arguments):
            return self._slice(value, [each.value for each in node.arguments if isinstance(each, LiquidValue)])
        if node.name == "truncate" and node.arguments and isinstance(node.arguments[0], LiquidValue):
            most, end = int(node.arguments[0].value or 0), given[1].text if len(given) > 1 else '"..."'
            subject = value.as_text
            kept = f"({subject})[:{most} - ({end} | length)] ~ {end}"
            return WrittenLiquid(f"({subject} if ({subject} | length) <= {most} else {kept})", "text")
        raise LiquidError(f'the filter "{node.name}" has no counterpart here')

    def _number(self, node: LiquidFilter, value: WrittenLiquid, other: WrittenLiquid) -> WrittenLiquid:
        left, right = value.number, other.number
        argument = node.arguments[0]
        is_fraction = isinstance(argument, LiquidValue) and isinstance(argument.value, float)
        if is_fraction:
            self.notes.append("a whole result of a calculation with fractions is written 2, in Studio 2.0")
        elif node.name == "divided_by":
            whole = f"{left} % 1 == 0" + ("" if isinstance(argument, LiquidValue) else f" and {right} % 1 == 0")
            return WrittenLiquid(f"({left} // {right} if {whole} else {left} / {right})", "number")
        return WrittenLiquid(f"({left} {_ARITHMETIC[node.name]} {right})", "number")

    def _slice(self, value: WrittenLiquid, given: list[object]) -> WrittenLiquid:
        start, count = given[0], given[1] if len(given) > 1 else 1
        if not isinstance(start, int) or not isinstance(count, int) or start < 0:
            raise LiquidError("a slice from the end has no counterpart here")
        subject = f'({value.safe} ~ "")' if value.kind in ("text", "number") else f"({value.safe})"
        return WrittenLiquid(f"{subject}[{start}:{start + count}]", value.kind)

    def _date(self, node: LiquidFilter) -> WrittenLiquid:
        argument = node.arguments[0]
        if not isinstance(argument, LiquidValue) or not isinstance(argument.value, str):
            raise LiquidError("a date whose format is a variable has no counterpart here")
        now = isinstance(node.operand, LiquidValue) and node.operand.value in ("now", "today")
        moment = "now" if now else f"({self.expression(node.operand).safe} | as_datetime)"
        if not now:
            self.notes.append("a text that is no date ends the flow, while Studio writes it as it is")
        parts = []
        for piece in re.split(r"(%-?[A-Za-z%])", argument.value):
            if piece.startswith("%"):
                if piece not in _DIRECTIVES:
                    raise LiquidError(f'"{piece}" in a date has no counterpart here')
                parts.append(_DIRECTIVES[piece].format(moment))
            elif piece:
                parts.append(quoted(piece))
        return WrittenLiquid("(" + " ~ ".join(parts) + ' ~ "")', "text")


_ONLY_BLOCKS = lazy_pattern(r"\s*(\{%[^%]*%\}\s*)+")
_ARITHMETIC = {"plus": "+", "minus": "-", "times": "*", "divided_by": "/", "modulo": "%"}
_SAME: Mapping[str, tuple[str, str]] = {
    "upcase": ("upper", "text"),
    "downcase": ("lower", "text"),
    "capitalize": ("capitalize", "text"),
    "strip": ("trim", "text"),
    "replace": ("replace", "text"),
    "url_encode": ("urlencode", "text"),
    "split": ("split", "any"),
    "join": ("join", "text"),
    "first": ("first", "any"),
    "last": ("last", "any"),
    "size": ("length", "number"),
    "map": ("map", "any"),
    "sort": ("sort", "any"),
    "uniq": ("unique", "any"),
    "reverse": ("reverse", "any"),
}
_OF_TEXTS = ("upcase", "downcase", "capitalize", "strip", "replace", "url_encode", "split")
_DIFFER = {
    "capitalize": "capitalize writes all letters but the first small",
    "url_encode": "url_encode writes a space as %20, not as +",
    "split": "split takes the spaces around each part away",
}
_TWO = '("0" ~ {{0}}.{0})[-2:]'
_DIRECTIVES = {
    "%Y": "{0}.year",
    "%m": _TWO.format("month"),
    "%d": _TWO.format("day"),
    "%H": _TWO.format("hour"),
    "%M": _TWO.format("minute"),
    "%-m": "{0}.month",
    "%-d": "{0}.day",
    "%-H": "{0}.hour",
    "%A": "({0} | weekday | capitalize)",
    "%%": '"%"',
}
