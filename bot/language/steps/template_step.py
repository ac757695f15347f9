"""``template``: an approved template, the only message that may be sent while the 24-hour window is closed."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Self

from bot.core.effects import REPLY_TRIED_FOR
from bot.core.events import UNSENT, SendEnded
from bot.core.immutable import immutable
from bot.language.answers.readers import same_side
from bot.language.answers.titles import within
from bot.language.expressions.templates import Expression, Template
from bot.language.keys.declared_keys import KeySet, KeySpec, as_fields, either, map_of
from bot.language.keys.fields import Fields, entries_of
from bot.language.keys.text_shapes import Part
from bot.language.source.problems import Problems
from bot.language.source.word_matching import Option, match
from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.language.steps.answer_hints import answer_hint
from bot.language.steps.message_parts import (
    ELSE,
    PAYLOAD,
    SENDING,
    VALID,
    check_error_names,
    payload_text,
    rendered_payload,
)
from bot.language.steps.step_facts import (
    GOES_ON,
    AnswerText,
    DefaultTarget,
    Outcome,
    SentPart,
    StepFacts,
    StepFailed,
    Used,
    Wait,
    WaitsFor,
    only_if,
    texts_used,
)
from bot.language.steps.step_kind import (
    Awaited,
    LeaveStep,
    ReadContext,
    Reply,
    StepContext,
    StepKind,
    StepResult,
    WaitForSend,
    WaitHere,
    value_hash,
)
from bot.language.steps.step_options import SOME_HAVE
from bot.language.steps.template_message import TEMPLATE_MESSAGE, SentTemplate, TemplateToSend
from bot.language.steps.transition import (
    CONDITION,
    TEXTS,
    TO_TARGET,
    TRANSITION,
    TRANSITION_KEYS,
    Transition,
    transition_from,
    transition_to,
)


@immutable
class ReplyButton:
    """A quick reply button of the template, and where it leads; it is heard where its condition holds.

    ``key`` is its title in the language of the flow file.
    """

    title: str
    key: str
    words: tuple[str, ...]
    transition: Transition
    condition: Expression | None = None
    payload: Template | None = None

    @property
    def outcome(self) -> str:
        """The outcome's name, for diagrams and traces."""
        return f"[{self.key}]"

    @property
    def hash(self) -> str:
        """A short hash of its title, which a tap carries."""
        return value_hash(self.key, None)

    def heard(self, context: StepContext) -> bool:
        """True if it counts now. Raises `TemplateFailed`."""
        return self.condition is None or bool(self.condition.evaluate(context.scope))


def _read_replies(node: Node, problems: Problems, what: str) -> tuple[ReplyButton, ...]:
    entries = entries_of(node, problems, what, "{Title: step}")
    return tuple(_reply(title, item, problems, f'{what}: "{title.text}"') for title, item in entries)


def _reply(title: Scalar, node: Node, problems: Problems, what: str) -> ReplyButton:
    key = title.origin or title.text
    if not isinstance(node, Map):
        return ReplyButton(title.text, key, title.also, transition_to(node, problems, what))
    fields = _REPLY.open(node, problems, what)
    words = (*_WORDS.read(fields), *title.also)
    return ReplyButton(title.text, key, words, transition_from(fields), CONDITION.read(fields), PAYLOAD.read(fields))


_WORDS = KeySpec("words", TEXTS, "Other words for the title.")
_REPLY = KeySet(_WORDS, CONDITION, PAYLOAD, *TRANSITION_KEYS)
_TEMPLATE = KeySpec("template", TEMPLATE_MESSAGE, "The template that is sent, and what fills it.", required=True)
_REPLIES: KeySpec[tuple[ReplyButton, ...]] = KeySpec(
    "replies",
    map_of(either(TO_TARGET, as_fields(_REPLY)), _read_replies, Part.TITLE, absent=()),
    "The titles of its quick replies, and where they lead.",
)
_OTHER = KeySpec("other", TRANSITION, "Where every other reply leads.")


