"""`title_of(size)`: the title of the choice whose value a variable holds."""

import pytest

from bot.language.flow.documents import Source
from bot.language.flow.library import Library, load
from bot.language.python.gathered import Extensions
from tests.talk import BOT, Talk, problems_of, sources_of

FLOW = """
flow: shop
start: {words: [shop]}
vars: {size: text, extras: {type: list, value: []}, cake: text, count: {type: integer, value: 0}}
steps:
  size: {ask: Which size?, buttons: {Small: {value: s}, "Large ({{ count }})": {value: l}}, accepts: text, save: size}
  extras: {ask: Anything else?, options: {Milk: {value: m}, Sugar: {value: z}}, many: true, save: extras}
  cake: {ask: Which cake?, options: {from: '[{"id": 1, "name": "Plum"}, {"id": 2, "name": "Nut"}]', title: "{{ it.name }}", value: "{{ it.id }}"}, save: cake}
  done: {say: "{{ title_of(size) }}, {{ title_of(extras) | join(' and ') }}, {{ title_of(cake) }}", then: end}
"""
BOTH = BOT + "languages: [en, id]\nwords: {bahasa: {set: {language: id}, say: Ya.}}\n"
INDONESIAN = "shop: {size: {buttons: {Small: Kecil}}, extras: {options: {Milk: Susu, Sugar: Gula}}}\n"


def library_in(indonesian: str) -> Library:
    loaded = load([*sources_of(FLOW, BOTH), Source("locales/id.yml", indonesian.encode())], Extensions())
    assert loaded.library is not None, "\n".join(map(str, loaded.problems))
    return loaded.library


def ordered(chat: Talk, size: str, done: str = "done") -> list[str]:
    chat.user("shop")
    chat.user(size)
    chat.user("milk")
    chat.user("sugar")
    chat.user(done)
    return chat.user("nut")


def test_a_choice_is_shown_by_its_title_as_the_contact_sees_it() -> None:
    assert ordered(Talk(FLOW), "small") == ["Small, Milk and Sugar, Nut"]
    assert ordered(Talk(FLOW), "large (0)") == ["Large (0), Milk and Sugar, Nut"]


def test_it_is_in_the_contacts_language() -> None:
    chat = Talk(library_in(INDONESIAN))
    chat.user("bahasa")
    assert ordered(chat, "kecil", "selesai") == ["Kecil, Susu and Gula, Nut"]


def test_a_value_that_no_choice_has_is_shown_as_it_is() -> None:
    assert ordered(Talk(FLOW), "huge") == ["huge, Milk and Sugar, Nut"]


def test_null_has_no_title() -> None:
    said = Talk(FLOW.replace("steps:\n", 'steps:\n  first: {say: "[{{ title_of(size) }}]"}\n')).user("shop")
    assert said[0] == "[]"


def test_the_choices_of_another_flow_count_if_this_one_has_none() -> None:
    asked = FLOW.partition("  extras:")[0] + "  on: {branch: [{else: /told}]}\n"
    told = '---\nflow: told\nvars: {size: text}\nsteps: {done: {say: "{{ title_of(size) }}", then: end}}\n'
    chat = Talk(asked + told)
    chat.user("shop")
    assert chat.tap("Small") == ["Small"]


def test_a_title_that_asks_for_its_own_title_ends() -> None:
    chat = Talk(FLOW.replace("Small:", '"Size {{ title_of(size) or 1 }}":'))
    assert ordered(chat, "size 1") == ["Size s, Milk and Sugar, Nut"]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("title_of(count)", 'no question saves a choice in "count"'),
        ("title_of('s')", "title_of() takes the name of a variable"),
        ("title_of(size, 3)", "title_of() takes the name of a variable"),
        ("title_of()", "title_of() takes the name of a variable"),
        ("title_of(sizes)", 'no variable "sizes"'),
    ],
)
def test_what_has_no_title_is_found(written: str, problem: str) -> None:
    found = problems_of(FLOW.replace("title_of(size)", written))
    assert any(problem in each for each in found), found
    assert len(found) == 1
