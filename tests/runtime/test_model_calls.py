"""Completing: whatever a model does, it ends in one outcome, within its bounds, and nothing is said twice."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.effects import AskModel, TokenBudget
from bot.language.python.decorators import handler
from bot.language.python.gathered import extensions_in
from bot.runtime.model_calls import FAILURES as FAILURE_ROWS
from bot.runtime.model_calls import ModelBreaker, ModelCalls
from bot.runtime.performers import CallAttempt, CallResult, Performers
from bot.runtime.python_calls import PythonCalls
from bot.services.ai import ai_errors, chat_completion
from bot.services.ai.ai_client import Completions, Stream
from bot.services.ai.ai_errors import CompletionError
from bot.services.ai.chat_completion import ChatRequest
from bot.services.http_client import HttpClient, Streamed
from bot.services.request_errors import Silent
from bot.store.files import StoreUnavailable
from bot.store.kept_files import FolderFiles
from bot.store.rows import CallRow
from bot.testing.emulator.completion import CompletionService, EmulatedModel, NoAnswer, failure

NO_FILES = FolderFiles(Path("none is made"))

FAILURES = 3
PAUSE = timedelta(seconds=30)
NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
ONE, TWO = "acme/one", "acme/two"
ANN, BOB = "6281234567890", "6289876543210"
CONTACTS = [f"628120000000{number}" for number in range(FAILURES)]
SYSTEM = {"role": "system", "content": "You are the assistant of Acme Shop."}
ASKED = {"role": "user", "content": "What about returns?"}
THREE = "One.\n\nTwo.\n\nThree."


@handler("allows")
def allows(text: str) -> bool:
    return "bad" not in text


@handler("breaks")
def breaks(text: str) -> bool:
    raise RuntimeError(text)


@handler("answers_nothing")
def answers_nothing(text: str) -> None:
    return None


class Hurried(Completions):
    """A client for which some models (``of``) may be silent for a moment only, and all others for long."""

    def __init__(self, service: CompletionService, *of: str, moment: float = 0.2) -> None:
        super().__init__(service.url, service.key, seconds=60)
        self.of, self._moment, self._long = {*of}, moment, self._idle

    @contextmanager
    def stream(self, request: ChatRequest, **options: Any) -> Iterator[Stream]:
        self._idle = self._moment if request.model in self.of else self._long
        with super().stream(request, **options) as stream:
            yield stream


class Bench:
    """A real service, a real client, and a clock that is moved."""

    def __init__(self, service: CompletionService) -> None:
        self.service = service
        self.clock = MovableClock(NOON)
        self.said: list[str] = []
        self.judged: list[str] = []
        self.used: dict[str | None, int] = {}
        self.since: set[datetime] = set()
        self.client = Completions(service.url, service.key, seconds=60, idle=20)
        self.alarms = Alarms(self.clock)
        self.completing = self.make(ONE, TWO)

    def make(self, *models: str) -> ModelCalls:
        @handler("notes")
        def notes(text: str) -> bool:
            self.judged.append(text)
            return True

        functions = {function.__name__: function for function in (allows, breaks, answers_nothing, notes)}
        moderator = PythonCalls(extensions_in([functions]), NO_FILES).call
        breaker = ModelBreaker(self.clock)
        return ModelCalls(self.client, breaker, models, self.tokens_used, moderator, self.clock, self.alarms)

    def tokens_used(self, contact: str | None, since: datetime) -> int:
        self.since.add(since)
        return self.used.get(contact, 0)

    def row(self, already: int = 0, contact: str = ANN, **effect: Any) -> CallRow:
        messages = effect.pop("messages", (SYSTEM, ASKED))
        return CallRow(1, "e1#0", "key1", contact, AskModel(messages, **effect), 0, NOON, already)

    def say(self, text: str) -> bool:
        self.said.append(text)
        return True

    def ask(self, **effect: Any) -> CallAttempt:
        return self.completing(self.row(**effect), self.say)

    def answer(self, **effect: Any) -> dict[str, Any]:
        ended = self.ask(**effect)
        assert ended.outcome == "done", ended
        return dict(ended.value)

    def asked(self) -> list[str]:
        """The models that were asked, in order."""
        return [request.body["model"] for request in self.service.requests("chat/completions")]


@pytest.fixture
def service() -> Iterator[CompletionService]:
    with CompletionService(
        models=[EmulatedModel(ONE), EmulatedModel(TWO), EmulatedModel("acme/plain", tools=False)]
    ) as service:
        yield service


@pytest.fixture
def bench(service: CompletionService) -> Iterator[Bench]:
    bench = Bench(service)
    yield bench
    bench.client.close()
    assert service.unknown_fields == set()


# What is said, and what is left


def test_the_first_paragraphs_are_said_and_the_rest_is_the_answers_text(bench: Bench) -> None:
    bench.service.say(THREE, chunks=3)
    answer = bench.answer(paragraphs=1)
    assert answer.pop("tokens") > 0
    assert answer == {"text": "Two.\n\nThree.", "said": 1, "calls": [], "finish": "stop", "model": ONE}
    assert bench.said == ["One."]


def test_nothing_is_said_early_where_that_is_not_wanted(bench: Bench) -> None:
    bench.service.say(THREE)
    assert bench.answer()["text"] == THREE
    assert bench.said == []


def test_an_answer_may_be_said_to_its_last_word(bench: Bench) -> None:
    bench.service.say("One.\n\n")
    answer = bench.answer(paragraphs=3)
    assert (bench.said, answer["text"], answer["said"]) == (["One."], "", 1)


def test_tool_calls_come_with_the_text_around_them(bench: Bench) -> None:
    bench.service.say("Let me see.\n\nOne moment.", calls=[("find", {"number": "AB1"})])
    answer = bench.answer(paragraphs=3, tools=({"type": "function", "function": {"name": "find"}},))
    assert (bench.said, answer["text"], answer["finish"]) == (["Let me see."], "One moment.", "tool_calls")
    ((name, arguments),) = [(call["name"], call["arguments"].replace(" ", "")) for call in answer["calls"]]
    assert (name, arguments) == ("find", '{"number":"AB1"}')


def test_thoughts_are_never_said(bench: Bench) -> None:
    bench.service.behaviour.reasoning = "left"
    bench.service.say("One.\n\nTwo.", think="They are rude.\n\nVery.", chunks=2)
    assert bench.answer(paragraphs=3)["text"] == "Two."
    assert bench.said == ["One."]


UNOPENED = "They are rude.\n\nVery.\n\nSo rude.</think>\n\nOne.\n\nTwo."


def test_after_a_tag_that_closes_thoughts_which_nothing_opened_the_model_is_heard_to_the_end_first(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.service.say(UNOPENED, chunks=2)
    first = bench.ask(paragraphs=3)
    assert (bench.said, first.value["text"], first.value["said"]) == (["They are rude.", "Very."], "One.\n\nTwo.", 2)
    assert first.detail == "paragraphs that were sent and turned out to be thoughts: 2"
    bench.said.clear()
    for _ in range(2):
        bench.service.say(UNOPENED, chunks=2)
        ended = bench.ask(paragraphs=3)
        assert (bench.said, ended.value["text"], ended.detail) == ([], "One.\n\nTwo.", "")
    (record,) = caplog.records
    assert record.getMessage() == (
        f'model "{ONE}" closes thoughts that it has not opened (</think>): its answers are sent whole from now on'
    )
    bench.service.say(THREE, chunks=2)
    bench.answer(paragraphs=3, models=(TWO,))
    assert bench.said == ["One.", "Two."], "another model is heard while it speaks"


def test_thoughts_that_were_not_opened_are_no_part_of_an_answer_with_calls_alone(bench: Bench) -> None:
    bench.service.say("Hm.</think>", calls=[("find", {})])
    answer = bench.answer(paragraphs=3, tools=({"type": "function", "function": {"name": "find"}},))
    assert (bench.said, answer["text"], [call["name"] for call in answer["calls"]]) == ([], "", ["find"])


def test_an_answer_that_was_cut_by_its_bound_is_one(bench: Bench) -> None:
    bench.service.say("One. Two", finish="length")
    answer = bench.answer()
    assert (answer["text"], answer["finish"]) == ("One. Two", "length")


# What the model is told


def test_a_step_may_name_its_models_and_bounds(bench: Bench) -> None:
    bench.answer(models=(TWO,), max_tokens=50, temperature=0.1)
    (request,) = bench.service.requests("chat/completions")
    told = {name: request.body[name] for name in ("model", "max_tokens", "temperature")}
    assert told == {"model": TWO, "max_tokens": 50, "temperature": 0.1}


# What goes wrong


@pytest.mark.parametrize(
    ("name", "options", "outcome", "again", "asked"),
    [
        ("invalid_request_error", {}, "refused", False, 2),
        ("invalid_request_error", {"http": 401}, "refused", False, 1),
        ("model_requires_package", {}, "refused", False, 2),
        ("model_not_in_package", {}, "refused", False, 2),
        ("model_no_tool_support", {}, "no_tools", False, 1),
        ("quota_exceeded", {"reset_in": 7200}, "quota", False, 2),
        ("rate_limit_exceeded", {}, "down", True, 1),
        ("rate_limit_exceeded", {"reset_in": 5}, "down", True, 1),
        ("rate_limit_exceeded", {"reset_in": 3600}, "down", False, 1),
        ("server_error", {}, "down", False, 2),
        ("provider_error", {}, "down", True, 2),
    ],
)
def test_each_error_has_its_outcome(
    bench: Bench,
    caplog: pytest.LogCaptureFixture,
    name: str,
    options: dict[str, Any],
    outcome: str,
    again: bool,
    asked: int,
) -> None:
    for _ in range(2):
        bench.service.fail(name, message="cannot do: What about returns?", **options)
    with caplog.at_level(logging.DEBUG):
        ended = bench.ask(paragraphs=3)
    assert (ended.outcome, ended.again) == (outcome, again)
    assert bench.asked() == [ONE, TWO][:asked]
    assert ONE in caplog.text
    for secret in ("What about returns", ANN, bench.service.key):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    ("name", "level"), [("quota_exceeded", "ERROR"), ("model_requires_package", "ERROR"), ("provider_error", "WARNING")]
)
def test_what_the_operator_has_to_mend_is_an_error_in_the_log_and_all_else_a_warning(
    bench: Bench, caplog: pytest.LogCaptureFixture, name: str, level: str
) -> None:
    bench.service.fail(name)
    bench.ask()
    assert caplog.records[0].levelname == level


def test_a_rate_limit_says_how_long_to_wait(bench: Bench) -> None:
    bench.service.fail("rate_limit_exceeded", reset_in=5)
    assert bench.ask().wait == timedelta(seconds=5)


@pytest.mark.parametrize(("seconds", "again"), [(30, True), (31, False)])
def test_a_wait_of_half_a_minute_is_waited_for_and_no_longer_one(bench: Bench, seconds: int, again: bool) -> None:
    bench.service.fail("rate_limit_exceeded", reset_in=seconds)
    assert bench.ask().again == again


@pytest.mark.parametrize("name", ["provider_error", "server_error", "quota_exceeded", "model_not_in_package"])
def test_another_model_answers_in_place_of_one_that_fails(bench: Bench, name: str) -> None:
    bench.service.fail(name)
    bench.service.say("Hello.")
    answer = bench.answer()
    assert (answer["text"], answer["model"]) == ("Hello.", TWO)


def test_another_model_answers_when_the_stream_broke_off_before_anything_was_said(bench: Bench) -> None:
    bench.service.say(THREE, cut_after=10)
    bench.service.say("Hello.")
    ended = bench.ask(paragraphs=3)
    assert (ended.outcome, ended.value["text"], bench.said) == ("done", "Hello.", [])


@pytest.mark.parametrize("names", [("provider_error", "quota_exceeded"), ("quota_exceeded", "provider_error")])
def test_when_one_of_the_models_may_answer_later_all_is_tried_again(bench: Bench, names: tuple[str, str]) -> None:
    for name in names:
        bench.service.fail(name)
    ended = bench.ask()
    assert (ended.outcome, ended.again) == ("down", True)


def test_each_model_that_was_asked_in_vain_is_reported_once(bench: Bench) -> None:
    bench.service.fail("provider_error")
    bench.service.say("One.")
    ended = bench.ask()
    assert (ended.outcome, ended.failures) == ("done", ((ONE, "down"),))
    assert ended.detail.startswith(f'model "{ONE}": provider_error: ')
    bench.service.fail("provider_error")
    bench.service.fail("quota_exceeded")
    ended = bench.ask()
    assert (ended.outcome, ended.failures) == ("down", ((ONE, "down"), (TWO, "quota")))
    assert [ended.detail.count(words) for words in (f'model "{ONE}": ', f'model "{TWO}": ')] == [1, 1]


def test_what_the_second_model_said_stays_said(bench: Bench) -> None:
    bench.service.fail("provider_error")
    bench.service.say("One.\n\n" + "two " * 500, cut_after=30_000, chunks=4)
    ended = bench.ask(paragraphs=3)
    assert (ended.outcome, ended.value["finish"], ended.value["model"]) == ("done", "cut", TWO)
    assert (ended.again, bench.said) == (False, ["One."])


def test_what_was_said_stays_said_and_the_cut_answer_is_not_asked_for_again(bench: Bench) -> None:
    whole = "One.\n\nTwo.\n\n" + "three " * 500
    bench.service.say(whole, cut_after=30_000, chunks=4)
    ended = bench.ask(paragraphs=3)
    assert ended.value == {"text": "", "said": 2, "calls": [], "finish": "cut", "model": ONE, "tokens": 0}
    assert (ended.outcome, ended.again, bench.said, bench.asked()) == ("done", False, ["One.", "Two."], [ONE])
    (usage,) = ended.usage
    assert usage.estimated
    assert usage.prompt_tokens > 10
    assert usage.completion_tokens > 10


def test_after_a_crash_in_the_middle_of_an_answer_nothing_is_asked_again(bench: Bench) -> None:
    ended = bench.ask(already=2, paragraphs=3)
    assert (ended.outcome, ended.value["finish"], ended.value["said"]) == ("done", "cut", 2)
    assert bench.service.requests() == []


def test_a_service_that_cannot_be_reached_is_down(bench: Bench) -> None:
    bench.service.stop()
    ended = bench.ask()
    assert (ended.outcome, ended.again, ended.usage) == ("down", True, ())


def test_an_answer_that_is_cut_before_its_first_character_has_used_up_its_question(bench: Bench) -> None:
    for _ in range(2):
        bench.service.say("One.", cut_after=10)
    ended = bench.ask()
    assert (ended.outcome, bench.asked()) == ("down", [ONE, TWO])
    assert [(used.model, used.prompt_tokens > 0, used.completion_tokens) for used in ended.usage] == [
        *((ONE, True, 0), (TWO, True, 0))
    ]


def test_an_empty_answer_is_one_of_the_outcomes(bench: Bench) -> None:
    for _ in range(2):
        bench.service.say("  \n\n ")
    ended = bench.ask(paragraphs=3)
    assert (ended.outcome, ended.again, len(ended.usage)) == ("empty", False, 2)


@pytest.mark.parametrize(("text", "said"), [("One.\n\nTake two pills if", ["One."]), ("Take two", []), ("", [])])
def test_what_the_services_filter_has_cut_is_not_sent_as_if_it_were_whole(
    bench: Bench, text: str, said: list[str]
) -> None:
    bench.service.say(text, finish="content_filter", calls=[("cancel", {})])
    ended = bench.ask(paragraphs=3)
    assert (ended.outcome, ended.again, bench.said, bench.asked()) == ("unsafe", False, said, [ONE])
    assert len(ended.usage) == 1


def test_paragraphs_with_nothing_to_see_are_not_said(bench: Bench) -> None:
    bench.service.say("One.\n\n\u200b\n\n\u2800\n\nTwo.\n\n\u2060")
    assert bench.answer(paragraphs=9)["text"] == ""
    assert bench.said == ["One.", "Two."]


def test_a_page_of_a_proxy_is_no_answer(bench: Bench) -> None:
    for status in (200, 404):
        bench.service.send(status, b"<html>Log in: What about returns?</html>")
    assert (bench.ask(paragraphs=3).outcome, bench.asked(), bench.said) == ("down", [ONE, TWO], [])


def test_a_model_that_hangs_is_given_up_and_the_next_one_asked(bench: Bench) -> None:
    bench.client = Hurried(bench.service, ONE)
    bench.completing = bench.make(ONE, TWO)
    bench.service.answer_with(lambda request: NoAnswer() if request["model"] == ONE else "Here I am.")
    assert bench.ask().outcome == "done"
    assert bench.asked() == [ONE, TWO]


def test_a_model_that_thinks_first_is_waited_for_where_no_other_can_be_asked(bench: Bench) -> None:
    bench.client = Hurried(bench.service, ONE, moment=1.0)
    bench.completing = bench.make(ONE)
    bench.service.say(chunks=["After some thought: yes."], delay=1.5)
    ended = bench.ask()
    assert (ended.outcome, ended.value["text"]) == ("done", "After some thought: yes.")


class SilentFor(HttpClient):
    """A client for which the first model is silent as long as it may be. ``waits`` are, by request, the seconds for the first byte, for each
    further one, and for all."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.service.url)
        self.waits: list[tuple[float, float, float]] = []
        self._clock = bench.clock

    @contextmanager
    def stream(self, *asked: Any, **wait: Any) -> Iterator[Streamed]:
        first = min(wait["first_seconds"], wait["seconds"])
        self.waits.append((first, wait["idle_seconds"], wait["seconds"]))
        if len(self.waits) == 1:
            self._clock.move(timedelta(seconds=first))
            raise Silent("timed out")
        with super().stream(*asked, **wait) as streamed:
            yield streamed


