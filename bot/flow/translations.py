"""The bot's documents in its other languages: the same trees, with what each language says put in place.

Answers and words of every language are understood in all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from bot.flow.definition import BotDefinition
from bot.flow.documents import Documents
from bot.flow.locales import BOT, WORDINGS_KEY, Locale, all_spots, read_locale, wording_spots
from bot.lang.extensions import Extensions
from bot.lang.nodes import List, Map, Mark, Node, Scalar, one_or_more
from bot.lang.problems import Problems
from bot.lang.shapes import Part, Path, Spot
from bot.lang.words import normalise
from bot.steps.custom import all_kinds


@dataclass(frozen=True, slots=True)
class Translations:
    """What there is to say in a bot's documents, and what each locale says of it."""

    documents: Documents
    spots: tuple[Spot, ...] = ()
    locales: Mapping[str, Locale] = field(default_factory=dict)

    def spoken(self, language: str | None) -> Documents:
        """The documents in a language, None: in their own. What it does not say stays as it is written."""
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
                    fix = f"write languages: [en, {language}] in bot.yml, that of the flows first"
                problems.add("E114", node.mark, f"a locale for {language}, which the bot does not speak", fix)


def read_translations(documents: Documents, extensions: Extensions, problems: Problems) -> Translations:
    """Hold the locales against the other documents; what is not there to be said is a problem."""
    if not documents.locales:
        return Translations(documents)
    spots = all_spots(documents, all_kinds(extensions.verbs))
    locales = {
        language: read_locale(language, node, (*spots, *wording_spots(language, node.mark)), problems)
        for language, node in documents.locales.items()
    }
    return Translations(documents, spots, locales)


class _Exchange:
    """What is put in place of what, by where that stands."""

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
        """In place of a key, or of an item of a list."""
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
