"""``ask``: put a question and wait for its answer."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Self

from bot.core import messages as limits
from bot.core.effects import KEEPING_ERRORS, NOT_FETCHED
from bot.core.events import CallEnded
from bot.core.immutable import immutable
from bot.core.messages import Buttons, LinkButton, ListMessage, Message, TextMessage, clip
from bot.core.values import Media
from bot.core.waits import ForContact
from bot.language.answers.closings import declines
from bot.language.answers.denials import denies_asked
from bot.language.answers.measures import measures_another, numbered, without_counted, without_first_of, without_scale
from bot.language.answers.names import may_be_name
from bot.language.answers.readers import asks_for_time, counts_time, read_lack, read_yes_no
from bot.language.answers.titles import has_word, is_yes_or_no, number_in, within
from bot.language.answers.words import Kind
from bot.language.expressions.abstract_values import ValueKind
from bot.language.expressions.filters import FORM_ADDRESS
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import TEMPLATE, WORDING_OR_NOTHING, KeySet, KeySpec, as_fields, either, one_of
from bot.language.keys.fields import Fields
from bot.language.keys.text_shapes import TEXT, WORDS
from bot.language.source.problems import Problems
from bot.language.source.word_matching import LONGEST, normalise
from bot.language.source.yaml_tree import List, Node, Scalar
from bot.language.steps.answer_hints import answer_hint
from bot.language.steps.answer_matching import ShownChoices, meaning, several_named
from bot.language.steps.asking_back import (
    ask_which,
    asked_about,
    asks_back,
    confirmed,
    is_part,
    picked,
    refused,
    without_readings,
)
from bot.language.steps.choice_limits import ShownForm, check_choices, choice_texts, shown_form
from bot.language.steps.choice_reader import CHOICES, read_choices
from bot.language.steps.choices import Choices, StartingWords
from bot.language.steps.form_reader import FORM
from bot.language.steps.message_parts import SENDING, VALID, check_error_names, check_length
from bot.language.steps.small_talk_texts import BOT, BYE, GREETING, HELP, MOMENT, SMILE, THANKS, topic_of
from bot.language.steps.step_facts import (
    GOES_ON,
    MAY_FAIL,
    AnswerText,
    DefaultTarget,
    FormFacts,
    Outcome,
    SavedResult,
    SentPart,
    SentText,
    StepFacts,
    StepFailed,
    Used,
    Wait,
    WaitsFor,
    text_sent,
    texts_used,
)
from bot.language.steps.step_kind import (
    Awaited,
    LeaveStep,
    PostponeMessage,
    ReadContext,
    Reply,
    StepContext,
    StepKind,
    StepResult,
    WaitForEffect,
    WaitHere,
)
from bot.language.steps.step_options import SAVE, SOME_HAVE
from bot.language.steps.transition import TEXTS, TRANSITION, TRANSITION_KEYS, Transition, transition_from
from bot.language.types.number_types import IntegerVariable
from bot.language.types.structured_types import FilesVariable, FileVariable
from bot.language.types.text_types import ChoiceVariable
from bot.language.types.type_registry import Answer, InvalidAnswer, TypeMismatch, Variable
from bot.language.types.variable import UnsureAnswer

_FILES = "files"  # of an answer with several, in what the step remembers: those that are not kept yet
_KEPT = "kept"  # ... and those that are
_KEEPING = (*KEEPING_ERRORS, *SENDING)


_ASK = KeySpec(
    "ask",
    WORDING_OR_NOTHING,
    "The question. If it is empty, the step waits for an answer and sends nothing.",
    required=True,
    texts=TEXT,
)
_HEADER = KeySpec("header", TEMPLATE, "A line above the question; goes with buttons.", texts=TEXT)
_FOOTER = KeySpec("footer", TEMPLATE, "A line below the question; goes with a list.", texts=TEXT)
_SKIP_WORDS = KeySpec("words", TEXTS, "The words.", required=True, texts=WORDS)
_SKIP = KeySpec(
    "skip",
    either(replace(TEXTS, texts=WORDS), as_fields(KeySet(_SKIP_WORDS, *TRANSITION_KEYS))),
    "Words by which the question is left without an answer.",
)
_TEXT_ONLY = one_of("text")


def _accepts_of(node: Node, problems: Problems, what: str) -> str | None:
    """``text``: files and places are a matter of the variable's type."""
    if isinstance(node, Scalar) and node.text == "text":
        return node.text
    fix = "write accepts: text; for files and places declare the variable with {type: answer, accepts: [text, image]}"
    problems.add("E109", node.mark, f"{what}: a question takes only text beside its choices", fix)
    return None


