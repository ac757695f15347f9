"""The faults, one function each: what goes wrong, what is looked at meanwhile, and how it ends."""

import os
import resource
import signal
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from time import sleep

import psycopg

from bot.core.engine_requests import Reload
from bot.server import local_socket
from bot.store.files import inbox_path
from bot.store.sqlite_schema import migrate
from bot.testing.emulator.completion import CompletionService, NoAnswer
from tests.faults.harness import CONTACTS, FLOW, HEALS, OTHER, REST, SERVED_WITHIN, VICTIM, Cell, Fault, Trial
from tests.patience import PATIENCE
from tests.server.process.serving import until

FAULTS: list[Fault] = []
NOT_THE_GATEWAY = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
SLOW_PATTERN = r"""flow: codes
start: {pattern: '([a-z]+\.?)+[0-9]'}
steps: {done: {say: A code.}}
"""
LATER = """flow: later
start: {words: [later]}
vars: {more: text}
steps:
  pause: {wait: 2s}
  more: {ask: "You wrote: later", save: more}
  done: {say: "You wrote: {{ more }}", then: end}
"""
LOOPS = 3  # how often a service manager starts a server that ends at once

Act = Callable[[Trial], None]


def fault(name: str, *, quick: bool = False) -> Callable[[Act], Act]:
    def keep(act: Act) -> Act:
        FAULTS.append(Fault(name, act, quick))
        return act

    return keep


# -- processes


@fault("web process stands still", quick=True)
def web_stands_still(trial: Trial) -> None:
    trial.up()
    trial.write()
    with trial.stands_still(trial.serving.child("web")):
        trial.write()
        trial.shows("/healthz without an answer", lambda: trial.get("/healthz") is None)
    trial.heals()


@fault("engine process stands still", quick=True)
def engine_stands_still(trial: Trial) -> None:
    trial.up()
    trial.write()
    with trial.stands_still(trial.serving.child("engine")):
        before = len(trial.gateway.acknowledged)
        trial.write()
        trial.gateway.wait_until(lambda: len(trial.gateway.acknowledged) >= before + len(CONTACTS), PATIENCE)
        trial.shows("/readyz 503", lambda: trial.get("/readyz") == 503)
    trial.heals()


@fault("supervisor stands still", quick=True)
def supervisor_stands_still(trial: Trial) -> None:
    trial.up()
    with trial.stands_still(trial.serving.process.pid):
        trial.serves()
    trial.write()
    trial.heals()


def killed(role: str) -> Act:
    def act(trial: Trial) -> None:
        trial.up()
        trial.write()
        os.kill(trial.serving.child(role), signal.SIGKILL)
        trial.write()
        trial.logs(f"the {role} process was killed by signal 9: it is started again", "started again")
        trial.heals()

    return act


for _role in ("web", "engine"):
    fault(f"{_role} process is killed")(killed(_role))


@fault("engine process is killed twice under load")
def killed_under_load(trial: Trial) -> None:
    (trial.folder / "later.yml").write_text(LATER)
    trial.up(BOT_GATEWAY_PER_MINUTE="10000", BOT_GATEWAY_PER_CONTACT="10000")
    trial.write(OTHER, text="later")
    until(lambda: trial.gateway.acknowledged)
    with trial.load(VICTIM, *REST):
        for _ in range(2):
            until(trial.status)
            os.kill(trial.serving.child("engine"), signal.SIGKILL)
            trial.logs("the engine process was killed by signal 9: it is started again", "started again")
        trial.answers(OTHER, "later", 2 * SERVED_WITHIN)
    trial.heals(within=120)


def raising(role: str, place: str) -> Act:
    def act(trial: Trial) -> None:
        flag = trial.folder / "raises"
        trial.up(broken={place: str(flag)})
        trial.write()
        flag.touch()
        trial.write()
        trial.logs(f"the {role} process ended with 72: it is started again", "started again")
        trial.shows_alarm("defect")
        trial.alarms_that_stay = {"defect"}
        trial.heals()

    return act


for _role, _thread, _place in (
    ("web", "inbox", "bot.store.inbox:InboxWriter._next_group"),
    ("web", "house", "bot.server.web.web_service:WebService._erase"),
    ("engine", "turns", "bot.runtime.engine_loop:EngineLoop._run_cycle"),
    ("engine", "http", "bot.runtime.delivery:Delivery._on_attempts"),
):
    fault(f"{_role}'s thread {_thread} raises", quick=_thread == "inbox")(raising(_role, _place))


