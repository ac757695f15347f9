"""Reading of exports: old flows become present ones, and what is no export is refused in one line."""

from pathlib import Path
from typing import Any

import pytest

from bot.cli.importing.imported import ExportFile, UnreadableExport
from bot.cli.importing.rapidpro import import_bot, recognises
from bot.cli.importing.rapidpro.reading import old_template, read_files
from tests.cli.importing.rapidpro.rapidpro_exports import ExportedFlow, router, says


def files(data: Any) -> list[ExportFile]:
    return [ExportFile(Path("export.json"), data)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@flow.name|lower_case|title_case!", "@(title(lower(results.name)))!"),
        ("@flow.age and @flow.age.category", "@results.age and @results.age.category"),
        ("@contact.name @contact @contact.district", "@contact.name @contact @fields.district"),
        ("@step.value @extra.price", "@input.text @legacy_extra.price"),
        ("Hi @step.contact, @step.contact.tel_e164", "Hi @contact, @contact.tel_e164"),
        ("@date on @date.today!", "@(now()) on @(format_date(today()))!"),
        ("@(UPPER(date.tomorrow))", '@(UPPER((format_date(datetime_add(now(), 1, "D")))))'),
        ("@child.number @parent.contact.name", "@child.results.number @parent.contact.name"),
        ("@(UPPER(contact.city))", "@(UPPER(fields.city))"),
        ("@contact.tel_e164 @contact.twitter", "@contact.tel_e164 @urns.twitter"),
    ],
)
def test_an_old_expression_becomes_one_of_today(old: str, new: str) -> None:
    assert old_template(old) == new


def test_the_oldest_flows_name_others_by_numbers_and_wait_where_the_operand_says_so() -> None:
    rule = {"uuid": "r", "category": "All", "test": {"type": "true"}}
    ask = {"uuid": "a", "label": "Answer", "operand": "@step.value", "rules": [rule]}
    split = {"uuid": "b", "label": "Group", "operand": "@contact.age", "rules": [rule]}
    go = {"uuid": "c", "actions": [{"type": "flow", "id": 7, "name": "Other"}]}
    old = {"id": 6, "name": "Main", "definition": {"rule_sets": [ask, split], "action_sets": [go]}}
    flow = read_files(files({"flows": [old]})).flows["6"]
    assert flow.name == "Main" and flow.nodes["c"].actions[0]["flow"] == {"uuid": "7", "name": "Other"}
    assert [uuid for uuid, node in flow.nodes.items() if node.waits] == ["a"]


@pytest.mark.parametrize("entry", [None, "gone"])
def test_an_old_flow_without_an_entry_begins_at_the_top_of_the_canvas(entry: str | None) -> None:
    rule = {"uuid": "r", "category": "All", "test": {"type": "true"}, "destination": "a"}
    ask = {"uuid": "b", "label": "Answer", "operand": "@step.value", "rules": [rule], "y": 0}
    node = {"uuid": "a", "destination": None, "actions": [{"type": "reply", "msg": "Hi"}], "y": 120}
    old = {"metadata": {"uuid": "f"}, "entry": entry, "rule_sets": [ask], "action_sets": [node]}
    assert [*read_files(files({"flows": [old]})).flows["f"].nodes] == ["b", "a"]


def test_a_form_field_is_a_part_of_the_answer() -> None:
    rule = {"uuid": "r", "category": "All", "test": {"type": "true"}}
    config = {"field_delimiter": "space", "field_index": 1}
    field = {"uuid": "a", "ruleset_type": "form_field", "label": "Age", "operand": "@flow.form", "rules": [rule], "config": config}  # fmt: skip
    flow = read_files(files({"flows": [{"metadata": {"uuid": "f"}, "rule_sets": [field], "action_sets": []}]})).flows[
        "f"
    ]
    assert (flow.nodes["a"].router or {})["operand"] == '@(field(results.form, 1, " "))'


def test_the_oldest_flows_wait_and_then_ask_a_service() -> None:
    rule = {"uuid": "r", "category": "Red", "test": {"type": "contains", "test": "red"}}
    hook = {"uuid": "a", "webhook": "https://x.example", "label": "Hook", "operand": "@step.value", "rules": [rule]}
    old = {"metadata": {"uuid": "f"}, "rule_sets": [hook], "action_sets": []}
    waits, asks = read_files(files({"flows": [old]})).flows["f"].nodes.values()
    assert waits.waits and waits.target() == asks.uuid == "a-hook"
    assert not asks.waits and asks.actions[0]["url"] == "https://x.example"


def test_a_webhook_of_version_9_tests_what_it_has_answered() -> None:
    rule = {"uuid": "r", "category": "Red", "test": {"type": "contains", "test": "red"}}
    hook = {"uuid": "a", "ruleset_type": "webhook", "webhook": "https://x.example", "webhook_action": "GET",
            "label": "Hook", "operand": "@extra.color", "rules": [rule], "config": {}}  # fmt: skip
    flow = read_files(files({"flows": [{"metadata": {"uuid": "f"}, "rule_sets": [hook], "action_sets": []}]})).flows[
        "f"
    ]
    node = flow.nodes["a"]
    assert node.actions[0]["url"] == "https://x.example" and (node.router or {})["operand"] == "@legacy_extra.color"


