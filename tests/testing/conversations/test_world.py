"""What a test can have happen besides words and taps, and what it puts in place of the world."""

from pathlib import Path

import pytest

from bot.loading.folder import read_folder
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import FailedTest, run
from tests.cli.terminal import BOT, make_bot

FLOWS = """
flow: main
start: {otherwise: true}
vars:
  photo: {type: media}
  order: {type: object}
  visits: {type: integer, value: 0, keep: true}
steps:
  photo: {ask: Your photo?, save: photo}
  find:
    call: find
    with: {number: 7}
    save: order
    errors: {SoldOut: sold_out, timeout: {say: Too slow., then: end}, else: {say: It failed., then: end}}
  found: {say: "It is {{ order.state }}.", set: {visits: "{{ visits + 1 }}"}, then: end}
  sold_out: {say: Sold out., then: end}
---
flow: parcel
start: {words: [parcel]}
vars: {answer: {type: object}, number: {type: text, value: "1"}}
steps:
  ask: {http: "GET crm:/parcels/{{ number }}?full=1", save: answer, errors: {"404": none, timeout: late, else: end}}
  there: {say: "It is in {{ answer.city }}.", then: end}
  none: {say: No such parcel., then: end}
  late: {say: Please try later., then: end}
---
flow: luck
start: {words: [luck]}
steps: {luck: {branch: [{if: random() < 0.5, then: good}, {else: bad}]}, good: {say: Good!, then: end}, bad: {say: Bad!}}
---
flow: me
start: {words: [who am I]}
steps: {me: {say: "{{ contact.id }}"}}
---
flow: news
vars: {what: {type: text}}
steps: {tell: {template: {name: news, language: en, body: ["{{ what }}"]}, then: end}}
---
flow: welcome
start: {event: contact.created}
steps: {hello: {template: {name: welcome, language: en, body: ["{{ contact.name }}"]}, then: end}}
---
flow: person
start: {words: [person]}
steps: {hand: {handoff: {team: support}, closed: back_again}, back_again: {say: Here I am again.}}
"""
HANDLERS = """
from bot import handler

class SoldOut(Exception):
    def __init__(self, what, why):
        super().__init__(what)

@handler("find", errors=[SoldOut])
def find(number: int) -> dict:
    return {"state": "new"}
"""
TOO_FEW = "more often than the test has answers: add one to"
GOES_ON = ", or write ... behind the last one, which is then always given"
CRM = BOT + "http: {crm: {base: 'https://crm.example'}}\n"


def failures(folder: Path, tests: str, flows: str) -> list[FailedTest | None]:
    bot = read_folder(make_bot(folder, flows, HANDLERS, tests, bot=CRM))
    loaded = load_with_tests(bot)
    assert loaded.program is not None and not loaded.problems, loaded.problems
    return [run(transcript, loaded.program, bot) for transcript in loaded.transcripts]


def failed(folder: Path, *lines: str, head: str = "", flows: str = FLOWS) -> str | None:
    """Why a test of these lines fails; None where it passes."""
    talk = "".join(f"\n  - {line}" for line in lines)
    (found,) = failures(folder, f"test: t\n{head}\ntalk:{talk}\n", flows)
    return None if found is None else f"{found.mark.line - 3}: {found.what}"


