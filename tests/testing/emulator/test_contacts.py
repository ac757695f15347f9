"""Contacts: list, upsert, pages."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.testing.emulator import Emulator
from tests.testing.emulator.conftest import Caller

Refused = Callable[..., dict[str, Any]]
ANN = {"name": "Ann", "phone": "+491510000002", "email": "ann@example.com", "tags": ["vip"]}


def test_a_contact_is_created_by_its_number(api: Caller, emulator: Emulator) -> None:
    data = api.post("/contacts", ANN).json()["data"]
    assert data == {
        "id": 2,
        "phone": "491510000002",
        "name": "Ann",
        "email": "ann@example.com",
        "tags": ["vip"],
        "custom_fields": {},
        "created_at": "2030-05-12T12:00:00+00:00",
        "updated_at": "2030-05-12T12:00:00+00:00",
    }
    assert emulator.unknown_fields == set()


def test_a_known_number_is_updated(api: Caller, clock: MovableClock) -> None:
    first = api.post("/contacts", ANN).json()["data"]
    clock.move(timedelta(minutes=1))
    again = api.post("/contacts", {"name": "Anna", "phone": "491510000002"}).json()["data"]
    assert again == {**first, "name": "Anna", "updated_at": "2030-05-12T12:01:00+00:00"}


@pytest.mark.parametrize(("mode", "tags"), [("replace", ["new"]), ("merge", ["vip", "new"])])
def test_tags_replace_the_old_ones_or_are_added(api: Caller, emulator: Emulator, mode: str, tags: list[str]) -> None:
    emulator.behaviour.change({"contact_tags": mode})
    api.post("/contacts", ANN)
    assert api.post("/contacts", {**ANN, "tags": ["new"]}).json()["data"]["tags"] == tags


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"name": None}, "VALIDATION_MISSING_FIELD", "name"),
        ({"name": 5}, "VALIDATION_INVALID_FIELD", "name"),
        ({"phone": None}, "VALIDATION_MISSING_FIELD", "phone"),
        ({"phone": "0151 1"}, "VALIDATION_INVALID_PHONE", "phone"),
        ({"email": 5}, "VALIDATION_INVALID_FIELD", "email"),
        ({"tags": "vip"}, "VALIDATION_INVALID_FIELD", "tags"),
        ({"tags": [1]}, "VALIDATION_INVALID_FIELD", "tags"),
    ],
)
def test_the_fields_of_a_contact_are_checked(refused: Refused, change: dict[str, Any], code: str, field: str) -> None:
    found = refused({**ANN, **change}, "/contacts")
    assert (found["status"], found["code"], found["field"]) == (422, code, field)


def test_contacts_are_listed_in_pages_of_20(api: Caller, emulator: Emulator) -> None:
    for number in range(44):
        emulator.open_window(f"49152000{number:04}")
    pages = [api.get("/contacts", page=page).json() for page in (1, 2, 3, 4)]
    assert [len(page["data"]) for page in pages] == [20, 20, 5, 0]
    assert [page["meta"]["has_more"] for page in pages] == [True, True, False, False]
    assert pages[0]["meta"] == {"page": 1, "per_page": 20, "total": 45, "has_more": True}


@pytest.mark.parametrize("query", [{"page": 0}, {"page": "x"}, {"per_page": 0}, {"per_page": -1}, {"per_page": 101}])
def test_a_page_is_refused_outside_its_bounds(api: Caller, query: dict[str, Any]) -> None:
    response = api.get("/contacts", **query)
    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] in query


def test_too_large_a_page_can_be_clamped(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.per_page_over_max = "clamped"
    assert api.get("/contacts", per_page=500).json()["meta"]["per_page"] == 100


def test_a_name_is_needed_or_by_a_switch_left_alone(api: Caller, emulator: Emulator) -> None:
    api.post("/contacts", ANN)
    nameless = {"phone": ANN["phone"], "tags": ["new"]}
    assert api.post("/contacts", nameless).json()["error"]["details"] == {"field": "name"}
    emulator.behaviour.contact_name = "optional"
    data = api.post("/contacts", nameless).json()["data"]
    assert (data["name"], data["tags"], data["email"]) == ("Ann", ["new"], "ann@example.com")
