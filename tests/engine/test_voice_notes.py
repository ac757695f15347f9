"""`transcribe`: a voice note is a text, as soon as it is known what it says."""

from datetime import timedelta
from typing import Any

import pytest

from bot import step_kind
from bot.core.effects import Call, HttpRequest, Transcribe
from bot.core.events import ConversationAssigned, HandoffClosed, SignalReceived, StartRequested, TimeReached
from bot.core.values import Media
from bot.language.python.decorators import handler
from bot.language.steps.step_kind import Reply
from tests.talk import BOT, CONTACT, Talk, library_of, problems_of


@handler("speech.words")
def words(voice: Media, language: str = "en") -> str:
    return ""


HANDLERS = {"words": words}
WITH_HANDLER = BOT + "transcribe: {call: speech.words, within: 20s, tries: 2, daily: 3}\n"
WITH_SERVICE = (
    BOT
    + 'http: {whisper: {base: "https://whisper.example"}}\n'
    + 'transcribe: {http: "POST whisper:/v1/transcriptions", form: {file: "{{ voice }}", model: small}}\n'
)
FLOW = """\
flow: main
start: {words: [size], otherwise: true}
interrupted: resume
vars: {size: {type: text}, photo: {type: media, kinds: [audio]}}
words: {help: {say: Write it or say it.}}
steps:
  size: {ask: Which size?, save: size, retry: {say: Write it.}, timeout: {after: 1h, say: Too late., then: end}}
  sound: {ask: "{{ size }}. And how does it sound?", save: photo, retry: {say: Record it.}}
  done: {say: "{{ message.kind }}, {{ message.text }}", then: end}
---
flow: hours
start: {words: [hours]}
steps: {hours: {say: From 9 to 5., then: end}}
"""
MODEL = """\
flow: main
start: {otherwise: true}
steps: {chat: {ai: Help them., exits: {bye: {when: they leave, then: end}}, errors: {else: end}}}
"""


def at_question(bot: str = WITH_HANDLER, flow: str = FLOW) -> Talk:
    talk = Talk(flow, bot, HANDLERS)
    talk.user("size")
    return talk


def notes(talk: Talk) -> str:
    assert talk.turn is not None
    return " | ".join(talk.turn.trace.notes)


def test_without_transcribe_nobody_is_asked() -> None:
    talk = at_question(BOT)
    assert talk.voice() == ["Write it."]
    assert talk.calls == []


def test_what_the_contact_says_is_the_answer() -> None:
    talk = at_question()
    assert talk.voice() == []
    assert talk.session.busy
    assert talk.returns("two large ones") == ["two large ones. And how does it sound?"]
    assert talk.session.voice_note is None
    assert talk.turn is not None and (talk.turn.trace.rule, notes(talk)) == ("answer", "")


def test_a_handler_gets_the_voice_note_and_what_bot_yml_gives_it() -> None:
    talk = at_question(BOT + 'transcribe: {call: speech.words, with: {language: "pt"}, within: 20s, tries: 2}\n')
    talk.voice("https://files.example/7.ogg")
    media = Media("audio", "https://files.example/7.ogg")
    call = Call("speech.words", {"language": "pt", "voice": Media("audio", media.url, file="")}, 20.0)
    assert talk.calls[-1][1] == Transcribe(media, call, 20.0, 25.0, 2)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", {"text": "a large one"}),
        ("", "a large one"),
        ("answer.results[0].said", {"results": [{"said": "a large one"}]}),
    ],
)
def test_a_service_gets_the_voice_note_in_its_form(text: str, answer: Any) -> None:
    talk = at_question(WITH_SERVICE.replace("model: small}", f"model: small}}{text and f', text: {text!r}'}"))
    talk.voice()
    request = talk.calls[-1][1].by
    assert isinstance(request, HttpRequest)
    assert (request.method, request.address, request.body) == ("POST", "whisper:/v1/transcriptions", "model=small")
    assert request.files == {"file": Media("audio", "https://files.example/1.ogg", file="")}
    assert talk.returns({"status": 200, "answer": answer}) == ["a large one. And how does it sound?"]


@pytest.mark.parametrize("value", [None, "", " \n ", 7, ["a"], {"text": "a"}])
def test_what_is_no_transcript_leaves_the_voice_note_what_it_is(value: Any) -> None:
    talk = at_question()
    talk.voice()
    assert talk.returns(value) == ["Write it."]
    assert "not transcribed" in notes(talk)


