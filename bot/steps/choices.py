"""What a question offers to choose from: fixed or made at run time, shown as buttons or as a list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.core import messages as limits
from bot.core.messages import Buttons, Choice, ListMessage, Message, Section, clip
from bot.lang.fields import Fields, text_of
from bot.lang.problems import Problems
from bot.lang.source import List, Map, Mark, Node, Scalar
from bot.lang.templates import Expression, Template, compile_template
from bot.lang.words import Option, match
from bot.steps.doors import LATER, Door, door_from, evaluate, target_of, templates_in, value_of
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


def read_choices(fields: Fields) -> Choices | None:
    """Read whichever of `options`, `buttons` and `list` the step has; two of them are a problem."""
    found = [key for key in ("options", "buttons", "list") if fields.has(key)]
    for extra in found[1:]:
        fields.raw(extra)
        fields.problems.add(
            "E121", fields.mark_of(extra), f'{fields.what}: "{extra}" beside "{found[0]}"', "keep one of them"
        )
    if not found:
        return None
    form = found[0]
    node = fields.raw(form)
    if node is None:
        return None
    what = f"{fields.what}: {form}"
    return _read_list(node, fields.problems, what) if form == "list" else _read_flat(form, node, fields.problems, what)


def _read_flat(form: str, node: Node, problems: Problems, what: str) -> Choices:
    if isinstance(node, Map) and node.get("from") is not None:
        fields = Fields(node, problems, what)
        made = _read_made(fields)
        extra = fields.raw("extra")
        fixed = () if extra is None else _read_fixed(extra, problems, what)
        fields.close()
        return Choices(form, node.mark, fixed, made)
    fixed = _read_fixed(node, problems, what)
    if form == "buttons" and len(fixed) > limits.BUTTONS:
        problems.add(
            "E401", fixed[limits.BUTTONS].mark, f"{what}: {len(fixed)} buttons, {limits.BUTTONS} are allowed",
            "use a list",
        )  # fmt: skip
    return Choices(form, node.mark, fixed)


def _read_list(node: Node, problems: Problems, what: str) -> Choices:
    fields = Fields(node, problems, what)
    opener = fields.template("button")
    made: MadeChoices | None = None
    fixed: tuple[FixedChoice, ...] = ()
    rows, sections, extra = fields.raw("rows"), fields.fields("sections"), fields.raw("extra")
    if isinstance(rows, Map) and rows.get("from") is not None:
        inner = Fields(rows, problems, f"{what}: rows")
        made = _read_made(inner)
        inner.close()
    elif rows is not None:
        fixed += _read_fixed(rows, problems, f"{what}: rows")
    if sections is not None:
        for title, members in sections.entries():
            _check_section(title, members, problems, what)
            fixed += _read_fixed(members, problems, what, title.text)
    if rows is None and sections is None and isinstance(node, Map):
        problems.add("E105", node.mark, f'{what}: "rows" or "sections" is missing', "add the rows to choose from")
    if extra is not None:
        fixed += _read_fixed(extra, problems, f"{what}: extra")
    fields.close()
    return Choices("list", node.mark, fixed, made, opener)


def _check_section(title: Scalar, members: Node, problems: Problems, what: str) -> None:
    if len(title.text) > limits.SECTION_TITLE:
        problems.add(
            "E402",
            title.mark,
            f'{what}: section "{title.text}" has {len(title.text)} characters, {limits.SECTION_TITLE} are allowed',
            "shorten it",
        )
    count = len(members.entries) if isinstance(members, Map) else len(members.items) if isinstance(members, List) else 1
    if count > limits.ROWS_PER_SECTION:
        problems.add(
            "E401", members.mark, f"{what}: {count} rows in one section, {limits.ROWS_PER_SECTION} are allowed",
            "divide them into sections",
        )  # fmt: skip


def _read_made(fields: Fields) -> MadeChoices | None:
    source = fields.expression("from")
    title = fields.template("title")
    if title is None:
        title = compile_template("{{ it }}", fields.mark, fields.problems)
    value, about = fields.template("value"), fields.template("about")
    return None if source is None else MadeChoices(source, title, value, about)


def _read_fixed(node: Node, problems: Problems, what: str, section: str = "") -> tuple[FixedChoice, ...]:
    match node:
        case List(items=items):
            found = [_plain_choice(item, problems, what, section) for item in items]
        case Map(entries=entries):
            found = [_named_choice(key, value, problems, what, section) for key, value in entries]
        case _:
            problems.add(
                "E106", node.mark, f"{what}: choices are expected", 'write "Title: target" or a list of titles'
            )
            found = []
    return tuple(choice for choice in found if choice is not None)


def _plain_choice(node: Node, problems: Problems, what: str, section: str) -> FixedChoice | None:
    """An option in a plain list saves its title."""
    text = text_of(node, problems, what)
    if text is None:
        return None
    title = compile_template(text, node.mark, problems)
    return FixedChoice(title, node.mark, None, title, True, section=section)


def _named_choice(key: Scalar, node: Node, problems: Problems, what: str, section: str) -> FixedChoice | None:
    """``Title: target`` saves nothing; ``Title: {value, ...}`` saves the value."""
    what = f'{what}: "{key.text}"'
    title = compile_template(key.text, key.mark, problems)
    if isinstance(node, Scalar):
        target = target_of(node, problems, what)
        return None if target is None else FixedChoice(title, key.mark, Door(node.mark, then=target), section=section)
    fields = Fields(node, problems, what)
    value = fields.raw("value")
    choice = FixedChoice(
        title,
        key.mark,
        door_from(fields),
        value_of(value, problems) if isinstance(value, Scalar) else None,
        value is not None,
        fields.template("about"),
        fields.strings("words"),
        section,
    )
    if value is not None and not isinstance(value, Scalar):
        problems.add("E106", value.mark, f"{what}: value is one text, number or true/false", "write it on one line")
    fields.close(LATER)
    return choice
