"""Edits of a bot's texts: they are written at their place, checked, refused in words, and taken back."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from bot.language.flow.documents import Source
from bot.language.python.gathered import Extensions
from bot.loading.folder import NotSaved, read_folder
from bot.loading.program import load_handlers
from bot.pages.playground.editable_texts import EditableTexts, Place, TextField, path_of, renamed
from bot.pages.playground.editing import BLOCK, EditConflict, EditDraft, TextEdit, TextEditor, _edited
from bot.pages.playground.refused import Refused
from bot.pages.playground.shared_findings import SharedFindings
from tests.cli.terminal import make_bot
from tests.docs.test_bots import BOTS
from tests.own_bots import STARTERS
from tests.searches import over, tries

SETTINGS = """\
name: Café
languages: [en, id]   # the flows' first
words:
  stop: {say: "Bye!", then: end}
defaults: {retry: {say: Pardon?, max: 3, else: end}, timeout: {after: 20h, then: end}, errors: {else: end}}
"""
FLOWS = """\
# The café.
flow: main
start: {words: [hi, hello]}
vars: {drink: {type: text}}
steps:
  hello:
    say:
      any: [Hi!, "Hello {{ contact.name | default('you') }}!"]   # by chance
  drink:
    ask: >-
      What would
      you like?

    # what most order comes first
    buttons:
      Tea: {value: Tea, words: [chai]}
      Coffee: {value: coffee}
    save: drink
  thanks: {say: "{{ drink }}, thank you.", then: end}
"""
LOCALE = """\
# What the bot says in id. The original stands above each text; what is left empty is said in the original.
main:
  hello: {say: {any: [Hai!]}}
  drink:
    # What would you like?
    ask:
    buttons:
      Tea: Teh   # as here
      Coffee: {title: Kopi}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_bot(tmp_path / "bot", FLOWS, bot=SETTINGS)
    (tmp_path / "bot" / "locales").mkdir()
    (tmp_path / "bot" / "locales" / "id.yml").write_text(LOCALE)
    return tmp_path / "bot"


@pytest.fixture
def editor(folder: Path) -> TextEditor:
    return TextEditor(folder, lambda: (Extensions(), ()), SharedFindings())


def shown(texts: EditableTexts, place: Place) -> dict[str, list[tuple[str, str]]]:
    """The form of a place: each text with its translations."""
    return {group.label: [(field.language, field.text) for field in group.fields] for group in texts.groups(place)}


def edit(editor: TextEditor, *keys: str, text: str, language: str = "", number: int = 0) -> TextEdit:
    id = json.dumps([language, *keys, number], ensure_ascii=False)
    return TextEdit(id, editor.texts().fields()[id].text, text)


def changed(draft: EditDraft) -> list[str]:
    return [text for kind, text in draft.diff if kind in ("file", "old", "new")]


def flow_of(folder: Path) -> str:
    return (folder / "flows" / "main.yml").read_text()


def test_the_form_of_a_step_has_its_texts_titles_and_words_beside_their_translations(editor: TextEditor) -> None:
    texts = editor.texts()
    assert shown(texts, ("main", "drink")) == {
        "ask": [("", "What would you like?"), ("id", "")],
        "buttons › Tea": [("", "Tea"), ("id", "Teh")],
        "buttons › Tea › words": [("", "chai"), ("", "")],
        "buttons › Coffee": [("", "Coffee"), ("id", "Kopi")],
    }
    assert shown(texts, ("main", "hello")) == {
        "say": [("", "Hi!"), ("", "Hello {{ contact.name | default('you') }}!"), ("id", "Hai!")]
    }
    assert shown(texts, ("main", "")) == {"start › words": [("", "hi"), ("", "hello"), ("", ""), ("id", "")]}
    assert list(shown(texts, ("", ""))) == ["words › stop", "words › stop › say", "defaults › retry › say"]


def test_a_text_is_written_at_its_place(editor: TextEditor, folder: Path) -> None:
    draft, _ = editor.save(("main", "drink"), [edit(editor, "main", "drink", "ask", text="Tea, or coffee?")])
    assert draft.problems == () and draft.loads
    assert flow_of(folder) == FLOWS.replace("      What would\n      you like?\n", "      Tea, or coffee?\n")
    assert changed(draft) == ["flows/main.yml", "      What would", "      you like?", "      Tea, or coffee?"]


