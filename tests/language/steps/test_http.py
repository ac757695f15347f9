"""``http``: what a step asks to be sent, and what it makes of each answer."""

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.effects import HttpRequest
from bot.core.events import CallEnded
from bot.core.values import Media, Record
from bot.language.expressions.templates import pieces_of
from bot.language.source.problems import Mark, Problems
from bot.language.steps.http_step import Address, encoded, json_text
from bot.language.steps.step_facts import StepFailed
from tests.talk import CONTACT, Talk, problems_of

BOT = """
name: Test
secrets: [CRM_KEY]
http: {crm: {base: "https://crm.example/v1", headers: {Authorization: "Bearer {{ secret.CRM_KEY }}"}}}
defaults: {retry: {max: 1, else: end}, timeout: {after: 1h, then: end}, errors: {else: end}}
"""
VARS = """
  id: {type: text}
  n: {type: number, value: 2.50}
  day: {type: date, value: 2030-05-12}
  yes: {type: boolean, value: true}
  list: {type: list, value: [a, b c]}
  record: {type: object, value: {name: Ann, tags: [x]}}
  order: {type: object}
  eta: {type: date}
  code: {type: integer}
  reason: {type: text}
"""


def flow(http: str, more: str = "") -> str:
    """A flow whose one request stands under `http`; what a contact writes is its ``id``."""
    return f"""
flow: main
start: {{words: [go]}}
vars:{VARS}
steps:
  id: {{ask: Which?, save: id}}
  look:
    http: {http}
{more}
  done: {{say: "{{{{ order }}}}|{{{{ eta }}}}|{{{{ code }}}}|{{{{ reason }}}}", then: end}}
"""


def request(http: str, more: str = "", written: str = "17") -> HttpRequest:
    """What is to be sent after the contact has written something."""
    talk = asked(http, more, written)
    assert talk.calls, talk.turn
    _, effect = talk.calls[-1]
    assert isinstance(effect, HttpRequest)
    return effect


def asked(http: str, more: str = "", written: str = "17") -> Talk:
    talk = Talk(flow(http, more), BOT)
    talk.user("go")
    talk.user(written)
    return talk


def ends(talk: Talk, outcome: str, answer: Any = None, status: int | None = 200) -> list[Any]:
    ref, _ = talk.calls[-1]
    value = None if status is None else {"status": status, "answer": answer}
    return talk.take(CallEnded(f"call:{ref}", CONTACT, talk.now, ref, outcome, value, "it went wrong"))


def problem(http: str, more: str = "", bot: str = BOT) -> str:
    (found,) = problems_of(flow(http, more), bot)
    return found.partition(": ")[2]


# What is sent


def test_method_and_address_stand_in_one_line() -> None:
    assert request("DELETE crm:/orders/{{ id }}/lines?all=1") == HttpRequest("DELETE", "crm:/orders/17/lines?all=1")
    assert request("GET https://other.example").address == "https://other.example"


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("a/../b", "a%2F..%2Fb"), ("x?y=1&z#w", "x%3Fy%3D1%26z%23w"), ("ü 100%", "%C3%BC%20100%25"),
        ("%2e%2e", "%252e%252e"), ("a\r\nHost: b", "a%0D%0AHost%3A%20b"), ("...", "..."), ("@evil.example", "%40evil.example"),
    ],
)  # fmt: skip
def test_a_value_in_the_address_stays_one_part_of_it(written: str, path: str) -> None:
    assert request("GET crm:/orders/{{ id }}?q={{ id }}", written=written).address == f"crm:/orders/{path}?q={path}"


@pytest.mark.parametrize("written", [".", ".."])
def test_a_value_that_would_climb_the_path_is_a_mismatch(written: str) -> None:
    talk = asked("GET crm:/orders/{{ id }}/lines", "    errors: {mismatch: {say: Odd., then: end}}", written)
    assert (talk.calls, talk.sent[-1].body) == ([], "Odd.")  # type: ignore[union-attr]


@pytest.mark.parametrize("value", ["reason", "''", "list", "record"])
def test_a_path_with_no_value_or_several_at_the_place_of_one_is_a_mismatch(value: str) -> None:
    talk = asked(f"GET crm:/orders/{{{{ {value} }}}}", "    errors: {mismatch: {say: Odd., then: end}}")
    assert (talk.calls, talk.sent[-1].body) == ([], "Odd.")  # type: ignore[union-attr]


