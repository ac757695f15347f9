"""Conversations that are set aside (`draft`) and continued on another day."""

from datetime import timedelta

import pytest

from bot.core.effects import DeleteFile
from bot.core.values import Media
from tests.talk import BOT, Talk

CLAIM = """
flow: claim
start: {words: [claim], pattern: 'claim for (?P<item>.+)'}
words: {later: {say: Kept for two weeks., then: later}}
defaults: {timeout: {after: 20h, then: later}}
vars: {item: text, day: text}
steps:
  item: {ask: What is broken?, save: item}
  day: {ask: "Since when is the {{ item }} broken?", save: day}
  done: {say: "{{ item }}, {{ day }}.", then: end}
  later: {draft: "{{ item }}", keep: 14d, then: gone}
  gone: {say: "Your draft {{ item }} is gone.", clear: all, then: end}
---
flow: main
start: {otherwise: true}
steps: {menu: {say: Hello., then: end}}
---
flow: menu
start: {words: [menu]}
steps: {menu: {ask: What?, options: {A claim: /claim, Hours: /main}}}
---
flow: order
start: {words: [order]}
interrupted: resume
vars: {size: integer}
steps: {size: {ask: Which size?, save: size}, done: {say: "Ordered.", then: end}}
"""
OFFER = ["Go on with claim?", "window", "Start anew"]
KEPT, ASKED = ["Kept for two weeks."], ["Since when is the window broken?"]


def with_draft(flows: str = CLAIM) -> Talk:
    talk = Talk(flows)
    talk.user("claim")
    talk.user("window")
    talk.user("later")
    assert (talk.at, [draft.title for draft in talk.session.drafts]) == (None, ["window"])
    return talk


def test_the_contact_continues_at_the_question_with_all_variables() -> None:
    talk = with_draft()
    assert talk.user("hello") == ["Hello."]
    talk.pass_time(timedelta(days=5))
    assert talk.user("claim") == [OFFER]
    assert talk.tap("window") == ASKED
    assert talk.session.drafts == ()
    assert talk.user("Monday") == ["window, Monday."]


def test_silence_sets_it_aside_too() -> None:
    talk = Talk(CLAIM)
    talk.user("claim")
    talk.user("window")
    assert talk.wait("20h") == []
    assert talk.at is None
    assert talk.user("claim") == [OFFER]
    assert talk.user("yes please") == ASKED


def test_a_new_one_begins_beside_the_draft() -> None:
    talk = with_draft()
    talk.user("claim")
    assert talk.tap("Start anew") == ["What is broken?"]
    talk.user("door")
    talk.user("later")
    assert talk.user("claim") == [["Go on with claim?", "window", "door", "Start anew"]]
    assert talk.user("DOOR") == ["Since when is the door broken?"]
    assert [draft.title for draft in talk.session.drafts] == ["window"]


def test_then_follows_when_the_time_is_over() -> None:
    talk = with_draft()
    talk.pass_time(timedelta(days=13))
    talk.user("hello")
    assert talk.wait("1d") == ["Your draft window is gone."]
    assert talk.turn is not None
    assert talk.turn.trace.rule == "the time of a draft is over"
    assert talk.turn.trace.notes == ['claim/later: the time of the draft "window" is over']
    assert (talk.at, talk.session.drafts) == (None, ())
    assert talk.user("claim") == ["What is broken?"]


def test_its_time_waits_until_the_contact_is_in_no_flow() -> None:
    talk = with_draft()
    talk.pass_time(timedelta(days=14) - timedelta(hours=1))
    talk.user("order")
    assert talk.wait("2h") == []
    assert talk.user("2") == ["Ordered."]
    assert talk.wait("1s") == ["Your draft window is gone."]


def test_a_draft_whose_time_is_over_is_not_offered() -> None:
    talk = with_draft()
    talk.pass_time(timedelta(days=14) - timedelta(hours=1))
    talk.user("order")
    talk.pass_time(timedelta(hours=2))
    assert talk.user("claim") == ["What is broken?"]


def test_a_button_of_a_menu_offers_it_too() -> None:
    talk = with_draft()
    talk.user("menu")
    assert talk.user("A claim") == [OFFER]
    assert talk.user("window") == ASKED


def test_what_the_start_gives_is_there_when_it_begins_anew() -> None:
    talk = with_draft()
    assert talk.user("claim for my bike") == [OFFER]
    talk.user("no")
    assert talk.vars["item"] == "my bike"


