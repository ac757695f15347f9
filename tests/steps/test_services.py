"""Services and secrets in ``bot.yml``: how they are declared, and what is found before anything runs."""

import pytest

from tests.talk import library_of, problems_of

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
