"""The choices of a question: fixed in the flow file, or made at run time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import Any

from bot.core import messages as limits
from bot.core.immutable import immutable
from bot.core.messages import clip
from bot.language.expressions.formats import shown
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.expressions.templates import Expression, Template
from bot.language.source.problems import Mark
from bot.language.source.word_matching import EXACT, LONGEST, WHOLE, Option
from bot.language.source.yaml_tree import Scalar
from bot.language.steps.control_steps import ELEMENT, within
from bot.language.steps.message_parts import rendered_payload
from bot.language.steps.step_facts import (
    AnswerText,
    ChoiceFacts,
    DefaultTarget,
    Null,
    Outcome,
    Saved,
    SavedResult,
    StepFailed,
    Used,
    only_if,
    texts_used,
)
from bot.language.steps.step_kind import StepContext, value_hash
from bot.language.steps.transition import Transition, evaluate, templates_in

MARK = "✓ "  # before the title of what is chosen


@immutable
class Many:
    """A question may have from ``least`` to ``most`` answers. ``done`` is the title of the button that ends it."""

    least: int = 1
    most: int | None = None
    done: Template | None = None

    def allows(self, count: int) -> bool:
        """True if this number of answers is within the bounds."""
        return self.least <= count and (self.most is None or count <= self.most)


@immutable
class MadeChoices:
    """Choices made at run time, one for each element of a list, which is ``it`` in their texts, at its place ``loop``.

    Each of the ``words`` is a text or a list of texts.
    """

    source: Expression
    title: Template
    value: Template | None
    about: Template | None
    condition: Expression | None = None
    words: tuple[Template, ...] = ()

    def make(self, scope: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Render the elements' titles and values, one by one: a service's list may be much longer than what is shown.

        Raises `StepFailed` where the source is no list.
        """
        source = self.source.evaluate(scope)
        if source is None:
            source = []
        if not isinstance(source, list | tuple):
            raise StepFailed("mismatch", f"{self.source.source} is no list to choose from")
        for place, element in enumerate(source):
            inner = within(scope, source, place)
            if self.condition is not None and not self.condition.evaluate(inner):
                continue
            yield {
                "title": self.title.render(inner),
                "value": element if self.value is None else self.value.value(inner),
                "about": None if self.about is None else self.about.render(inner),
                "words": self._words_of(inner),
            }

    def _words_of(self, scope: Mapping[str, Any]) -> list[str]:
        values = (words.value(scope) for words in self.words)
        words = (word for value in values for word in (value if isinstance(value, list | tuple) else (value,)))
        return [shown(word) for word in words if word is not None]

    @property
    def saves(self) -> SavedResult | Saved:
        """The value that `save` gets when one of them is chosen."""
        return SavedResult.VALUE if self.value is None else Saved(self.value, self.value.mark)

    def uses(self, null: Null) -> Iterator[Used]:
        """The list, and the templates of its elements. ``null`` is what happens where there is no list."""
        yield Used(self.source, null=null)
        given = only_if(self.condition)
        yield from texts_used(self.condition, extra=ELEMENT, sure=False)
        yield from texts_used(self.title, self.about, extra=ELEMENT, given=given, sure=False)
        yield from texts_used(self.value, *self.words, extra=ELEMENT, null=Null.TAKEN, given=given, sure=False)


PICKED = "picked"  # the outcome of a choice that was made at run time
MOST = limits.SECTIONS * limits.ROWS_PER_SECTION


@immutable
class StartingWords:
    """The phrases that start a flow from within a sentence, if it has no word of ``unless`` (normalised).

    ``answers`` are those that the flow's first question takes: they start nothing in a sentence that asks something.
    """

    words: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