def test_a_title_gets_its_name_in_the_other_languages_too(editor: TextEditor, folder: Path) -> None:
    title = edit(editor, "main", "drink", "buttons", "Tea", text="Black tea: hot")
    translation = edit(editor, "main", "drink", "buttons", "Tea", language="id", text="Teh hitam")
    draft, _ = editor.save(("main", "drink"), [title, translation])
    assert draft.problems == ()
    assert flow_of(folder) == FLOWS.replace("Tea: {", '"Black tea: hot": {')
    locale = LOCALE.replace("Tea: Teh ", '"Black tea: hot": Teh hitam ')
    assert (folder / "locales" / "id.yml").read_text() == locale


def test_what_is_not_translated_yet_and_further_words_get_their_place(editor: TextEditor, folder: Path) -> None:
    edits = [
        edit(editor, "main", "drink", "ask", language="id", text="Mau minum apa?"),
        edit(editor, "main", "drink", "buttons", "Tea", "words", number=1, text="earl grey, hot"),
        edit(editor, "main", "thanks", "say", language="id", text="{{ drink }}, terima kasih."),
    ]
    draft, _ = editor.save(("main", "drink"), edits)
    assert draft.loads, draft.problems
    assert flow_of(folder) == FLOWS.replace("words: [chai]", 'words: [chai, "earl grey, hot"]')
    assert (folder / "locales" / "id.yml").read_text() == LOCALE.replace("ask:\n", "ask: Mau minum apa?\n") + (
        '  thanks:\n    say: "{{ drink }}, terima kasih."\n'
    )
    assert shown(editor.texts(), ("main", "thanks")) == {
        "say": [("", "{{ drink }}, thank you."), ("id", "{{ drink }}, terima kasih.")]
    }


def test_the_file_of_a_language_is_made_where_there_is_none(editor: TextEditor, folder: Path) -> None:
    (folder / "locales" / "id.yml").unlink()
    (folder / "locales").rmdir()
    draft, number = editor.save(
        ("main", "thanks"), [edit(editor, "main", "thanks", "say", language="id", text="Makasih.\nDadah!")]
    )
    assert draft.loads
    made = folder / "locales" / "id.yml"
    assert made.read_text() == "main:\n  thanks:\n    say: |-\n      Makasih.\n      Dadah!\n"
    editor.take_back(number)
    assert not made.exists()


def test_a_problem_stands_beside_its_field_and_nothing_is_saved(editor: TextEditor, folder: Path) -> None:
    title = edit(editor, "main", "drink", "buttons", "Coffee", text="x" * 21)
    template = edit(editor, "main", "drink", "ask", text="What, {{ nme }}?")
    draft, _ = editor.save(("main", "drink"), [title, template])
    assert {(found.id, found.code) for found in draft.problems} == {(title.id, "E402"), (template.id, "E301")}
    assert not draft.loads and flow_of(folder) == FLOWS


def test_a_word_among_others_can_be_deleted_and_no_other_text(editor: TextEditor, folder: Path) -> None:
    second = edit(editor, "main", "start", "words", number=1, text=" ")
    more = edit(editor, "main", "start", "words", number=2, text="good day")
    draft, number = editor.save(("main", ""), [second, more])
    assert draft.problems == () and flow_of(folder) == FLOWS.replace("[hi, hello]", "[hi, good day]")
    editor.take_back(number)
    for keys in (
        ("main", "drink", "buttons", "Tea", "words"),
        ("main", "thanks", "say"),
        ("main", "drink", "buttons", "Tea"),
    ):
        emptied = edit(editor, *keys, text="")
        draft, _ = editor.save(("main", "drink"), [emptied])
        assert (emptied.id, "E105") in {(found.id, found.code) for found in draft.problems} and not draft.loads
    assert flow_of(folder) == FLOWS


def test_the_comment_above_a_translation_holds_the_original_that_was_translated(
    editor: TextEditor, folder: Path
) -> None:
    ask = edit(editor, "main", "drink", "ask", text="Tea?\nOr coffee?")
    editor.save(("main", "drink"), [edit(editor, "main", "drink", "ask", language="id", text="Apa?")])
    draft, _ = editor.save(("main", "drink"), [ask])
    translation = edit(editor, "main", "drink", "ask", language="id", text="Teh?\nAtau kopi?")
    assert [(found.id, found.code) for found in draft.problems] == [(translation.id, "W802")]  # it is of another text
    editor.save(("main", "drink"), [translation])
    assert (folder / "locales" / "id.yml").read_text() == LOCALE.replace(
        "    # What would you like?\n    ask:\n",
        "    # Tea?\n    # Or coffee?\n    ask: |-\n      Teh?\n      Atau kopi?\n",
    )


