"""The grammar of RapidPro's expressions: texts with `@contact.name` and `@(...)`, read, evaluated, and translated."""

import ast
import inspect
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from bot.cli.importing.imported import tokens_in, written_out
from bot.cli.importing.rapidpro import excellent_functions as library
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern

Path = tuple[str, ...]
ROOTS = frozenset({
    "contact", "fields", "urns", "results", "run", "parent", "child", "input", "trigger", "webhook", "legacy_extra",
    "node", "globals", "global", "ticket", "resume", "locals", "calendar", "extra", "step", "flow", "date",
})  # fmt: skip
"""The names with which `@name` in a text is an expression."""


class Untranslatable(BotError):
    """An expression, or a part of it, that has no counterpart here."""


@immutable
class Excellent:
    """A node of an expression: its kind, its own value, and the nodes below it.

    Kinds: `literal`, `path` (names from a root), `index` (a value and a key), `call`, `binary`, `negative`, `lambda`.
    """

    kind: str
    value: Any = None
    parts: tuple["Excellent", ...] = ()


@immutable
class Inserted:
    """An expression in a text, with its source."""

    tree: Excellent
    source: str


_TOKEN = lazy_pattern(
    r'\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<text>"(?:[^"\\]|\\.|"")*")|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<sign>=>|<>|!=|<=|>=|[-+*/^&=<>(),.\[\]]))"
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("=", "!=", "<>"), ("<", "<=", ">", ">="), ("&",), ("+", "-"), ("*", "/"), ("^",),
)  # fmt: skip
_BARE = lazy_pattern(r"@(@|\(|[A-Za-z_]\w*(?:\.\w+)*)")


def _unreadable(rest: str) -> Untranslatable:
    return Untranslatable(f"{rest.strip()[:20]} is no expression of RapidPro")


class ExcellentReader:
    """Reads one expression, by recursive descent."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens_in(source, _TOKEN, _unreadable)
        self.at = 0

    def read(self) -> Excellent:
        """Return the whole expression. Raises `Untranslatable`."""
        tree = self._level(0)
        if self.at < len(self.tokens):
            raise Untranslatable(f"{self.tokens[self.at][1]} is not expected in {self.source}")
        return tree

    def _next(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _take(self, *signs: str) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "sign" and self._next() in signs:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return ""

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise Untranslatable(f"{sign} is missing in {self.source}")

    def _level(self, level: int) -> Excellent:
        if level == len(_LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while sign := self._take(*_LEVELS[level]):
            left = Excellent("binary", "!=" if sign == "<>" else sign, (left, self._level(level + 1)))
        return left

    def _unary(self) -> Excellent:
        return Excellent("negative", None, (self._unary(),)) if self._take("-") else self._atom()

    def _atom(self) -> Excellent:
        if self._take("("):
            if self._is_lambda():
                return self._lambda()
            tree = self._level(0)
            self._need(")")
            return self._followed(tree)
        if self.at >= len(self.tokens):
            raise Untranslatable(f"{self.source} ends too early")
        kind, text = self.tokens[self.at]
        self.at += 1
        match kind:
            case "number":
                return Excellent("literal", Decimal(text))
            case "text":
                return self._followed(Excellent("literal", _unquoted(text)))
            case "name" if text.lower() in ("true", "false", "null"):
                return Excellent("literal", {"true": True, "false": False}.get(text.lower()))
            case "name":
                return self._followed(Excellent("path", (text.lower(),)))
        raise Untranslatable(f"{text} is not expected in {self.source}")

    def _is_lambda(self) -> bool:
        rest = [text for _, text in self.tokens[self.at :]]
        return ")" in rest and rest[rest.index(")") + 1 : rest.index(")") + 2] == ["=>"]

    def _lambda(self) -> Excellent:
        names = []
        while not self._take(")"):
            names.append(self._next().lower())
            self.at += 1
            self._take(",")
        self._need("=>")
        return Excellent("lambda", tuple(names), (self._level(0),))

    def _followed(self, tree: Excellent) -> Excellent:
        """A value with the properties, elements and arguments that are written behind it."""
        while True:
            if self._take("."):
                key = self._next()
                self.at += 1
                tree = Excellent("path", (*tree.value, key.lower())) if tree.kind == "path" else _indexed(tree, key)
            elif self._take("["):
                inside = self._level(0)
                self._need("]")
                if tree.kind == "path" and inside.kind == "literal":
                    tree = Excellent("path", (*tree.value, library.shown(inside.value).lower()))
                else:
                    tree = Excellent("index", None, (tree, inside))
            elif tree.kind == "path" and len(tree.value) == 1 and self._take("("):
                arguments = []
                while not self._take(")"):
                    arguments.append(self._level(0))
                    if not self._take(",") and self._next() != ")":
                        raise Untranslatable(f") is missing in {self.source}")
                tree = Excellent("call", tree.value[0], tuple(arguments))
            else:
                return tree


def _indexed(tree: Excellent, key: str) -> Excellent:
    return Excellent("index", None, (tree, Excellent("literal", key)))


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}


def _unquoted(text: str) -> str:
    """Return the text of a literal. One with another escape than Go's is what it is written as: a pattern."""
    inside = text[1:-1].replace('""', '"')
    escapes = re.findall(r"\\(.)", inside, re.DOTALL)
    if not all(escape in _ESCAPES for escape in escapes):
        return inside
    return re.sub(r"\\(.)", lambda found: _ESCAPES[found[1]], inside)


