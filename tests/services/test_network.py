"""The operator's network: private certificate authorities and proxies, for what the operator has named alone."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import certifi
import pycurl
import pytest
import trustme

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.effects import HttpRequest
from bot.core.engine_requests import AskStatus, ListGatewayContacts, StartFlow
from bot.core.messages import TextMessage
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.runtime.file_calls import Downloads, NotFetched
from bot.server.app import Engine, GatewayAccount
from bot.services import http_client, public_addresses
from bot.services.ai.ai_client import Completions
from bot.services.ai.ai_errors import CompletionError
from bot.services.gateway.gateway_answers import GatewayNotReached, GatewayRefused, NotTheGateway, OutcomeUnknown
from bot.services.gateway.gateway_client import Gateway
from bot.services.http_client import HttpClient, ReachabilityAlarm
from bot.services.outgoing import ServiceRequester
from bot.services.public_addresses import MOST_LOOKUPS, HostUnknown, WebAddress, look_up
from bot.services.request_errors import NotAllowed, NotSent, Unreachable
from bot.settings import ModelService, share_authorities
from bot.store.sqlite_schema import migrate
from tests.broken import raises_on
from tests.cli.terminal import make_bot
from tests.patience import PATIENCE, wait_for
from tests.proxy import proxy
from tests.runtime.test_download import got, names
from tests.services.gateway.peer import Answer, Peer, accepted, answer, hang_up, peer, refused
from tests.services.test_outgoing import KEY, SECRETS, services
from tests.tools import OPENSSL

HOST = "gateway.example"
ASKED = """
flow: main
start: {otherwise: true}
vars: {text: {type: text, value: hello}}
steps:
  sort: {classify: What is this about?, text: "{{ text }}", exits: {bill: thanks}, other: thanks, errors: {else: end}}
  thanks: {say: Thanks, then: end}
"""
HERE = {"127.0.0.1": ["127.0.0.1"]}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def context(authority: trustme.CA, *hosts: str, **options: Any) -> ssl.SSLContext:
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*hosts, **options).configure_cert(found)
    return found


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[Peer]:
    with peer(context(authority, "localhost", HOST)) as running:
        yield running


@pytest.fixture
def bundle(authority: trustme.CA, tmp_path: Path) -> Path:
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    return file


@pytest.fixture
def trusted(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))


@contextmanager
def found_at(host: str, port: int, *addresses: str) -> Iterator[None]:
    """A host name that stands for these addresses."""

    def new_handle() -> Any:
        handle = pycurl.Curl()
        handle.setopt(pycurl.RESOLVE, [f"{host}:{port}:{','.join(addresses)}"])
        return handle

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_client, "new_handle", new_handle)
        yield


def fault(url: str) -> tuple[str, str]:
    """Why there is no connection to a peer of the operator's, and what to do."""
    with pytest.raises(NotSent) as raised:
        HttpClient(url, own=True, seconds=5).get("/x", {})
    return str(raised.value).partition(": ")[2], raised.value.advice


# Certificates


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_the_gateway_and_the_model_may_have_certificates_of_a_private_authority(
    secure: Peer, bundle: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(bundle))
    assert Gateway(secure.url, "key").send("6281234567890", TextMessage("Hi"), "k").message_ids
    secure.answers(answer(200, {"data": [{"id": "acme/swift"}]}))
    assert [model.id for model in Completions(f"{secure.url}/api/v1", "sk").models()] == ["acme/swift"]


@pytest.mark.parametrize("names", [("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")])
def test_what_either_variable_names_is_trusted(
    secure: Peer, bundle: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str]
) -> None:
    for name, place in zip(names, (str(bundle), certifi.where()), strict=True):
        monkeypatch.setenv(name, place)
    assert HttpClient(secure.url, own=True).get("/x", {}).status == 200


