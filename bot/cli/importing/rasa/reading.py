"""A CALM assistant, read from its YAML: flows, slots, responses, end-to-end tests, and what older assistants have."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.cli.importing.imported import ExportFile, UnreadableExport, shortened
from bot.core.lazy_patterns import lazy_pattern

END = "END"
LONGEST_TITLE = 24  # of a choice on the platform
Branches = tuple[tuple[str | None, str], ...]
_KINDS = ("collect", "action", "link", "call", "set_slots", "noop")
_IN_BRACES, _IN_JINJA = lazy_pattern(r"\{(\w+)\}"), lazy_pattern(r"\{\{\s*slots\.(\w+)\s*\}\}")
_SET_SLOTS = lazy_pattern(r"/SetSlots\((.*)\)\s*")


@dataclass(frozen=True)
class RasaSlot:
    """A slot with its type, its first value, and the values of a categorical one."""

    name: str
    kind: str = "text"
    initial: Any = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class RasaButton:
    """A button: what it sets, if its payload is a command; else the text that it sends.

    ``title`` is as the platform takes it, ``written`` as the export has it.
    """

    title: str
    payload: str
    written: str

    @property
    def sets(self) -> dict[str, str]:
        """The slots that it sets: `/SetSlots(size=small)`."""
        found = _SET_SLOTS.fullmatch(self.payload)
        pairs = [part.partition("=") for part in found[1].split(",")] if found else []
        return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


@dataclass(frozen=True)
class RasaVariation:
    """One form of a response."""

    text: str
    buttons: tuple[RasaButton, ...] = ()
    image: str = ""
    conditions: tuple[tuple[str, Any], ...] = ()  # slots with the values that they must have
    channel: str = ""
    is_jinja: bool = False
    has_more: bool = False  # something that no channel here shows: a custom payload, elements

    @property
    def places(self) -> re.Pattern[str]:
        """The pattern of the places in its text that show the value of a slot."""
        return _IN_JINJA if self.is_jinja else _IN_BRACES


@dataclass(frozen=True)
class RasaStep:
    """A step of a flow. ``value`` is the slot, the action or the flow that it names.

    It leads to the first of its ``branches`` whose predicate holds; None: otherwise.
    """

    id: str
    kind: str
    value: str
    branches: Branches
    utter: str = ""
    ask_before_filling: bool = False
    rejections: tuple[tuple[str, str], ...] = ()  # predicates with responses
    slots: tuple[tuple[str, Any], ...] = ()
    extra: tuple[str, ...] = ()  # keys that are not known

    @property
    def question(self) -> str:
        """The response that asks for the slot."""
        return self.utter or f"utter_ask_{self.value}"

    @property
    def predicates(self) -> list[str]:
        """The predicates that decide where it leads, and which answers it rejects."""
        return [text for text, _ in (*self.branches, *self.rejections) if text is not None]


@dataclass(frozen=True)
class RasaFlow:
    """A flow, its steps in one list: those of branches stand behind the step that branches."""

    id: str
    description: str
    steps: Mapping[str, RasaStep]
    guard: str = ""
    intents: tuple[str, ...] = ()
    persisted: tuple[str, ...] = ()
    says_completed: bool = True

    def place(self, step: RasaStep) -> str:
        """Where a step stands, as the report names it."""
        return f'{self.id} > "{step.id}" ({step.kind})'

    @property
    def first(self) -> str:
        """The id of the first step."""
        return next(iter(self.steps), END)


@dataclass(frozen=True)
class RasaTest:
    """An end-to-end test: what the user says, each with the responses (names, or texts) that follow."""

    name: str
    turns: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class ClassicRule:
    """A rule or a story of an assistant without flows; ``kind`` is `rules` or `stories`."""

    kind: str
    name: str
    steps: tuple[Mapping[str, Any], ...]
    conditions: tuple[Any, ...] = ()

    @property
    def place(self) -> str:
        """Where it stands, as the report names it."""
        return f"{self.kind} > {self.name}"


@dataclass
class RasaAssistant:
    """All that the files of an assistant hold."""

    flows: dict[str, RasaFlow] = field(default_factory=dict)
    slots: dict[str, RasaSlot] = field(default_factory=dict)
    responses: dict[str, tuple[RasaVariation, ...]] = field(default_factory=dict)
    actions: list[str] = field(default_factory=list)
    tests: list[RasaTest] = field(default_factory=list)
    examples: dict[str, list[str]] = field(default_factory=dict)  # of intents
    classic: list[ClassicRule] = field(default_factory=list)
    forms: dict[str, list[str]] = field(default_factory=dict)  # their slots
    joined: dict[str, str] = field(default_factory=dict)  # places of rules, stories and forms, with their flows
    minutes: int = 60  # until a session expires
    mentions_completed: bool = False

    def slots_of(self, response: str) -> Iterator[str]:
        """The slots that a response shows, depends on, or sets by its buttons."""
        for variation in self.responses.get(response, ()):
            yield from (name for name in variation.places.findall(variation.text) if name in self.slots)
            yield from (name for name, _ in variation.conditions)
            yield from (name for button in variation.buttons for name in button.sets)

    def slot(self, name: str) -> RasaSlot:
        """A slot; one that the domain does not declare is a text."""
        return self.slots.get(name, RasaSlot(name))

    def set_by(self, flow: RasaFlow, seen: frozenset[str] = frozenset()) -> set[str]:
        """The slots that the steps of a flow fill, and those of the flows that it calls."""
        found = {name for step in flow.steps.values() for name, _ in step.slots}
        for step in flow.steps.values():
            if step.kind == "collect":
                found.add(step.value)
            elif step.kind == "call" and step.value in self.flows and step.value not in seen:
                found |= self.set_by(self.flows[step.value], seen | {step.value})
        return found


def is_rasa(data: Any) -> bool:
    """True if a file is one of an assistant of Rasa's."""
    if not isinstance(data, Mapping):
        return False
    flows, responses = data.get("flows"), data.get("responses")
    if isinstance(flows, Mapping) and any(isinstance(each, Mapping) and "steps" in each for each in flows.values()):
        return True
    if isinstance(responses, Mapping) and any(str(name).startswith("utter_") for name in responses):
        return True
    return any(isinstance(data.get(key), list) for key in ("test_cases", "stories", "rules", "nlu", "intents"))


