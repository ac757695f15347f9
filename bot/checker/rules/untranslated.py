"""W801, W802, W803: a customer reads another language, an outdated translation, or one with other values."""

from collections.abc import Callable, Iterable, Iterator

from bot.checker.findings import Finding, and_more, rule
from bot.checker.graph import Graph
from bot.core.immutable import immutable
from bot.language.expressions.templates import Template, compile_template, values_shown, values_used
from bot.language.flow.documents import Source, read_documents
from bot.language.flow.library import Library
from bot.language.flow.translations import Locale, Originals, all_spots, original_of, read_locale, wording_spots
from bot.language.keys.text_shapes import Part, Spot, texts_of
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, Node
from bot.language.steps import KINDS

_NAMED = 3  # of the missing texts, in one finding
_COMPARED = (Part.TEXT, Part.MAY, Part.TITLE)


@immutable
class _Language:
    """A language: its file, its translations, and the texts that need one."""

    node: Map
    locale: Locale
    spots: tuple[Spot, ...]
    originals: Originals


@rule(
    whole=True,
    W801="texts that are not translated",
    W802="a translation of an older text",
    W803="a translation that shows other values",
)
def find_untranslated(graph: Graph) -> Iterator[Finding]:
    """Find faults in each locale of a bot."""
    if graph.library.translations:
        for spoken in _languages(graph.library, graph.sources):
            yield from _missing(spoken)
            yield from _outdated(spoken)
            yield from _other_values(spoken)


def _languages(library: Library, sources: Iterable[Source]) -> Iterator[_Language]:
    sources, problems = list(sources), Problems()
    documents = read_documents(sources, problems)
    texts = {source.path: source.text.decode("utf-8-sig") for source in sources}
    own = {step.kind.verb: type(step.kind) for flow in library.flows.values() for step in flow.steps.values()}
    every = all_spots(documents, {**own, **KINDS})
    for language, node in documents.locales.items():
        spots = (*every, *wording_spots(language, node.mark))
        locale = read_locale(language, node, spots, problems)
        yield _Language(node, locale, spots, Originals.of(node, texts[node.mark.path]))


def _missing(spoken: _Language) -> Iterator[Finding]:
    keys = [_key(spot) for spot in spoken.locale.missing(spoken.spots)]
    if keys:
        language, named = spoken.locale.language, ", ".join(keys[:_NAMED]) + and_more(len(keys) - _NAMED)
        count = "1 text is" if len(keys) == 1 else f"{len(keys)} texts are"
        what = f"{language}: {count} not translated: {named}"
        fix = f"translate them; `bot locales missing {language}` lists all, `bot locales extract {language}` adds them"
        yield Finding.at("W801", spoken.node.mark, what, fix)


def _outdated(spoken: _Language) -> Iterator[Finding]:
    for spot in spoken.spots:
        if spot.path in spoken.locale.texts and (was := spoken.originals.outdated(spot)):
            now, before = (" ".join(lines) for lines in (original_of(spot), was))
            what = f'{_key(spot)}: this translates "{before}", and the flow says "{now}" now'
            fix = "translate the new text, and let the comment above hold the new text alone"
            yield Finding.at("W802", spoken.originals.marks[spot.path], what, fix)


def _other_values(spoken: _Language) -> Iterator[Finding]:
    for spot in spoken.spots:
        text = spoken.locale.texts.get(spot.path)
        if text is not None and spot.part in _COMPARED:
            ours, theirs = _templates(spot.node), _templates(text)
            missing = _all(values_shown, ours) - _all(values_used, theirs)
            strange = _all(values_shown, theirs) - _all(values_used, ours)
            if missing or strange:
                yield _differs(spot, text, sorted(missing), sorted(strange))


def _differs(spot: Spot, text: Node, missing: list[str], strange: list[str]) -> Finding:
    parts = [f"does not show {_listed(missing)}"] * bool(missing) + [f"shows {_listed(strange)}"] * bool(strange)
    what = f"{_key(spot)}: the translation {' and '.join(parts)}, unlike the flow's text"
    return Finding.at("W803", text.mark, what, "show the same values in every language")


def _listed(names: list[str]) -> str:
    return ", ".join(f"{{{{ {name} }}}}" for name in names)


def _templates(node: Node) -> list[Template]:
    return [compile_template(text, node.mark, Problems()) for text in texts_of(node)]


def _all(of: Callable[[Template], frozenset[str]], texts: list[Template]) -> frozenset[str]:
    return frozenset[str]().union(*map(of, texts))


def _key(spot: Spot) -> str:
    return ".".join(spot.path)
