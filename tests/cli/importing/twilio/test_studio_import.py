"""Studio flows, imported: the interpreter of Studio's rules and the new bot say the same, or the report says why not."""

import json
from pathlib import Path

import pytest

from bot.cli.importing.export_files import import_export, read_export
from bot.cli.importing.imported import Fate, ImportedBot, UnreadableExport
from bot.cli.importing.twilio import recognises
from bot.cli.importing.twilio.translating import LOST_KINDS
from tests.cli.importing.twilio.studio_export import ask, flow, imported, proved, put, say, split, widget
from tests.cli.terminal import call

SIZE = "{{widgets.size.inbound.Body}}"
SHOP = flow(
    ask("size", "Which size?", "sized", "late"),
    split(
        "sized",
        SIZE,
        ("matches_any_of", "s, small,1", "small"),
        ("equal_to", "Large", "large"),
        otherwise="late",
    ),
    put("small", "told", size="S", price="5"),
    put("large", "told", size="L", price="{{ flow.variables.price | plus: 7 }}"),
    say(
        "told", "{% if flow.variables.size == 'S' %}Small{% else %}Large{% endif %}: {{flow.variables.price}}.", "count"
    ),
    put("count", "counted", rounds="{{flow.variables.rounds | plus: 1}}"),
    split("counted", "{{flow.variables.rounds}}", ("less_than", "3", "size")),
    say("late", "Too late, {{trigger.message.Body}}.", media_url="https://cafe.example/cup.png"),
)
LIQUID = [
    "plain {{ flow.variables.word }} and {{ flow.variables.nothing }}.",
    "{{ flow.variables.word | upcase }} {{ flow.variables.word | downcase | append: '!' | prepend: '¡' }}",
    "{{ flow.variables.count | plus: 1 | times: 3 | minus: 2 }} {{ flow.variables.word | plus: 1 }}",
    "{{ flow.variables.count | divided_by: 2 }} {{ flow.variables.count | modulo: 3 }} {{ '2.6' | round }}",
    "{{ flow.variables.nothing | default: 'none' }} {{ flow.variables.word | default: 'none' }}",
    "{{ flow.variables.list | split: ',' | first }} {{ flow.variables.list | split: ',' | join: '; ' }}",
    "{{ flow.variables.word | size }} {{ flow.variables.word | slice: 1, 3 }} {{ flow.variables.word | truncate: 4 }}",
    "{{ flow.variables.word | replace: 'o', '0' | remove: 'H' }} {{ '  x ' | strip }}",
    "{{ 'now' | date: '%Y-%m-%d at %H:%M, %A' }}",
    "{% unless flow.variables.word == 'Hello' %}A{% else %}B{% endunless %}{% if flow.variables.nothing %}C{% endif %}",
    "{% if flow.variables.count > 4 and flow.variables.word contains 'ell' %}D{% elsif flow.variables.word %}E{% endif %}",
    "{% case flow.variables.word %}{% when 'Bye', 'Hello' %}F{% else %}G{% endcase %}",
    "{% assign twice = flow.variables.count | times: 2 %}{{ twice }} {% capture hi %}{{ twice }}!{% endcapture %}{{ hi }}",
    "{% assign parts = flow.variables.list | split: ',' %}{% for part in parts %}{{ forloop.index }}{{ part }} {% endfor %}",
    "above\n{% if flow.variables.word != blank %}\nwithin\n{% endif %}\nbelow {%- comment -%} not this {%- endcomment %}",
    "{% raw %}{{ as it is }}{% endraw %} {{ unknown.name }}{{ widgets.never.inbound.Body }}",
]
CONDITIONS = [
    ("equal_to", "Yes"),
    ("not_equal_to", "Yes"),
    ("matches_any_of", "a, B,c"),
    ("does_not_match_any_of", "a, B,c"),
    ("contains", "day"),
    ("does_not_contain", "day"),
    ("starts_with", "To"),
    ("does_not_start_with", "To"),
    ("less_than", "18"),
    ("greater_than", "{{flow.variables.limit}}"),
    ("equal_to", "{{flow.variables.limit}}"),
    ("is_blank", ""),
    ("is_not_blank", ""),
    ("regex", "[0-9]{2}|ok"),
    ("is_before_date", "2030-01-01"),
    ("is_after_date", "2030-01-01"),
    ("is_before_time", "12:00"),
    ("is_after_time", "12:00"),
]


