"""Locales (`locales/id.yml`), and the bot's documents in other languages: the same trees with translated texts.

Answers and words of every language are understood in all of them. `bot locales extract` writes a locale's missing
texts, with the originals as comments.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from bot.core.immutable import immutable, mutable
from bot.language.flow.bot_file import BOT_KEYS
from bot.language.flow.definition import BotDefinition
from bot.language.flow.documents import Documents
from bot.language.flow.flow_file import FLOW_KEYS
from bot.language.keys.fields import text_of
from bot.language.keys.text_shapes import Keys, Part, Path, Shape, Spot, spots, texts_of
from bot.language.python.gathered import Extensions
from bot.language.source.languages import ENGLISH, WORDINGS, built_in
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.language.source.word_matching import normalise
from bot.language.source.writing import INDENT, block_style
from bot.language.source.yaml_tree import List, Map, Node, Scalar, comments, one_or_more, plain
from bot.language.steps.custom_steps import all_kinds
from bot.language.steps.step_kind import StepKind
from bot.language.steps.step_options import STEP_OPTIONS

BOT = "bot"
WORDINGS_KEY = "wordings"
TITLE, WORDS = "title", "words"  # what is said of something that has a title, or words, for its key


@immutable
class Locale:
    """The texts of one language, by path: texts that replace the written ones, and words beside them."""

    language: str
    texts: Mapping[Path, Node] = field(default_factory=dict)
    words: Mapping[Path, tuple[Scalar, ...]] = field(default_factory=dict)
    unknown: tuple[tuple[Path, Node], ...] = ()  # what is not there to be said

    def missing(self, spots: Iterable[Spot]) -> Iterator[Spot]:
        """The texts that this language does not translate."""
        return (spot for spot in spots if spot.required and spot.path not in self.texts)


def all_spots(documents: Documents, kinds: Mapping[str, type[StepKind]]) -> tuple[Spot, ...]:
    """All that contacts read or write in a bot's documents, by file. ``kinds`` are those of its steps, by verb."""
    found: list[Spot] = []
    for node in documents.bots[:1]:
        found += spots(BOT_KEYS.texts, node, (BOT,))

    def of_step(node: Node) -> Shape:
        keys = [key.text for key, _ in node.entries] if isinstance(node, Map) else []
        texts = (STEP_OPTIONS.texts, *(kinds[key].keys.texts for key in keys if key in kinds))
        return {name: shape for each in texts for name, shape in each.items()}

    for node in documents.flows:
        name = node.get("flow")
        if isinstance(name, Scalar):
            found += spots(FLOW_KEYS.texts, node, (name.text,))
            found += spots(Keys(of_step), node.get("steps"), (name.text,))
    return tuple(found)


def wording_spots(language: str, mark: Mark) -> Iterator[Spot]:
    """The bot's own wordings; needed are those that are not built in for the language."""
    for name in WORDINGS:
        part = Part.MAY if built_in(name, language) else Part.TEXT
        yield Spot((BOT, WORDINGS_KEY, name), part, Scalar(mark, WORDINGS[name][ENGLISH], WORDINGS[name][ENGLISH]))


def read_locale(language: str, node: Map, known: Iterable[Spot], problems: Problems) -> Locale:
    """Read one file. A translation of a text that the flows do not have is a problem."""
    reading = _LocaleReading(language, known, problems)
    reading.walk(node, ())
    return Locale(language, reading.texts, reading.words, tuple(reading.unknown))


