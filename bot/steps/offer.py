"""A question's choices at one moment: what is picked of them, and the messages that show them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.core import messages as limits
from bot.core.messages import Buttons, Choice, ListMessage, Message, Section, TextMessage, clip
from bot.lang.languages import wording
from bot.steps.choices import MARK, MOST, Choices, Many, ShownChoice
from bot.steps.step_results import ReplyId, StepContext, value_hash

DONE, PAGE = MOST, MOST + 1  # reply ids above those of the choices: the end of many answers, then each page


class Offer:
    """The choices of a question as they are shown with what it holds: the page, and by their hash those picked."""

    def __init__(self, choices: Choices, context: StepContext, step_state: Mapping[str, Any]) -> None:
        self.choices, self.context, self.step_state = choices, context, step_state
        self.shown = choices.shown(context, step_state)
        self.picked = self._known(step_state.get("picked", ()))
        self._buttons = choices.as_buttons(self.shown)
        whole = choices.numbered or self._buttons
        self._pages = [self.shown] if whole else pages_of(self.shown, 0 if choices.many is None else 1)
        self._page = min(step_state.get("page", 0), len(self._pages) - 1)

    def _known(self, picked: Sequence[str]) -> list[str]:
        """The picked choices that still exist after an edit or a change of the list."""
        known = {choice.hash for choice in self.shown} if picked else ()
        return [each for each in picked if each in known]

    def messages(self, body: str, header: str | None, footer: str | None) -> tuple[Message, ...]:
        """The messages that put the question."""
        if self.choices.numbered:
            above, below = [] if header is None else [header, ""], [] if footer is None else ["", footer]
            return tuple(map(TextMessage, _parts([*above, body, "", *self._lines(), *below])))
        rows = [*map(self._row, self._pages[self._page]), *(("", move) for move in self.moves())]
        if self._buttons:
            return (Buttons(body, tuple(Choice(row.id, row.title) for _, row in rows), header),)
        opener = self.choices.opener
        label = wording(self.context.scope, "choose") if opener is None else opener.render(self.context.scope)
        return (ListMessage(self._with_picked(body), label, _sections(rows, label), footer),)

    def moves(self) -> Iterator[Choice]:
        """What stands below the choices of a page: the way back and on, and the end of many answers."""
        if self._page > 0:
            yield self._move(PAGE + self._page - 1, wording(self.context.scope, "back"))
        if self._page + 1 < len(self._pages):
            yield self._move(PAGE + self._page + 1, wording(self.context.scope, "more"))
        if self.choices.many is not None and len(self.picked) >= self.choices.many.least:
            yield self._move(DONE, self.done(self.choices.many))

    def done(self, many: Many) -> str:
        """The title of what ends many answers."""
        return wording(self.context.scope, "done") if many.done is None else many.done.render(self.context.scope)

    def _move(self, index: int, title: str) -> Choice:
        taken = any(choice.title == title for choice in self.shown)
        return Choice(self._id(index, value_hash("", index)), f"{title} (2)" if taken else title)

    def _row(self, choice: ShownChoice) -> tuple[str, Choice]:
        return choice.section, Choice(self._id(choice.index, choice.hash), self._marked(choice), choice.about)

    def _id(self, index: int, hashed: str) -> str:
        return str(ReplyId(self.context.flow, self.context.step, index, self.context.visit, hashed))

    def _marked(self, choice: ShownChoice) -> str:
        return MARK + choice.title if self.picked and choice.hash in self.picked else choice.title

    def _lines(self) -> Iterator[str]:
        """The choices as numbered lines."""
        for number, choice in enumerate(self.shown, start=1):
            yield f"{number}. {self._marked(choice)}" + (f" – {choice.about}" if choice.about else "")
        for number, move in enumerate(self.moves(), start=len(self.shown) + 1):
            yield f"{number}. {move.title}"

    def _with_picked(self, body: str) -> str:
        """The text with the picked titles below it: the contact sees a list closed."""
        if not self.picked:
            return body
        titles = ", ".join(choice.title for choice in self.shown if choice.hash in self.picked)
        line = clip(f"\n\n{MARK}{titles}", limits.INTERACTIVE_BODY // 2)
        return clip(body, limits.INTERACTIVE_BODY - len(line)) + line


def _sections(rows: list[tuple[str, Choice]], label: str) -> tuple[Section, ...]:
    """Group rows by their written section; those without one go under the list's own label."""
    return tuple(
        Section(clip(title or label, limits.SECTION_TITLE), tuple(row for section, row in rows if section == title))
        for title in dict.fromkeys(section for section, _ in rows)
    )


def _parts(lines: list[str]) -> Iterator[str]:
    """The lines as texts that are short enough to be sent."""
    part = ""
    for line in lines:
        if part and len(part) + 1 + len(line) > limits.TEXT_BODY:
            yield part
            part = line
        else:
            part = f"{part}\n{line}" if part else line
    yield part


ROWS = limits.ROWS_PER_SECTION  # of one page, the ones that lead to other pages among them


def pages_of(shown: Sequence[ShownChoice], more_rows: int = 0) -> list[tuple[ShownChoice, ...]]:
    """The choices of each page: all on one, where the gateway takes as many rows in as many sections.

    Pinned ones are on every page. ``more_rows`` is how many rows each page has beside its choices.
    """
    if _fits(shown, more_rows):
        return [tuple(shown)]
    pinned = tuple(choice for choice in shown if choice.pinned)
    others = [choice for choice in shown if not choice.pinned]
    room = ROWS - len(pinned) - more_rows
    pages: list[tuple[ShownChoice, ...]] = []
    while others:
        size = room - (1 if pages else 0)  # the row that leads back
        if len(others) > size:
            size -= 1  # the row that leads on
        pages.append((*others[:size], *pinned))
        others = others[size:]
    return pages


def _fits(shown: Sequence[ShownChoice], more_rows: int) -> bool:
    rows = Counter(choice.section for choice in shown)
    if more_rows:
        rows[""] += more_rows
    return len(rows) <= limits.SECTIONS and max(rows.values()) <= limits.ROWS_PER_SECTION