def fates(bot: ImportedBot, fate: Fate) -> dict[str, str]:
    """The notes of the nodes of a fate, by the names of the widgets."""
    return {node.place.split('"')[1]: node.note for node in bot.nodes if node.fate is fate}


def test_each_path_says_the_same(tmp_path: Path) -> None:
    bot = imported(tmp_path, SHOP)
    proof = proved(tmp_path, bot)
    assert proof.differences == () and proof.conversations > 10 and proof.same > 30
    assert fates(bot, Fate.LOST) == fates(bot, Fate.NEARLY) == {}


def test_the_command_writes_a_bot_whose_tests_pass(tmp_path: Path) -> None:
    greet = flow(ask("name", "Your name?", "hello"), say("hello", "Hello {{widgets.name.inbound.Body}}."))
    (tmp_path / "shop.json").write_text(json.dumps(greet))
    done = call("import", "twilio", tmp_path / "shop.json", tmp_path / "bot", "--verify")
    assert done.code == 0 and "no problems" in done.out
    assert "all passed" in call("test", tmp_path / "bot").out


def test_liquid_gives_the_same_text(tmp_path: Path) -> None:
    names = [f"say{number}" for number in range(len(LIQUID))]
    says = [say(name, text, then) for name, text, then in zip(names, LIQUID, [*names[1:], None], strict=True)]
    first = put("first", names[0], word="Hello", count="7", list="tea,cake,pie")
    bot = imported(tmp_path, flow(first, *says))
    proof = proved(tmp_path, bot)
    assert proof.differences == () and proof.messages == len(LIQUID)
    assert fates(bot, Fate.LOST) == {}


@pytest.mark.parametrize(("kind", "value"), CONDITIONS)
def test_a_condition_holds_for_the_same_replies(tmp_path: Path, kind: str, value: str) -> None:
    limit = put("first", "size", limit="21")
    tested = split("tested", SIZE, (kind, value, "yes"), otherwise="no")
    bot = imported(tmp_path, flow(limit, ask("size", "?", "tested"), tested, say("yes", "Yes."), say("no", "No.")))
    proof = proved(tmp_path, bot)
    said = {message.text for each in bot.conversations for turn in each.turns for message in turn.said}
    assert proof.differences == () and {"Yes.", "No."} <= said
    assert fates(bot, Fate.LOST) == {}


@pytest.mark.parametrize("kind", [*LOST_KINDS, "made-up"])
def test_a_widget_without_a_counterpart_calls_a_function_that_must_be_written(tmp_path: Path, kind: str) -> None:
    bot = imported(tmp_path, flow(widget("odd", kind, {"done": "after"}, digits="1"), say("after", "After.")))
    proved(tmp_path, bot)
    assert fates(bot, Fate.LOST).keys() == {"odd"}
    assert bot.flows["shop_1"]["steps"]["odd"] == {"call": "shop_1_odd", "errors": {"else": "end"}, "then": "after"}
    assert '"digits": "1"' in bot.functions["shop_1_odd"].doc


def test_a_text_that_cannot_be_translated_is_a_function_with_its_values(tmp_path: Path) -> None:
    bot = imported(tmp_path, flow(ask("size", "?", "told"), say("told", f"{SIZE} {{{{ 'x' | strip_html }}}}")))
    proof = proved(tmp_path, bot)
    assert bot.flows["shop_1"]["steps"]["told"]["say"] == "{{ shop_1_told_text(size) }}"
    assert 'the filter "strip_html"' in fates(bot, Fate.LOST)["told"]
    assert proof.differences and proof.unexplained == 0


def test_a_place_in_a_list_that_is_calculated_is_lost(tmp_path: Path) -> None:
    text = "{% assign i = flow.variables.at | plus: 0 %}{{ widgets.size.inbound.Body[i].name }}"
    bot = imported(tmp_path, flow(ask("size", "?", "at"), put("at", "told", at="1"), say("told", text)))
    proved(tmp_path, bot)
    assert 'the place "[i]" is calculated' in fates(bot, Fate.LOST)["told"]