@fault("supervisor is killed")
def supervisor_killed(trial: Trial) -> None:
    trial.up()
    trial.write()
    os.kill(trial.serving.process.pid, signal.SIGKILL)
    trial.shows("exit -9", lambda: trial.serving.process.poll() == -9)
    trial.write()
    trial.up()
    trial.heals("started again")


# -- the gateway


@fault("gateway accepts and never answers")
def gateway_hangs(trial: Trial) -> None:
    trial.up()
    trial.write()
    trial.heals()
    trial.link.turns(is_silent=True)
    trial.write()
    trial.shows_alarm("gateway-unreachable", within=120)
    trial.link.up()
    trial.heals(within=120)


@fault("gateway is not there")
def gateway_gone(trial: Trial) -> None:
    trial.up()
    trial.write()
    trial.heals()
    trial.link.cut()
    trial.write()
    trial.shows_alarm("gateway-unreachable", within=150)
    trial.link.up()
    trial.heals(within=120)


@fault("gateway's name is unknown")
def gateway_unknown(trial: Trial) -> None:
    trial.up(BOT_GATEWAY_URL="http://gateway.invalid:80")
    trial.write()
    trial.shows_alarm("gateway-unreachable", within=150)
    trial.stop()
    trial.up()
    trial.heals("BOT_GATEWAY_URL set right", within=120)


@fault("something else answers 302")
def gateway_redirects(trial: Trial) -> None:
    trial.up()
    trial.link.turns(answers=NOT_THE_GATEWAY)
    trial.write()
    trial.shows_alarm("address-held")
    trial.link.up()
    trial.heals("tried after one, two, four ... seconds", within=120)


@fault("gateway takes nothing at its address (404)", quick=True)
def address_wrong(trial: Trial) -> None:
    trial.up()
    trial.gateway.faults.add("error_before", status=404, code="not_found")
    trial.write()
    trial.shows_alarm("address-held")
    trial.gateway.faults.clear()
    trial.heals("tried after one, two, four ... seconds", within=120)


@fault("gateway refuses the key (401)")
def key_refused(trial: Trial) -> None:
    trial.up()
    trial.gateway.faults.add("unauthorized")
    trial.write()
    trial.shows_alarm("delivery-held")
    trial.gateway.faults.clear()
    trial.heals("one request a minute tries", within=150)


@fault("one channel is switched off")
def channel_off(trial: Trial) -> None:
    channels = "channels: {'15550000001': channel-1, '15550000002': channel-2}\n"
    bot = trial.folder / "bot.yml"
    bot.write_text(bot.read_text() + channels)
    trial.up()
    trial.gateway.inactive_channels.add("channel-2")
    trial.write(VICTIM, channel="channel-2")
    trial.shows_alarm("channel-held")
    trial.serves(times=3)
    trial.gateway.inactive_channels.clear()
    trial.heals("one request a minute tries", within=150)


@fault("429 with a Retry-After of 90 s")
def long_retry_after(trial: Trial) -> None:
    trial.up()
    trial.gateway.faults.add("rate_limited", seconds=90.0)
    trial.write()
    trial.shows_alarm("rate-limited")
    trial.gateway.faults.clear()
    trial.heals("tried when the wait is over", within=200)


@fault("gateway takes 5 s for each answer, and its minute is full")
def slow_and_full(trial: Trial) -> None:
    trial.up(BOT_GATEWAY_PER_MINUTE="30")
    trial.gateway.faults.add("slow", seconds=5.0)
    trial.write(*CONTACTS * 9)
    trial.shows("messages in the queue", lambda: len(trial.gateway.sent) >= 30 and trial.rows("outbox"), within=30)
    trial.gateway.faults.clear()
    trial.heals("as fast as the limit lets it", within=150)


# -- clients of the webhook


@fault("slow clients", quick=True)
def slow_clients(trial: Trial) -> None:
    trial.up()
    with clients(trial, 100) as connections:
        ended = threading.Event()
        dripping = threading.Thread(target=drip, args=(connections, ended))
        dripping.start()
        trial.serves(times=5)
        ended.set()
        dripping.join()
    trial.write()
    trial.heals()


@fault("1,200 half-open clients", quick=True)
def half_open_clients(trial: Trial) -> None:
    trial.up()
    with clients(trial, 600 if trial.quick else 1200):
        trial.serves(times=5)
    trial.write()
    trial.heals()