def read_assistant(files: Sequence[ExportFile]) -> RasaAssistant:
    """The assistant that these files describe together."""
    found = RasaAssistant()
    for file in files:
        if isinstance(file.data, Mapping):
            _read(found, file.path, file.data)
    for name, slot in found.slots.items():
        found.slots[name] = replace(slot, kind=_kind(found, slot))
    return found


def _kind(found: RasaAssistant, slot: RasaSlot) -> str:
    """The type of a slot; one for anything has the type of the values that it gets."""
    steps = [step for flow in found.flows.values() for step in flow.steps.values()]
    if slot.kind == "list":
        return "text" if any(step.kind == "collect" and step.value == slot.name for step in steps) else "list"
    if slot.kind != "any":
        return slot.kind
    given = [value for step in steps for name, value in step.slots if name == slot.name]
    values = [value for value in [*given, slot.initial] if value is not None]
    if values and all(isinstance(value, bool) for value in values):
        return "bool"
    return "float" if values and all(isinstance(value, int | float) for value in values) else "text"


def _read(found: RasaAssistant, path: Path, data: Mapping[str, Any]) -> None:
    found.mentions_completed |= "utter_can_do_something_else" in str(data) or "pattern_completed" in str(data)
    for name, written in _map(path, data, "slots").items():
        found.slots[str(name)] = _slot(str(name), written if isinstance(written, Mapping) else {})
    for name, written in _map(path, data, "responses").items():
        listed = written if isinstance(written, list) else [written]
        found.responses[str(name)] = tuple(_variation(each) for each in listed)
    for name, written in _map(path, data, "flows").items():
        found.flows[str(name)] = _flow(path, str(name), written)
    for action in _list(data, "actions"):
        found.actions.append(str(next(iter(action)) if isinstance(action, Mapping) else action))
    session = data.get("session_config")
    if isinstance(session, Mapping) and isinstance(session.get("session_expiration_time"), int):
        found.minutes = session["session_expiration_time"]
    for case in _list(data, "test_cases"):
        if isinstance(case, Mapping):
            found.tests.append(_test(case))
    for intent in _list(data, "nlu"):
        if isinstance(intent, Mapping) and "intent" in intent:
            lines = str(intent.get("examples") or "").splitlines()
            plain = [re.sub(r"\[([^]]*)\](\([^)]*\)|\{[^}]*\})", r"\1", line.strip()[1:].strip()) for line in lines]
            found.examples.setdefault(str(intent["intent"]), []).extend(each for each in plain if each)
    for kind, key in (("stories", "story"), ("rules", "rule")):
        for each in _list(data, kind):
            if isinstance(each, Mapping):
                steps = tuple(step for step in _list(each, "steps") if isinstance(step, Mapping))
                found.classic.append(ClassicRule(kind, str(each.get(key)), steps, tuple(_list(each, "condition"))))
    forms = data.get("forms")
    for name, written in (
        forms.items() if isinstance(forms, Mapping) else ((each, None) for each in _list(data, "forms"))
    ):
        slots = written.get("required_slots", written) if isinstance(written, Mapping) else []
        found.forms[str(name)] = [str(each) for each in slots if each != "ignored_intents"]


def _map(path: Path, data: Mapping[str, Any], key: str) -> Mapping[Any, Any]:
    written = data.get(key)
    if written is not None and not isinstance(written, Mapping):
        raise UnreadableExport(f"{path}: $.{key} must be a map of names")
    return written or {}


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    written = data.get(key)
    return written if isinstance(written, list) else []


def _slot(name: str, data: Mapping[str, Any]) -> RasaSlot:
    values = tuple(str(each) for each in _list(data, "values") if each is not None)
    return RasaSlot(name, str(data.get("type", "text")), data.get("initial_value"), values)


