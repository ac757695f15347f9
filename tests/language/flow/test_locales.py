"""Locales, held against the flows that they say in other languages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.expressions.templates import Template
from bot.language.flow.definition import Step, uses_of_bot, uses_of_flow
from bot.language.flow.documents import Source, read_documents
from bot.language.flow.library import Library, LoadResult, load, template_uses
from bot.language.flow.translations import all_spots
from bot.language.python.gathered import Extensions
from bot.language.source.problems import Problems
from bot.language.source.writing import block_style
from bot.language.steps import KINDS

BOT = """
name: T
languages: [en, id]
words: {stop: {say: Bye, then: end}}
defaults: {timeout: {after: 20h, then: end}, retry: {say: What?}}
"""
FLOW = """
flow: main
start: {words: [hi], otherwise: true}
vars:
  count: {type: integer, error: A number.}
  tea: {type: text}
  sure: {type: boolean, check: [{if: it, error: Be sure.}]}
words: {why: {say: Because., then: again}}
steps:
  hello: {say: {any: ["Hi {{ contact.name }}", Hello]}}
  menu:
    ask: How?
    header: Shop
    buttons: {Track: {then: tea, words: [trace]}, Bye: {say: See you, then: end}}
  tea:
    ask: Which tea?
    list: {button: See, sections: {Green: {Sencha: next, Matcha: {about: Fine, then: next}}, Black: [Assam]}, extra: {None: end}}
    save: tea
    skip: [whatever]
    words: {huh: again}
  more: {ask: More?, options: [Milk, Sugar], save: tea}
  count: {ask: How many?, save: count}
  link: {say: Look, link: {title: Here, url: "https://shop.example/en"}, then: notice}
  notice:
    template: {name: ready, language: en, body: ["{{ tea }}", Your tea]}
    replies: {On my way: end, Late: {say: No hurry, then: end}}
"""
WHOLE = """
bot:
  words: {stop: {words: berhenti, say: Dadah}}
  defaults: {retry: {say: Apa?}}
  wordings: {yes: Iya}
main:
  start: {words: [halo, hai]}
  vars: {count: {error: Angka.}, sure: {check: {1: {error: Yakin?}}}}
  words: {why: {words: [kenapa, mengapa], say: Karena.}}
  hello: {say: {any: [Hai, "Halo {{ contact.name }}", Hei]}}
  menu: {ask: Bagaimana?, header: Toko, buttons: {Track: {title: Lacak, words: [cari]}, Bye: {title: Dah, say: Sampai nanti}}}
  tea:
    ask: Teh apa?
    list:
      button: Lihat
      sections: {Green: {title: Hijau, Sencha: Sencha Jepang, Matcha: {about: Halus}}, Black: {title: Hitam, Assam: Assam India}}
      extra: {None: Tidak}
    skip: terserah
    words: {huh: hah}
  more: {ask: Lagi?, options: {Milk: Susu, Sugar: Gula}}
  count: {ask: Berapa?}
  link: {say: Lihat, link: {title: Di sini, url: "https://shop.example/id"}}
  notice: {template: {language: id, body: ["{{ tea }}", Teh Anda]}, replies: {On my way: Segera, Late: {title: Terlambat, say: Santai}}}
