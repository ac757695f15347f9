import json
from pathlib import Path

import pytest

from bot.language.source.languages import WORDINGS
from tests.cli.terminal import call, make_bot

FLOW = """flow: main
start: {words: [hi], otherwise: true}
steps:
  hello: {say: "Hi {{ contact.name }}!"}
  ask:
    ask: |
      How are you
      today?
    buttons: {Fine: {say: Good!, then: end}, "Well: so": end}
"""
BOT = "name: T\nlanguages: [en, id]\ndefaults: {timeout: {after: 20h, then: end}}\n"
EMPTY = """\
# What the bot says in id. The original stands above each text; what is left empty is said in the original.
# `bot locales extract id` adds what is new and keeps what is here, but for comments.
main:
  start:
    # hi
    words:
  hello:
    # Hi {{ contact.name }}!
    say:
  ask:
    # How are you
    # today?
    ask:
    buttons:
      Fine:
        title:
        # Good!
        say:
      "Well: so":
"""
WRITTEN = """\
main:
  start: {words: halo}
  hello: {say: "Hai: {{ contact.name }}!"}
  ask:
    ask: |
      Apa kabar
      hari ini?
    buttons: {Fine: {title: Baik, words: [oke, "ya, baik"]}}
  gone: {say: Halo, any: [A, B]}
"""
UPDATED = """\
main:
  start:
    # hi
    words: [halo]
  hello:
    # Hi {{ contact.name }}!
    say: "Hai: {{ contact.name }}!"
  ask:
    # How are you
    # today?
    ask: |
      Apa kabar
      hari ini?
    buttons:
      Fine:
        title: Baik
        words: [oke, "ya, baik"]
        # Good!
        say:
      "Well: so":
# No longer in the flows:
# main.gone:
#   say: Halo
#   any: [A, B]
"""


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_bot(tmp_path / "bot", FLOW)
    (folder / "bot.yml").write_text(BOT)
    monkeypatch.chdir(folder)
    return folder


def locale(bot: Path, text: str, name: str = "id.yml") -> Path:
    (bot / "locales").mkdir(exist_ok=True)
    file = bot / "locales" / name
    file.write_text(text)
    return file


def test_extract_writes_everything_there_is_to_translate_under_its_original(bot: Path) -> None:
    assert call("locales", "extract", "id").out == "locales/id.yml: 5 texts, 5 of them to be translated.\n"
    assert (bot / "locales" / "id.yml").read_text() == EMPTY
    assert "W801 id: 5 texts are not translated" in call("check").out


def test_extract_keeps_what_is_translated_and_what_the_flows_do_not_have_any_more(bot: Path) -> None:
    file = locale(bot, WRITTEN, "id.yaml")
    assert call("locales", "extract", "id").out == "locales/id.yaml: 5 texts, 2 of them to be translated.\n"
    assert file.read_text().endswith(UPDATED)
    call("locales", "extract", "id")
    assert file.read_text().endswith(UPDATED)
    assert "W801 id: 2 texts are not translated" in call("check").out


def test_extract_keeps_the_original_of_what_has_changed_until_it_is_translated_anew(bot: Path) -> None:
    file = locale(bot, WRITTEN)
    call("locales", "extract", "id")
    flow = next(path for path in bot.glob("**/*.yml") if "Hi {{ contact.name }}!" in path.read_text() and path != file)
    flow.write_text(FLOW.replace("Hi {{", "Dear {{"))
    for _ in range(2):
        call("locales", "extract", "id")
        assert "    # Dear {{ contact.name }}!\n    # was: Hi {{ contact.name }}!\n    say: " in file.read_text()
        assert "W802 main.hello.say" in call("check").out
    file.write_text(file.read_text().replace("    # was: Hi {{ contact.name }}!\n", ""))
    call("locales", "extract", "id")
    assert "was:" not in file.read_text() and "W802" not in call("check").out


