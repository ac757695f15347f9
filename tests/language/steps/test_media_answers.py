"""Files as answers: which question takes them, and how one is kept before the question is left."""

from typing import Any

import pytest

from bot.core.effects import DeleteFile, Fetch
from bot.core.events import MessageReceived
from bot.core.values import Location, Media
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import read
from bot.language.types.structured_types import MediaVariable
from bot.language.types.type_registry import read_variable
from tests.talk import BOT, CONTACT, Talk, problems_of

URL = "https://files.example/1.jpg"
PHOTO = Media("image", URL)
KEPT = Media("image", URL, None, "/var/bot/bot.files/1.jpg", "image/jpeg")


def flow(photo: str = "{type: media, kinds: [image], keep: true}", step: str = "errors: {else: sorry}") -> str:
    return f"""
flow: main
start: {{otherwise: true}}
vars: {{photo: {photo}, text: {{type: text}}}}
steps:
  photo: {{ask: Your photo?, save: photo, set: {{text: "{{{{ photo.type }}}}"}}, {step}}}
  thanks: {{say: "Thanks, {{{{ photo.caption | default('no words') }}}}.", then: end}}
  sorry: {{say: Sorry., then: end}}
"""


def asked(**parts: str) -> Talk:
    talk = Talk(flow(**parts))
    assert talk.user("hi")
    return talk


def sends(talk: Talk, kind: str, **what: Any) -> list[Any]:
    return talk.take(MessageReceived(talk.next_id(), CONTACT, talk.now, talk.now, kind, **what))


# Which question takes what


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("sticker", {}),
        ("location", {"location": Location(1.0, 2.0)}),
        ("text", {"text": "my photo"}),
        ("document", {"media": Media("document", URL)}),
        ("image", {}),
    ],
    ids=["a sticker", "a place", "a text", "a file of another kind", "a photo without an address"],
)
def test_a_question_for_a_photo_takes_nothing_else(kind: str, what: dict[str, Any]) -> None:
    talk = asked()
    sends(talk, kind, **what)
    assert (talk.at, talk.turn.trace.rule) == ("main/photo", "retry 1")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("image", {"media": Media("image", URL, "stop")}),
        ("sticker", {}),
        ("location", {"location": Location(1.0, 2.0)}),
    ],
    ids=["a photo whose caption is a word of the bot", "a sticker", "a place"],
)
def test_a_question_for_a_text_takes_no_file_sticker_or_place(kind: str, what: dict[str, Any]) -> None:
    talk = Talk(
        "flow: main\nstart: {otherwise: true}\nvars: {t: {type: text}}\n"
        "steps:\n  a: {ask: Name?, save: t, other: {say: In words please.}}\n",
        BOT + "words: {stop: end}\n",
    )
    talk.user("hi")
    assert sends(talk, kind, **what) == ["In words please."]
    assert talk.at == "main/a"


def test_a_place_that_comes_as_its_text_only_counts_as_that_text() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nvars: {t: {type: text}}\nsteps:\n  a: {ask: Where?, save: t}\n")
    talk.user("hi")
    sends(talk, "location", text="Main Street 1")
    assert talk.session.frames == ()


def test_a_photo_that_is_not_kept_is_saved_at_once() -> None:
    talk = asked(photo="{type: media}", step="then: thanks")
    assert talk.photo() == ["Thanks, no words."]
    assert talk.calls == []


# Keeping


def test_the_question_is_left_only_when_the_file_is_kept() -> None:
    talk = asked()
    assert talk.photo() == []
    assert talk.calls[-1][1] == Fetch(PHOTO, most=5 << 20)
    assert (talk.at, talk.session.busy, talk.vars["photo"]) == ("main/photo", True, None)
    assert talk.returns(KEPT) == ["Thanks, no words."]


def test_what_is_kept_is_what_the_flow_and_its_options_see() -> None:
    talk = Talk(flow().replace("then: end}\n  sorry", "then: more}\n  more: {ask: More?}\n  sorry"))
    talk.user("hi")
    talk.photo()
    talk.returns(KEPT)
    assert (talk.vars["photo"], talk.vars["text"]) == (KEPT, "image/jpeg")
    assert talk.at == "main/more"