@pytest.mark.parametrize(
    ("given", "shared"),
    [
        ({"REQUESTS_CA_BUNDLE": "/a.pem"}, {"SSL_CERT_FILE": "/a.pem"}),
        ({"REQUESTS_CA_BUNDLE": "/"}, {"SSL_CERT_DIR": "/"}),
        ({"SSL_CERT_FILE": "/a.pem"}, {"REQUESTS_CA_BUNDLE": "/a.pem"}),
        ({"SSL_CERT_DIR": "/"}, {"REQUESTS_CA_BUNDLE": "/"}),
        ({"SSL_CERT_FILE": "/a.pem", "REQUESTS_CA_BUNDLE": "/b.pem"}, {}),
        ({}, {}),
    ],
)
def test_one_variable_is_set_for_clients_that_know_the_other(given: dict[str, str], shared: dict[str, str]) -> None:
    environment = dict(given)
    share_authorities(environment)
    assert environment == given | shared


@pytest.mark.parametrize("variable", ["SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"])
def test_authorities_may_stand_in_a_folder(
    secure: Peer, bundle: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    OPENSSL.require()
    command = ["openssl", "x509", "-hash", "-noout", "-in", str(bundle)]
    hashed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    bundle.rename(bundle.with_name(f"{hashed}.0"))
    monkeypatch.setenv(variable, str(bundle.parent))
    assert HttpClient(secure.url, own=True).get("/x", {}).status == 200


@pytest.mark.parametrize("read", [Gateway, Completions])
def test_one_that_is_not_known_is_named_with_the_variable_to_set(secure: Peer, read: Any) -> None:
    with pytest.raises((GatewayNotReached, CompletionError)) as raised:
        if read is Gateway:
            Gateway(secure.url, "key").send("6281234567890", TextMessage("Hi"), "k")
        else:
            Completions(secure.url, "sk").models()
    words = str(raised.value)
    assert "its certificate is refused: it is signed by an authority that is not known here" in words
    assert "set SSL_CERT_FILE to a file with its certificate" in words
    assert secure.requests == []


@pytest.mark.usefixtures("trusted")
def test_each_fault_of_a_certificate_has_its_own_words_and_cure(authority: trustme.CA) -> None:
    now = datetime.now(UTC)
    day = timedelta(days=1)
    faulty = {
        "it is for another name": context(authority, "other.example"),
        "it has expired": context(authority, "localhost", not_before=now - 9 * day, not_after=now - day),
        "it is not valid yet": context(authority, "localhost", not_before=now + day),
    }
    for words, tls in faulty.items():
        with peer(tls) as running:
            what, cure = fault(running.url)
        assert (what, bool(cure)) == (f"its certificate is refused: {words}", True)


def test_a_peer_that_does_not_speak_tls_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            with listener.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(4096)

        threading.Thread(target=refuse, daemon=True).start()
        what, cure = fault(f"https://localhost:{listener.getsockname()[1]}")
    assert what == "it does not speak TLS" and "http://" in cure


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_file_of_certificates_that_is_none_is_named(
    secure: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    file = tmp_path / "wrong.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    what, cure = fault(secure.url)
    assert what == "the file with the certificates that are trusted cannot be read, or has none"
    assert "SSL_CERT_FILE" in cure


# Proxies


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_leads_to_the_gateway_and_looks_its_name_up(
    secure: Peer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    with proxy({HOST: secure.port}) as through, names(HERE, unknown=True):
        monkeypatch.setenv(variable, f"http://a%40b:secret@{through.address}")
        gateway = Gateway(f"https://{HOST}", "key")
        assert all(gateway.send("6281234567890", TextMessage("Hi"), f"k{n}").message_ids for n in range(2))
    (head,) = through.heads
    assert head.startswith(f"CONNECT {HOST}:443 HTTP/1") and "Proxy-Authorization: Basic YUBiOnNlY3JldA==" in head
    assert [request.connection for request in secure.requests] == [1, 1]
    assert "proxy-authorization" not in secure.requests[0].headers


@pytest.mark.usefixtures("trusted")
def test_a_tunnel_that_was_closed_is_dug_again(secure: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxy({HOST: secure.port}) as through:
        monkeypatch.setenv("HTTPS_PROXY", through.address)
        client = HttpClient(f"https://{HOST}", own=True)
        secure.answers(answer(200, b"one", {"Connection": "close"}), answer(200, b"two"))
        assert [client.get("/x", {}).body for _ in range(2)] == [b"one", b"two"]
    assert len(through.heads) == 2


def test_a_plain_peer_is_asked_by_its_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with peer() as plain, proxy({HOST: plain.port}) as through:
        monkeypatch.setenv("HTTP_PROXY", f"http://{through.address}")
        assert HttpClient(f"http://{HOST}/base", own=True).post("/x", b"{}", {}).status == 200
        (request,) = plain.requests
    assert (request.path, request.headers["host"]) == (f"http://{HOST}/base/x", HOST)


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("excepted", [HOST, ".example", "example", f"other.example, {HOST}", "*"])
def test_what_no_proxy_names_is_asked_directly(
    monkeypatch: pytest.MonkeyPatch, secure: Peer, free_port: int, excepted: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port}")
    monkeypatch.setenv("NO_PROXY", excepted)
    with found_at(HOST, secure.port, "127.0.0.1"):
        assert HttpClient(f"https://{HOST}:{secure.port}", own=True).get("/x", {}).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_never_behind_a_proxy(monkeypatch: pytest.MonkeyPatch, free_port: int, host: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port}")
    with peer() as plain:
        assert HttpClient(f"http://{host}:{plain.port}", own=True).get("/x", {}).status == 200


@pytest.mark.parametrize(
    ("status", "words", "cure"),
    [(407, "wants a name and a password (407)", "HTTPS_PROXY"), (403, "refuses to connect to it (403)", "NO_PROXY")],
)
def test_a_proxy_that_refuses_says_so(monkeypatch: pytest.MonkeyPatch, status: int, words: str, cure: str) -> None:
    with proxy({}, status) as through:
        monkeypatch.setenv("HTTPS_PROXY", f"http://name:secret@{through.address}")
        what, advice = fault(f"https://{HOST}")
    assert what == f"the proxy {through.address} {words}" and cure in advice


def test_a_proxy_that_is_not_there_or_is_none_says_so(monkeypatch: pytest.MonkeyPatch, free_port: int) -> None:
    nobody = f"127.0.0.1:{free_port}"
    monkeypatch.setenv("HTTPS_PROXY", f"http://{nobody}")
    assert fault(f"https://{HOST}")[0] == f"the proxy {nobody} is not reached: Connection refused"
    for none in ("ftp://127.0.0.1:1080", "http://", "http://[", "http://x:99999"):
        monkeypatch.setenv("HTTPS_PROXY", none)
        what, advice = fault(f"https://{HOST}")
        assert "the proxy in the environment cannot be read" in what and "http://proxy.example:3128" in advice


# What a contact can bend


@pytest.mark.usefixtures("trusted")
def test_an_address_of_somebody_else_is_told_neither_proxy_nor_private_authority(
    secure: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.services.public_addresses.is_public", lambda address: address == "127.0.0.1")
    with proxy({HOST: secure.port}) as through, names({HOST: ["127.0.0.1"]}):
        monkeypatch.setenv("ALL_PROXY", f"http://{through.address}")
        with pytest.raises(NotFetched, match="not known here"):
            got(Downloads("https://other.example"), f"https://{HOST}:{secure.port}/f")
        with pytest.raises(Unreachable, match="not known here"):
            ServiceRequester({}, {})(HttpRequest("GET", f"https://{HOST}:{secure.port}/x"), KEY)
    assert through.heads == [] and secure.requests == []


@pytest.mark.usefixtures("trusted")
def test_the_files_of_the_gateways_own_host_are_got_as_the_gateway_is_reached(secure: Peer) -> None:
    secure.answers(answer(200, b"a file"))
    assert got(Downloads(secure.url), f"{secure.url}/media/1") == b"a file"


@pytest.mark.usefixtures("trusted")
def test_a_service_of_bot_yml_is_reached_through_the_proxy_until_it_leads_elsewhere(
    secure: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy({HOST: secure.port}) as through, names(HERE, unknown=True) as looked_up:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{through.address}")
        outgoing = ServiceRequester(services(f"https://{HOST}", private=False), SECRETS)
        assert outgoing(HttpRequest("GET", "crm:/x"), KEY).status == 200
        assert HOST not in looked_up
        secure.answers(answer(302, b"", {"Location": "https://elsewhere.example/"}))
        with pytest.raises(Unreachable, match=r"elsewhere\.example is not found"):
            outgoing(HttpRequest("GET", "crm:/x"), KEY)
    assert not any("elsewhere" in head for head in through.heads)


def test_a_proxy_is_no_way_into_the_own_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with proxy({}) as through:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{through.address}")
        outgoing = ServiceRequester(services("https://10.0.0.5", private=False), SECRETS)
        with pytest.raises(NotAllowed, match="no public address"):
            outgoing(HttpRequest("GET", "crm:/x"), KEY)
    assert through.heads == []


# Name servers that do not answer


@pytest.fixture
def silent_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """No name is answered for before the test has ended; those that are looked up are listed."""
    asked: list[str] = []
    over = threading.Event()

    def getaddrinfo(host: str, *args: Any, **options: Any) -> Any:
        asked.append(host)
        over.wait(PATIENCE)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield asked
    over.set()
    wait_for(lambda: not any(thread.name == "name look-up" for thread in threading.enumerate()))


def test_name_servers_that_do_not_answer_hold_up_nobody(silent_names: list[str]) -> None:
    with pytest.raises(HostUnknown, match="no name server has answered"):
        WebAddress.of(f"https://{HOST}:443/f").public_address(0.1)
    with pytest.raises(NotFetched) as raised:
        got(Downloads("https://other.example"), f"https://{HOST}/f", seconds=0.1)
    assert raised.value.again
    wait_for(lambda: bool(silent_names))
    assert silent_names == [HOST], "who asks for a name that is being looked up waits for the same answer"


def test_names_that_others_gave_and_nobody_answers_for_take_few_threads(silent_names: list[str]) -> None:
    for n in range(MOST_LOOKUPS + 5):
        with pytest.raises(HostUnknown, match="no name server has answered"):
            WebAddress.of(f"https://host-{n}.example/f").public_address(0)
    assert len(silent_names) <= MOST_LOOKUPS


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_look_up_that_is_lost_keeps_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_addresses, "MOST_LOOKUPS", 1)
    with raises_on("name look-up", "bot.services.public_addresses:_Lookups._look_up"), pytest.raises(HostUnknown):
        look_up("lost.example", 443, 0.1)
    assert look_up("localhost", 443, PATIENCE)


def test_one_name_that_is_not_answered_for_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *args: Any, **options: Any) -> Any:
        if host == "slow.example":
            over.wait(PATIENCE)
        return real("127.0.0.1", *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    waiting = threading.Thread(target=look_up, args=("slow.example", 443, PATIENCE))
    waiting.start()
    assert look_up("other.example", 443, PATIENCE)[0][4] == ("127.0.0.1", 443)
    over.set()
    waiting.join()


def test_the_second_address_of_a_host_is_tried_where_the_first_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with peer() as plain, found_at(HOST, plain.port, "127.0.0.2", "127.0.0.1"):
        assert HttpClient(f"http://{HOST}:{plain.port}", own=True).get("/x", {}).status == 200


# Alarms


def test_a_peer_that_is_not_reached_for_a_minute_is_an_alarm_until_it_answers(free_port: int) -> None:
    clock = MovableClock(datetime(2030, 5, 6, tzinfo=UTC))
    alarms = Alarms(clock)
    reach = ReachabilityAlarm(alarms, clock, "gateway-unreachable", "the gateway", "check BOT_GATEWAY_URL")
    with peer() as plain:
        client = HttpClient(plain.url, own=True, reach=reach)
        monkey = pytest.MonkeyPatch()
        monkey.setattr(client, "_prefix", f"http://127.0.0.1:{free_port}")
        for seconds in (0, 59):
            clock.move(timedelta(seconds=seconds))
            with pytest.raises(NotSent):
                client.get("/x", {})
            assert alarms.current() == []
        clock.move(timedelta(seconds=1))
        with pytest.raises(NotSent):
            client.get("/x", {})
        (alarm,) = alarms.current()
        assert (alarm.name, alarm.advice) == ("gateway-unreachable", "check BOT_GATEWAY_URL")
        assert alarm.what.startswith("the gateway gives no answer: no connection to 127.0.0.1")
        monkey.undo()
        plain.answers(accepted())
        client.get("/x", {})
    assert alarms.current() == []


@pytest.mark.parametrize(
    "answers",
    [
        hang_up,
        answer(302, b"", {"Location": "http://127.0.0.1:9/"}),
        answer(404, b"<html>"),
        answer(502, b"<html>"),
    ],
    ids=["none", "a redirect", "another's page", "a proxy's error"],
)
def test_what_is_no_answer_of_the_gateway_for_a_minute_is_an_alarm_until_it_answers(answers: Answer) -> None:
    clock = MovableClock(datetime(2030, 5, 6, tzinfo=UTC))
    alarms = Alarms(clock)
    reach = ReachabilityAlarm(alarms, clock, "gateway-unreachable", "the gateway", "check BOT_GATEWAY_URL")
    with peer() as server:
        gateway = Gateway(server.url, "key", reach=reach)
        server.answers(answers, answers, refused("VALIDATION_INVALID_PHONE", 400))
        for seconds in (0, 60):
            assert alarms.current() == []
            clock.move(timedelta(seconds=seconds))
            with pytest.raises((NotTheGateway, OutcomeUnknown)):
                gateway.send("1", TextMessage("Hello"), "k1")
        assert [alarm.name for alarm in alarms.current()] == ["gateway-unreachable"]
        with pytest.raises(GatewayRefused):
            gateway.send("1", TextMessage("Hello"), "k1")
        assert alarms.current() == []


def test_the_engine_tells_of_a_gateway_and_a_model_that_are_not_reached_and_why(tmp_path: Path, secure: Peer) -> None:
    clock, store = MovableClock(datetime(2030, 5, 6, tzinfo=UTC)), tmp_path / "bot.db"
    migrate(store)
    models = ModelService(f"{secure.url}/api/v1", "sk", ("acme/swift",), "authorization")
    program = load_program(read_folder(make_bot(tmp_path / "bot", ASKED)))
    engine = Engine(program, store, clock, GatewayAccount(secure.url, "key"), models=models)
    engine.start()
    asks = ListGatewayContacts(1)
    complete = StartFlow("6281234567890", "main")
    try:
        for _ in range(2):
            with pytest.raises(GatewayNotReached):
                engine.operate(asks)
            engine.operate(complete)
            assert engine.wait_settled(20)
            clock.move(timedelta(minutes=2))
            assert engine.wait_settled(20)
        found = {alarm["name"]: alarm for alarm in engine.operate(AskStatus()).alarms}
        assert found.keys() == {"gateway-unreachable", "model-unreachable"}
        for alarm in found.values():
            assert "signed by an authority that is not known here" in alarm["what"]
            assert "SSL_CERT_FILE" in alarm["advice"]
    finally:
        engine.stop()


def test_a_look_up_for_which_no_thread_can_be_started_is_no_unknown_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is this machine's, and another try may help."""

    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(HostUnknown, match="localhost is not looked up: this machine can start no more threads"):
            look_up("localhost", 443, PATIENCE)
        with pytest.raises(NotFetched, match="this machine can start no more threads") as raised:
            got(Downloads("https://other.example"), f"https://{HOST}/f")
        assert raised.value.again
    assert look_up("localhost", 443, PATIENCE)