@immutable
class TemplateStep(StepKind):
    """Sends a template; with `replies` it waits for a tap, which counts for ``valid``, wherever the contact is."""

    notice: TemplateToSend
    replies: tuple[ReplyButton, ...]
    other: Transition | None
    watches: bool  # a refusal leads somewhere: wait for the gateway's word
    valid: timedelta | None
    verb = "template"
    keys = KeySet(_TEMPLATE, _REPLIES, _OTHER, VALID)
    options = SOME_HAVE - {"save", "gather"}

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``template`` and its `replies`."""
        notice, replies = _TEMPLATE.read(fields) or TemplateToSend("", "", fields.mark), _REPLIES.read(fields)
        other = _OTHER.read(fields)
        if other is not None and not replies:
            fields.report("E123", other.mark, '"other" where no reply is waited for', "add the `replies`")
        valid = VALID.read(fields)
        if valid is not None and not replies:
            VALID.report(fields, "E123", '"valid" where there is no reply to tap', "add the `replies`")
        check_error_names(fields, SENDING, "a template has no error", f"write {', '.join(SENDING)}, else")
        return cls(notice, replies, other, reading.errors.keys() & {"refused", ELSE} != set(), valid)

    def facts(self) -> StepFacts:
        """Return the facts. A refusal is a failure only where it leads somewhere."""
        return StepFacts(
            waits_for=self._waits_for(),
            texts_before_words=True,
            stays_valid=self.valid is not None,
            answers=tuple(self._answers()),
            sends=tuple(self._sends()),
            most_messages=1,
            needs_window=False,
            refusable=self.watches,
            outcomes=self._outcomes(),
            uses=tuple(self._uses()),
        )

    def _outcomes(self) -> dict[str, Outcome]:
        """Without `replies`: ``then``. With: each reply and `other`."""
        found = {
            reply.outcome: Outcome(reply.transition, DefaultTarget.THEN, given=only_if(reply.condition))
            for reply in self.replies
        }
        if not self.replies:
            found |= GOES_ON
        elif self.other is not None:
            found["other"] = Outcome(self.other, DefaultTarget.STAY, success=False)
        return found

    def _sends(self) -> Iterator[SentPart]:
        """The template, and what fills it."""
        yield from self.notice.sent_texts()
        yield SentTemplate(self.notice, tuple(reply.title for reply in self.replies))
        yield from (payload_text(reply.payload) for reply in self.replies if reply.payload is not None)

    def _uses(self) -> Iterator[Used]:
        """Every text that fills the template, and the replies' conditions."""
        yield from self.notice.uses()
        yield from texts_used(*(reply.condition for reply in self.replies), *(reply.payload for reply in self.replies))

    def _answers(self) -> Iterator[AnswerText]:
        """The replies' titles and words."""
        for reply in self.replies:
            for text in (reply.title, *reply.words):
                always = reply.condition is None
                yield AnswerText(text, reply.title, reply.outcome, reply.transition.mark, True, always=always)

    def _waits_for(self) -> Wait | None:
        """A reply, or the gateway's word if a refusal leads somewhere."""
        if self.replies:
            return Wait(WaitsFor.CONTACT)
        return Wait(WaitsFor.RESULT, REPLY_TRIED_FOR) if self.watches else None

    def enter(self, context: StepContext) -> StepResult:
        """Send the template; wait for a reply, for the gateway's word, or not at all."""
        payloads = tuple(
            context.reply_id(n, reply.hash, rendered_payload(reply.payload, context.scope))
            for n, reply in enumerate(self.replies)
        )
        sent = (self.notice.message(context.scope, payloads),)
        if self.replies:
            return WaitHere(sent, valid=self.valid)
        return WaitForSend(sent) if self.watches else LeaveStep("then", messages=sent)

    def answer_before_words(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A tap on a button of this template, its title or payload as a text, or a payload that is a reply's word."""
        return next((LeaveStep(button.outcome) for button in self._meant(reply) if button.heard(context)), None)

    def answer(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A title or a word beside words that change nothing; or, if two titles are opposites, another yes or no."""
        if reply.text is None or reply.tap is not None or reply.is_foreign:
            return None
        heard = [button for button in self.replies if button.heard(context)]
        phrases = [(text, place) for place, each in enumerate(heard) for text in (each.title, *each.words)]
        language = context.contact_language
        found = within(reply.text, phrases, language)
        if found is None:
            found = same_side(reply.text, [(button.title, *button.words) for button in heard], language)
        return None if found is None else LeaveStep(heard[found].outcome)

    def hint(self, context: StepContext, reply: Reply) -> str | None:
        """Return the titles of its replies."""
        titles = [button.title for button in self.replies if button.heard(context)]
        return answer_hint(None, titles, context, reply) if titles else None

    def _meant(self, reply: Reply) -> Iterator[ReplyButton]:
        if reply.tap is not None:
            yield from (button for button in self.replies[reply.tap.choice :][:1] if button.hash == reply.tap.hash)
            return
        options = [Option(button.title, button.words) for button in self.replies]
        texts = (reply.payload or "",) if reply.is_foreign else reply.texts
        found = (match(text, options) for text in texts)
        yield from (self.replies[index] for index in found if index is not None)

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The gateway took the template, or refused it."""
        if not isinstance(event, SendEnded):
            return None
        if self.replies:
            return None
        if event.outcome in UNSENT and self.watches:
            raise StepFailed("refused", event.detail)
        return LeaveStep("then")
