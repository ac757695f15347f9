"""What editors are told of a bot's files is what the readers know: the same keys, in the same places."""

import itertools
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft7Validator

from bot.language.flow.bot_file import read_bot
from bot.language.flow.documents import Documents, Source, read_documents
from bot.language.flow.flow_file import read_flow
from bot.language.flow.library import load
from bot.language.flow.step_reader import step_schema
from bot.language.keys.declared_keys import KeySet
from bot.language.keys.fields import Fields
from bot.language.python.gathered import Extensions
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import List, Map, Node, plain, read
from bot.language.steps import KINDS
from bot.language.steps.step_options import SOME_HAVE
from bot.loading.folder import Folder
from bot.loading.program import load_handlers
from bot.settings import problems_in
from bot.testing.conversations.documents_schema import documents_schema
from bot.testing.conversations.transcript import KnownNames
from bot.testing.conversations.transcript_reader import TranscriptReader, load_with_tests
from tests.made_documents import documents
from tests.own_bots import own_bots
from tests.schemas import Schema, below, record_in, records
from tests.searches import over

FIRST = {"flow", "test", "evaluate"}
"""The keys by which a document says what it is: one without them may become any."""


@pytest.fixture
def known_at(monkeypatch: pytest.MonkeyPatch) -> dict[Mark, set[str]]:
    """The keys that the readers know in each map."""
    found: dict[Mark, set[str]] = {}
    open_ = KeySet.open

    def noting(self: KeySet, node: Node, *rest: Any, others: bool = False, **more: Any) -> Fields:
        if not others:
            found[node.mark] = {*self.names}
        return open_(self, node, *rest, others=others, **more)

    monkeypatch.setattr(KeySet, "open", noting)
    return found


REST = Folder(Path("rest"), (Source("bot.yml", b"""
name: T
types: {size: integer}
secrets: [CRM_SECRET]
events_to: {url: "https://crm.example/bot", secret: CRM_SECRET, on: [end], allow_private: false}
"""), Source("main.yml", b"""
flow: main
vars:
  all:
    type: object
    fields:
      text: {type: text}
      name: {type: name}
      integer: {type: integer}
      number: {type: number}
      choice: {type: choice, of: [a]}
      boolean: {type: boolean}
      date: {type: date}
      time: {type: time}
      datetime: {type: datetime}
      email: {type: email}
      phone: {type: phone}
      list: {type: list}
      object: {type: object, fields: {inner: {type: object}}}
      media: {type: media}
      location: {type: location}
      answer: {type: answer}
      size: {type: size, value: 3}
steps: {a: {say: A photo., image: {link: "https://files.example/a.png"}}}
""")), ())  # fmt: skip
"""What stands in no other document."""
OWN = (*own_bots(), REST)
BUILT_IN = documents_schema({})
NO_PYTHON = Extensions()
UNKNOWN = TranscriptReader(KnownNames(complete=False))
NO_BOT = read_bot(Map(Mark("bot.yml", 1, 1), ()), NO_PYTHON, Problems())


@cache
def extensions_of(bot: Folder) -> Extensions:
    return load_handlers(bot)[0]


@cache
def schema_of(bot: Folder) -> Schema:
    verbs = extensions_of(bot).verbs
    return documents_schema(verbs) if verbs else BUILT_IN


TEXTS: dict[int, tuple[Schema, str]] = {}


def text_of(record: Schema) -> str:
    """A record of a schema as text, which is the same for a copy. The long records of a schema are met often."""
    if id(record) not in TEXTS:
        TEXTS[id(record)] = record, json.dumps(record)  # the record stays, so that no other gets its id
    return TEXTS[id(record)][1]


@cache
def documents_of(bot: Folder) -> tuple[Map, ...]:
    found: Documents = read_documents(bot.sources, Problems())
    return *found.bots, *found.flows, *found.tests


def maps_in(root: Schema, schema: Schema, node: Node) -> Iterator[tuple[Map, Schema | None]]:
    """Every map in a node, with the record that the schema has for it, if it has one."""
    value = plain(node)
    if isinstance(node, Map):
        yield node, record_in(root, schema, value)
        for key, item in node.entries:
            yield from maps_in(root, below(root, schema, value, key.text), item)
    elif isinstance(node, List):
        for number, item in enumerate(node.items):
            yield from maps_in(root, below(root, schema, value, number), item)