@pytest.mark.parametrize("outcome", ["timeout", "error", "mismatch", "NotFetched", "WrongType", "503"])
def test_after_a_failure_the_voice_note_is_what_it_is(outcome: str) -> None:
    talk = at_question()
    talk.voice()
    assert talk.fails(outcome, "no luck") == ["Write it."]
    assert notes(talk) == "not transcribed: no luck"
    assert talk.session.voice_note is None


def test_a_question_that_takes_audio_gets_the_file() -> None:
    talk = at_question()
    talk.user("large")
    assert talk.voice() == ["audio, "]
    assert talk.calls == []


def test_a_flow_can_ask_whether_the_contact_has_spoken() -> None:
    flow = FLOW.replace("  sound:", '  heard: {say: "{{ message.kind }}: {{ message.text }}"}\n  sound:')
    talk = at_question(flow=flow)
    talk.voice()
    assert talk.returns("large")[0] == "audio: large"


def test_words_can_be_spoken() -> None:
    talk = at_question()
    talk.voice()
    assert talk.returns("Help!") == ["Write it or say it."]


def test_a_contact_who_is_in_no_flow_starts_one_by_what_it_says() -> None:
    talk = Talk(FLOW, WITH_HANDLER, HANDLERS)
    assert talk.voice() == []
    assert talk.returns("hours") == ["From 9 to 5."]


def test_who_opts_out_by_a_voice_note_has_opted_out() -> None:
    talk = at_question(WITH_HANDLER + "opt_out: {words: [stop], say: Bye!}\n")
    talk.voice()
    assert talk.returns("Stop") == ["Bye!"]
    assert talk.session.opted_out


def test_a_contact_has_so_many_transcripts_a_day() -> None:
    talk = at_question()
    for _ in range(3):
        talk.voice()
        assert talk.returns("help") == ["Write it or say it."]
    assert talk.voice() == ["Write it."]
    assert "3 voice notes" in notes(talk)
    talk.now += timedelta(days=1)
    assert talk.voice() == []


def test_while_it_is_transcribed_no_time_runs_out() -> None:
    talk = at_question()
    talk.voice()
    assert talk.turn is not None and talk.turn.wake_at is None
    assert talk.take(TimeReached("t1", CONTACT, talk.now + timedelta(hours=2))) == []
    talk.now += timedelta(minutes=2)
    assert talk.returns("large")[0] == "large. And how does it sound?"


def test_starts_and_signals_wait_for_what_the_contact_has_said() -> None:
    bot = WITH_HANDLER + "signals: {paid: {}}\n"
    flow = FLOW.replace("retry: {say: Write it.}", "signals: {paid: {say: Paid., then: done}}")
    talk = at_question(bot, flow)
    talk.voice()
    assert talk.take(SignalReceived("s1", CONTACT, talk.now, "paid", {})) == []
    assert talk.take(StartRequested("s2", CONTACT, talk.now, "hours", {}, "interrupt")) == []
    assert talk.returns("large") == ["large. And how does it sound?"]
    assert talk.wait("1s") == ["From 9 to 5.", "large. And how does it sound?"]


def test_a_reset_forgets_the_voice_note() -> None:
    talk = at_question()
    talk.voice()
    talk.reset()
    assert talk.session.voice_note is None
    assert talk.returns("large") == []


def test_an_agent_who_takes_over_meanwhile_answers() -> None:
    talk = at_question()
    talk.voice()
    talk.take(ConversationAssigned("a1", CONTACT, talk.now, agent="Ann"))
    assert not talk.session.busy
    assert talk.returns("large") == []
    assert talk.session.voice_note is None
    talk.take(HandoffClosed("a2", CONTACT, talk.now))
    assert talk.user("large") == ["Which size?"]


def test_while_an_agent_has_the_conversation_nobody_is_asked() -> None:
    talk = at_question()
    talk.take(ConversationAssigned("a1", CONTACT, talk.now, agent="Ann"))
    assert talk.voice() == []
    assert talk.calls == []


def test_an_edit_that_takes_transcribe_away_loses_no_voice_note() -> None:
    talk = at_question()
    talk.voice()
    talk.library = library_of(FLOW)
    assert talk.returns("large") == ["Write it."]


def test_an_edit_that_takes_a_service_in_place_of_a_handler_loses_no_voice_note() -> None:
    talk = at_question()
    talk.voice()
    talk.library = library_of(FLOW, WITH_SERVICE)
    assert talk.returns({"words": "large"}) == ["Write it."]


