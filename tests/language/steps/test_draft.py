"""The titles of drafts, and the question which one to continue. `tests/engine/test_drafts.py` has the rest."""

import pytest

from tests.talk import Talk, problems_of

CLAIM = """
flow: new_claim
start: {words: [claim]}
words: {later: later}
vars: {item: text}
steps:
  item: {ask: What is broken?, save: item}
  day: {ask: Since when?}
  done: {say: Noted., then: end}
  later: {draft: "{{ item }}", keep: 14d, then: gone}
  gone: {say: "Your draft {{ item }} is gone.", then: end}
"""


def drafts_of(*items: str) -> Talk:
    talk = Talk(CLAIM)
    for number, item in enumerate(items):
        talk.user("claim")
        if number:
            talk.user("Start anew")
        talk.user(item)
        talk.user("later")
    return talk


def test_several_drafts_are_a_list_and_the_oldest_of_ten_is_over() -> None:
    long = "a window that has been broken by a ball"
    talk = drafts_of(long, long, *(f"door {number}" for number in range(7)))
    (offer,) = talk.user("claim")
    assert offer[1:4] == ["a window that has been…", "a window that has b… (2)", "door 0"]
    assert len(offer) == 11
    talk.user("Start anew")
    talk.user("ladder")
    talk.user("later")
    assert talk.wait("1s") == ["Your draft a window that has been broken by a ball is gone."]
    assert len(talk.session.drafts) == 9


def test_a_draft_without_a_title_has_the_name_of_its_flow() -> None:
    talk = Talk(CLAIM)
    talk.user("claim")
    talk.user("later")
    assert talk.user("claim") == [["Go on with new claim?", "New claim", "Start anew"]]


def test_a_title_is_one_line_and_none_is_called_like_the_other_button() -> None:
    talk = drafts_of("a\n\nb", "Start anew")
    assert talk.user("claim") == [["Go on with new claim?", "a b", "Start anew (2)", "Start anew"]]
    assert talk.user("start anew (2)") == ["Since when?"]


@pytest.mark.parametrize(("said", "answer"), [("yes", ["Since when?"]), ("No, thanks", ["What is broken?"])])
def test_yes_and_no_are_answers_where_there_is_one_draft(said: str, answer: list[str]) -> None:
    talk = drafts_of("window")
    talk.user("claim")
    assert talk.user(said) == answer


def test_yes_is_no_answer_where_there_are_several() -> None:
    talk = drafts_of("window", "door")
    talk.user("claim")
    talk.user("yes")
    assert (talk.at, len(talk.session.drafts)) == (None, 2)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{draft: A, then: end}", 'E105 step "later": "keep" is missing'),
        ("{draft: A, keep: 14, then: end}", 'E106 step "later": keep'),
        ("{draft: A, keep: 14d, words: {x: end}, then: end}", 'E123 step "later": "words" has no effect'),
        ("{draft: A, keep: 14d, signals: {x: end}, then: end}", 'E123 step "later": "signals" has no effect'),
        ("{draft: A, keep: 14d, retry: {max: 1, else: end}, then: end}", 'E123 step "later": "retry" has no effect'),
    ],
)
def test_mistakes_at_the_step(step: str, problem: str) -> None:
    written = CLAIM.replace('{draft: "{{ item }}", keep: 14d, then: gone}', step)
    assert any(problem in each for each in problems_of(written)), problems_of(written)


def test_no_other_flow_has_the_name_of_the_flow_that_asks() -> None:
    (problem,) = problems_of(CLAIM + "---\nflow: drafts\nsteps: {a: {say: Hi., then: end}}\n")
    assert 'flow "drafts": flows that have a `draft` make a flow of this name' in problem
