"""The checks of `bot doctor`: the services, the files that flows send and the public address, over the network; the
machine and its settings. All run at once, within one deadline.
"""

import json
import os
import shutil
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlencode, urlsplit

from bot.core.defects import guard
from bot.core.effects import HttpRequest
from bot.core.engine_answers import EngineRefused
from bot.core.engine_requests import AskStatus
from bot.core.errors import BotError
from bot.core.filetypes import END, type_of
from bot.core.immutable import immutable
from bot.core.messages import MEDIA_BYTES
from bot.language.expressions.templates import Template
from bot.language.flow.event_receiver import NAME as EVENTS_TO
from bot.language.flow.event_receiver import EventReceiver
from bot.language.flow.library import Library, sent_files, template_uses
from bot.language.steps.mcp_servers import MCP, McpServer, difference, list_path, offered
from bot.language.steps.schedule import end_of
from bot.language.steps.step_facts import SentFile
from bot.loading.folder import env_files
from bot.runtime.file_calls import Downloads, DownloadTooLarge, NotFetched
from bot.runtime.template_check import misfits
from bot.server import local_socket
from bot.services.ai.ai_client import Completions
from bot.services.ai.ai_errors import CompletionError
from bot.services.gateway.gateway_account import TemplateInfo
from bot.services.http_client import HttpClient, Response
from bot.services.mcp_client import McpClient
from bot.services.operators_network import CERTIFICATE_REFUSED
from bot.services.outgoing import ServiceRequester
from bot.services.request_errors import HttpError, RequestFailed
from bot.settings import ModelService, unknown_variables
from bot.store.database import PostgresAddress, StoreAddress, shards_of
from bot.store.files import (
    RestoreUnfinished,
    ShardsDiffer,
    StoreMissing,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
    beside,
    inbox_path,
)
from bot.store.integrity import StoreHealth, StoresDiffer, health, sqlite_version
from bot.store.kept_files import FilesUnavailable, kept_files
from bot.store.opening import DriverMissing, engine_reader
from bot.store.published_versions import in_folder, served_version
from bot.store.sqlite_database import grown_wal


@immutable
class CheckResult:
    """The result for one thing: ``what`` in words, and what to do if it is not ``ok``."""

    about: str
    state: Literal["ok", "warn", "fail"]
    what: str
    advice: str = ""


def ok(about: str, what: str) -> CheckResult:
    """The result for something that is as it should be."""
    return CheckResult(about, "ok", what)


def warn(about: str, what: str, advice: str) -> CheckResult:
    """The result for something that may be intended, or will cause trouble later."""
    return CheckResult(about, "warn", what, advice)


def fail(about: str, what: str, advice: str = "") -> CheckResult:
    """The result for something with which the bot cannot work."""
    return CheckResult(about, "fail", what, advice)


@immutable
class Check:
    """One check. ``late`` is the result if the check does not end in time."""

    look: Callable[[], Iterable[CheckResult]]
    late: CheckResult


def together(checks: Sequence[Check], seconds: float) -> Iterator[CheckResult]:
    """Run all checks at once, and return their results in order.

    A check that has not ended after ``seconds`` is reported as such. It continues alone, on a thread that does not
    keep the process alive. Raises the errors of checks.
    """
    deadline = monotonic() + seconds
    begun = [(check, _begun(check)) for check in checks]
    for check, found in begun:
        try:
            while (one := found.get(timeout=max(0.0, deadline - monotonic()))) is not None:
                if isinstance(one, Exception):
                    raise one
                yield one
        except Empty:
            yield check.late


def _begun(check: Check) -> "SimpleQueue[CheckResult | Exception | None]":
    """The results of a check, and None at its end."""
    found: SimpleQueue[CheckResult | Exception | None] = SimpleQueue()

    def look() -> None:
        try:
            for one in check.look():
                found.put(one)
            found.put(None)
        except Exception as error:
            found.put(error)

    threading.Thread(target=guard(look, ends_process=False), name="check", daemon=True).start()
    return found


