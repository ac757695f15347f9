"""The time of a broadcast on each contact's own clock, as ``bot broadcast --at`` wants it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo

from bot.cli.shared.csv_rows import Recipient
from bot.cli.shared.operate import CommandRefused, loaded, open_store
from bot.cli.shared.output import counted
from bot.core.immutable import immutable
from bot.core.session import Session, UnreadableSession
from bot.language.source.wall_clock import A_DAY, ISO_MOMENT, duration_words, minutes_in, on_the_clock, read_iso
from bot.loading.folder import Folder

_SHOWN = 5  # moments
_A_DAY_LATER = timedelta(days=1)


@immutable
class ContactsTime:
    """The time at which a message is due: by the contact's clock, in ``minutes`` after midnight and perhaps on a
    ``day``; or one ``moment`` for all. ``text`` is the same in a form that can be read again.
    """

    text: str
    minutes: int = 0
    day: date | None = None
    moment: datetime | None = None

    def on(self, zone: tzinfo, now: datetime) -> datetime:
        """The moment, in UTC, for contacts of a zone. A time of day means the next one.

        A time that clocks skip is as much later; a time that they show twice is the first of both.
        """
        if self.moment is not None:
            return self.moment
        if self.day is not None:
            return on_the_clock(self.day, self.minutes, zone)
        today = now.astimezone(zone).date()
        at = on_the_clock(today, self.minutes, zone)
        return at if at > now else on_the_clock(today + _A_DAY_LATER, self.minutes, zone)


def read_contacts_time(text: str) -> ContactsTime:
    """The time that --at gives. Raises `CommandRefused`."""
    text = text.strip()
    minutes = minutes_in(text)
    if minutes is not None and minutes < A_DAY:
        return ContactsTime(f"{minutes // 60:02}:{minutes % 60:02}", minutes)
    hour = text[11:].partition(":")[0]
    at = read_iso(text if len(hour) != 1 else f"{text[:11]}0{text[11:]}", ISO_MOMENT)
    if not isinstance(at, datetime):
        raise CommandRefused(
            f'--at "{text}" is no time: write a time of day, such as 9:00, or a day and a time, such as '
            '"2030-12-24 18:00", which count on each contact\'s own clock'
        )
    if at.tzinfo is not None:
        return ContactsTime(at.isoformat(" ", "minutes"), moment=at.astimezone(UTC))
    return ContactsTime(at.isoformat(" ", "minutes"), at.hour * 60 + at.minute, at.date())


def with_times(bot: Folder, at: ContactsTime, recipients: Sequence[Recipient], now: datetime) -> list[Recipient]:
    """The recipients, each with the moment at which the contact's clock shows the time.

    Raises `CommandRefused` if it is over for all.
    """
    library = loaded(bot).library
    timed = []
    with open_store(bot.path) as store:
        for recipient in recipients:
            session = Session(recipient["contact"])
            with suppress(UnreadableSession):
                session = store.sessions.get(session.contact) or session
            timed.append({**recipient, "at": at.on(library.zone_of(session), now).isoformat()})
    if all(moment <= now for moment in moments(timed)):
        raise CommandRefused(f"--at {at.text} is over for all contacts: write a later time, or leave --at out")
    return timed


def moments(recipients: Iterable[Recipient]) -> Mapping[datetime, int]:
    """The number of recipients at each moment."""
    return Counter(datetime.fromisoformat(each["at"]) for each in recipients)


def moments_in_words(times: Mapping[datetime, int], zone: tzinfo) -> str:
    """The numbers of contacts at each moment in words, by the clocks of a zone."""
    first = sorted(times.items())
    shown = [f"{counted(count, 'contact')} at {_in_words(at, zone)}" for at, count in first[:_SHOWN]]
    if later := first[_SHOWN:]:
        shown.append(f"{counted(sum(count for _, count in later), 'contact')} until {_in_words(later[-1][0], zone)}")
    return ", ".join(shown)


def over_in_words(times: Mapping[datetime, int], now: datetime, late: timedelta) -> list[str]:
    """A line about the contacts whose time is over already, if there are any: they get it at once, or not at all."""
    missed = sum(count for at, count in times.items() if at < now - late)
    at_once = sum(count for at, count in times.items() if at <= now) - missed
    lines = [f"For {counted(at_once, 'contact')} that time has just passed: they get it at once."] if at_once else []
    if missed:
        by = duration_words(late)
        lines.append(f"For {counted(missed, 'contact')} it has passed by more than {by} (--late): they get nothing.")
    return lines


def _in_words(at: datetime, zone: tzinfo) -> str:
    local = at.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M} ({local.tzname()})"
