"""The sessions of a batch, as its turns have left them so far, and the contacts that they belong to."""

import logging
from collections.abc import Collection

from bot.core.session import OPTED_OUT, Session, UnreadableSession, read_session
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore

log = logging.getLogger(__name__)


class BatchSessions:
    """Reads sessions from the store, and keeps those that turns have changed, until the commit is written."""

    def __init__(self, store: EngineStore, commit: Commit) -> None:
        self._store = store
        self._commit = commit
        self._sessions: dict[str, Session] = {}
        self._states: dict[str, str | None] = {}  # as `prefetch` has read them
        self._aliases: dict[str, str | None] = {}

    def prefetch(self, contacts: Collection[str]) -> None:
        """Read these sessions with one query: each query waits for the interpreter, which the senders keep busy."""
        unknown = [contact for contact in contacts if self._store.sessions.latest.get(contact) is None]
        if unknown:
            self._states = self._store.sessions.states(unknown)
            strangers = [contact for contact, state in self._states.items() if state is None]
            self._aliases = self._store.sessions.contacts_of_aliases(strangers)

    def get(self, contact: str) -> Session:
        """Return the contact's session; a new one if there is none."""
        session = self._sessions.get(contact)
        if session is None:
            session = self._sessions[contact] = self._load(contact)
        return session

    def set(self, contact: str, session: Session) -> None:
        """Replace the contact's session by the one that a turn has left."""
        self._sessions[contact] = session

    def knows(self, contact: str) -> bool:
        """True if there has been any event or message of this contact."""
        session = self.get(contact)
        return session.visit > 0 or session != Session(contact)

    def contact_in(self, conversation: str) -> str | None:
        """The contact of one of the gateway's conversations."""
        here = (session.contact for session in self._sessions.values() if session.conversation == conversation)
        return next(here, None) or self._store.sessions.contact_in(conversation)

    def contact_of_alias(self, alias: str) -> str | None:
        """The contact who writes from this number, if it is not the number that the bot writes to."""
        if alias not in self._aliases:
            self._aliases |= self._store.sessions.contacts_of_aliases((alias,))
        return self._commit.aliases.get(alias) or self._aliases[alias]

    def _load(self, contact: str) -> Session:
        recent = self._store.sessions.latest.get(contact)
        if recent is not None:
            return recent
        try:
            if contact not in self._states:
                return self._store.sessions.get(contact) or Session(contact)
            state = self._states[contact]
            return Session(contact) if state is None else read_session(state)
        except UnreadableSession as error:  # better a conversation that starts anew than one that is stuck
            log.error("a session cannot be read and starts anew: see `bot queue`")
            self._commit.dead_letters.add("turn", contact, str(error), error.state)
            return Session(contact, tags=(OPTED_OUT,) if self._store.sessions.opted_out(contact) else ())