class _LocaleReading:
    """A locale while it is read."""

    def __init__(self, language: str, known: Iterable[Spot], problems: Problems) -> None:
        self.texts: dict[Path, Node] = {}
        self.words: dict[Path, tuple[Scalar, ...]] = {}
        self.unknown: list[tuple[Path, Node]] = []
        self._language = language
        self._problems = problems
        self._texts: dict[Path, Spot] = {}  # where a text can stand
        self._words: dict[Path, Spot] = {}  # where words can stand
        for spot in known:
            self._open(spot)
        paths = (*self._texts, *self._words)
        self._above = {path[:length] for path in paths for length in range(len(path))}

    def _open(self, spot: Spot) -> None:
        below = {TITLE: (*spot.path, TITLE), WORDS: (*spot.path, WORDS)}
        match spot.part:
            case Part.HEADING:
                self._texts[below[TITLE]] = spot
            case Part.TITLE:
                self._texts[spot.path] = self._texts[below[TITLE]] = self._words[below[WORDS]] = spot
            case Part.WORD:
                self._words[spot.path] = self._words[below[WORDS]] = spot
            case Part.WORDS:
                self._words[spot.path] = spot
            case _:
                self._texts[spot.path] = spot

    def walk(self, node: Map, path: Path) -> None:
        """Take what stands under each key; what is left empty has not been translated yet."""
        for key, value in node.entries:
            here = (*path, key.text)
            if isinstance(value, Map) and here in self._above:
                self.walk(value, here)
            elif here in self._texts:
                self._take_text(self._texts[here], value)
            elif here in self._words:
                self._take_words(self._words[here], value)
            elif here in self._above:
                if not _is_empty(value):
                    what = f"{self._at(here)}: a map of keys is expected"
                    form = ", ".join(f"{name}: ..." for name in self._below(here))
                    self._problems.add("E106", value.mark, what, f"write {key.text}: {{{form}}}")
            else:
                self.unknown.append((here, value))
                what = f'{self._at(path)}: there is no "{key.text}" to translate'
                self._problems.add("E104", key.mark, what, self._instead(key.text, value, path))

    def _instead(self, key: str, value: Node, path: Path) -> str:
        """The fix for a key that translates nothing here."""
        below = self._below(path)
        there = f"there {'is' if len(below) == 1 else 'are'} {', '.join(below)}"
        if key in ("steps", "flow"):
            return f"the name of a flow is a key, and those of its steps stand below it: {there}"
        if _is_empty(value) and isinstance(value, Scalar) and not value.quoted:
            there += "; if it belongs to a text with a comma, put that text in quotes"
        else:
            there += f"; if the flows have it no more, `bot locales extract {self._language}` takes it out"
        return did_you_mean(key, below, there)

    def _take_text(self, spot: Spot, value: Node) -> None:
        if _is_empty(value):
            return
        if spot.part in (Part.TEXT, Part.MAY) or text_of(value, self._problems, self._at(spot.path)) is not None:
            self.texts[spot.path] = value

    def _take_words(self, spot: Spot, value: Node) -> None:
        given = (item for item in one_or_more(value) if not _is_empty(item))
        words = (item for item in given if text_of(item, self._problems, self._at(spot.path)) is not None)
        self.words[spot.path] = tuple(word for word in words if isinstance(word, Scalar))

    def _below(self, path: Path) -> list[str]:
        found = (each[len(path)] for each in (*self._texts, *self._words) if each[: len(path)] == path != each)
        return list(dict.fromkeys(found))

    def _at(self, path: Path) -> str:
        return ": ".join((self._language, *path))


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and (node.value is None or not node.text.strip())