_ACCEPTS = KeySpec(
    "accepts",
    replace(_TEXT_ONLY, read=_accepts_of),
    "Whether an answer in the contact's own words counts beside the choices.",
)
_CONFIRM = KeySpec(
    "confirm",
    one_of("never"),
    "never: an answer that may mean several values is no answer. If left out, the contact is asked which is meant.",
)
_UNDERSTAND = KeySpec(
    "understand",
    one_of("model"),
    "A model may point at the words of a reply that answer, where the reply as a whole is no answer.",
)

_OTHER = KeySpec("other", TRANSITION, "Where every reply leads that is no answer; instead of retry.")


@immutable
class AskStep(StepKind):
    """A question: its text, what there is to choose from, and what else it takes."""

    body: Template
    header: Template | None
    footer: Template | None
    choices: Choices | None
    skip_words: tuple[str, ...]
    skip: Transition | None
    other: Transition | None
    variable: Variable | None
    closed: bool  # only its choices are answers
    asks_back: bool  # about an answer that may mean several values
    understand: bool  # a model may point at the words that answer
    valid: timedelta | None  # how long a tap on a choice counts, wherever the contact is then
    form: FormFacts | None = None
    verb = "ask"
    keys = KeySet(_ASK, _HEADER, _FOOTER, *CHOICES, _ACCEPTS, _CONFIRM, _UNDERSTAND, _SKIP, FORM, _OTHER, VALID)
    options = SOME_HAVE

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``ask`` with its choices, `skip` and `other`."""
        body = None if fields.null(_ASK.name) else _ASK.read(fields)
        header, footer = _HEADER.read(fields), _FOOTER.read(fields)
        choices = read_choices(fields)
        skip = _SKIP.read(fields)
        if isinstance(skip, Fields):
            skip_words, skipped = _SKIP_WORDS.read(skip), transition_from(skip)
        else:
            skip_words, skipped = skip or (), None
        other = _OTHER.read(fields)
        variable = None if reading.save is None else reading.variables.get(reading.save)
        if body is None:
            body = Template.plain("", fields.mark)
        accepts_text = _ACCEPTS.read(fields) is not None
        if choices is not None and accepts_text and variable is not None and variable.kind is ValueKind.NUMBER:
            choices = replace(choices, counted=False)  # a number that somebody writes is the answer itself
        closed = choices is not None and not accepts_text and (variable is None or variable.written)
        if choices is not None and not closed:
            choices = replace(choices, placed=False)
        asks_back, valid = _CONFIRM.read(fields) is None, VALID.read(fields)
        if valid is not None and (choices is None or choices.numbered):
            VALID.report(fields, "E123", '"valid" where there is no button to tap', "add `options`, or leave it out")
        understand = _UNDERSTAND.read(fields) is not None
        form = FORM.read(fields)
        if form is not None and body.blank:
            _ASK.report(fields, "E105", "ask: a form needs a question", "write the question")
        if form is not None:
            check_length(fields, "ask", body, limits.INTERACTIVE_BODY)
        if form is not None and choices is not None:
            FORM.report(fields, "E121", '"form" beside choices: a message has a link or choices', "keep one of them")
        options = asks_back, understand, valid, form
        ask = cls(body, header, footer, choices, skip_words, skipped, other, variable, closed, *options)
        ask._check(fields)
        return ask

    def _check(self, fields: Fields) -> None:
        form = shown_form(self.choices)
        _check_message(fields, self.body, self.header, self.footer, form, alone=self.choices is None)
        if self.choices is not None:
            check_choices(fields, self.choices)
            if self.choices.many is not None:
                _check_saved(fields, self.variable)
        _check_accepts(fields, self.choices, self.variable)
        if self.understand and not self.closed and _takes_every_text(self.variable):
            what = '"understand" has no effect: every text is an answer'
            _UNDERSTAND.report(fields, "E123", what, "leave it out, or give its variable a type or a pattern")
        if self._keeping is not None:
            check_error_names(fields, _KEEPING, "keeping a file has no error", f"write {', '.join(_KEEPING)}, else")
        else:
            check_error_names(fields, SENDING, "a question has no error", f"write {', '.join(SENDING)}, else")

    def hearing(self, starts: Mapping[str, StartingWords], models: Collection[str], *, all_lead: bool) -> Self:
        """The question, whose choices that lead to a flow are also chosen by a sentence with their own texts or the
        flow's ``starts``. It is unchanged if other answers count beside its choices, or if `other` leads to one of
        ``models``. ``all_lead``: any choice is also chosen by a sentence with its own texts.
        """
        others = None if self.other is None or self.other.then is None else self.other.then.text
        if self.choices is None or not self.closed or self.choices.many is not None or others in models:
            return self
        fixed = tuple(choice.hearing(starts, all_lead) for choice in self.choices.fixed)
        return self if fixed == self.choices.fixed else replace(self, choices=replace(self.choices, fixed=fixed))

    @property
    def named_answers(self) -> tuple[str, ...]:
        """The titles and words of its choices that save an answer. A yes, a no or a number says too little alone."""
        fixed = () if self.choices is None or not self.closed else self.choices.fixed
        texts = (text for choice in fixed if choice.saves for text in choice.texts)
        return tuple(text for text in texts if not is_yes_or_no(text, None) and number_in(text, None) is None)

    def facts(self) -> StepFacts:
        """Return the facts of a question: it may fail where there can be nothing to choose from, or a file to keep."""
        choices, wordless = self.choices, self.body.blank
        return StepFacts(
            waits_for=Wait(WaitsFor.CONTACT),
            choices_alone=choices is not None and self.closed,
            can_gather=self._takes_own_words or isinstance(self.variable, FilesVariable),
            gathers_files=isinstance(self.variable, FilesVariable),
            stays_valid=self.valid is not None,
            understood_by_model=self.understand,
            answers=tuple(self._answers()),
            sends=tuple(self._sends()),
            most_messages=0 if wordless else 1,
            wordless=wordless,
            refusable=True,
            outcomes=self._outcomes(),
            values_may_fail=choices is not None and choices.fails,
            uses=tuple(self._uses()),
            saved_values=() if choices is None else tuple(choices.saved_values()),
            form=self.form,
        )

    @property
    def _takes_own_words(self) -> bool:
        """True if a text in the contact's own words is an answer."""
        many = self.choices is not None and self.choices.many is not None
        return not (self.closed or many) and (self.variable is None or self.variable.type == "text")

    @property
    def _keeping(self) -> FileVariable | None:
        """The variable, where a file that answers is kept before the question is left."""
        return self.variable if isinstance(self.variable, FileVariable) and self.variable.keeps_files else None

    @property
    def _ends_by_then(self) -> bool:
        """True if something is an answer beside one of its choices: several of them, or what its variable takes."""
        return not self.closed or (self.choices is not None and self.choices.many is not None)

    def _outcomes(self) -> dict[str, Outcome]:
        """Each choice, any other answer (``then``), `skip` and `other`; where a file is kept, that this may fail."""
        found = {} if self.choices is None else self.choices.outcomes()
        if self._ends_by_then:
            found |= GOES_ON
        if self.skip_words:
            found["skip"] = Outcome(self.skip, DefaultTarget.THEN, saves=SavedResult.NULL)
        if self.other is not None:
            found["other"] = Outcome(self.other, DefaultTarget.STAY, success=False)
        if self._keeping is not None:
            found |= MAY_FAIL
        return found

    def _uses(self) -> Iterator[Used]:
        """Every template of the question and of its choices."""
        yield from texts_used(self.body, self.header, self.footer)
        if self.choices is not None:
            yield from self.choices.uses()

    def _answers(self) -> Iterator[AnswerText]:
        """The words for `skip`, and what the choices are called."""
        yield from (AnswerText(word, "skip", "skip") for word in self.skip_words)
        if self.choices is not None:
            yield from self.choices.answers()

    def _sends(self) -> Iterator[SentPart]:
        """The question, and what there is to choose from."""
        plain = (self.choices is None or self.choices.numbered) and self.form is None
        most = limits.TEXT_BODY if plain else limits.INTERACTIVE_BODY
        if not self.body.blank:
            yield SentText("ask", self.body, most, needed=True, question=True)
        yield from text_sent("header", self.header, limits.HEADER_TEXT)
        yield from text_sent("footer", self.footer, limits.FOOTER_TEXT)
        if self.choices is not None:
            yield from choice_texts(self.choices)
            yield self.choices.offered

    def enter(self, context: StepContext) -> StepResult:
        """Put the question and wait."""
        body = context.text(self.body)
        longest = limits.TEXT_BODY if self.choices is None and self.form is None else limits.INTERACTIVE_BODY
        whole = f"{context.above}\n\n{body}".rstrip() if context.above else body
        return self.ask_again(context, whole if len(whole) <= longest else body)

    def title_of(self, value: Any, scope: Mapping[str, Any]) -> str | None:
        """Return the title of the choice with this value."""
        return None if self.choices is None else self.choices.title_of(value, scope, self._saved_as)

    def _saved_as(self, value: Any) -> Any:
        """A choice's value as the variable has it; itself among several."""
        with suppress(TypeMismatch):
            return value if self.variable is None else self.variable.coerce(value, None)
        return value

    def ask_again(self, context: StepContext, body: str) -> WaitHere:
        """Put the question, in these words, and wait. Answers that were picked already stay picked, and files stay."""
        known: dict[str, Any] = {}
        if context.step_state:
            stays = ("picked", "page", "plain", _FILES)
            known = {key: context.step_state[key] for key in stays if key in context.step_state}
        if self.choices is None:
            return WaitHere(tuple(self._without_choices(context, body)), known)
        step_state = self.choices.step_state(context) | known
        if not self.choices.offers(step_state) and self._takes_more(self.choices, context, step_state):
            return WaitHere((TextMessage(body),), step_state)
        return self._offer(self.choices, context, step_state, body)

    def _without_choices(self, context: StepContext, body: str) -> Iterator[Message]:
        """The question with the button of its form. Without a public address nobody could open the form."""
        address = None if self.form is None else context.scope[FORM_ADDRESS](context.step, context.visit)
        if self.form is not None and address is not None:
            yield LinkButton(clip(body, limits.INTERACTIVE_BODY), self.form.title, address)
        elif body.strip() or not self.body.blank:
            yield TextMessage(body)

    def _takes_more(self, choices: Choices, context: StepContext, step_state: Mapping[str, Any]) -> bool:
        """True if there is a way on by what is not among its choices: an answer, `skip`, or `other`."""
        if self.skip_words or (self.other is not None and self.other.then is not None):
            return True
        if self.closed:
            return False
        values = None if self.variable is None else self.variable.values
        return values is None or not all(choices.hides(context, step_state, value) for value in values)

    def _offer(self, choices: Choices, context: StepContext, step_state: Mapping[str, Any], body: str) -> WaitHere:
        header = None if self.header is None else context.text(self.header)
        footer = None if self.footer is None else context.text(self.footer)
        messages = _offered(choices, context, step_state).messages(body, header, footer)
        return WaitHere(messages, step_state, valid=self.valid)

    def in_plain_text(self, context: StepContext, message: Message) -> StepResult:
        """The same question with numbered choices, while the step waits; an edit may have taken them away."""
        step_state = {**context.step_state, "plain": True}
        if (
            self.choices is None
            or asks_back(step_state)
            or not self.choices.offers(step_state)
            or not isinstance(message, Buttons | ListMessage)
        ):
            return super().in_plain_text(context, message)
        return self._offer(self.choices, context, step_state, message.body)

    def answer_before_words(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A tap on one of this question's own buttons or rows."""
        if reply.tap is None:
            return None
        if isinstance(self.variable, FilesVariable) and _has_files(context):
            return PostponeMessage("the files are the answer, and more may follow")
        return self._confirmed(context, reply) or self._choose(context, reply)

    def gathers(self, context: StepContext, reply: Reply) -> bool:
        """True unless the text is `skip` or a choice; for several files: each of them, and texts behind the first."""
        if isinstance(self.variable, FilesVariable):
            return _has_files(context) if reply.media is None else reply.media.kind in self.variable.kinds
        own_words = self._takes_own_words and reply.media is None
        return own_words and not self._skips(context, reply) and self._choose(context, reply) is None

    def _skips(self, context: StepContext, reply: Reply) -> bool:
        """True for a word of `skip`, also beside words that change nothing: "no, thanks".

        Where one of them is a no, and free text is no answer, "I don't have one" skips, too.
        """
        if reply.text is None or not self.skip_words:
            return False
        if normalise(reply.text) in map(normalise, self.skip_words):
            return True
        language, phrases = context.contact_language, [(word, 0) for word in self.skip_words]
        if len(reply.text) > LONGEST:
            return False
        lacks = not _takes_every_text(self.variable) and read_lack(reply.text, language)
        return within(reply.text, phrases, language) == 0 or _is_no(reply.text, self.skip_words, language, lacks=lacks)

    def answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        """`skip`, then the choices, then whatever the variable takes."""
        if reply.tap is not None or reply.is_foreign:
            return None
        if isinstance(self.variable, FilesVariable) and (reply.files or reply.media is not None):
            return self._free_answer(context, reply)
        if not reply.is_tap and self._skips(context, reply):
            return LeaveStep("skip", saved=None)
        found = self._choose(context, reply) or self._confirmed(context, reply)
        return found if found is not None or reply.is_tap else self._free_answer(context, reply)

    def _accepted(self, variable: Variable, context: StepContext, reply: Reply) -> Any:
        """The value that a reply stands for. Raises `InvalidAnswer`, also for "3 weeks" where the question asks for
        days; where it asks for no time, the contact is asked back.
        """
        text, language, asked = reply.text, context.contact_language, ""
        if text and variable.kind is ValueKind.NUMBER and not (text.isdecimal() or self.body.blank):
            asked = self._asked(context)
            text = _number_in(text, variable, asked, language)
        elif text and variable.kind in _OF_TIMES and len(text) <= LONGEST:
            text = without_first_of(text, self._question(context), language)
        value = variable.accept(Answer(text, reply.media, reply.location, reply.files), context.now, context.scope)
        if asked and reply.text:
            if counted := counts_time(reply.text, language):
                periods = asks_for_time(asked, language)
                if periods == frozenset():
                    raise UnsureAnswer([value], open=True)
                if periods is not None and not counted <= periods:
                    raise InvalidAnswer("it counts another time", variable.error, reply.text)
            if measures_another(reply.text, asked, language):
                raise InvalidAnswer("it measures something else", variable.error, reply.text)
        return value

    def measures_another(self, context: StepContext, text: str) -> bool:
        """True if the number of a text measures something else than the question or its variable's name say: "5%"."""
        return measures_another(text, self._asked(context), context.contact_language)

    def _asked(self, context: StepContext) -> str:
        """The question and its variable's name."""
        return f"{self._question(context)} {'' if self.variable is None else self.variable.name.replace('_', ' ')}"

    def _question(self, context: StepContext) -> str:
        """The question; as it is written, where the values are not there yet."""
        with suppress(TemplateFailed):
            return context.text(self.body)
        return self.body.source

    def _confirmed(self, context: StepContext, reply: Reply) -> StepResult | None:
        """The answer to "did you mean ...?": the value is the contact's, or the question is put again."""
        if refused(context, reply):
            return self.ask_again(replace(context, step_state=without_readings(context)), context.text(self.body))
        return confirmed(context, self.body.mark, reply)

    def _choose(self, context: StepContext, reply: Reply) -> StepResult | None:
        """The choice that a reply makes. A choice that does not end the question shows it once more."""
        if self.choices is None or not self.choices.offers(context.step_state):
            return None
        heard = meaning(
            _offered(self.choices, context, context.step_state), reply, partial(self._reading, context, reply)
        )
        if heard is None or isinstance(heard, LeaveStep):
            return heard
        return self._offer(self.choices, context, heard.step_state, context.text(self.body))

    def _reading(self, context: StepContext, reply: Reply) -> Callable[[Any], bool]:
        """A test of values for equality with the variable's reading of a reply: "sure" is the same as true."""
        variable = self.variable
        if variable is None:
            return lambda _: False
        try:
            read = [self._accepted(variable, context, reply)]
        except UnsureAnswer as unsure:
            read = [] if unsure.open else list(unsure.values)  # half past ten may be the choice 10:30
        except InvalidAnswer:
            return lambda _: False

        def is_same(value: Any) -> bool:
            try:
                return variable.coerce(value, context.now) in read
            except TypeMismatch:
                return False

        return is_same

    def _free_answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        if self.closed:
            return None
        if self.variable is None:
            return LeaveStep("then", saved=reply.text) if reply.text and reply.text.strip() else None
        if self.variable.type in ("boolean", "name") and declines(reply.text or ""):
            return None  # "rather not say" is no "no"
        if self.variable.type == "name" and self._is_small_talk(context, reply.text or ""):
            return None
        if self.variable.type == "boolean" and self._denies(context, reply.text or ""):
            said = read_yes_no(reply.text or "", context.contact_language)
            is_yes_too = said is not None and said.value  # "no problem" for "Shall we fix the problem?"
            return None if is_yes_too else LeaveStep("then", saved=False)
        try:
            value = self._accepted(self.variable, context, reply)
        except UnsureAnswer as unsure:
            asks = self.asks_back and not (unsure.open and context.waits is None)
            is_new = not is_part(context, reply, unsure.values) and sorted(unsure.values) != asked_about(context)
            return ask_which(context, self.body.mark, unsure.values, reply.text or "") if asks and is_new else None
        except InvalidAnswer:
            return picked(context, reply, partial(self._accepted, self.variable, context))
        if is_part(context, reply, [value]):
            return None
        if self.choices is not None and self.choices.hides(context, context.step_state, value):
            return None
        if isinstance(self.variable, FilesVariable):
            return self._several_files(context, self.variable, value)
        keeping = self._keeping
        file = None if keeping is None else keeping.file_in(value)
        if keeping is not None and file is not None:
            return WaitForEffect(effect=keeping.fetch(file), step_state=context.step_state)
        return LeaveStep("then", saved=value)

    def _denies(self, context: StepContext, text: str) -> bool:
        return len(text) <= LONGEST and denies_asked(text, self._question(context), context.contact_language)

    def _is_small_talk(self, context: StepContext, text: str) -> bool:
        return topic_of(text) in _NO_NAMES and not may_be_name(text, context.contact_language)

    def _several_files(self, context: StepContext, variable: FilesVariable, new: Sequence[Media]) -> StepResult:
        """Wait for more where there are too few; else leave, after each is kept where the variable says so."""
        files = [*context.step_state.get(_FILES, ()), *new]
        if len(files) < variable.least:
            scope = {**context.scope, "it": len(files)}
            body = context.text(self.body) if variable.error is None else variable.error.render(scope)
            note = f"files so far: {len(files)}, and {variable.least} at least are an answer"
            return replace(self.ask_again(replace(context, step_state={_FILES: files}), body), notes=(note,))
        notes = (f"only the first {variable.most_files} files are taken",) if len(files) > variable.most_files else ()
        return self._keep_next(variable, files[: variable.most_files], [], notes)

    def _keep_next(
        self, variable: FilesVariable, files: list[Media], kept: list[Media], notes: tuple[str, ...] = ()
    ) -> StepResult:
        """Keep the first of the files that are left. If none is left, or none is kept, leave with all of them."""
        if not files or not variable.keeps_files:
            return LeaveStep("then", saved=[*kept, *files], notes=notes)
        return WaitForEffect(effect=variable.fetch(files[0]), step_state={_FILES: files, _KEPT: kept}, notes=notes)

    def lacks_answer(self, context: StepContext, reply: Reply) -> bool:
        """True for "I have no email", where only a value that the contact has is an answer."""
        if reply.text is None or self.choices is not None or _takes_every_text(self.variable):
            return False
        return read_lack(reply.text, context.contact_language)

    def takes_audio(self, context: StepContext, reply: Reply) -> bool:
        """True if its variable takes audio."""
        return isinstance(self.variable, FileVariable) and "audio" in self.variable.kinds

    def objection(self, context: StepContext, reply: Reply) -> str | None:
        """The variable's own words to an answer that does not fit it."""
        if self.variable is None or reply.tap is not None:
            return None
        try:
            self._accepted(self.variable, context, reply)
        except InvalidAnswer as unfit:
            it = len(context.step_state.get(_FILES, ())) if isinstance(self.variable, FilesVariable) else unfit.it
            return None if unfit.objection is None else unfit.objection.render({**context.scope, "it": it})
        return None

    def phrases(self, context: StepContext) -> tuple[str, ...] | None:
        """The texts of its choices: an answer has a word of them, a number or a time. None: it may be any text."""
        variable = self.variable
        if variable is not None and (self.choices is None or not self.closed) and variable.type not in _TOLD_BY_WORDS:
            return None
        found: list[str] = []
        if isinstance(variable, ChoiceVariable):
            found += [*variable.of, *(text for texts in variable.also for text in texts)]
        if self.choices is not None and self.choices.offers(context.step_state):
            for choice in _offered(self.choices, context, context.step_state).shown:
                found += [choice.title, choice.name, *choice.words, *choice.hears.words, *choice.hears.answers]
                found += [choice.value] if isinstance(choice.value, str) else []
        return tuple(found)

    def hint(self, context: StepContext, reply: Reply) -> str | None:
        """Return its choices in words, else what the variable takes; None for a question without a letter, like "?"."""
        if self.body.source and not any(map(str.isalpha, self.body.source)):
            return None
        choices, titles = self.choices, []
        written = self.variable is None or self.variable.type in ("text", "choice")
        if choices is not None and (self.closed or written) and choices.offers(context.step_state):
            titles = [choice.title for choice in _offered(choices, context, context.step_state).shown]
        return answer_hint(self.variable, titles, context, reply)

    def which_one(self, context: StepContext, reply: Reply) -> str | None:
        """Return the choices that a reply names: ``Please choose one of these: Tea or Coffee.``."""
        if self.choices is None or not reply.text or not self.choices.offers(context.step_state):
            return None
        titles = several_named(_offered(self.choices, context, context.step_state), reply.text)
        return answer_hint(self.variable, titles, context, reply) if titles else None

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The file is kept, or could not be. A question that an edit has turned into another one is put."""
        if not isinstance(event, CallEnded):
            return None
        if self._keeping is None:
            return self.enter(context)
        if event.outcome != "done":
            raise StepFailed(event.outcome if event.outcome in KEEPING_ERRORS else NOT_FETCHED, event.detail)
        if isinstance(self._keeping, FilesVariable):
            left, kept = context.step_state.get(_FILES, ()), context.step_state.get(_KEPT, ())
            return self._keep_next(self._keeping, [*left[1:]], [*kept, event.value])
        return LeaveStep("then", saved=self._keeping.of_file(event.value))

    def after_failure(self, step_state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Forget all files: if one cannot be kept, the others are no answer."""
        return {key: value for key, value in step_state.items() if key not in (_FILES, _KEPT)}


def _is_no(text: str, skip_words: Iterable[str], language: str | None, *, lacks: bool) -> bool:
    """True for another way to say a no that skips: "nope". ``lacks``: the text says that something is missing. A
    text that says that something is wrong skips nothing.
    """
    said = read_yes_no(text, language)
    is_no = said is not None and not said.value and not any(map(str.isdigit, text))
    is_no = is_no and not has_word(text, (Kind.DEFECT,), language)
    if not (lacks or is_no or _declines(text, language)):
        return False
    return any((word := read_yes_no(each, language)) is not None and not word.value for each in skip_words)


def _declines(text: str, language: str | None) -> bool:
    """True for a goodbye, a refusal, and a no with small talk behind it: "that's all", "I'd rather not say"."""
    first, _, rest = text.strip().partition(" ")
    said = read_yes_no(first, language)
    says_no = said is not None and not said.value
    return (
        topic_of(text, language) == BYE
        or declines(text)
        or (says_no and topic_of(rest, language) in (BYE, SMILE, THANKS))
    )


def _number_in(text: str, variable: Variable, asked: str, language: str | None) -> str:
    """The part of an answer that is the number, without words of the question: "10 lessons", "floor 3", "8/10"."""
    if len(text) > LONGEST:
        return text
    if isinstance(variable, IntegerVariable):
        place = numbered(text, asked, language)
        text = without_scale(text, asked, variable.most, language) if place is None else str(place)
    return without_counted(text, asked, language)


_NO_NAMES = (MOMENT, BOT, BYE, HELP, THANKS, GREETING)
_OF_TIMES = (ValueKind.DATE, ValueKind.TIME, ValueKind.DATETIME)
_TOLD_BY_WORDS = frozenset({"integer", "number", "date", "time", "datetime", "choice"})


def _has_files(context: StepContext) -> bool:
    """True if the contact has sent files of the answer, and more may follow."""
    return isinstance(context.waits, ForContact) and context.waits.is_occupied


def _takes_every_text(variable: Variable | None) -> bool:
    return variable is None or (variable.takes_any_words and not variable.bounded)


def _offered(choices: Choices, context: StepContext, step_state: Mapping[str, Any]) -> ShownChoices:
    """The choices as they are shown: with numbers if the gateway has refused buttons and lists."""
    return ShownChoices(replace(choices, numbered=True) if step_state.get("plain") else choices, context, step_state)


def _check_message(
    fields: Fields, body: Template, header: Template | None, footer: Template | None, form: ShownForm, *, alone: bool
) -> None:
    """The text, the header and the footer. A question ``alone``, without choices, can do without a text."""
    check_length(fields, "ask", body, limits.TEXT_BODY if form == "text" else limits.INTERACTIVE_BODY)
    for written in () if alone and body.blank else body.wordings:
        if written.blank and not isinstance(fields.raw(_ASK.name), List):
            fields.report("E105", written.mark, "ask: there is nothing to ask", "write the question")
    check_length(fields, "header", header, limits.HEADER_TEXT)
    check_length(fields, "footer", footer, limits.FOOTER_TEXT)
    for key, wanted, goes_with in ((_HEADER, "buttons", "buttons"), (_FOOTER, "list", "a list")):
        if key.written(fields) and form not in (wanted, "open"):
            key.report(fields, "E403", f"a {key.name} goes with {goes_with} only", "put it in the text")


def _check_accepts(fields: Fields, choices: Choices | None, variable: Variable | None) -> None:
    """Beside choices one can write what the variable takes."""
    if not _ACCEPTS.written(fields):
        return
    if choices is None:
        what, fix = "without choices", "leave it out: a question without choices takes what its variable takes"
        _ACCEPTS.report(fields, "E123", f'"accepts" {what}', fix)
    elif choices.many is not None:
        what, fix = 'beside "many", whose answers are its choices', "leave one of them out"
        _ACCEPTS.report(fields, "E121", f'"accepts" {what}', fix)
    elif variable is not None and not variable.answered:
        what = f'nobody can write an answer of type {variable.type}, which "{variable.name}" is'
        _ACCEPTS.report(fields, "E303", what, 'leave "accepts" out, or save it in a text')


def _check_saved(fields: Fields, variable: Variable | None) -> None:
    """Many answers are saved as a list."""
    if variable is not None and variable.type != "list":
        what = f'many answers are a list, and "{variable.name}" is of type {variable.type}'
        SAVE.report(fields, "E303", what, f"declare it as {variable.name}: {{type: list}}")
