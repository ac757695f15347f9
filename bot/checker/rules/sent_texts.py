"""All texts that a bot sends, in every language, each with the values with which it can be tried out."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from bot.core import messages as limits
from bot.core.immutable import immutable
from bot.language.flow.definition import Flow, Step
from bot.language.flow.library import Library
from bot.language.source.languages import TITLES
from bot.language.steps.step_facts import SentText
from bot.language.steps.transition import Transition, Words
from bot.language.types.sample_scopes import SampleScopes
from bot.language.types.variable import Variable


@immutable
class TextScope:
    """The variables that a text can use (those of a flow, or none), in one language.

    ``spoken`` names the language in a finding.
    """

    variables: Mapping[str, Variable]
    language: str | None
    spoken: str

    @cached_property
    def sample_scopes(self) -> SampleScopes:
        """Values with which the text can be tried out."""
        return SampleScopes(self.variables, self.language)


@immutable
class SentMessage:
    """Texts that are sent together, or one alone. ``where`` names their place."""

    seen: TextScope
    where: str
    texts: tuple[SentText, ...]


@immutable
class AskedStep:
    """A step of a flow in one language."""

    seen: TextScope
    flow: Flow
    step: Step


def languages(library: Library) -> Iterator[tuple[Library, str | None, str]]:
    """The bot in each of its languages, that of the flows first, each with its name in a finding."""
    own = library.bot.languages[0] if library.bot.languages else None
    yield library, own, ""
    for language, spoken in library.translations.items():
        yield spoken, language, f"in {language}: "


def steps(library: Library) -> Iterator[AskedStep]:
    """Every step in every language."""
    for spoken, language, said in languages(library):
        for flow in spoken.flows.values():
            seen = TextScope(flow.variables, language, said)
            yield from (AskedStep(seen, flow, step) for step in flow.steps.values())


def messages(library: Library) -> Iterator[SentMessage]:
    """All texts that are sent, in every language.

    A text that is inherited comes once for each step that inherits it.
    """
    for spoken, language, said in languages(library):
        nothing = TextScope({}, language, said)
        for name, text in spoken.bot.wordings.items():
            most = limits.BUTTON_TITLE if name in TITLES else limits.INTERACTIVE_BODY
            yield SentMessage(nothing, "bot", (SentText(name, text, most, needed=True),))
        if spoken.bot.opt_out.say is not None:
            yield SentMessage(nothing, "bot", (SentText("opt_out: say", spoken.bot.opt_out.say, limits.TEXT_BODY),))
        yield from _of_words(nothing, "bot", spoken.bot.words, limits.TEXT_BODY)
    for asked in steps(library):
        if asked.step.name == asked.flow.first:
            yield from _of_flow(asked.seen, asked.flow)
        yield from _of_step(asked.seen, asked.step)


def _of_flow(seen: TextScope, flow: Flow) -> Iterator[SentMessage]:
    where = f"flow {flow.name}"
    for variable in flow.variables.values():
        for text in (variable.error, *(check.error for check in variable.checks)):
            if text is not None:
                yield SentMessage(seen, f'variable "{variable.name}"', (SentText("error", text, limits.TEXT_BODY),))
    yield from _of_words(seen, where, flow.words, limits.TEXT_BODY)


def _of_step(seen: TextScope, step: Step) -> Iterator[SentMessage]:
    where = f'step "{step.name}"'
    texts = tuple(step.facts.texts)
    asked = next((text.most for text in texts if text.question), None) or limits.TEXT_BODY
    if texts:
        yield SentMessage(seen, where, texts)
    for resolved in step.transitions.values():
        if resolved.written is not None:
            yield from _of_transition(seen, f"{where}: {resolved.outcome}", resolved.written, asked)
    yield from _of_words(seen, where, step.options.words, asked)
    notice = step.defaults.window_closed
    if notice is not None and step.facts.needs_window and step.facts.most_messages:
        yield SentMessage(seen, "window_closed", tuple(notice.sent_texts()))


def _of_words(seen: TextScope, where: str, words: Words, asked: int) -> Iterator[SentMessage]:
    for word in words.values():
        yield from _of_transition(seen, f'{where}: word "{word.text}"', word.transition, asked)


def _of_transition(seen: TextScope, where: str, transition: Transition, asked: int) -> Iterator[SentMessage]:
    if transition.say is not None:
        yield SentMessage(seen, where, (SentText("say", transition.say, limits.TEXT_BODY, needed=True),))
    if transition.ask is not None:
        yield SentMessage(seen, where, (SentText("ask", transition.ask, asked, needed=True),))
