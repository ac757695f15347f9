"""Tests of a bot, run against the bot by the real path."""

from pathlib import Path

from bot.loading.folder import read_folder
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import FailedTest, run
from tests.cli.terminal import make_bot

FLOWS = """
flow: main
start: {otherwise: true}
vars: {cups: {type: integer}, known: {type: integer}}
steps:
  hello: {say: Hello}
  drink:
    ask: What would you like?
    buttons: {Tea: cups, Coffee: cups}
  cups:
    ask: How many?
    save: cups
    remind: {after: 30m, say: Still there?}
  count:
    call: count
    save: known
  done:
    say: "Thanks, number {{ known }}."
    tag: guest
  brew: {wait: 10m}
  ready: {template: {name: order_ready, language: en, body: ["{{ cups }}"]}, replies: {Coming: end}}
"""
HANDLERS = """
from bot import handler

SEEN = []

@handler("count")
def count() -> int:
    SEEN.append(1)
    return len(SEEN)
"""
WHOLE = """
  - user: hi
  - bot: Hello
  - bot: {says: What would you like?, buttons: [Tea, Coffee]}
  - tap: Tea
  - bot: How many?
  - user: "2"
  - bot: Thanks, number 1.
  - expect: {flow: main, step: brew, vars: {cups: 2}, tags: [guest]}
  - wait: 10m
  - bot: {template: order_ready, body: ["2"], buttons: [Coming]}
  - tap: Coming
  - expect: {flow: null, step: null}
"""


def results(folder: Path, *talks: str) -> list[FailedTest | None]:
    tests = "---".join(f"\ntest: {number}\ntalk:{conversation}" for number, conversation in enumerate(talks))
    bot = read_folder(make_bot(folder, FLOWS, HANDLERS, tests))
    loaded = load_with_tests(bot)
    assert loaded.program is not None and not loaded.problems
    return [run(transcript, loaded.program, bot) for transcript in loaded.transcripts]


def failure(folder: Path, conversation: str) -> FailedTest:
    (found,) = results(folder, conversation)
    assert found is not None
    return found


def lines(conversation: str) -> str:
    return "".join(f"\n  - {line}" for line in conversation.split("; ")) + "\n"


def test_a_talk_that_goes_as_written_passes(tmp_path: Path) -> None:
    assert results(tmp_path, WHOLE) == [None]


def test_no_test_knows_of_another(tmp_path: Path) -> None:
    assert results(tmp_path, WHOLE, WHOLE) == [None, None]


def test_what_the_bot_says_and_the_test_does_not_list_fails(tmp_path: Path) -> None:
    found = failure(tmp_path, lines("user: hi; bot: Hello; tap: Tea"))
    assert found.what == "the bot says something before this that the test does not list"
    assert (found.mark.path, found.mark.line) == ("flows/tests.yml", 6)
    assert [(spoken.who, spoken.text) for spoken in found.conversation] == [("user", "hi"), ("bot", "Hello")]
    assert [message.text for message in found.found] == ["What would you like?"]


def test_what_the_bot_says_after_the_last_line_fails(tmp_path: Path) -> None:
    found = failure(tmp_path, lines("user: hi; bot: Hello"))
    assert found.what == "the bot says something after this that the test does not list"


def test_what_the_test_lists_and_the_bot_does_not_say_fails(tmp_path: Path) -> None:
    conversation = lines("user: hi; bot: Hello; bot: {contains: What}; tap: Tea; bot: How many?; bot: Really?")
    found = failure(tmp_path, conversation)
    assert found.what == "the bot says nothing here"
    assert [(d.what, d.expected, d.found) for d in found.differences] == [("says", "Really?", "nothing")]


EARLY = """
flow: main
start: {otherwise: true}
steps:
  drink: {ask: Tea?}
  paid: {wait: 1h, signals: {paid: {say: Thanks., then: end}, gone: {say: Gone., then: end}}}
"""


def test_a_signal_that_came_too_early_is_named_where_nothing_is_said(tmp_path: Path) -> None:
    tests = f"\ntest: early\ntalk:{lines('user: hi; bot: Tea?; signal: paid; user: yes; bot: Thanks.')}"
    bot = "timezone: Europe/Lisbon\ndefaults: {timeout: {after: 20h, then: end}}\nsignals: {paid: {}, gone: {}}\n"
    folder = read_folder(make_bot(tmp_path, EARLY, tests=tests, bot=bot))
    loaded = load_with_tests(folder)
    assert loaded.program is not None
    found = run(loaded.transcripts[0], loaded.program, folder)
    assert found is not None and found.what == "the bot says nothing here; no step waited for signal paid when it came"


