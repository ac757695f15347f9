"""A simulation's store, read for the contact: the session, the turns, the dead letters."""

from collections import defaultdict
from collections.abc import Callable

from bot.core.effects import AskModel
from bot.core.session import Session
from bot.store.dead_letter_rows import DeadLetter
from bot.store.kept_files import KeptFiles, read_kept
from bot.store.store_reader import StoreReader
from bot.store.trace_rows import TurnTraced
from bot.testing.simulation.phones import Phones

TURNS_LOOKED_AT = 100
EVERY_TURN = 1_000_000


class StoreView:
    """The store, read for the contact whose number ``contact`` returns.

    Turns are read once and remembered: the store deletes them after a while.
    """

    def __init__(self, reader: StoreReader, files: KeptFiles, contact: Callable[[], str], phones: Phones) -> None:
        self.reader = reader
        self._files = files
        self._contact = contact
        self._phones = phones
        self._turns = defaultdict[str, dict[str, TurnTraced]](dict)  # by contact, then by event
        self._read_to = defaultdict[str, int](int)  # each contact's newest turn that was read

    def session(self) -> Session:
        """The session: where the contact is, and which values are known."""
        return self.reader.sessions.get(self._contact()) or Session(self._contact())

    def kept_files(self) -> int:
        """The number of files that are kept for the contact."""
        return len(self._files.of(self._contact()))

    def made_file(self, contact: str, name: str) -> bytes | None:
        """The content of a file that a handler has made for a contact; None if it is gone."""
        return read_kept(self._files, contact, name)

    def trace(self, limit: int = 20) -> list[TurnTraced]:
        """The contact's last turns."""
        return self.reader.trace.turns(self._contact(), limit)

    def all_turns(self) -> list[TurnTraced]:
        """All turns since the contact began, each with the statuses that it had when it was first read."""
        return self._turns_of(self._contact())

    def turns_of_all(self) -> list[TurnTraced]:
        """All turns of all contacts, like `all_turns`."""
        contacts = {self._contact(), *self._phones.contacts, *self._turns}
        return [turn for contact in contacts for turn in self._turns_of(contact)]

    def _turns_of(self, contact: str) -> list[TurnTraced]:
        turns, before = self._turns[contact], self._read_to[contact]
        if (newest := self.reader.trace.newest_turn(contact)) > before:
            new = self.reader.trace.turns(contact, EVERY_TURN, after=before)
            turns.update((turn.event_id, turn) for turn in new)
            self._read_to[contact] = newest
        return list(turns.values())

    def dead_letters(self) -> list[DeadLetter]:
        """The messages and events of the contact that the bot has given up, the oldest first."""
        return [letter for letter in reversed(self.reader.dead_letters.newest()) if letter.contact == self._contact()]

    def complaints(self) -> list[str]:
        """The recent problems of the contact, in words: those of its turns, and its dead letters."""
        found = [problem for turn in self.trace(TURNS_LOOKED_AT) for problem in turn.problems]
        reasons = [letter.reason for letter in self.dead_letters()]
        return found + [reason for reason in reasons if not any(reason in problem for problem in found)]

    def model_seconds(self) -> float:
        """The seconds that the model that is asked now has to answer."""
        effects = [effect for turn in self.trace() for effect in turn.effects]
        return max(effect.seconds for effect in effects if isinstance(effect, AskModel))

    def forget_turns(self) -> None:
        """Forget the turns of all contacts."""
        self._turns.clear()
        self._read_to.clear()
