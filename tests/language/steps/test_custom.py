"""Verbs of a bot's own: read, checked and left like the built-in ones."""

from datetime import datetime, timedelta
from typing import Any, Literal

import pytest

from bot import Expression, Leave, step_kind
from bot.core.effects import Call
from bot.core.messages import Buttons, Choice
from bot.language.python.decorators import BadDeclaration
from bot.language.python.gathered import extensions_in
from bot.language.steps.custom_steps import refuse_taken
from bot.language.steps.step_kind import Reply
from tests.talk import Talk, problems_of


@step_kind("score", outcomes=["passed"])
class Score:
    """Count points."""

    score: str
    points: Expression
    needed: int = 3
    loudly: bool = False
    after: timedelta | None = None
    mood: Literal["kind", "strict"] = "kind"
    extra: Any = None

    def run(self, now: datetime) -> Leave:
        text = f"{self.score}: {self.points} of {self.needed} ({self.mood}, {self.after}, {self.extra}, {now:%H:%M})"
        outcome = "passed" if self.points >= self.needed else "then"
        return Leave(outcome, value=self.points, say=text.upper() if self.loudly else text, set={"seen": True})


FLOW = """
flow: main
start: {otherwise: true}
vars: {points: {type: integer, value: 2}, result: integer, seen: {type: boolean, value: false}}
steps:
  count: {%s, save: result, errors: {failed: broken, mismatch: broken}}
  no: {say: "No, {{ result }} {{ seen }}.", then: end}
  yes: {say: "Yes, {{ result }}.", then: end}
  broken: {say: Something broke., then: end}
"""
STEP = "score: 'Hi {{ points }}', points: points + 1, passed: yes"


def talk(step: str, *kinds: Any) -> Talk:
    return Talk(FLOW % step, handlers={kind.__name__: kind for kind in (kinds or (Score,))})


def problems(step: str, *kinds: Any) -> list[str]:
    found = problems_of(FLOW % step, handlers={kind.__name__: kind for kind in (kinds or (Score,))})
    return [problem.partition(" ")[2] for problem in found]


def test_its_keys_are_worked_out_its_message_sent_and_its_outcome_followed() -> None:
    assert talk(STEP).user("hi") == ["Hi 2: 3 of 3 (kind, None, None, 10:00)", "Yes, 3."]


def test_keys_are_read_as_their_annotations_say() -> None:
    step = STEP + ", needed: 9, loudly: true, after: 2h, mood: strict, extra: {a: ['{{ points * 10 }}']}"
    assert talk(step).user("hi") == ["HI 2: 3 OF 9 (STRICT, 2:00:00, {'A': [20]}, 10:00)", "No, 3 true."]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("score: x, passed: yes", ['E105 step "count": "points" is missing (add points:)']),
        ("score: x, points: 1", ['E130 step "count" has no `passed`: "passed" leads nowhere (write passed: and a target)']),
        ("score: x, points: nope, passed: yes", ['E301 no variable "nope" (declare it under vars: nope: {type: text}; a text stands in quotes: "nope")']),
        ("score: x, points: 1, needed: many, passed: yes", ['E106 step "count": needed: "many" is not a whole number (write a whole number)']),
        ("score: x, points: 1, mood: angry, passed: yes", ['E109 step "count": mood: "angry" is not known (write one of kind, strict)']),
        ("score: x, points: 1, need: 3, passed: yes", ['E104 step "count": unknown key "need" (did you mean "needed"?)']),
        ("score: x, points: 1, passed: nowhere", ['E102 no step "nowhere" (add the step to flow main)']),
        ("scores: x, points: 1", ['E107 step "count" has no verb, it begins with "scores" (did you mean "score"?)']),
        ("score: x, points: 1, passed: yes, within: 3s", ['E104 step "count": unknown key "within"']),
        ("score: x, points: 1, passed: yes, retry: {max: 3}", ['E123 step "count": "retry" has no effect: the step waits for no answer (put it on a step that waits for an answer)']),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_step_is_found_when_it_is_read(step: str, expected: list[str]) -> None:
    assert [found[: len(wanted)] for found, wanted in zip(problems(step), expected, strict=True)] == expected


