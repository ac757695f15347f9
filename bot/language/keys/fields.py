"""The fields of a map, and readers of values: they collect every problem instead of stopping at the first."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from typing import Any

from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.templates import Template, compile_template
from bot.language.source.problems import Mark, Problems, called_here, did_you_mean, lookalike
from bot.language.source.yaml_tree import List, Map, Node, Scalar, one_or_more, plain

NAME_PATTERN = "[a-z][a-z0-9_]{0,63}"
NAME_FIX = "use small letters from a to z, digits and _, a letter first, 64 at most"
_SPELT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "ł": "l", "ı": "i"})
_NEARLY_A_NAME = lazy_pattern(r"[A-Za-z0-9 _{}-]+")


class Fields:
    """The values of a map whose keys `bot.language.keys.declared_keys.KeySet.open` has checked."""

    def __init__(self, node: Map, problems: Problems, what: str) -> None:
        self.node = node
        self.problems = problems
        self.what = what
        # a locale may give two keys one title: the first counts
        self._nodes = {key.text: value for key, value in reversed(node.entries)}

    @property
    def mark(self) -> Mark:
        """The place where the map begins."""
        return self.node.mark

    def mark_of(self, key: str) -> Mark:
        """The place of a key's value; the map's own if the key is not written."""
        return self._nodes.get(key, self.node).mark

    @property
    def names(self) -> Collection[str]:
        """The written keys."""
        return self._nodes.keys()

    def raw(self, key: str) -> Node | None:
        """A key's value as it is, or None."""
        return self._nodes.get(key)

    def has(self, key: str) -> bool:
        """True if a key is written."""
        return key in self._nodes

    def null(self, key: str) -> bool:
        """True if a key is missing or written without a value."""
        node = self.raw(key)
        return node is None or (isinstance(node, Scalar) and node.value is None)

    def take(self, key: str, node: Node) -> None:
        """Read a node under this key, if the key is not written: the node's own key is this one misspelt."""
        self._nodes.setdefault(key, node)

    def report(self, code: str, mark: Mark, what: str, fix: str) -> None:
        """Add a problem of this map: its text begins with what the map is."""
        self.problems.add(code, mark, f"{self.what}: {what}", fix)

    def miss(self, key: str) -> None:
        """Report a key that is not written."""
        self.report("E105", self.mark, f'"{key}" is missing', f"add {key}:")


def items_of(node: Node, problems: Problems, what: str, fix: str = "") -> tuple[Node, ...]:
    """The items of a list. ``fix`` is what to do if the node is no list."""
    if isinstance(node, List):
        return node.items
    refuse(node, problems, what, "a list", fix)
    return ()


def entries_of(node: Node, problems: Problems, what: str, form: str = "key: value") -> tuple[tuple[Scalar, Node], ...]:
    """The entries of a map whose keys are the author's own names. ``form`` is what to write where it is no map."""
    found = map_in(node, problems, what, form)
    return () if found is None else found.entries


def map_in(node: Node, problems: Problems, what: str, form: str = "key: value") -> Map | None:
    """The node as a map; anything else is reported. A list of maps is merged into a map: stray dashes are common."""
    if isinstance(node, Map):
        return node
    entries = [entry for item in one_or_more(node) if isinstance(item, Map) for entry in item.entries]
    names = [key.text for key, _ in entries]
    if not entries or len({*names}) < len(names) or not all(isinstance(item, Map) for item in one_or_more(node)):
        refuse_no_map(node, problems, what, form)
        return None
    shown = ", ".join(f"{key.text}: {_shortly(item)}" for key, item in entries[:2])
    more = ", ..." if len(entries) > 2 else ""
    fix = f"leave out the dashes or brackets: {what.rpartition(': ')[2]}: {{{shown}{more}}}"
    problems.add("E106", node.mark, f"{what}: a map of keys is expected, this is a list", fix)
    return Map(node.mark, tuple(entries))


def _shortly(node: Node) -> str:
    return node.text if isinstance(node, Scalar) and not node.quoted and len(node.text) <= 20 else "..."


def refuse(node: Node, problems: Problems, what: str, expected: str, fix: str = "") -> None:
    """Report a value that is not what is expected. ``fix`` is what to write instead where that does not say it."""
    found = "a map" if isinstance(node, Map) else "a list"
    if isinstance(node, Scalar):
        found = f'"{node.text}"' if node.text or node.quoted else "nothing"
    problems.add("E106", node.mark, f"{what}: {found} is not {expected}", fix or f"write {expected}")


def refuse_no_map(node: Node, problems: Problems, what: str, form: str) -> None:
    """Report a value that is no map. ``form`` is what to write; what is in braces stands behind the key."""
    _, colon, key = what.rpartition(": ")
    fix = f"{key}: {_as_written(form, node)}" if colon and form.startswith("{") else form
    problems.add("E106", node.mark, f"{what}: a map of keys is expected", f"write {fix}")


def _as_written(form: str, node: Node) -> str:
    """The form to write, with the author's words in place of the example's."""
    items = [item.entries[0][0] if isinstance(item, Map) and item.entries else item for item in one_or_more(node)]
    words = [item.text for item in items if isinstance(item, Scalar) and item.text]
    if not words:
        return form
    if form.endswith("/}"):  # a folder, which authors write without its key
        return f"{form.partition(':')[0]}: {words[0]}}}"
    form = re.sub(r"\[.*\]", lambda _: f"[{', '.join(words)}]", form)
    return form.replace("{name: {", f"{{{words[0]}: {{") if is_name(words[0]) else form