def test_other_words_fail_with_the_difference(tmp_path: Path) -> None:
    found = failure(tmp_path, lines("user: hi; bot: Hallo"))
    assert found.what == "the bot says something else"
    assert [(d.what, d.expected, d.found) for d in found.differences] == [("says", "Hallo", "Hello")]
    assert [says.parts for says in found.expected] == [{"says": "Hallo"}]
    assert [message.text for message in found.found] == ["Hello", "What would you like?"]


def test_a_plain_text_where_there_are_buttons_too_says_how_they_are_listed(tmp_path: Path) -> None:
    found = failure(tmp_path, lines("user: hi; bot: Hello; bot: What would you like?"))
    assert found.what == "the bot says this with buttons: write {says: ..., buttons: [Tea, Coffee]}"


def test_a_tap_on_what_was_never_shown_fails_and_names_what_was(tmp_path: Path) -> None:
    found = failure(tmp_path, lines("user: hi; bot: Hello; bot: {contains: What}; tap: Milk"))
    assert found.what == 'there is no button "Milk", but there is Tea, Coffee'
    found = failure(tmp_path, lines("user: hi; bot: Hello; bot: {contains: What}; pick: Milk"))
    assert found.what == 'there is no row "Milk"; nothing can be chosen'


def test_a_row_that_is_a_button_says_how_it_is_chosen(tmp_path: Path) -> None:
    found = failure(tmp_path, lines("user: hi; bot: Hello; bot: {contains: What}; pick: Tea"))
    assert found.what == 'there is no row "Tea", but a button: `tap` it'


def test_an_expectation_that_does_not_hold_fails(tmp_path: Path) -> None:
    conversation = "user: hi; bot: Hello; bot: {contains: What}; tap: Tea; bot: How many?; "
    found = failure(tmp_path, lines(conversation + "expect: {flow: null, vars: {cups: 2}, tags: [guest]}"))
    assert found.what == "the conversation is not as expected"
    assert [(d.what, d.expected, d.found) for d in found.differences] == [
        ("flow", "null", "main"),
        ("cups", "2", "null"),
        ("tags", "[guest]", "[]"),
    ]


def test_a_wait_goes_through_all_that_falls_due_in_order(tmp_path: Path) -> None:
    conversation = "user: hi; bot: Hello; bot: {contains: What}; tap: Tea; bot: How many?; "
    assert results(tmp_path, lines(conversation + "wait: 2d; bot: Still there?; expect: {flow: null}")) == [None]


def test_a_message_that_the_gateway_refuses_is_named_with_its_words(tmp_path: Path) -> None:
    flows = "flow: main\nstart: {otherwise: true}\nsteps:\n  one: {say: Look, image: 'http://127.0.0.1/1.png'}\n"
    tests = "test: t\ntalk:\n  - user: hi\n  - bot: {contains: Look}\n"
    bot = read_folder(make_bot(tmp_path, flows, tests=tests))
    loaded = load_with_tests(bot)
    assert loaded.program is not None
    found = run(loaded.transcripts[0], loaded.program, bot)
    assert found is not None and found.what == "the bot says nothing here"
    assert "VALIDATION_INVALID_URL" in found.complaints[0]


def test_steps_that_name_a_model_are_answered_by_the_test(tmp_path: Path) -> None:
    flows = """flow: main
start: {otherwise: true}
steps: {talk: {ai: Help., model: plus/great, exits: {done: end}, errors: {else: end}}}
"""
    bot = read_folder(make_bot(tmp_path, flows, tests="test: t\ntalk: [{user: hi}, {model: Hello}, {bot: Hello}]\n"))
    loaded = load_with_tests(bot)
    assert loaded.program is not None
    assert run(loaded.transcripts[0], loaded.program, bot) is None


LINKS = """
flow: main
start: {words: [hi]}
vars: {cups: {type: integer, keep: true}}
steps:
  link: {say: Look, link: {title: Here, url: "https://a.example"}}
  file: {say: The menu., document: {link: "https://a.example/m.pdf", filename: menu.pdf}}
  news: {template: {name: news, language: en}, replies: {More: again_}}
  again_: {ask: First?, buttons: {"Yes": second, "No": end}}
  second: {ask: Second?, buttons: {"Yes": set, "No": end}}
  set: {set: {cups: "{{ 3 }}"}, then: end}
---
flow: offer
start: {words: [offer]}
steps: {hello: {say: An offer!, then: end}}
"""


def links(folder: Path, conversation: str, head: str = "") -> FailedTest | None:
    lines = "".join(f"\n  - {line}" for line in conversation.split("; "))
    bot = read_folder(make_bot(folder, LINKS, tests=f"test: t\n{head}\ntalk:{lines}\n"))
    loaded = load_with_tests(bot)
    assert loaded.program is not None and not loaded.problems, loaded.problems
    return run(loaded.transcripts[0], loaded.program, bot)


