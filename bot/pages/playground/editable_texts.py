"""The texts of a bot that a person can edit: those of a step, of a flow or of the bot, each beside its translations."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from bot.core.immutable import immutable
from bot.language.flow.documents import BOT_FILE, LOCALES, read_documents
from bot.language.flow.translations import TITLE, WORDS, all_spots, renoted
from bot.language.keys.text_shapes import JINJA, Part, Path, Spot, scalars_of
from bot.language.python.gathered import Extensions
from bot.language.source.problems import Mark, Problems
from bot.language.source.rewriting import block_of
from bot.language.source.yaml_tree import List, Map, Node, Scalar, one_or_more
from bot.language.steps.custom_steps import all_kinds
from bot.loading.folder import Folder

Place = tuple[str, str]
"""A flow and its step. Without a step it is the flow itself, without both the bot."""


SURE = 0.3
"""The share of a message that must stand in a text which no step of its turn has."""


@immutable
class TextField:
    """A text of a file, in one of the bot's languages (empty: that of the flows).

    ``mark`` is its place. A text that is not written yet has none: it goes ``into`` a map under the keys ``below``, or
    into a list. A word may stand ``among`` others. ``on_key``: it is a key, with its ``keys`` in the files of the other
    languages.
    """

    id: str
    language: str
    text: str
    mark: Mark | None = None
    into: Node | None = None
    below: Path = ()
    among: List | None = None
    on_key: bool = False
    keys: tuple[Mark, ...] = ()

    @property
    def may_be_empty(self) -> bool:
        """True if it can be deleted: a word among others, or a translation."""
        return bool(self.language) if self.among is None else len(self.among.items) > 1

    @property
    def is_further_word(self) -> bool:
        """True if it adds a word to others."""
        return self.mark is None and (isinstance(self.into, List) or self.below[-1:] == ("",))


@immutable
class TextGroup:
    """A text with its translations, under the name of its key."""

    label: str
    fields: tuple[TextField, ...]


class EditableTexts:
    """The texts in a bot's files, as they are at one moment."""

    def __init__(self, folder: Folder, extensions: Extensions) -> None:
        documents = read_documents(folder.sources, Problems())
        self._texts = {source.path: source.text.decode("utf-8", "replace") for source in folder.sources}
        self._flows = {name.text: node for node in documents.flows if isinstance(name := node.get("flow"), Scalar)}
        self._locales = documents.locales
        languages = one_or_more(documents.bots[0].get("languages")) if documents.bots else ()
        self.languages = [each.text for each in languages if isinstance(each, Scalar)][1:]
        """The languages besides that of the flows."""
        starts = sorted(self._starts())
        marks = [start for start, _ in starts]
        self._spots: list[tuple[Place, Spot]] = []
        """All texts and words with their places."""
        for spot in all_spots(documents, all_kinds(extensions.verbs)):
            at = bisect_right(marks, spot.node.mark.position) - 1
            self._spots.append((starts[at][1] if at >= 0 else ("", ""), spot))

    def _starts(self) -> Iterator[tuple[tuple[str, int, int], Place]]:
        """Where each step and each other part of a flow begins."""
        yield (BOT_FILE, 0, 0), ("", "")
        for flow, node in self._flows.items():
            for key, value in node.entries:
                yield key.mark.position, (flow, "")
                if key.text == "steps" and isinstance(value, Map):
                    yield from ((step.mark.position, (flow, step.text)) for step, _ in value.entries)

    def block(self, place: Place) -> tuple[Mark, str] | None:
        """The place and the lines of a step, or of a flow's variables; those of its name where it has none. None where
        there is no such step or flow.
        """
        flow, step = place
        node = self._flows.get(flow)
        if step:
            within, key = None if node is None else node.get("steps"), step
        else:
            within, key = node, "flow" if node is None or node.get("vars") is None else "vars"
        if not isinstance(within, Map) or within.get(key) is None:
            return None
        mark = within.key_mark(key)
        return mark, block_of(self._texts[mark.path], mark.line)

    def groups(self, place: Place) -> list[TextGroup]:
        """The texts at a place, in the order of the file."""
        found = [spot for there, spot in self._spots if there == place]
        spots = [spot for each in found for spot in _with_words(each)]
        above = 2 if place[1] else 1  # keys, which the form's heading has
        return [TextGroup(" › ".join(spot.path[above:]), tuple(self._fields(spot))) for spot in spots]

    def fields(self) -> dict[str, TextField]:
        """All fields, by their ids."""
        spots = (spot for _, each in self._spots for spot in _with_words(each))
        return {field.id: field for spot in spots for field in self._fields(spot)}

    def renoted(self, id: str) -> tuple[str, bytes] | None:
        """The file of a translation in which the comment above it is the present original; None if it is that."""
        language, path = json.loads(id)[0], path_of(id)
        spot = next((spot for _, spot in self._spots if spot.path == path), None)
        locale = self._locales.get(language)
        if spot is None or locale is None:
            return None
        before = self._texts[locale.mark.path]
        after = renoted(locale, before, spot)
        return None if after == before else (locale.mark.path, after.encode())

    def saying(self, texts: Iterable[str], first: Iterable[Place]) -> tuple[Place, list[str]] | None:
        """The place whose texts say the most of these, and the ids of these fields; None if no place says any.

        It is one of the places that come ``first``, if they say any.
        """
        wanted, near = [text.strip() for text in texts if text.strip()], list(dict.fromkeys(first))
        everywhere = dict.fromkeys(place for place, _ in self._spots)
        for places, share in ((near, 0.0), (everywhere, SURE)):
            best: tuple[int, Place, list[str]] = 0, ("", ""), []
            for place in places:
                fields = [field for group in self.groups(place) for field in group.fields if field.text.strip()]
                alike = {field.id: _likeness_to(field.text, wanted, share) for field in fields}
                ids = [id for id, likeness in alike.items() if likeness >= 0]
                score = sum(alike[id] for id in ids)
                if ids and (not best[2] or score > best[0]):
                    best = score, place, ids
            if best[2]:
                return best[1:]
        return None

    def _fields(self, spot: Spot) -> Iterator[TextField]:
        hears = spot.part in (Part.WORD, Part.WORDS)
        yield from self._fields_in("", spot, spot.node, adds=spot.part is Part.WORDS)
        for language in self.languages:
            locale = self._locales.get(language)
            node = None if locale is None else _translation(locale, spot)
            if node is not None and not (isinstance(node, Scalar) and node.value is None and hears):
                yield from self._fields_in(language, spot, node, adds=hears)
            elif spot.required or hears:
                into, below = self._nearest(language, spot)
                if isinstance(into, Scalar) and into.value is not None:
                    continue  # a title that words cannot stand beside
                id = _id(language, spot.path, 0)
                yield TextField(id, language, "", into=into, below=(*below, "") if hears else below)

    def _fields_in(self, language: str, spot: Spot, node: Node, *, adds: bool) -> Iterator[TextField]:
        on_key = not language and spot.on_key
        scalars = list(scalars_of(node))
        keys = tuple(self._keys(spot.path)) if on_key else ()
        among = node if adds and isinstance(node, List) else None
        for number, scalar in enumerate(scalars):
            text = "" if scalar.value is None and not scalar.quoted else scalar.text
            yield TextField(
                _id(language, spot.path, number), language, text, scalar.mark, among=among, on_key=on_key, keys=keys
            )
        if adds and isinstance(node, List):
            yield TextField(_id(language, spot.path, len(scalars)), language, "", into=node)

    def _keys(self, path: Path) -> Iterator[Mark]:
        """The places of a key in the files of the other languages."""
        for locale in self._locales.values():
            above = _at(locale, path[:-1])
            if isinstance(above, Map) and above.get(path[-1]) is not None:
                yield above.key_mark(path[-1])

    def _nearest(self, language: str, spot: Spot) -> tuple[Node | None, Path]:
        """The innermost map in a language's file that a translation belongs into, and the keys below it."""
        path = (*spot.path, TITLE) if spot.part is Part.HEADING else spot.path
        locale = self._locales.get(language)
        for length in range(len(path), -1, -1) if locale is not None else ():
            node = _at(locale, path[:length])
            if isinstance(node, Map):
                return node, path[length:] or (TITLE if spot.part is Part.TITLE else WORDS,)
            if isinstance(node, Scalar):
                return node, path[length:]
        return None, path


