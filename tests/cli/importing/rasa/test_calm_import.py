"""CALM assistants, imported: the interpreter of Rasa's rules and the new bot say the same, or the report says why not."""

from pathlib import Path

import pytest

from bot.cli.importing.export_files import import_export, read_export
from bot.cli.importing.imported import Fate, ImportedBot, UnreadableExport
from bot.cli.importing.rasa import recognises
from bot.cli.importing.rasa.expressions import PredicateError, evaluated, parse_predicate, written_predicate
from bot.cli.importing.verification import Verification, verify
from bot.cli.importing.writing import write_bot
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from tests.cli.terminal import call

FLOWS = """\
flows:
  order_pizza:
    description: orders a pizza
    steps:
      - collect: size
      - collect: count
        rejections:
          - if: count > 9
            utter: utter_too_many
          - if: slots.count < 1
            utter: utter_too_few
      - collect: extra
        ask_before_filling: true
        next:
          - if: extra is "cheese" or extra = "none"
            then: price
          - if: extra matches /^ham/
            then:
              - action: utter_ham
              - set_slots:
                  - extra: null
                next: extra
          - else:
              - action: utter_extra
                next: END
      - id: price
        action: action_price
        next:
          - if: price > 20 and not vip
            then:
              - link: complain
          - else: address
      - id: address
        call: ask_address
      - noop: true
        next:
          - if: address is not null
            then: thanks
          - else: END
      - id: thanks
        action: utter_thanks
  ask_address:
    if: False
    description: asks the address
    steps:
      - collect: address
      - collect: sure
        ask_before_filling: true
        next:
          - if: not sure
            then:
              - set_slots:
                  - address: null
                next: END
          - else: END
  complain:
    description: a complaint
    steps:
      - action: utter_complaint
      - link: pattern_human_handoff
"""
DOMAIN = """\
slots:
  size: {type: categorical, values: [small, large]}
  count: {type: float}
  extra: {type: text}
  price: {type: float}
  vip: {type: bool}
  address: {type: text}
  sure: {type: bool}
responses:
  utter_ask_size:
    - text: Which size do you want?
      buttons:
        - {title: Small, payload: "/SetSlots(size=small)"}
        - {title: Large, payload: "/SetSlots(size=large)"}
  utter_ask_count: [{text: "How many {size}?"}]
  utter_too_many: [{text: "{value} is too many"}]
  utter_too_few: [{text: Too few}]
  utter_ask_extra: [{text: "Extra?"}, {text: "Any extra?"}]
  utter_ham: [{text: "No ham"}]
  utter_extra:
    - text: "For a VIP, {extra}"
      condition: [{type: slot, name: vip, value: true}]
    - text: "Never {extra}"
  utter_thanks: [{text: "Thanks, {size} to {address}", image: "https://pizza.example/a.png"}]
  utter_ask_address: [{text: "Where do you live?"}]
  utter_ask_sure: [{text: "Sure about {address}?"}]
  utter_complaint: [{text: Oh}]
  utter_can_do_something_else: [{text: "Anything else?"}]
actions: [action_price]
"""
SMALL = """\
flows:
  greet: {description: greets, steps: [{collect: name}, {action: utter_hello}]}
responses:
  utter_ask_name: [{text: "Your name?"}]
  utter_hello: [{text: "Hello {name}."}]
slots: {name: {type: text}}
"""


def imported(folder: Path, *texts: str) -> ImportedBot:
    (folder / "pizza").mkdir()
    for number, text in enumerate(texts):
        (folder / "pizza" / f"{number}.yml").write_text(text)
    return import_export(read_export([folder / "pizza"]), "rasa")


def proved(folder: Path, bot: ImportedBot) -> Verification:
    write_bot(bot, folder / "bot")
    return verify(bot.conversations, bot.nodes, load_program(read_folder(folder / "bot")))


def fates(bot: ImportedBot, fate: Fate) -> dict[str, str]:
    return {node.place: node.note for node in bot.nodes if node.fate is fate}


def test_each_path_says_the_same(tmp_path: Path) -> None:
    bot = imported(tmp_path, FLOWS, DOMAIN)
    proof = proved(tmp_path, bot)
    assert proof.differences == () and proof.conversations > 10 and proof.same > 100
    assert fates(bot, Fate.LOST).keys() == {'order_pizza > "price" (action)'}
    said = {message.text for each in bot.conversations for turn in each.turns for message in turn.said}
    assert {"10.5 is too many", "Too few", "No ham", "Oh", "Anything else?", "Thanks, large to some address"} <= said


