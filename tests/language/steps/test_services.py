"""Services and secrets in ``bot.yml``: how they are declared, and what is found before anything runs."""

import pytest

from bot.core.effects import HttpRequest, Transcribe
from tests.talk import Talk, library_of, problems_of

FLOW = "flow: main\nsteps: {a: {say: Hi, then: end}}\n"


def problem(more: str) -> str:
    (found,) = problems_of(FLOW, f"name: Test\n{more}")
    return found


def test_a_service_has_a_base_address_and_may_have_headers_and_a_query() -> None:
    bot = """
name: Test
secrets: [CRM_URL, CRM_KEY]
http:
  crm: {base: "{{ secret.CRM_URL }}", headers: {X-Key: "k {{ secret.CRM_KEY }}"}, query: {v: 2}, allow_private: true}
"""
    service = library_of(FLOW, bot).bot.services["crm"]
    given = {"CRM_URL": "https://crm.example/v1/", "CRM_KEY": "a&b", "OTHER": "x"}
    assert service.needs == {"CRM_URL", "CRM_KEY"}
    assert service.address("/x", given) == "https://crm.example/v1/x?v=2"
    assert service.address("/x?a=1", given) == "https://crm.example/v1/x?a=1&v=2"
    assert (service.headers_told(given), service.allow_private) == ({"X-Key": "k a&b"}, True)


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("http: {crm: {}}", 'bot.yml:2:13: E105 service "crm": "base" is missing (add base:)'),
        ("http: {crm: {base: crm.example}}", 'bot.yml:2:20: E405 service "crm": base: this is no address'),
        ("http: {crm: {base: ftp://crm.example}}", "bot.yml:2:20: E405"),
        ("http: {crm: {base: 'https://crm.example/?a=1'}}", "bot.yml:2:20: E405"),
        ("http: {crm: {base: 'https://me:key@crm.example'}}", "bot.yml:2:20: E405"),
        ("http: {crm: {base: 'http://['}}", "bot.yml:2:20: E405"),
        ("http: {crm: {base: 'https://crm.example', tries: 0}}", 'bot.yml:2:50: E106 service "crm": tries: "0" is not a whole number'),
        ("http: {crm: {base: 'https://crm.example', cache: 0s}}",
         'bot.yml:2:50: E106 service "crm": cache: "0s" is not a duration (write one like 10m, or never)'),
        ("http: {Crm: {base: 'https://crm.example'}}", 'bot.yml:2:8: E108 service: "Crm" is no name'),
        ("http: {crm: {base: 'https://crm.example', header: {a: b}}}", "bot.yml:2:43: E104"),
        ("http: {crm: {base: 'https://crm.example', headers: {Host: b}}}", "bot.yml:2:59: E108"),
        ("http: {crm: {base: 'https://{{ secret.CRM_KYE }}'}}\nsecrets: [CRM_KEY]",
         'bot.yml:2:20: E509 service "crm": no secret "CRM_KYE" (did you mean "CRM_KEY"?)'),
        ("http: {crm: {base: 'https://{{ secret.CRM_KEY }}'}}",
         'bot.yml:2:20: E509 service "crm": no secret "CRM_KEY" (name it in bot.yml: secrets: [CRM_KEY])'),
        ("http: {crm: {base: 'https://{{ contact.id }}'}}", 'bot.yml:2:20: E301 service "crm": "contact" means nothing here'),
        ("http: {crm: {base: 'https://crm.example/{{ 1 | nope }}'}}", "bot.yml:2:20: E204"),
        ("secrets: [crm_key]", 'bot.yml:2:10: E108 bot: secrets: "crm_key" is no name of a secret (write one like CRM_KEY)'),
        ("secrets: [BOT_GATEWAY_KEY]", "bot.yml:2:10: E108"),
        ("words: {key: {say: '{{ secret.CRM_KEY }}', then: end}}\nsecrets: [CRM_KEY]", 'bot.yml:2:20: E301 no variable "secret"'),
    ],
)  # fmt: skip
def test_a_mistake_is_found_before_it_runs(more: str, found: str) -> None:
    assert problem(more).startswith(found)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8010", "localhost", "10.0.0.5", "192.168.1.7/v1", "[::1]:80", "172.16.0.1/{{ secret.KEY }}"]
)
def test_an_address_that_is_written_as_a_private_one_must_be_allowed(host: str) -> None:
    found = problem(f"secrets: [KEY]\nhttp: {{crm: {{base: 'http://{host}'}}}}")
    assert found.startswith('bot.yml:3:20: E510 service "crm": base: ') and " is in a private network" in found
    assert found.endswith("(write allow_private: true beside it, if that is your own)")
    allowed = f"http: {{crm: {{base: 'http://{host}', allow_private: true}}}}"
    assert problems_of(FLOW, f"name: Test\nsecrets: [KEY]\n{allowed}") == []