@immutable
class FixedChoice:
    """A choice that stands in the flow file. ``saves`` is False where choosing it saves nothing.

    ``written`` is the title in the language of the flow file, ``value`` a template where it is a text. It is shown
    where ``condition`` holds, and on every page where it is ``pinned``. ``hears`` has the texts that choose it within
    a sentence, where it leads to a flow: its own, and the words that start that flow.
    """

    title: Template
    mark: Mark
    written: Template
    transition: Transition | None = None
    value: Any = None
    altered: Scalar | None = None  # the value as it is written, where YAML reads another number
    saves: bool = False
    about: Template | None = None
    words: tuple[str, ...] = ()
    section: str = ""
    condition: Expression | None = None
    pinned: bool = False
    payload: Template | None = None
    hears: StartingWords = StartingWords()

    @property
    def key(self) -> str:
        """Its name among the question's choices, the same in every language."""
        return self.written.source

    @property
    def outcome(self) -> str:
        """The outcome's name, for diagrams and traces."""
        return f"[{self.key}]"

    @property
    def leads(self) -> bool:
        """True if it has a target of its own: among several answers, choosing it ends the question."""
        return not self.saves or (self.transition is not None and self.transition.then is not None)

    def outcome_of(self, several: bool) -> Outcome:
        """The outcome of choosing it, alone or where there may be ``several`` answers."""
        saved = SavedResult.VALUE if several else Saved(self.value, self.mark)
        saves = saved if self.saves else SavedResult.NOTHING
        return Outcome(self.transition, DefaultTarget.THEN, given=only_if(self.condition), saves=saves)

    @property
    def constant(self) -> bool:
        """True if it is always shown, and always the same."""
        beside = (text for text in (self.about, self.payload) if text is not None)
        texts = (self.title, self.written, *beside, *templates_in(self.value))
        return self.condition is None and all(text.constant for text in texts)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that a contact can write to choose it, as far as they are no templates."""
        return (self.title.source, *self.words) if self.title.constant else self.words

    def hearing(self, starts: Mapping[str, StartingWords], always: bool) -> "FixedChoice":
        """The same choice; if it leads to a flow, or ``always``, it hears its own texts and what starts that flow."""
        then = None if self.transition is None else self.transition.then
        start = starts.get(then.text if then is not None else "", StartingWords() if always else None)
        return self if start is None else replace(self, hears=replace(start, words=(*self.texts, *start.words)))

    def uses(self) -> Iterator[Used]:
        """Its templates and its condition."""
        given = only_if(self.condition)
        yield from texts_used(self.condition)
        yield from texts_used(self.title, self.about, self.payload, given=given)
        yield from texts_used(*templates_in(self.value), null=Null.TAKEN, given=given)


@immutable
class ShownChoice:
    """One choice as the contact sees it. ``index`` is its own in whatever page, language or form it is shown.

    ``name`` is its title in the language of the flow file, and whole. ``leads`` is True where it is the whole answer.
    """

    index: int
    title: str
    name: str
    outcome: str
    value: Any
    saves: bool = True
    about: str | None = None
    words: tuple[str, ...] = ()
    section: str = ""
    pinned: bool = False
    leads: bool = False
    payload: str | None = None
    hears: StartingWords = StartingWords()
    corrects: bool = False  # choosing it asks an earlier question again

    @property
    def hash(self) -> str:
        """A short hash of its title and value."""
        return value_hash(self.name, self.value)

    @property
    def option(self) -> Option:
        """The texts by which a contact can name it in writing."""
        return Option(self.title, (*self.words, self.name))


@immutable
class Choices:
    """All that a question offers. ``form`` is options, buttons or list: the key that it is written under.

    ``how`` says how an answer in writing is matched (`bot.language.source.word_matching`); ``numbered``: shown as a
    text with numbers; ``counted``: a number means the choice of that place, also where no numbers are shown;
    ``placed``: "the second one" means a choice, because nothing else is an answer.
    """

    form: str
    mark: Mark
    fixed: tuple[FixedChoice, ...] = ()
    made: MadeChoices | None = None
    opener: Template | None = None
    how: str = WHOLE
    many: Many | None = None
    numbered: bool = False
    counted: bool = True
    placed: bool = True
    # what is shown, where that is always the same
    _constant: tuple[ShownChoice, ...] | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        constant = self.made is None and self.fixed and all(choice.constant for choice in self.fixed)
        object.__setattr__(self, "_constant", self._shown({}, {}) if constant else None)

    @property
    def fails(self) -> bool:
        """True if it may fail: the list may be missing, or nothing may be left to choose from."""
        return self.made is not None or all(choice.condition is not None for choice in self.fixed)

    def outcomes(self) -> dict[str, Outcome]:
        """Each choice's outcome; by default the step's `then`. Choices of which several are picked have no outcome."""
        several = self.many is not None
        found = {choice.outcome: choice.outcome_of(several) for choice in self.fixed if choice.leads or not several}
        if self.made is not None and not several:
            found[PICKED] = Outcome(None, DefaultTarget.THEN, saves=self.made.saves)
        return found

    def answers(self) -> Iterator[AnswerText]:
        """The titles and words of the fixed ones."""
        for choice in self.fixed:
            yield from (
                AnswerText(text, choice.title.source, choice.outcome, choice.mark, exact=self.how == EXACT)
                for text in choice.texts
            )

    @property
    def offered(self) -> ChoiceFacts:
        """The facts of these choices: how many there are, as far as that is known."""
        fixed = tuple(choice.condition for choice in self.fixed)
        source, title = (None, None) if self.made is None else (self.made.source, self.made.title)
        least = 1 if self.many is None else self.many.least
        return ChoiceFacts(self.mark, fixed, source, title, MOST - len(self.fixed), least, self.numbered)

    def saved_values(self) -> Iterator[Saved]:
        """The values that the fixed choices save; none where several can be chosen, since that is a list."""
        if self.many is None:
            yield from (Saved(each.value, each.mark, each.altered) for each in self.fixed if each.saves)

    def uses(self) -> Iterator[Used]:
        """Every template and expression of the choices."""
        yield from texts_used(self.opener, None if self.many is None else self.many.done)
        for choice in self.fixed:
            yield from choice.uses()
        if self.made is not None:
            yield from self.made.uses(Null.TAKEN if self.fixed else Null.REFUSED)

    def step_state(self, context: StepContext) -> dict[str, Any]:
        """The step state that an answer is matched with later: choices made from a list, and hidden ones."""
        if self._constant is not None:
            return {}
        step_state: dict[str, Any] = {}
        if self.made is not None:
            step_state["made"] = list(islice(self.made.make(context.scope), MOST - len(self.fixed)))
        if any(choice.condition is not None for choice in self.fixed):
            step_state["hidden"] = [
                n for n, choice in enumerate(self.fixed) if not _holds(choice.condition, context.scope)
            ]
        return step_state

    def offers(self, step_state: Mapping[str, Any]) -> bool:
        """True if there is anything to choose from."""
        return bool(step_state.get("made")) or len(step_state.get("hidden", ())) < len(self.fixed)

    def hides(self, context: StepContext, step_state: Mapping[str, Any], value: Any) -> bool:
        """True if a value belongs to a choice that is hidden."""
        hidden = (self.fixed[n] for n in step_state.get("hidden", ()))
        return any(choice.saves and evaluate(choice.value, context.scope) == value for choice in hidden)

    def shown(self, context: StepContext, step_state: Mapping[str, Any]) -> tuple[ShownChoice, ...]:
        """The choices that are shown, in order: made ones first, titles made unique. Raises `StepFailed` for none."""
        return self._shown(context.scope, step_state) if self._constant is None else self._constant

    def _shown(self, scope: Mapping[str, Any], step_state: Mapping[str, Any]) -> tuple[ShownChoice, ...]:
        made, hidden = step_state.get("made", ()), step_state.get("hidden", ())
        shown = [_made(n, item) for n, item in enumerate(made)]
        shown += [_shown(len(made) + n, choice, scope) for n, choice in enumerate(self.fixed) if n not in hidden]
        if not shown:
            raise StepFailed("failed", "there is nothing to choose from")
        return _unique(shown, self.title_limit(as_buttons=self.as_buttons(shown)))

    def title_of(self, value: Any, scope: Mapping[str, Any], saved_as: Callable[[Any], Any]) -> str | None:
        """The title of the choice that is ``saved_as`` this value; None without it, or if it cannot be evaluated."""
        try:
            for choice in self.fixed:
                if choice.saves and saved_as(evaluate(choice.value, scope)) == value:
                    return choice.title.render(scope)
            made = () if self.made is None else islice(self.made.make(scope), MOST)
            return next((str(each["title"]) for each in made if saved_as(each["value"]) == value), None)
        except (StepFailed, TemplateFailed):
            return None

    def as_buttons(self, shown: Sequence[ShownChoice]) -> bool:
        """True if the choices are shown as buttons: `options` where they fit, `buttons` while they are three."""
        if self.form == "list" or self.numbered or len(shown) + (self.many is not None) > limits.BUTTONS:
            return False
        if self.form == "buttons":
            return True
        longest = self.title_limit(as_buttons=True)
        return all(len(choice.title) <= longest and choice.about is None for choice in shown)

    def title_limit(self, *, as_buttons: bool) -> int:
        """The most characters of a title. Where several can be chosen, the mark of a chosen one needs room."""
        if self.numbered:
            return LONGEST
        return (limits.BUTTON_TITLE if as_buttons else limits.ROW_TITLE) - (0 if self.many is None else len(MARK))


def _holds(condition: Expression | None, scope: Mapping[str, Any]) -> bool:
    return condition is None or bool(condition.evaluate(scope))


def _made(index: int, item: Mapping[str, Any]) -> ShownChoice:
    title, words = item["title"], tuple(item.get("words", ()))
    return ShownChoice(index, title, title, PICKED, item["value"], about=item["about"], words=words)


def _shown(index: int, choice: FixedChoice, scope: Mapping[str, Any]) -> ShownChoice:
    title = choice.title.render(scope)
    return ShownChoice(
        index,
        title,
        title if choice.written is choice.title else choice.written.render(scope),
        choice.outcome,
        evaluate(choice.value, scope),
        choice.saves,
        None if choice.about is None else choice.about.render(scope),
        choice.words,
        choice.section,
        choice.pinned,
        choice.leads,
        rendered_payload(choice.payload, scope),
        choice.hears,
        choice.transition is not None and choice.transition.corrects,
    )


def _unique(shown: Iterable[ShownChoice], limit: int) -> tuple[ShownChoice, ...]:
    seen: set[str] = set()
    unique = []
    for choice in shown:
        title, number = clip(choice.title.strip() or "-", limit), 1
        while title in seen:
            number += 1
            mark = f" ({number})"
            title = clip(choice.title, limit - len(mark)) + mark
        seen.add(title)
        unique.append(choice if choice.title == title else replace(choice, title=title))
    return tuple(unique)