@pytest.mark.parametrize("outcome", ["TooLarge", "WrongType", "NotFetched"])
def test_a_file_that_cannot_be_kept_takes_its_error(outcome: str) -> None:
    talk = asked(step=f"errors: {{{outcome}: {{say: Not this one., then: again}}, else: sorry}}")
    talk.photo()
    assert talk.fails(outcome) == ["Not this one.", "Your photo?"]
    talk.photo()
    assert talk.returns(KEPT) == ["Thanks, no words."]


@pytest.mark.parametrize("outcome", ["TooLarge", "timeout", "error"])
def test_whatever_else_goes_wrong_takes_errors_else(outcome: str) -> None:
    talk = asked()
    talk.photo()
    assert talk.fails(outcome) == ["Sorry."]


def test_a_fetch_that_hangs_is_one_that_was_not_fetched() -> None:
    talk = asked(step="errors: {NotFetched: {say: Once more., then: again}, else: sorry}")
    talk.photo()
    assert talk.fails("timeout") == ["Once more.", "Your photo?"]


def test_no_time_out_runs_while_the_file_is_fetched() -> None:
    talk = asked(step="errors: {else: sorry}, timeout: {after: 1h, then: sorry}")
    talk.photo()
    assert talk.turn is not None and talk.turn.wake_at is None
    assert talk.wait("2h") == []
    assert talk.returns(KEPT) == ["Thanks, no words."]


def test_a_question_with_choices_takes_one_of_them_or_a_file() -> None:
    step = "options: {No photo: {then: sorry}}, errors: {TooLarge: again, else: sorry}"
    talk = asked(step=step)
    assert talk.tap("No photo") == ["Sorry."]
    talk = asked(step=step)
    talk.photo()
    assert talk.fails("TooLarge") == [["Your photo?", "No photo"]]
    assert talk.tap_id(talk.shown[-1].id) == ["Sorry."]


def test_a_reset_drops_the_file_that_is_still_on_its_way() -> None:
    talk = asked()
    talk.photo()
    talk.reset()
    assert (talk.returns(KEPT), talk.session.frames) == ([], ())
    assert talk.effects == [DeleteFile(str(KEPT.file))]


def test_an_edit_of_the_question_meets_the_file_that_was_sent_before_it() -> None:
    talk = asked()
    talk.photo()
    talk.edit(flow().replace("Your photo?", "Your newest photo?"))
    assert talk.returns(KEPT) == ["Thanks, no words."]


def test_an_edit_that_asks_for_something_else_meanwhile_puts_that_question() -> None:
    talk = asked()
    talk.photo()
    talk.edit(flow().replace("Your photo?, save: photo", "Your name?, save: text"))
    assert talk.returns(KEPT) == ["Your name?"]
    assert not talk.session.busy


# What the check says


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"step": "then: thanks"}, '6:3: E130 step "photo" has no `errors.else`'),
        (
            {"step": "errors: {TooBig: again, else: sorry}"},
            '6:84: E504 step "photo": keeping a file has no error "TooBig"',
        ),
        ({"photo": "{type: media, max: 1MB}", "step": "then: thanks"}, '4:34: E307 variable "photo": max where the'),
        ({"photo": "{type: media, keep: true, max: big}"}, '4:46: E106 variable "photo": max: "big" is no size'),
        ({"photo": "{type: media, keep: true, max: 0KB}"}, '4:46: E106 variable "photo": max: "0KB" is no size'),
    ],
)
def test_a_mistake_in_keeping_is_found_by_the_check(parts: dict[str, str], problem: str) -> None:
    assert problem in " ".join(problems_of(flow(**parts)))


def test_errors_that_are_inherited_suffice() -> None:
    assert problems_of(flow(step="then: thanks"), BOT.replace("{timeout", "{errors: {else: end}, timeout")) == []


@pytest.mark.parametrize(
    ("written", "kind", "allowed"),
    [
        ("keep: true", "image", 5 << 20),
        ("keep: true", "document", 100 << 20),
        ("keep: true, max: 500KB", "image", 500 << 10),
        ("keep: true, max: 20 MB", "audio", 16 << 20),
    ],
)
def test_no_more_is_kept_than_the_flow_and_the_gateway_allow(written: str, kind: str, allowed: int) -> None:
    problems = Problems()
    (node,) = read("f.yml", f"{{type: media, {written}}}", problems)
    variable = read_variable("v", node, problems)
    assert isinstance(variable, MediaVariable)
    assert problems.sorted() == []
    assert variable.bytes_allowed(kind) == allowed