@pytest.mark.parametrize(
    "base", ["http://crm", "http://crm.internal:8010", "https://93.184.215.14/v1", "{{ secret.URL }}"]
)
def test_what_a_name_stands_for_is_known_only_at_run_time(base: str) -> None:
    assert problems_of(FLOW, f"name: Test\nsecrets: [URL]\nhttp: {{crm: {{base: '{base}'}}}}") == []


def test_a_step_with_a_private_address_is_told_of_a_service() -> None:
    (found,) = problems_of("flow: main\nsteps: {a: {http: 'GET http://127.0.0.1:8010/x', errors: {else: end}}}\n")
    assert found.endswith(
        'E510 step "a": http: 127.0.0.1 is in a private network (add a service to bot.yml: '
        "http: {own: {base: http://127.0.0.1:8010, allow_private: true}}; then write own:/path)"
    )


# How its requests are tried

TRIED = """
name: Test
defaults: {timeout: {after: 1h, then: end}, errors: {else: end}}
http:
  crm: {base: "https://crm.example", within: 3s, tries: 2, cache: 10m}
  other: {base: "https://other.example"}
"""


def request(step: str, bot: str = TRIED) -> HttpRequest:
    """What a step with these keys sends."""
    talk = Talk(f"flow: main\nstart: {{otherwise: true}}\nsteps: {{a: {{{step}}}, b: {{say: B}}}}\n", bot)
    talk.user("hi")
    effect = talk.calls[-1][1]
    assert isinstance(effect, HttpRequest)
    return effect


@pytest.mark.parametrize(
    ("step", "seconds", "tries", "cache"),
    [
        ("http: 'GET crm:/x'", 3, 2, 600),
        ("http: 'GET crm:/x', within: 20s", 20, 2, 600),
        ("http: 'GET crm:/x', tries: 1, cache: 1m", 3, 1, 60),
        ("http: 'GET crm:/x', cache: never", 3, 2, 0),
        ("http: 'POST crm:/x'", 3, 2, 0),
        ("http: 'GET other:/x'", 10, 1, 0),
        ("http: 'GET https://crm.example/x'", 10, 1, 0),
    ],
)
def test_a_step_takes_from_its_service_what_it_does_not_say_itself(
    step: str, seconds: float, tries: int, cache: float
) -> None:
    sent = request(step)
    assert (sent.seconds, sent.tries, sent.cache) == (seconds, tries, cache)


def test_a_request_as_a_tool_takes_it_from_its_service_too() -> None:
    tool = "{http: 'GET crm:/{{ it.id }}', name: find, about: Find it., takes: {id: its number}, tries: 1}"
    step = f"ai: You sell., tools: [{tool}], exits: {{done: {{when: it is done, then: end}}}}"
    talk = Talk(f"flow: main\nstart: {{otherwise: true}}\nsteps: {{a: {{{step}}}}}\n", TRIED)
    talk.user("hi")
    talk.model("", ("find", {"id": "17"}))
    effect = talk.calls[-1][1]
    assert isinstance(effect, HttpRequest)
    assert (effect.seconds, effect.tries, effect.cache) == (3, 1, 600)


@pytest.mark.parametrize(("keys", "within", "tries"), [("", 3, 2), (", within: 40s", 40, 2), (", tries: 1", 3, 1)])
def test_what_writes_down_voice_notes_takes_it_from_its_service_too(keys: str, within: float, tries: int) -> None:
    bot = TRIED + f"transcribe: {{http: 'POST crm:/x', form: {{file: '{{{{ voice }}}}'}}{keys}}}\n"
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {a: {say: Hi}}\n", bot)
    talk.voice()
    effect = next(each for each in talk.effects if isinstance(each, Transcribe))
    assert (effect.seconds, effect.tries) == (within, tries)
