"""``ask``: put a question and wait for its answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bot.core.effects import NOT_FETCHED, TOO_LARGE, WRONG_TYPE, Fetch
from bot.core.events import CallEnded
from bot.core.messages import Buttons, ListMessage, Message, TextMessage
from bot.core.values import Media
from bot.expressions.templates import Template
from bot.keys.fields import Fields
from bot.keys.key_schemas import ANY_TEXT, WORDING, Schemas, takes
from bot.keys.text_shapes import TEXT, WORDS, Shape
from bot.lang.nodes import Map
from bot.lang.word_matching import normalise
from bot.steps.answer_matching import meaning
from bot.steps.ask_checks import check_choices, check_message, check_saved, form_of
from bot.steps.ask_texts import texts_of
from bot.steps.choice_keys import CHOICES_KEYS, SKIP
from bot.steps.choice_reader import CHOICES_TEXTS, read_choices
from bot.steps.choices import Choices
from bot.steps.declared import AnswerText, Falls, Outcome, Result, Saved, Sent, Used
from bot.steps.error_names import SENDING, check_error_names
from bot.steps.kind import Awaited, Reading, Reply, StepContext, StepFailed, StepKind, StepResult, ending
from bot.steps.offer import Offer
from bot.steps.step_option_keys import SOME_HAVE
from bot.steps.transition import TRANSITION_TEXTS, Transition, transition_at, transition_from
from bot.steps.transition_keys import TRANSITION
from bot.types.structured_types import MediaVariable
from bot.types.type_registry import Answer, Unfit, Variable

KEEPING_ERRORS = (TOO_LARGE, WRONG_TYPE, NOT_FETCHED)
_KEEPING = (*KEEPING_ERRORS, *SENDING)


@dataclass(frozen=True, slots=True)
class Ask(StepKind):
    """A question: its text, what there is to choose from, and what else it takes."""

    body: Template
    header: Template | None
    footer: Template | None
    choices: Choices | None
    skip_words: tuple[str, ...]
    skip: Transition | None
    other: Transition | None
    variable: Variable | None
    verb: ClassVar[str] = "ask"
    keys: ClassVar[Schemas] = {
        "ask": takes(WORDING, "The question."),
        "header": takes(ANY_TEXT, "A line above the question; goes with buttons."),
        "footer": takes(ANY_TEXT, "A line below the question; goes with a list."),
        **CHOICES_KEYS,
        "skip": takes(SKIP, "Words by which the question is left without an answer."),
        "other": takes(TRANSITION, "Where any reply leads that is no answer; in place of retry."),
    }
    options: ClassVar[frozenset[str]] = SOME_HAVE
    saves: ClassVar[bool] = True
    texts: ClassVar[Mapping[str, Shape]] = {
        "ask": TEXT,
        "header": TEXT,
        "footer": TEXT,
        **CHOICES_TEXTS,
        "skip": lambda node: {**TRANSITION_TEXTS, "words": WORDS} if isinstance(node, Map) else WORDS,
        "other": TRANSITION_TEXTS,
    }

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read ``ask`` with its choices, `skip` and `other`."""
        body = fields.wording("ask")
        header, footer = fields.template("header"), fields.template("footer")
        choices = read_choices(fields)
        skip_words, skip = _read_skip(fields)
        other = transition_at(fields, "other")
        variable = None if reading.save is None else reading.variables.get(reading.save)
        if body is None:
            body = Template.plain("", fields.mark)
        ask = cls(body, header, footer, choices, skip_words, skip, other, variable)
        ask._check(fields)
        return ask

    def _check(self, fields: Fields) -> None:
        form = form_of(self.choices)
        check_message(fields, self.body, self.header, self.footer, form)
        if self.choices is not None:
            check_choices(fields, self.choices, form)
            if self.choices.many is not None:
                check_saved(fields, self.variable)
        if self._keeping is not None:
            check_error_names(fields, _KEEPING, "keeping a file has no error", f"write {', '.join(_KEEPING)}, else")
        else:
            check_error_names(fields, SENDING, "a question has no error", f"write {', '.join(SENDING)}, else")

    @property
    def waits(self) -> bool:
        """A question waits for its answer."""
        return True

    @property
    def _keeping(self) -> MediaVariable | None:
        """The variable, where a file that answers is kept before the question is left."""
        return self.variable if isinstance(self.variable, MediaVariable) and self.variable.keep else None

    @property
    def _ends_by_then(self) -> bool:
        """Whether something is an answer beside one of its choices: several of them, or what its variable takes."""
        if self.choices is None or self.choices.many is not None:
            return True
        return self.variable is not None and self.variable.answered

    def outcomes(self) -> dict[str, Outcome]:
        """Each choice, any other answer (``then``), `skip` and `other`; where a file is kept, that this may fail."""
        found = {} if self.choices is None else self.choices.outcomes()
        if self._ends_by_then:
            found["then"] = Outcome(None, Falls.THEN)
        if self.skip_words:
            found["skip"] = Outcome(self.skip, Falls.THEN, saves=Result.NULL)
        if self.other is not None:
            found["other"] = Outcome(self.other, Falls.STAY, success=False)
        if self._keeping is not None:
            found["errors.else"] = Outcome(None, Falls.ERRORS, success=False)
        return found

    @property
    def fails(self) -> bool:
        """There may be nothing to choose from, or a file that cannot be kept."""
        return self._keeping is not None or (self.choices is not None and self.choices.fails)

    def uses(self) -> Iterator[Used]:
        """Every template of the question and of its choices."""
        for text in (self.body, self.header, self.footer):
            if text is not None:
                yield Used(text)
        if self.choices is not None:
            yield from self.choices.uses()

    def answers(self) -> Iterator[AnswerText]:
        """The words for `skip`, and what the choices are called."""
        yield from (AnswerText(word, "skip") for word in self.skip_words)
        if self.choices is not None:
            yield from self.choices.answers()

    def sends(self) -> Iterator[Sent]:
        """The question, and what there is to choose from."""
        yield from texts_of(self.body, self.header, self.footer, self.choices)
        if self.choices is not None:
            yield self.choices.offered

    def saved_values(self) -> Iterator[Saved]:
        """What the choices save."""
        return iter(()) if self.choices is None else self.choices.saved_values()

    def enter(self, context: StepContext) -> StepResult:
        """Put the question and wait."""
        return self.ask_again(context, self.body.render(context.scope))

    def ask_again(self, context: StepContext, body: str) -> StepResult:
        """Put the question, in these words, and wait. What was picked of many answers stays so while it waits."""
        if self.choices is None:
            return StepResult(messages=(TextMessage(body),))
        kept = {key: context.step_state[key] for key in ("picked", "page", "plain") if key in context.step_state}
        step_state = {**self.choices.step_state(context), **kept}
        if not self.choices.offers(step_state) and self._takes_more(self.choices, context, step_state):
            return StepResult(messages=(TextMessage(body),), step_state=step_state)
        return self._offer(self.choices, context, step_state, body)

    def _takes_more(self, choices: Choices, context: StepContext, step_state: Mapping[str, Any]) -> bool:
        """Whether there is a way on by what is not among its choices: an answer, `skip`, or `other`."""
        if self.skip_words or (self.other is not None and self.other.then is not None):
            return True
        if self.variable is None or not self.variable.answered:
            return False
        values = self.variable.values
        return values is None or not all(choices.hides(context, step_state, value) for value in values)

    def _offer(self, choices: Choices, context: StepContext, step_state: Mapping[str, Any], body: str) -> StepResult:
        header = None if self.header is None else self.header.render(context.scope)
        footer = None if self.footer is None else self.footer.render(context.scope)
        return StepResult(
            messages=_offered(choices, context, step_state).messages(body, header, footer), step_state=step_state
        )

    def in_plain_text(self, context: StepContext, message: Message) -> StepResult:
        """The same question with its choices as numbers, as long as the step waits; an edit may have taken them away."""
        step_state = {**context.step_state, "plain": True}
        if (
            self.choices is None
            or not self.choices.offers(step_state)
            or not isinstance(message, Buttons | ListMessage)
        ):
            return super(Ask, self).in_plain_text(context, message)
        return self._offer(self.choices, context, step_state, message.body)

    def claim(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A tap on one of this question's own buttons or rows."""
        return None if reply.tap is None else self._choose(context, reply)

    def answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        """`skip`, then the choices, then whatever the variable takes."""
        if reply.tap is not None:
            return None
        if reply.text is not None and normalise(reply.text) in map(normalise, self.skip_words):
            return ending("skip", saved=None)
        return self._choose(context, reply) or self._free_answer(context, reply)

    def _choose(self, context: StepContext, reply: Reply) -> StepResult | None:
        """What a reply means to the choices. Where that does not end the question, it is shown once more."""
        if self.choices is None or not self.choices.offers(context.step_state):
            return None
        heard = meaning(_offered(self.choices, context, context.step_state), reply)
        if heard is None or heard.outcome is not None:
            return heard
        return self._offer(self.choices, context, heard.step_state, self.body.render(context.scope))

    def _free_answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        if self.variable is None:
            takes = self.choices is None and bool(reply.text and reply.text.strip())
            return ending("then", saved=reply.text) if takes else None
        try:
            value = _accepted(self.variable, context, reply)
        except Unfit:
            return None
        if self.choices is not None and self.choices.hides(context, context.step_state, value):
            return None
        keeping = self._keeping
        if keeping is not None and isinstance(value, Media):
            return StepResult(
                call=Fetch(value, keeping.bytes_allowed(value.kind)), awaits=True, step_state=context.step_state
            )
        return ending("then", saved=value)

    def objection(self, context: StepContext, reply: Reply) -> str | None:
        """What the variable says to an answer that does not fit it."""
        if self.variable is None or reply.tap is not None:
            return None
        try:
            _accepted(self.variable, context, reply)
        except Unfit as unfit:
            return None if unfit.objection is None else unfit.objection.render({**context.scope, "it": unfit.it})
        return None

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The file is kept, or could not be. A question that an edit has turned into another one is put."""
        if not isinstance(event, CallEnded):
            return None
        if self._keeping is None:
            return self.enter(context)
        if event.outcome == "done":
            return ending("then", saved=event.value)
        raise StepFailed(event.outcome if event.outcome in KEEPING_ERRORS else NOT_FETCHED, event.detail)


def _offered(choices: Choices, context: StepContext, step_state: Mapping[str, Any]) -> Offer:
    """What is offered; with numbers where the gateway has refused buttons and lists."""
    return Offer(replace(choices, numbered=True) if step_state.get("plain") else choices, context, step_state)


def _accepted(variable: Variable, context: StepContext, reply: Reply) -> Any:
    """The value that a reply stands for. Raises `Unfit`."""
    return variable.accept(Answer(reply.text, reply.media, reply.location), context.now, context.scope)


def _read_skip(fields: Fields) -> tuple[tuple[str, ...], Transition | None]:
    """``skip: [words]``, or a transition with its `words`."""
    if not isinstance(fields.raw("skip"), Map):
        return fields.strings("skip"), None
    inner = fields.fields("skip")
    if inner is None:
        return (), None
    inner.require("words")
    words, transition = inner.strings("words"), transition_from(inner)
    inner.close()
    return words, transition