@given(st.text())
def test_whatever_is_put_into_an_address_comes_out_of_it_again(text: str) -> None:
    pieces = pieces_of("https://a.example/x/{{ v }}/y?q={{ v }}", Mark("f", 1, 1), Problems())
    assert pieces is not None
    address = Address("GET", "", pieces)
    if text in ("", ".", ".."):
        with pytest.raises(StepFailed):
            address.render({"v": text})
        return
    parts = urlsplit(address.render({"v": text}))
    there = text.encode("utf-8", "replace").decode()
    assert (parts.netloc, parts.path.count("/"), parts.fragment) == ("a.example", 3, "")
    assert unquote(parts.path.split("/")[2]) == there
    assert parts.query == f"q={parts.path.split('/')[2]}"


def test_a_query_leaves_out_null_and_repeats_the_name_of_a_list() -> None:
    more = '    query: {day: "{{ day }}", no: "{{ reason }}", t: "{{ list }}", n: "{{ n }}", ok: "{{ yes }}", text: "a {{ id }}", k: 7}'
    assert request("GET crm:/find", more).address == "crm:/find?day=2030-05-12&t=a&t=b+c&n=2.5&ok=true&text=a+17&k=7"
    assert request("GET crm:/find?x=1", "    query: {y: 2}").address == "crm:/find?x=1&y=2"


@given(st.lists(st.tuples(st.text(min_size=1), st.text())))
def test_a_query_is_read_back_as_it_was(pairs: list[tuple[str, str]]) -> None:
    there = [
        (name.encode("utf-8", "replace").decode(), text.encode("utf-8", "replace").decode()) for name, text in pairs
    ]
    assert parse_qsl(encoded(pairs, "query"), keep_blank_values=True) == there


def test_json_keeps_the_type_of_each_value() -> None:
    more = '    json: {id: "{{ id }}", n: "{{ n }}", day: "{{ day }}", who: "{{ record }}", deep: [{of: "{{ list }}"}], no: "{{ reason }}", ok: true}'
    sent = request("POST crm:/orders", more)
    assert sent.headers == {"Content-Type": "application/json"}
    assert json.loads(sent.body or "") == {
        "id": "17", "n": 2.5, "day": "2030-05-12", "who": {"name": "Ann", "tags": ["x"]},
        "deep": [{"of": ["a", "b c"]}], "no": None, "ok": True,
    }  # fmt: skip


def test_json_may_be_one_value() -> None:
    assert request("PUT crm:/orders", '    json: "{{ record }}"').body == '{"name": "Ann", "tags": ["x"]}'


def test_what_a_contact_writes_is_a_text_in_json_whatever_it_looks_like() -> None:
    written = '", "admin": true, "\ud800'
    assert json.loads(request("POST crm:/x", '    json: {id: "{{ id }}"}', written).body or "") == {"id": written}


def test_a_form_is_urlencoded() -> None:
    sent = request("POST crm:/x", '    form: {id: "{{ id }}", t: "{{ list }}"}', "a&b=c")
    assert (sent.headers, sent.body) == (
        {"Content-Type": "application/x-www-form-urlencoded"},
        "id=a%26b%3Dc&t=a&t=b+c",
    )


def test_a_form_carries_kept_files_and_the_addresses_of_others() -> None:
    flow = """
flow: main
start: {otherwise: true}
vars: {photo: {type: media, keep: KEEP}, id: {type: text, value: A 1}}
steps:
  photo: {ask: A photo?, save: photo}
  send: {http: POST https://x.example/, form: {id: "{{ id }}", photo: "{{ photo }}"}, then: end}
"""
    kept = Media("image", "https://files.example/1.jpg", None, "/var/bot.files/1.jpg", "image/jpeg")
    talk = Talk(flow.replace("KEEP", "true"), BOT)
    talk.user("hi")
    talk.photo()
    talk.returns(kept)
    effect: Any = talk.calls[-1][1]
    assert (effect.body, effect.files) == ("id=A+1", {"photo": kept})
    talk = Talk(flow.replace("KEEP", "false"), BOT)
    talk.user("hi")
    talk.photo()
    effect = talk.calls[-1][1]
    assert (effect.body, effect.files) == ("id=A+1&photo=https%3A%2F%2Ffiles.example%2F1.jpg", {})