def test_a_verb_may_be_called_as_a_key_of_a_built_in_one() -> None:
    @step_kind("link")
    class Link:
        link: str

        def run(self) -> str:
            return self.link

    flow = """
flow: f
start: {otherwise: true}
vars: {address: text}
steps:
  make: {link: /shop, save: address}
  tell: {say: See, link: {title: Shop, url: "https://a.example{{ address }}"}, then: end}
"""
    assert Talk(flow, handlers={"Link": Link}).user("hi") == [["See", "Shop", "https://a.example/shop"]]


def test_a_plain_value_is_what_is_saved() -> None:
    @step_kind("double")
    class Double:
        double: Expression

        def run(self) -> int:
            return int(self.double) * 2

    assert talk("double: points", Double).user("hi") == ["No, 4 false."]


@pytest.mark.parametrize(
    ("result", "note"),
    [
        (Leave("nowhere"), 'does not declare the outcome "nowhere"'),
        (Leave(set={"other": 1}), 'sets "other", which is no variable of the flow'),
        (Leave(say=[3]), "says a int, which is no message"),
        (object(), "a object cannot be kept in a conversation"),
        ("a text where the variable is a number", "it is no number"),
        (Leave(say=" "), "does not take"),
    ],
)
def test_a_result_that_cannot_be_is_an_outcome_for_errors(result: Any, note: str) -> None:
    @step_kind("odd")
    class Odd:
        odd: str

        def run(self) -> Any:
            return result

    going = talk("odd: x", Odd)
    assert going.user("hi") == ["Something broke."]
    assert going.turn is not None
    assert note in going.turn.trace.notes[0]


def test_what_it_raises_is_an_outcome_for_errors_at_its_line_and_without_its_text() -> None:
    @step_kind("bad")
    class Bad:
        bad: str

        def run(self) -> None:
            raise ValueError(self.bad)

    going = talk("bad: secret", Bad)
    assert going.user("hi") == ["Something broke."]
    assert going.turn is not None
    assert 'step kind "bad" raised ValueError at test_custom.py:' in going.turn.trace.notes[0]
    assert "secret" not in going.turn.trace.notes[0]


# -- waiting for the contact


@step_kind("slider")
class Slider:
    """A number between two others."""

    slider: str
    most: int = 10

    def run(self) -> Buttons:
        return Buttons(self.slider, (Choice("0", "None"), Choice("9", f"{self.most}")))

    def answer(self, reply: Reply) -> int | None:
        text = "0" if reply.text == "None" else reply.text or ""
        return int(text) if text.isdecimal() and int(text) <= self.most else None


def test_a_class_with_an_answer_waits_for_it_with_all_that_belongs_to_waiting() -> None:
    going = talk("slider: How many?, retry: {say: A number please., max: 2, else: broken}, remind: {after: 1h}", Slider)
    assert going.user("hi") == [["How many?", "None", "10"]]
    assert going.user("many") == ["A number please."]
    assert going.wait("1h") == [["How many?", "None", "10"]]
    assert going.user("11") == ["A number please."]
    assert going.user("7") == ["No, 7 false."]


def test_a_tap_on_its_buttons_comes_as_their_title() -> None:
    going = talk("slider: How many?", Slider)
    going.user("hi")
    assert going.tap("None") == ["No, 0 false."]


def test_a_waiting_class_may_be_left_at_once() -> None:
    @step_kind("known")
    class Known:
        known: str

        def run(self) -> Any:
            return Leave(value=1)

        def answer(self, reply: Reply) -> None: ...

    assert talk("known: x", Known).user("hi") == ["No, 1 false."]


def test_a_question_of_its_own_needs_a_time_out_as_every_other() -> None:
    flow = FLOW % "slider: How many?"
    (found,) = problems_of(flow, bot="name: T\n", handlers={"Slider": Slider})
    assert "E130" in found and "`timeout`" in found


# -- outside


class NotFound(LookupError): ...


@step_kind("geocode", outcomes=["abroad"], outside=True, errors=[NotFound])
class Geocode:
    geocode: str
    precise: bool = False

    def run(self, idempotency_key: str) -> Any:
        if self.geocode == "nowhere":
            raise NotFound
        return Leave("abroad", value=3, say=["Far.", "away"], set={"seen": self.precise})