# A text, a file or a place

REPORT = """
flow: main
start: {otherwise: true}
vars: {report: {type: answer, accepts: [text, image, location]SETTINGS}}
steps:
  report: {ask: What happened?, save: report, retry: {say: Words or a photo.}, errors: {else: lost}}
  sort: {branch: [{if: report.kind == "image", then: photo}, {if: report.kind == "location", then: place}, {else: words}]}
  photo: {say: "{{ report.file.url }}, {{ report.file.type }}: {{ report.text }}", then: end}
  place: {say: "At {{ report.location.latitude }}.", then: end}
  words: {say: "You wrote {{ report.text }}.", then: end}
  lost: {say: Lost., then: end}
"""


def test_a_question_can_take_a_text_a_file_or_a_place() -> None:
    for answer, said in {
        ("text", "The pipe broke"): "You wrote The pipe broke.",
        ("location", Location(1.5, 2.0)): "At 1.5.",
        ("media", Media("image", URL, "Look")): f"{URL}, : Look",
    }.items():
        talk = Talk(REPORT.replace("SETTINGS", ""))
        talk.user("hi")
        kind = "image" if answer[0] == "media" else answer[0]
        assert sends(talk, kind, **{answer[0]: answer[1]}) == [said]


@pytest.mark.parametrize(
    ("kind", "what"), [("document", {"media": Media("document", URL)}), ("sticker", {}), ("text", {"text": "  "})]
)
def test_what_a_question_does_not_accept_is_a_wrong_answer(kind: str, what: dict[str, Any]) -> None:
    talk = Talk(REPORT.replace("SETTINGS", ""))
    talk.user("hi")
    assert sends(talk, kind, **what) == ["Words or a photo."]


def test_the_file_of_such_an_answer_can_be_kept() -> None:
    talk = Talk(REPORT.replace("SETTINGS", ", keep: true, types: [jpg], max: 2MB"))
    talk.user("hi")
    assert sends(talk, "image", media=Media("image", URL, "Look")) == []
    assert talk.calls[-1][1] == Fetch(Media("image", URL, "Look"), most=2 << 20, types=("jpg",))
    assert talk.returns(Media("image", URL, "Look", "/var/1.jpg", "image/jpeg")) == [f"{URL}, image/jpeg: Look"]


def test_choices_stand_beside_what_such_an_answer_accepts() -> None:
    talk = Talk(
        REPORT.replace("SETTINGS", "").replace("save: report,", "options: {Nothing: {value: nothing}}, save: report,")
    )
    talk.user("hi")
    assert talk.tap("Nothing") == ["You wrote nothing."]
    talk.user("hi")
    assert talk.user("A flood") == ["You wrote A flood."]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("{type: media, types: [pdf]}", "E307 variable \"report\": types where the file is not kept: its content is not known"),
        ("{type: media, kinds: image, keep: true, types: [pdf]}", "E307 variable \"report\": types: pdf is a file of the kind document"),
        ("{type: answer, accepts: [text, image], keep: true, types: [pdf]}", "types: pdf is a file of the kind document"),
        ("{type: answer, accepts: text, keep: true}", "E307 variable \"report\": keep where no file is an answer"),
        ("{type: media, keep: true, types: [docs]}", "E109"),
        ("{type: media, keep: conversatio}", 'E109 variable "report": keep: "conversatio" is not known (did you mean "conversation"?)'),
        ("{type: text, keep: conversation}", 'E106 variable "report": keep: "conversation" is not true or false'),
        ("{type: list, keep: conversation}", 'E307 variable "report": keep: conversation where contacts send no files'),
    ],
)  # fmt: skip
def test_types_that_nothing_can_have_are_a_problem(settings: str, problem: str) -> None:
    bot = BOT.replace("defaults: {", "defaults: {errors: {else: end}, ")
    (found,) = problems_of(f"flow: f\nvars: {{report: {settings}}}\nsteps: {{a: {{ask: x, save: report}}}}\n", bot)
    assert problem in found
