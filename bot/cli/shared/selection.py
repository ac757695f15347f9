"""The contacts in the store whose own data make an expression true, as ``bot broadcast --where`` selects them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.cli.shared.csv_rows import BodyTexts, FlowValues, Recipient
from bot.cli.shared.operate import CommandRefused, loaded, open_store
from bot.core.events import TimeReached
from bot.core.immutable import mutable
from bot.core.session import Session, is_record
from bot.engine.name_scope import NameScope
from bot.language.expressions.grammar import check_calls
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.expressions.templates import Expression, Template, compile_expression, compile_template
from bot.language.flow.library import Library
from bot.language.flow.name_checks import check_contact_fields
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.loading.folder import Folder
from bot.loading.program import Program

_OF_FLOWS = ("message", "came_from")  # there is neither outside of a flow


@mutable
class Selected:
    """The selected recipients, how many contacts the expression was asked about, and for how many it failed."""

    recipients: list[Recipient]
    asked: int = 0
    failed: int = 0
    why: str = ""  # the first failure


def select(bot: Folder, where: str, own: BodyTexts | FlowValues) -> Selected:
    """The contacts in the store for whom ``where`` holds, each with its own texts filled in.

    Raises `CommandRefused` for a mistake in one of them.
    """
    if not own.texts:
        for problem in own.problems_of(own.recipient("", [])):  # of all contacts alike
            raise CommandRefused(f"{own.option}: {problem}")
    return _Selection(bot, where, own).of(None)


def select_from(bot: Folder, where: str, recipients: Sequence[Recipient]) -> Selected:
    """The recipients for whom ``where`` holds. A contact who has never written is not among them.

    Raises as `select`.
    """
    return _Selection(bot, where, BodyTexts(())).of({each["contact"]: each for each in recipients})


class _Selection:
    """An expression, and texts, over a contact and its kept variables."""

    def __init__(self, bot: Folder, where: str, own: BodyTexts | FlowValues) -> None:
        self._path = bot.path
        self._own = own
        program = loaded(bot)
        self._library = program.library
        self._now = datetime.now(UTC)
        problems = Problems()
        self._where: Expression = compile_expression(where, Mark("--where", 1, 1), problems)
        self._texts: list[Template] = [compile_template(text, Mark(own.option, 1, 1), problems) for text in own.texts]
        known = {*self._names(Session(""))} - {*_OF_FLOWS}
        texts: tuple[Expression | Template, ...] = (self._where, *self._texts)
        for text in texts:
            _check_names(text, known, problems, program)
        if problems:
            raise CommandRefused("\n".join(f"{each.path}: {each.what} ({each.fix})" for each in problems.sorted()))

    def of(self, listed: Mapping[str, Recipient] | None) -> Selected:
        """Select from the contacts of the store, or from the ``listed`` recipients by contact."""
        selected = Selected([])
        for session in self._sessions(listed):
            selected.asked += 1
            names = self._names(session)
            try:
                if self._where.evaluate(names):
                    given = self._own.recipient(session.contact, [text.render(names) for text in self._texts])
                    for problem in self._own.problems_of(given):
                        raise TemplateFailed(problem)
                    selected.recipients.append(given if listed is None else listed[session.contact])
            except TemplateFailed as failed:
                selected.failed += 1
                selected.why = selected.why or str(failed)
        return selected

    def _sessions(self, listed: Collection[str] | None) -> Iterator[Session]:
        with open_store(self._path) as store:
            for session in store.sessions.all():
                if session is None or is_record(session.contact):
                    continue
                if listed is None or session.contact in listed:
                    yield session

    def _names(self, session: Session) -> Mapping[str, Any]:
        """The names in the expression: the contact, its kept variables, and what is the same for all contacts."""
        library: Library = self._library.in_language(session.language)
        now = self._now.astimezone(library.zone_of(session))
        kept: dict[str, Any] = {}
        for flow in library.flows.values():
            kept |= flow.kept_values({}, session.kept_variables, now) if flow.kept else {}
        at_rest = session.copy()
        at_rest.frames = ()
        scope = NameScope(self._library, TimeReached("where", session.contact, self._now), now)
        return {**scope.of(at_rest, library), **kept}


def _check_names(text: Expression | Template, known: Collection[str], problems: Problems, program: Program) -> None:
    check_calls(text.calls, program.extensions.own, problems)
    check_contact_fields(text, problems)
    for name in sorted(text.names - {*known}):
        names = sorted(each for each in known if each.isidentifier())
        meant = did_you_mean(name, names, f"there are {', '.join(names)}: the contact, and the variables with keep")
        problems.add("E202", text.mark, f'no variable "{name}"', meant)