def test_files_places_and_stickers_come_from_the_contact(tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(b"\x89PNG a cat")
    ask, lines = "bot: Your photo?", ["user: hi", "bot: Your photo?"]
    place, again = "send: {location: {latitude: 1, longitude: 2}}", 'bot: "A file, please.\\n\\nYour photo?"'
    assert failed(tmp_path, *lines, "send: sticker", again, place, ask) is None
    assert failed(tmp_path, *lines, "send: image", "bot: It is new.") is None
    assert failed(tmp_path, *lines, "send: {image: cat.png, caption: Me}", "bot: It is new.") is None


def test_a_contact_can_react(tmp_path: Path) -> None:
    lines = ["user: hi", "bot: Your photo?"]
    assert failed(tmp_path, *lines, "send: reaction", "send: edited", "send: image", "bot: It is new.") is None


REPORT = """
flow: main
start: {words: [report]}
vars: {report: {type: answer, accepts: [text, image, location], keep: true, types: [png]}}
steps:
  report: {ask: What happened?, save: report, errors: {else: end}}
  send: {http: POST https://x.example/, form: {kind: "{{ report.kind }}", file: "{{ report.file }}"}, errors: {else: end}}
  sent: {say: "Got your {{ report.kind }}.", then: end}
"""


def test_a_kept_file_is_sent_on_in_a_form(tmp_path: Path) -> None:
    sent = "expect: {calls: [{POST https://x.example/: {form: {kind: image, file: image/png}}}]}"
    lines = "user: report", "bot: What happened?", "send: image", "bot: Got your image.", sent
    assert failed(tmp_path, *lines, head="http: {POST https://x.example/: 201}", flows=REPORT) is None


def test_a_location_has_its_coordinates(tmp_path: Path) -> None:
    flows = "flow: main\nstart: {otherwise: true}\nvars: {at: {type: location}}\n"
    flows += "steps: {at: {ask: Where?, save: at}, done: {say: '{{ at.latitude }} {{ at.name }}', then: end}}\n"
    talk = "[user: hi, bot: Where?, send: {location: {latitude: 1.5, longitude: 2, name: Home}}, bot: 1.5 Home]"
    bot = read_folder(make_bot(tmp_path, flows, tests=f"test: t\ntalk: {talk}\n"))
    loaded = load_with_tests(bot)
    assert loaded.program is not None, loaded.problems
    assert [run(transcript, loaded.program, bot) for transcript in loaded.transcripts] == [None]


def test_events_start_flows_and_end_what_an_agent_does(tmp_path: Path) -> None:
    assert failed(tmp_path, "event: {contact.created: {name: Ann}}", "bot: {template: welcome, body: [Ann]}") is None
    lines = ["user: person", "expect: {step: hand}", "user: hello?", "silence"]
    assert failed(tmp_path, *lines, "event: conversation.resolved", "bot: Here I am again.") is None
    taken = ["user: hi", "bot: Your photo?", "event: {conversation.assigned: {agent: Ann}}", "user: hi", "silence"]
    assert failed(tmp_path, *taken, "event: conversation.resolved", "user: hi", "bot: Your photo?") is None


def test_a_status_needs_a_message(tmp_path: Path) -> None:
    assert failed(tmp_path, "event: message.read") == "1: no message has been sent yet that could become read"
    assert failed(tmp_path, "user: hi", "bot: Your photo?", "event: message.read", "silence") is None


def test_a_handler_has_a_stand_in_that_returns_and_fails_in_turn(tmp_path: Path) -> None:
    turns = "[{returns: {state: sent}}, {fails: SoldOut}, {fails: timeout}, {fails: error}]"
    says = ["It is sent.", "Sold out.", "Too slow.", "It failed."]
    lines = [line for text in says for line in ("user: hi", "bot: Your photo?", "send: image", f"bot: {text}")]
    assert failed(tmp_path, *lines, head=f"handlers: {{find: {turns}}}") is None
    once = [*lines[:4], *lines[:3]]
    more = failed(tmp_path, *once, "bot: It failed.", head="handlers: {find: [{returns: {state: sent}}]}")
    assert more == f'7: the bot calls "find" {TOO_FEW} `handlers`{GOES_ON}'
    always = [*lines[:4], *lines[:4]]
    assert failed(tmp_path, *always, head="handlers: {find: {returns: {state: sent}}}") is None


def test_calls_are_known_with_their_arguments_since_something_happened_last(tmp_path: Path) -> None:
    lines = ["user: hi", "bot: Your photo?", "expect: {calls: []}", "send: image", "bot: It is new."]
    assert failed(tmp_path, *lines, "expect: {calls: [find]}") is None
    assert failed(tmp_path, *lines, "expect: {calls: [{find: {number: 7}}]}") is None
    assert failed(tmp_path, *lines, "expect: {calls: [{find: {number: 8}}]}") is not None
    assert failed(tmp_path, *lines, "expect: {calls: []}") is not None


def test_a_service_answers_by_a_line_of_the_talk_or_by_what_stands_above_it(tmp_path: Path) -> None:
    ask = "user: parcel"
    city = 'http: {"GET crm:/parcels/*": {json: {city: Rome}}}'
    assert failed(tmp_path, ask, city, "bot: It is in Rome.") is None
    assert failed(tmp_path, ask, 'http: {"GET crm:/parcels/1?full=1": 404}', "bot: No such parcel.") is None
    assert failed(tmp_path, ask, 'http: {"GET crm:/parcels/1": {fails: timeout}}', "bot: Please try later.") is None
    twice = [ask, "bot: It is in Rome.", "expect: {calls: [GET crm:/parcels/1]}", ask, "bot: It is in Rome."]
    assert failed(tmp_path, *twice, head=city) is None


def test_a_request_that_nothing_answers_fails_the_test_in_words(tmp_path: Path) -> None:
    what = failed(tmp_path, "user: parcel", "silence")
    asked = "GET crm:/parcels/1?full=1"
    assert what == f"1: the bot sends {asked}, and the test has no answer: write - http: {{{asked}: ANSWER}}"


def test_an_answer_that_is_not_asked_for_fails_the_test(tmp_path: Path) -> None:
    lines = ["user: hi", 'http: {"GET crm:/a": 200}', "bot: Your photo?"]
    assert (
        failed(tmp_path, *lines) == "3: the bot did not send the request GET crm:/a, for which the test has an answer"
    )


def test_chance_is_what_the_test_says(tmp_path: Path) -> None:
    lines = ["user: luck", "bot: Good!", "user: luck", "bot: Bad!"]
    assert failed(tmp_path, *lines, head="random: [0.1, 0.9]") is None
    assert (
        failed(tmp_path, *lines, head="random: [0.1]") == f"3: the bot draws random numbers {TOO_FEW} `random`{GOES_ON}"
    )
    assert failed(tmp_path, "user: luck", "bot: Bad!", "user: luck", "bot: Bad!", head="random: 0.5") is None


def test_behind_the_last_answer_of_a_list_three_dots_make_it_the_answer_from_then_on(tmp_path: Path) -> None:
    lucky = ["user: luck", "bot: Good!", *["user: luck", "bot: Bad!"] * 3]
    assert failed(tmp_path, *lucky, head="random: [0.1, 0.9, ...]") is None
    asked, rome = ["user: parcel", "bot: It is in Rome."], "{json: {city: Rome}}"
    parcels = ["user: parcel", "bot: No such parcel.", *asked, *asked, *asked]
    assert failed(tmp_path, *parcels, head=f'http: {{"GET crm:/*": [404, {rome}, ...]}}') is None
    assert failed(tmp_path, *asked, *asked, head=f'http: {{"GET crm:/*": [{rome}, ...]}}') is None
    short = failed(tmp_path, *asked, *asked, head=f'http: {{"GET crm:/*": [{rome}]}}')
    assert short == f"3: the bot sends GET crm:/parcels/1?full=1 {TOO_FEW} `http`{GOES_ON}"
    find = ["user: hi", "bot: Your photo?", "send: image"]
    found = [*find, "bot: Sold out.", *[*find, "bot: It is sent."] * 3]
    stubs = "\n    - {fails: SoldOut}\n    - {returns: {state: sent}}\n    - ..."
    assert failed(tmp_path, *found, head=f"handlers:\n  find:{stubs}") is None


def test_a_list_of_a_models_answers_ends_like_any_other(tmp_path: Path) -> None:
    flows = """
flow: talk
start: {otherwise: true}
steps: {talk: {ai: Talk about tea., exits: {done: {when: All is said., then: end}}, errors: {else: end}}}
"""
    talk = ["user: tea", "bot: Green.", "user: tea", "bot: Black.", "user: tea", "bot: Black."]
    assert failed(tmp_path, *talk, head="models: {tea: [Green., Black., ...]}", flows=flows) is None
    short = failed(tmp_path, *talk, head="models: {tea: [Green., Black.]}", flows=flows)
    assert short == f'5: a model is asked "tea" {TOO_FEW} `models`{GOES_ON}'


def test_the_contact_is_who_the_test_says(tmp_path: Path) -> None:
    assert failed(tmp_path, "user: who am I", 'bot: "6281234567890"', head="contact: 6281234567890") is None


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    lines = ["user: hi", "bot: Your photo?", "restart", "silence", "expect: {step: photo}", "send: image"]
    assert failed(tmp_path, *lines, "bot: It is new.", "expect: {kept: {visits: 1}, sent: 2}") is None


def test_an_event_that_comes_again_means_nothing(tmp_path: Path) -> None:
    assert (
        failed(
            tmp_path, "user: hi", "bot: Your photo?", "again", "silence", "user: well", "bot: {contains: Your photo?}"
        )
        is None
    )
    assert failed(tmp_path, "again") == "1: the gateway has reported no event yet"


def test_messages_may_come_in_another_order_than_they_were_written(tmp_path: Path) -> None:
    lines = [
        "user: hi",
        "bot: Your photo?",
        "{user: hi, late: 2m}",
        "silence",
        "user: well",
        "bot: {contains: Your photo?}",
    ]
    assert failed(tmp_path, *lines, "{send: image, late: 2m}", "bot: It is new.") is None


def test_a_program_starts_a_flow(tmp_path: Path) -> None:
    tells = ["start: {flow: news, data: {what: Rain}}", "bot: {template: news, body: [Rain]}"]
    assert failed(tmp_path, *tells) is None
    skipped = ["user: hi", "bot: Your photo?", "start: {flow: news, busy: skip}", "silence"]
    assert failed(tmp_path, *skipped, "send: image", "bot: It is new.") is None


def test_a_start_that_the_bot_refuses_fails_the_test_unless_it_is_expected(tmp_path: Path) -> None:
    flows = "\n---\nflow: count\nvars: {n: {type: integer}}\nsteps: {tell: {say: Hello, then: end}}\n"
    refused = "count was not started: n: "
    for lines in (["silence"], ["expect: {flow: null}"], ["bot: Hello"], ["user: person"], []):
        why = failed(tmp_path, "start: {flow: count, data: {n: many}}", *lines, flows=FLOWS + flows)
        assert why is not None and why.partition(refused)[0].endswith(": the bot refuses this: "), lines
    start = "start: {flow: count, data: {n: many}}"
    expected = ["expect: refused", "user: person", "expect: {step: hand}"]
    assert failed(tmp_path, start, *expected, flows=FLOWS + flows) is None
    assert failed(tmp_path, start, "expect: {refused: [not started, 'n:']}", flows=FLOWS + flows) is None
    assert failed(tmp_path, start, "expect: {refused: opted out}", flows=FLOWS + flows) is not None
    assert failed(tmp_path, "user: person", "expect: refused") is not None
    news = ["start: {flow: news, data: {what: Rain}}", "bot: {template: news, body: [Rain]}", "expect: refused"]
    assert failed(tmp_path, *news) == "3: the conversation is not as expected"


def test_the_gateways_faults_are_survived(tmp_path: Path) -> None:
    limited = ["fault: {rate_limited: 2}", "user: hi", "silence", "wait: 1m", "bot: Your photo?"]
    assert failed(tmp_path, *limited) is None
    doubled = ["fault: double_event", "user: hi", "bot: Your photo?"]
    assert failed(tmp_path, *doubled) is None


def test_a_fault_that_had_no_occasion_proves_nothing(tmp_path: Path) -> None:
    what = failed(tmp_path, "user: hi", "bot: Your photo?", "fault: send_failed")
    assert what == "3: fault send_failed was never applied: the bot sent nothing that it could affect"


def test_silence_is_a_fact(tmp_path: Path) -> None:
    assert failed(tmp_path, "user: hi", "silence") == "2: the bot says something that the test does not list"


MODEL = """
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: Answer questions about the café.
    exits: {done: {when: All is said., then: end}}
    errors: {else: {say: I cannot answer., then: end}}
"""


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ("{opening: We open at nine.}", "We open at nine."),
        ("{closing: We close at ten., WHEN: Nine to ten.}", "Nine to ten."),
        ("{opening: {fails: server_error}}", "I cannot answer."),
        ("{closing: No.}", "You asked: When are you opening?"),
    ],
)
def test_models_answer_by_what_they_are_asked(tmp_path: Path, models: str, says: str) -> None:
    tests = f"test: t\nmodels: {models}\ntalk: [user: When are you opening?, bot: '{says}']\n"
    bot = read_folder(make_bot(tmp_path, MODEL, tests=tests))
    loaded = load_with_tests(bot)
    assert loaded.program is not None, loaded.problems
    assert [run(transcript, loaded.program, bot) for transcript in loaded.transcripts] == [None]


