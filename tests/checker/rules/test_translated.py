"""W801 to W803, and the other rules in each language."""

import pytest

from bot.checker.run_rules import run_rules
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.gathered import Extensions

BOT = "name: T\nlanguages: [en, id]\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}\n"
FLOW = """
flow: a
start: {words: [a]}
vars: {name: {type: text, value: Ana}, count: {type: integer, value: 2, min: 1, max: 9}, sure: {type: boolean}}
steps:
  hello: {say: "Hello {{ name }}!"}
  ask: {ask: Which?, options: [Tea, Coffee], save: name}
  bill: {say: "You have {{ count }} {{ 'cup' if count == 1 else 'cups' }}."}
"""
LOCALE = """a:
  hello: {say: "Halo {{ name }}!"}
  ask: {ask: Yang mana?, options: {Tea: Teh, Coffee: Kopi}}
  bill: {say: "Ada {{ count }} gelas."}
"""


OWN = ("W801", "W802", "W803", "W401", "W701", "W702")


def found(locale: str, flow: str = FLOW, bot: str = BOT) -> list[str]:
    files = {"bot.yml": bot, "a.yml": flow, "locales/id.yml": locale}
    sources = [Source(path, text.encode()) for path, text in files.items()]
    loaded = load(sources, Extensions())
    assert loaded.library is not None, [str(problem) for problem in loaded.problems]
    every = run_rules(loaded.library, sources)
    own = (each for each in every if each.code in OWN)
    return [f"{each.path}:{each.line}:{each.column} {each.code} {each.what}" for each in own]


def test_a_whole_translation_is_none() -> None:
    assert found(LOCALE) == []


def test_missing_texts_are_counted_at_the_top() -> None:
    assert found("a:\n  hello: {say: 'Halo {{ name }}!'}\n  bill:\n") == [
        "locales/id.yml:1:1 W801 id: 4 texts are not translated: "
        "a.ask.ask, a.ask.options.Tea, a.ask.options.Coffee and 1 more"
    ]


@pytest.mark.parametrize(
    ("theirs", "what"),
    [
        ("Halo!", "does not show {{ name }}"),
        ("Halo {{ name }} {{ count }}!", "shows {{ count }}"),
        ("Halo {{ contact.name }}!", "does not show {{ name }} and shows {{ contact.name }}"),
    ],
)
def test_a_translation_with_other_values_is_found(theirs: str, what: str) -> None:
    locale = LOCALE.replace("Halo {{ name }}!", theirs)
    assert [each for each in found(locale) if "W803" in each] == [
        f"locales/id.yml:2:16 W803 a.hello.say: the translation {what}, unlike the flow's text"
    ]


def test_what_a_language_only_looks_at_is_its_own() -> None:
    locale = LOCALE.replace("Halo {{ name }}!", "{{ 'Pagi' if count == 1 else 'Halo' }} {{ name | upper }}!")
    assert found(locale) == []
    assert found(LOCALE.replace("{{ name }}", "{{ 'Ana' if name == 'Ana' else 'kamu' }}")) == []


HEAD = "# What the bot says in id. The original stands above each text.\n"


def noted(*comments: str, head: str = HEAD) -> str:
    lines = "".join(f"    # {comment}\n" for comment in comments)
    return head + LOCALE.replace("  hello: {say: ", f"  hello:\n{lines}    say: ").replace('!"}', '!"', 1)


@pytest.mark.parametrize(
    ("comments", "was"),
    [
        (("Hi {{ name }}!",), "Hi {{ name }}!"),
        (("Hello {{ name }}!", "was: Hi!"), "Hi!"),
        (("Hi", "you"), "Hi you"),
    ],
)
def test_a_text_that_has_changed_since_is_found(comments: tuple[str, ...], was: str) -> None:
    assert found(noted(*comments)) == [
        f'locales/id.yml:{4 + len(comments)}:5 W802 a.hello.say: this translates "{was}", '
        'and the flow says "Hello {{ name }}!" now'
    ]


@pytest.mark.parametrize(
    "locale",
    [
        noted("Hello {{ name }}!"),
        noted("To friends.", "Hello {{ name }}!", "Keep it short."),
        noted(),
        noted("Hi {{ name }}!", head="# Ours.\n"),
    ],
)
def test_one_that_has_not_is_none(locale: str) -> None:
    assert found(locale) == []


def test_a_text_is_too_long_in_one_language() -> None:
    flow = FLOW.replace("options: [Tea, Coffee]", "buttons: {'{{ count }} cups': bill, Coffee: bill}").replace(
        ", save: name", ""
    )
    locale = LOCALE.replace("options: {Tea: Teh,", "buttons: {'{{ count }} cups': 'Ada {{ count }} gelas teh',")
    assert found(locale, flow) == []
    longer = locale.replace("gelas teh", "gelas besar teh")
    assert [each.partition(" W")[2] for each in found(longer, flow)] == [
        '401 in id: step "ask": title may have 21 characters with count = "1", 20 are allowed: it is cut'
    ]


def test_titles_look_alike_in_one_language() -> None:
    locale = LOCALE.replace("Tea: Teh, Coffee: Kopi", "Tea: Minuman, Coffee: Minum an")
    assert [each.partition(" W")[2] for each in found(locale)] == [
        '701 in id: step "ask": "Minum an" looks like "Minuman"'
    ]


def test_a_word_is_an_answer_in_one_language() -> None:
    bot = f"{BOT}words: {{bye: {{say: Bye, then: end}}}}\n"
    flow = FLOW.replace("steps:", "steps:\n  well: {ask: Well?, save: sure}")
    locale = LOCALE.replace("a:\n", "a:\n  well: {ask: Jadi?}\n") + "bot: {words: {bye: {words: [tidak], say: Dah}}}\n"
    assert [each.partition(" W")[2] for each in found(locale, flow, bot)] == [
        '702 "tidak" of word "bye" is an answer of step "well" as well, and is understood first'
    ]