def test_an_edit_of_the_flow_meanwhile_asks_the_question_that_is_there_now() -> None:
    talk = at_question()
    talk.voice()
    talk.library = library_of(FLOW.replace("Which size?", "How large?"), WITH_HANDLER, HANDLERS)
    assert talk.returns("large") == ["How large?"]


def test_the_result_counts_once() -> None:
    talk = at_question()
    talk.voice()
    talk.returns("large")
    assert talk.returns("large") == []
    assert talk.at == "main/sound"


def test_a_voice_note_is_gathered_with_what_is_written() -> None:
    talk = at_question(flow=FLOW.replace("save: size,", "save: size, gather: 3s,"))
    talk.user("two")
    talk.voice()
    assert talk.wait("10s") == []
    talk.returns("large ones")
    assert talk.wait("3s") == ["two\nlarge ones. And how does it sound?"]


def test_what_a_model_reads_is_what_the_contact_says() -> None:
    talk = Talk(MODEL, WITH_HANDLER, HANDLERS)
    talk.voice()
    talk.returns("I need help")
    assert talk.prompt[-1] == {"role": "user", "content": "I need help"}
    talk.voice("https://files.example/2.ogg")  # while the model works
    talk.returns("with a bill")
    talk.model("Sure.")
    assert talk.prompt[-1] == {"role": "user", "content": "with a bill"}


def test_what_is_written_before_a_voice_note_stays_before_it() -> None:
    talk = Talk(MODEL, WITH_HANDLER, HANDLERS)
    talk.user("I need help")
    talk.user("please")  # while the model works
    talk.voice()
    talk.model("Sure.")
    assert talk.prompt[-1] == {"role": "user", "content": "please"}
    assert talk.returns("with a bill") == []
    talk.model("I see.")
    assert talk.prompt[-1] == {"role": "user", "content": "with a bill"}


def test_history_has_what_was_said_once() -> None:
    flow = FLOW.replace("And how does it sound?", "{{ history | map(it.text) | join('/') }}")
    talk = at_question(flow=flow)
    talk.voice()
    assert talk.returns("large") == ["large. size/Which size?/large"]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{call: speech.wods}", 'E501 bot: transcribe: no handler "speech.wods" (did you mean "speech.words"?)'),
        ("{call: other}", 'E502 bot: transcribe: handler "other" has no argument "voice"'),
        (
            "{call: other}",
            'E503 bot: transcribe: handler "other" needs the argument "number" (add it under `with`: number)',
        ),
        (
            "{call: speech.words, with: {lang: pt}}",
            'E502 bot: transcribe: handler "speech.words" has no argument "lang"',
        ),
        ("{call: speech.words, with: {language: '{{ size }}'}}", 'E301 no variable "size"'),
        ("{}", 'E105 bot: transcribe: "call" is missing'),
        ("{call: speech.words, form: {}}", 'transcribe: unknown key "form"'),
        ("{http: 'POST wisper:/x', form: {file: '{{ voice }}'}}", 'E508 bot: transcribe: http: no service "wisper"'),
        ("{http: 'POST https://a.example/x', form: {model: m}}", "E503 bot: transcribe: the request does not carry"),
        ("{http: 'POST https://a.example/x', form: {f: '{{ voice }}'}, text: anser.text}", 'E301 no variable "anser"'),
        ("{call: speech.words, daily: 0}", "transcribe: daily"),
    ],
)
def test_mistakes_are_named(written: str, problem: str) -> None:
    @handler("other")
    def other(number: int) -> str:
        return ""

    found = problems_of(FLOW, BOT + f"transcribe: {written}\n", {"words": words, "other": other})
    assert any(problem in each for each in found), found


@pytest.mark.parametrize(("takes", "said"), [("reply.media and 1", ["1"]), ("int(reply.text)", [])])
def test_a_kind_of_step_of_the_bots_own_that_takes_audio_gets_it(takes: str, said: list[str]) -> None:
    @step_kind("own")
    class Own:
        own: str

        def run(self) -> str:
            return self.own

        def answer(self, reply: Reply) -> Any:
            return eval(takes)

    flow = "flow: main\nstart: {otherwise: true}\nvars: {n: integer}\n"
    flow += "steps: {own: {own: Say it., save: n, errors: {else: end}}, n: {say: '{{ n }}', then: end}}\n"
    talk = Talk(flow, WITH_HANDLER, {**HANDLERS, "Own": Own})
    talk.voice()
    talk.returns("hi")
    assert talk.voice() == said
    assert talk.session.busy is (not said)
