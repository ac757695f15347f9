"""What a question offers to choose from: fixed or made at run time, shown as buttons or as a list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.core import messages as limits
from bot.core.messages import Buttons, Choice, ListMessage, Message, Section, clip
from bot.lang.nodes import Mark
from bot.lang.templates import Expression, Template
from bot.lang.words import Option, match
from bot.steps.doors import Door, evaluate, templates_in
from bot.steps.kind import At, Falls, Outcome, Reply, StepFailed, Used
from bot.steps.replies import ReplyId, value_hash

IT = frozenset({"it"})
PICKED = "picked"  # the outcome of a choice that was made at run time
OPENER = "Choose"  # the label of a list's opening button where the flow names none
MOST = limits.SECTIONS * limits.ROWS_PER_SECTION


@dataclass(frozen=True, slots=True)
class FixedChoice:
    """A choice that stands in the flow file. ``saves`` is False where choosing it saves nothing.

    ``value`` is a template where it is a text.
    """

    title: Template
    mark: Mark
    door: Door | None = None
    value: Any = None
    saves: bool = False
    about: Template | None = None
    words: tuple[str, ...] = ()
    section: str = ""

    @property
    def outcome(self) -> str:
        """The outcome's name, for diagrams and traces."""
        return f"[{self.title.source}]"


@dataclass(frozen=True, slots=True)
class MadeChoices:
    """Choices made at run time, one for each element of a list, which is ``it`` in their texts."""

    source: Expression
    title: Template
    value: Template | None
    about: Template | None

    def make(self, scope: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Render the elements' titles and values; raises `StepFailed` where the source is no list."""
        source = self.source.evaluate(scope)
        if source is None:
            source = []
        if not isinstance(source, list):
            raise StepFailed("mismatch", f"{self.source.source} is no list to choose from")
        made: list[dict[str, Any]] = []
        for element in source:
            inner = {**scope, "it": element}
            made.append(
                {
                    "title": self.title.render(inner),
                    "value": element if self.value is None else self.value.value(inner),
                    "about": None if self.about is None else self.about.render(inner),
                }
            )
        return made


@dataclass(frozen=True, slots=True)
class Shown:
    """One choice as the contact sees it."""

    title: str
    outcome: str
    value: Any
    saves: bool
    about: str | None
    words: tuple[str, ...]
    section: str


@dataclass(frozen=True, slots=True)
class Choices:
    """All that a question offers. ``form`` is options, buttons or list: the key that it is written under."""

    form: str
    mark: Mark
    fixed: tuple[FixedChoice, ...] = ()
    made: MadeChoices | None = None
    opener: Template | None = None

    def outcomes(self) -> dict[str, Outcome]:
        """Each choice's outcome; where nothing is written for it, the step's `then`."""
        found = {choice.outcome: Outcome(choice.door, Falls.THEN) for choice in self.fixed}
        if self.made is not None:
            found[PICKED] = Outcome(None, Falls.THEN)
        return found

    def uses(self) -> Iterator[Used]:
        """Every template of the choices."""
        if self.opener is not None:
            yield Used(self.opener)
        for choice in self.fixed:
            yield Used(choice.title)
            if choice.about is not None:
                yield Used(choice.about)
            yield from map(Used, templates_in(choice.value))
        if self.made is not None:
            yield Used(self.made.source)
            for text in (self.made.title, self.made.value, self.made.about):
                if text is not None:
                    yield Used(text, IT)

    def hold(self, at: At) -> dict[str, Any]:
        """What has to be remembered of choices made at run time, so that an answer means what was shown."""
        return {} if self.made is None else {"made": self.made.make(at.scope)[: MOST - len(self.fixed)]}

    def shown(self, at: At, hold: Mapping[str, Any]) -> tuple[Shown, ...]:
        """The choices as they are shown, in order: made ones first, titles made unique."""
        shown = [
            Shown(made["title"], PICKED, made["value"], True, made["about"], (), "") for made in hold.get("made", ())
        ]
        for choice in self.fixed:
            about = None if choice.about is None else choice.about.render(at.scope)
            title = choice.title.render(at.scope)
            value = evaluate(choice.value, at.scope)
            shown.append(Shown(title, choice.outcome, value, choice.saves, about, choice.words, choice.section))
        if not shown:
            raise StepFailed("failed", "there is nothing to choose from")
        return _unique(shown, limits.BUTTON_TITLE if self.as_buttons(shown) else limits.ROW_TITLE)

    def as_buttons(self, shown: list[Shown] | tuple[Shown, ...]) -> bool:
        """Whether the choices are shown as buttons: `options` where they fit, `buttons` while they are three."""
        if self.form == "list" or len(shown) > limits.BUTTONS:
            return False
        return self.form == "buttons" or all(
            len(choice.title) <= limits.BUTTON_TITLE and choice.about is None for choice in shown
        )

    def present(self, at: At, hold: Mapping[str, Any], body: str, header: str | None, footer: str | None) -> Message:
        """The message that asks the question."""
        shown = self.shown(at, hold)
        rows = [
            (
                choice.section,
                Choice(str(reply_id(at, index, choice)), choice.title, choice.about),
            )
            for index, choice in enumerate(shown)
        ]
        if self.as_buttons(shown):
            return Buttons(body, tuple(Choice(row.id, row.title) for _, row in rows), header)
        opener = OPENER if self.opener is None else self.opener.render(at.scope)
        return ListMessage(body, opener, _sections(rows, opener), footer)

    def chosen(self, at: At, reply: Reply) -> Shown | None:
        """The choice that a reply means: a tap on it, or its title, words or number."""
        if reply.tap is None and reply.text is None:
            return None
        shown = self.shown(at, at.hold)
        if reply.tap is not None:
            index = reply.tap.choice
            if index < len(shown) and value_hash(shown[index].title, shown[index].value) == reply.tap.hash:
                return shown[index]
            return None
        found = match(reply.text or "", [Option(choice.title, choice.words) for choice in shown])
        return None if found is None else shown[found]


def reply_id(at: At, index: int, choice: Shown) -> ReplyId:
    """The id that a tap on this choice brings back."""
    return ReplyId(at.flow, at.step, index, at.visit, value_hash(choice.title, choice.value))


def _unique(shown: list[Shown], limit: int) -> tuple[Shown, ...]:
    seen: set[str] = set()
    unique = []
    for choice in shown:
        title, number = clip(choice.title.strip() or "-", limit), 1
        while title in seen:
            number += 1
            mark = f" ({number})"
            title = clip(choice.title, limit - len(mark)) + mark
        seen.add(title)
        unique.append(
            Shown(title, choice.outcome, choice.value, choice.saves, choice.about, choice.words, choice.section)
        )
    return tuple(unique)


def _sections(rows: list[tuple[str, Choice]], opener: str) -> tuple[Section, ...]:
    """Group rows by their written section; rows without one go in tens."""
    sections: list[Section] = []
    for title in dict.fromkeys(section for section, _ in rows):
        members = tuple(row for section, row in rows if section == title)
        size = limits.ROWS_PER_SECTION
        for start in range(0, len(members), size):
            part = members[start : start + size]
            name = title or opener
            if len(members) > size:
                name = f"{start + 1}-{start + len(part)}"
            sections.append(Section(clip(name, limits.SECTION_TITLE), part))
    return tuple(sections)