def file_of(language: str) -> str:
    """The path of a language's file, where there is none yet."""
    return f"{LOCALES}/{language}.yml"


def _id(language: str, path: Path, number: int) -> str:
    return json.dumps([language, *path, number], ensure_ascii=False)


def renamed(id: str, names: Mapping[Path, str]) -> str:
    """The id of a field after titles above it got other names."""
    language, *path, number = json.loads(id)
    parts = [names.get(tuple(path[: length + 1]), key) for length, key in enumerate(path)]
    return _id(language, tuple(parts), number)


def path_of(id: str) -> Path:
    """The keys that lead to a field."""
    return tuple(json.loads(id)[1:-1])


def _with_words(spot: Spot) -> Iterator[Spot]:
    """A text, and the words that are written below it if it is a title."""
    yield spot
    words = spot.value.get(WORDS) if spot.part is Part.TITLE and isinstance(spot.value, Map) else None
    if words is not None:
        yield Spot((*spot.path, WORDS), Part.WORDS, words)


def _at(node: Node | None, path: Path) -> Node | None:
    for key in path:
        node = node.get(key) if isinstance(node, Map) else None
    return node


def _translation(locale: Map, spot: Spot) -> Node | None:
    """The translation of a text or word in a language's file; a key without a value is an empty text."""
    node = _at(locale, spot.path)
    match spot.part:
        case Part.HEADING:
            return _at(locale, (*spot.path, TITLE))
        case Part.TITLE:
            return node.get(TITLE) if isinstance(node, Map) else node
        case Part.WORD:
            return node.get(WORDS) if isinstance(node, Map) else node
    return node


def _likeness_to(template: str, texts: Iterable[str], share: float) -> int:
    """The greatest likeness of a template to a text. A text counts if the template has this share of it; else -1."""
    found = ((_likeness(template, text), len(text)) for text in texts)
    return max((likeness for likeness, length in found if likeness >= share * length), default=-1)


def _likeness(template: str, text: str) -> int:
    """How many characters of a text stand in a template that may say it; -1 if it cannot."""
    literal = JINJA.split(template.strip())
    if "{%" in template:  # not all of it is said
        said = [part.strip() for part in literal if len(part.strip()) > 3 and part.strip() in text]
        return sum(map(len, said)) if said else -1
    at, last = 0, len(literal) - 1
    for number, part in enumerate(literal):
        found = text.rfind(part) if number == last else text.find(part, at)
        if found < at or (number == 0 and found) or (number == last and found + len(part) != len(text)):
            return -1
        at = found + len(part)
    return sum(map(len, literal))