OUTSIDE = "geocode: '{{ points }}', within: 3s, tries: 2, abroad: yes, errors: {NotFound: no, else: broken}"
GEO = FLOW.replace(", errors: {failed: broken, mismatch: broken}", "")


def test_work_outside_is_a_call_with_the_keys_and_its_result_says_how_it_is_left() -> None:
    going = Talk(GEO % OUTSIDE, handlers={"Geocode": Geocode})
    assert going.user("hi") == []
    assert going.calls[-1][1] == Call("geocode step", {"geocode": "2"}, 3.0, 2)
    (spec,) = extensions_in([{"Geocode": Geocode}]).calls.values()
    assert spec.takes_key
    assert going.returns(spec.function(geocode="x", idempotency_key="k")) == ["Far.", "away", "Yes, 3."]


def test_a_declared_error_of_work_outside_is_an_outcome_of_its_own() -> None:
    going = Talk(GEO % OUTSIDE, handlers={"Geocode": Geocode})
    going.user("hi")
    assert going.fails("NotFound") == ["No,  false."]


def test_the_errors_of_work_outside_must_lead_somewhere_and_be_declared() -> None:
    step = "geocode: x, abroad: yes"
    assert [text.split()[1] for text in problems_of(GEO % step, handlers={"Geocode": Geocode})] == ["E130"]
    step = "geocode: x, abroad: yes, errors: {NotFond: no, else: no}"
    (found,) = problems_of(GEO % step, handlers={"Geocode": Geocode})
    assert 'declares no error "NotFond" (did you mean "NotFound"?)' in found


# -- declarations


def run(self: Any) -> None: ...


def run_with(self: Any, database: Any) -> None: ...


def run_with_key(self: Any, a: Any) -> None: ...


async def run_async(self: Any) -> None: ...


@pytest.mark.parametrize(
    ("annotations", "members", "options", "words"),
    [
        ({"a": str}, {}, {}, 'step kind "a" has no method `run`'),
        ({"b": str}, {"run": run}, {}, 'annotate "a": it is what stands behind the verb'),
        ({"a": set}, {"run": run}, {}, 'no key can hold what "a" is: write str, bool'),
        ({"a": str}, {"run": run_with}, {}, "within a turn, `run` is given `now` and nothing else"),
        ({"a": str}, {"run": run_async}, {}, "is async"),
        ({"a": str}, {"run": run}, {"errors": [KeyError]}, "only a call outside has `errors`"),
        ({"a": str}, {"run": run, "answer": run}, {"outside": True}, "only one in the turn an `answer`"),
        ({"a": str}, {"run": run_with_key}, {"outside": True}, "`run` has a parameter that is a key: read self.a"),
        ({"a": str}, {"run": run_with}, {"outside": True}, '`run` wants "database", and no provider gives it'),
        ({"a": str, "say": str}, {"run": run}, {}, '"say" is taken'),
        ({"a": str, "timeout": str}, {"run": run}, {}, '"timeout" is taken'),
        ({"a": str}, {"run": run}, {"outcomes": ["then"]}, '"then" is taken'),
        ({"a": str}, {"run": run}, {"outcomes": ["a b"]}, '"a b" is taken'),
    ],
)
def test_a_class_that_can_be_no_kind_of_step_is_refused(
    annotations: dict[str, Any], members: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    cls = type("A", (), {"__annotations__": annotations, **members})
    with pytest.raises(BadDeclaration) as refused:
        refuse_taken(extensions_in([{"A": step_kind("a", **options)(cls)}]))
    assert words in str(refused.value)


@pytest.mark.parametrize("verb", ["say", "then", "ask"])
def test_a_verb_of_the_language_is_no_verb_of_the_bots_own(verb: str) -> None:
    cls = type("A", (), {"__annotations__": {verb: str}, "run": run})
    with pytest.raises(BadDeclaration, match="one of the language's own"):
        refuse_taken(extensions_in([{"A": step_kind(verb)(cls)}]))