def test_another_message_at_the_offer_is_taken_as_ever_and_the_draft_stays() -> None:
    talk = with_draft()
    talk.user("claim")
    assert talk.user("order") == ["Which size?"]
    assert talk.user("claim") == [OFFER]
    assert [frame.flow for frame in talk.session.frames] == ["order", "claim", "drafts"]
    assert talk.user("window") == ASKED
    assert talk.user("Monday") == ["window, Monday.", "Which size?"]


def test_a_reply_that_leads_to_the_offer_again_is_told_what_there_is_to_choose() -> None:
    talk = with_draft()
    talk.user("claim")
    hint = "Please choose one of these: window or Start anew.\n\nGo on with claim?"
    assert talk.user("claim") == [[hint, "window", "Start anew"]]
    assert talk.user("window") == ASKED


def test_silence_at_the_offer_ends_only_that() -> None:
    talk = with_draft()
    talk.user("claim")
    assert talk.wait("21h") == []
    assert (talk.at, len(talk.session.drafts)) == (None, 1)
    talk.user("order")
    talk.user("claim")
    talk.wait("21h")
    assert (talk.at, len(talk.session.drafts)) == (None, 1)


def test_an_interrupted_flow_goes_on_when_the_one_above_is_set_aside() -> None:
    talk = Talk(CLAIM)
    talk.user("order")
    talk.user("claim")
    talk.user("window")
    assert talk.user("later") == ["Kept for two weeks.", "Which size?"]


def test_silence_ends_the_interrupted_flow_unless_it_waits_on() -> None:
    for interrupted, at in (("resume", None), ("wait", "order/size")):
        talk = Talk(CLAIM.replace("interrupted: resume", f"interrupted: {interrupted}"))
        talk.user("order")
        talk.user("claim")
        assert talk.wait("20h") == []
        assert talk.at == at


def test_a_program_that_starts_the_flow_asks_nothing_about_drafts() -> None:
    talk = with_draft()
    assert [*talk.start("claim", item="door"), *talk.wait("1s")] == ["What is broken?"]


CHOICES = """
flow: main
start: {words: [apply]}
vars: {letter: text}
steps:
  ready: {ask: Have you got your letter?, buttons: {"Yes": next, Later: CHOICE}}
  letter: {ask: What does it say?, save: letter, then: end}
  say: {say: See you., then: later}
  later: {draft: "", keep: 3d, then: end}
"""


@pytest.mark.parametrize("choice", ["later", "say"])
def test_a_question_whose_choice_sets_it_aside_is_asked_again(choice: str) -> None:
    talk = Talk(CHOICES.replace("CHOICE", choice))
    talk.user("apply")
    talk.user("Later")
    assert talk.user("apply") == [["Go on with main?", "Main", "Start anew"]]
    assert talk.user("Main") == [["Have you got your letter?", "Yes", "Later"]]


ONE_FOR_ALL = """
flow: first
start: {words: [first]}
steps:
  a: {ask: A?}
  b: {ask: B?, buttons: {Go on: next, Not now: CHOICE}}
  c: {run: /third, then: end}
  d: {say: In between., then: /keep}
---
flow: third
steps: {e: {ask: E?}}
---
flow: keep
steps: {later: {draft: "", keep: 3d, then: end}}
"""
FOR_ALL = "name: Test\nwords: {later: /keep}\ndefaults: {timeout: {after: 20h, then: /keep}}\n"


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (["later"], ["A?"]),
        (["x", "later"], [["B?", "Go on", "Not now"]]),
        (["x", "Not now"], [["B?", "Go on", "Not now"]]),
        (["x", "Go on", "later"], ["E?"]),
        (["x"], [["B?", "Go on", "Not now"]]),
    ],
)
@pytest.mark.parametrize("choice", ["/keep", "d"])
def test_one_flow_can_set_aside_all_others(said: list[str], asked: list[str], choice: str) -> None:
    talk = Talk(ONE_FOR_ALL.replace("CHOICE", choice), FOR_ALL)
    talk.user("first")
    for text in said:
        talk.user(text)
    talk.wait("21h")
    assert [(draft.title, draft.flow) for draft in talk.session.drafts] == [("First", "first")]
    assert talk.user("first") == [["Go on with first?", "First", "Start anew"]]
    assert talk.user("First") == asked


@pytest.mark.parametrize("silent", [False, True])
def test_the_question_which_draft_is_never_set_aside_itself(silent: bool) -> None:
    talk = Talk(ONE_FOR_ALL.replace("CHOICE", "d"), FOR_ALL)
    talk.user("first")
    talk.user("later")
    talk.user("first")
    assert (talk.wait("21h") if silent else talk.user("later")) == []
    assert (talk.at, [draft.title for draft in talk.session.drafts]) == (None, ["First"])
    assert talk.user("first") == [["Go on with first?", "First", "Start anew"]]