"""


def loaded(locale: str = WHOLE, flow: str = FLOW, bot: str = BOT, path: str = "locales/id.yml") -> LoadResult:
    files = {"bot.yml": bot, "flows/main.yml": flow, path: locale}
    return load([Source(name, text.encode()) for name, text in files.items()], Extensions())


def library(locale: str = WHOLE, flow: str = FLOW, bot: str = BOT) -> Library:
    found = loaded(locale, flow, bot)
    assert found.library is not None, found.problems
    return found.library


def problems(locale: str, flow: str = FLOW, bot: str = BOT, path: str = "locales/id.yml") -> list[str]:
    return [str(problem) for problem in loaded(locale, flow, bot, path).problems]


def leads(step: Step) -> dict[str, str | None]:
    return {outcome: resolved.target for outcome, resolved in step.transitions.items()}


def test_a_translation_leads_where_the_flow_does_and_is_no_edit() -> None:
    base = library()
    translated = base.translations["id"]
    for flow_name, flow in base.flows.items():
        others = translated.flows[flow_name].steps
        assert {name: (step.fingerprint, leads(step)) for name, step in flow.steps.items()} == {
            name: (step.fingerprint, leads(step)) for name, step in others.items()
        }


def test_the_rows_of_a_list_that_is_written_like_buttons_are_translated() -> None:
    flow = "flow: main\nstart: {otherwise: true}\nsteps: {tea: {ask: Which?, list: {Green: end, Black: {about: Fine, then: end}}}}"
    translated = library("main: {tea: {ask: Apa?, list: {Green: Hijau, Black: {title: Hitam, about: Halus}}}}", flow)
    assert {"Apa?", "Hijau", "Hitam", "Halus"} <= texts(translated.translations["id"])


def test_everything_for_people_is_said_in_the_language() -> None:
    english, indonesian = (texts(each) for each in (library(), library().translations["id"]))
    assert {"Hi {{ contact.name }}", "How?", "Shop", "Track", "See you", "Because.", "Bye", "Fine"} <= english
    assert {"Halo {{ contact.name }}", "Bagaimana?", "Toko", "Lacak", "Sampai nanti", "Karena.", "Dadah"} <= indonesian
    assert english & indonesian == {"{{ tea }}", "Matcha"}


def texts(library: Library) -> set[str]:
    uses = [*uses_of_bot(library.bot), *(used for flow in library.flows.values() for used in uses_of_flow(flow))]
    found = {each.source for used in uses if isinstance(used.text, Template) for each in used.text.wordings}
    return found - {"Sencha", "Assam", "Milk", "Sugar"}  # what is saved is the written title


def test_one_check_alone_is_translated_without_a_number() -> None:
    flow = FLOW.replace("check: [{if: it, error: Be sure.}]", "check: {if: it, error: Be sure.}")
    alone = library(WHOLE.replace("check: {1: {error: Yakin?}}", "check: {error: Yakin?}"), flow)
    assert "Be sure." in texts(alone) and "Yakin?" in texts(alone.translations["id"])


def test_a_locale_may_be_empty_and_its_texts_may_be_left_empty() -> None:
    assert problems("main: {hello: {say: }, menu: {buttons: {Track: , Bye: {title: }}}, tea: }\nbot:\n") == []
    assert library("# nothing yet\n").translations == {}
    blank = library('main: {hello: {say: ""}, menu: {ask: " ", buttons: {Track: ""}}, words: {why: [""]}}\n')
    assert texts(blank.translations["id"]) == texts(blank)


@pytest.mark.parametrize(
    ("locale", "problem"),
    [
        ("mian: {}", '1:1: E104 id: there is no "mian" to translate (did you mean "main"?)'),
        ("main: {helo: {say: Hai}}", '1:8: E104 id: main: there is no "helo" to translate (did you mean "hello"?)'),
        ("main: {menu: {ask: A, then: end}}", '1:23: E104 id: main: menu: there is no "then" to translate'),
        ("main: {menu: {buttons: {Trak: Lacak}}}", '1:25: E104 id: main: menu: buttons: there is no "Trak" to translate'),
        ("main: {hello: {retry: {say: Lagi}}}", '1:16: E104 id: main: hello: there is no "retry" to translate (there is say; if the flows have it no more, `bot locales extract id` takes it out)'),
        ("main: {count: Berapa}", "1:15: E106 id: main: count: a map of keys is expected (write count: {ask: ...})"),
        ("main: {menu: {buttons: [Lacak]}}", "1:24: E106 id: main: menu: buttons: a map of keys is expected (write buttons: {Track: ..., Bye: ...})"),
        ("main: {steps: {menu: {ask: Apa}}}", '1:8: E104 id: main: there is no "steps" to translate (the name of a flow is a key, and those of its steps stand below it: there are vars,'),
        ("main: {menu: {ask: Mau apa, ya?}}", '1:29: E104 id: main: menu: there is no "ya?" to translate (there are ask, header, buttons; if it belongs to a text with a comma, put that text in quotes)'),
        ("main: {menu: {buttons: {Track: [a]}}}", "1:32: E106 id: main: menu: buttons: Track: a text is expected"),
        ("main: {start: {words: [{a: b}]}}", "1:24: E106 id: main: start: words: a text is expected"),
        ("main: {hello: {say: [a]}}", '1:21: E106 step "hello": say: a text is expected'),
        ("main: {hello: {say: 'Hai {{ nam }}'}}", '1:21: E301 no variable "nam"'),
        ("main: {hello: {say: 'Hai {{'}}", "1:21: E201 this text cannot be read"),
        ("main: {menu: {buttons: {Track: Lacak pesanan saya dong}}}", '1:32: E402 step "menu": "Lacak pesanan saya dong"'),
        ("main: {menu: {buttons: {Track: Bye}}}", 'flows/main.yml:14:51: E406 in id: step "menu": a second "Bye"'),
        ("main: {start: {words: [stop]}}", '1:24: E312 "stop" is taken'),
        ("main: {words: {why: [stop]}}", 'flows/main.yml:8:9: E312 "stop" of word "why" of flow main is a word of the bot'),
        ("bot: {wordings: {yess: Ya}}", '1:18: E104 id: bot: wordings: there is no "yess" to translate (did you mean "yes"?)'),
        ("bot: {wordings: {yes: Ya ya ya ya ya ya ya ya}}", "E402 bot: wordings: yes has 23 characters, 20 are allowed"),
        ("[a]", "1:1: E101 this locale is no map of keys"),
        ("main: {}\n---\nmain: {}", "3:1: E114 a second locale for id, the first is at locales/id.yml:1"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_locale_is_shown_where_it_is(locale: str, problem: str) -> None:
    found = problems(locale)
    assert len(found) == 1, found
    assert problem in found[0]


@pytest.mark.parametrize(
    ("bot", "path", "problem"),
    [
        (BOT, "locales/de.yml", "a locale for de, which the bot does not speak (write languages: [en, id, de] in bot.yml)"),
        (BOT, "locales/en.yml", "a locale for en, which the flows are written in (write the texts there"),
        (BOT.replace("languages: [en, id]", ""), "locales/id.yaml", "(write languages: [en, id] in bot.yml, that of the flows"),
    ],
)  # fmt: skip
def test_a_locale_of_no_further_language_has_no_place(bot: str, path: str, problem: str) -> None:
    (found,) = problems("main: {hello: {say: Hallo}}", bot=bot, path=path)
    assert found.startswith(f"{path}:1:1: E114") and problem in found


def test_a_locale_is_held_against_flows_that_are_in_order() -> None:
    locale = "main: {hello: {say: '{{ x }}'}, more: {aks: Lagi?}}"
    found = problems(locale, FLOW.replace("How?", "'{{ y }}'").replace("then: tea", "then: te"))
    assert [each.split(" ")[:2] for each in found] == [
        ["flows/main.yml:12:10:", "E301"],
        ["flows/main.yml:14:29:", "E102"],
    ]
    assert [each.split()[1] for each in problems(locale)] == ["E301", "E104"]


def test_a_flow_that_cannot_be_read_is_missed_by_no_locale() -> None:
    (found,) = problems(WHOLE, flow="flow: main\nsteps: {")
    assert " E002 " in found


def test_a_locale_of_another_folder_is_a_document_like_any_other() -> None:
    assert "E101" in problems("main: {}", path="flows/locales/id.yml")[0]


def test_languages_without_locales_are_spoken_with_the_texts_of_the_flows() -> None:
    found = load([Source("bot.yml", BOT.encode()), Source("f.yml", FLOW.encode())], Extensions()).library
    assert found is not None and found.in_language("id") is found


@pytest.mark.parametrize(
    ("bot", "flow", "problem"),
    [
        ("[en, id]", "vars: {language: {type: text}}\nsteps: {a: {say: A}}", 'E306 variable "language"'),
        ("[en, id]", "steps: {a: {say: A, set: {language: de}}}", '"de" does not fit language: it is none of en, id'),
        ("[en, id]", "steps: {a: {ask: A, options: {Deutsch: {value: de}}, save: language}}", '"de" does not fit language'),
        ("[en, id]", "steps: {a: {say: '{{ langauge }}'}}", 'no variable "langauge" (did you mean "language"?)'),
        ("[]", "steps: {a: {say: '{{ language }}'}}", 'E301 no variable "language"'),
        ("[]", "steps: {a: {say: A, set: {language: en}}}", 'E301 no variable "language"'),
    ],
)  # fmt: skip
def test_the_language_is_a_variable_of_the_bots_languages(bot: str, flow: str, problem: str) -> None:
    files = {
        "bot.yml": f"languages: {bot}\ndefaults: {{timeout: {{after: 1h, then: end}}}}",
        "f.yml": f"flow: f\n{flow}",
    }
    (found,) = load([Source(name, text.encode()) for name, text in files.items()], Extensions()).problems
    assert problem in str(found)


def test_a_word_of_the_bot_sets_no_language_that_the_bot_does_not_speak() -> None:
    (found,) = problems(WHOLE, bot=BOT.replace("words: {", "words: {deutsch: {set: {language: de}}, "))
    assert 'E303 "de" does not fit language' in found


@pytest.mark.parametrize(
    ("wordings", "problem"),
    [
        ("{yess: Aye}", 'E104 bot: wordings: unknown key "yess" (did you mean "yes"?)'),
        ("{no: Certainly not today my friend}", "E402"),
        ("{yes: OK, no: OK}", 'E406 bot: wordings: a second "OK"'),
        ('{go_on: "Back to {{ flow }}, {{ contact.name }}?"}', None),
        ('{old_tap: "{{ flow }}?"}', 'E301 no variable "flow"'),
    ],
)
def test_the_bots_own_wordings_are_checked(wordings: str, problem: str | None) -> None:
    found = problems(WHOLE, bot=f"{BOT}wordings: {wordings}\n")
    assert (found == []) if problem is None else (len(found) == 1 and problem in found[0])


def test_the_templates_of_every_language_are_those_that_the_gateway_must_know() -> None:
    named = {(use.notice.name, use.notice.language, use.replies) for use in template_uses(library())}
    assert named == {("ready", "en", ("On my way", "Late")), ("ready", "id", ("Segera", "Terlambat"))}


def vocabulary() -> list[str]:
    documents = [Source("bot.yml", BOT.encode()), Source("flows/main.yml", FLOW.encode())]
    spots = all_spots(read_documents(documents, Problems()), KINDS)
    return sorted(
        {key for spot in spots for key in spot.path} | {"title", "words", "wordings", "yes", "any", "1", "if"}
    )


LEAVES = st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["Halo", "{{ tea }}", "{{", "", "stop", "hi"])
TREES = st.recursive(
    LEAVES | st.lists(LEAVES, max_size=2),
    lambda inner: st.dictionaries(st.sampled_from(vocabulary()), inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["main", "bot"]), TREES, min_size=1))
def test_whatever_a_locale_holds_is_a_translation_or_a_problem_in_words(tree: dict[str, Any]) -> None:
    locale = "".join(f"{line}\n" for key, value in tree.items() for line in block_style(key, value))
    found = loaded(locale)
    assert (found.library is None) == bool(found.problems)
    assert all(problem.what and problem.path for problem in found.problems)
