import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

import pytest

from bot.core import telemetry
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.gathered import Extensions
from tests.engine.test_slots import ORDER
from tests.talk import Talk

FLOW = Source("main.yml", b"flow: main\nsteps: {a: {say: x}}")
SECRET = "key-of-the-gateway"


@contextmanager
def logging_set_up(format: str = "text", *, turns: bool = False) -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    telemetry.set_up("web", [SECRET], format, turns=turns)
    try:
        yield logging.getLogger("bot.test")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        telemetry.turn_log.setLevel(logging.NOTSET)


def test_a_record_is_one_line_with_its_level_and_process(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_set_up() as log:
        log.warning("two\nlines")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("warning web    two lines")


def test_secrets_and_long_numbers_are_blotted_out(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_set_up() as log:
        log.info("%s wrote with %s, at port 8000", "6281234567890", SECRET)
    line = capsys.readouterr().err
    assert "…90 wrote with [secret], at port 8000" in line
    assert "6281234" not in line


def test_email_addresses_are_blotted_out_and_those_of_databases_stay(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_set_up() as log:
        log.info("the broadcast %r in %s", "for ann@zoo.example", "postgresql://bot@db.example/bot")
    assert "the broadcast 'for …' in postgresql://bot@db.example/bot" in capsys.readouterr().err


def test_of_a_secret_that_begins_with_another_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_set_up() as log:
        telemetry.hide([f"{SECRET}-2", ""])
        log.info("%s-2 and %s", SECRET, SECRET)
    assert capsys.readouterr().err.endswith(" [secret] and [secret]\n")


@pytest.mark.parametrize("secret", ["k", "key", "geheim7", "a.b"])
def test_a_short_secret_is_blotted_out_only_where_it_stands_alone(secret: str) -> None:
    words = f"as do x{secret}x, {secret}s, 1{secret}"
    text = f"takes {secret}, ({secret}) and {secret}={secret}: words stay, {words}"
    assert telemetry.redact(text, [secret]) == f"takes [secret], ([secret]) and [secret]=[secret]: words stay, {words}"


def test_a_long_secret_is_blotted_out_within_words_too() -> None:
    assert telemetry.redact("Bearer_12345678x", ["12345678"]) == "Bearer_[secret]x"


def test_a_version_of_the_flows_is_never_taken_for_a_number() -> None:
    versions = [load([Source("bot.yml", f"name: {n}".encode()), FLOW], Extensions()).library for n in range(300)]
    for library in versions:
        assert library is not None
        assert telemetry.redact(f"version {library.version}") == f"version {library.version}"


def test_the_ids_that_the_bot_gives_to_events_are_never_taken_for_numbers() -> None:
    digests = [sha256(str(n).encode()).hexdigest() for n in range(300)]
    ids = [f"signal:{digest[:40]}" for digest in digests] + [f"operator:{digest[:32]}#0" for digest in digests]
    assert [telemetry.redact(f"event_id={id}") for id in ids] == [f"event_id={id}" for id in ids]
    assert telemetry.redact("6281234567890abcdef") == "…90abcdef"
    assert telemetry.redact("6281234567890" * 3) == "…90"


def test_an_exception_is_logged_by_type_and_place_without_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_set_up() as log:
        try:
            raise ValueError("what a contact wrote")
        except ValueError:
            log.exception("a turn failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "a turn failed: ValueError at tests/core/test_telemetry.py" in line
    assert "contact" not in line


def test_a_number_written_with_spaces_is_blotted_out_too_and_a_date_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_set_up() as log:
        log.info("+62 812-3456-7890 and +62 (812) 345.67.89 on 2030-05-06 10:00:00")
    line = capsys.readouterr().err
    assert "…90 and …89 on 2030-05-06 10:00:00" in line


def test_in_json_a_record_is_an_object_without_secrets_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_set_up("json") as log:
        log.warning("%s wrote\nwith %s", "6281234567890", SECRET)
        log.error("a turn", extra={"fields": {"event_id": "time:6281234567890:1", "steps": [SECRET], "sends": 2}})
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["process"], first["logger"]) == ("warning", "web", "bot.test")
    assert first["message"] == "…90 wrote with [secret]"
    assert (second["event_id"], second["steps"], second["sends"]) == ("time:…90:1", ["[secret]"], 2)


def test_turns_are_logged_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for turns, lines in ((False, 0), (True, 1)):
        with logging_set_up(turns=turns):
            logging.getLogger(telemetry.TURNS).info("turn")
        assert len(capsys.readouterr().err.splitlines()) == lines


def test_a_turns_rule_quotes_no_answer_of_a_contact(capsys: pytest.CaptureFixture[str]) -> None:
    talk = Talk(ORDER)
    talk.user("order two large ones for Friday")
    assert talk.turn is not None and '"two"' in talk.turn.trace.rule
    with logging_set_up(turns=True):
        telemetry.log_turns([(talk.event, talk.turn, 5)], "store")
    line = capsys.readouterr().err
    assert "answers" in line and "two" not in line and "Friday" not in line