def refuse_left_over(
    left: Iterable[Scalar],
    node: Map,
    known: Collection[str],
    what: str,
    problems: Problems,
    elsewhere: Callable[[str], str],
) -> None:
    """Report the keys of a map that are left over.

    ``known`` are the keys that it may have; ``elsewhere`` is what to do with one that belongs somewhere else.
    """
    in_braces = node.mark != node.entries[0][0].mark
    cut = False
    for key in left:
        if not _has_no_value(node.get(key.text)):
            fix = did_you_mean(key.text, known, f"known here: {', '.join(known)}" if known else "leave it out")
            fix = fix if called_here(key.text, known) else elsewhere(key.text) or fix
            problems.add("E104", key.mark, f'{what}: unknown key "{key.text}"', fix)
        elif not in_braces:
            text = "if it is a part of the text above, indent it further"
            fix = did_you_mean(key.text, known, f"{text}; known keys: {', '.join(known)}")
            problems.add("E104", key.mark, f'{what}: unknown key "{key.text}", without a value', fix)
        elif not cut:  # one text may have several commas
            cut = True
            fix = lookalike(key.text) or "if it belongs to a text with a comma, put that text in quotes"
            problems.add("E104", key.mark, f'{what}: "{key.text}" is a key without a value', fix)


def _has_no_value(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is None and not node.quoted


_USUAL = lazy_pattern(r"-?(0|[1-9][0-9]*)\.[0-9]+")


def text_of(node: Node, problems: Problems, what: str) -> str | None:
    """A text, as it is written; numbers and true/false are texts too where a text is meant."""
    if isinstance(node, Scalar) and node.value is not None:
        return node.text
    if isinstance(node, Scalar):
        fix = "write one; if a text has a comma in it, put it in quotes"
        if node.text:  # null in one of its spellings
            fix = f'if it is a text, put it in quotes: "{node.text}"'
        problems.add("E105", node.mark, f"{what}: a text is missing", fix)
    else:
        kind = "a map" if isinstance(node, Map) else "a list"
        problems.add("E106", node.mark, f"{what}: a text is expected, YAML reads {kind} here", "put the text in quotes")
    return None


def refuse_altered(node: Node, problems: Problems, *, number: bool = True) -> None:
    """Report every text in a value of which YAML makes a number, so that it is no longer what was written.

    ``number`` says whether a number may be meant as well: then ``8.50`` is one, in its usual form.
    """
    match node:
        case List(items=items):
            for item in items:
                refuse_altered(item, problems, number=number)
        case Map(entries=entries):
            for _, item in entries:
                refuse_altered(item, problems, number=number)
        case Scalar(value=int() | float() as value) if node.altered and not (number and _is_usual(node)):
            read = int(value) if value == int(value) else value
            fix = f'put it in quotes: "{node.text}"' + (f"; if the number is meant, write {read}" if number else "")
            problems.add("E007", node.mark, f"YAML reads {node.text} as the number {read}", fix)


def _is_usual(node: Scalar) -> bool:
    """True if a number is written as people do, and YAML keeps all its digits."""
    return _USUAL.fullmatch(node.text) is not None and Decimal(node.text) == Decimal(str(node.value))


def plain_of(node: Node, problems: Problems) -> Any:
    """The node as plain values. A text that YAML turns into a number is a problem."""
    refuse_altered(node, problems)
    return plain(node)


def name_of(node: Node, problems: Problems, what: str) -> str | None:
    """A name: small letters, digits and underscores."""
    text = text_of(node, problems, what)
    if text is None or is_name(text):
        return text
    spelt = _in_ascii(re.sub("(?<=[a-z])(?=[A-Z])", "_", text))
    meant = "_".join(re.findall("[a-z0-9]+", spelt)) if _NEARLY_A_NAME.fullmatch(spelt) else ""
    fix = f"write {meant}: small letters from a to z, digits and _ only" if is_name(meant) else NAME_FIX
    if re.match(r"\w+:\S", text):
        fix = "write a space behind the colon"
    problems.add("E108", node.mark, f'{what}: "{text}" is no name', lookalike(text) or fix)
    return None


def signal_name_of(node: Node, problems: Problems, what: str) -> str | None:
    """The name of a signal: a name, or several with dots between them, such as ``invoice.paid``."""
    text = text_of(node, problems, what)
    return text if text is None or all(map(is_name, text.split("."))) else name_of(node, problems, what)


def _in_ascii(text: str) -> str:
    """A text in small letters without accents: ``Größe`` is ``groesse``."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", text).lower().translate(_SPELT))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def is_name(text: str) -> bool:
    """True if a text can be the name of a flow, a step or a variable."""
    return re.fullmatch(NAME_PATTERN, text) is not None


def template_of(node: Node, problems: Problems, what: str) -> Template | None:
    """A text that is a template. The line break that ends a block of lines is not part of it."""
    text = text_of(node, problems, what)
    if text is None or not isinstance(node, Scalar):
        return None
    return compile_template(text.rstrip("\n"), node.mark, problems, literal=node.literal)