def test_headers_hold_values_and_leave_out_null() -> None:
    sent = request("GET crm:/x", '    headers: {X-Order: "no {{ id }}", X-None: "{{ reason }}", Accept: text/csv}')
    assert sent.headers == {"X-Order": "no 17", "Accept": "text/csv"}


@pytest.mark.parametrize("written", ["a\r\nX-Evil: 1", "a\nb", "ü", "\x00"])
def test_a_value_that_no_header_can_hold_is_a_mismatch(written: str) -> None:
    more = '    headers: {X-Order: "{{ id }}"}\n    errors: {mismatch: {say: Odd., then: end}}'
    talk = asked("GET crm:/x", more, written)
    assert (talk.calls, talk.sent[-1].body) == ([], "Odd.")  # type: ignore[union-attr]


def test_time_tries_and_cache_are_the_steps() -> None:
    sent = request("GET crm:/x", "    within: 30s\n    tries: 3\n    cache: 10m")
    assert (sent.seconds, sent.within, sent.tries, sent.cache) == (30.0, 35.0, 3, 600.0)


# What becomes of the answer


def test_a_whole_answer_is_saved_to_its_variable() -> None:
    talk = asked("GET crm:/orders/{{ id }}", "    save: order")
    assert ends(talk, "done", {"eta": "Monday"}) == ["eta: Monday|||"]


def test_parts_of_an_answer_are_saved_with_the_types_of_their_variables() -> None:
    talk = asked("GET crm:/orders/{{ id }}", '    save: {eta: "answer.lines[0].eta", code: status}')
    assert ends(talk, "done", {"lines": [{"eta": "2030-05-12"}]}, 201) == ["|2030-05-12|201|"]


def test_an_answer_without_the_part_that_is_asked_for_has_failed() -> None:
    more = '    save: {code: answer.count}\n    errors: {failed: {say: "Odd {{ status }}", then: end}}'
    assert ends(asked("GET crm:/x", more), "done", {"a": 1}) == ["Odd 200"]


def test_an_answer_that_does_not_fit_its_variable_is_a_mismatch_and_saves_nothing() -> None:
    more = """
    save: {reason: answer.why, code: answer.count}
    errors: {mismatch: {say: "{{ reason }}|{{ answer.count }}", then: done}}"""
    talk = asked("GET crm:/x", more)
    assert ends(talk, "done", {"why": "it is", "count": "many"}) == ["|many", "|||"]


def test_a_status_takes_its_own_way_else_that_of_its_hundred_else_the_one_for_all() -> None:
    more = "    errors: {404: {say: own, then: end}, 4xx: {say: hundred, then: end}, else: {say: else, then: end}}"
    said = {}
    for status in (404, 410, 503, 302):
        said[status] = ends(asked("GET crm:/x", more), str(status), None, status)
    assert said == {404: ["own"], 410: ["hundred"], 503: ["else"], 302: ["else"]}


@pytest.mark.parametrize("outcome", ["timeout", "unreachable", "too_large", "mismatch"])
def test_every_other_failure_has_a_name(outcome: str) -> None:
    more = f'    errors: {{{outcome}: {{say: "{outcome} {{{{ status }}}}", then: end}}}}'
    assert ends(asked("GET crm:/x", more), outcome, status=None) == [f"{outcome} "]


def test_what_a_refusal_says_can_be_said_and_kept_on_the_way_out() -> None:
    more = '    errors: {422: {say: "No: {{ answer.message }}", set: {reason: "{{ answer.message }}", code: "{{ status }}"}, then: done}}'
    assert ends(asked("POST crm:/x", more), "422", {"message": "closed"}, 422) == ["No: closed", "||422|closed"]


def test_the_trace_says_how_a_request_failed() -> None:
    talk = asked("GET crm:/x")
    ends(talk, "404", None, 404)
    assert talk.turn is not None
    assert (talk.turn.trace.rule, talk.turn.trace.notes) == ("result: 404", ["main/look: 4xx: it went wrong"])