def test_an_old_flow_is_read_as_nodes() -> None:
    rules = [
        {"uuid": "r1", "category": {"eng": "Tea"}, "destination": "a2", "test": {"type": "contains_any", "test": {"eng": "tea"}}},
        {"uuid": "r2", "category": {"eng": "Other"}, "destination": "a1", "test": {"type": "true"}},
    ]  # fmt: skip
    old = {
        "version": "11.12", "base_language": "eng", "entry": "a1", "metadata": {"name": "Drinks", "uuid": "f1"},
        "action_sets": [
            {"uuid": "a2", "destination": None, "actions": [{"type": "reply", "msg": {"eng": "@flow.drink it is"}}]},
            {"uuid": "a1", "destination": "w1", "actions": [{"type": "reply", "uuid": "m1", "msg": {"eng": "Tea?", "fra": "Thé?"}}]},
        ],
        "rule_sets": [{"uuid": "w1", "label": "Drink", "ruleset_type": "wait_message", "operand": "@step.value", "rules": rules}],
    }  # fmt: skip
    flow = read_files(files({"flows": [old]})).flows["f1"]
    assert list(flow.nodes) == ["a1", "a2", "w1"]
    assert flow.nodes["a2"].actions[0]["text"] == "@results.drink it is"
    assert flow.localization["fra"]["m1"] == {"text": ["Thé?"]} and not flow.is_glific
    assert flow.nodes["w1"].waits == {"type": "msg"} and flow.nodes["w1"].target("r1") == "a2"


def test_quick_replies_in_a_list_for_each_language_are_read() -> None:
    replies = {
        "fra": [{"title": "Oui"}, {"payload": "Non"}],
        "eng": [{"title": "Yes", "payload": "1"}, {"title": "No"}],
    }
    says = {"type": "reply", "uuid": "m", "msg": {"eng": "Tea?", "fra": "Thé?"}, "quick_replies": replies}
    node = {"uuid": "a", "destination": None, "actions": [says]}
    old = {"base_language": "eng", "entry": "a", "metadata": {"name": "Tea", "uuid": "f"}, "action_sets": [node]}
    flow = read_files(files({"flows": [old]})).flows["f"]
    assert flow.nodes["a"].actions[0]["quick_replies"] == ["Yes", "No"]
    assert flow.localization["fra"]["m"]["quick_replies"] == ["Oui", "Non"]


def test_translations_of_old_actions_without_ids_stay_apart() -> None:
    replies = [{"eng": "Yes", "fra": "Oui"}, {"eng": "Maybe"}, {"eng": "No", "fra": "Non"}]
    says = [
        {"type": "reply", "msg": {"eng": "Tea?", "fra": "Thé?"}, "quick_replies": replies},
        {"type": "reply", "msg": {"eng": "Bye", "fra": "Salut"}},
    ]
    node = {"uuid": "a", "destination": None, "actions": says}
    old = {"base_language": "eng", "entry": "a", "metadata": {"name": "Tea", "uuid": "f"}, "action_sets": [node]}
    flow = read_files(files({"flows": [old]})).flows["f"]
    ask, bye = flow.nodes["a"].actions
    assert flow.localization["fra"][ask["uuid"]] == {"text": ["Thé?"], "quick_replies": ["Oui", "", "Non"]}
    assert flow.localization["fra"][bye["uuid"]] == {"text": ["Salut"]}


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("nodes",), [7], "$.flows[0].nodes is no list of maps"),
        (("nodes", 0, "exits"), None, "$.flows[0].nodes[0] is no node"),
        (("nodes", 0, "actions", 0, "type"), 3, "$.flows[0].nodes[0].actions[0] is no action"),
        (("nodes", 0, "router"), {}, "$.flows[0].nodes[0].router is no switch"),
        (("localization",), [], "$.flows[0].localization is no map"),
    ],
)
def test_a_part_of_another_form_is_refused_with_its_place(path: tuple[Any, ...], value: Any, where: str) -> None:
    flow = ExportedFlow("Main")
    flow.node(says("Hi"), router=router(("has_any_word", ["tea"], "Tea")))
    part: Any = flow.data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(UnreadableExport) as refused:
        import_bot(files({"flows": [flow.data]}))
    assert where in str(refused.value)


@pytest.mark.parametrize("data", [{}, [], {"flows": []}, {"types": [], "root": []}, {"nodes": {}}])
def test_other_json_is_not_recognised(data: Any) -> None:
    assert not recognises(files(data))


def test_an_exit_to_a_node_that_is_not_there_ends_the_flow() -> None:
    flow = ExportedFlow("Main")
    flow.node(says("Hi"), to="gone")
    bot = import_bot(files(flow.data))
    assert bot.flows["main"]["steps"]["hi"]["then"] == "end"
    assert [node.note for node in bot.nodes if node.fate == "lost"] == [
        "this node is not in the export: the flow ends there"
    ]