@pytest.mark.parametrize(
    ("effect", "waits"),
    [
        ({}, [(60, 60, 200), (60, 60, 140)]),
        ({"seconds": 20.0}, [(10, 60, 20), (10, 60, 10)]),  # as a `classify` has it: the next model gets as much
        ({"seconds": 400.0}, [(60, 60, 400), (60, 60, 340)]),
    ],
)
def test_each_model_may_be_silent_for_a_minute_or_for_its_share_of_a_shorter_time(
    bench: Bench, effect: dict[str, Any], waits: list[tuple[float, float, float]]
) -> None:
    http = SilentFor(bench)
    bench.client = Completions(bench.service.url, bench.service.key, http=http)
    bench.completing = bench.make(ONE, TWO)
    assert bench.answer(**effect)["text"]
    assert [tuple(map(round, each)) for each in http.waits] == waits


@pytest.mark.parametrize("seconds", [60, 61])
def test_when_the_time_is_up_no_other_model_is_asked(bench: Bench, seconds: int) -> None:
    def answers_late(request: dict[str, Any]) -> str:
        bench.clock.move(timedelta(seconds=seconds))
        return THREE

    bench.service.answer_with(answers_late)
    ended = bench.ask(paragraphs=3, seconds=60.0)
    assert (ended.outcome, bench.said, bench.asked()) == ("timeout", [], [ONE])