def test_a_title_twice_and_half_a_character_are_refused_in_words(editor: TextEditor, folder: Path) -> None:
    for text, why in (("Tea", 'a second "Tea"'), ("\ud800", "half a character")):
        with pytest.raises(Exception, match=why):
            editor.save(("main", "drink"), [edit(editor, "main", "drink", "buttons", "Coffee", text=text)])
    assert flow_of(folder) == FLOWS


def test_what_the_checks_find_is_said_beside_the_field_and_can_be_taken_back(editor: TextEditor, folder: Path) -> None:
    block = editor.texts().block(("main", "thanks"))
    assert block is not None
    asks = TextEdit(BLOCK, block[1], "thanks: {say: Bye, then: drink}\nnever: {say: Nobody hears this, then: end}")
    draft, number = editor.save(("main", "thanks"), [asks])
    assert draft.loads and [(found.id, found.code) for found in draft.problems][:1] == [("block", "W101")]
    assert "\n  never: {say: Nobody hears this, then: end}\n" in flow_of(folder)
    editor.take_back(number)
    assert flow_of(folder) == FLOWS
    with pytest.raises(NotSaved, match=r"flows/main.yml has been changed on the disk meanwhile"):
        editor.take_back(number)
    with pytest.raises(Refused, match="another run"):
        editor.take_back(7)


def test_the_variables_of_a_flow_are_edited_as_yaml(editor: TextEditor, folder: Path) -> None:
    block = editor.texts().block(("main", ""))
    assert block is not None and block[1].startswith("vars:")
    editor.save(("main", ""), [TextEdit(BLOCK, block[1], "vars:\n  drink: text\n  size: {type: text, max: 20}")])
    assert "\n  size: {type: text, max: 20}\n" in flow_of(folder)


def test_a_flow_without_variables_gets_them_below_its_name(editor: TextEditor, folder: Path) -> None:
    (folder / "flows" / "bye.yml").write_text("flow: bye\nstart: {words: [bye]}\nsteps: {bye: {say: Bye!}}\n")
    block = editor.texts().block(("bye", ""))
    assert block is not None and block[1] == "flow: bye"
    editor.save(("bye", ""), [TextEdit(BLOCK, block[1], "flow: bye\nvars: {size: text}")])
    assert (folder / "flows" / "bye.yml").read_text().startswith("flow: bye\nvars: {size: text}\nstart:")


def test_a_step_that_yaml_cannot_read_is_said_beside_the_step(editor: TextEditor) -> None:
    block = editor.texts().block(("main", "drink"))
    assert block is not None and block[1].startswith("drink:\n  ask: >-\n    What would\n")
    draft = editor.draft(("main", "drink"), [TextEdit(BLOCK, block[1], 'drink:\n  ask: "open\n  save: drink')])
    assert draft.problems[0].id == "block" and not draft.loads


def test_only_a_text_that_was_changed_meanwhile_is_a_conflict(editor: TextEditor, folder: Path) -> None:
    ask = edit(editor, "main", "drink", "ask", text="Mine?")
    other = edit(editor, "main", "thanks", "say", text="Thanks!")
    (folder / "flows" / "main.yml").write_text("# new\n\n" + FLOWS.replace("you like?", "you drink?"))
    with pytest.raises(EditConflict) as raised:
        editor.save(("main", "drink"), [ask])
    assert raised.value.now == {ask.id: "What would you drink?"}
    assert "Mine?" not in flow_of(folder)
    editor.save(("main", "thanks"), [other])
    assert flow_of(folder).startswith("# new") and '"Thanks!"' in flow_of(folder)
    (folder / "flows" / "main.yml").write_text(FLOWS.replace("drink:\n    ask", "wish:\n    ask"))
    with pytest.raises(EditConflict):
        editor.save(("main", "drink"), [ask])


