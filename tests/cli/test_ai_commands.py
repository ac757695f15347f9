"""``bot ai`` and ``bot models``."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.testing.emulator.completion import CompletionService
from tests.cli.terminal import call

FIRST, SECOND = "maker/first", "maker/second"


@pytest.fixture
def service() -> Iterator[CompletionService]:
    with CompletionService(models=(FIRST, SECOND), threads=2) as emulated:
        yield emulated


@pytest.fixture(autouse=True)
def asking(service: CompletionService, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of a bot that asks the service's first model."""
    for name, value in {"URL": service.url, "KEY": service.key, "MODEL": FIRST}.items():
        monkeypatch.setenv(f"BOT_AI_{name}", value)


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_a_question_is_answered(bot: Path, service: CompletionService, options: list[str]) -> None:
    service.say("It is Paris.\n\nIndeed.")
    answered = call("ai", "What is the capital of France?", "--bot", bot, *options)
    assert (answered.code, answered.out) == (0, "It is Paris.\n\nIndeed.\n")
    assert answered.err.startswith(f"{FIRST}: ") and answered.err.endswith(" tokens\n")
    (asked,) = service.requests()
    assert asked.body["messages"] == [{"role": "user", "content": "What is the capital of France?"}]
    assert service.unknown_fields == set()


def test_another_model_can_be_asked(bot: Path, service: CompletionService) -> None:
    assert call("ai", "Hello", "--model", SECOND, "--bot", bot).code == 0
    assert service.requests()[0].body["model"] == SECOND


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_a_model_that_the_service_does_not_list_is_named(bot: Path, options: list[str]) -> None:
    refused = call("ai", "Hello", "--model", "maker/frist", "--bot", bot, *options)
    assert (refused.code, 'there is no model "maker/frist" (did you mean "maker/first"?)' in refused.err) == (2, True)


def test_a_request_that_is_refused_for_another_reason_says_it(bot: Path, service: CompletionService) -> None:
    service.fail("invalid_request_error", message="too long")
    assert call("ai", "Hello", "--bot", bot).err.startswith("invalid_request_error: too long")


def test_programs_get_the_answer_as_an_object(bot: Path, service: CompletionService) -> None:
    service.say("Yes", finish="length", usage=False)
    answer = json.loads(call("ai", "Yes?", "--json", "--bot", bot).out)
    assert (answer["text"], answer["model"], answer["finish"]) == ("Yes", FIRST, "length")
    assert answer["usage"]["estimated"] is True


def test_an_answer_that_was_cut_or_not_counted_says_so(bot: Path, service: CompletionService) -> None:
    service.say("Yes", finish="length", usage=False)
    about = call("ai", "Yes?", "--bot", bot).err
    assert "about" in about and about.endswith(", cut at its longest\n")


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_a_models_words_cannot_move_the_cursor(bot: Path, service: CompletionService, options: list[str]) -> None:
    service.say("\x1b[2Jhidden\r\n\tdone")
    assert call("ai", "Hello", "--bot", bot, *options).out == "[2Jhidden\n\tdone\n"


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_what_went_wrong_is_said_with_what_to_do_and_without_the_key(
    bot: Path, service: CompletionService, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_AI_KEY", "sk-wrong-key")
    refused = call("ai", "Hello", "--bot", bot, *options)
    assert refused.code == 1
    assert "BOT_AI_KEY" in refused.err
    assert "sk-wrong-key" not in refused.err + refused.out


def test_a_stream_that_is_cut_ends_in_words(bot: Path, service: CompletionService) -> None:
    service.say("It is Paris, and has been for long.", cut_after=300)
    cut = call("ai", "Hello", "--stream", "--bot", bot)
    assert cut.code == 1
    assert "Traceback" not in cut.err and cut.err


def test_the_service_has_to_be_set(bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOT_AI_URL")
    refused = call("ai", "Hello", "--bot", bot)
    assert refused.code == 1
    assert refused.err.startswith("BOT_AI_URL is missing: set it")


@pytest.mark.parametrize("arguments", [[], ["Hello", "--json", "--stream"], ["two", "questions"]])
def test_wrong_usage_of_ai(bot: Path, arguments: list[str]) -> None:
    assert call("ai", *arguments, "--bot", bot).code == 2


def test_without_a_model_there_is_nobody_to_ask(bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOT_AI_MODEL")
    refused = call("ai", "Hello", "--bot", bot)
    assert (refused.code, "--model SLUG" in refused.err) == (2, True)


def test_the_models_are_listed_and_the_bots_own_is_marked(bot: Path) -> None:
    shown = call("models", "--bot", bot)
    assert (shown.code, shown.err) == (0, "")
    assert [line.split() for line in shown.lines] == [
        ["*", FIRST, "First", "maker"],
        [SECOND, "Second", "maker"],
        ["2", "models."],
    ]


def test_programs_get_the_models_as_objects(bot: Path) -> None:
    first, second = json.loads(call("models", "--json", "--bot", bot).out)
    assert first == {"id": FIRST, "owned_by": "maker", "name": "First", "used": True}
    assert second["used"] is False


def test_a_model_of_the_bots_that_is_not_in_the_list_is_named(bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_AI_MODEL", f"{FIRST},maker/gone")
    shown = call("models", "--bot", bot)
    assert (shown.code, shown.err) == (1, "BOT_AI_MODEL names maker/gone, which is not in the list.\n")
