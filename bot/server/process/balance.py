"""The even division of a store's shards among machines. There is no coordinator: each engine computes the same result
from the list of machines.
"""

from collections.abc import Sequence

from bot.store.database import ServingMachine


def shard_to_move(machines: Sequence[ServingMachine], shards: int) -> int | None:
    """The shard whose engine is to end now, so that another machine's takes over; None if nothing is to move.

    The other machine waits for this shard, and works on at least two shards fewer. One shard moves at a time: nothing
    moves while a shard has no engine, and a shard that has just moved stays.
    """
    if len({shard for machine in machines for shard in machine.shards}) < shards:
        return None
    moves = [
        (len(giver.shards) - len(taker.shards), shard)
        for giver in machines
        for taker in machines
        for shard in {*giver.shards}.difference(giver.lately).intersection(taker.waits_for)
    ]
    difference, shard = max(moves, default=(0, 0))
    return shard if difference >= 2 else None


def should_yield(machines: Sequence[ServingMachine], shard: int) -> bool:
    """True if this machine leaves a shard without an engine to another machine, which waits for it and works on fewer
    shards. Among machines that work on equally many, each comes first for some shards.
    """
    _, _, takes = min(
        (
            (len(machine.shards), (place - shard) % len(machines), machine.is_this)
            for place, machine in enumerate(machines)
            if machine.is_this or shard in machine.waits_for
        ),
        default=(0, 0, True),
    )
    return not takes
