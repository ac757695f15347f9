"""A question that takes several files: an album, or files that follow each other."""

from typing import Any

import pytest

from bot.core.effects import DeleteFile, Fetch
from bot.core.events import MessageReceived
from bot.core.values import Media
from tests.talk import BOT, CONTACT, Talk, problems_of

FLOW = """
flow: main
start: {otherwise: true}
vars: {photos: {type: list, of: media, kinds: image}, count: integer}
steps:
  photos: {ask: Your photos?, save: photos, errors: {else: sorry}}
  count: {ask: "{{ photos | map('url') | join(', ') }}. How many?", save: count}
  done: {say: "{{ count }}, thanks.", then: end}
  sorry: {say: Sorry., then: end}
"""


def asked(flow: str = FLOW, *, settings: str = "", step: str = "", bot: str = BOT) -> Talk:
    flow = flow.replace("kinds: image", f"kinds: image{settings}").replace("save: photos", f"save: photos{step}")
    talk = Talk(flow, bot)
    talk.user("hi")
    return talk


def sends(talk: Talk, *names: str) -> list[Any]:
    return [said for name in names for said in talk.photo(name)]


def test_an_album_is_one_answer() -> None:
    talk = asked()
    assert sends(talk, "1", "2", "3") == []
    assert talk.wait("4s") == []
    assert talk.wait("1s") == ["1, 2, 3. How many?"]
    assert talk.vars["photos"] == [Media("image", "1"), Media("image", "2"), Media("image", "3")]
    assert talk.turn is not None and talk.turn.trace.rule == "answer"


def test_a_single_photo_is_a_list_of_one() -> None:
    talk = asked()
    talk.photo("1")
    assert talk.wait("5s") == ["1. How many?"]


def test_gather_says_how_long_a_further_photo_counts() -> None:
    talk = asked(step=", gather: 9s")
    talk.photo("1")
    assert talk.wait("8s") == []
    talk.photo("2")
    assert talk.wait("8s") == []
    assert talk.wait("1s") == ["1, 2. How many?"]


@pytest.mark.parametrize("text", ["done", "here they are"])
def test_a_text_behind_a_photo_is_no_wrong_answer_and_a_further_photo_counts(text: str) -> None:
    talk = asked()
    talk.photo("1")
    assert talk.user(text) == []
    assert talk.wait("4s") == []
    talk.photo("2")
    assert talk.wait("5s") == ["1, 2. How many?"]


def test_a_text_before_any_photo_is_a_wrong_answer() -> None:
    assert asked().user("done") == ["A photo, please.\n\nYour photos?"]


@pytest.mark.parametrize("step", [", skip: [done]", ", buttons: {Done: sorry}"])
def test_skip_and_choices_drop_no_photo(step: str) -> None:
    talk = asked(step=step)
    talk.photo("1")
    assert talk.tap("Done") == [] if "buttons" in step else talk.user("done") == []
    talk.photo("2")
    assert talk.wait("5s") == ["1, 2. How many?"]


def test_without_a_photo_they_act_at_once() -> None:
    assert asked(step=", buttons: {Done: sorry}").tap("Done") == ["Sorry."]
    assert asked(step=", skip: [none]").user("none") == [". How many?"]


def test_a_word_acts_at_once_and_the_photos_stay() -> None:
    talk = asked(step=", words: {help: {say: Any photo.}}")
    talk.photo("1")
    assert talk.user("help") == ["Any photo."]
    assert talk.wait("5s") == ["1. How many?"]


def test_a_file_of_another_kind_is_a_wrong_answer_at_once_and_the_photos_stay() -> None:
    talk = asked()
    talk.photo("1")
    clip = MessageReceived(talk.next_id(), CONTACT, talk.now, talk.now, "video", media=Media("video", "v"))
    assert talk.take(clip) == ["A photo, please.\n\nYour photos?"]
    assert talk.wait("5s") == ["1. How many?"]


def test_an_album_may_be_long() -> None:
    talk = asked(FLOW.replace("| join(', ')", "| length"), step=", gather: 2s")
    for number in range(40):
        assert talk.photo(str(number)) == []
        assert talk.wait("1s") == []
    assert talk.wait("2s") == ["40. How many?"]


def test_no_more_than_max_are_taken_and_none_is_a_wrong_answer() -> None:
    talk = asked(settings=", max: 2")
    sends(talk, "1", "2", "3")
    assert talk.wait("5s") == ["1, 2. How many?"]
    assert talk.turn is not None and talk.turn.trace.notes == ["main/photos: only the first 2 files are taken"]


def test_too_few_stay_until_there_are_enough() -> None:
    talk = asked(settings=", min: 3, error: 'Three, please. So far: {{ it }}.'")
    sends(talk, "1", "2")
    assert talk.wait("5s") == ["Three, please. So far: 2."]
    assert talk.user("why?") == ["Three, please. So far: 2."]
    talk.photo("3")
    assert talk.wait("5s") == ["1, 2, 3. How many?"]