def test_problems_that_were_there_before_keep_nobody_from_saving(editor: TextEditor, folder: Path) -> None:
    (folder / "flows" / "main.yml").write_text(FLOWS.replace("then: end", "then: edn"))
    draft, _ = editor.save(("main", "drink"), [edit(editor, "main", "drink", "ask", text="Tea, or coffee?")])
    assert draft.problems == () and "Tea, or coffee?" in flow_of(folder)


def test_no_link_out_of_the_folder_is_followed_and_nothing_is_written_beside_it(
    editor: TextEditor, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.yml"
    outside.write_text(FLOWS)
    file = folder / "flows" / "main.yml"
    file.unlink()
    file.symlink_to(outside)
    ask = edit(editor, "main", "drink", "ask", text="Mine?")
    with pytest.raises(NotSaved, match=r"flows/main.yml is a link out of the bot's folder"):
        editor.save(("main", "drink"), [ask])
    assert outside.read_text() == FLOWS
    file.unlink()
    (folder / "shared.yml").write_text(FLOWS)
    file.symlink_to(folder / "shared.yml")  # the bot has this file by both names, so a link within it is followed
    (folder / "flows" / ".main.yml.new").symlink_to(outside)
    (folder / ".shared.yml.new").symlink_to(outside)
    (folder / "other").mkdir()
    (folder / "shared.yml").rename(folder / "other" / "shared.txt")
    file.unlink()
    file.symlink_to(folder / "other" / "shared.txt")
    (folder / "other" / "shared.txt").chmod(0o640)
    editor.save(("main", "drink"), [ask])
    assert file.is_symlink() and "Mine?" in file.read_text()
    assert (folder / "other" / "shared.txt").stat().st_mode & 0o777 == 0o640
    assert outside.read_text() == FLOWS


def test_all_files_of_an_edit_are_written_or_none(
    editor: TextEditor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    title = edit(editor, "main", "drink", "buttons", "Tea", text="Black tea")
    real = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "id.yml":
            raise OSError(28, "No space left on device", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(NotSaved, match=r"id.yml cannot be written: No space left on device"):
        editor.save(("main", "drink"), [title])
    assert flow_of(folder) == FLOWS
    assert sorted(file.name for file in folder.rglob("*") if file.is_file()) == ["bot.yml", "id.yml", "main.yml"]


@pytest.mark.parametrize(
    ("said", "near", "place", "first"),
    [
        (["What would you like?", "Tea", "Coffee"], [("main", "hello"), ("main", "drink")], ("main", "drink"), "ask"),
        (["Hello Ann!"], [("main", "hello")], ("main", "hello"), "say"),
        (["Kopi"], [], ("main", "drink"), "buttons"),
        (["Pardon?"], [("main", "drink")], ("", ""), "defaults"),
        (["tea, thank you."], [], ("main", "thanks"), "say"),
    ],
)
def test_a_message_is_found_in_the_texts_that_say_it(
    editor: TextEditor, said: list[str], near: list[Place], place: Place, first: str
) -> None:
    found = editor.texts().saying(said, near)
    assert found is not None and found[0] == place
    assert first in json.loads(found[1][0])


def test_a_message_that_no_text_says_has_no_place(editor: TextEditor) -> None:
    assert editor.texts().saying(["Out of a model", "Out of another model, at length, and so, thank you."], []) is None
    assert TextField("x", "", "").is_further_word is False


TEXT = "Ünïque: {{ 1 }} #1\nnext"
FOLDERS = sorted((*BOTS, *STARTERS))


@over(5, "path", FOLDERS)
def test_each_text_of_each_bot_can_be_edited_and_all_others_stay(path: Path) -> None:
    folder = read_folder(path)
    extensions, _ = load_handlers(folder)
    before = EditableTexts(folder, extensions).fields()
    for field in Random(1).sample(sorted(before.values(), key=lambda each: each.id), min(len(before), tries(6, 1000))):
        changed = _edited(folder, [(field, TEXT)])
        sources = [Source(file.path, changed[file.path]) for file in folder.sources]
        sources += [Source(name, text) for name, text in changed.items() if name not in {file.path for file in sources}]
        after = EditableTexts(replace(folder, sources=tuple(sources)), extensions).fields()
        names = {path_of(field.id): TEXT} if field.on_key else {}
        assert after[renamed(field.id, names)].text == TEXT, field
        others = {renamed(id, names): each.text for id, each in before.items() if id != field.id}
        assert {id: after[id].text for id in others} == others, field
