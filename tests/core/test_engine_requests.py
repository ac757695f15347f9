"""Requests to an engine: all come through JSON as they were, and JSON of another form is refused in words."""

import dataclasses
import json
from typing import Any

import pytest

from bot.cli.shared.operate import SHOWN_BY
from bot.core.engine_answers import (
    BroadcastStopped,
    ConversationHeld,
    CorrectionBegun,
    CorrectionEnded,
    Done,
    EngineAnswer,
    EngineRefused,
    MayBeDone,
    Mistakes,
    NoPermit,
    Status,
)
from bot.core.engine_requests import (
    REQUESTS,
    AnyRequest,
    AskStatus,
    BeginCorrection,
    CheckStart,
    EndCorrection,
    EraseContact,
    GiveBack,
    ListTemplates,
    RequestMalformed,
    ResetContact,
    SendMessage,
    StartFlow,
    StopBroadcast,
    TakeOver,
    answer_as_json,
    answer_to,
    as_json,
    read_answer,
    read_request,
)
from bot.core.errors import BotError, OutcomeLost

ANN = "6281234567890"
FIELDS: dict[str, Any] = {
    "contact": ANN,
    "by": "ann",
    "name": "spring",
    "flow": "main",
    "data": {"n": 1},
    "values": {"n": 1},
    "text": "hi",
    "ids": [1, 2],
    "edit": [4, 1],
    "recipients": [{"contact": ANN}],
    "template": {"name": "sale", "language": "en"},
    "late": 60.5,
    "after": 3,
    "page": 2,
    "phone": ANN,
    "email": None,
    "tags": ["vip"],
    "url": "https://bot.example",
    "events": ["message.read"],
    "command": "templates",
    "first_visit": 1,
    "visit": 2,
    "question": "e1",
}


def example(kind: type[AnyRequest]) -> AnyRequest:
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in FIELDS.items() if name in names})


@pytest.mark.parametrize("kind", REQUESTS.values(), ids=REQUESTS)
def test_a_request_comes_through_json_as_it_was(kind: type[AnyRequest]) -> None:
    request = example(kind)
    assert read_request(json.loads(json.dumps(as_json(request)))) == request


ANSWERS: list[tuple[AnyRequest, EngineAnswer]] = [
    (StopBroadcast("spring"), BroadcastStopped(12, 1)),
    (GiveBack(ANN, by="ann"), ConversationHeld(ANN, None)),
    (EndCorrection("spring", [1, 2]), CorrectionEnded(3)),
    (BeginCorrection("spring"), CorrectionBegun([4, 1], 2)),
    (EraseContact(ANN), Done()),
    (CheckStart(ANN, "main", {}), Mistakes({"flow": "there is none"})),
    (AskStatus([7]), Status(5, 1, 2, {"day": 9}, [{"name": "defect"}], {"7": {"why": "a", "until": None}}, [])),
]


@pytest.mark.parametrize(("request_", "answer"), ANSWERS)
def test_an_answer_comes_through_json_as_it_was(request_: AnyRequest, answer: EngineAnswer) -> None:
    assert read_answer(request_, json.loads(json.dumps(answer_as_json(answer)))) == answer


@pytest.mark.parametrize("kind", REQUESTS.values(), ids=REQUESTS)
def test_each_request_has_an_answer_that_json_can_have(kind: type[AnyRequest]) -> None:
    with pytest.raises(EngineRefused, match=r"^no$"):
        read_answer(example(kind), answer_as_json(BotError("no")))


@pytest.mark.parametrize(
    ("error", "read"),
    [
        (BotError("it is held"), EngineRefused("it is held")),
        (OutcomeLost("it stopped"), MayBeDone("it stopped")),
        (NoPermit("no room", 12.5), NoPermit("no room", 12.5)),
        (NoPermit("no room", None), EngineRefused("no room")),
    ],
)
def test_a_refusal_comes_through_json_with_what_to_do_about_it(error: BotError, read: EngineRefused) -> None:
    with pytest.raises(EngineRefused) as raised:
        read_answer(ListTemplates(), json.loads(json.dumps(answer_as_json(error))))
    assert (type(raised.value), str(raised.value), vars(raised.value)) == (type(read), str(read), vars(read))


