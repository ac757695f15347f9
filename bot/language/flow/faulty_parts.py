"""Which part of a bot each problem is in, and the bot without these parts."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from bot.core.immutable import immutable
from bot.language.flow.bot_file import BOT_KEYS
from bot.language.flow.definition import Flow
from bot.language.flow.documents import BOT_FILE, Documents
from bot.language.flow.flow_file import FLOW_KEYS
from bot.language.flow.name_checks import ELSEWHERE
from bot.language.flow.step_reader import placeholder_step
from bot.language.source.problems import Problem, Problems
from bot.language.source.yaml_tree import Map, Node, Scalar, one_or_more
from bot.language.steps.transition import RESERVED

STEPS, DEFAULTS, VARS, START = "steps", "defaults", "vars", "start"
OF_STEPS = ("E130", "E131")
MISSING = ("E115", *OF_STEPS, "E508", "E509")
"""Problems of what is not there: an outcome's target, opening hours, a service, a secret."""
_Place = tuple[str, int, int]


_MISREAD = ("E104", "E106", "E108", "E109")
"""Problems of a key, a name or a value that could not be read, so that nobody knows what was meant."""
_DECLARED_THERE = {
    (False, "flow"): ("E103", "E116"),
    (True, "secrets"): ("E509",),
    (True, "languages"): ("E303",),
    (True, "contact_timezones"): ("E301",),
}
"""The codes of problems that may only follow from an unread key of a flow, or of ``bot.yml`` (True)."""


@immutable
class BotPart:
    """A part of the bot's files: what stands under a ``key`` of a document, or one of its steps.

    The document is that of a ``flow``, of ``bot.yml`` (None), or another one, which has no keys here.
    """

    document: _Place
    flow: str | None = None
    key: str | None = None
    step: str | None = None

    def may_have(self, code: str, other: "BotPart | None") -> bool:
        """True if a misspelt key of this part may be what is missing in another part."""
        if self == other:
            return True
        of_step = code in OF_STEPS
        if self.flow is None:
            inherited = self.key == DEFAULTS or self.key not in BOT_KEYS.names
            return self.document[0] == BOT_FILE and (inherited or not of_step)
        inherited = self.key == DEFAULTS or self.key not in FLOW_KEYS.names
        return of_step and inherited and other is not None and other.document == self.document


class PartIndex:
    """The parts of a bot's documents. The part of a problem is the last one that begins before it."""

    def __init__(self, documents: Documents) -> None:
        found = [each for node in documents.bots for each in _parts(node, None)]
        for node in documents.flows:
            name = node.get("flow")
            found += _parts(node, name.text if isinstance(name, Scalar) else "")
        others = (*documents.tests, *documents.locales.values())
        found += [(node.mark.position, BotPart(node.mark.position)) for node in others]
        found.sort(key=lambda each: each[0])
        self._places = [place for place, _ in found]
        self._parts = [part for _, part in found]

    def of(self, problem: Problem) -> BotPart | None:
        """The part that a problem is in; None where it is in no document that was read."""
        before = bisect_right(self._places, (problem.path, problem.line, problem.column)) - 1
        found = self._parts[before] if before >= 0 else None
        return found if found is not None and found.document[0] == problem.path else None


def _parts(node: Map, flow: str | None) -> Iterator[tuple[_Place, BotPart]]:
    document = node.mark.position
    yield document, BotPart(document, flow)
    for key, value in node.entries:
        yield key.mark.position, BotPart(document, flow, key.text)
        for step in _names(value) if flow is not None and key.text == STEPS else ():
            yield step.mark.position, BotPart(document, flow, STEPS, step.text)


def _names(steps: Node) -> Iterator[Scalar]:
    for item in one_or_more(steps):
        if isinstance(item, Map):
            yield from (key for key, _ in item.entries)


def follow_ups(documents: Documents, problems: Problems) -> Iterator[Problem]:
    """The problems that only follow from others: what is missing, because it stands under a misspelt key, or where
    nothing could be read; a part whose lines do not fit each other; values of texts that cannot be read; uses of
    variables whose name is invalid.
    """
    parts = PartIndex(documents)
    found = [(problem, parts.of(problem)) for problem in problems.sorted()]

    def parts_with(*codes: str) -> set[BotPart]:
        return {part for problem, part in found if problem.code in codes and part is not None}

    misspelt, misread, unaligned = parts_with("E104"), parts_with(*_MISREAD), parts_with("E002")
    wrong = {(part.document[0] == BOT_FILE, part.key) for part in misread}
    starts = {part for part in misread if part.key == START}
    steps = {part for part in misread if part.step}
    broken_texts = parts_with("E201", "E202", "E205")
    untyped = {part.document for part in parts_with("E304")}
    unnamed = {part.document for part in parts_with("E108") if part.key == VARS}
    scheduled = any(": schedule: " in problem.what for problem, _ in found)
    begin = {node.mark.position for node in documents.flows if node.mark.path in problems.unread}
    for problem, part in found:
        code, document = problem.code, None if part is None else part.document
        missing = code in MISSING or problem.fix in ELSEWHERE.values()
        follows = (
            code >= "E100" and ((problem.path, problem.line) in problems.emptied or part in unaligned),
            missing and any(each.may_have(code, part) for each in misspelt),
            code in ("E105", "E303") and part in broken_texts,
            code == "E301" and document in unnamed,
            code == "E105" and (part in starts or (problem.path, problem.line, problem.column) in begin),
            code in ("E312", "E313")
            and (part in starts or any(f" {each.flow} " in f"{problem.what} " for each in starts)),
            code == "E303" and (document in untyped or part in steps),
            code == "E116" and scheduled,
            any(code in codes for place, codes in _DECLARED_THERE.items() if place in wrong),
        )
        if any(follows):
            yield problem


def faulty_steps(flows: Mapping[str, Flow], parts: Iterable[BotPart | None]) -> frozenset[tuple[str, str]]:
    """The steps that are not sound: those with a problem, and all steps of a flow with a problem elsewhere in it.

    A step called like a target is one of the latter: what leads to the target may mean the step; and so is one that was
    not read as a step.
    """
    faulty = {part for part in parts if part is not None and part.flow is not None}
    read = {(flow.name, step) for flow in flows.values() for step in flow.steps}
    whole = {part.flow for part in faulty if part.step in RESERVED or (part.flow, part.step) not in read}
    alone = {(part.flow or "", part.step or "") for part in faulty}
    return frozenset(place for place in read if place[0] in whole or place in alone)


def without(flows: Mapping[str, Flow], faulty: Collection[tuple[str, str]]) -> dict[str, Flow]:
    """The flows with nothing known of these steps. A flow has a step in any case."""
    found = {}
    for name, flow in flows.items():
        steps = {
            step: placeholder_step(step, each.mark) if (name, step) in faulty else each
            for step, each in flow.steps.items()
        }
        slots = {slot: mark for slot, mark in flow.slots.items() if slot in steps}
        found[name] = replace(flow, steps=steps or {STEPS: placeholder_step(STEPS, flow.mark)}, slots=slots)
    return found