def test_the_command_writes_a_bot_without_problems(tmp_path: Path) -> None:
    (tmp_path / "all.yml").write_text(SMALL)
    done = call("import", "rasa", tmp_path / "all.yml", tmp_path / "bot", "--verify")
    assert done.code == 0 and "no problems" in done.out
    assert "- user: greet" in (tmp_path / "bot" / "tests" / "test_imported.yml").read_text()


def test_a_custom_action_is_a_function_that_gets_answers_and_sets_slots(tmp_path: Path) -> None:
    bot = imported(tmp_path, FLOWS, DOMAIN)
    step = bot.flows["order_pizza"]["steps"]["price"]
    assert step["call"] == "action_price" and step["with"]["count"] == "{{ count }}"
    assert step["set"]["price"] == "{{ result_of_action.price | default(price) }}"
    assert bot.functions["action_price"].parameters == {"count": "Any", "extra": "Any", "size": "Any"}


def test_a_custom_action_of_several_flows_gets_what_each_of_them_has(tmp_path: Path) -> None:
    flows = """
flows:
  a: {description: a, steps: [{collect: size}, {collect: name}, {action: action_price}]}
  b: {description: b, steps: [{collect: size}, {action: action_price}]}
"""
    bot = imported(tmp_path, flows)
    assert bot.functions["action_price"].parameters == {"size": "Any", "name": "Any = None"}
    assert proved(tmp_path, bot).conversations == 2


def test_steps_with_long_names_stay_apart(tmp_path: Path) -> None:
    steps = "[{collect: number, id: a_very_long_name_of_a_step_that_asks_for_it, rejections: [{if: number is 'x', utter: utter_no}], next: again}, "
    steps += "{id: again, set_slots: [{number: null}], next: a_very_long_name_of_a_step_that_asks_for_it}]"
    texts = "{utter_ask_number: [{text: 'Which number?'}], utter_no: [{text: 'Not x'}]}"
    bot = imported(tmp_path, f"flows: {{a: {{description: a, steps: {steps}}}}}\nresponses: {texts}\n")
    assert "Which number?" in str(bot.flows) and proved(tmp_path, bot).differences == ()


@pytest.mark.parametrize(
    ("predicate", "written"),
    [
        ("not paid", "not paid"),
        ("slots.amount >= 10 and not (paid or vip)", "(amount is not null and amount >= 10) and not (paid or vip)"),
        ("name is 'Ann'", 'name == "Ann"'),
        ("name != undefined", "name is not null"),
        ("name is not null", "name is not null"),
        ("name is empty", '(name | default("")) == ""'),
        ("paid = true", "paid == true"),
        ("{'a' 'b'} contains name", 'name in ["a", "b"]'),
        ('name contains "nn"', '"nn" in (name or "")'),
        ("name matches '^A.n$'", '(name or "") | matches("(?s).*(?:^A.n$).*")'),
    ],
)
def test_a_predicate_is_translated_by_its_grammar(predicate: str, written: str) -> None:
    assert written_predicate(parse_predicate(predicate), lambda name: name) == written


@pytest.mark.parametrize(
    ("predicate", "value"),
    [
        ("amount > 10 and not paid", True),
        ("amount > 30 or name is 'Ann'", True),
        ("missing > 1", False),
        ("not missing", True),
        ("{'Ann' 'Bo'} contains name", True),
        ("name matches '^B'", False),
        ("missing is empty", True),
    ],
)
def test_a_predicate_evaluates_as_in_rasa(predicate: str, value: bool) -> None:
    assert evaluated(parse_predicate(predicate), {"amount": 20.0, "paid": False, "name": "Ann"}) is value


@pytest.mark.parametrize("predicate", ["amount >", "amount > > 1", "(paid", "paid ~ 1", "context.x = 1"])
def test_a_predicate_that_cannot_be_read_is_refused(predicate: str) -> None:
    with pytest.raises(PredicateError):
        parse_predicate(predicate)


def test_a_condition_without_a_counterpart_is_a_function_that_must_be_written(tmp_path: Path) -> None:
    flows = SMALL.replace("{collect: name}", "{collect: name, next: [{if: context.x, then: END}, {else: END}]}")
    bot = imported(tmp_path, flows)
    proved(tmp_path, bot)
    assert bot.flows["greet"]["steps"]["name_next"]["branch"][0]["if"] == "greet_condition()"
    assert '"context.x" has no counterpart' in fates(bot, Fate.LOST)['greet > "name" (collect)']


