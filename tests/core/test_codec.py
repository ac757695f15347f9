"""Everything that a conversation can hold comes back from the store as it went in."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.messages import Buttons, Choice, TemplateMessage
from bot.core.session import Frame, Session, UnreadableSession, read_session
from bot.core.values import Location, Media, Record, UnstorableValue, dumps, json_text, loads, plain

SINGLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**15), 10**15),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.dates(),
    st.times(),
    st.datetimes(timezones=st.just(UTC)),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400)),
    st.builds(Media, st.text(), st.text()),
    st.builds(Location, st.floats(-90, 90), st.floats(-180, 180)),
)
KEYS = st.one_of(st.text(), st.sampled_from(["$date", "$dict", "$record", "$"]))
VALUES = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(KEYS, inner, max_size=4),
        st.builds(Record, st.text(), st.dictionaries(st.text(), inner, max_size=3)),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=12,
)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    back = loads(dumps(value))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        2**64,
        -(2**70),
        [10**30, 1.5],
        1e300,
        -(2.0**63),
        {"n": [2**63, 2.0**64]},
        "half \ud83d",
        {"half \udc00": ["\ud83d"]},
    ],
)
def test_what_the_fast_codec_does_not_know_comes_back_as_it_was(value: Any) -> None:
    for back in (loads(dumps(value)), loads(json_text(value))):
        assert back == value
        assert str(back) == str(value)


def test_a_time_is_written_as_python_writes_it() -> None:
    for at in (
        datetime(2030, 5, 6, tzinfo=UTC),
        datetime(2030, 5, 6, 7, 8, 9, 10, tzinfo=timezone(timedelta(hours=5))),
    ):
        assert dumps(at) == f'{{"$datetime":"{at.isoformat()}"}}'
        assert loads(dumps(at)).utcoffset() == at.utcoffset()


def test_a_session_comes_back_as_it_was() -> None:
    at = datetime(2030, 5, 6, 10, tzinfo=UTC)
    slot = Record("Slot", {"time": time(9), "price": Decimal("1.10"), "starts": at})
    frame = Frame(
        "book", "slot", 7, at, at, vars={"day": date(2030, 5, 12), "slot": slot}, visit_counts={"book/day": 2}
    )
    session = Session("6281234567890", tags=("a", "b"), last_inbound=at, frames=(frame,))
    assert loads(dumps(session)) == session


def test_messages_come_back_as_they_were() -> None:
    for message in (
        Buttons("?", (Choice("1", "Yes"), Choice("2", "No"))),
        TemplateMessage(
            "t", "en", {"type": "text", "text": "x"}, ({"type": "text", "text": "y"},), ("p",), ((1, "u"),)
        ),
    ):
        assert loads(dumps(message)) == message


def test_what_has_its_default_is_not_written_and_is_there_again() -> None:
    session = Session("6281234567890", tags=("vip",))
    assert dumps(session) == '{"$Session":{"contact":"6281234567890","tags":{"$tuple":["vip"]}}}'
    assert loads(dumps(session)) == session


class Colour(Enum):
    RED = "red"


@dataclass
class Inner:
    colour: Colour


@dataclass
class Outer:
    inner: Inner
    days: tuple[date, ...]
    names: frozenset[str]


def test_what_python_returns_becomes_plain_values() -> None:
    value = plain(Outer(Inner(Colour.RED), (date(2030, 1, 1),), frozenset({"b", "a"})))
    assert value == Record(
        "Outer", {"inner": Record("Inner", {"colour": "red"}), "days": [date(2030, 1, 1)], "names": ["a", "b"]}
    )
    assert loads(dumps(value)) == value


def test_what_cannot_be_kept_is_refused_in_words() -> None:
    with pytest.raises(UnstorableValue, match="a object cannot be kept in a conversation"):
        plain(object())


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_no_number_that_json_does_not_have_is_written(number: float) -> None:
    with pytest.raises(UnstorableValue, match="a number without an end"):
        dumps({"number": [number]})


@pytest.mark.parametrize(
    "state", ["{", "3", '{"$Session":{}}', '{"$datetime":"x"}', '{"$record":[]}', '{"$decimal":"x"}']
)
def test_what_is_no_session_is_unreadable(state: str) -> None:
    with pytest.raises(UnreadableSession):
        read_session(state)