@over(8, "bot", OWN)
def test_every_document_is_as_editors_are_told(bot: Folder) -> None:
    validator = Draft7Validator(schema_of(bot))
    found = [(node.mark, error) for node in documents_of(bot) for error in validator.iter_errors(plain(node))]
    assert [f"{mark} {list(error.absolute_path)}: {error.message}" for mark, error in found] == []


@over(8, "bot", OWN)
def test_in_every_map_of_every_document_the_schema_has_the_keys_that_its_reader_knows(
    bot: Folder, known_at: dict[Mark, set[str]]
) -> None:
    load_with_tests(bot)
    root = schema_of(bot)
    for document in documents_of(bot):
        steps = document.get("steps")
        of_steps = {node.mark for _, node in steps.entries} if isinstance(steps, Map) else set()
        for node, record in maps_in(root, root, document):
            one_of_them = record is not None and record.get("maxProperties") == 1  # its one key may be read as a name
            if node.mark in known_at or (record is not None and not one_of_them):
                assert record is not None, node.mark
                told, known = {*record["properties"]}, known_at[node.mark]
                elsewhere = FIRST if node is document else SOME_HAVE if node.mark in of_steps else set()
                assert known <= told | elsewhere, node.mark
                assert told <= known | elsewhere, node.mark


def test_every_record_of_the_schema_is_met_by_a_document() -> None:
    met, roots = set(), {id(root): root for root in map(schema_of, OWN)}  # most bots have the same one
    there_are = {text_of(each): each for root in roots.values() for each in records(root) if each["properties"]}
    for bot in OWN:
        root = schema_of(bot)
        for document in documents_of(bot):
            met |= {text_of(record) for _, record in maps_in(root, root, document) if record is not None}
    missing = [sorted(record["properties"]) for text, record in there_are.items() if text not in met]
    assert missing == [], f"no example in docs/ or examples/ has a map with these keys: {missing}"


@cache
def own_types() -> dict[str, Any]:
    """The types of variables that the bots of this project declare."""
    found = Problems()
    types: dict[str, Any] = {}
    for bot in OWN:
        for node in read_documents(bot.sources, found).bots:
            read_bot(node, NO_PYTHON, found)
            types |= found.types
    return types


def problems_of(document: Any, extensions: Extensions = NO_PYTHON) -> set[tuple[str, str]]:
    """What the readers find in a document: codes and words."""
    found = Problems()
    (node,) = read("any.yml", json.dumps(document, ensure_ascii=False).encode(), found)
    assert isinstance(node, Map)
    if node.get("flow") is not None:
        found.types = own_types()
        read_flow(node, NO_BOT, extensions, {}, found)
    elif node.get("test") is not None or node.get("evaluate") is not None:
        UNKNOWN.read(node, found)
    else:
        read_bot(node, extensions, found)
    return {(problem.code, problem.what) for problem in found.sorted()}


def checked(document: Any, extensions: Extensions) -> set[tuple[str, str]]:
    """What is found later: of names, when all flows are read, and of settings."""
    text = json.dumps(document, ensure_ascii=False).encode()
    (node,) = read("any.yml", text, Problems())
    assert isinstance(node, Map)
    settings = node.get("settings")
    of_settings = [] if settings is None else problems_in(settings).sorted()
    of_names = load([Source("bot.yml", b"name: T"), Source("any.yml", text)], extensions).problems
    return {(problem.code, problem.what) for problem in (*of_settings, *of_names)}


@given(documents(BUILT_IN))
def test_a_document_that_the_schema_allows_has_no_key_and_no_form_that_its_reader_refuses(document: Any) -> None:
    assert [what for code, what in problems_of(document) if code in ("E104", "E106")] == []


