"""The files, the bot and the flows that earlier loads have read: only files that have changed are read again."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from bot.core.immutable import immutable
from bot.language.flow.definition import BotDefinition, Flow
from bot.language.flow.documents import DocumentTexts, Source, read_file
from bot.language.python.gathered import Extensions
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import Map, Node


@immutable
class _KeptFile:
    text: bytes
    documents: tuple[Node, ...]
    problems: Problems


@immutable
class _KeptBot:
    node: Map
    extensions: Extensions
    texts: tuple[Source, ...]
    bot: BotDefinition
    types: Mapping[str, Any]  # of variables


@immutable
class _KeptFlow:
    node: Map
    bot: BotDefinition
    flow: Flow


class KeptReading:
    """Reads files, ``bot.yml`` and flows, each again only if it, or something that it depends on, has changed.

    Whatever has a problem is read each time. Each entry holds what it was read from, so several threads may share them.
    """

    def __init__(self) -> None:
        self._files: dict[str, _KeptFile] = {}
        self._bot: _KeptBot | None = None
        self._flows: dict[Mark, _KeptFlow] = {}
        self._languages: dict[str, KeptReading] = {}

    def spoken(self, language: str) -> "KeptReading":
        """The reading of the bot and its flows with the texts of a locale."""
        return self._languages.setdefault(language, KeptReading())

    def documents(self, source: Source, partly: re.Pattern[str], problems: Problems) -> tuple[Node, ...]:
        """The documents of a file."""
        known = self._files.get(source.path)
        if known is None or known.text != source.text:
            found = Problems()
            known = _KeptFile(source.text, read_file(source, partly, found), found)
            self._files[source.path] = known
            for each in (self, *self._languages.values()):
                each._flows = {mark: flow for mark, flow in each._flows.items() if mark.path != source.path}
        problems.include(known.problems)
        return known.documents

    def bot(
        self,
        node: Map,
        extensions: Extensions,
        texts: DocumentTexts,
        problems: Problems,
        read_bot: Callable[[Problems], BotDefinition],
    ) -> BotDefinition:
        """The bot of ``bot.yml``; ``read_bot`` reads it and notes its problems."""
        known = self._bot
        if known is not None and (known.node, known.extensions, known.texts) == (node, extensions, texts.sources):
            problems.types = known.types
            return known.bot
        found = problems.apart()
        bot = read_bot(found)
        if not found:
            self._bot = _KeptBot(node, extensions, texts.sources, bot, found.types)
        problems.include(found)
        problems.types = found.types
        return bot

    def flow(self, node: Map, bot: BotDefinition, problems: Problems, read_flow: Callable[[Problems], Flow]) -> Flow:
        """A flow of a bot; ``read_flow`` reads it and notes its problems."""
        known = self._flows.get(node.mark)
        if known is not None and known.bot is bot and (known.node,) == (node,):  # at once if the same
            return known.flow
        found = problems.apart()
        flow = read_flow(found)
        if not found:
            self._flows[node.mark] = _KeptFlow(node, bot, flow)
        problems.include(found)
        return flow