@immutable
class Translations:
    """The texts in a bot's documents, and their translations in each locale."""

    documents: Documents
    spots: tuple[Spot, ...] = ()
    locales: Mapping[str, Locale] = field(default_factory=dict)

    def spoken(self, language: str | None) -> Documents:
        """The documents in a language; None: as they are written. Untranslated texts stay unchanged."""
        if not self.locales:
            return self.documents
        exchange = _Exchange(self.locales.get(language or "", Locale("")), self.locales.values())
        exchange.learn(self.spots)
        flows = [exchange.exchanged(node) for node in self.documents.flows]
        bots = [self._own_wordings(exchange.exchanged(node), language) for node in self.documents.bots]
        return replace(self.documents, bots=bots, flows=flows)

    def _own_wordings(self, node: Map, language: str | None) -> Map:
        """bot.yml with the language's own wordings: those that stand in it are of the language of the flows."""
        if language is None:
            return node
        texts = self.locales[language].texts.items()
        entries = [(path[-1], text) for path, text in texts if path[:2] == (BOT, WORDINGS_KEY)]
        named = tuple((Scalar(text.mark, name, name), text) for name, text in entries)
        others = tuple((key, value) for key, value in node.entries if key.text != WORDINGS_KEY)
        key = Scalar(node.mark, WORDINGS_KEY, WORDINGS_KEY)
        return replace(node, entries=(*others, (key, Map(node.mark, named))))

    def of(self, bot: BotDefinition, problems: Problems) -> Iterator[str]:
        """The languages with a locale, besides the one that the flows are written in."""
        for language, node in self.documents.locales.items():
            if language in bot.languages[1:]:
                yield language
            elif language in bot.languages:
                fix = "write the texts there, and the wordings under `wordings` of bot.yml"
                problems.add("E114", node.mark, f"a locale for {language}, which the flows are written in", fix)
            else:
                fix = f"write languages: [{', '.join((*bot.languages, language))}] in bot.yml"
                if not bot.languages:
                    flows = "id" if language == "en" else "en"
                    fix = f"write languages: [{flows}, {language}] in bot.yml, that of the flows first"
                problems.add("E114", node.mark, f"a locale for {language}, which the bot does not speak", fix)


def read_translations(documents: Documents, extensions: Extensions, problems: Problems) -> Translations:
    """Read the locales; what they translate and the other documents do not say is a problem."""
    if not documents.locales:
        return Translations(documents)
    spots = all_spots(documents, all_kinds(extensions.verbs))
    locales = {
        language: read_locale(language, node, (*spots, *wording_spots(language, node.mark)), problems)
        for language, node in documents.locales.items()
    }
    return Translations(documents, spots, locales)


class _Exchange:
    """The replacements of one language, by the place of the original."""

    def __init__(self, own: Locale, locales: Iterable[Locale]) -> None:
        self._own = own
        self._others = [locale for locale in locales if locale is not own]
        self._keys: dict[Mark, Scalar] = {}
        self._values: dict[Mark, Node] = {}

    def learn(self, spots: Iterable[Spot]) -> None:
        """Take in what the language says at each spot."""
        groups: dict[Path, list[Spot]] = {}
        for spot in spots:
            match spot.part:
                case Part.TITLE:
                    groups.setdefault(spot.path[:-1], []).append(spot)
                case Part.WORD if isinstance(spot.node, Scalar):
                    words = (word.text for word in self._all_words(spot.path))
                    self._put(spot, replace(spot.node, also=tuple(dict.fromkeys(words))))
                case Part.WORDS if further := tuple(self._all_words(spot.path)):
                    self._values[spot.node.mark] = List(spot.node.mark, (*one_or_more(spot.node), *further))
                case Part.HEADING if isinstance(title := self._own.texts.get(spot.path), Scalar):
                    self._keys[spot.node.mark] = title
                case Part.TEXT | Part.MAY if spot.path in self._own.texts:
                    self._values[spot.node.mark] = self._own.texts[spot.path]
        for group in groups.values():
            self._learn_titles(group)

    def _all_words(self, path: Path) -> Iterator[Scalar]:
        for locale in (self._own, *self._others):
            yield from locale.words.get(path, ())

    def _learn_titles(self, group: list[Spot]) -> None:
        """The titles of one question. A word of another language that two of them claim is neither's."""
        claims = Counter(word for spot in group for word in {normalise(word) for word in self._claimed(spot)})
        for spot in group:
            if not isinstance(spot.node, Scalar):
                continue
            shown = self._own.texts.get(spot.path, spot.node)
            assert isinstance(shown, Scalar)
            own = [word.text for word in self._own.words.get(spot.path, ())]
            foreign = [word for word in self._foreign(spot) if claims[normalise(word)] == 1 and word != shown.text]
            also = tuple(dict.fromkeys([*own, *foreign]))
            self._put(spot, replace(shown, also=also, origin=None if shown is spot.node else spot.node.text))

    def _put(self, spot: Spot, scalar: Scalar) -> None:
        """Put a text in place of a key, or of an item of a list."""
        (self._values if spot.value is None else self._keys)[spot.node.mark] = scalar

    def _foreign(self, spot: Spot) -> Iterator[str]:
        """The titles of the other languages, and their words."""
        others = (locale.texts.get(spot.path) for locale in self._others)
        for title in (spot.node, *others):
            if isinstance(title, Scalar) and "{" not in title.text:
                yield title.text
        for locale in self._others:
            yield from (word.text for word in locale.words.get(spot.path, ()))

    def _claimed(self, spot: Spot) -> Iterator[str]:
        yield from self._foreign(spot)
        own = self._own.texts.get(spot.path)
        if isinstance(own, Scalar):
            yield own.text
        yield from (word.text for word in self._own.words.get(spot.path, ()))
        written = spot.value.get("words") if isinstance(spot.value, Map) else None
        for word in one_or_more(written):
            if isinstance(word, Scalar):
                yield word.text

    def exchanged(self, node: Map) -> Map:
        """A document with everything put in place."""
        return Map(node.mark, tuple((self._key(key), self._value(value)) for key, value in node.entries))

    def _key(self, key: Scalar) -> Scalar:
        return self._keys.get(key.mark, key)

    def _value(self, node: Node) -> Node:
        if node.mark in self._values:
            return self._values[node.mark]
        match node:
            case Map():
                return self.exchanged(node)
            case List(mark=mark, items=items):
                return List(mark, tuple(self._value(item) for item in items))
        return node


