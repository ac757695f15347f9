"""Bots of RapidPro's exports say what its own rules say: for each test, action and router, and by their conversations."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.cli.importing.imported import ExportFile, Fate, ImportedBot
from bot.cli.importing.rapidpro import import_bot
from tests.cli.importing.rapidpro.rapidpro_exports import ExportedFlow, imported, new_id, proved, router, says
from tests.cli.terminal import call

TESTS: list[tuple[str, list[str]]] = [
    ("has_any_word", ["tea coffee"]), ("has_all_words", ["the fox"]), ("has_phrase", ["quick fox"]),
    ("has_only_phrase", ["quick fox"]), ("has_only_text", ["Quick"]), ("has_beginning", ["The quick"]), ("has_text", []),
    ("has_pattern", [r"(\w+) (\d+)"]), ("has_number", []), ("has_number_between", ["5", "10"]), ("has_number_eq", ["5"]),
    ("has_number_lt", ["5"]), ("has_number_lte", ["5"]), ("has_number_gt", ["5"]), ("has_number_gte", ["5"]), ("has_date", []),
    ("has_date_lt", ["2020-01-01"]), ("has_date_eq", ["2020-01-01"]), ("has_date_gt", ["2020-01-01"]), ("has_time", []),
    ("has_phone", ["US"]), ("has_email", []), ("has_image", []), ("has_group", ["id", "Members"]),
]  # fmt: skip


def steps_of(bot: ImportedBot, flow: str = "main") -> dict[str, Any]:
    steps: dict[str, Any] = bot.flows[flow]["steps"]
    return steps


def notes_of(bot: ImportedBot, fate: Fate) -> str:
    return " ".join(node.note for node in bot.nodes if node.fate is fate)


def alike(bot: ImportedBot, folder: Path) -> tuple[int, int]:
    """How many messages are the same, and how many conversations differ."""
    proof = proved(bot, folder)
    assert proof.messages > 0 and proof.differences == ()
    return proof.same, proof.conversations


@pytest.mark.parametrize(("test", "arguments"), TESTS, ids=[test for test, _ in TESTS])
def test_each_test_decides_as_rapidpro_does(test: str, arguments: list[str], tmp_path: Path) -> None:
    flow, wait, yes, again = ExportedFlow("Main"), new_id(), new_id(), new_id()
    flow.node(says("Try it"), to=wait)
    decides = router((test, arguments, "Yes"), to={"Yes": yes, "Other": again}, timeout=300, result_name="Answer")
    flow.node(uuid=wait, router=decides)
    flow.node(says("Matched @results.answer, @results.answer.category; you wrote @results.answer.input"), uuid=yes)
    flow.node(says("No @results.answer (@results.answer.category)"), uuid=again, to=wait)
    alike(imported(flow), tmp_path)


def test_a_question_with_quick_replies_takes_any_text(tmp_path: Path) -> None:
    flow, end = ExportedFlow("Main"), new_id()
    wait = router(("has_phrase", ["yes"], "Yes"), to={"Yes": end, "Other": end}, result_name="Sure")
    flow.node(says("Sure?", "Yes", "No", '@(upper("maybe"))'), router=wait)
    flow.node(says("@results.sure|@results.sure.category"), uuid=end)
    bot = imported(flow)
    assert steps_of(bot)["sure"]["accepts"] == "text"
    assert alike(bot, tmp_path) == (6, 2)


def test_an_image_with_quick_replies_is_shown_before_its_question(tmp_path: Path) -> None:
    flow = ExportedFlow("Main")
    flow.node(says("Nice?", "Yes", attachments=["image/jpeg:https://files.example/a.jpg"]), router=router())
    assert alike(imported(flow), tmp_path) == (3, 1)


def test_a_quick_reply_that_is_too_long_is_cut_and_answers_in_full(tmp_path: Path) -> None:
    flow, end = ExportedFlow("Main"), new_id()
    title = "Give me something else to do."
    wait = router(("has_only_phrase", [title], "Else"), to={"Else": end, "Other": end}, result_name="Wish")
    flow.node(says("What now?", title, "Nothing"), router=wait)
    flow.node(says("@results.wish, @results.wish.category"), uuid=end)
    bot = imported(flow)
    assert steps_of(bot)["what_now"]["options"] == ["Give me something else…", "Nothing"]
    assert alike(bot, tmp_path) == (6, 2)


def test_a_file_is_left_out_where_it_has_no_address_and_the_text_stays() -> None:
    flow = ExportedFlow("Main")
    flow.node(says("Look!", attachments=['image:@(fields.path & "a.jpg")']))
    flow.node(says("Here.", attachments=["image:picture", "image:https://files.example/a.webp"]))
    bot = imported(flow)
    image, text, here = steps_of(bot).values()
    assert image["errors"] == {"else": "look_2"} and text["say"] == "Look!" and here["say"] == "Here."
    fates = {node.fate: node.note for node in bot.nodes}
    assert fates[Fate.NEARLY] == "the image is left out where its address is not complete"
    assert '"picture" is no address' in fates[Fate.LOST] and "no .webp" in fates[Fate.LOST]


def test_values_results_and_groups(tmp_path: Path) -> None:
    flow = ExportedFlow("Main")
    flow.node(
        {"type": "set_run_result", "name": "Score", "value": "@(1 + 2 * 3)", "category": "Good"},
        {"type": "set_contact_field", "field": {"key": "age", "name": "Age"}, "value": "@(results.score + 1)"},
        {"type": "set_contact_name", "name": "Ann"},
        {"type": "set_run_local", "local": "n", "value": "2", "operation": "increment"},
        {"type": "add_contact_groups", "groups": [{"uuid": "g1", "name": "Members"}, {"uuid": "g2", "name": "New"}]},
        {"type": "remove_contact_groups", "groups": [{"uuid": "g2", "name": "New"}]},
        says("@contact.name @fields.age @results.score.category @locals.n @contact.groups"),
    )
    assert alike(imported(flow), tmp_path) == (1, 1)
    assert "own_name" in (tmp_path / "flows" / "main.yml").read_text()


def test_a_flow_enters_others_and_takes_their_results(tmp_path: Path) -> None:
    main, child, last, told = ExportedFlow("Main"), ExportedFlow("Child"), ExportedFlow("Last"), new_id()
    main.node(
        {"type": "set_run_result", "name": "Score", "value": "7"},
        {"type": "enter_flow", "flow": child.reference},
        says("Said before the child"),
        router=router(("has_only_text", ["completed"], "Done"), to={"Done": told}, wait=False, operand="@child.status"),
    )
    enters = {"type": "enter_flow", "flow": last.reference, "terminal": True}
    main.node(says("Child said @child.results.colour (@child.results.colour.category)"), enters, uuid=told)
    child.node(says("From @parent.flow.name, @parent.results.score. Colour?"), router=router(result_name="Colour"))
    last.node(says("Bye @results.score|@results.colour|@parent.results.score|@parent.flow.name"))
    same, _ = alike(imported(main, child, last), tmp_path)
    assert same >= 4


def test_a_result_that_the_child_does_not_have_is_empty(tmp_path: Path) -> None:
    main, child = ExportedFlow("Main"), ExportedFlow("Child")
    child.node(says("Hello"))
    main.node({"type": "enter_flow", "flow": child.reference}, says("Child said @child.results.colour.category."))
    alike(imported(child, main), tmp_path)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_webhook_and_what_is_taken_of_its_answer(method: str, tmp_path: Path) -> None:
    flow = ExportedFlow("Main")
    wait, calls = (
        new_id(),
        {"type": "call_webhook", "method": method, "result_name": "Hook", "headers": {"Accept": "a"}},
    )
    flow.node(says("What?"), to=wait)
    flow.node(uuid=wait, router=router(to={"Other": (ask := new_id())}))
    flow.node(
        {**calls, "url": "https://shop.example/x?q=@(url_encode(input.text))", "body": '{"asked": ["@input.text"]}'},
        says("@results.hook @results.hook.category @webhook.price @results.hook.extra.price"),
        uuid=ask,
    )
    bot = imported(flow)
    asked = [step["http"] for step in steps_of(bot).values() if "http" in step]
    assert asked == [f"{method} https://shop.example/x?q={{{{ input }}}}"]
    assert alike(bot, tmp_path) == (4, 2)


def test_a_random_split_takes_each_way(tmp_path: Path) -> None:
    flow, one, two = ExportedFlow("Main"), new_id(), new_id()
    split = router(("", [], "One"), default="Two", to={"One": one, "Two": two}, wait=False)
    flow.node(router={**split, "type": "random", "cases": []})
    flow.node(says("One!"), uuid=one)
    flow.node(says("Two!"), uuid=two)
    assert alike(imported(flow), tmp_path) == (2, 2)


def test_an_old_flow_shows_the_day_and_is_none_of_glific(tmp_path: Path) -> None:
    texts = ["It is @date.today", "You wrote @flow.drink.time"]
    says_all = [{"type": "reply", "uuid": new_id(), "msg": {"base": text}} for text in texts]
    old = {"uuid": "a", "destination": None, "actions": says_all}
    flow = {"base_language": "base", "metadata": {"name": "Main", "uuid": "f"}, "action_sets": [old], "rule_sets": []}
    bot = import_bot([ExportFile(Path("export.json"), {"version": 11, "flows": [flow]})])
    proof = proved(bot, tmp_path)
    assert (proof.same, proof.unexplained) == (1, 0) and "@" not in str(bot.flows)
    assert "@results.drink.time" in notes_of(bot, Fate.LOST)


def test_a_split_by_a_drawn_number_goes_where_0_leads(tmp_path: Path) -> None:
    flow, low = ExportedFlow("Main"), new_id()
    to = {"Low": low}
    flow.node(router=router(("has_number_lte", ["0.5"], "Low"), wait=False, operand="@(rand())", to=to))
    flow.node(says("Low, @(rand_between(3, 9))"), uuid=low)
    assert alike(imported(flow), tmp_path) == (1, 1)


def test_translations_are_those_of_the_contacts_language(tmp_path: Path) -> None:
    flow, end = ExportedFlow("Main"), new_id()
    colours = router(("has_any_word", ["red"], "Red"), to={"Red": end, "Other": end}, result_name="Colour")
    node = flow.node(says("Which colour?", "Red", "Blue"), router=colours)
    flow.node(says("@results.colour.category_localized"), uuid=end)
    action, case = flow.data["nodes"][0]["actions"][0]["uuid"], colours["cases"][0]["uuid"]
    flow.data["localization"]["fra"] = {
        action: {"text": ["Quelle couleur?"], "quick_replies": ["Rouge", "Bleu"]},
        case: {"arguments": ["rouge"]},
        colours["categories"][0]["uuid"]: {"name": ["Rouge !"]},
    }
    assert node
    bot = imported(flow)
    assert bot.settings["languages"] == ["en", "fr"]
    assert alike(bot, tmp_path)[1] == 3


@pytest.mark.parametrize("waits", [True, False])
def test_quick_replies_are_translated_each_by_itself(waits: bool, tmp_path: Path) -> None:
    flow, end = ExportedFlow("Main"), new_id()
    asks = router(("has_any_word", ["yes oui"], "Yes"), to={"Yes": end, "Other": end}) if waits else None
    flow.node({**says("Tea?", "Yes", "No"), "uuid": "m 1"}, router=asks, to=end)
    flow.node({**says("Well?", "Now", "Later"), "uuid": "m 2"}, uuid=end)
    flow.data["localization"]["fra"] = {
        "m 1": {"text": ["Du thé?"], "quick_replies": ["Oui", ""]},
        "m 2": {"quick_replies": ["Maintenant", "Plus tard"]},
    }
    bot = imported(flow)
    proof = proved(bot, tmp_path)
    assert proof.messages > 0 and proof.differences == ()
    assert bot.locales["fr"]["main"]["well"]["buttons"] == {"Now": "Maintenant", "Later": "Plus tard"}


def test_further_values_of_a_result_without_any_are_empty(tmp_path: Path) -> None:
    flow, here, coda = ExportedFlow("Main"), new_id(), new_id()
    cases = [("has_location", [], "Place"), ("has_pattern", ["(a+)"], "A")]
    to = {"Place": here, "A": here, "Other": here}
    flow.node(says("Where?"), router=router(*cases, to=to, result_name="Spot"))
    flow.node(says("At @results.spot.extra.latitude"), uuid=here, to=coda)
    flow.node(says("Bye"), uuid=coda)
    bot = imported(flow)
    assert alike(bot, tmp_path)[0] > 5
    assert "latitude and longitude of the place are not kept" in notes_of(bot, Fate.LOST)


def test_the_message_that_starts_a_flow_is_read_after_a_time_out(tmp_path: Path) -> None:
    flow, late = ExportedFlow("Main"), new_id()
    flow.node(says("Your name?"), router=router(to={"No Response": late}, timeout=300))
    flow.node(says("You wrote @input.text"), uuid=late)
    assert alike(imported(flow), tmp_path)[0] == 3


def test_a_quick_reply_is_shown_without_the_spaces_around_it(tmp_path: Path) -> None:
    flow, thanks = ExportedFlow("Main"), new_id()
    flow.node(says("Tea?", "Yes ", " No"), router=router(("has_any_word", ["yes"], "Yes"), to={"Yes": thanks}))
    flow.node(says("Here it is"), uuid=thanks)
    assert alike(imported(flow), tmp_path)[0] > 2


def test_a_flow_that_replaces_all_others_says_that_these_go_on() -> None:
    flow, child, last = ExportedFlow("Main"), ExportedFlow("Child"), ExportedFlow("Last")
    flow.node({"type": "enter_flow", "flow": child.reference}, to=(after := new_id()))
    flow.node(says("Back"), uuid=after)
    child.node({"type": "enter_flow", "flow": last.reference, "terminal": True})
    last.node(says("Bye"))
    assert "there all flows end here" in notes_of(imported(flow, child, last), Fate.NEARLY)
    assert "there all flows end here" not in notes_of(imported(child, last), Fate.NEARLY)


def test_flows_that_enter_each_other_are_told_to_pile_up() -> None:
    flow, child = ExportedFlow("Main"), ExportedFlow("Child")
    flow.node(says("Menu"), router=router(to={"Other": (enter := new_id())}))
    flow.node({"type": "enter_flow", "flow": child.reference}, uuid=enter)
    child.node(says("Sure?"), router=router(to={"Other": (back := new_id())}))
    child.node({"type": "enter_flow", "flow": flow.reference}, uuid=back)
    assert "at most 10 flows" in notes_of(imported(flow, child), Fate.NEARLY)
    assert "at most 10 flows" not in notes_of(imported(child), Fate.NEARLY)


def test_the_exits_of_version_12_are_categories(tmp_path: Path) -> None:
    flow, child, ask, end = ExportedFlow("Main", spec_version="12.0"), ExportedFlow("Child"), new_id(), new_id()
    child.node(says("In the child"))
    colors = {"red": new_id(), "other": new_id(), "late": new_id()}
    cases = [("has_any_word", ["red"], "red"), ("has_wait_timed_out", ["@run"], "late")]
    routing = {
        "type": "switch", "operand": "@input", "result_name": "Color", "default_exit_uuid": colors["other"],
        "cases": [{"uuid": new_id(), "type": kind, "arguments": words, "exit_uuid": colors[to]} for kind, words, to in cases],
    }  # fmt: skip
    leads = {"red": end, "other": ask, "late": None}
    exits = [{"uuid": colors[name], "name": name, "destination_node_uuid": to} for name, to in leads.items()]
    wait = {"type": "msg", "timeout": 600}
    actions = [{"uuid": new_id(), **says("Which color?")}]
    flow.data["nodes"].append({"uuid": ask, "actions": actions, "wait": wait, "router": routing, "exits": exits})
    enters = [{"uuid": new_id(), "type": "start_flow", "flow": child.reference}, says("@run.results.color it is")]
    enters[1]["uuid"] = new_id()
    last = [{"uuid": new_id(), "destination_node_uuid": None}]
    flow.data["nodes"].append({"uuid": end, "actions": enters[1:] + enters[:1], "exits": last})
    bot = imported(flow, child)
    assert alike(bot, tmp_path) == (6, 3)
    assert steps_of(bot)["which_color"]["timeout"]["after"] == "600s"


def test_a_split_by_channel_takes_the_way_of_whatsapp(tmp_path: Path) -> None:
    flow, sms, whatsapp = ExportedFlow("Main"), new_id(), new_id()
    cases = [("has_only_phrase", ["tel"], "SMS"), ("has_only_phrase", ["whatsapp"], "WhatsApp")]
    split = router(
        *cases, to={"SMS": sms, "WhatsApp": whatsapp}, wait=False, operand="@(urn_parts(contact.urn).scheme)"
    )
    flow.node(says("Hi"), router=split)
    flow.node(says("Reply YES"), uuid=sms)
    flow.node(says("You are @contact.urn, @(format_urn(urns.tel))"), uuid=whatsapp)
    bot = imported(flow)
    assert alike(bot, tmp_path) == (2, 1)
    assert [*steps_of(bot)] == ["hi", "you_are"]
    assert "the ways of other channels are left out" in notes_of(bot, Fate.NEARLY)
    assert "only contacts of other channels than WhatsApp come here" in notes_of(bot, Fate.NEARLY)


def test_the_language_of_most_flows_is_that_of_the_bot(tmp_path: Path) -> None:
    flows = [ExportedFlow(name, language=code) for name, code in (("A", "spa"), ("B", "eng"), ("C", "eng"))]
    for flow in flows:
        flow.node({**says("Hello"), "uuid": "m 1"})
        flow.data["localization"] = {"eng": {"m 1": {"text": ["Hi"]}}, "spa": {"m 1": {"text": ["Hola"]}}}
    bot = imported(*flows)
    assert proved(bot, tmp_path).unexplained == 0 and steps_of(bot, "a")["hello"]["say"] == "Hello"
    assert bot.settings["languages"] == ["en", "es"] and [*bot.locales] == ["es"]
    assert [node.flow for node in bot.nodes if node.fate is Fate.LOST] == ["a"]


def test_a_file_of_a_translation_is_sent_to_contacts_of_its_language(tmp_path: Path) -> None:
    flow = ExportedFlow("Main")
    files = [f"image:https://files.example/{name}.jpg" for name in ("hello", "hola")]
    flow.node({**says("Hello", attachments=files[:1]), "uuid": "m 1"})
    flow.data["localization"] = {"spa": {"m 1": {"text": ["Hola"], "attachments": files[1:]}}}
    assert alike(imported(flow), tmp_path) == (4, 2)


def test_a_wait_that_passes_and_a_time_out(tmp_path: Path) -> None:
    flow, late = ExportedFlow("Main"), new_id()
    flow.node(
        {"type": "wait_for_time", "delay": "600"},
        says("Still there?"),
        router=router(timeout=60, to={"No Response": late}),
    )
    flow.node(says("Bye then"), uuid=late)
    assert alike(imported(flow), tmp_path) == (3, 2)


def test_flows_that_enter_each_other_without_a_wait_are_lost() -> None:
    one, two = ExportedFlow("One"), ExportedFlow("Two")
    one.node({"type": "enter_flow", "flow": two.reference})
    two.node({"type": "enter_flow", "flow": one.reference})
    assert "enter each other without a wait" in notes_of(imported(one, two), Fate.LOST)


@pytest.mark.parametrize(
    "action",
    [
        {"type": "send_email", "addresses": ["a@b.example"], "subject": "Hi", "body": "@contact.name"},
        {"type": "transfer_airtime", "amounts": {"USD": 3}, "result_name": "Airtime"},
        {"type": "something_new", "text": "Hi"},
        {"type": "call_webhook", "method": "FUNCTION", "url": "make_it", "body": "{}", "result_name": "made"},
    ],
    ids=lambda action: str(action["type"]),
)
def test_a_lost_action_is_a_call_that_fails_and_the_flow_goes_on(action: dict[str, Any], tmp_path: Path) -> None:
    flow = ExportedFlow("Main")
    flow.node(action, says("Done"))
    bot = imported(flow)
    step = next(iter(steps_of(bot).values()))
    assert step["call"] in bot.functions and action["type"] in bot.functions[step["call"]].doc
    assert notes_of(bot, Fate.LOST)
    alike(bot, tmp_path)


def test_an_expression_that_cannot_be_translated_is_a_function_that_raises(tmp_path: Path) -> None:
    flow = ExportedFlow("Main")
    flow.node(says("Hi @(unheard_of(1))"), says("Bye"))
    bot = imported(flow)
    assert [function.decorator for function in bot.functions.values()] == ["function"]
    proof = proved(bot, tmp_path)
    assert (proof.same, proof.messages, proof.unexplained) == (1, 2, 0)


def test_groups_by_query_follow_the_fields(tmp_path: Path) -> None:
    flow = ExportedFlow("Main")
    flow.node({"type": "set_contact_field", "field": {"key": "age"}, "value": "20"}, says("@contact.groups"))
    groups = [{"uuid": "g1", "name": "Adults", "query": 'age >= 18 AND (age != "" OR name = "x")'}]
    bot = imported(flow, groups=groups)
    assert steps_of(bot, "update_groups")["adults"]["branch"][0]["then"] == "join_adults"
    write = proved(bot, tmp_path)
    assert [each.what for each in write.differences] == ['there "[]", here "[Adults]"']  # the rules know no queries


@pytest.mark.parametrize(("after", "verb"), [((), "handoff"), ((says("Noted"),), "call")])
def test_a_ticket_is_a_handoff_if_nothing_follows(after: tuple[Any, ...], verb: str, tmp_path: Path) -> None:
    flow, wait = ExportedFlow("Main"), new_id()
    flow.node(says("What?"), to=wait)
    flow.node(uuid=wait, router=router(to={"Other": (end := new_id())}))
    flow.node({"type": "open_ticket", "topic": {"name": "Help"}, "body": "@input.text"}, *after, uuid=end)
    bot = imported(flow)
    assert verb in list(steps_of(bot).values())[2]
    alike(bot, tmp_path)


def test_triggers_start_flows() -> None:
    flows = [ExportedFlow(name) for name in ("One", "Two", "Three")]
    for flow in flows:
        flow.node(says("Hi"))
    triggers = [
        {"trigger_type": "K", "keywords": ["join"], "match_type": "O", "flow": flows[0].reference},
        {"trigger_type": "K", "keyword": "start", "match_type": "F", "flow": flows[1].reference},
        {"trigger_type": "C", "flow": flows[2].reference},
        {"trigger_type": "S", "flow": flows[2].reference},
    ]
    bot = imported(*flows, triggers=triggers)
    starts = [bot.flows[name]["start"] for name in ("one", "two", "three")]
    assert starts == [{"words": ["join"]}, {"pattern": r"(?is)\W*(?:start)(?:\W.*)?"}, {"otherwise": True}]
    assert "bot broadcast" in notes_of(bot, Fate.LOST)


def test_the_command_imports_and_writes_tests(tmp_path: Path) -> None:
    flow, wait, end = ExportedFlow("Main"), new_id(), new_id()
    flow.node(says("What is your name?"), to=wait)
    flow.node(uuid=wait, router=router(to={"Other": end}, result_name="Name"))
    flow.node(says("Hi @results.name"), uuid=end)
    (tmp_path / "flows.json").write_text(json.dumps({"flows": [flow.data]}))
    out = call("import", "rapidpro", tmp_path / "flows.json", tmp_path / "bot", "--verify").out
    assert "3 nodes of RapidPro: 3 the same, 0 nearly, 0 lost." in out and "no problems" in out
    assert "user: hello" in (tmp_path / "bot" / "tests" / "test_imported.yml").read_text()
