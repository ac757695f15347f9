"""Reading several answers out of one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.source import word_matching
from bot.language.source.word_matching import CLOSE, WAYS, WHOLE, Option, normalise
from bot.language.steps import answer_matching
from bot.language.steps.answer_matching import named
from bot.language.steps.choices import Many
from tests.talk import Talk

WORDS = st.text("abcdefgh", min_size=2, max_size=6).filter(lambda word: word not in ("dan", "en", "a", "e"))
FRUIT = [Option("Apples"), Option("Plums, red", ("red ones",)), Option("Plums"), Option("Dates")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plums, red and dates", [1, 3]),
        ("plums; red ones; apples", [2, 1, 0]),
        ("PLUMS\nDATES", [2, 3]),
        ("1-3", [0, 1, 2]),
        ("1–2 & 4", [0, 1, 3]),
        ("4, 4, 4", [3]),
        ("3-1", [2, 0]),
        ("1-99", []),
        ("plums or dates", []),
        ("", []),
        ("and", []),
        ("plums, " * 100, []),
    ],
)
def test_it_names_these(text: str, found: list[int]) -> None:
    assert named(text, FRUIT, WHOLE) == found


def test_numbers_that_are_titles_are_no_spans() -> None:
    assert named("1-3", [Option("30 minutes"), Option("Long"), Option("Longer")], WHOLE) == [0, 1, 2]
    assert named("1-3", [Option("1-3"), Option("4-6")], WHOLE) == [0]


@given(st.data(), st.sampled_from([", ", "; ", " and ", "\n", " y ", ", and "]))
def test_titles_are_read_back_from_what_joins_them(data: st.DataObject, joint: str) -> None:
    words = iter(data.draw(st.lists(WORDS, min_size=16, max_size=16, unique=True)))
    titles = [" ".join(next(words) for _ in range(1 + n % 3)) for n in range(8)]
    chosen = data.draw(st.lists(st.sampled_from(range(len(titles))), min_size=1, unique=True))
    assert named(joint.join(titles[n] for n in chosen), [Option(title) for title in titles], WHOLE) == chosen


@given(st.text(max_size=400), st.sampled_from(WAYS))
def test_any_text_is_read(text: str, how: str) -> None:
    found = named(text, FRUIT, how)
    assert len(found) == len(set(found))
    assert all(0 <= n < len(FRUIT) for n in found)


def test_in_a_text_that_is_too_long_for_so_many_options_only_what_has_no_slip_is_taken() -> None:
    options = [Option(f"a fine apple {n}", tuple(f"a good apple {n} {kind}" for kind in range(30))) for n in range(99)]
    few, text = options[:9], "a fine aple 3, a fine apple 7"
    assert named(text, few, CLOSE) == [3, 7]
    assert named("a fine apple 3, a good apple 7 29", options, CLOSE) == [3, 7]
    assert named(text, options, CLOSE) == []


@pytest.mark.parametrize("how", ["whole", "anywhere", "close"])
def test_however_many_numbers_a_text_names_each_phrase_is_folded_a_few_times(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [Option(f"title {letters}", tuple(f"{letters} {n}" for n in range(20))) for letters in _letters(100)]
    folded: list[str] = []

    def counted(text: str) -> str:
        folded.append(text)
        return normalise(text)

    for module in (word_matching, answer_matching):
        monkeypatch.setattr(module, "normalise", counted)
    assert named("1-50", options, how) == list(range(50))
    phrases = sum(1 + len(option.words) for option in options)
    assert len(folded) < 3 * phrases


def _letters(count: int) -> list[str]:
    return [chr(ord("a") + n // 10) + chr(ord("k") + n % 10) for n in range(count)]


def test_how_many_are_enough() -> None:
    assert [Many(1, 2).allows(n) for n in range(4)] == [False, True, True, False]
    assert Many(0).allows(0) and Many(3).allows(100)


DRINKS = """
flow: m
start: {words: [m]}
vars: {drinks: list}
steps:
  q: {ask: Which?, many: true, options: [Tea, Coffee, Green tea, Milk], save: drinks}
  done: {say: "{{ drinks | join('+') }}", then: end}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tea and coffee please", "Tea+Coffee"),
        ("I'd like green tea, coffee and milk please", "Green tea+Coffee+Milk"),
        ("just milk and tea for me, thank you", "Milk+Tea"),
    ],
)
def test_words_that_change_nothing_stand_beside_several_answers(text: str, said: str) -> None:
    chat = Talk(DRINKS)
    chat.user("m")
    assert chat.user(text) == [said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("everything please", "Tea+Coffee+Green tea+Milk"),
        ("all four", "Tea+Coffee+Green tea+Milk"),
        ("all but milk", "Tea+Coffee+Green tea"),
        ("everything except tea and milk, please", "Coffee+Green tea"),
        ("all of them without coffee", "Tea+Green tea+Milk"),
    ],
)
def test_all_choices_are_named_at_once_also_without_some(text: str, said: str) -> None:
    chat = Talk(DRINKS)
    chat.user("m")
    assert chat.user(text) == [said]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "alles außer Milk"), ("es", "todo menos milk"), ("fr", "tout sauf milk"), ("id", "semua kecuali milk"),
        ("it", "tutto tranne milk"), ("nl", "alles behalve milk"), ("pt", "tudo menos milk"), ("tr", "milk hariç hepsi"),
        ("ru", "всё кроме milk"), ("ar", "الكل ما عدا milk"), ("hi", "milk को छोड़कर सब"),
    ],
)  # fmt: skip
def test_something_is_left_out_of_all_in_each_language(language: str, text: str) -> None:
    chat = Talk(DRINKS, f"name: T\nlanguages: [{language}]\ndefaults: {{timeout: {{after: 20h, then: end}}}}\n")
    chat.user("m")
    assert chat.user(text) == ["Tea+Coffee+Green tea"]


@pytest.mark.parametrize("text", ["all but cake", "all three", "all tea", "not everything", "everything?"])
def test_all_are_not_chosen_by_words_that_may_mean_less(text: str) -> None:
    chat = Talk(DRINKS)
    chat.user("m")
    chat.user(text)
    assert chat.at == "m/q"


def test_words_that_change_nothing_stand_beside_one_answer_of_many() -> None:
    chat = Talk(DRINKS)
    chat.user("m")
    chat.user("I'd like tea, please")
    assert chat.user("done") == ["Tea"]


@pytest.mark.parametrize(
    "text",
    [
        "no tea, coffee please",
        "tea please, but not coffee",
        "tea or coffee please",
        "tea and coffee without milk",
        "tea and cake please",
        "2 tea and coffee please",
    ],
)
def test_each_other_word_beside_several_answers_is_a_wrong_reply(text: str) -> None:
    chat = Talk(DRINKS)
    chat.user("m")
    assert chat.user(text) == [["Sorry, I didn't understand that.\n\nWhich?", "Tea", "Coffee", "Green tea", "Milk"]]
