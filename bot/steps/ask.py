"""``ask``: put a question and wait for its answer."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from bot.core import messages as limits
from bot.core.effects import NOT_FETCHED, TOO_LARGE, WRONG_TYPE, Fetch
from bot.core.events import CallEnded
from bot.core.messages import Message, Text
from bot.core.values import Media
from bot.lang.fields import Fields
from bot.lang.nodes import Map
from bot.lang.problems import did_you_mean
from bot.lang.structures import MediaVariable
from bot.lang.templates import Template
from bot.lang.variables import Answer, Unfit, Variable
from bot.lang.words import normalise
from bot.steps.choice_reader import read_choices
from bot.steps.choices import Choices, Shown
from bot.steps.doors import Door, door_at, door_from
from bot.steps.kind import At, Awaited, Decision, Falls, Outcome, Reading, Reply, StepFailed, StepKind, Used, ending
from bot.steps.limits import check_length, check_text

KEEPING_ERRORS = (TOO_LARGE, WRONG_TYPE, NOT_FETCHED)
_ERRORS = (*KEEPING_ERRORS, "mismatch", "failed", "else")


@dataclass(frozen=True, slots=True)
class Ask(StepKind):
    """A question: its text, what there is to choose from, and what else it takes."""

    body: Template
    header: Template | None
    footer: Template | None
    choices: Choices | None
    skip_words: tuple[str, ...]
    skip: Door | None
    other: Door | None
    variable: Variable | None
    verb: ClassVar[str] = "ask"
    saves: ClassVar[bool] = True
    later: ClassVar[Mapping[str, str]] = {
        "match": "wider matching of answers",
        "words": "words at a step",
        "many": "several answers to one question",
        "show": "choices as numbered text",
    }

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read ``ask`` with its choices, `skip` and `other`."""
        body = fields.wording("ask")
        header, footer = fields.template("header"), fields.template("footer")
        choices = read_choices(fields)
        skip_words, skip = _read_skip(fields)
        other = door_at(fields, "other")
        variable = None if reading.save is None else reading.variables.get(reading.save)
        if body is None:
            body = Template.plain("", fields.mark)
        ask = cls(body, header, footer, choices, skip_words, skip, other, variable)
        ask._check(fields)
        return ask

    def _check(self, fields: Fields) -> None:
        form = None if self.choices is None else self._form(self.choices)
        check_length(fields, "ask", self.body, limits.TEXT_BODY if form is None else limits.INTERACTIVE_BODY)
        check_length(fields, "header", self.header, limits.HEADER_TEXT)
        check_length(fields, "footer", self.footer, limits.FOOTER_TEXT)
        for key, wanted in (("header", "buttons"), ("footer", "list")):
            if fields.has(key) and form not in (wanted, "open"):
                fields.problems.add(
                    "E403", fields.mark_of(key), f"{fields.what}: a {key} goes with {wanted} only", "put it in the text"
                )
        if self.choices is not None:
            self._check_titles(fields, self.choices, form)
        if self._keeping is not None:
            _check_errors(fields)

    def _form(self, choices: Choices) -> str:
        """How the choices will be shown: buttons, list, or open when that is known at run time only."""
        if choices.form == "list" or (choices.made is None and len(choices.fixed) > limits.BUTTONS):
            return "list"
        if choices.made is not None:
            return "open"
        fits = all(len(c.title.source) <= limits.BUTTON_TITLE and c.about is None for c in choices.fixed)
        return "buttons" if choices.form == "buttons" or fits else "list"

    def _check_titles(self, fields: Fields, choices: Choices, form: str | None) -> None:
        most = limits.BUTTON_TITLE if form == "buttons" else limits.ROW_TITLE
        sections = Counter(choice.section for choice in choices.fixed)
        if sum(-(-rows // limits.ROWS_PER_SECTION) for rows in sections.values()) > limits.SECTIONS:
            fields.problems.add(
                "E401",
                choices.mark,
                f"{fields.what}: more than {limits.SECTIONS} sections of {limits.ROWS_PER_SECTION} rows",
                "divide the question",
            )
        for choice in choices.fixed:
            title = f'"{choice.title.source}"'
            fix = "shorten it" if form != "buttons" else f"shorten it, or use a list ({limits.ROW_TITLE} characters)"
            check_text(fields, title, choice.title, most, fix)
            check_text(fields, "about", choice.about, limits.ROW_DESCRIPTION)
            if choice.about is not None and form == "buttons":
                fields.problems.add(
                    "E403", choice.mark, f"{fields.what}: only rows of a list have an `about`", "use a list"
                )
        check_text(fields, "button", choices.opener, limits.BUTTON_TITLE)

    @property
    def waits(self) -> bool:
        """A question waits for its answer."""
        return True

    @property
    def _keeping(self) -> MediaVariable | None:
        """The variable, where a file that answers is kept before the question is left."""
        return self.variable if isinstance(self.variable, MediaVariable) and self.variable.keep else None

    def outcomes(self) -> dict[str, Outcome]:
        """Each choice, a free answer (``then``), `skip` and `other`; where a file is kept, that this may fail."""
        found = {} if self.choices is None else self.choices.outcomes()
        found["then"] = Outcome(None, Falls.THEN)
        if self.skip_words:
            found["skip"] = Outcome(self.skip, Falls.THEN)
        if self.other is not None:
            found["other"] = Outcome(self.other, Falls.STAY, success=False)
        if self._keeping is not None:
            found["errors.else"] = Outcome(None, Falls.ERRORS, success=False)
        return found

    def uses(self) -> Iterator[Used]:
        """Every template of the question and of its choices."""
        for text in (self.body, self.header, self.footer):
            if text is not None:
                yield Used(text)
        if self.choices is not None:
            yield from self.choices.uses()

    def enter(self, at: At) -> Decision:
        """Put the question and wait."""
        return self.ask_again(at, self.body.render(at.scope))

    def ask_again(self, at: At, body: str) -> Decision:
        """Put the question, in these words, and wait."""
        if self.choices is None:
            return Decision(messages=(Text(body),))
        hold = self.choices.hold(at)
        header = None if self.header is None else self.header.render(at.scope)
        footer = None if self.footer is None else self.footer.render(at.scope)
        message: Message = self.choices.present(at, hold, body, header, footer)
        return Decision(messages=(message,), hold=hold)

    def claim(self, at: At, reply: Reply) -> Decision | None:
        """A tap on one of this question's own buttons or rows."""
        if reply.tap is None or self.choices is None:
            return None
        chosen = self.choices.chosen(at, reply)
        return None if chosen is None else _chosen(chosen)

    def answer(self, at: At, reply: Reply) -> Decision | None:
        """`skip`, then the choices, then whatever the variable takes."""
        if reply.tap is not None:
            return None
        if reply.text is not None and normalise(reply.text) in map(normalise, self.skip_words):
            return ending("skip", saved=None)
        if self.choices is not None and (chosen := self.choices.chosen(at, reply)) is not None:
            return _chosen(chosen)
        return self._free_answer(at, reply)

    def _free_answer(self, at: At, reply: Reply) -> Decision | None:
        if self.variable is None:
            takes = self.choices is None and bool(reply.text and reply.text.strip())
            return ending("then", saved=reply.text) if takes else None
        try:
            value = self.variable.accept(Answer(reply.text, reply.media, reply.location), at.now, at.scope)
        except Unfit:
            return None
        keeping = self._keeping
        if keeping is not None and isinstance(value, Media):
            return Decision(call=Fetch(value, keeping.bytes_allowed(value.kind)), awaits=True, hold=at.hold)
        return ending("then", saved=value)

    def resume(self, at: At, event: Awaited) -> Decision | None:
        """The file is kept, or could not be. A question that an edit has turned into another one is put."""
        if not isinstance(event, CallEnded):
            return None
        if self._keeping is None:
            return self.enter(at)
        if event.outcome == "done":
            return ending("then", saved=event.value)
        raise StepFailed(event.outcome if event.outcome in KEEPING_ERRORS else NOT_FETCHED, event.detail)


def _check_errors(fields: Fields) -> None:
    """Only the step's own names: inherited ones are for other steps too."""
    own = fields.fields("errors")
    for name, _ in () if own is None else own.entries():
        if name.text not in _ERRORS:
            what = f'{fields.what}: keeping a file has no error "{name.text}"'
            fields.problems.add(
                "E504", name.mark, what, did_you_mean(name.text, _ERRORS, f"write {', '.join(_ERRORS)}")
            )


def _chosen(choice: Shown) -> Decision:
    return ending(choice.outcome, saved=choice.value) if choice.saves else ending(choice.outcome)


def _read_skip(fields: Fields) -> tuple[tuple[str, ...], Door | None]:
    """``skip: [words]``, or a door with its `words`."""
    if not isinstance(fields.raw("skip"), Map):
        return fields.strings("skip"), None
    inner = fields.fields("skip")
    if inner is None:
        return (), None
    inner.require("words")
    words, door = inner.strings("words"), door_from(inner)
    inner.close()
    return words, door