@contextmanager
def clients(trial: Trial, count: int) -> Iterator[list[socket.socket]]:
    """Clients that have begun a request."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with ExitStack() as held:
        made = [
            held.enter_context(socket.create_connection(("127.0.0.1", trial.serving.port), PATIENCE))
            for _ in range(count)
        ]
        for connection in made:
            with suppress(OSError):  # the server may have closed the first of them by now
                connection.sendall(b"POST /webhook HTTP/1.1\r\nX-Slow: ")
        yield made


def drip(connections: list[socket.socket], ended: threading.Event) -> None:
    while not ended.wait(0.2):
        for connection in connections:
            with suppress(OSError):
                connection.send(b"x")


@fault("2,000 messages of one contact", quick=True)
def flood(trial: Trial) -> None:
    trial.up(BOT_GATEWAY_PER_MINUTE="10000", BOT_GATEWAY_PER_DAY="10000", BOT_GATEWAY_PER_CONTACT="10000")
    trial.write(*[VICTIM] * (300 if trial.quick else 2000))
    trial.serves(times=5)
    trial.heals(within=120)


@fault("200 messages of one contact at the gateway's limits")
def flood_at_limits(trial: Trial) -> None:
    trial.up(BOT_GATEWAY_PER_MINUTE="60", BOT_GATEWAY_PER_DAY="10000")
    trial.write(*[VICTIM] * 200)
    trial.serves(times=5)
    trial.shows("messages in the queue", lambda: trial.rows("outbox") > 100)
    trial.cells[HEALS] = Cell(None, "as fast as the contact's share of each minute lets it")


@fault("one contact writes what is slow to read", quick=True)
def slow_texts(trial: Trial) -> None:
    (trial.folder / "codes.yml").write_text(SLOW_PATTERN)
    trial.up()
    for number in range(40 if trial.quick else 100):  # fewer stay within the share of a busy machine
        trial.write(VICTIM, text=f"{'a' * 4000}!{number}")
    trial.serves(times=3)
    trial.logs("one contact's messages take long", "its next ones wait")
    trial.heals(within=120)


@fault("signed deliveries that are no events", quick=True)
def no_events(trial: Trial) -> None:
    trial.up()
    for number in range(3):
        assert trial.serving.post_raw(b"from=%d&text=hi" % number, f"no-event-{number}") == 200
    trial.shows_alarm("events-unreadable")
    trial.alarms_that_stay.add("events-unreadable")  # for a day
    trial.serves()
    trial.heals("dead letters")


# -- the machine


@fault("second server on one store", quick=True)
def two_servers(trial: Trial) -> None:
    trial.up()
    trial.ends(trial.start(BOT_PORT="0"), "a server runs on", "BOT_STORE")
    trial.serves()
    trial.heals("the first goes on")


@fault("port is taken")
def same_port(trial: Trial) -> None:
    trial.up()
    trial.ends(trial.start(BOT_STORE=str(trial.folder / "another.db")), "cannot be listened on", "BOT_PORT")
    trial.serves()
    trial.heals("the first goes on")


@fault("folder of the store is read-only")
def read_only_folder(trial: Trial) -> None:
    trial.up()
    trial.serves()
    trial.stop()
    trial.folder.chmod(0o500)
    try:
        loop(trial, "give the bot's user the right", prefix=without_root())
    finally:
        trial.folder.chmod(0o700)
    trial.up()
    trial.write()
    trial.heals("says what to do")


@fault("file of the store is another user's")
def read_only_file(trial: Trial) -> None:
    trial.up()
    trial.serves()
    trial.stop()
    trial.file.chmod(0o444)
    os.chown(trial.file, 65534, 65534)
    loop(trial, "give the bot's user the right", prefix=without_root())
    os.chown(trial.file, os.getuid(), os.getgid())
    trial.up()
    trial.write()
    trial.heals("says what to do")


def without_root() -> list[str]:
    """A command that runs another one as anybody is run, to whom the modes of files are told."""
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"] if os.getuid() == 0 else []


def full_disk(role: str, look: Act) -> Act:
    def act(trial: Trial) -> None:
        trial.up()
        trial.write()
        trial.heals()
        pid = trial.serving.child(role)
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
        trial.write()
        look(trial)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hard))
        trial.heals()

    return act


def engine_has_no_room(trial: Trial) -> None:
    trial.logs("nothing is taken or sent: ", "nothing is taken or sent")
    trial.shows_alarm("store-unavailable")


fault("disk is full for the web process")(
    full_disk("web", lambda trial: trial.shows("/readyz 503", lambda: trial.get("/readyz") == 503))
)
fault("disk is full for the engine process")(full_disk("engine", engine_has_no_room))


@fault("web process can open no more files", quick=True)
def no_files_for_web(trial: Trial) -> None:
    trial.up()
    trial.write()
    trial.heals()
    pid = trial.serving.child("web")
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
    for _ in range(20):  # more than it has kept connections
        trial.write()
    with suppress(OSError), socket.create_connection(("127.0.0.1", trial.serving.port), PATIENCE):
        trial.logs("connections wait, and are not accepted: ", "connections wait")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    trial.heals()


@fault("the inbox is moved away while it is used")
def inbox_is_away(trial: Trial) -> None:
    trial.up()
    trial.write()
    trial.heals()
    inbox = inbox_path(trial.file)
    away = inbox.rename(inbox.with_name("away"))
    trial.write()
    trial.shows("/readyz 503", lambda: trial.get("/readyz") == 503)
    trial.logs("was deleted or replaced while the bot runs", "which file")
    away.rename(inbox)
    trial.heals("put back", within=120)


@fault("a reader holds a transaction open", quick=True)
def long_reader(trial: Trial) -> None:
    trial.up()
    trial.write()
    with ExitStack() as held:
        for path in (trial.file, inbox_path(trial.file)):
            reader = held.enter_context(closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)))
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM meta").fetchall()
        for _ in range(10):
            trial.write()
        trial.serves(times=3)
    trial.heals()


@fault("a divided store gives no ids")
def no_ids(trial: Trial) -> None:
    """The queries that draw ids for messages fail for a time. Each engine has some left, and uses these up."""
    url = trial.divide()
    trial.up(BOT_GATEWAY_PER_MINUTE="10000", BOT_GATEWAY_PER_CONTACT="10000")
    trial.write()
    trial.heals()
    with psycopg.connect(url, autocommit=True) as database, trial.load(VICTIM, *REST):
        database.execute("ALTER SEQUENCE bot.messages_id RENAME TO gone")
        trial.logs("nothing is taken or sent: ", "nothing is taken or sent")
        trial.shows_alarm("store-unavailable")
        database.execute("ALTER SEQUENCE bot.gone RENAME TO messages_id")
    trial.heals()


# -- the store is damaged, and something starts the server again and again


def loop(trial: Trial, *words: str, prefix: list[str] | None = None) -> None:
    """A server that ends each time with the same words; nobody's message is acknowledged."""
    for _ in range(LOOPS):
        trial.ends(trial.start(*(prefix or [])), *words)