FAILING = """
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: Answer questions about the café.
    within: 20s
    exits: {done: {when: All is said., then: end}}
    errors: {%s: {say: "Failed.", then: end}, else: {say: "It is another failure.", then: end}}
"""


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        ("timeout", "timeout"), ("empty", "empty"), ("unauthorized", "refused"), ("content_filter", "unsafe"),
        ("quota_exceeded", "quota"), ("server_error", "down"), ("invalid_request_error", "refused"),
        ("context_length_exceeded", "refused"), ("model_requires_package", "refused"), ("model_not_in_package", "refused"),
    ],
)  # fmt: skip
def test_a_model_fails_in_each_way_that_a_step_knows(tmp_path: Path, failure: str, outcome: str) -> None:
    tests = f"test: t\ntalk: [user: hi, model: {{fails: {failure}}}, bot: Failed.]\n---\n"
    tests += f"test: u\nmodels: {{hi: {{fails: {failure}}}}}\ntalk: [user: hi, bot: Failed.]\n"
    assert played(tmp_path, FAILING % outcome, tests) == [None, None]


@pytest.mark.parametrize("failure", ["rate_limit_exceeded", "provider_error", "broken_off"])
def test_a_failure_that_may_pass_is_tried_again(tmp_path: Path, failure: str) -> None:
    lines = f"[user: hi, model: {{fails: {failure}}}, silence, wait: 10s, model: Here I am., bot: Here I am.]"
    assert played(tmp_path, FAILING % "down", f"test: t\ntalk: {lines}\n") == [None]


