"""A shard and the others of its store: who has a contact or a message, and ids that no other shard gives."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Literal

from bot.core.values import json_text, storable
from bot.store.database import Database, PostgresAddress, Queries, StoreAddress, shard_number

_ALIAS_IS_KNOWN = """
    SELECT 1 FROM {0}.aliases WHERE alias = ?1 AND contact = ?2 UNION ALL SELECT 1 FROM {0}.sessions WHERE contact = ?1
"""
_SENT_IN = "SELECT message_id, {1} FROM {0}.message_ids WHERE message_id IN (SELECT value FROM json_each(?1))"
_LAST_IDS = "SELECT last_send, last_call, last_turn FROM meta"

IdTable = Literal["messages", "calls", "turns"]
"""The tables whose rows get their ids from the engine, and not from the database: it needs them before the commit."""

_OF_EFFECTS: tuple[IdTable, ...] = ("messages", "calls")
_DRAWN_AT_ONCE = 64
_DRAW_IDS = "SELECT nextval('bot.{0}_id') FROM generate_series(1, ?)"


class StoreShards(Queries):
    """The shards of a store that is divided, as the engine of one of them sees them.

    ``this`` is the number of its shard, ``others`` are the numbers of all others. ``addresses`` has the addresses of
    all shards, by number. If the store is not divided, ``others`` and ``addresses`` are empty.
    """

    def __init__(self, address: StoreAddress, database: Database) -> None:
        super().__init__(database)
        self.this = 0
        self.addresses: tuple[PostgresAddress, ...] = ()
        if isinstance(address, PostgresAddress) and address.shard is not None:
            self.this = address.shard
            self.addresses = address.whole().divided()
        self.others = tuple(number for number in range(len(self.addresses)) if number != self.this)

    def elsewhere(self, contact: str) -> int | None:
        """The number of the shard that has a contact; None if this shard has it."""
        if not self.addresses:
            return None
        shard = shard_number(contact, len(self.addresses))
        return None if shard == self.this else shard

    def of_messages(self, message_ids: Iterable[str]) -> dict[str, int]:
        """The shard that sent each of these messages, by the gateway's id. Messages that no shard sent are missing; all
        are if the store is not divided.
        """
        if not self.addresses:
            return {}
        shards = (_SENT_IN.format(shard.schema("engine"), shard.shard) for shard in self.addresses)
        return dict(self.database.all(" UNION ALL ".join(shards), json_text([*map(storable, message_ids)])))

    def knows_alias(self, shard: int, alias: str, contact: str) -> bool:
        """True if another shard knows whose alias a number is, or takes it for a contact's own number."""
        sql = _ALIAS_IS_KNOWN.format(self.addresses[shard].schema("engine"))
        return self.database.one(sql, storable(alias), storable(contact)) is not None


class RowIds(Queries):
    """The ids of new messages, calls and turns. If the store is ``divided``, the database gives them, so that no two
    shards give the same one.
    """

    def __init__(self, database: Database, *, divided: bool) -> None:
        super().__init__(database)
        self._divided = divided
        self._drawn = defaultdict[IdTable, deque[int]](deque)  # ids that no other shard gets, and that are to be given
        messages, calls, turns = database.one(_LAST_IDS)
        self._last: dict[IdTable, int] = {"messages": messages, "calls": calls, "turns": turns}

    def new(self, table: IdTable) -> Iterator[int]:
        """Ids for new rows, ascending. A batch need not use all ids that it draws."""
        return self._give(table) if self._divided else count(self._last[table] + 1)

    def draw(self, least: int) -> None:
        """Get so many ids for new messages and calls, so that `new` does not ask the database, which may fail."""
        for table in _OF_EFFECTS if self._divided else ():
            self._draw_up_to(table, least)

    def _give(self, table: IdTable) -> Iterator[int]:
        """Ids that no other shard gets."""
        while True:
            self._draw_up_to(table, 1)
            yield self._drawn[table].popleft()

    def _draw_up_to(self, table: IdTable, least: int) -> None:
        drawn = self._drawn[table]
        if len(drawn) < least:
            drawn.extend(id for (id,) in self.database.all(_DRAW_IDS.format(table), max(least, _DRAWN_AT_ONCE)))

    def drop_drawn(self) -> None:
        """Drop the ids that were drawn, so that the next ones are later than those that other shards have given.
        Readers of the whole store sort by ids.
        """
        for drawn in self._drawn.values():
            drawn.clear()

    def last(self) -> dict[IdTable, int]:
        """The last id of a message, a call and a turn, by table; 0 where there was none yet."""
        return dict(self._last)

    def given(self, table: IdTable, last: int) -> None:
        """Note that a commit has written rows up to this id."""
        self._last[table] = last