def damaged(
    damage: Callable[[Trial, Path], None], words: str, restore: Callable[[Path], tuple[str | Path, ...]]
) -> Act:
    def act(trial: Trial) -> None:
        trial.up()
        trial.write()
        trial.heals()
        backup = trial.back_up("backup")
        trial.write()
        trial.heals()
        trial.stop()
        damage(trial, backup)
        loop(trial, words)
        trial.restore(*restore(backup))
        trial.up()
        trial.write()
        command = " ".join(str(part) if str(part).startswith("-") else "BACKUP" for part in restore(backup))
        trial.heals(f"`bot restore {command}`")

    return act


def older(which: int) -> Callable[[Trial, Path], None]:
    def damage(trial: Trial, backup: Path) -> None:
        path = trial.files()[which]
        path.write_bytes((backup / path.name).read_bytes())

    return damage


def foreign_inbox(trial: Trial, backup: Path) -> None:
    other = trial.folder / "other.db"
    migrate(other)
    with closing(sqlite3.connect(inbox_path(other))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    trial.files()[1].write_bytes(inbox_path(other).read_bytes())


def random_bytes(trial: Trial, backup: Path) -> None:
    path = trial.files()[0]
    path.write_bytes(os.urandom(path.stat().st_size))


def damaged_page(trial: Trial, backup: Path) -> None:
    path = trial.files()[1]
    content = bytearray(path.read_bytes())
    content[4096:12288] = b"\xa5" * 8192
    path.write_bytes(content)


def truncated(trial: Trial, backup: Path) -> None:
    path = trial.files()[0]
    os.truncate(path, path.stat().st_size // 2 + 100)


def missing(which: int) -> Callable[[Trial, Path], None]:
    return lambda trial, backup: trial.files()[which].unlink()


NEW_INBOX: Callable[[Path], tuple[str | Path, ...]] = lambda backup: ("--new-inbox",)  # noqa: E731
KEEP_INBOX: Callable[[Path], tuple[str | Path, ...]] = lambda backup: (backup, "--keep-inbox")  # noqa: E731
fault("inbox is older than bot.db")(damaged(older(1), "--new-inbox", NEW_INBOX))
fault("inbox is another store's")(damaged(foreign_inbox, "are not of one store", NEW_INBOX))
fault("inbox is missing")(damaged(missing(1), "is missing or empty", NEW_INBOX))
fault("a page of the inbox is damaged")(damaged(damaged_page, "is damaged", NEW_INBOX))
fault("bot.db is missing")(damaged(missing(0), "is missing or empty", KEEP_INBOX))
fault("bot.db is of random bytes")(damaged(random_bytes, "is damaged", KEEP_INBOX))
fault("bot.db is cut off")(damaged(truncated, "is damaged", KEEP_INBOX))


@fault("bot.db is older than the inbox")
def older_engine_file(trial: Trial) -> None:
    trial.up()
    trial.write()
    trial.heals()
    backup = trial.back_up("backup")
    trial.write()
    trial.heals()
    trial.stop()
    older(0)(trial, backup)
    for _ in range(LOOPS):
        trial.up()
        trial.write()
        trial.heals("taken again, under the same keys")
        trial.stop()


@fault("bot.db is restored, and waits have ended since")
def restored_with_waits(trial: Trial) -> None:
    """A contact's answer in the log is taken behind the wait that came before it, as it was."""
    (trial.folder / "later.yml").write_text(LATER)
    trial.up()
    trial.write(*CONTACTS, text="later")
    until(lambda: trial.waiting() == len(CONTACTS))
    backup = trial.back_up("backup")
    trial.heals()
    trial.write()
    trial.heals()
    trial.stop()
    trial.restore(backup, "--keep-inbox")
    trial.up()
    trial.heals("taken again, in the order in which it happened")
    trial.shows("nobody in a flow", lambda: not trial.waiting())


# -- time


def clock_is_set(by: timedelta) -> Act:
    def act(trial: Trial) -> None:
        clock = trial.in_process()
        trial.write()
        trial.heals()
        trial.gateway.faults.add("error_before", count=1, when=lambda request: request.to == VICTIM)
        trial.write(VICTIM)
        until(lambda: trial.gateway.faults.hits.get("error_before") == 1)
        clock.step(by)
        trial.serves(times=3)
        for _ in range(8):
            clock.move(timedelta(seconds=1))
            sleep(0.1)
        trial.write()
        trial.heals("a repeat after 8 s of the clock")

    return act


fault("clock is set back by a day", quick=True)(clock_is_set(timedelta(days=-1)))
fault("clock is set forward by an hour")(clock_is_set(timedelta(hours=1)))


# -- what the bot's author brings


@fault("a model never answers")
def model_hangs(trial: Trial) -> None:
    (trial.folder / "clever.yml").write_text(
        "flow: clever\nstart: {words: [clever]}\nsteps:\n"
        "  talk: {ai: You help., within: 5s, exits: {done: {when: all is said, then: end}}, errors: {else: sorry}}\n"
        "  sorry: {say: 'You wrote: clever', then: end}\n"
    )
    with CompletionService(models=["acme/swift"]) as models:
        models.answer_with(lambda request: NoAnswer())
        trial.up(BOT_AI_URL=models.url, BOT_AI_KEY=models.key, BOT_AI_MODEL="acme/swift")
        trial.write(VICTIM, text="clever")
        trial.shows("call in the queue", lambda: trial.rows("calls"))
        trial.serves(times=3)
        trial.heals("the step's errors", within=60)


def handler(name: str, code: str, words: str, look: Act) -> None:
    def act(trial: Trial) -> None:
        (trial.folder / "handlers.py").write_text(
            f"import os, time\nfrom bot import handler\n\n@handler('act')\ndef act() -> None:\n    {code}\n"
        )
        (trial.folder / "act.yml").write_text(
            "flow: act\nstart: {words: [act]}\nsteps:\n"
            "  c: {call: act, within: 3s, errors: {else: {say: 'You wrote: act', then: end}}}\n"
        )
        trial.up()
        trial.write(VICTIM, text="act")
        look(trial)
        trial.serves(times=3)
        trial.heals(words, within=60)

    fault(name)(act)


handler(
    "a handler never returns",
    "time.sleep(3600)",
    "the step's errors",
    lambda trial: trial.shows("call in the queue", lambda: trial.rows("calls")),
)
handler(
    "a handler ends the process",
    "os._exit(1)",
    "the step's errors",
    lambda trial: trial.logs('handler "act" is not done again', "the handler's name"),
)


@fault("a broken edit of a flow", quick=True)
def broken_edit(trial: Trial) -> None:
    trial.up()
    (trial.folder / "main.yml").write_text("flow: main\nsteps: [")
    local_socket.ask(trial.store, Reload())
    trial.shows_alarm("reload-refused")
    trial.serves(times=3)
    (trial.folder / "main.yml").write_text(FLOW)
    local_socket.ask(trial.store, Reload())
    trial.heals("the flows from before go on")