def read_expression(source: str) -> Excellent:
    """Return the tree of what stands in `@(...)`. Raises `Untranslatable`."""
    return ExcellentReader(source).read()


def parts_of(text: str) -> list[str | Inserted]:
    """Return the parts of a text: what is said as it is, and the expressions. Raises `Untranslatable`.

    parts_of("Hi @contact.name!")  -> ["Hi ", Inserted(path contact.name), "!"]
    """
    if "<%" in text:
        raise Untranslatable("code of Elixir (<% %>)")
    found: list[str | Inserted] = []
    place = 0
    for match in _BARE.finditer(text):
        if match.start() < place:
            continue
        if match[1] == "@":
            found.append(text[place : match.start()] + "@")
            place = match.end()
        elif match[1] == "(":
            end = _closing(text, match.end())
            if end is not None:
                source = text[match.end() : end]
                found += [text[place : match.start()], Inserted(read_expression(source), f"@({source})")]
                place = end + 1
        elif (names := tuple(match[1].lower().split(".")))[0] in ROOTS:
            if text[match.end() : match.end() + 2] == ".@":
                raise Untranslatable(f"{match[0]}.@, a name that is made of another value")
            found += [text[place : match.start()], Inserted(Excellent("path", names), match[0])]
            place = match.end()
    return [part for part in [*found, text[place:]] if part != ""]


def _closing(text: str, start: int) -> int | None:
    """The place of the bracket that closes an expression."""
    depth, quoted = 1, False
    for place in range(start, len(text)):
        char = text[place]
        if char == '"' and text[place - 1] != "\\":
            quoted = not quoted
        elif not quoted and char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                return place
    return None