@pytest.mark.parametrize("json_", [None, [], {}, {"stopped": 1}, {"stopped": 1, "in_flight": "2"}, {"error": 1}])
def test_an_answer_of_another_form_leaves_open_whether_it_is_done(json_: object) -> None:
    with pytest.raises(MayBeDone, match=r"in a form that is not known here"):
        read_answer(StopBroadcast("spring"), json_)


def test_an_answer_to_another_request_is_a_defect() -> None:
    with pytest.raises(AssertionError, match=r"^stop was answered with Done"):
        answer_to(StopBroadcast("spring"), Done())


def test_fields_that_are_left_out_have_their_defaults() -> None:
    assert read_request({"do": "start", "contact": ANN, "flow": "main"}) == StartFlow(ANN, "main")
    assert read_request({"do": "status"}) == AskStatus()
    assert as_json(AskStatus()) == {"do": "status"}


def test_only_the_table_of_requests_says_how_it_calls_them() -> None:
    given = {"do": "stop", "name": "spring", "asked_as": "a", "again": True}
    assert read_request(given) == StopBroadcast("spring")
    request = read_request(given, asked_as="b", again=True)
    assert (request.asked_as, request.again) == ("b", True)
    assert as_json(request) == as_json(StopBroadcast("spring"))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], "a request is an object of JSON"),
        ({}, 'no request "None"'),
        ({"do": "dance"}, 'no request "dance"'),
        ({"do": ["x"]}, "no request"),
        ({"do": "reset"}, '"reset" of this form: "contact" is'),
        ({"do": "send", "contact": "Ann Lee", "text": "hi"}, '"contact" is'),
        ({"do": "send", "contact": ANN, "text": ["hi"]}, '"text" is'),
        ({"do": "start", "contact": ANN, "flow": "main", "data": []}, '"data" is'),
        ({"do": "take", "contact": ANN}, '"by" is'),
        ({"do": "take", "contact": ANN, "by": ""}, '"by" is'),
        ({"do": "retry", "ids": 1}, '"ids" is'),
        ({"do": "retry", "ids": [1], "sure": 1}, '"sure" is'),
        ({"do": "end_edit", "name": "spring", "edit": True}, '"edit" is'),
        ({"do": "broadcast", "name": "spring", "recipients": [], "late": True}, '"late" is'),
        ({"do": "broadcast", "name": "spring", "recipients": [], "late": "1h"}, '"late" is'),
        ({"do": "broadcast", "name": "spring", "recipients": [], "at": 10}, '"at" is'),
        ({"do": "broadcast", "name": "spring", "recipients": {}}, '"recipients" is'),
        ({"do": "contacts", "page": "1"}, '"page" is'),
    ],
)
def test_json_of_another_form_is_refused_in_words(given: object, why: str) -> None:
    with pytest.raises(RequestMalformed) as refusal:
        read_request(given)
    assert why in str(refusal.value)


def test_a_contact_may_be_of_any_form_where_the_answer_says_what_is_wrong_with_it() -> None:
    assert read_request({"do": "reset", "contact": "Ann Lee"}) == ResetContact("Ann Lee")
    assert read_request({"do": "end_edit", "name": "a", "edit": 1}) == EndCorrection("a", 1)


def test_persons_give_their_names_and_other_requests_have_a_name_by_default() -> None:
    assert TakeOver(ANN, by="olga").by == "olga"
    assert SendMessage(ANN, "hi").by == "operator"


def test_of_each_request_that_is_not_harmless_twice_a_command_knows_where_it_shows() -> None:
    assert {kind for kind in REQUESTS.values() if not kind.harmless_twice} == {*SHOWN_BY}