def test_the_word_sets_nothing_aside_where_the_contact_is_in_no_flow() -> None:
    talk = Talk(ONE_FOR_ALL.replace("CHOICE", "d"), FOR_ALL)
    assert talk.user("later") == []
    assert (talk.at, talk.session.drafts) == (None, ())
    assert talk.turn is not None
    assert talk.turn.trace.notes == ["keep/later: there is nothing to set aside"]


RUNS = """
flow: claim
start: {words: [claim]}
vars: {photo: text}
steps:
  photo: {run: /photo, save: photo, expired: never}
  done: {say: "Got {{ photo }}.", then: end}
  never: {say: It was never sent., then: end}
---
flow: photo
words: {later: later}
vars: {photo: text, note: text}
steps:
  note: {ask: A note?, save: note}
  photo: {ask: A photo of the {{ note }}?, save: photo, then: end}
  later: {draft: A photo, keep: 3d, then: end}
"""


def test_a_conversation_is_set_aside_as_a_whole() -> None:
    talk = Talk(RUNS.replace("A photo of the {{ note }}?", '"A photo of the {{ note }}?"'))
    talk.user("claim")
    talk.user("roof")
    talk.user("later")
    assert talk.user("claim") == [["Go on with claim?", "A photo", "Start anew"]]
    assert talk.user("A photo") == ["A photo of the roof?"]
    assert talk.user("p1") == ["Got p1."]
    talk.user("claim")
    talk.user("roof")
    talk.user("later")
    assert talk.wait("3d") == ["It was never sent."]


def test_a_flow_that_is_run_asks_nothing_about_its_drafts() -> None:
    talk = Talk(CLAIM + "---\nflow: all\nstart: {words: [all]}\nsteps: {one: {run: /claim}}\n")
    talk.user("claim")
    talk.user("window")
    talk.user("later")
    assert talk.user("all") == ["What is broken?"]


def test_a_fixed_time_out_does_not_count_the_time_of_the_draft() -> None:
    fixed = 'day: {ask: "Since when?", save: day, timeout: {after: 2h, fixed: true, then: end}}'
    talk = with_draft(CLAIM.replace('day: {ask: "Since when is the {{ item }} broken?", save: day}', fixed))
    talk.pass_time(timedelta(days=2))
    talk.user("claim")
    assert talk.user("window") == ["Since when?"]


# -- edits ---------------------------------------------------------------------------------------------


def test_an_edit_of_the_question_meanwhile_is_what_is_asked() -> None:
    talk = with_draft()
    talk.edit(CLAIM.replace("day: {ask:", "since: {renamed_from: day, ask:").replace("Since when is", "When was"))
    talk.user("claim")
    assert talk.user("window") == ["When was the window broken?"]


def test_a_question_that_was_removed_leads_where_gone_says() -> None:
    talk = with_draft()
    without = CLAIM.replace('  day: {ask: "Since when is the {{ item }} broken?", save: day}\n', "")
    talk.edit(without.replace("then: later}}\nvars", "then: later}, gone: done}\nvars"))
    talk.user("claim")
    assert talk.user("window") == ["window, ."]


def test_a_draft_that_cannot_be_continued_begins_anew() -> None:
    talk = with_draft()
    talk.edit(CLAIM.replace('  day: {ask: "Since when is the {{ item }} broken?", save: day}\n', ""))
    talk.user("claim")
    assert talk.user("window") == ["What is broken?"]
    assert talk.turn is not None
    continued = 'claim/later: the draft "window" is continued'
    assert talk.turn.trace.notes == [continued, "claim/day is gone", "claim begins anew"]


def test_a_flow_without_its_draft_step_forgets_the_draft_when_its_time_is_over() -> None:
    talk = with_draft()
    talk.edit("flow: claim\nstart: {words: [claim]}\nsteps: {item: {ask: What is broken?}}\n")
    assert talk.user("claim") == ["What is broken?"]
    talk.user("door")
    talk.pass_time(timedelta(days=14))
    talk.user("claim")
    talk.user("door")
    assert talk.wait("1s") == []
    assert talk.session.drafts == ()


def test_the_word_that_opts_out_leaves_the_draft_but_says_nothing_when_its_time_is_over() -> None:
    bot = "name: Test\nopt_out: {words: [stop]}\ndefaults: {timeout: {after: 20h, then: end}}\n"
    talk = Talk(CLAIM, bot)
    talk.user("claim")
    talk.user("window")
    talk.user("later")
    talk.user("stop")
    assert [draft.title for draft in talk.session.drafts] == ["window"]
    assert talk.wait("14d") == []
    assert not talk.session.drafts


