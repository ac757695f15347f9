"""Conversations for flows without recorded runs: every way out of every node, as the rules of RapidPro say."""

from collections import Counter
from datetime import UTC
from typing import Any

from bot.checker.exploring.moves import HttpResult
from bot.cli.importing.conversations import SourceConversation, SourceMessage, SourceTurn
from bot.cli.importing.rapidpro.flow_texts import BotNames
from bot.cli.importing.rapidpro.interpreting import FlowInterpreter, RapidProContact, UnwrittenAction
from bot.cli.importing.rapidpro.message_actions import MOST_ROWS
from bot.cli.importing.rapidpro.reading import MEDIA_TESTS, RapidProFlow, RapidProNode, language_of
from bot.testing.conversations.transcript_reader import NOW

_NOW = NOW.replace(tzinfo=UTC)
_MOST_CONVERSATIONS, _MOST_TURNS = 40, 25  # of a flow; of a conversation
_ANYTHING = ("something else", "7", "yes", "12-05-2030", "ann@example.com", "+6281234567890")


class FlowWays:
    """The ways through one flow."""

    def __init__(self, names: BotNames, flow: str) -> None:
        self._names = names
        self._flow = names.export.flows[flow]
        self._taken: Counter[tuple[str, str]] = Counter()  # ways out of nodes, by the node's id and the way's name

    def conversations(self) -> list[SourceConversation]:
        """Return conversations that take each way once, and one in each further language."""
        if not self._flow.nodes:
            return []
        found: list[SourceConversation] = []
        for number in range(_MOST_CONVERSATIONS):
            before = len(self._taken)
            found.append(self._conversation(f"{self._flow.name} {number + 1}", ""))
            if len(self._taken) == before:
                break
        if len(found) > 1:
            found.pop()
        languages = {language_of(code): code for code in self._flow.localization}
        for language, code in languages.items():
            if language != language_of(self._flow.language) and language in self._names.languages:
                self._taken.clear()
                found.append(self._conversation(f"{self._flow.name} in {language}", code))
        return found

    def _conversation(self, name: str, language: str) -> SourceConversation:
        known = "Ann Lee" if self._names.reads_name else None
        contact = RapidProContact(name=known, language=language)
        played = FlowInterpreter(self._names.export, contact, _NOW, self._choose)
        flow = self._names.flows[self._flow.uuid]
        start = self._names.bot.flows[flow].get("start") or {}
        words = [*start.get("words", ()), *(["hello"] if start.get("otherwise") else [])]
        first = next(iter(self._flow.nodes.values()))
        if first.waits is not None and first.actions:
            words = []  # the message would be the answer to the first question
        turns: list[SourceTurn] = []
        try:
            played.start(self._flow.uuid, words[0] if words else None)
            turns.append(SourceTurn("text" if words else "start", words[0] if words else "", *played.take()))
            while len(turns) < _MOST_TURNS and (played.node is not None or played.sleep):
                turns.append(self._turn(played, turns[-1].said))
        except UnwrittenAction:
            pass
        handlers: dict[str, list[Any]] = {}
        for action, answer in played.calls:
            if action in self._names.handlers:
                handlers.setdefault(self._names.handlers[action], []).append(answer)
        http = tuple(
            HttpResult(self._names.service_request(request), status, json=answer)
            for request, status, answer in played.http
        )
        return SourceConversation(
            name, flow, tuple(turns), _NOW, http=http, handlers={name: tuple(each) for name, each in handlers.items()},
            draws=tuple(played.draws), contact_name=known, language=language_of(language) if language else None,
        )  # fmt: skip

    def _turn(self, played: FlowInterpreter, said: tuple[SourceMessage, ...]) -> SourceTurn:
        """The next turn: the way that was taken least often."""
        if played.sleep:
            seconds = played.sleep
            played.wake()
            return SourceTurn("wait", str(seconds), *played.take())
        node = played.node
        assert node is not None
        ways = self._inputs(played, node, said)
        category = min(ways, key=lambda each: self._taken[node.uuid, each])
        self._taken[node.uuid, category] += 1
        kind, value = ways[category]
        if kind == "wait":
            played.time_out()
        else:
            played.reply(value, kind)
        return SourceTurn(kind, value, *played.take())

    def _inputs(
        self, played: FlowInterpreter, node: RapidProNode, said: tuple[SourceMessage, ...]
    ) -> dict[str, tuple[str, str]]:
        """Return a kind of turn and its value that leads to each category, by the category's id."""
        choices = said[-1].choices if said else ()
        tried = [("choice" if len(choices) <= MOST_ROWS else "text", each) for each in choices]
        cases = (node.router or {}).get("cases") or ()
        for case in cases:
            words = [played.texts.text(str(each)) for each in case.get("arguments") or ()]
            tried += [(MEDIA_TESTS[case["type"]], "")] if case["type"] in MEDIA_TESTS else []
            tried += [("text", each) for word in words for each in (word, word.split(" ")[0]) if each.strip()]
            tried += [
                ("text", str(int(word) + more)) for word in words if word.lstrip("-").isdigit() for more in (-1, 1)
            ]
        tried += [("text", each) for each in _ANYTHING]
        ways: dict[str, tuple[str, str]] = {}
        before = played.session.input, played.session.input_kind, played.session.input_file
        for kind, value in tried:
            played.hear(value, kind)
            ways.setdefault(played.category(node)[0], (kind, value))
        played.session.input, played.session.input_kind, played.session.input_file = before
        if node.timeout is not None and node.timeout.get("category_uuid") in node.categories:
            ways[str(node.timeout["category_uuid"])] = ("wait", str(node.timeout.get("seconds") or 60))
        return ways

    def _choose(self, flow: RapidProFlow, node: RapidProNode, ways: list[str]) -> int:
        """The way of a service or of chance that was taken least often."""
        way = min(ways, key=lambda each: self._taken[node.uuid, each])
        self._taken[node.uuid, way] += 1
        return ways.index(way)