def test_an_answer_that_drips_is_ended_in_time(bench: Bench) -> None:
    bench.service.drip("One.\n\n", delay=0.0)

    def say(text: str) -> bool:
        bench.clock.move(timedelta(seconds=20))
        return bench.say(text)

    ended = bench.completing(bench.row(paragraphs=10, seconds=60.0), say)
    assert (ended.value["finish"], bench.said) == ("cut", ["One.", "One.", "One."])
    assert bench.service.wait_until(lambda: bench.service.counts.get("abandoned") == 1)


def test_an_answer_without_end_is_bounded(bench: Bench) -> None:
    bench.service.drip("blah ", delay=0.0)
    answer = bench.answer(max_tokens=10)
    assert answer["finish"] == "length"
    assert 80 < len(answer["text"]) < 100
    assert bench.service.wait_until(lambda: bench.service.counts.get("abandoned") == 1)


def test_nobody_reads_on_when_nobody_waits_any_more(bench: Bench) -> None:
    bench.service.drip("One.\n\n", delay=0.0)
    ended = bench.completing(bench.row(paragraphs=10), lambda text: False)
    assert ended.outcome == "timeout"
    assert (bench.asked(), len(ended.usage)) == ([ONE], 1)
    assert bench.service.wait_until(lambda: bench.service.counts.get("abandoned") == 1)