def _variation(data: Any) -> RasaVariation:
    if not isinstance(data, Mapping):
        return RasaVariation(str(data))
    metadata = data.get("metadata")
    conditions = [each for each in _list(data, "condition") if isinstance(each, Mapping)]
    buttons = [each for each in _list(data, "buttons") if isinstance(each, Mapping)]
    titles = [str(each.get("title", "")) for each in buttons]
    return RasaVariation(
        str(data.get("text") or ""),
        tuple(
            RasaButton(short, str(each.get("payload", title)), title)
            for each, title, short in zip(buttons, titles, shortened(titles, LONGEST_TITLE), strict=True)
        ),
        str(data.get("image") or ""),
        tuple((str(each.get("name")), each.get("value")) for each in conditions),
        str(data.get("channel") or ""),
        isinstance(metadata, Mapping) and metadata.get("template") == "jinja",
        any(key in data for key in ("custom", "elements", "attachment", "quick_replies")),
    )


def _flow(path: Path, name: str, data: Any) -> RasaFlow:
    if not isinstance(data, Mapping) or not isinstance(data.get("steps"), list):
        raise UnreadableExport(f"{path}: $.flows.{name}.steps must be a list of steps")
    steps: dict[str, RasaStep] = {}
    _steps(f"{path}: $.flows.{name}", data["steps"], steps)
    for step in steps.values():
        for _, target in step.branches:
            if target != END and target not in steps:
                raise UnreadableExport(f'{path}: $.flows.{name} "{step.id}" leads to "{target}", which does not exist')
    persisted = _list(data, "persisted_slots")
    triggers = [each for each in _list(data, "nlu_trigger") if isinstance(each, Mapping)]
    intents = [each.get("intent") for each in triggers]
    return RasaFlow(
        name,
        str(data.get("description") or data.get("name") or name.replace("_", " ")),
        steps,
        str(data.get("if", "")),
        tuple(str(each["name"] if isinstance(each, Mapping) else each) for each in intents if each),
        tuple(map(str, persisted)),
        data.get("run_pattern_completed") is not False,
    )


def _steps(where: str, listed: Sequence[Any], found: dict[str, RasaStep]) -> str:
    """Read steps into `found`; returns the id of the first."""
    ids = [_id(where, each, len(found) + index, found) for index, each in enumerate(listed)]
    for name in ids:
        found[name] = RasaStep(name, "", "", ())  # keeps its place before the steps of its branches
    for index, (name, data) in enumerate(zip(ids, listed, strict=True)):
        following = ids[index + 1] if index + 1 < len(ids) else END
        found[name] = _step(name, data, _next(where, data.get("next"), following, found))
    return ids[0] if ids else END


def _id(where: str, data: Any, index: int, found: Mapping[str, RasaStep]) -> str:
    if not isinstance(data, Mapping):
        raise UnreadableExport(f"{where}.steps[{index}] must be a map")
    kind = next((kind for kind in _KINDS if kind in data), "noop")
    name = str(data.get("id") or (kind if kind in ("set_slots", "noop") else data[kind]))
    number, unique = 2, name
    while unique in found and not data.get("id"):
        unique, number = f"{name}_{number}", number + 1
    return unique


def _next(where: str, written: Any, following: str, found: dict[str, RasaStep]) -> Branches:
    if written is None:
        return ((None, following),)
    if not isinstance(written, list):
        return ((None, str(written)),)
    branches: list[tuple[str | None, str]] = []
    for each in written:
        if not isinstance(each, Mapping):
            raise UnreadableExport(f"{where}: each entry of next must have if and then, or else")
        then = each.get("else", each.get("then"))
        target = _steps(where, then, found) if isinstance(then, list) else str(then)
        branches.append((str(each["if"]) if "if" in each else None, target))
    if branches and branches[-1][0] is not None:
        branches.append((None, following))
    return tuple(branches)


def _step(name: str, data: Mapping[str, Any], leads: Branches) -> RasaStep:
    kind = next((kind for kind in _KINDS if kind in data), "noop")
    known = {"id", "next", "utter", "ask_before_filling", "rejections", "reset_after_flow_ends", "description", kind}
    return RasaStep(
        name,
        kind,
        str(data.get(kind, "")),
        leads,
        str(data.get("utter") or ""),
        data.get("ask_before_filling") is True,
        tuple((str(each.get("if")), str(each.get("utter"))) for each in _list(data, "rejections")),
        tuple(_pairs(data["set_slots"])) if kind == "set_slots" else (),
        tuple(sorted(map(str, {*data} - known))),
    )


def _pairs(written: Any) -> Iterator[tuple[str, Any]]:
    for each in written if isinstance(written, list) else [written]:
        if isinstance(each, Mapping):
            yield from ((str(name), value) for name, value in each.items())


def _test(data: Mapping[str, Any]) -> RasaTest:
    turns: list[tuple[str, list[str]]] = []
    for step in _list(data, "steps"):
        if isinstance(step, Mapping) and "user" in step:
            turns.append((str(step["user"]), []))
        elif isinstance(step, Mapping) and turns:
            said = step.get("utter") or step.get("bot")
            if said:
                turns[-1][1].append(str(said))
    return RasaTest(str(data.get("test_case")), tuple((user, tuple(said)) for user, said in turns))
