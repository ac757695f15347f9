"""`clear` deletes the files that flows have kept, when no variable has them any more."""

from bot.core.effects import DeleteFile
from bot.core.values import Media
from tests.talk import BOT, Talk

FILE = "/var/bot/bot.files/ab/1.jpg"
KEPT = Media("image", "https://files.example/1.jpg", None, FILE, "image/jpeg")
FLOW = """
flow: main
start: {otherwise: true}
vars:
  photo: {type: media, keep: true}
  photos: {type: list, value: []}
steps:
  photo: {ask: Photo?, save: photo, errors: {else: end}}
  sure:
    ask: Keep it?
    buttons: {Forget: {say: Forgotten., clear: photo, then: done}, Note: {set: {photos: ["{{ photo }}"]}, then: sure}, All: all}
  all: {clear: all, then: done}
  done: {ask: Done?}
"""


def kept(flow: str = FLOW, bot: str = BOT) -> Talk:
    talk = Talk(flow, bot)
    talk.user("hi")
    talk.photo()
    talk.returns(KEPT)
    return talk


def deletions(talk: Talk) -> list[str]:
    assert talk.turn is not None
    return [effect.file for effect in talk.turn.effects if isinstance(effect, DeleteFile)]


def test_clear_deletes_the_kept_file() -> None:
    talk = kept()
    assert talk.user("Forget")[0] == "Forgotten."
    assert deletions(talk) == [FILE]
    assert talk.vars["photo"] is None


def test_not_while_another_variable_has_it() -> None:
    talk = kept()
    talk.user("Note")
    talk.user("Forget")
    assert (deletions(talk), talk.vars["photos"]) == ([], [KEPT])


def test_the_last_variable_takes_it_along() -> None:
    talk = kept()
    talk.user("Note")
    talk.user("All")
    assert deletions(talk) == [FILE]


def test_a_file_that_is_set_anew_beside_clear_stays() -> None:
    talk = kept(FLOW.replace("clear: all,", 'clear: all, set: {photos: ["{{ photo }}"]},'))
    talk.user("All")
    assert deletions(talk) == []


def test_not_if_the_step_is_not_left_after_all() -> None:
    talk = kept(FLOW.replace("say: Forgotten., ", "set: {photos: '{{ 1 // (photos | length) }}'}, "))
    talk.user("Forget")
    assert deletions(talk) == []


def test_a_word_outside_of_all_flows_deletes_it_too() -> None:
    bot = BOT + "words: {delete it: {clear: photo, then: /bye}}\n"
    talk = kept(
        FLOW.replace('{set: {photos: ["{{ photo }}"]}, then: sure}', "end")
        + "---\nflow: bye\nvars: {photo: {type: media, keep: true}}\nsteps: {a: {say: Bye.}}\n",
        bot,
    )
    talk.user("note")
    assert talk.user("delete it") == ["Bye."]
    assert deletions(talk) == [FILE]


def test_a_file_that_is_not_kept_is_nothing_to_delete() -> None:
    talk = Talk(FLOW.replace("{type: media, keep: true}", "media").replace(", errors: {else: end}", ""))
    talk.user("hi")
    talk.photo()
    talk.user("Forget")
    assert deletions(talk) == []