# -- results and traces --------------------------------------------------------------------------------


def test_results_count_a_draft_once_with_its_outcome() -> None:
    talk = with_draft()
    assert talk.turn is not None
    later = [result for result in talk.turn.results if result[1] == "later"]
    talk.user("claim")
    talk.user("window")
    later += [result for result in talk.turn.results if result[1] == "later"]
    assert [(way, outcome) for _, _, _, way, outcome in later] == [("entered", ""), ("answered", "continued")]


def test_results_do_not_count_a_flow_that_has_not_begun() -> None:
    talk = Talk(CLAIM, "name: Test\nwords: {help: /order}\ndefaults: {timeout: {after: 20h, then: end}}\n")
    counted = []
    for text in ("claim", "window", "later", "claim", "help", "2"):
        talk.user(text)
        assert talk.turn is not None
        counted += [way for flow, step, _, way, _ in talk.turn.results if (flow, step) == ("claim", "item")]
    assert counted == ["entered", "answered"]


def test_the_trace_says_what_is_set_aside_and_continued() -> None:
    talk = with_draft()
    assert talk.turn is not None
    assert talk.turn.trace.notes == ['claim/later: set aside as "window"']
    talk.user("claim")
    talk.user("window")
    assert talk.turn.trace.rule == "answer: a draft is continued"  # the log has rules, and no words of contacts
    assert talk.turn.trace.notes == ['claim/later: the draft "window" is continued']
    assert [(step.step, step.outcome, step.target) for step in talk.turn.trace.steps] == [
        ("which", "continued", "end"),
        ("later", "continued", "back"),
        ("day", None, None),
    ]


PHOTOS = """
flow: claim
start: {words: [claim]}
words: {later: later, stop: end}
vars:
  item: text
  photo: {type: media, keep: conversation}
  more: {type: list, of: media, keep: conversation, value: []}
steps:
  item: {ask: What is broken?, save: item}
  photo: {ask: "Photo of the {{ item }}?", save: photo, errors: {else: end}}
  more: {ask: More?, save: more, set: {photo: "{{ more[0] }}"}, errors: {else: end}}
  sure: {ask: "{{ photo.file }}. Sure?", buttons: {"Yes": end, Swap: photo}}
  later: {draft: "{{ item }}", keep: 14d, then: gone}
  gone: {say: "{{ item }}: {{ photo.file }} is gone.", then: end}
---
flow: main
start: {otherwise: true}
steps: {menu: {say: Hello., then: end}}
"""


def kept(number: int) -> Media:
    return Media("image", f"https://files.example/{number}.jpg", None, f"/bot.files/ab/{number}.jpg", "image/jpeg")


def with_photo(talk: Talk, item: str, number: int) -> None:
    talk.user("claim")
    if talk.at != "claim/item":
        talk.user("Start anew")
    talk.user(item)
    talk.photo()
    talk.returns(kept(number))
    assert talk.at == "claim/more"


def deleted(talk: Talk) -> list[str]:
    assert talk.turn is not None
    return [effect.file for effect in talk.turn.effects if isinstance(effect, DeleteFile)]


def test_each_draft_has_its_own_files_and_takes_them_with_it() -> None:
    talk = Talk(PHOTOS)
    with_photo(talk, "window", 1)
    talk.user("later")
    talk.pass_time(timedelta(days=1))
    with_photo(talk, "door", 2)
    talk.user("later")
    assert deleted(talk) == []
    assert talk.wait("13d") == ["window: /bot.files/ab/1.jpg is gone."]
    assert deleted(talk) == ["/bot.files/ab/1.jpg"]
    talk.user("claim")
    talk.user("door")
    assert talk.vars["photo"] == kept(2)
    talk.user("stop")
    assert deleted(talk) == ["/bot.files/ab/2.jpg"]


def test_a_file_of_a_conversation_goes_with_its_last_variable() -> None:
    talk = Talk(PHOTOS)
    with_photo(talk, "window", 1)
    talk.photo()
    talk.wait("5s")
    talk.returns(kept(3))
    assert (deleted(talk), talk.at) == (["/bot.files/ab/1.jpg"], "claim/sure")
    talk.user("yes")
    assert (deleted(talk), talk.at) == (["/bot.files/ab/3.jpg"], None)


def test_a_type_of_the_bots_own_says_how_long_its_files_are_kept() -> None:
    bot = BOT + "types: {proof: {type: media, keep: conversation}}\n"
    talk = Talk(PHOTOS.replace("{type: media, keep: conversation}", "proof"), bot)
    with_photo(talk, "window", 1)
    talk.user("stop")
    assert deleted(talk) == ["/bot.files/ab/1.jpg"]
