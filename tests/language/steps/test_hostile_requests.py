"""Whatever a contact writes, a request with it keeps its structure: it is one value, in one place."""

import json
from email import message_from_bytes
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

from bot.core.effects import HttpRequest
from bot.core.values import Media
from bot.services.outgoing import _body_of
from tests.searches import over
from tests.talk import BOT, Talk

SIGNS = ("'", '"', "\\", "\n", "\r\n", "&", "=", "%", "%0d%0a", "%2F", "?", "#", "/", "..", ";", ":", "@", "+", " ", "{", "}",
         "{{ secret.KEY }}", "{% raw %}", "[0]", "<", "\u2028", "\u00e9", "\U0001f355", "\ud83c", "\x00", "\x7f", "--")  # fmt: skip
WORDS = (
    "a/../../admin", "../admin", "..", ".", "...", "%2e%2e", "//evil.example", "https://evil.example/", "a?admin=1", "a#b",
    "a&admin=1", "a=b&c=d", '", "admin": true, "x": "', '"}', "null", "true", "12", "01", "1e5", "[1, 2]", '{"admin": true}',
    "a\r\nX-Admin: 1", "a\nX-Admin: 1", "a\r\n\r\nGET / HTTP/1.1", "{{ contact.id }}", "{{ 7 * 7 }}", "{% for x in y %}",
    "O'Brien", 'say "hi"', "100%", "%", "%%", "%zz", "a+b", "a b", "\\u0022", "\\", "\\\"", "${HOME}", "$(id)", "`id`", "' OR 1=1 --",
    "<script>", "--boundary", "--\r\nContent-Disposition: form-data; name=\"admin\"\r\n\r\n1",
)  # fmt: skip
HOSTILE = [*WORDS, *SIGNS, *(f"a{one}b{two}c" for one, two in [*product(SIGNS[:9], SIGNS[9:14])])][:100]
NO_PART = ("", ".", "..")
"""What is no answer, or would be another path: no request is made."""
FLOW = """
flow: main
start: {otherwise: true}
vars: {said: text, note: text}
steps:
  ask: {ask: What?, save: said}
  send:
    http: POST crm:/things/{{ said }}/parts?of={{ said }}
    query: {q: "{{ said }}", both: "<{{ said }}>"}
    BODY
    errors: {else: end}
"""
CRM = BOT + "http: {crm: {base: 'https://crm.example/v1'}}\n"


def sent(text: str, body: str, headers: str = "") -> HttpRequest | None:
    """The request with what a contact has written; None where the step has refused to make one."""
    talk = Talk(FLOW.replace("    BODY\n", f"    {body}\n{headers}"), CRM)
    talk.user("hi")
    talk.user(text)
    made = [effect for effect in talk.effects if isinstance(effect, HttpRequest)]
    return made[0] if made else None


def shown(text: str) -> str:
    return text.encode(errors="replace").decode()


def meant(text: str) -> Any:
    """What the step's variable holds of it."""
    talk = Talk(FLOW.replace("    BODY\n", ""), CRM)
    talk.user("hi")
    talk.user(text)
    return (talk.session.frame.vars["said"] or "") if talk.session.frame is not None else text.strip()


@over(20, "text", HOSTILE)
def test_an_address_keeps_its_parts(text: str) -> None:
    request = sent(text, "json: {}")
    if request is None:
        assert meant(text) in NO_PART
        return
    value = shown(meant(text))
    service, _, rest = request.address.partition(":")
    parts = urlsplit(rest)
    assert service == "crm" and not parts.netloc and not parts.fragment
    path = parts.path.split("/")
    assert [path[1], unquote(path[2]), path[3]] == ["things", value, "parts"] and len(path) == 4
    assert path[2] not in (".", "..")
    found = parse_qs(parts.query, keep_blank_values=True)
    assert found == {"of": [value], "q": [value], "both": [f"<{value}>"]}


@over(20, "text", HOSTILE)
def test_a_body_keeps_its_names(text: str) -> None:
    as_json = sent(text, 'json: {name: "{{ said }}", deep: [{note: "a {{ said }} b"}], n: 1}')
    as_form = sent(text, 'form: {name: "{{ said }}", note: "a {{ said }} b"}')
    if as_json is None or as_form is None:
        assert as_json is as_form is None and meant(text) in NO_PART
        return
    value = meant(text)
    assert json.loads(as_json.body or "") == {"name": value, "deep": [{"note": f"a {value} b"}], "n": 1}
    assert parse_qsl(as_form.body or "", True) == [("name", shown(value)), ("note", f"a {shown(value)} b")]


@over(20, "text", HOSTILE)
def test_a_header_stays_one_line(text: str) -> None:
    request = sent(text, "json: {}", '    headers: {X-Said: "{{ said }}", X-More: "a {{ said }}"}\n')
    refused = not (meant(text).isascii() and meant(text).isprintable()) or meant(text) in NO_PART
    assert (request is None) == refused
    if request is not None:
        assert set(request.headers) == {"Content-Type", "X-Said", "X-More"}
        assert all(value.isprintable() and value.isascii() for value in request.headers.values())


@over(20, "text", HOSTILE)
def test_a_form_with_a_file_keeps_its_parts(text: str, tmp_path: Path) -> None:
    file = tmp_path / "1.pdf"
    file.write_bytes(b"--\r\n\r\n%PDF")
    media = Media("document", "https://files.example/1.pdf", type="application/pdf", file=str(file))
    body = urlencode([("name", text), ("note", "n")], errors="replace")
    request = HttpRequest("POST", "https://crm.example/x", {}, body, 1.0, 2.0, 1, 0.0, {"file": media})
    content, headers = _body_of(request, "key")
    assert content is not None
    whole = message_from_bytes(b"Content-Type: " + headers["Content-Type"].encode() + b"\r\n\r\n" + content)
    parts = [part for part in whole.walk() if not part.is_multipart()]
    assert [part.get_param("name", header="content-disposition") for part in parts] == ["name", "note", "file"]
    assert b'name="name"\r\n\r\n' + shown(text).encode() + b"\r\n--" in content
