import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.values import time_text
from bot.store.sqlite_schema import migrate
from tests.cli.terminal import call
from tests.store.store_kit import beside_the_store

ANN, BEN = "6281234567890", "6281234567891"


@pytest.fixture
def used(bot: Path) -> Path:
    """The folder of a bot of which models have answered, two hours and two weeks ago."""
    migrate(bot / "bot.db")
    now = datetime.now(UTC)
    rows = [
        (now - timedelta(hours=2), ANN, "shop", "maker/first", 1000, 200, 0),
        (now - timedelta(hours=2), BEN, "shop", "maker/second", 10, 5, 1),
        (now - timedelta(days=14), ANN, "shop", "maker/first", 7, 7, 0),
    ]
    with beside_the_store(bot / "bot.db") as execute:
        for at, *rest in rows:
            execute(
                "INSERT INTO usage (at, contact, flow, model, prompt_tokens, completion_tokens, estimated) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (time_text(at), *rest),
            )
    return bot


def test_tokens_are_added_up_by_model_the_most_first(used: Path) -> None:
    shown = call("usage", "--bot", used)
    assert (shown.code, shown.err) == (0, "")
    assert [line.split() for line in shown.lines] == [
        ["model", "answers", "prompt", "completion", "tokens"],
        ["maker/first", "1", "1,000", "200", "1,200"],
        ["maker/second", "1", "10", "5", "15", "~"],
        ["all", "2", "1,010", "205", "1,215", "~"],
    ]


def test_one_line_needs_no_sum(used: Path) -> None:
    assert [line.split()[0] for line in call("usage", "--by", "flow", "--bot", used).lines] == ["flow", "shop"]


def test_programs_get_the_sums_as_objects(used: Path) -> None:
    first, second = json.loads(call("usage", "--by", "contact", "--since", "30d", "--json", "--bot", used).out)
    assert first == {
        "contact": ANN,
        "answers": 2,
        "prompt_tokens": 1007,
        "completion_tokens": 207,
        "estimated": 0,
    }
    assert (second["contact"], second["estimated"]) == (BEN, 1)


def test_days_are_in_order(used: Path) -> None:
    days = [
        line["day"] for line in json.loads(call("usage", "--by", "day", "--since", "4w", "--json", "--bot", used).out)
    ]
    assert len(days) == 2 and days == sorted(days)


def test_a_bot_of_which_no_model_has_answered_has_used_nothing(bot: Path) -> None:
    migrate(bot / "bot.db")
    shown = call("usage", "--since", "1d", "--bot", bot)
    assert (shown.code, shown.out) == (0, "No model has answered in the last 1d.\n")


def test_there_is_no_usage_without_a_store(bot: Path) -> None:
    assert call("usage", "--bot", bot).code == 1


@pytest.mark.parametrize("arguments", [["--since", "yesterday"], ["--by", "hour"], ["x"]])
def test_wrong_usage_of_usage(bot: Path, arguments: list[str]) -> None:
    assert call("usage", *arguments, "--bot", bot).code == 2
