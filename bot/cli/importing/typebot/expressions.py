"""JavaScript in a Typebot: its tokens, its tree, and the same as an expression of ours.

translate(parse("{{Age}} * 2 + 1"), names)  ->  "age * 2 + 1"
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.cli.importing.imported import tokens_in
from bot.core.lazy_patterns import lazy_pattern

TEXT, NUMBER, LIST, TRUTH, ANY = "text", "number", "list", "truth", "any"
"""The kinds of values. The type of a value of `ANY` is known only when a service answers."""

_TOKEN = lazy_pattern(
    r"""\s*(?:
    (?P<variable>\{\{[^{}]+\}\}) |
    (?P<number>\d+(?:\.\d+)?|\.\d+) |
    (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*') |
    (?P<template>`(?:[^`\\]|\\.)*`) |
    (?P<word>[A-Za-z_$][\w$]*) |
    (?P<sign>===|!==|=>|\*\*|==|!=|<=|>=|&&|\|\||\?\?|\?\.|[-+*/%<>!?:.,()\[\]{};=])
    )""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_BINARY = (("??", "||"), ("&&",), ("===", "!==", "==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
_GLOBALS = {"Math", "Number", "String", "parseInt", "parseFloat", "Date", "JSON", "Object", "Array", "RegExp", "Boolean",
            "Promise", "encodeURIComponent", "decodeURIComponent", "fetch", "isNaN", "Intl", "Set", "Map"}  # fmt: skip
_WORDS = {"const", "let", "var", "function", "if", "for", "while", "await", "return", "try", "throw", "switch", "class"}
_MOST_DEPTH = 60  # of brackets in one expression


class NoJavaScript(Exception):
    """A text that is no expression of JavaScript: Typebot takes it as it is."""


class UnknownJavaScript(Exception):
    """JavaScript that is not translated."""


@dataclass(frozen=True)
class JavaScript:
    """A node of the tree: its kind, its name or value, and its parts.

    Kinds are ``literal``, ``variable``, ``name``, ``unary``, ``binary``, ``choice`` (of ``? :``), ``member``,
    ``index``, ``call``, ``new``, ``list``, ``arrow`` and ``template``.
    """

    kind: str
    value: Any = None
    parts: tuple["JavaScript", ...] = ()


def parse(code: str) -> JavaScript:
    """Read code: one expression, perhaps behind `return`.

    Raises `NoJavaScript` for a text that cannot be code, and `UnknownJavaScript` for code of more than that.
    """
    if re.fullmatch(r"\s*0\d{2,}\s*", code):
        raise NoJavaScript("digits behind a zero stay a text")
    try:
        tree = _Parser(_tokens(code)).whole()
    except NoJavaScript:
        words = {*re.findall(r"[A-Za-z_$]\w*", code)}
        if words & _WORDS and re.search(r"[;=(]", code):
            raise UnknownJavaScript("it is more than one expression") from None
        raise
    if unknown := next((name for name in _free_names(tree) if name not in _GLOBALS), None):
        raise NoJavaScript(f"nothing is called {unknown}")
    return tree


def parse_path(code: str) -> JavaScript:
    """Read the path of a value in a service's answer: ``data.genres.flatMap(item => item.name)``."""
    tree = _Parser(_tokens(code)).whole()
    if unknown := next((name for name in _free_names(tree) if name not in {"data", "statusCode", *_GLOBALS}), None):
        raise UnknownJavaScript(f"nothing is called {unknown}")
    return tree


def _tokens(code: str) -> list[tuple[str, str]]:
    return [*tokens_in(code, _TOKEN, lambda rest: NoJavaScript(f"at {rest[:10]!r}")), ("end", "")]


def _free_names(tree: JavaScript, bound: frozenset[str] = frozenset()) -> list[str]:
    if tree.kind == "name":
        return [] if tree.value in bound else [tree.value]
    bound = bound | {*tree.value} if tree.kind == "arrow" else bound
    return [name for part in tree.parts for name in _free_names(part, bound)]


class _Parser:
    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = self._depth = 0

    def whole(self) -> JavaScript:
        self._takes("return")
        tree = self._choice()
        while self._takes(";"):
            pass
        if self._tokens[self._at][0] != "end":
            raise NoJavaScript(f"at {self._tokens[self._at][1]!r}")
        return tree

    def _takes(self, *texts: str) -> str:
        kind, text = self._tokens[self._at]
        if kind in ("sign", "word") and text in texts:
            self._at += 1
            return text
        return ""

    def _needs(self, text: str) -> None:
        if not self._takes(text):
            raise NoJavaScript(f"{text} is missing")

    def _choice(self) -> JavaScript:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise UnknownJavaScript("it is nested too deeply")
        tree = self._arrow() or self._binary(0)
        if self._takes("?"):
            then = self._choice()
            self._needs(":")
            tree = JavaScript("choice", None, (tree, then, self._choice()))
        self._depth -= 1
        return tree

    def _arrow(self) -> JavaScript | None:
        begun = self._at
        names = []
        if self._takes("("):
            while self._tokens[self._at][0] == "word":
                names.append(self._tokens[self._at][1])
                self._at += 1
                self._takes(",")
            closed = bool(self._takes(")"))
        else:
            closed = self._tokens[self._at][0] == "word"
            names.append(self._tokens[self._at][1])
            self._at += closed
        if closed and self._takes("=>"):
            return JavaScript("arrow", tuple(names), (self._choice(),))
        self._at = begun
        return None

    def _binary(self, level: int) -> JavaScript:
        if level == len(_BINARY):
            return self._unary()
        tree = self._binary(level + 1)
        while sign := self._takes(*_BINARY[level]):
            tree = JavaScript("binary", sign, (tree, self._binary(level + 1)))
        return tree

    def _unary(self) -> JavaScript:
        if sign := self._takes("!", "-", "+", "typeof"):
            return JavaScript("unary", sign, (self._unary(),))
        if self._takes("new"):
            made = self._behind(self._value())
            return JavaScript("new", None, (made,) if made.kind != "call" else made.parts)
        tree = self._behind(self._value())
        return JavaScript("binary", "**", (tree, self._unary())) if self._takes("**") else tree

    def _behind(self, tree: JavaScript) -> JavaScript:
        while sign := self._takes(".", "?.", "[", "("):
            if sign == "[":
                tree = JavaScript("index", None, (tree, self._choice()))
                self._needs("]")
            elif sign == "(":
                tree = JavaScript("call", None, (tree, *self._list(")")))
            else:
                kind, name = self._tokens[self._at]
                if kind != "word":
                    raise NoJavaScript("a name is missing")
                self._at += 1
                tree = JavaScript("member", name, (tree,))
        return tree

    def _list(self, end: str) -> list[JavaScript]:
        found: list[JavaScript] = []
        while not self._takes(end):
            found.append(self._choice())
            if not self._takes(","):
                self._needs(end)
                break
        return found

    def _value(self) -> JavaScript:
        kind, text = self._tokens[self._at]
        self._at += kind != "end"
        if kind == "variable":
            return JavaScript("variable", text[2:-2])
        if kind == "number":
            return JavaScript("literal", float(text) if "." in text else int(text))
        if kind == "text":
            return JavaScript("literal", unescaped(text[1:-1]))
        if kind == "template":
            return _template(text[1:-1])
        if kind == "word":
            known = {"true": True, "false": False, "null": None, "undefined": None}
            return JavaScript("literal", known[text]) if text in known else JavaScript("name", text)
        if text == "(":
            tree = self._choice()
            self._needs(")")
            return tree
        if text == "[":
            return JavaScript("list", None, tuple(self._list("]")))
        raise NoJavaScript(f"at {text!r}")


def unescaped(text: str) -> str:
    """The characters that a text in quotes stands for."""

    def one(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", one, text, flags=re.DOTALL)


def _template(text: str) -> JavaScript:
    parts: list[JavaScript] = []
    for number, part in enumerate(re.split(r"\$\{(\{\{[^{}]+\}\}|[^{}]*)\}", text)):
        if number % 2:
            parts.append(_Parser(_tokens(part)).whole())
        elif part:
            parts.append(JavaScript("literal", unescaped(part)))
    return JavaScript("template", None, tuple(parts))


@dataclass(frozen=True)
class OurExpression:
    """An expression of ours, the kind of its value, and what differs from JavaScript."""

    text: str
    kind: str
    notes: tuple[str, ...] = ()
    is_compound: bool = False

    @property
    def inner(self) -> str:
        """The text as it can stand in a longer expression."""
        return f"({self.text})" if self.is_compound else self.text

    @property
    def as_text(self) -> str:
        """An expression for the value as Typebot shows it."""
        if self.kind == LIST:
            return f"""('["' ~ ({self.inner} | join('","')) ~ '"]' if {self.inner} is not null else '')"""
        return self.inner if self.kind == TEXT else f"({self.inner} ~ '')"


def quoted(text: str) -> str:
    """A text as it stands in an expression."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"'{escaped}'"


def translate(tree: JavaScript, names: Mapping[str, OurExpression]) -> OurExpression:
    """The same as an expression of ours. ``names`` are those of variables, ``{{X}}`` by ``X``, and of `data`.

    Raises `UnknownJavaScript`.
    """
    return _Translator(names).of(tree)


_ZONE = "in the bot's time zone"
_LONG = "a quotient has 28 digits here, 17 there"
_NO_NUMBER = "a text that is no number fails here (NaN there)"
_MATH = {"round": "round", "floor": "floor", "ceil": "ceil", "abs": "abs"}
_TEXT_METHODS = {"toUpperCase": "upper", "toLowerCase": "lower", "trim": "trim"}
_DATE_PARTS = {"getFullYear": "year", "getDate": "day", "getHours": "hour", "getMinutes": "minute"}
_COMPARED = {"===": "==", "!==": "!="}


class _Translator:
    def __init__(self, names: Mapping[str, OurExpression]) -> None:
        self._names = names

    def of(self, tree: JavaScript) -> OurExpression:
        methods: dict[str, Callable[[JavaScript], OurExpression]] = {
            "literal": self._literal, "variable": self._variable, "name": self._variable, "unary": self._unary,
            "binary": self._binary, "choice": self._choice, "member": self._member, "index": self._index,
            "call": self._call, "list": self._list, "template": self._template,
        }  # fmt: skip
        if tree.kind not in methods:
            raise UnknownJavaScript(f"{tree.kind} is not translated")
        return methods[tree.kind](tree)

    def number(self, tree: JavaScript) -> OurExpression:
        """The value as a number, as JavaScript reads it in arithmetic."""
        found = self.of(tree)
        if found.kind in (NUMBER, ANY):
            return found
        if found.kind == TEXT:
            return OurExpression(f"({found.inner} | as_number)", NUMBER, (*found.notes, _NO_NUMBER))
        raise UnknownJavaScript(f"{found.kind} in arithmetic")

    def _literal(self, tree: JavaScript) -> OurExpression:
        if tree.value is None or isinstance(tree.value, bool):
            return OurExpression({None: "none", True: "true", False: "false"}[tree.value], TRUTH)
        if isinstance(tree.value, str):
            return OurExpression(quoted(tree.value), TEXT)
        return OurExpression(str(tree.value), NUMBER)

    def _variable(self, tree: JavaScript) -> OurExpression:
        if tree.value not in self._names:
            if tree.kind == "variable":
                raise NoJavaScript(f"no variable {tree.value}")
            raise UnknownJavaScript(f"{tree.value} is not translated")
        return self._names[tree.value]

    def _unary(self, tree: JavaScript) -> OurExpression:
        if tree.value == "!":
            part = self.of(tree.parts[0])
            return OurExpression(f"not {part.inner}", TRUTH, part.notes, True)
        if tree.value == "typeof":
            raise UnknownJavaScript("typeof is not translated")
        part = self.number(tree.parts[0])
        return OurExpression(f"-{part.inner}" if tree.value == "-" else part.text, NUMBER, part.notes, True)

    def _binary(self, tree: JavaScript) -> OurExpression:
        sign = _COMPARED.get(tree.value, tree.value)
        if sign == "+":
            return self._plus(*tree.parts)
        if sign in ("-", "*", "/", "%", "**"):
            left, right = (self.number(part) for part in tree.parts)
            made = self._joined(sign, left, right, NUMBER)
            if sign == "%":
                return replace(made, notes=(*made.notes, "below zero % has the sign of the second number"))
            is_finite = sign != "/" or re.fullmatch(r"10*|[2458]", right.text)
            return made if is_finite else replace(made, notes=(*made.notes, _LONG))
        if sign in ("<", ">", "<=", ">="):
            left, right = (self.number(part) for part in tree.parts)
            return self._joined(sign, left, right, TRUTH)
        left, right = (self.of(part) for part in tree.parts)
        if sign in ("==", "!="):
            if left.kind != right.kind and TRUTH not in (left.kind, right.kind):
                left, right = (replace(each, text=each.as_text, is_compound=False) for each in (left, right))
            return self._joined(sign, left, right, TRUTH)
        word = {"&&": "and", "||": "or", "??": "or"}[sign]
        return self._joined(word, left, right, right.kind)

    def _plus(self, one: JavaScript, other: JavaScript) -> OurExpression:
        left, right = self.of(one), self.of(other)
        if LIST in (left.kind, right.kind):
            raise UnknownJavaScript("a list in a sum")
        is_literal = any(
            part.kind == "template" or (isinstance(part.value, str) and part.kind == "literal") for part in (one, other)
        )
        if is_literal or left.kind == right.kind == TEXT:
            notes = () if is_literal or "'" in left.text + right.text else ("two numbers are joined here, added there",)
            made = self._joined("~", left, right, TEXT)
            return replace(made, notes=(*made.notes, *notes))
        return self._joined("+", self.number(one), self.number(other), NUMBER)

    @staticmethod
    def _joined(sign: str, left: OurExpression, right: OurExpression, kind: str) -> OurExpression:
        chained = sign in ("+", "~", "and", "or")
        begin = left.text if chained and f" {sign} " in left.text and left.text.count("(") == 0 else left.inner
        return OurExpression(f"{begin} {sign} {right.inner}", kind, (*left.notes, *right.notes), True)

    def _choice(self, tree: JavaScript) -> OurExpression:
        test, then, other = (self.of(part) for part in tree.parts)
        kind = then.kind if then.kind == other.kind else TEXT
        if then.kind != other.kind and TRUTH not in (then.kind, other.kind):
            then, other = (replace(each, text=each.as_text, is_compound=False) for each in (then, other))
        notes = (*test.notes, *then.notes, *other.notes)
        return OurExpression(f"{then.inner} if {test.inner} else {other.inner}", kind, notes, True)

    def _list(self, tree: JavaScript) -> OurExpression:
        parts = [self.of(part) for part in tree.parts]
        return OurExpression(f"[{', '.join(part.as_text for part in parts)}]", LIST, sum((p.notes for p in parts), ()))

    def _template(self, tree: JavaScript) -> OurExpression:
        parts = [self.of(part) for part in tree.parts]
        notes = sum((part.notes for part in parts), ())
        return OurExpression(" ~ ".join([*(part.inner for part in parts)] or ["''"]), TEXT, notes, len(parts) > 1)

    def _member(self, tree: JavaScript) -> OurExpression:
        part = self.of(tree.parts[0])
        if tree.value == "length" and part.kind != ANY:
            return OurExpression(f"({part.inner} | length)", NUMBER, part.notes)
        if part.kind != ANY:
            raise UnknownJavaScript(f".{tree.value} is not translated")
        dotted = (
            f"{part.inner}.{tree.value}" if not tree.value.startswith(("_", "$")) else f'{part.inner}["{tree.value}"]'
        )
        return OurExpression(dotted, ANY, part.notes)

    def _index(self, tree: JavaScript) -> OurExpression:
        part, at = self.of(tree.parts[0]), self.of(tree.parts[1])
        return OurExpression(f"{part.inner}[{at.text}]", TEXT if part.kind in (TEXT, LIST) else ANY, part.notes)

    def _call(self, tree: JavaScript) -> OurExpression:
        called, arguments = tree.parts[0], tree.parts[1:]
        if called.kind == "name":
            return self._function(called.value, arguments)
        if called.kind != "member":
            raise UnknownJavaScript("a call is not translated")
        owner = called.parts[0]
        if owner.kind == "name" and owner.value == "Math":
            return self._math(called.value, arguments)
        if owner.kind == "new" and owner.parts[0].value == "Date" and len(owner.parts) == 1:
            return self._date(called.value)
        return self._method(called.value, self.of(owner), arguments)

    def _function(self, name: str, arguments: Sequence[JavaScript]) -> OurExpression:
        if name in ("Number", "parseFloat") and len(arguments) == 1:
            return self.number(arguments[0])
        if name == "parseInt" and arguments:
            part = self.number(arguments[0])
            return OurExpression(f"({part.inner} | floor)", NUMBER, (*part.notes, "rounds down below zero, too"))
        if name == "String" and len(arguments) == 1:
            return OurExpression(self.of(arguments[0]).as_text, TEXT)
        if name == "encodeURIComponent" and len(arguments) == 1:
            return OurExpression(f"({self.of(arguments[0]).inner} | urlencode)", TEXT)
        raise UnknownJavaScript(f"{name}() is not translated")

    def _math(self, name: str, arguments: Sequence[JavaScript]) -> OurExpression:
        parts = [self.number(each) for each in arguments]
        notes = sum((part.notes for part in parts), ())
        if name in ("round", "floor", "ceil"):
            notes = tuple(note for note in notes if note != _LONG)
        if name in _MATH and len(parts) == 1:
            return OurExpression(f"({parts[0].inner} | {_MATH[name]})", NUMBER, notes)
        if name in ("min", "max") and parts:
            return OurExpression(f"([{', '.join(part.text for part in parts)}] | {name})", NUMBER, notes)
        if name == "pow" and len(parts) == 2:
            return self._joined("**", parts[0], parts[1], NUMBER)
        if name == "random" and not parts:
            return OurExpression("random()", NUMBER, ("chance is drawn once for each message",))
        raise UnknownJavaScript(f"Math.{name} is not translated")

    @staticmethod
    def _date(name: str) -> OurExpression:
        if name in _DATE_PARTS:
            return OurExpression(f"now.{_DATE_PARTS[name]}", NUMBER, (_ZONE,))
        if name == "getMonth":
            return OurExpression("now.month - 1", NUMBER, (_ZONE,), True)
        if name == "toISOString":
            return OurExpression("(now | utc)[:-1] ~ '.000Z'", TEXT, ("milliseconds are 000",), True)
        raise UnknownJavaScript(f"Date.{name} is not translated")

    def _method(self, name: str, owner: OurExpression, arguments: Sequence[JavaScript]) -> OurExpression:
        if name in ("map", "flatMap", "filter", "find") and len(arguments) == 1 and arguments[0].kind == "arrow":
            return self._each(name, owner, arguments[0])
        parts = [self.of(each) for each in arguments]
        notes = sum((part.notes for part in parts), owner.notes)
        texts = [part.text for part in parts]
        if name in _TEXT_METHODS and not parts:
            return OurExpression(f"({owner.as_text} | {_TEXT_METHODS[name]})", TEXT, notes)
        if name == "toString" and not parts:
            return OurExpression(owner.as_text, TEXT, notes)
        if name == "toFixed" and owner.kind == NUMBER:
            digits, notes = texts[0] if texts else "0", tuple(note for note in notes if note != _LONG)
            return OurExpression(
                f"({owner.inner} | round({digits}))", NUMBER, (*notes, "no zeros at the end: 2.5, not 2.50")
            )
        if name == "includes" and len(parts) == 1:
            return OurExpression(f"{parts[0].as_text} in {owner.inner}", TRUTH, notes, True)
        if name in ("startsWith", "endsWith") and len(parts) == 1 and isinstance(arguments[0].value, str):
            size = len(arguments[0].value)
            part = f"[:{size}]" if name == "startsWith" else f"[-{size}:]"
            return OurExpression(f"{owner.inner}{part} == {texts[0]}", TRUTH, notes, True)
        if name == "replaceAll" and len(parts) == 2:
            return OurExpression(f"({owner.inner} | replace({texts[0]}, {texts[1]}))", TEXT, notes)
        if name == "split" and len(parts) == 1:
            return OurExpression(f"({owner.as_text} | split({texts[0]}))", LIST, notes)
        if name == "join" and owner.kind in (LIST, ANY):
            return OurExpression(f"({owner.inner} | join({texts[0] if texts else quoted(',')}))", TEXT, notes)
        if name == "concat" and owner.kind == LIST and len(parts) == 1:
            added = texts[0] if parts[0].kind == LIST else f"[{parts[0].as_text}]"
            return OurExpression(f"{owner.inner} + {added}", LIST, notes, True)
        if name in ("slice", "substring") and 1 <= len(parts) <= 2:
            span = ":".join([texts[0], texts[1] if len(texts) > 1 else ""])
            return OurExpression(f"{owner.inner}[{span}]", owner.kind, notes)
        if name == "at" and len(parts) == 1:
            return OurExpression(f"{owner.inner}[{texts[0]}]", TEXT, notes)
        raise UnknownJavaScript(f".{name}() is not translated")

    def _each(self, name: str, owner: OurExpression, arrow: JavaScript) -> OurExpression:
        if owner.kind not in (LIST, ANY) or len(arrow.value) != 1:
            raise UnknownJavaScript(f".{name}() is not translated")
        element = OurExpression("it", TEXT if owner.kind == LIST else ANY)
        body = _Translator({**self._names, arrow.value[0]: element}).of(arrow.parts[0])
        notes = (*owner.notes, *body.notes)
        if name in ("filter", "find"):
            kind = LIST if name == "filter" else element.kind
            return OurExpression(
                f"({owner.inner} | {'where' if name == 'filter' else 'find'}({body.text}))", kind, notes
            )
        value = body.text if body.kind == TEXT else f"{body.inner} ~ ''"
        return OurExpression(f"({owner.inner} | map({value}))", LIST, notes)