@cache
def places() -> list[tuple[Folder, Any, list[str | int], Schema]]:
    """A place in a document for each record of the schemas: the bot, the document, what leads there, and the record."""
    found: dict[str, tuple[Folder, Any, list[str | int], Schema]] = {}

    def look(bot: Folder, root: Schema, document: Any, schema: Schema, value: Any, path: list[str | int]) -> None:
        record = record_in(root, schema, value) if isinstance(value, dict) else None
        if record is not None:
            found.setdefault(text_of(record), (bot, document, path, record))
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in entries:
            look(bot, root, document, below(root, schema, value, key), item, [*path, key])

    for bot in OWN:
        for node in documents_of(bot):
            look(bot, schema_of(bot), plain(node), schema_of(bot), plain(node), [])
    return [*found.values()]


def changed(document: Any, path: list[str | int], key: str, value: Any) -> Any:
    """A document with another value at a place, and no other steps and lines than the one where that is."""
    if not path:
        return {**document, key: value}
    first, *rest = path
    inner = changed(document[first], rest, key, value)
    if isinstance(document, list):
        return [inner]
    if first == "steps":
        inner = {rest[0]: inner[rest[0]]} if rest else inner
    return {**document, first: inner}


@cache
def known(bot: Folder, text: str, look: Callable[[Any, Extensions], set[tuple[str, str]]]) -> set[tuple[str, str]]:
    return look(json.loads(text), extensions_of(bot))


def refused(bot: Folder, document: Any, made: Any) -> bool:
    """Whether there is more to find in what has been made of a bot's document than in that."""
    text, looks = json.dumps(document), (problems_of, checked)  # the second is slower, and rarely needed
    return any(look(made, extensions_of(bot)) - known(bot, text, look) for look in looks)


def test_a_key_that_no_reader_knows_is_refused_by_both() -> None:
    for bot, document, path, _ in places():
        made = changed(document, path, "of_no_meaning", 1)
        assert not Draft7Validator(schema_of(bot)).is_valid(made), path
        assert refused(bot, document, made), path


WRONG = ({"x": {"y": 1}}, [[1]], 7.5, None, "?!")


def test_a_value_that_the_schema_refuses_is_refused_by_the_reader() -> None:
    taken, wrong = [], itertools.cycle(WRONG)
    for bot, document, path, record in places():
        for key, schema in record["properties"].items():
            value, definitions = next(wrong), schema_of(bot)["definitions"]
            allowed = Draft7Validator({"allOf": [schema], "definitions": definitions}).is_valid(value)
            if not allowed and not refused(bot, document, changed(document, path, key, value)):
                taken.append((bot.path.stem, *path, key, value))
    assert taken == []


@cache
def steps_of(verb: str) -> tuple[dict[str, Any], ...]:
    """Steps of a kind in the bots of this project: the shortest, the one with the most keys, and one that waits, if one does."""
    flows = (document.get("steps") for bot in OWN for document in documents_of(bot))
    steps = [plain(step) for found in flows if isinstance(found, Map) for _, step in found.entries]
    found = [step for step in steps if isinstance(step, dict) and next(iter(step)) == verb]
    waiting = max(found, key=lambda step: "'wait': True" in str(step.get("window_closed")))
    return min(found, key=lambda step: len(str(step))), max(found, key=len), waiting


STEP_OPTIONS = {
    **{name: {"say": "Still there?"} for name in ("retry", "remind", "timeout")},
    "save": "a", "then": "end", "words": {"menu": "end"},
}  # fmt: skip


@pytest.mark.parametrize("verb", KINDS)
def test_a_kind_of_step_is_offered_the_options_that_it_may_have(verb: str) -> None:
    def takes(step: dict[str, Any], option: str) -> bool:
        flow = {"flow": "main", "vars": {"a": "text"}, "steps": {"b": step | {option: STEP_OPTIONS[option]}}}
        return not any(code in ("E104", "E123") for code, _ in problems_of(flow))

    records = [record_in(BUILT_IN, step_schema(KINDS), step) for step in steps_of(verb)]
    offered = {key for record in records if record is not None for key in record["properties"]}
    taken = {option for option in STEP_OPTIONS if any(takes(step, option) for step in steps_of(verb))}
    assert taken == STEP_OPTIONS.keys() & offered