PATIENCE = 5.0  # seconds
RECEIVER = "receiver"  # of events
REFUSED_BEYOND = timedelta(minutes=5)
DOUBTFUL_BEYOND = timedelta(minutes=1)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def reach(
    about: str,
    variable: str,
    url: str,
    now: Callable[[], datetime],
    path: str = "/",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Generator[CheckResult, None, bool]:
    """Check that the service itself answers, and how far its clock is from ours. Returns whether it answers.

    ``path`` and ``headers`` are those of an ordinary request, with the key: a proxy before the service may let nothing
    else through.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        yield warn(about, f"{variable} is not https: the key can be read on the way", f"set {variable} to https://...")
    try:
        with closing(HttpClient(url, seconds=PATIENCE, own=True)) as http:
            answer = http.get(path, headers)
    except HttpError as error:
        yield fail(about, str(error), error.advice or f"check {variable} and the network")
        return False
    if (strange := _not_the_service(answer, variable, url, path)) is not None:
        yield fail(about, *strange)
        return False
    yield ok(about, f"{parts.netloc} answers")
    yield from _clock(about, answer.headers.get("Date"), now())
    return True


_GZIP = b"\x1f\x8b"


def _not_the_service(answer: Response, variable: str, url: str, path: str) -> tuple[str, str] | None:
    """The reason why an answer is not the service's, and what to do; None if it may be, because then the service says
    what is wrong.
    """
    where, base = f"{url}{path.partition('?')[0]}", urlsplit(url).path
    if answer.body.startswith(_GZIP):
        what = f"{where} answers with gzip and does not say so (Content-Encoding)"
        return what, "have the proxy before it send the header, or not compress"
    if 300 <= answer.status < 400:
        to = urlsplit(answer.headers.get("Location") or "")._replace(query="").geturl()
        what = f"{where} redirects{f' to {to}' if to else ''} ({answer.status})"
        return (
            what,
            f"set {variable} to where the service is; if that is a login page, let requests with the key pass without it",
        )
    is_page = answer.body.lstrip()[:1] == b"<"
    if answer.status in (502, 503, 504) and not _is_json(answer):
        what = f"{where} answers {answer.status} with a page of a proxy: the service behind it does not answer"
        return what, "wait a minute, then ask who runs it; no setting of the bot's is wrong"
    if answer.status == 404 and base:
        what = f"{where} is not there (404): {variable} ends in the path {base}"
        return (
            what,
            f"take the path out, if the service's documentation does not name it: {variable}={url.removesuffix(base)}",
        )
    if is_page and answer.status != 404:
        what = f"{where} answers {answer.status} with a page for people, perhaps for a login"
        return what, f"let requests with the key pass without a login, or set {variable} to the service itself"
    if is_page:
        return f"{where} answers 404 with a page for people", f"check {variable}: another server has this address"
    return None


def _is_json(answer: Response) -> bool:
    try:
        return isinstance(json.loads(answer.body), dict)
    except ValueError:
        return False


def gateway_key(
    listed: Callable[[], Sequence[TemplateInfo]], flows: Callable[[], Library | None]
) -> Iterator[CheckResult]:
    """Check that the gateway takes the key, and has the templates that flows name. ``listed`` gets its templates."""
    try:
        templates = listed()
    except BotError as error:
        yield fail("gateway", f"its templates cannot be listed: {error}")
        return
    yield ok("gateway", f"the key is accepted; templates of the channel: {len(templates)}")
    if (library := flows()) is not None:
        yield from _templates(library, templates)


def models_request(service: ModelService) -> tuple[str, Mapping[str, str]]:
    """The path and the headers of a request for the list of models, with the key where the service wants it."""
    match service.key_in:
        case "authorization":
            return "/models", {"Authorization": f"Bearer {service.key}"}
        case "x-api-key":
            return "/models", {"x-api-key": service.key}
    return f"/models?{urlencode({'apiKey': service.key})}", {}


def models(service: ModelService) -> Iterator[CheckResult]:
    """Check that the chat-completion service takes the key, and has the models that are set."""
    try:
        with closing(Completions(service.url, service.key, key_in=service.key_in, seconds=PATIENCE)) as asked:
            there = {model.id for model in asked.models()}
    except CompletionError as error:
        yield fail("models", str(error))
        return
    missing = [model for model in service.models if model not in there]
    for model in missing:
        yield fail("models", f'"{model}" is not in the list', "`bot models` lists them; set BOT_AI_MODEL")
    if not missing:
        yield ok("models", f"the key is accepted; models in the list: {len(there)}")


def events_receiver(receiver: EventReceiver, secrets: Mapping[str, str]) -> Iterator[CheckResult]:
    """Check that something answers at the address for events, and that their signing secret is set. No
    event is sent.
    """
    if not secrets.get(receiver.secret):
        yield fail(RECEIVER, f"{receiver.secret} is not set", "set it, in the environment or in .env")
    try:
        looks = ServiceRequester({EVENTS_TO: receiver.service}, secrets)
        looks(HttpRequest("GET", f"{EVENTS_TO}:/", seconds=PATIENCE), "")
    except RequestFailed as error:
        yield fail(RECEIVER, str(error), "check events_to in bot.yml, and the receiver")
    else:
        yield ok(RECEIVER, "something answers there")


def mcp_servers(servers: Mapping[str, McpServer], secrets: Mapping[str, str]) -> Iterator[CheckResult]:
    """Check that each MCP server answers, with the tools that its list has. No tool is called."""
    for name, server in servers.items():
        try:
            protocol, listed = McpClient(servers, secrets).list_tools(name)
        except BotError as error:
            yield fail(MCP, f"{name}: {error}", "check mcp in bot.yml, and the server")
            continue
        tools, _ = offered(name, listed)
        if changes := difference(server.tools, tools):
            yield warn(MCP, f"{name} has other tools than {list_path(name)}: {changes}", "run `bot tools`, and read it")
        elif protocol != server.protocol:
            yield warn(MCP, f"{name} speaks another version of MCP: {protocol}", "run `bot tools`")
        else:
            yield ok(MCP, f"{name} answers; its tools are those of {list_path(name)}")


def kept(store: StoreAddress) -> Iterator[CheckResult]:
    """Check that the S3-like store for files that flows keep can write, list, read and delete them."""
    try:
        kept_files(store).check()
    except FilesUnavailable as error:
        yield fail("files", error.what, error.advice)
    except DriverMissing as error:
        yield fail("files", str(error))
    else:
        yield ok("files", "the bucket of BOT_FILES takes files, gives and deletes them")


def _clock(about: str, date: str | None, now: datetime) -> Iterator[CheckResult]:
    try:
        off = abs(parsedate_to_datetime(date or "") - now)
    except (ValueError, TypeError):
        return  # it does not say, or not where in the world that is
    what = f"its clock and ours differ by {off.total_seconds():,.0f} s"
    if off > REFUSED_BEYOND:
        advice = "set this machine's clock (timedatectl set-ntp true): events are refused as stale"
        yield fail(about, what, advice)
    elif off > DOUBTFUL_BEYOND:
        yield warn(about, what, "set this machine's clock (timedatectl set-ntp true)")
    else:
        yield ok(about, what)


def _templates(library: Library, listed: Sequence[TemplateInfo]) -> Iterator[CheckResult]:
    uses = list(template_uses(library))
    found = misfits(uses, listed)
    for misfit in found:
        yield (fail if misfit.certain else warn)("templates", f"{misfit.mark}: {misfit.what}", misfit.fix)
    if not found and uses:
        yield ok("templates", f"all {len({use.notice.name for use in uses})} that the flows name can be sent")


AT_ONCE = 16


def reachable(library: Library, gateway_url: str, seconds: float) -> Iterator[CheckResult]:
    """Check that the files that flows send can be fetched, within ``seconds`` in all, and are small enough. Each is
    fetched once.
    """
    downloads, turns = Downloads(gateway_url), threading.BoundedSemaphore(AT_ONCE)
    spoken = (library, *library.translations.values())
    sent = [file for each in spoken for file in sent_files(each.bot, each.flows) if file.link.constant and not file.own]
    found = {(file.link.source, file.kind): file for file in reversed(sent)}
    yield from together([_check(file, downloads, turns, seconds) for file in found.values()], seconds)


def _check(file: SentFile, downloads: Downloads, turns: threading.BoundedSemaphore, seconds: float) -> Check:
    place = f"{file.link.mark}: {file.link.source}"

    def look() -> Iterator[CheckResult]:
        with turns:
            yield _looked_at(file, place, downloads, seconds)

    late = f"{place}: it did not arrive in time"
    return Check(look, fail("files", late, "make sure that the gateway can fetch it within a few seconds"))


def _looked_at(file: SentFile, place: str, downloads: Downloads, seconds: float) -> CheckResult:
    most = MEDIA_BYTES[file.kind]
    try:
        with downloads.open(file.link.source, most=most, seconds=seconds) as chunks:
            return _judged(file, place, next(chunks, b""))
    except DownloadTooLarge:
        return fail("files", f"{place} is too large", f"{most >> 20} MB are allowed for {file.kind}")
    except NotFetched as error:
        return fail("files", f"{place}: {error}", "the gateway must be able to fetch it from there")


def _judged(file: SentFile, place: str, start: bytes) -> CheckResult:
    found = type_of(start[:END], b"", file.kind)
    is_one = found is not None and found.kind == file.kind and found.sent
    if is_one or (found is None and file.kind == "document"):  # of some documents only the end tells
        return ok("files", place)
    what = "" if found is None else f": by its content it is {found.name}"
    advice = "open the address, and see what is there"
    return fail("files", f"{place} is not of a type that the gateway takes as {file.kind}{what}", advice)


RENEWED_BEFORE = timedelta(days=14)
ABOUT = "webhook"
BY_TUNNEL = "the gateway is on this machine: the emulator's --tunnel leads to the bot without that address"
NOT_REACHED = "does `bot serve` run, and does the proxy lead to it?"
RENEW = "replace it by a certificate for this name, from an authority that the gateway knows"


def public_address(url: str, path: str, now: datetime, rehearsed: bool = False) -> Iterator[CheckResult]:
    """Look at the bot from outside. ``url`` is its public base address, ``path`` the webhook's.

    ``rehearsed`` is true if the gateway is on this machine, as the emulator is.
    """
    if urlsplit(url).scheme != "https":
        yield fail(ABOUT, f"{url} is not https", "put a proxy with a certificate before the bot (docs/going-live.md)")
    unsigned = {"Content-Type": "application/json"}
    try:
        with closing(HttpClient(url, seconds=PATIENCE, own=True)) as http:
            with http.stream("POST", path, b"{}", unsigned, idle_seconds=PATIENCE, seconds=PATIENCE) as answer:
                if (ends := answer.certificate_ends()) is not None:
                    yield certificate(ends, now)
                whole = answer.whole()
            if whole.status >= 500:  # the proxy's own
                yield fail(ABOUT, f"{url}{path} answers {whole.status}: the bot is not reached", NOT_REACHED)
                return
            yield _webhook(f"{url}{path}", whole)
            yield _ready(http.get("/readyz", {}))
    except HttpError as error:
        advice = RENEW if CERTIFICATE_REFUSED in str(error) else error.advice
        if rehearsed and not advice:
            yield warn(ABOUT, str(error), BY_TUNNEL)
        else:
            yield fail(ABOUT, str(error), advice or NOT_REACHED)


def certificate(ends: datetime, now: datetime) -> CheckResult:
    """Check that the accepted certificate is valid for some weeks more."""
    left = ends - now
    what = f"its certificate holds for {left.days} more days"
    return ok(ABOUT, what) if left > RENEWED_BEFORE else warn(ABOUT, what, "check why it is not renewed")


def _webhook(url: str, answer: Response) -> CheckResult:
    """Check that the bot itself rejects an unsigned request."""
    if answer.status == 401 and "X-Service-Timestamp" in _message(answer):
        return ok(ABOUT, f"{url} is the bot")
    what = f"{url} answers {answer.status}, and the bot would answer 401"
    return fail(ABOUT, what, "check where the proxy leads, and BOT_WEBHOOK_PATH")


def _ready(answer: Response) -> CheckResult:
    if answer.status == 200:
        return ok(ABOUT, "the bot says that it is ready")
    if answer.status == 503:
        return fail(ABOUT, f"the bot is not ready: {_message(answer)}", "see its log")
    return ok(ABOUT, f"/readyz is not visible from outside ({answer.status})")


def _message(answer: Response) -> str:
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""


LEAST_DISK = 100 << 20
LITTLE_DISK = 1 << 30
SILENCE = timedelta(days=7)
"""After so many days of failing deliveries the gateway disables a webhook (spec: states)."""

_FIXED = (3, 51, 3)


def sqlite() -> CheckResult:
    """Name the version of SQLite."""
    version = sqlite_version()
    if tuple(map(int, version.split("."))) >= _FIXED:
        return ok("sqlite", version)
    return ok(
        "sqlite", f"{version}: its bug with two writers of one file does not matter, each file here has one writer"
    )


OLDEST_POSTGRES = 15
CLOCKS_APART = timedelta(seconds=5)


def database(address: PostgresAddress, now: datetime) -> Iterator[CheckResult]:
    """Check the version of PostgreSQL, and that it keeps what it has committed. (`store_state` checks the contents.)"""
    from bot.store.postgres_database import database_server

    try:
        found = database_server(address)
    except StoreUnavailable as error:
        yield fail("database", error.what, error.advice)
        return
    if found.number < 10_000 * OLDEST_POSTGRES:
        yield fail("database", f"PostgreSQL {found.version} is too old", f"install {OLDEST_POSTGRES} or a newer one")
    for name in found.unsafe:
        yield fail("database", f"{name} is off: a crash loses events that were acknowledged", f"set {name} = on")
    if found.is_pooled:
        what = "a pooler gives each transaction another session: the engine's lock is lost, and notices do not arrive"
        yield fail("database", what, "set it to session mode (PgBouncer: pool_mode = session), or do without it")
    if found.is_read_only:
        advice = "set default_transaction_read_only = off, or let BOT_STORE lead to the primary"
        yield fail("database", "it can only be read: no event is accepted, and none is taken", advice)
    if found.has_late_standby:
        what = "its standby is asynchronous: a fail-over to it loses the events that were acknowledged last"
        yield warn("database", what, "name a standby in synchronous_standby_names (docs/scaling.md)")
    if abs(found.now - now) > CLOCKS_APART:
        what = f"its clock and this machine's are {abs((found.now - now).total_seconds()):,.0f} s apart"
        yield warn("database", what, "let all machines keep time (NTP)")
    if not (found.unsafe or found.is_pooled or found.is_read_only) and found.number >= 10_000 * OLDEST_POSTGRES:
        yield ok("database", f"PostgreSQL {found.version}")


def disk(store: StoreAddress) -> CheckResult:
    """Check that the store's folder can be written, and has room."""
    folder = beside(store).parent
    if not os.access(folder, os.W_OK):
        return fail("disk", f"{folder} cannot be written", "give this user the right to, or set BOT_STORE")
    free = shutil.disk_usage(folder).free
    what = f"{free / 1e9:,.1f} GB are free in {folder}"
    if free < LEAST_DISK:
        lost = "no event is accepted" if isinstance(store, Path) else "no file of a contact is kept"
        return fail("disk", what, f"make room: on a full disk {lost}")
    return warn("disk", what, "make room soon") if free < LITTLE_DISK else ok("disk", what)


def env_file(folder: Path) -> Iterator[CheckResult]:
    """Check that no other user can read the secrets."""
    for file in env_files(folder):
        if file.stat().st_mode & 0o077:
            yield warn("secrets", f"others on this machine can read {file}", f"chmod 600 {file}")


def variables(environ: Iterable[str]) -> Iterator[CheckResult]:
    """Variables that look like settings but are unknown."""
    for line in unknown_variables(environ):
        yield warn("settings", line, "correct its name, in the environment or in .env")


def store_state(store: StoreAddress, now: datetime) -> Iterator[CheckResult]:
    """The state of the store, and the past events that it reports."""
    try:
        found = health(store)
    except StoreMissing:
        yield warn("store", f"there is no store at {store} yet", "`bot serve` makes one")
        return
    except StoreOutdated:
        yield warn("store", f"{store} is of an older version", "start the server: it brings it up to date")
        return
    except StoreUnavailable as error:
        yield fail("store", error.what, error.advice)
        return
    except (StoresDiffer, ShardsDiffer, StoreTooNew, RestoreUnfinished) as error:
        yield fail("store", str(error))
        return
    yield from _files(found)
    yield from _events(found, now)
    for path in (store, inbox_path(store)) if isinstance(store, Path) else ():
        if (growing := grown_wal(path)) is not None:
            yield warn("store", *growing)


def served(store: StoreAddress, folder: Path) -> Iterator[CheckResult]:
    """Name the version that is served, and the machines. If the store cannot be read, other checks report it."""
    try:
        with closing(engine_reader(store)) as database:
            version, machines = served_version(database), database.machines()
    except BotError:
        return
    if version is not None:
        differs, what = in_folder(version, folder)
        yield warn("version", what, "`bot publish` here serves these files instead") if differs else ok("version", what)
    if others := [machine for machine in machines if not machine.is_this]:  # this command has sessions, too
        yield ok("machines", "; ".join(map(str, others)))


def server(store: StoreAddress, settings: Path | None = None) -> Iterator[CheckResult]:
    """Check that a server runs, has no alarms, and was started after ``settings`` changed."""
    try:
        status = local_socket.ask(store, AskStatus())
    except local_socket.NotRunning:
        yield warn("server", f"no server answers on this machine for {store}", "`bot serve`")
        return
    except EngineRefused as error:
        yield fail("server", f"it runs and is in trouble: {error}", "see its log")
        return
    for alarm in status.alarms:
        yield fail("server", alarm["what"], alarm["advice"])
    if settings is not None and settings.stat().st_mtime > _started_at(store):
        yield warn(
            "server",
            f"it runs, and {settings} has been changed since its start",
            "restart it: settings are read at the start",
        )
    elif not status.alarms:
        yield ok("server", f"it runs; messages that wait to be sent: {status.waiting:,}")


def web(host: str, port: int) -> Iterator[CheckResult]:
    """Check that the web process of this machine answers. If nothing listens, other checks report that no
    server runs.
    """
    with closing(HTTPConnection(host, port, timeout=PATIENCE)) as connection:
        try:
            connection.request("GET", "/healthz")
            connection.getresponse()
        except ConnectionRefusedError:
            return
        except (OSError, HTTPException):
            what = f"the web process at {host}:{port} does not answer: no event is accepted here"
            yield fail("server", what, "see its log, and restart the server")


def _started_at(store: StoreAddress) -> float:
    """The time at which the first server of this machine began to listen."""
    sockets = [socket for shard in shards_of(store) if (socket := local_socket.socket_of(shard)).exists()]
    return min(socket.stat().st_mtime for socket in sockets)


def _files(found: StoreHealth) -> Iterator[CheckResult]:
    for file in found.exposed:
        yield warn("store", f"others on this machine can read {file}", f"chmod 600 {file}")
    if found.erasures:
        what = f"contacts whose erasure from the log or the files is not finished: {found.erasures}"
        yield warn("store", what, "`bot serve` finishes it")
    if found.dead_letters:
        yield warn("store", f"messages and turns that were given up: {found.dead_letters}", "`bot queue` says why")
    else:
        yield ok("store", "nothing was given up")
    if found.late:
        waits = "messages wait until their contacts write, because their 24-hour windows were closed"
        yield ok("store", f"{waits}: {found.late} contact{'s' if found.late > 1 else ''}; `bot queue` shows them")


def _events(found: StoreHealth, now: datetime) -> Iterator[CheckResult]:
    if found.last_received is None:
        yield warn("events", "no event has come yet", "`bot webhook register`, then write to the bot's number")
    elif now - found.last_received > SILENCE:
        days = (now - found.last_received).days
        advice = (
            "if people write: the gateway disables a webhook that fails for 7 days, "
            "`bot webhook register` makes a new one"
        )
        yield warn("events", f"the last event came {days} days ago", advice)
    else:
        yield ok("events", f"the last event came at {found.last_received.astimezone():%Y-%m-%d %H:%M}")
    if found.last_stale is not None and now - found.last_stale <= SILENCE:
        what = "correctly signed events that were rejected because their timestamps are too far off: "
        last = f"{found.stale}, the last at {found.last_stale.astimezone():%Y-%m-%d %H:%M}"
        advice = "set this machine's clock; else raise BOT_WEBHOOK_TOLERANCE, up to 10800 seconds"
        yield fail("events", what + last, advice)


def past_dates(library: Library, now: datetime) -> Iterator[CheckResult]:
    """Find schedules and waits for a time that has passed: they happen at once, or never."""
    here = now.astimezone(library.bot.timezone)
    for point in _points(library):
        if point.constant and end_of(point, {}, here) <= now:
            yield warn("flows", f"{point.mark}: {point.source} is past", "write a later time, or delete it")


def _points(library: Library) -> Iterator[Template]:
    for step in (step for flow in library.flows.values() for step in flow.steps.values()):
        yield from step.facts.moments
        for schedule in step.options.schedule:
            yield from (point for point in (schedule.at, schedule.until) if point is not None)