def test_braces_of_an_export_are_no_expressions(tmp_path: Path) -> None:
    (tmp_path / "all.yml").write_text(
        SMALL.replace("Hello {name}.", "{{Hello}} {name}{").replace("greets", "'{{greets'")
    )
    outcome = call("import", "rasa", tmp_path / "all.yml", tmp_path / "new", "--verify")
    assert outcome.code == 0 and "bot check" in outcome.out, outcome.out + outcome.err


def test_an_end_to_end_test_is_a_conversation(tmp_path: Path) -> None:
    cases = """\
test_cases:
  - test_case: a name
    steps: [{user: hi}, {utter: utter_ask_name}, {user: Ann}, {bot: "Hello {name}."}]
  - test_case: odd
    steps: [{user: hi}, {utter: utter_other}]
"""
    bot = imported(tmp_path, SMALL, cases)
    proof = proved(tmp_path, bot)
    assert proof.differences == () and any("test: a name" in written for written in proof.tests)
    assert "test > a name" in fates(bot, Fate.NEARLY) and "test > odd" in fates(bot, Fate.LOST)


def test_what_older_assistants_have_is_named(tmp_path: Path) -> None:
    classic = """\
stories: [{story: sad path, steps: []}]
rules: [{rule: say bye, steps: []}]
forms: {book_form: {required_slots: [name]}}
nlu: [{intent: greet, examples: "- hi\\n- hello\\n"}]
responses: {utter_bye: [{text: Bye}]}
"""
    bot = imported(tmp_path, classic)
    proved(tmp_path, bot)
    places = {"stories > sad path", "rules > say bye", "forms > book_form", "intent greet", "response utter_bye"}
    assert fates(bot, Fate.LOST).keys() == places
    assert "handoff" in bot.flows["main"]["steps"]["person"]


CLASSIC = """\
rules:
  - rule: Greet
    steps: [{intent: greet}, {action: utter_hello}, {action: action_listen}]
  - rule: Book
    condition: [{active_loop: null}]
    steps: [{or: [{intent: book}, {intent: reserve}]}, {action: book_form}, {active_loop: book_form}]
  - rule: Booked
    condition: [{active_loop: book_form}]
    steps: [{action: book_form}, {active_loop: null}, {slot_was_set: [{requested_slot: null}]}, {action: utter_booked}]
  - rule: Not understood
    steps: [{intent: nlu_fallback}, {action: utter_sorry}]
stories:
  - story: bye
    steps: [{intent: bye}, {action: utter_bye}]
  - story: another greeting
    steps: [{intent: greet}, {action: utter_bye}]
  - story: long
    steps: [{intent: thanks}, {action: utter_bye}, {intent: bye}, {action: utter_bye}]
  - story: by a slot
    steps: [{intent: vip}, {slot_was_set: [{name: Ann}]}, {action: utter_bye}]
forms: {book_form: {required_slots: [name, day]}, other_form: {name: []}}
nlu: [{intent: greet, examples: "- hi\\n- hello\\n"}, {intent: book, examples: "- a table\\n- Hi!\\n- greet\\n"}]
slots: {name: {type: text}, day: {type: text}}
responses:
  utter_hello: [{text: Hello, buttons: [{title: Book, payload: "/book"}, {title: Bye, payload: "/bye"}]}]
  utter_bye: [{text: Bye}]
  utter_sorry: [{text: "Sorry?", buttons: [{title: What, payload: "/unknown"}]}]
  utter_ask_name: [{text: "Your name?"}]
  utter_ask_book_form_day: [{text: "Which day?"}]
  utter_booked: [{text: "Until {day}, {name}."}]
"""


