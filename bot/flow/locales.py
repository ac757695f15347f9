"""Locales: what the files in ``locales/`` say in other languages, held against what there is to say.

A locale mirrors the flow files: ``flow: {step: {key: text}}``, without the level of `steps`; and `bot` for bot.yml.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bot.flow.documents import Documents
from bot.lang.languages import ENGLISH
from bot.lang.nodes import Map, Mark, Node, Scalar, one_or_more
from bot.lang.problems import Problems, did_you_mean
from bot.lang.scalars import text_of
from bot.lang.shapes import TEXT, Keys, Part, Path, Shape, Spot, one_or_more_of, spots
from bot.lang.wordings import WORDINGS, built_in
from bot.steps.kind import StepKind
from bot.steps.step_options import DEFAULTS_TEXTS, STEP_OPTIONS_TEXTS
from bot.steps.transition import TRANSITION_TEXTS

BOT = "bot"
WORDINGS_KEY = "wordings"
TITLE, WORDS = "title", "words"  # what is said of something that has a title, or words, for its key
_WORD_KEYS = Keys(TRANSITION_TEXTS, Part.WORD)
_FLOW: Shape = {
    "start": {"words": Part.WORDS},
    "words": _WORD_KEYS,
    "vars": Keys({"of": Keys({}, Part.WORD), "error": TEXT, "check": one_or_more_of({"error": TEXT})}),
    "defaults": DEFAULTS_TEXTS,
}
_OPT_OUT: Shape = {"words": Part.WORDS, "say": TEXT, "back": Part.WORDS}
_BOT: Shape = {"words": _WORD_KEYS, "opt_out": _OPT_OUT, "defaults": DEFAULTS_TEXTS, "ai": {"sorry": TEXT}}


@dataclass(frozen=True, slots=True)
class Locale:
    """What is said in one language: texts in place of the written ones, and words beside them, by the path."""

    language: str
    texts: Mapping[Path, Node] = field(default_factory=dict)
    words: Mapping[Path, tuple[Scalar, ...]] = field(default_factory=dict)
    unknown: tuple[tuple[Path, Node], ...] = ()  # what is not there to be said

    def missing(self, spots: Iterable[Spot]) -> Iterator[Spot]:
        """What this language has no text of its own for."""
        return (spot for spot in spots if spot.needed and spot.path not in self.texts)


def all_spots(documents: Documents, kinds: Mapping[str, type[StepKind]]) -> tuple[Spot, ...]:
    """Everything in a bot's documents that contacts read or write, in the order of the files.

    ``kinds`` are those of its steps, by their verbs.
    """
    found: list[Spot] = []
    for node in documents.bots[:1]:
        found += spots(_BOT, node, (BOT,))

    def of_step(node: Node) -> Shape:
        keys = [key.text for key, _ in node.entries] if isinstance(node, Map) else []
        texts = (STEP_OPTIONS_TEXTS, *(kinds[key].texts for key in keys if key in kinds))
        return {name: shape for each in texts for name, shape in each.items()}

    for node in documents.flows:
        name = node.get("flow")
        if isinstance(name, Scalar):
            found += spots(_FLOW, node, (name.text,))
            found += spots(Keys(of_step), node.get("steps"), (name.text,))
    return tuple(found)


def wording_spots(language: str, mark: Mark) -> Iterator[Spot]:
    """The bot's own wordings; needed are those that are not built in for the language."""
    for name in WORDINGS:
        part = Part.MAY if built_in(name, language) else Part.TEXT
        yield Spot((BOT, WORDINGS_KEY, name), part, Scalar(mark, WORDINGS[name][ENGLISH], WORDINGS[name][ENGLISH]))


def read_locale(language: str, node: Map, known: Iterable[Spot], problems: Problems) -> Locale:
    """Read one file; what is not there to be said is a problem."""
    reading = _Reading(language, known, problems)
    reading.walk(node, ())
    return Locale(language, reading.texts, reading.words, tuple(reading.unknown))


class _Reading:
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
                self._refuse_value(value, here)
            else:
                self.unknown.append((here, value))
                self._refuse_key(key, path)

    def _take_text(self, spot: Spot, value: Node) -> None:
        if _is_empty(value):
            return
        if spot.part in (Part.TEXT, Part.MAY) or text_of(value, self._problems, self._at(spot.path)) is not None:
            self.texts[spot.path] = value

    def _take_words(self, spot: Spot, value: Node) -> None:
        given = (item for item in one_or_more(value) if not _is_empty(item))
        words = (item for item in given if text_of(item, self._problems, self._at(spot.path)) is not None)
        self.words[spot.path] = tuple(word for word in words if isinstance(word, Scalar))

    def _refuse_value(self, value: Node, path: Path) -> None:
        if not _is_empty(value):
            what = f"{self._at(path)}: a map of keys is expected"
            self._problems.add("E106", value.mark, what, f"write one of {', '.join(self._below(path))}")

    def _refuse_key(self, key: Scalar, path: Path) -> None:
        fix = did_you_mean(key.text, self._below(path), f"there are {', '.join(self._below(path))}")
        self._problems.add("E104", key.mark, f'{self._at(path)}: there is no "{key.text}" to translate', fix)

    def _below(self, path: Path) -> list[str]:
        found = (each[len(path)] for each in (*self._texts, *self._words) if each[: len(path)] == path != each)
        return list(dict.fromkeys(found))

    def _at(self, path: Path) -> str:
        return ": ".join((self._language, *path))


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and (node.value is None or not node.text.strip())
