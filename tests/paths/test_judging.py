"""Answers of a model that another model judges, in a bot that runs."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.settings import ModelService
from bot.store.results import judged_answers
from bot.store.store_reader import StoreReader
from bot.testing.emulator.completion import CompletionService, EmulatedModel, failure
from tests.cli.keeping import CONTACT, START, Kept, kept
from tests.cli.terminal import call, make_bot
from tests.patience import PATIENCE
from tests.postgres import store_at

FLOW = """
flow: talk
start: {otherwise: true}
steps:
  talk:
    ai: You help.
    exits: {done: {when: all is said, then: end}}
    judge: {share: 100%, questions: [Is it polite?]}
    errors: {else: end}
"""


@pytest.fixture
def service() -> Iterator[CompletionService]:
    with CompletionService(models=[EmulatedModel("acme/swift"), EmulatedModel("acme/wise")]) as service:
        yield service


def models(service: CompletionService) -> ModelService:
    return ModelService(service.url, service.key, ("acme/swift", "acme/wise"), "authorization")


def says(verdict: Any) -> Any:
    """A model that answers, and judges so."""
    return lambda request: verdict if "You judge" in request["messages"][0]["content"] else "What?!"


def sent(bot: Kept, number: int) -> bool:
    """True if so many messages were sent."""
    return len(bot.sent) == number


def test_a_verdict_is_counted_by_day_and_stands_in_the_trace_of_the_contact(
    tmp_path: Path, service: CompletionService
) -> None:
    make_bot(tmp_path, FLOW)
    service.answer_with(says("No, it is rude."))
    with kept(tmp_path, models=models(service)) as bot:
        bot.user("hello")
        assert bot.sent == ["text"]
        assert [seen.body["model"] for seen in service.requests()] == ["acme/swift", "acme/wise"]
    with closing(StoreReader(store_at(tmp_path / "bot.db"))) as reader:
        (found,) = judged_answers(reader.results(START))
        assert (found.flow, found.step, found.question) == ("talk", "talk", "Is it polite?")
        assert (found.days, found.passed) == ({"2030-05-06": {"no": 1}}, 0.0)
        (wrong,) = reader.trace.judged_wrong(5)
        assert (wrong.contact, wrong.question, wrong.reason) == (CONTACT, "Is it polite?", "no: it is rude.")
        assert {each.name for each in reader.usage.sums(START, "model")} == {"acme/wise", "acme/swift"}
    assert "judged" in call("trace", CONTACT, "--bot", tmp_path).out
    assert "judged" not in call("report", "talk", "--bot", tmp_path).out


def test_no_reply_waits_for_a_judge(tmp_path: Path, service: CompletionService) -> None:
    make_bot(tmp_path, FLOW)
    free = threading.Event()

    def answer(request: dict[str, Any]) -> str:
        judges = "You judge" in request["messages"][0]["content"]
        assert not judges or free.wait(PATIENCE)
        return "Yes." if judges else "What?!"

    service.answer_with(answer)
    with kept(tmp_path, models=models(service)) as bot:
        for number in (1, 2):
            bot.emulator.receive(CONTACT, "hello")
            assert bot.emulator.wait_until(partial(sent, bot, number), PATIENCE)
        free.set()
        bot.settle()
    with closing(StoreReader(store_at(tmp_path / "bot.db"))) as reader:
        assert [found.verdicts for found in judged_answers(reader.results(START))] == [{"yes": 2}]


def test_a_judge_that_is_busy_is_asked_again_after_a_restart(tmp_path: Path, service: CompletionService) -> None:
    make_bot(tmp_path, FLOW)
    service.answer_with(says(failure("rate_limit_exceeded")))
    with kept(tmp_path, models=models(service)) as bot:
        bot.user("hello")
        assert bot.sent == ["text"]
    service.answer_with(says("Yes."))
    with kept(tmp_path, models=models(service), start=START + timedelta(hours=1)) as bot:
        bot.settle()
    with closing(StoreReader(store_at(tmp_path / "bot.db"))) as reader:
        assert [found.verdicts for found in judged_answers(reader.results(START))] == [{"yes": 1}]


def test_a_judge_that_fails_is_no_verdict_and_no_contact_sees_it(tmp_path: Path, service: CompletionService) -> None:
    make_bot(tmp_path, FLOW)
    service.answer_with(says(failure("invalid_request_error")))
    with kept(tmp_path, models=models(service)) as bot:
        bot.user("hello", "and now?")
        assert bot.sent == ["text", "text"]
    with closing(StoreReader(store_at(tmp_path / "bot.db"))) as reader:
        (found,) = judged_answers(reader.results(START))
        assert (found.verdicts, found.passed) == ({"none": 2}, None)
        assert reader.trace.judged_wrong(5) == []