HEAD = "# What the bot says in"
"""How a file begins that notes the originals: in one that somebody began by hand a comment may be anything."""
WAS = "was:"
"""The mark before an original that is no longer in the flow, while its translation still stands."""
_HEAD = f"""\
{HEAD} {{language}}. The original stands above each text; what is left empty is said in the original.
# `bot locales extract {{language}}` adds what is new and keeps what is here, but for comments.
"""
_GONE = "# No longer in the flows:"


@immutable
class Originals:
    """The comments above the keys of a locale, and where these stand."""

    lines: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    marks: Mapping[Path, Mark] = field(default_factory=dict)

    @classmethod
    def of(cls, locale: Map, text: str) -> "Originals":
        """The originals of a file, from its tree and its text; empty unless `bot locales extract` wrote it."""
        if not text.startswith(HEAD):
            return cls()
        alone = {found.mark.line: found.text for found in comments(locale.mark.path, text) if found.alone}
        marks = dict(_keys(locale, ()))
        lines = {path: tuple(_above(mark.line, alone)) for path, mark in marks.items()}
        return cls(lines, marks)

    def outdated(self, spot: Spot) -> tuple[str, ...]:
        """The lines of the original text of a translation if the flow says something else by now, else nothing."""
        noted = self.lines.get(spot.path, ())
        if spot.on_key or spot.part is Part.WORDS or not noted:
            return ()
        was = tuple(line.removeprefix(WAS).strip() for line in noted if line.startswith(WAS))
        now = original_of(spot)
        starts = range(len(noted) - len(now) + 1)
        same = any(noted[start : start + len(now)] == now for start in starts)
        return was or (() if same else noted)


def renoted(locale: Map, text: str, spot: Spot) -> str:
    """The text of a language's file whose comment above a translation is what the flow says now.

    The text does not change if the comment is right or missing.
    """
    noted = Originals.of(locale, text)
    if not noted.outdated(spot):
        return text
    mark, lines = noted.marks[spot.path], text.split("\n")
    end = "\r" if lines[mark.line - 1].endswith("\r") else ""
    fresh = [f"{' ' * (mark.column - 1)}# {line}".rstrip() + end for line in original_of(spot)]
    lines[mark.line - 1 - len(noted.lines[spot.path]) : mark.line - 1] = fresh
    return "\n".join(lines)


