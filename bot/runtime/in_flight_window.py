"""Which rows of a queue have been given to those who do them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from bot.store.rows import CallRow, OutboxRow

R = TypeVar("R", bound=OutboxRow | CallRow)
R_contra = TypeVar("R_contra", bound=OutboxRow | CallRow, contravariant=True)

_READ_AT_ONCE = 256


class Consumer(Protocol[R_contra]):
    """Delivery, or the performers: does rows on threads of its own, and reports what came of each."""

    def offer(self, rows: Sequence[R_contra], /) -> None:
        """Take rows to do."""
        ...

    def withdraw(self, contact: str, /) -> None:
        """Forget the rows of a contact."""
        ...

    def idle(self) -> bool:
        """True when nothing is being done or could be done now."""
        ...


class InFlightWindow(Generic[R]):
    """Gives the rows of a queue to their doer, in the order of ids, never more than it has room for.

    New rows go over directly as long as the doer keeps up; else the rest stays in the file and is read when
    there is room again. ``pending`` reads rows after an id from the file. ``takes`` are those of some rows that the doer
    takes; ``takes_again`` says that some of the others can be offered once more: the file is read anew.
    """

    def __init__(
        self,
        pending: Callable[[int, int], list[R]],
        doer: Consumer[R],
        room: Callable[[], int],
        takes: Callable[[Sequence[R]], Sequence[R]] = lambda rows: rows,
        takes_again: Callable[[], bool] = lambda: False,
    ) -> None:
        self._pending = pending
        self._doer = doer
        self._room = room
        self._takes = takes
        self._takes_again = takes_again
        self._some_left = False
        self._upto = 0
        self._behind = True
        self._given: set[int] = set()

    def __len__(self) -> int:
        return len(self._given)

    def __contains__(self, id: int) -> bool:
        return id in self._given

    def add(self, rows: Sequence[R]) -> None:
        """Rows have been committed."""
        if rows and not self._behind:
            room = self._room()
            self._give(rows[:room])
            self._behind = room < len(rows)

    def refill(self) -> None:
        """Read on from the file as far as there is room."""
        if self._some_left and self._takes_again():
            self._upto, self._behind, self._some_left = 0, True, False
        while self._behind and (room := min(self._room(), _READ_AT_ONCE)) > 0:
            rows = self._pending(self._upto, room)
            self._give(rows)
            self._behind = len(rows) == room

    def adopt(self, rows: Iterable[R]) -> None:
        """These were given before, by an earlier run: they are not given again, but their results are awaited."""
        self._given.update(row.id for row in rows)

    def done(self, ids: Iterable[int]) -> None:
        """Rows have come to their end."""
        self._given.difference_update(ids)

    def done_upto(self, id: int) -> bool:
        """True when nothing is left to do of the rows up to an id."""
        return (
            not self._some_left and (not self._behind or self._upto >= id) and all(given > id for given in self._given)
        )

    def idle(self) -> bool:
        """True when nothing is left to do now."""
        return not self._behind and (not self._given or self._doer.idle())

    def _give(self, rows: Sequence[R]) -> None:
        if rows:
            self._upto = rows[-1].id
            new = [row for row in rows if row.id not in self._given]
            taken = self._takes(new)
            self._some_left = self._some_left or len(taken) < len(new)
            self._given.update(row.id for row in taken)
            self._doer.offer(taken)