def test_without_any_model_the_operator_is_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.completing = bench.make()
    assert bench.ask().outcome == "refused"
    assert "BOT_AI_MODEL" in caplog.text


# The breaker


def test_a_model_that_fails_contact_after_contact_is_left_alone_then_tried_once(bench: Bench) -> None:
    bench.completing = bench.make(ONE)
    for contact in CONTACTS:
        bench.service.fail("provider_error")
        assert bench.ask(contact=contact).again
    ended = bench.ask()
    assert (ended.outcome, ended.again, len(bench.asked())) == ("down", False, FAILURES)
    bench.clock.move(PAUSE)
    bench.service.say("Hello.")
    assert bench.answer()["text"] == "Hello."
    assert bench.answer()["model"] == ONE


@pytest.mark.parametrize("name", ["invalid_request_error", "model_requires_package", "model_not_in_package"])
def test_a_model_that_nobody_may_ask_is_left_alone_too(bench: Bench, name: str) -> None:
    bench.completing = bench.make(ONE)
    for contact in CONTACTS:
        bench.service.fail(name, 401 if name == "invalid_request_error" else None)
        assert bench.ask(contact=contact).outcome == "refused"
    assert (bench.ask().outcome, len(bench.asked())) == ("refused", FAILURES)


def test_several_tries_of_one_contacts_questions_close_the_model_to_nobody(bench: Bench) -> None:
    bench.completing = bench.make(ONE)
    for _ in range(3 * FAILURES):
        bench.service.fail("provider_error")
        assert bench.ask().again
    assert bench.ask(contact=BOB).outcome == "done"


TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (lambda service: service.say("  "), "empty"),
        (lambda service: service.say(calls=[("find", {})] * 300), "down"),
        (lambda service: service.say(calls=[("find", {"number": "1" * 100_000})]), "down"),
        (lambda service: service.fail("invalid_request_error", message=TOO_LONG), "refused"),
        (lambda service: service.fail("content_filter", 400), "unsafe"),
        (lambda service: service.fail("invalid_request_error"), "refused"),
        (lambda service: service.say("no paragraph " * 90, cut_after=3_000, chunks=4), "down"),
        (lambda service: service.say("no paragraph", error=failure("provider_error")), "down"),
        (lambda service: service.say("a few words and then nothing", stall_after=600, chunks=4), "timeout"),
    ],
    ids=["empty", "many calls", "long calls", "too long", "filtered", "refused", "cut", "broken off", "stalled"],
)
def test_what_contacts_make_happen_by_what_they_write_closes_the_model_to_nobody(
    bench: Bench, cause: Callable[[CompletionService], None], outcome: str
) -> None:
    bench.client = hurried = Hurried(bench.service, *([ONE] if outcome == "timeout" else []))
    bench.completing = bench.make(ONE)
    for contact in CONTACTS:
        cause(bench.service)
        assert bench.ask(contact=contact).outcome == outcome
    hurried.of.clear()
    assert bench.ask(contact=BOB).outcome == "done"