FUNCTIONS: dict[str, str] = {
    **{name: name for name in vars(library) if name.startswith("has_")},
    **{name: name for name in (
        "attachment_parts", "date_from_parts", "datetime_add", "datetime_diff", "epoch", "first_word", "format_date",
        "format_datetime", "format_location", "format_number", "format_time", "format_urn", "is_error", "legacy_add", "mean",
        "parse_datetime", "parse_json", "read_chars", "regex_match", "remove_first_word", "repeat", "replace_time", "round_down",
        "round_up", "text_compare", "text_length", "text_slice", "url_encode", "urn_parts", "weekday", "word_count", "word_slice",
    )},
    "abs": "absolute", "boolean": "truth", "char": "char_of", "clean": "cleaned", "code": "char_code",
    "count": "count_of", "date": "date_of", "datetime": "datetime_of", "extract": "part_of", "field": "field_at",
    "has_category": "has_only_text", "is_text_eq": "has_only_text", "join": "joined", "json": "to_json",
    "length": "count_of", "mod": "modulo", "now": "current_time", "number": "to_number", "parse_date": "parse_datetime",
    "percent": "percentage", "replace": "replaced", "reverse": "reversed_values", "round": "round_half",
    "split": "split_parts", "text": "shown", "time": "time_of", "title": "title_case", "today": "current_day",
    "trim": "trimmed", "unique": "unique_values", "upper_case": "upper", "word": "word_at",
}  # fmt: skip
"""The functions of RapidPro by their names, each with the function of `excellent_functions` that does it."""
_OF_NUMBERS = {"max": "largest", "min": "smallest", "mean": "mean"}
"""Those that take any number of numbers; here they take a list."""
OLD_NAMES = {
    "proper": "title", "len": "text_length", "concatenate": "concat", "substitute": "replace", "fixed": "format_number",
    "int": "round_down", "power": "^", "average": "mean", "regex_group": "regex_match", "datevalue": "datetime",
    "unichar": "char",
}  # fmt: skip
"""Functions of flows before version 12, with their present names."""
_NUMBERS = frozenset({
    "absolute", "char_code", "count_of", "datetime_diff", "epoch", "mean", "to_number", "round_half", "round_down",
    "round_up", "modulo", "text_compare", "text_length", "weekday", "word_count", "power", "largest", "smallest",
})  # fmt: skip
_FALLIBLE = frozenset({
    "to_number", "date_of", "datetime_of", "format_date", "format_datetime", "format_time", "datetime_add",
    "datetime_diff", "epoch", "weekday", "word_at", "parse_datetime", "parse_json", "time_of", "replace_time",
    "format_number", "percentage", "char_code", "legacy_add",
})  # fmt: skip
"""The functions that fail where a value is no number, no time or has no such word."""
_ANY = frozenset({
    "part_of", "parse_json", "split_parts", "unique_values", "reversed_values", "attachment_parts", "urn_parts",
    "truth", "legacy_add",
})  # fmt: skip
_OPERATORS: Mapping[str, Callable[[Decimal, Decimal], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": library.power,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def takes_now(name: str) -> bool:
    """True if a function of the library is given the time of now."""
    return "now" in inspect.signature(getattr(library, name)).parameters


def _arguments(name: str) -> tuple[int, int]:
    """Return how many arguments a function of the library takes at least and at most, besides the time of now."""
    parameters = inspect.signature(getattr(library, name)).parameters.values()
    taken = [each for each in parameters if each.name != "now"]
    return sum(each.default is each.empty for each in taken), len(taken)


def evaluated(tree: Excellent, scope: Callable[[Path], Any], now: datetime) -> Any:
    """Return the value of an expression, as RapidPro has it. Raises `ValueError` or another error where it fails."""

    def value(node: Excellent, names: Mapping[str, Any]) -> Any:
        match node.kind:
            case "literal":
                return node.value
            case "path" if node.value[0] in names:
                found = names[node.value[0]]
                for key in node.value[1:]:
                    found = library.part_of(found, key)
                return found
            case "path":
                return scope(node.value)
            case "index":
                return library.part_of(value(node.parts[0], names), value(node.parts[1], names))
            case "negative":
                return -library.to_number(value(node.parts[0], names))
            case "binary":
                return _calculated(node.value, *(value(part, names) for part in node.parts))
        return called(node, names)

    def called(node: Excellent, names: Mapping[str, Any]) -> Any:
        match node.value, node.parts:
            case "if", (test, yes, no):
                return value(yes if library.truth(value(test, names)) else no, names)
            case "default", (first, second):
                try:
                    return value(first, names) or value(second, names)
                except (ValueError, IndexError, ArithmeticError):
                    return value(second, names)
            case "foreach", (values, function, *rest):
                extra = [value(each, names) for each in rest]
                name, listed = function.value[0], value(values, names)
                if function.kind == "lambda":
                    return [value(function.parts[0], {**names, name: each}) for each in listed]
                return [_applied(name, [each, *extra], now) for each in listed]
        return _applied(node.value, [value(part, names) for part in node.parts], now)

    return value(tree, {})


def _calculated(sign: str, left: Any, right: Any) -> Any:
    if sign == "&":
        return library.concatenated(left, right)
    if sign in ("=", "!="):
        if not (isinstance(left, Decimal) and isinstance(right, Decimal)):
            left, right = library.shown(left), library.shown(right)
        return (left == right) == (sign == "=")
    return _OPERATORS[sign](library.to_number(left), library.to_number(right))


def _applied(name: str, values: list[Any], now: datetime) -> Any:
    name = OLD_NAMES.get(name, name)
    match name:
        case "upper" | "lower":
            return getattr(library.shown(values[0]), name)()
        case "and" | "or":
            return (all if name == "and" else any)(map(library.truth, values))
        case "array":
            return values
        case "object":
            return dict(zip(map(library.shown, values[::2]), values[1::2], strict=True))
        case "max" | "min" | "mean":
            return getattr(library, _OF_NUMBERS[name])(values)
        case "concat":
            return "".join(map(library.shown, values))
        case "rand" | "rand_between":  # conversations draw 0
            return library.to_number(values[0] if values else 0)
    if name not in FUNCTIONS or not hasattr(library, FUNCTIONS[name]):
        raise Untranslatable(f"the function {name}()")
    function = getattr(library, FUNCTIONS[name])
    return function(*values, now=now) if takes_now(FUNCTIONS[name]) else function(*values)


class ExpressionWriter:
    """Writes expressions of RapidPro as those of a bot. ``resolve`` gives what a path is here, and its kind.

    A kind is `text`, `number`, `bool` or `any`: a text needs no conversion, any other value is `shown(...)` in a text.
    ``can_fail``: a value may not be what a function needs.
    """

    def __init__(self, resolve: Callable[[Path], tuple[str, str]]) -> None:
        self.resolve = resolve
        self.can_fail = False

    def text(self, template: str) -> str:
        """Return a text with its expressions in `{{ }}`. Raises `Untranslatable`."""
        return "".join(
            written_out(part) if isinstance(part, str) else f"{{{{ {self.shown(part.tree)} }}}}"
            for part in parts_of(template)
        )

    def operand(self, template: str) -> str:
        """Return a text as one expression, whose value is a text: `@input.text` is a variable."""
        parts = parts_of(template)
        if not parts:
            return '""'
        if len(parts) == 1 and not isinstance(parts[0], str):
            written, kind = self.written(parts[0].tree)
            return written if kind == "text" else self._call("shown", written)
        written_parts = [quoted(part) if isinstance(part, str) else self.shown(part.tree) for part in parts]
        return written_parts[0] if len(parts) == 1 else f"({' ~ '.join(written_parts)})"

    def value(self, template: str) -> str:
        """Return a single expression with its own type, anything else as a text."""
        match parts_of(template):
            case [Inserted(tree=tree)]:
                return self.written(tree)[0]
        return self.operand(template)

    def shown(self, tree: Excellent) -> str:
        """Return an expression whose value is a text or a number."""
        written, kind = self.written(tree)
        return written if kind in ("text", "number") else self._call("shown", written)

    def written(self, tree: Excellent) -> tuple[str, str]:
        """Return an expression of a bot, and the kind of its value. Raises `Untranslatable`."""
        match tree.kind:
            case "literal":
                return _constant(tree.value)
            case "path":
                return self.resolve(tree.value)
            case "index":
                return self._call("part_of", *(self.written(part)[0] for part in tree.parts)), "any"
            case "negative":
                return f"(-{self._number(tree.parts[0])})", "number"
            case "binary":
                return self._binary(tree.value, *tree.parts)
            case "call":
                return self._called(OLD_NAMES.get(tree.value, tree.value), tree.parts)
        raise Untranslatable("a function without a name")

    def called_with(self, name: str, arguments: list[str]) -> str:
        """Return a call of a test, with arguments that are written already. Raises `Untranslatable`."""
        function = FUNCTIONS.get(name, "")
        if not hasattr(library, function) or not function:
            raise Untranslatable(f"the test {name}")
        least, most = _arguments(function)
        if len(arguments) < least:
            raise Untranslatable(f"the test {name} without an argument")
        return self._call(function, *arguments[:most])

    def _call(self, name: str, *arguments: str) -> str:
        return f"{name}({', '.join(arguments)})"

    def _list(self, trees: Iterable[Excellent]) -> str:
        return f"[{', '.join(self.written(each)[0] for each in trees)}]"

    def _number(self, tree: Excellent) -> str:
        written, kind = self.written(tree)
        if kind == "number":
            return written
        self.can_fail = True
        return self._call("to_number", written)

    def _truth(self, tree: Excellent) -> str:
        written, kind = self.written(tree)
        return written if kind == "bool" else self._call("truth", written)

    def _binary(self, sign: str, left: Excellent, right: Excellent) -> tuple[str, str]:
        if sign == "&":
            return f"({self.shown(left)} ~ {self.shown(right)})", "text"
        if sign in ("=", "!="):
            same = "==" if sign == "=" else "!="
            one, two = self.written(left), self.written(right)
            if one[1] == two[1] and one[1] in ("text", "number"):
                return f"({one[0]} {same} {two[0]})", "bool"
            return f"({self._call('shown', one[0])} {same} {self._call('shown', two[0])})", "bool"
        one_number, two_number = self._number(left), self._number(right)
        if sign == "^":
            return self._call("power", one_number, two_number), "number"
        return f"({one_number} {sign} {two_number})", "bool" if sign[0] in "<>" else "number"

    def _called(self, name: str, parts: tuple[Excellent, ...]) -> tuple[str, str]:
        match name, parts:
            case "if", (test, yes, no):
                one, two = self.written(yes), self.written(no)
                return f"({one[0]} if {self._truth(test)} else {two[0]})", one[1] if one[1] == two[1] else "any"
            case (("and" | "or"), _):
                return f"({f' {name} '.join(self._truth(part) for part in parts)})", "bool"
            case (("upper" | "lower"), (text,)):
                return f"({self.shown(text)} | {name})", "text"
            case "default", (first, second):
                one, two = self.written(first), self.written(second)
                kind = one[1] if one[1] == two[1] else "any"
                if first.kind == "call" and one[1] == "any":  # it may be a list, and an empty one counts as nothing
                    return f"({one[0]} or {two[0]})", kind
                return f"({one[0]} | default({two[0]}))", kind
            case "array", _:
                return self._list(parts), "any"
            case "object", _ if len(parts) % 2 == 0:
                written = [self.written(part)[0] for part in parts]
                pairs = zip(written[::2], written[1::2], strict=True)
                return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}", "any"
            case (("max" | "min" | "mean"), _) if parts:
                return self._call(_OF_NUMBERS[name], self._list(parts)), "number"
            case "concat", _:
                return f"({' ~ '.join(self.shown(part) for part in parts)})", "text"
            case "foreach", (values, applied, *rest):
                return self._each(values, applied, rest)
            case "rand", ():
                return "random()", "number"
            case "rand_between", (lowest, highest):
                low, high = self._number(lowest), self._number(highest)
                return f"(((random() * ({high} - {low} + 1)) | floor) + {low})", "number"
        function = FUNCTIONS.get(name, "")
        if not hasattr(library, function):
            raise Untranslatable(f"the function {name}()")
        least, most = _arguments(function)
        if not least <= len(parts) <= most:
            raise Untranslatable(f"{name}() with {len(parts)} arguments")
        if function in _FALLIBLE:
            self.can_fail = True
        kind = "number" if function in _NUMBERS else "any" if function in _ANY else "text"
        return self._call(function, *(self.written(part)[0] for part in parts)), kind

    def _each(self, values: Excellent, function: Excellent, rest: list[Excellent]) -> tuple[str, str]:
        """A list with a function applied to each element."""
        listed = self.written(values)[0]
        if function.kind == "lambda":
            inner = ExpressionWriter(lambda path: _element(path, function.value[0]) or self.resolve(path))
            body = inner.written(function.parts[0])[0]
        else:
            name = function.value[0]
            inner = ExpressionWriter(lambda path: ("it", "any") if path == ("it",) else self.resolve(path))
            body = inner.written(Excellent("call", name, (Excellent("path", ("it",)), *rest)))[0]
        return f"({listed} | map({body}))", "any"


def _element(path: Path, name: str) -> tuple[str, str] | None:
    if path[0] != name:
        return None
    return ".".join(["it", *path[1:]]), "any"


def quoted(text: str) -> str:
    """Return a text as an expression has it."""
    return json.dumps(text, ensure_ascii=False)


def _constant(value: Any) -> tuple[str, str]:
    if value is None:
        return "none", "any"
    if isinstance(value, bool):
        return ("true" if value else "false"), "bool"
    return (library.shown(value), "number") if isinstance(value, Decimal) else (quoted(value), "text")


@cache
def _library() -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The lines with the imports of the library, and the source of each of its functions."""
    source = inspect.getsource(library)
    lines, tree = source.splitlines(), ast.parse(source)
    functions = {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    return tuple(line for line in lines if line.startswith(("import ", "from "))), functions


def used_in(texts: list[str]) -> tuple[list[str], list[str]]:
    """Return the imports and the sources of the functions that texts call, with those that these call."""
    lines, functions = _library()
    called = {name for text in texts for name in re.findall(r"\b(\w+)\(", text)}
    needed: set[str] = set()
    waiting = [name for name in functions if name in called]
    while waiting:
        if (name := waiting.pop()) not in needed:
            needed.add(name)
            waiting += functions.keys() & re.findall(r"\w+", functions[name].partition("\n")[2])
    sources = [
        (f'@function("{name}")\n' if name in called else "") + source
        for name, source in functions.items()
        if name in needed
    ]
    words = {*re.findall(r"\w+", "\n".join(sources))}
    imports = []
    for line in lines:
        start, _, names = line.rpartition("import ")
        kept = [name for name in names.split(", ") if name in words]
        imports += [f"{start}import {', '.join(kept)}"] if kept else []
    return imports, sources