def test_what_a_model_and_a_service_were_asked_is_known(tmp_path: Path) -> None:
    asked = "expect: {asked: {contains: [Answer questions about the café, 'hi'], without: [the weather]}}"
    assert played(tmp_path, MODEL, f"test: t\ntalk: [user: hi, model: Hm., bot: Hm., {asked}]\n") == [None]
    (found,) = played(
        tmp_path, MODEL, f"test: t\ntalk: [user: hi, model: Hm., bot: Hm., {asked.replace('the weather', 'café')}]\n"
    )
    assert found is not None and [each.what for each in found.differences] == ["asked: without"]
    query = "expect: {calls: [{'GET crm:/parcels/1*': {query: {full: '1'}}}]}"
    answer = 'http: {"GET crm:/parcels/1": 404}'
    assert failed(tmp_path, "user: parcel", answer, "bot: No such parcel.", query) is None


def test_a_contact_writes_while_a_call_is_under_way(tmp_path: Path) -> None:
    lines = ["user: hi", "bot: Your photo?", "send: image", "meanwhile: hello?", "bot: It is new.", "bot: Your photo?"]
    assert failed(tmp_path, *lines, "expect: {calls: [find]}") is None
    service = [
        "user: parcel",
        "meanwhile: luck",
        'http: {"GET crm:/parcels/1": 404}',
        "bot: No such parcel.",
        "bot: Good!",
    ]
    assert failed(tmp_path, *service, head="random: 0.1") is None
    why = failed(tmp_path, "user: luck", "meanwhile: hello?", "bot: Good!", head="random: 0.1")
    assert why == "3: the bot calls and asks nothing during which a `meanwhile` line could happen"