def test_what_a_contact_writes_is_no_error_for_the_operator(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.completing = bench.make(ONE)
    for name, outcome in {"context_length_exceeded": "refused", "content_filter": "unsafe"}.items():
        bench.service.fail(name, 400)
        assert bench.ask().outcome == outcome
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


@pytest.mark.parametrize(
    ("name", "http", "costs"),
    [
        ("context_length_exceeded", 400, True),
        ("content_filter", 400, True),
        ("invalid_request_error", None, True),
        ("server_error", None, True),
        ("provider_error", None, True),
        ("rate_limit_exceeded", None, False),
        ("quota_exceeded", None, False),
        ("model_requires_package", None, False),
        ("model_not_in_package", None, False),
    ],
)
def test_a_question_is_counted_where_a_model_may_have_read_it(
    bench: Bench, name: str, http: int | None, costs: bool
) -> None:
    bench.completing = bench.make(ONE)
    bench.service.fail(name, http)
    assert bool(bench.ask().usage) == costs


def test_a_conversation_that_is_too_long_for_the_model_is_asked_about_once_more_without_its_earlier_turns(
    bench: Bench,
) -> None:
    earlier = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    bench.service.fail("invalid_request_error", message=TOO_LONG)
    answer = bench.answer(messages=(SYSTEM, *earlier, ASKED), history=2)
    assert (answer["model"], bench.asked()) == (ONE, [ONE, ONE])
    assert [request.body["messages"] for request in bench.service.requests()] == [
        [SYSTEM, *earlier, ASKED],
        [SYSTEM, ASKED],
    ]


def test_a_message_that_alone_is_too_long_is_not_asked_about_again(bench: Bench) -> None:
    for _ in range(4):
        bench.service.fail("context_length_exceeded", 400)
    ended = bench.ask(messages=(SYSTEM, ASKED, ASKED), history=1)
    assert (ended.outcome, ended.again) == ("refused", False)
    assert bench.asked() == [ONE, ONE, TWO, TWO]


def test_every_error_has_a_row() -> None:
    kinds = [kind for kind in vars(ai_errors).values() if isinstance(kind, type) and issubclass(kind, CompletionError)]
    assert FAILURE_ROWS.keys() == {*kinds} - {CompletionError}


def test_a_model_whose_quota_is_used_up_is_left_alone_until_it_is_renewed(bench: Bench) -> None:
    bench.completing = bench.make(ONE)
    bench.service.fail("quota_exceeded", reset_in=7200)
    assert [bench.ask().outcome, bench.ask().outcome] == ["quota", "quota"]
    assert len(bench.asked()) == 1
    bench.clock.move(timedelta(hours=2))
    assert bench.ask().outcome == "done"


def test_a_request_that_is_refused_says_nothing_against_the_model(bench: Bench) -> None:
    bench.completing = bench.make(ONE)
    for _ in range(FAILURES + 1):
        bench.service.fail("invalid_request_error")
        assert bench.ask().outcome == "refused"
    assert bench.ask().outcome == "done"


# Budgets and usage


def test_usage_is_the_services_own_count_where_it_says(bench: Bench) -> None:
    bench.service.say("Hello.", usage=True)
    (usage,) = bench.ask().usage
    assert (usage.model, usage.estimated) == (ONE, False)
    bench.service.say("Hello.", usage=False)
    (usage,) = bench.ask().usage
    assert (usage.model, usage.estimated) == (ONE, True)
    assert usage.prompt_tokens > 0 < usage.completion_tokens


def test_every_try_counts(bench: Bench) -> None:
    bench.service.say(THREE * 20, cut_after=1000, chunks=2)
    bench.service.say("Hello.")
    assert [usage.model for usage in bench.ask().usage] == [ONE, TWO]


@pytest.mark.parametrize(
    ("name", "http", "counted"),
    [
        ("invalid_request_error", 400, True),
        ("context_length_exceeded", 400, True),
        ("server_error", 500, True),
        ("provider_error", 502, True),
        ("rate_limit_exceeded", 429, False),
        ("quota_exceeded", 429, False),
        ("invalid_request_error", 401, False),
        ("model_requires_package", 403, False),
    ],
)
def test_a_request_that_fails_counts_what_was_asked_unless_no_model_has_read_it(
    bench: Bench, name: str, http: int, counted: bool
) -> None:
    bench.completing = bench.make(ONE)
    bench.service.fail(name, http)
    asked = ChatRequest(ONE, [SYSTEM, ASKED]).estimate("")
    assert bench.ask().usage == ((asked,) if counted else ())


def test_a_model_that_hangs_has_read_what_was_asked(bench: Bench) -> None:
    bench.client = Hurried(bench.service, ONE)
    bench.completing = bench.make(ONE, TWO)
    bench.service.answer_with(lambda request: NoAnswer() if request["model"] == ONE else "Here I am.")
    assert [usage.model for usage in bench.ask().usage] == [ONE, TWO]


def test_a_model_that_hangs_is_counted_before_the_question_is_given_up(bench: Bench) -> None:
    bench.completing = bench.make(ONE)
    bench.service.hang()
    ended = bench.ask(seconds=0.3)
    assert (ended.outcome, len(ended.usage)) == ("timeout", 1)


def test_after_a_crash_in_the_middle_of_an_answer_its_question_is_counted(bench: Bench) -> None:
    assert bench.ask(already=1).usage == (ChatRequest(ONE, [SYSTEM, ASKED]).estimate(""),)


def reports(service: CompletionService, asked: int, answered: int) -> None:
    choice = {"index": 0, "message": {"content": "Hello."}, "finish_reason": "stop"}
    usage = {"prompt_tokens": asked, "completion_tokens": answered}
    service.send(200, json.dumps({"choices": [choice], "usage": usage}).encode(), "application/json")


def test_a_usage_that_cannot_be_is_estimated_and_logged_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    chat_completion._warn_of.cache_clear()
    for asked, answered in ((2_000_000_000, 0), (0, 2_000_000_000), (9_000, 9_000), (1 << 70, 1)):
        reports(bench.service, asked, answered)
        (usage,) = bench.ask().usage
        assert usage.estimated
        assert usage.counted < 1_000
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "more tokens than" in caplog.text


def test_a_usage_that_can_be_is_believed(bench: Bench) -> None:
    reports(bench.service, 90, 1024)
    assert [usage.estimated for usage in bench.ask().usage] == [False]


def test_the_budget_is_looked_at_before_each_request(bench: Bench) -> None:
    bench.service.say("  ")
    bench.used = {ANN: 0}
    ended = bench.ask(budget=TokenBudget(contact=100))
    assert (ended.outcome, bench.asked()) == ("over_budget", [ONE])
    assert len(ended.usage) == 1


def test_the_budget_of_a_turn_counts_from_its_beginning(bench: Bench) -> None:
    bench.used = {ANN: 100}
    began = NOON - timedelta(seconds=40)
    assert bench.ask(budget=TokenBudget(turn=100, since=began)).outcome == "over_budget"
    assert bench.ask(budget=TokenBudget(turn=101, since=began)).outcome == "done"
    assert bench.since == {began}


def test_it_is_an_alarm_that_the_budget_of_all_is_used_up(bench: Bench) -> None:
    bench.used = {None: 100}
    assert bench.ask(budget=TokenBudget(all=100), flow="help").outcome == "over_budget"
    (alarm,) = bench.alarms.current()
    assert (alarm.name, alarm.about) == ("model-budget-used-up", "help")
    assert ANN not in alarm.what
    bench.used = {None: 0}
    assert bench.ask(budget=TokenBudget(all=100), flow="help").outcome == "done"
    assert bench.alarms.current() == []


@pytest.mark.parametrize(
    ("name", "said", "what"),
    [
        ("quota_exceeded", {"reset_in": 7200}, "its quota is used up until 2030-05-01 14:00 UTC"),
        ("quota_exceeded", {}, "its quota is used up"),
        ("model_requires_package", {}, "only customers with an active package may use it"),
        ("model_not_in_package", {}, "it is not in the account's package"),
        ("invalid_request_error", {"http": 401}, "the service refuses the key"),
    ],
)
def test_a_model_that_the_account_may_not_ask_is_an_alarm_until_it_answers(
    bench: Bench, name: str, said: dict[str, Any], what: str
) -> None:
    bench.service.fail(name, **said)
    bench.ask()  # another model may answer
    (alarm,) = bench.alarms.current()
    assert (alarm.name, alarm.about, alarm.what) == ("model-refused", ONE, f'model "{ONE}": {what}')
    assert "BOT_AI_" in alarm.advice and ANN not in alarm.what
    bench.clock.move(timedelta(hours=3))
    assert bench.answer()["model"] == ONE
    assert bench.alarms.current() == []


@pytest.mark.parametrize("name", ["provider_error", "server_error", "rate_limit_exceeded", "invalid_request_error"])
def test_what_the_operator_cannot_put_right_is_no_such_alarm(bench: Bench, name: str) -> None:
    bench.service.fail(name)
    bench.ask()
    assert bench.alarms.current() == []


@pytest.mark.parametrize(("contact", "everybody", "asked"), [(99, 999, 1), (100, 999, 0), (99, 1000, 0)])
def test_beyond_a_budget_nothing_is_asked(bench: Bench, contact: int, everybody: int, asked: int) -> None:
    bench.used = {ANN: contact, None: everybody}
    ended = bench.ask(budget=TokenBudget(contact=100, all=1000))
    assert ended.outcome == ("done" if asked else "over_budget")
    assert len(bench.asked()) == asked
    assert bench.since == {datetime(2030, 5, 1, tzinfo=UTC)}


def test_a_budget_that_cannot_be_read_is_not_spent(bench: Bench) -> None:
    def fails(contact: str | None, since: datetime) -> int:
        raise StoreUnavailable("bot.db cannot be used now", "make room on its disk")

    bench.completing._used = fails
    ended = bench.ask(budget=TokenBudget(all=1))
    assert (ended.outcome, ended.again, bench.asked()) == ("down", True, [])


# The moderator


def test_each_text_is_judged_before_it_is_sent(bench: Bench) -> None:
    bench.service.say("One.\n\nTwo.\n\nThree.")
    assert bench.answer(paragraphs=1, said="allows")["text"] == "Two.\n\nThree."
    assert bench.said == ["One."]


@pytest.mark.parametrize(
    ("text", "said"), [("bad.\n\nTwo.", []), ("One.\n\nbad.\n\nTwo.", ["One."]), ("One, bad.", [])]
)
def test_what_is_not_let_through_is_not_sent_nor_asked_for_again(bench: Bench, text: str, said: list[str]) -> None:
    bench.service.say(text)
    ended = bench.ask(paragraphs=3, said="allows")
    assert (ended.outcome, ended.again, bench.said, bench.asked()) == ("unsafe", False, said, [ONE])
    assert ended.usage


@pytest.mark.parametrize("moderator", ["breaks", "answers_nothing", "gone"])
def test_a_moderator_that_fails_lets_nothing_through(
    bench: Bench, moderator: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench.service.say("One.\n\nTwo.")
    assert bench.ask(paragraphs=3, said=moderator).outcome == "unsafe"
    assert bench.said == []
    assert "One." not in caplog.text


def test_an_answer_is_judged_by_its_parts_and_as_a_whole(bench: Bench) -> None:
    bench.service.say("You are not\n\nba\n\nd.", calls=[("cancel", {"why": "d"}), ("find", {"of": {"it": ["a", 1]}})])
    assert bench.answer(paragraphs=1, said="notes")["said"] == 1
    first, rest, given = "You are not", "ba\n\nd.", "d\nit\na"
    assert bench.judged == [first, rest, f"{first}\n\n{rest}", given, f"{first}\n\n{rest}\n\n{given}"]


def test_what_a_call_gives_is_judged_before_anything_is_done_with_it(bench: Bench) -> None:
    bench.service.say("One moment.", calls=[("cancel", '{"why": "b\\u0061d"}')])
    ended = bench.ask(said="allows")
    assert (ended.outcome, ended.detail) == ("unsafe", 'moderate: "allows" refused what the model said')


def test_what_the_model_is_to_read_is_judged_before_it_does(bench: Bench) -> None:
    messages = (
        SYSTEM,
        {"role": "user", "content": "a bad word of before"},
        ASKED,
        {"role": "user", "content": "a bad word"},
    )
    effect = AskModel(messages, fresh=(2, 3), heard="allows")
    row = replace(bench.row(), effect=effect)
    ended = bench.completing(row, bench.say)
    assert (ended.outcome, ended.again, ended.usage, bench.asked()) == ("unsafe", False, (), [])
    assert ended.detail == 'moderate: "allows" refused what the model was to read'
    assert bench.completing(replace(row, effect=replace(effect, fresh=(2,))), bench.say).outcome == "done"


@pytest.mark.parametrize("moderator", ["breaks", "answers_nothing", "gone"])
def test_where_the_moderator_fails_the_model_reads_nothing(bench: Bench, moderator: str) -> None:
    assert bench.ask(heard=moderator, fresh=(1,)).outcome == "unsafe"
    assert bench.asked() == []


# With the performers


def test_a_try_that_failed_is_repeated_and_its_paragraphs_are_reported_in_order(bench: Bench) -> None:
    results: list[CallResult] = []
    changed = threading.Condition()

    def report(result: CallResult) -> None:
        with changed:
            results.append(result)
            changed.notify_all()

    def after(count: int) -> list[str]:
        with changed:
            assert changed.wait_for(lambda: len(results) >= count, 20)
        return [result.outcome for result in results]

    performers = Performers(bench.completing, bench.clock, report, random=Random(1))
    performers.start()
    for _ in range(2):
        bench.service.fail("provider_error")
    bench.service.say(THREE, chunks=1)
    performers.offer([bench.row(paragraphs=2)])
    assert after(1) == ["retry"]
    bench.clock.move(timedelta(seconds=2))
    assert after(4) == ["retry", "said", "said", "done"]
    assert [result.value for result in results[1:3]] == ["One.", "Two."]
    assert results[-1].value["text"] == "Three."
    performers.stop(10)