def test_without_an_error_too_few_are_asked_for_again() -> None:
    talk = asked(settings=", min: 2")
    talk.photo("1")
    assert talk.wait("5s") == ["Your photos?"]
    talk.photo("2")
    assert talk.wait("5s") == ["1, 2. How many?"]


def test_when_the_question_is_left_and_asked_again_it_begins_anew() -> None:
    talk = asked(settings=", min: 2", step=", words: {again: {then: photos}}")
    talk.photo("1")
    talk.wait("5s")
    assert talk.user("again") == ["Your photos?"]
    talk.photo("2")
    assert talk.wait("5s") == ["Your photos?"]


# Keeping


def kept(name: str) -> Media:
    return Media("image", name, None, f"/var/bot/bot.files/{name}.jpg", "image/jpeg")


def test_each_file_is_kept_before_the_question_is_left() -> None:
    talk = asked(settings=", keep: true, types: [jpg]")
    sends(talk, "1", "2")
    assert talk.wait("5s") == []
    assert talk.calls[-1][1] == Fetch(Media("image", "1"), most=5 << 20, types=("jpg",))
    assert talk.returns(kept("1")) == []
    assert talk.calls[-1][1] == Fetch(Media("image", "2"), most=5 << 20, types=("jpg",))
    assert talk.returns(kept("2")) == ["1, 2. How many?"]
    assert talk.session.kept_variables["photos"] == [kept("1"), kept("2")]


def test_where_one_cannot_be_kept_none_is_an_answer() -> None:
    talk = asked(settings=", keep: true", step=", retry: {max: 1, else: sorry}")
    talk = asked(
        FLOW.replace("errors: {", "errors: {WrongType: {say: JPG please., then: stay}, "), settings=", keep: true"
    )
    sends(talk, "1", "2")
    talk.wait("5s")
    talk.returns(kept("1"))
    assert talk.fails("WrongType") == ["JPG please."]
    assert talk.turn is not None and DeleteFile(str(kept("1").file)) in talk.turn.effects
    talk.photo("3")
    talk.wait("5s")
    assert talk.returns(kept("3")) == ["3. How many?"]


# A question without words


@pytest.mark.parametrize("words", ['""', "", "' '"])
def test_a_question_without_words_sends_nothing_and_waits(words: str) -> None:
    flow = FLOW.replace(
        "  photos: {ask: Your photos?", f"  hello: {{say: 'Hello, your photos please.'}}\n  photos: {{ask: {words}"
    )
    talk = Talk(flow)
    assert talk.user("hi") == ["Hello, your photos please."]
    assert talk.at == "main/photos"
    sends(talk, "1", "2")
    assert talk.wait("5s") == ["1, 2. How many?"]


def test_each_wrong_answer_to_it_gets_what_it_takes() -> None:
    talk = asked(FLOW.replace("Your photos?", "''"))
    assert [talk.user("eh"), talk.user("eh"), talk.user("eh")] == [["A photo, please."]] * 3


def test_its_retry_and_reminder_have_words_of_their_own() -> None:
    talk = asked(FLOW.replace("Your photos?", "''"), step=", retry: {say: Photos!}, remind: {after: 1h, say: Hm?}")
    assert talk.user("eh") == ["Photos!"]
    assert talk.wait("1h") == ["Hm?"]


# Declarations


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("{type: list, of: media, min: 5, max: 3}", 'E307 variable "x": min: 5 files at least, and 3 at most'),
        ("{type: list, of: media, max: 500}", 'E307 variable "x": max: an answer has 100 files at most'),
        ("{type: list, kinds: image}", 'E307 variable "x": kinds where contacts send no files (add of: media'),
        ("{type: list, check: it}", 'E307 variable "x": check where contacts send no files'),
        ("{type: list, of: text}", 'of: "text" is not known'),
        ("{type: list, of: media, types: [jpg]}", "types where the file is not kept"),
        ("{type: list, of: media, value: [a]}", "its value does not fit: a text is not a file"),
    ],
)
def test_declarations_that_do_not_fit(declared: str, problem: str) -> None:
    problems = problems_of(f"flow: main\nvars: {{x: {declared}}}\nsteps: {{a: {{say: a}}}}\n")
    assert any(problem in each for each in problems), problems


def test_a_question_with_choices_needs_words() -> None:
    (problem,) = problems_of("flow: main\nsteps: {a: {ask: '', buttons: [A, B]}}\n")
    assert 'E105 step "a": ask: there is nothing to ask (write the question)' in problem


def test_the_schema_of_editors_takes_a_question_without_words() -> None:
    problems = problems_of("flow: main\nstart: {otherwise: true}\nsteps:\n  a:\n    ask:\n    then: end\n")
    assert problems == []


def test_a_message_from_before_a_question_without_words_is_no_wrong_answer() -> None:
    talk = asked(FLOW.replace("Your photos?", "''"), step=", retry: {max: 1, else: sorry}")
    early = talk.now
    talk.wait("10s")
    assert talk.user("eh") == ["A photo, please."]
    text = MessageReceived(talk.next_id(), CONTACT, talk.now, early, "text", "hm")
    assert talk.take(text) == []
    assert talk.at == "main/photos"