def played(folder: Path, flows: str, tests: str) -> list[FailedTest | None]:
    bot = read_folder(make_bot(folder, flows, tests=tests))
    loaded = load_with_tests(bot)
    assert loaded.program is not None, loaded.problems
    return [run(transcript, loaded.program, bot) for transcript in loaded.transcripts]


OWN = """
from bot import on, step_kind

class Declined(Exception):
    pass

@step_kind("pay", outside=True, errors=[Declined])
class Pay:
    pay: float

    def run(self):
        raise RuntimeError("a test pays nothing")

@on("handoff")
def ring(contact: str) -> None:
    raise RuntimeError("a test rings nobody")
"""
PAYING = """
flow: main
start: {otherwise: true}
vars: {receipt: {type: text}}
steps:
  pay: {pay: 5, save: receipt, errors: {Declined: {say: Declined., then: person}, else: end}}
  paid: {say: "Paid: {{ receipt }}", then: end}
  person: {handoff: {team: till}, closed: end}
"""


def test_verbs_and_hooks_of_ones_own_have_stand_ins_too(tmp_path: Path) -> None:
    tests = """
test: t
handlers: {pay step: [{returns: R1}, {fails: Declined}], handoff/ring: {returns: null}}
talk:
  - user: hi
  - bot: "Paid: R1"
  - expect: {calls: [{pay step: {pay: 5}}]}
  - user: hi
  - bot: Declined.
  - expect: {calls: [pay step, handoff/ring]}
"""
    bot = read_folder(make_bot(tmp_path, PAYING, OWN, tests))
    loaded = load_with_tests(bot)
    assert loaded.program is not None and not loaded.problems, loaded.problems
    assert [run(transcript, loaded.program, bot) for transcript in loaded.transcripts] == [None]