def test_rules_of_one_message_and_their_forms_are_flows(tmp_path: Path) -> None:
    bot = imported(tmp_path, CLASSIC)
    proof = proved(tmp_path, bot)
    assert [*bot.flows] == ["greet", "book", "nlu_fallback", "bye"]
    assert bot.flows["greet"]["steps"]["hello"]["buttons"] == {"Book": "/book", "Bye": "/bye"}
    assert bot.flows["greet"]["start"]["examples"] == ["hi", "hello"]
    assert bot.flows["book"]["start"]["examples"] == ["a table"]  # the others start greet
    assert bot.flows["nlu_fallback"]["start"] == {"otherwise": True}
    asked = [step["ask"] for step in bot.flows["book"]["steps"].values() if "ask" in step]
    assert asked == ["Your name?", "Which day?"] and "Until" in str(bot.flows["book"]["steps"]["booked"])
    others = {"stories > another greeting", "stories > long", "stories > by a slot", "forms > other_form"}
    assert fates(bot, Fate.LOST).keys() == others
    assert {"rules > Booked", "forms > book_form"} <= fates(bot, Fate.NEARLY).keys()
    assert (proof.conversations, proof.unexplained) == (4, 0)
    assert [difference.what for difference in proof.differences] == ['there "Sorry?" + [What], here "Sorry?"']


def test_buttons_in_a_list_and_what_a_question_saves(tmp_path: Path) -> None:
    buttons = ", ".join(f'{{title: "{name}", payload: "/SetSlots(name={name}, size=7)"}}' for name in "ABCD")
    more = SMALL.replace('text: "Your name?"', f'text: "Your name?", buttons: [{buttons}]')
    bot = imported(tmp_path, more.replace("slots: {", "slots: {size: {type: float}, "))
    assert proved(tmp_path, bot).differences == ()
    step = bot.flows["greet"]["steps"]["name"]
    assert step["options"]["A"] == {"value": "A", "set": {"size": 7}} and step["accepts"] == "text"


def test_a_title_that_is_too_long_is_cut_and_chosen_in_full_as_well(tmp_path: Path) -> None:
    title = "I suspect fraud on my account"
    buttons = (
        f'{{title: "{title}", payload: "/SetSlots(name=fraud)"}}, {{title: Other, payload: "/SetSlots(name=other)"}}'
    )
    bot = imported(tmp_path, SMALL.replace('text: "Your name?"', f'text: "Your name?", buttons: [{buttons}]'))
    assert proved(tmp_path, bot).differences == ()
    choices = bot.flows["greet"]["steps"]["name"]["options"]
    assert choices["I suspect fraud on my a…"] == {"value": "fraud", "words": [title]}


def test_a_failure_in_a_flow_that_is_called_ends_the_flow(tmp_path: Path) -> None:
    more = SMALL.replace("responses:", "  sub: {description: s, steps: [{action: action_x}]}\nresponses:")
    bot = imported(tmp_path, more.replace("{action: utter_hello}", "{call: sub}, {action: utter_hello}"))
    assert proved(tmp_path, bot).differences == ()


def test_texts_and_keys_that_differ_are_named(tmp_path: Path) -> None:
    more = SMALL.replace("{action: utter_hello}", "{action: utter_hello, odd: 1}").replace(
        '[{text: "Hello {name}."}]',
        '[{text: "Hello {name}, {size}.", buttons: [{title: More, payload: /more}]}, {text: Yo, channel: slack}]',
    )
    bot = imported(tmp_path, more.replace("slots: {", "slots: {size: {type: float}, "))
    proof = proved(tmp_path, bot)
    note = fates(bot, Fate.NEARLY)['greet > "utter_hello" (action)']
    for part in ("buttons More are left out", "in Rasa 400.0", "in Rasa None", "one channel", "keys are left out: odd"):
        assert part in note
    assert proof.differences and proof.unexplained == 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("flows: {a: {steps: 1}, b: {steps: []}}", "$.flows.a.steps must be a list"),
        ("flows: {a: {steps: [{collect: x, next: y}]}}", 'leads to "y", which does not exist'),
        ("flows: {a: {steps: [x]}}", "$.flows.a.steps[0] must be a map"),
        ("flows: {a: {steps: []}}\nslots: [x]", "$.slots must be a map"),
    ],
)
def test_an_export_that_is_damaged_is_refused_with_its_place(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(UnreadableExport) as raised:
        imported(tmp_path, text)
    assert error in str(raised.value) and "0.yml" in str(raised.value)


SAMPLES = Path(__file__).parents[4].parent / "shared" / "imports" / "rasa"


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the exports of other projects do not lie beside this one")
def test_assistants_of_others_say_the_same(tmp_path: Path) -> None:
    for folder in sorted(each for each in SAMPLES.iterdir() if each.is_dir()):
        files = read_export([folder])
        assert recognises(files)
        (tmp_path / folder.name).mkdir()
        proof = proved(tmp_path / folder.name, import_export(files, "rasa"))
        assert proof.conversations and proof.unexplained == 0, folder