def test_a_request_keeps_its_address_its_body_and_what_is_read_of_its_answer(tmp_path: Path) -> None:
    look = widget(
        "look",
        "make-http-request",
        {"success": "found", "failed": "sorry"},
        url="{{flow.variables.base}}/orders/{{flow.data.number}}",
        method="POST",
        content_type="application/json;charset=utf-8",
        body='{"number": "{{flow.data.number}}", "all": {{flow.data.who | to_json}}}',
    )
    found = say(
        "found", "{{widgets.look.parsed.items[0].name}} for {{flow.data.who.name}}: {{widgets.look.status_code}}"
    )
    first = put("first", "look", base="https://shop.example/v1")
    bot = imported(tmp_path, flow(first, look, found, say("sorry", "Sorry."), incomingRequest="first"))
    assert proved(tmp_path, bot).differences == ()
    assert bot.flows["shop_1"]["steps"]["look"] == {
        "http": "POST https://shop.example/v1/orders/{{ number }}",
        "json": {"number": "{{ number }}", "all": "{{ who }}"},
        "save": {"look_parsed": "answer", "look_status_code": 'status ~ ""'},
        "errors": {"else": "sorry"},
        "then": "found",
    }


def test_a_function_is_a_request_and_without_an_address_a_function_here(tmp_path: Path) -> None:
    given = [{"key": "who", "value": "{{flow.data.who}}"}]
    leads = {"success": "odd", "fail": None}
    good = widget("good", "run-function", leads, url="https://fn.example/save", parameters=given)
    odd = widget("odd", "run-function", {"success": None}, url="https://YOUR_DOMAIN/save", parameters=given)
    bot = imported(tmp_path, flow(good, odd, incomingRequest="good"))
    proved(tmp_path, bot)
    steps = bot.flows["shop_1"]["steps"]
    assert steps["good"]["http"] == "POST https://fn.example/save" and steps["good"]["form"] == {"who": "{{ who }}"}
    assert steps["odd"]["call"] == "shop_1_odd" and steps["odd"]["with"] == {"who": "{{ who }}"}
    assert fates(bot, Fate.NEARLY).keys() >= {"good"} and fates(bot, Fate.LOST).keys() == {"odd"}


def test_a_subflow_runs_with_its_parameters(tmp_path: Path) -> None:
    run = widget(
        "sub",
        "run-subflow",
        {"completed": "bye", "failed": None},
        flow_sid="FW1",
        parameters=[{"key": "who", "value": "{{trigger.message.Body}}"}],
    )
    greet = flow(say("hello", "Hello {{flow.data.who}}."), incomingParent="hello")
    bot = imported(
        tmp_path, flow(run, say("bye", "Bye.")), {"sid": "FW1", "friendly_name": "Greet", "definition": greet}
    )
    assert proved(tmp_path, bot).differences == ()
    assert bot.flows["shop_1"]["steps"]["sub"]["run"] == "/greet"
    assert "sub" in fates(imported(tmp_path, flow(run, say("bye", "Bye."))), Fate.LOST)


def test_a_value_that_a_program_sends_keeps_its_name(tmp_path: Path) -> None:
    named = [{"key": "name", "value": "Ann"}]
    hello = say("hello", "{{flow.variables.name}} is {{flow.data.name}}.")
    bot = imported(
        tmp_path,
        flow(widget("start", "set-variables", {"next": "hello"}, variables=named), hello, incomingRequest="start"),
    )
    assert proved(tmp_path, bot).differences == ()
    assert "sent_as" not in bot.flows["shop_1"]["vars"]["name"]


def test_the_list_that_twilios_command_line_writes_is_read(tmp_path: Path) -> None:
    listed = [{"sid": "FW1", "friendly_name": "Shop", "definition": flow(say("hello", "Hello."))}]
    assert [*imported(tmp_path, listed).flows] == ["shop"]