def test_a_step_with_a_report_is_expected_to_be_reached(tmp_path: Path) -> None:
    flows = "flow: a\nstart: {otherwise: true}\nsteps:\n  one: {ask: One?, report: begun}\n  two: {say: Two., report: done, then: end}\n"
    talk = "  - user: hi\n  - bot: One?\n  - expect: {reached: %s}\n  - user: '1'\n  - bot: Two.\n  - expect: {reached: done}\n"
    for reached, found in (("begun", []), ("[begun, done]", [("reached", "done", "begun")])):
        bot = read_folder(make_bot(tmp_path, flows, tests=f"test: t\ntalk:\n{talk % reached}"))
        loaded = load_with_tests(bot)
        assert loaded.program is not None and not loaded.problems, loaded.problems
        failed = run(loaded.transcripts[0], loaded.program, bot)
        differences = () if failed is None else failed.differences
        assert [(each.what, each.expected, each.found) for each in differences] == found


LINK, FILE = "bot: {link: {title: %s}}", "bot: {document: {filename: %s}}"
NEWS = "bot: {template: news, payloads: [%s]}"


def test_the_title_of_a_link_the_name_of_a_file_and_payloads_are_compared(tmp_path: Path) -> None:
    for wrong, what in (
        (f"user: hi; {LINK % 'There'}", "link title"),
        (f"user: hi; {LINK % 'Here'}; {FILE % 'm.pdf'}", "filename"),
    ):
        found = links(tmp_path, wrong)
        assert found is not None and [each.what for each in found.differences] == [what]
    found = links(tmp_path, f"user: hi; {LINK % 'Here'}; {FILE % 'menu.pdf'}; {NEWS % 'x'}")
    assert found is not None and found.differences[0].what == "payloads"
    payload = found.differences[0].found
    assert links(tmp_path, f"user: hi; {LINK % 'Here'}; {FILE % 'menu.pdf'}; {NEWS % payload}") is None


def test_a_button_of_an_earlier_message_or_of_a_broadcast_is_tapped(tmp_path: Path) -> None:
    begin = f"user: hi; {LINK % 'Here'}; {FILE % 'menu.pdf'}; bot: {{template: news}}; tap: {{title: More, of: news}}; bot: {{says: First?}}"
    second = "tap: {title: 'Yes', of: First}; bot: {says: Second?}"
    old = "tap: {title: 'Yes', of: First}; bot: That was an earlier question.; bot: {says: Second?}"
    assert links(tmp_path, f"{begin}; {second}; {old}; tap: 'Yes'; expect: {{flow: null, kept: {{cups: 3}}}}") is None
    found = links(tmp_path, f"{begin}; {second}; tap: 'Yes'; expect: {{kept: {{cups: '3'}}}}")
    assert found is not None and str(found.differences[0]).count("3 (a ") == 2
    found = links(tmp_path, f"{begin}; tap: {{title: Maybe, of: First}}")
    assert found is not None and found.what == 'the message with "First" has no "Maybe", but Yes, No'
    found = links(tmp_path, f"{begin}; tap: {{title: 'Yes', of: Third}}")
    assert found is not None and found.what == 'there is no message with "Third"'
    assert links(tmp_path, "tap: {title: Tell me, payload: offer}; bot: An offer!") is None


def test_a_test_begins_at_a_time_with_an_offset(tmp_path: Path) -> None:
    asks = "steps: {t: {say: '{{ now | time }}', then: end}}"
    bot = read_folder(
        make_bot(
            tmp_path,
            f"flow: a\nstart: {{words: [a]}}\n{asks}",
            tests="test: t\nnow: 2030-05-06T10:00+02:00\ntalk: [user: a, bot: '08:00']",
        )
    )
    loaded = load_with_tests(bot)
    assert loaded.program is not None and not loaded.problems, loaded.problems
    found = run(loaded.transcripts[0], loaded.program, bot)
    assert found is None


GATHERING = """
flow: main
start: {otherwise: true}
vars: {what: {type: text}}
steps:
  ask: {ask: What happened?, save: what, gather: 3s, timeout: {after: 2s, fixed: true, then: end}}
  noted: {say: "{{ what }}!", then: end}
"""


def test_messages_that_are_gathered_outlive_a_restart_and_a_time_out_that_comes_due_meanwhile(tmp_path: Path) -> None:
    talk = """
  - user: hi
  - bot: What happened?
  - user: It
  - restart
  - user: drips
  - again
  - wait: 1s
  - silence
  - wait: 2s
  - bot: |-
      It
      drips!
"""
    bot = read_folder(make_bot(tmp_path, GATHERING, "", f"test: gathered\ntalk:{talk}"))
    loaded = load_with_tests(bot)
    assert loaded.program is not None
    assert [run(each, loaded.program, bot) for each in loaded.transcripts] == [None]