_NONE = Originals()


def extracted(spots: Iterable[Spot], locale: Locale, before: str = "", noted: Originals = _NONE) -> str:
    """The text of a language's file. It keeps the comments of ``before``, and originals ``noted`` that have changed."""
    shown = [spot for spot in spots if _is_shown(spot, locale)]
    above = {spot.path[:length] for spot in shown for length in range(1, len(spot.path))}
    root = _Branch()
    for spot in shown:
        for path, value in _values(spot, locale, has_more=spot.path in above):
            branch = root
            for key in path:
                branch = branch.below.setdefault(key, _Branch())
            branch.value = value
            if not spot.on_key:
                was = noted.outdated(spot) if value is not None else ()
                branch.original = (*original_of(spot), *(f"{WAS} {line}" for line in was))
    gone = [line for line in before.partition(_GONE)[2].splitlines() if line.startswith("#")]
    gone += [f"# {line}" for path, value in locale.unknown for line in block_style(".".join(path), plain(value))]
    lines = [*_lines(root), *([_GONE, *gone] if gone else [])]
    return _HEAD.format(language=locale.language) + "".join(f"{line}\n" for line in lines)


@mutable
class _Branch:
    """The contents of a key: further keys, or a value, which may still be missing."""

    below: dict[str, "_Branch"] = field(default_factory=dict)
    value: Any = None
    original: tuple[str, ...] = ()


def _is_shown(spot: Spot, locale: Locale) -> bool:
    hears = spot.part in (Part.WORD, Part.WORDS)
    return spot.required or hears or spot.path in locale.texts or spot.path in locale.words


def _values(spot: Spot, locale: Locale, *, has_more: bool) -> Iterator[tuple[Path, Any]]:
    """The path and the value of a spot; a value beside further keys has a key of its own."""
    words = [word.text for word in locale.words.get(spot.path, ())]
    heard = words or None
    written = locale.texts.get(spot.path)
    text = None if written is None else plain(written)
    match spot.part:
        case Part.WORD:
            yield ((*spot.path, WORDS) if has_more else spot.path), heard
        case Part.WORDS:
            yield spot.path, heard
        case Part.HEADING:
            yield (*spot.path, TITLE), text
        case Part.TITLE if has_more or words:
            yield (*spot.path, TITLE), text
            if words:
                yield (*spot.path, WORDS), heard
        case _:
            yield spot.path, text


def _lines(branch: _Branch, depth: int = 0) -> Iterator[str]:
    margin = INDENT * depth
    for key, below in branch.below.items():
        if below.below:
            yield from (f"{margin}{line}" for line in block_style(key, None))
            yield from _lines(below, depth + 1)
        else:
            yield from (f"{margin}# {line}".rstrip() for line in below.original)
            yield from (f"{margin}{line}" for line in block_style(key, below.value))


# -- what the file notes of the texts that it translates: the original, as a comment above each -----


def original_of(spot: Spot) -> tuple[str, ...]:
    """The lines of what is written in the flow."""
    between = ", " if spot.part is Part.WORDS else "\n"
    return tuple(line.rstrip() for line in between.join(texts_of(spot.node)).splitlines())


def _keys(node: Map, path: Path) -> Iterator[tuple[Path, Mark]]:
    for key, value in node.entries:
        here = (*path, key.text)
        yield here, key.mark
        if isinstance(value, Map):
            yield from _keys(value, here)


def _above(line: int, alone: Mapping[int, str]) -> list[str]:
    """The comments right above a line, from the top."""
    found: list[str] = []
    while (line := line - 1) in alone:
        found.append(alone[line].removeprefix("#").strip())
    return found[::-1]