def test_a_file_that_the_gateway_does_not_take_is_lost(tmp_path: Path) -> None:
    bot = imported(tmp_path, flow(say("look", "Look!", media_url="https://files.example/a.webp")))
    assert "no .webp" in fates(bot, Fate.LOST)["look"] and bot.flows["shop_1"]["steps"]["look"]["say"] == "Look!"


def test_people_take_over_and_other_numbers_get_nothing(tmp_path: Path) -> None:
    flex = widget("flex", "send-to-flex", {"callComplete": None}, workflow="WW1", attributes='{"name": "Ann"}')
    bot = imported(tmp_path, flow(say("other", "To others.", "flex", to="+6281234567891"), flex))
    proved(tmp_path, bot)
    assert bot.flows["shop_1"]["steps"]["flex"] == {
        "handoff": {"team": "flex", "note": '{"name": "Ann"}'},
        "closed": "end",
    }
    assert "somebody else" in fates(bot, Fate.LOST)["other"]


def test_a_reply_is_anything_also_a_picture(tmp_path: Path) -> None:
    told = say("told", f"<{SIZE}> {{{{widgets.size.inbound.MediaUrl0}}}}")
    blank = split("blank", SIZE, ("is_blank", "", "told"), otherwise="told")
    bot = imported(tmp_path, flow(ask("size", "?", "blank"), blank, told))
    assert proved(tmp_path, bot).differences == ()
    assert "image" in {turn.kind for each in bot.conversations for turn in each.turns}


def test_a_template_a_circle_and_a_second_trigger_are_named(tmp_path: Path) -> None:
    template = ask("size", "", "again", content_template_sid="HX1", content_variables='{"1": "Ann"}')
    again = put("again", "counted", rounds="{{flow.variables.rounds | plus: 1}}")
    counted = split("counted", "{{flow.variables.rounds}}", ("less_than", "99", "again"))
    bot = imported(tmp_path, flow(template, again, counted, incomingMessage="size", incomingRequest="again"))
    assert proved(tmp_path, bot).differences == ()
    assert bot.flows["shop_1_incomingrequest"]["steps"]["begin"] == {"branch": [{"else": "/shop_1/again_2"}]}
    assert {"size", "again", "Trigger"} <= fates(bot, Fate.NEARLY).keys()


def test_what_only_calls_reach_is_left_out_and_named(tmp_path: Path) -> None:
    voice = widget("voice", "say-play", {"audioComplete": None}, say="Hello")
    bot = imported(tmp_path, flow(say("hello", "Hello."), voice, incomingMessage="hello", incomingCall="voice"))
    assert bot.flows["shop_1"]["steps"].keys() == {"hello"}
    assert "it is left out" in fates(bot, Fate.LOST)["voice"]


def test_a_transition_to_a_widget_that_is_not_there_ends_the_flow(tmp_path: Path) -> None:
    bot = imported(tmp_path, flow(ask("a", "Name?", "b"), say("b", "Hello", "gone")))
    assert proved(tmp_path, bot).differences == ()
    lost = [node.place for node in bot.nodes if node.fate is Fate.LOST]
    assert lost == ['shop_1 > "b" > "gone"']


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"states": [], "initial_state": "Trigger"}, "$.initial_state names no widget"),
        ({"states": [{"name": "a"}], "initial_state": "a"}, "$.states[0] must have a name and a type"),
    ],
)
def test_an_export_that_is_damaged_is_refused_with_its_place(tmp_path: Path, data: object, error: str) -> None:
    (tmp_path / "odd.json").write_text(json.dumps(data))
    with pytest.raises(UnreadableExport) as raised:
        import_export(read_export([tmp_path / "odd.json"]), "twilio")
    assert error in str(raised.value) and "odd.json" in str(raised.value)


SAMPLES = Path(__file__).parents[4].parent / "shared" / "imports" / "twilio"


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the exports of other projects do not lie beside this one")
def test_exports_of_others_say_the_same(tmp_path: Path) -> None:
    for number, file in enumerate(sorted(SAMPLES.glob("*.json"))):
        files = read_export([file])
        assert recognises(files)
        bot = import_export(files, "twilio")
        folder = tmp_path / str(number)
        folder.mkdir()
        proof = proved(folder, bot)
        assert proof.conversations and proof.unexplained == 0, file
