"""Errands to the gateway while no server runs: a command asks itself, under the server's lock."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from bot.alarms import Alarms
from bot.clock import Clock
from bot.gateway.client import Gateway
from bot.runtime.breakers import Breakers
from bot.runtime.errands import Errands, note_errand
from bot.runtime.loans import Loans
from bot.runtime.pacing import Pacing
from bot.settings import Account
from bot.store.commit import Commit
from bot.store.files import server_lock
from bot.store.reader import StoreReader
from bot.store.state import Store


@contextmanager
def errands_alone(account: Account, store: Path, clock: Clock) -> Iterator[Errands]:
    """Errands while no server runs: under the server's lock, within what the limits leave of the last day's requests.

    There need be no store yet. Raises `bot.store.files.StoreLocked`.
    """
    with ExitStack() as opened:
        opened.callback(server_lock(store).release)
        gateway = opened.enter_context(closing(Gateway(account.gateway_url, account.gateway_key)))
        recent: list[tuple[float, int]] = []
        if store.exists():
            with closing(StoreReader(store)) as reader:
                recent = [(clock.elapsed() - ago, count) for ago, count in reader.requests(clock.now())]
        pacing = Pacing(account.gateway_per_minute, account.gateway_per_day, recent)
        loans = Loans(threading.Lock(), pacing, Breakers(Alarms(clock)), clock)
        yield Errands(gateway, loans.lend, partial(_note_errand, store, clock))


def _note_errand(store: Path, clock: Clock, call: str) -> None:
    if store.exists():
        with closing(Store(store)) as own:
            commit = Commit(own.cursor(), clock.now())
            note_errand(commit, call)
            own.write(commit)