def test_extract_of_a_language_that_bot_yml_does_not_name_says_so(bot: Path) -> None:
    assert call("locales", "extract", "pt-BR").lines == [
        "locales/pt-BR.yml: 5 texts, 5 of them to be translated.",
        "Add the language to bot.yml, the flows' language first: languages: [en, id, pt-BR]",
    ]


def test_the_language_of_the_flows_is_asked_for_where_english_may_be_it(bot: Path) -> None:
    (bot / "bot.yml").write_text((bot / "bot.yml").read_text().replace("languages: [en, id]\n", ""))
    refused = call("locales", "extract", "en")
    assert (refused.code, "name it in bot.yml first" in refused.err) == (1, True)
    (bot / "locales").mkdir()
    (bot / "locales" / "en.yml").write_text("main: {}\n")
    assert "(write languages: [id, en] in bot.yml, that of the flows first)" in call("check", "--format", "short").out


def test_a_language_that_is_not_built_in_needs_the_bots_own_words_too(bot: Path) -> None:
    texts = 5 + len(WORDINGS) - 1  # a smile has no words
    assert call("locales", "extract", "sw").out.startswith(f"locales/sw.yml: {texts} texts, {texts} of them")
    text = (bot / "locales" / "sw.yml").read_text()
    assert "bot:\n  wordings:\n    # Yes\n    yes:\n" in text


@pytest.mark.parametrize(
    ("language", "code", "words"),
    [("en", 1, "the flows are written in en"), ("Indonesian", 2, "'Indonesian' is not a language code")],
)
def test_a_language_that_cannot_be_extracted_is_refused(bot: Path, language: str, code: int, words: str) -> None:
    refused = call("locales", "extract", language)
    assert (refused.code, words in refused.err) == (code, True)
    assert not (bot / "locales").exists()


@pytest.mark.parametrize(
    "text", ["main: {a: b", "main: {hello: {say: Hai, say: Halo}}", "main: {ask: {buttons: {Fine: [a]}}}"]
)
def test_a_locale_that_cannot_be_read_is_left_as_it_is(bot: Path, text: str) -> None:
    file = locale(bot, text)
    refused = call("locales", "extract", "id")
    assert refused.code == 1
    assert refused.err.startswith("locales/id.yml:1:")
    assert file.read_text() == text


def test_missing_lists_what_is_not_translated_and_where_it_stands(bot: Path) -> None:
    locale(bot, WRITTEN)
    listed = call("locales", "missing", "id")
    assert listed.code == 1
    assert listed.lines == [
        'flows/main.yml:9:27: id: main.ask.buttons.Fine.say: "Good!"',
        'flows/main.yml:9:46: id: main.ask.buttons.Well: so: "Well: so"',
        "2 texts are missing.",
    ]
    objects = json.loads(call("locales", "missing", "--json").out)
    assert objects[0] == {
        "language": "id", "path": "flows/main.yml", "line": 9, "column": 27, "key": "main.ask.buttons.Fine.say",
        "text": "Good!",
    }  # fmt: skip


def test_nothing_is_missing_where_all_is_translated(bot: Path) -> None:
    locale(
        bot,
        "main: {hello: {say: Hai}, ask: {ask: Apa kabar?, buttons: {Fine: {title: Baik, say: Bagus!}, 'Well: so': Baru}}}",
    )
    assert (call("locales", "missing").code, call("locales", "missing").out) == (0, "0 texts are missing.\n")


def test_stats_count_each_language(bot: Path) -> None:
    locale(bot, WRITTEN)
    assert call("locales", "stats", "--bot", str(bot)).out == "id     3 of 5  60 %\n"
    assert json.loads(call("locales", "stats", "--json").out) == [{"language": "id", "texts": 5, "translated": 3}]


def test_a_bot_of_one_language_is_told_how_to_speak_more(bot: Path) -> None:
    (bot / "bot.yml").write_text(BOT.replace("languages: [en, id]\n", ""))
    assert "languages: [en, id]" in call("locales", "stats").out