def test_what_comes_of_an_old_request_changes_nothing() -> None:
    talk = asked("GET crm:/x")
    late = talk.calls[-1]
    talk.reset()
    talk.user("go")
    talk.calls.append(late)
    assert ends(talk, "done") == []
    assert talk.at == "main/id"


def test_an_answer_is_a_value_and_never_a_template() -> None:
    talk = asked("GET crm:/x", "    save: {reason: answer}")
    assert ends(talk, "done", "{{ contact.id }}") == ["|||{{ contact.id }}"]


def test_a_record_in_json_is_an_object() -> None:
    assert json_text({"who": Record("Person", {"name": "Ann"})}) == '{"who": {"name": "Ann"}}'


# What is found before it runs


@pytest.mark.parametrize(
    ("http", "more", "found"),
    [
        ("get crm:/x", "", 'E109 step "look": "get" is no method (did you mean "GET"?)'),
        ("crm:/x", "", 'E109 step "look": "crm:/x" is no method (write the method before the address: GET crm:/x)'),
        ("GET", "", "E405"),
        ("GET crm.example/x", "", "E405"),
        ("GET ftp://crm.example/x", "", "E405"),
        ("GET https:/crm.example/x", "", "E405"),
        ("GET crm://x", "", "E405"),
        ("GET https://me:pass@crm.example/x", "", "E405"),
        ("GET https://{{ id }}.example/x", "", "E405"),
        ("GET https://{{ id }}/x", "", "E405"),
        ("GET https://crm.example{{ id }}/x", "", "E405"),
        ("GET https://crm.example:80{{ id }}", "", "E405"),
        ("GET {{ id }}", "", "E405"),
        ("GET crm:/a b", "", "E405"),
        ("GET crm:/größe", "", "E405"),
        ("GET cmr:/x", "", 'E508 step "look": http: no service "cmr" (did you mean "crm"?)'),
        ("GET crm:/{% if id %}x{% endif %}", "", "E203"),
        ("GET crm:/{{ id", "", "E201"),
        ("GET crm:/{{ idd }}", "", "E301"),
        ("GET crm:/{{ secret.CRM_KEY }}", "", "E301"),
        ("GET crm:/x", '    headers: {A: "{{ secret.CRM_KEY }}"}', "E301"),
        ("GET crm:/x", "    json: {a: 1}", 'E123 step "look": "json" means nothing with GET'),
        ("POST crm:/x", "    cache: 10m", 'E123 step "look": "cache" means nothing with POST'),
        ("POST crm:/x", "    json: {a: 1}\n    form: {b: 2}", 'E121 step "look": "form" beside "json"'),
        ("GET crm:/x", "    headers: {Host: x}", "E108"),
        ("GET crm:/x", '    headers: {"a b": x}', "E108"),
        ("GET crm:/x", "    save: ordre", 'E301 step "look": save: no variable "ordre" (did you mean "order"?)'),
        ("GET crm:/x", "    save: {ordre: answer}", 'E301 step "look": save: no variable "ordre"'),
        ("GET crm:/x", "    save: {order: anwser}", "E301"),
        ("GET crm:/x", "    errors: {time_out: end}", 'E504 step "look": a request has no error "time_out" (did you mean'),
        ("GET crm:/x", "    errors: {200: end}", "E504"),
        ("GET crm:/x", '    errors: {404: {say: "{{ answr }}", then: end}}', "E301"),
        ("GET crm:/x", '    then: {say: "{{ answer }}", then: end}', "E301"),
        ("GET crm:/x", "    body: x", "E104"),
        ("GET crm:/x", "    tries: 11", "E106"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_before_it_runs(http: str, more: str, found: str) -> None:
    assert problem(json.dumps(http), more).startswith(found)


@pytest.mark.parametrize(("http", "code"), [("{get: crm:/x}", "E106"), ("[GET]", "E106"), ("", "E105")])
def test_what_is_no_text_is_one_problem(http: str, code: str) -> None:
    assert problem(http).startswith(code)


def test_without_a_way_for_failures_nothing_runs() -> None:
    bot = BOT.replace(", errors: {else: end}", "")
    assert problem("GET crm:/x", bot=bot).startswith('E130 step "look" has no `errors.else`')
