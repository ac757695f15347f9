"""The step ``draft``, which sets a conversation aside, and the step at which the contact finds drafts again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any, Self

from bot.core.immutable import immutable
from bot.core.messages import (
    BUTTON_TITLE,
    BUTTONS,
    INTERACTIVE_BODY,
    ROW_TITLE,
    SECTION_TITLE,
    Buttons,
    Choice,
    ListMessage,
    Section,
    clip,
)
from bot.language.answers.readers import read_yes_no
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import ANY_WORDING, DURATION, KeySet, KeySpec
from bot.language.keys.fields import Fields
from bot.language.keys.text_shapes import TEXT
from bot.language.source.languages import wording
from bot.language.source.problems import Mark
from bot.language.source.word_matching import normalise
from bot.language.steps.answer_hints import answer_hint
from bot.language.steps.schedule import in_time
from bot.language.steps.step_facts import GOES_ON, DefaultTarget, Null, Outcome, StepFacts, Used, Wait, WaitsFor
from bot.language.steps.step_kind import (
    ReadContext,
    Redirect,
    Reply,
    SetAside,
    StepContext,
    StepKind,
    StepResult,
    WaitHere,
    value_hash,
)
from bot.language.steps.transition import BACK, END, Target, Transition

DRAFTS, WHICH = "drafts", "which"
"""The flow that asks the contact which draft to continue, and its only step; it is written in no file."""
CONTINUED, ANEW = "continued", "anew"
"""The outcome of a `draft` that the contact continues, and that of the question if the flow begins anew."""
MOST_DRAFTS = 9  # of a contact: with "Start anew" they fill a list
MOST_TITLE = 60  # characters that are kept of a title; a list shows fewer
_DRAFT = KeySpec(
    "draft", ANY_WORDING, "The title under which the conversation is set aside.", required=True, texts=TEXT
)
_KEEP = KeySpec("keep", DURATION, "How long it is kept for the contact to continue it.", required=True)


@immutable
class DraftStep(StepKind):
    """Set the conversation aside; ``then`` follows if the contact has not continued it in time.

    Example: ``later: {draft: "{{ item }}", keep: 14d, then: gone}``.
    """

    mark: Mark
    title: Template
    keep: timedelta
    verb = "draft"
    keys = KeySet(_DRAFT, _KEEP)

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read the title, and how long the draft is kept."""
        title, keep = _DRAFT.read(fields), _KEEP.read(fields)
        return cls(fields.mark, title or Template.plain("", fields.mark), keep or timedelta(days=1))

    def facts(self) -> StepFacts:
        """Return the facts: time passes, or the contact continues the draft, which leads back to its question."""
        back = Transition(self.mark, then=Target(BACK, self.mark))
        return StepFacts(
            waits_for=Wait(WaitsFor.TIME, self.keep),
            sets_aside=True,
            outcomes={**GOES_ON, CONTINUED: Outcome(back, DefaultTarget.WRITTEN, success=False)},
            tapped_later=frozenset({CONTINUED}),
            uses=(Used(self.title, null=Null.TAKEN if self.title.single else Null.SHOWN),),
        )

    def enter(self, context: StepContext) -> StepResult:
        """Set the conversation aside."""
        untitled = self.title.single and self.title.value(context.scope) is None
        title = "" if untitled else clip(" ".join(context.text(self.title).split()), MOST_TITLE)
        return SetAside(title=title, until=in_time(context.now, self.keep), lasts=self.keep)


@immutable
class WhichDraftStep(StepKind):
    """The question which draft of a flow is to be continued, or whether the flow begins anew.

    A message that is no answer is taken like any other: the drafts stay.
    """

    mark: Mark
    verb = "drafts"

    def facts(self) -> StepFacts:
        """Return the facts: it asks the contact, and what follows depends on the answer."""
        end = Outcome(Transition(self.mark, then=Target(END, self.mark)), DefaultTarget.WRITTEN)
        return StepFacts(
            waits_for=Wait(WaitsFor.CONTACT),
            takes_pending_input=True,
            most_messages=1,
            outcomes=dict.fromkeys((CONTINUED, ANEW, "other"), end),
        )

    def offer(self, context: StepContext, flow: str, drafts: Sequence[tuple[int, str]], *, again: bool) -> WaitHere:
        """Ask which of a flow's ``drafts`` to continue: each is a visit and a title.

        ``again``: a reply to this question has led to it again.
        """
        state = {"flow": flow, "drafts": [list(draft) for draft in drafts]}
        titles = [choice.title for _, choice in self._choices(context, state)]
        above = answer_hint(None, titles, context, Reply()) if again else None
        return self._ask(context, state, above)

    def enter(self, context: StepContext) -> StepResult:
        """Ask again."""
        return self._ask(context, context.step_state)

    def answer_before_words(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A tap on one of the drafts, or on "Start anew"."""
        tapped = (visit for visit, choice in self._choices(context, context.step_state) if str(reply.tap) == choice.id)
        return _chosen(next(tapped, None))

    def answer(self, context: StepContext, reply: Reply) -> StepResult:
        """A title; yes or no where there is one draft. Anything else is a message like any other."""
        said = None if reply.text is None or reply.is_foreign else reply.text
        if said is None:
            return Redirect("other", reply, anew=True)
        choices = list(self._choices(context, context.step_state))
        named = (visit for visit, choice in choices if normalise(choice.title) == normalise(said))
        found = next(named, None)
        if found is None and len(choices) == 2:
            agreed = read_yes_no(said, context.contact_language)
            found = None if agreed is None else choices[0][0] if agreed.value else 0
        return _chosen(found) or Redirect("other", reply, anew=True)

    def _ask(self, context: StepContext, state: Mapping[str, Any], above: str | None = None) -> WaitHere:
        question = wording(context.scope, "go_on", flow=state["flow"].replace("_", " "))
        body = clip(f"{above}\n\n{question}" if above else question, INTERACTIVE_BODY)
        choices = tuple(choice for _, choice in self._choices(context, state))
        if len(choices) <= BUTTONS:
            return WaitHere((Buttons(body, choices),), state)
        label = wording(context.scope, "choose")
        return WaitHere((ListMessage(body, label, (Section(clip(label, SECTION_TITLE), choices),)),), state)

    def _choices(self, context: StepContext, state: Mapping[str, Any]) -> Iterator[tuple[int, Choice]]:
        anew = wording(context.scope, "start_anew")
        most = BUTTON_TITLE if len(state["drafts"]) < BUTTONS else ROW_TITLE
        titles = _different((title for _, title in state["drafts"]), most, {normalise(clip(anew, most))})
        shown = zip((*(visit for visit, _ in state["drafts"]), 0), (*titles, clip(anew, most)), strict=True)
        for number, (visit, title) in enumerate(shown):
            yield visit, Choice(context.reply_id(number, value_hash(str(visit), None)), title)


def _different(titles: Iterable[str], most: int, taken: set[str]) -> Iterator[str]:
    """The titles, each with at most so many characters; a number tells two that are the same from each other."""
    for title in titles:
        numbered = (f"{clip(title, most - 4)} ({number})" for number in range(2, MOST_DRAFTS + 2))
        shown = next(each for each in chain([clip(title, most)], numbered) if normalise(each) not in taken)
        taken.add(normalise(shown))
        yield shown


def _chosen(visit: int | None) -> StepResult | None:
    return None if visit is None else Redirect(CONTINUED if visit else ANEW, None, draft=visit)
