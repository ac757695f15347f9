"""An index of what starts flows: it finds the flow that a text or an event starts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Self

from bot.core.events import (
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    StatusReported,
    Tapped,
)
from bot.core.immutable import immutable
from bot.language.answers.closings import clauses_of, kind_words
from bot.language.answers.denials import denies, is_negated
from bot.language.answers.sentences import is_told
from bot.language.answers.titles import has_word, is_known
from bot.language.answers.topics import COMPLAINT, CRISIS, EXISTING, PERSON, QUESTION, TOPICS, is_question, topics_in
from bot.language.answers.wishes import (
    ASKED_FOR,
    Meanings,
    asks_to_do,
    meanings_of,
    phrases_in,
    says,
    wished,
    wishes_in,
)
from bot.language.answers.words import Kind
from bot.language.flow.definition import Trigger
from bot.language.keys.patterns import PayloadPattern
from bot.language.source.text_patterns import named_parts
from bot.language.source.word_matching import (
    ANYWHERE,
    CLOSE,
    FEWEST_LETTERS,
    contains,
    match_wider,
    normalise,
    slipped,
    slips_of,
)
from bot.language.steps.small_talk_texts import THANKS, asks_hours, topic_of


def name_of_event(event: Event) -> str:
    """The gateway's name of an event; empty for what is not the gateway's."""
    match event:
        case MessageReceived():
            return "message.inbound"
        case Tapped():
            return "message.interactive_reply"
        case StatusReported(status=status):
            return f"message.{status}"
        case ContactChanged(event=name):
            return name
        case ConversationOpened():
            return "conversation.opened"
        case ConversationAssigned(answered=False):
            return "conversation.assigned"
        case HandoffClosed():
            return "conversation.resolved"
    return ""


@immutable
class TriggerMatch:
    """A flow that a text starts, and what the text gives to its variables, as it was written.

    ``whole``: all of the text was read by that: it is a word, or fits a pattern with groups. ``by``: by what it starts,
    for the trace; its ``topic``.
    """

    flow: str
    given: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    by: str = ""
    topic: str = ""


ChoiceTexts = Sequence[tuple[str, str]]
"""Titles and words of choices, each with its flow: of the menu, the flow that the choice begins, empty if none."""


_SHORT = 3  # letters of a word that is heard with no other ending


@immutable
class TriggerIndex:
    """The flows that one sort of contact can start: by normalised word, by pattern, by wider match, event or signal."""

    words: Mapping[str, str]
    patterns: tuple[tuple[Any, str], ...]
    wider: Mapping[str, tuple[tuple[str, str], ...]]  # normalised phrases, each with its flow, by how they are matched
    events: Mapping[str, str]
    signals: Mapping[str, str]
    otherwise: str | None  # the flow for every other message
    unless: Mapping[str, tuple[str, ...]]  # normalised words, by the flow that no longer text with them starts
    topics: Mapping[str, str] = field(default_factory=dict)  # the flow of each topic
    payloads: tuple[tuple[PayloadPattern, str], ...] = ()
    wishes: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the flows that each wish may mean
    stemmed: Meanings = field(default_factory=dict)  # the flows of words `anywhere`, by the stems of these
    names: ChoiceTexts = ()  # texts that name flows: words that start them, and the menu's choices; normalised

    @classmethod
    def of(
        cls,
        flows: Mapping[str, Trigger],
        contact: str,
        language: str | None = None,
        choices: ChoiceTexts = (),
        slots: ChoiceTexts = (),
    ) -> Self:
        """Index triggers, by their flows. A flow has the wishes of the words that start it, of the menu's ``choices``
        that begin it, and of the choices of its ``slots``.

        Those for such contacts alone come first; else the order of the flows decides.
        """
        triggers = [(name, trigger) for name, trigger in flows.items() if contact in trigger.contacts]
        triggers.sort(key=lambda found: found[1].contact is None)
        phrases = [(normalise(word), name, trigger.how) for name, trigger in triggers for word, _ in trigger.words]
        otherwise = next((name for name, trigger in triggers if trigger.otherwise), None)
        others = {name for name, trigger in triggers if trigger.otherwise} - {otherwise}  # a welcome comes before them
        names = [*(phrase[:2] for phrase in phrases), *choices]
        return cls(
            _first_of((word, name) for word, name, _ in phrases),
            tuple((trigger.pattern, name) for name, trigger in triggers if trigger.pattern is not None),
            {
                how: found
                for how in (ANYWHERE, CLOSE)
                if (found := tuple(each[:2] for each in phrases if each[2] == how))
            },
            _first_of((event, name) for name, trigger in triggers for event in trigger.events),
            _first_of((signal, name) for name, trigger in triggers for signal in trigger.signals),
            otherwise,
            {name: tuple(map(normalise, trigger.unless)) for name, trigger in triggers if trigger.unless},
            _first_of((topic, name) for name, trigger in triggers for topic in trigger.topics),
            tuple((trigger.payload, name) for name, trigger in triggers if trigger.payload is not None),
            _by_wish((each for each in (*names, *slots) if each[1] not in ("", *others)), language),
            meanings_of(
                ((word, name) for word, name, how in phrases if how == ANYWHERE and len(word) > _SHORT), language
            ),
            tuple((normalise(text), flow) for text, flow in names if flow not in others and topic_of(text) is None),
        )

    def by_wish(self, text: str, language: str | None) -> TriggerMatch | None:
        """The only flow for a text's first wish, else for an inflected word, else for two words with slips.

        The flow for questions gets questions.
        """
        asks = QUESTION in self.topics and is_question(text) and not asks_to_do(text, language)
        for wish, phrase in wished(text, language).items() if self.wishes else ():
            if wish in self.wishes and (wish in ASKED_FOR or not asks):
                return self._only(self.wishes[wish], text, f'wish to {wish}, "{phrase}"', phrase)
        if asks or {CRISIS, COMPLAINT, EXISTING} & topics_in(text).keys():
            return None
        found = {flow: word for flow, word in phrases_in(text, self.stemmed, language) if says(text, word, language)}
        found = found or self._nearly_named(text, language)
        word = next(iter(found.values()), "")
        return self._only(frozenset(found), text, f'word "{word}"', word)

    def _nearly_named(self, text: str, language: str | None) -> dict[str, str]:
        """The flows of which a text has two words with slips, each with one: order for "i wnat to ordr a caek"."""
        said = [word for word in normalise(text).split() if len(word) >= FEWEST_LETTERS]
        strange = [word for word in said if not has_word(word, tuple(Kind), language) and says(text, word, language)]
        found: dict[str, str] = {}
        for flow in dict.fromkeys(flow for _, flow in self.names) if len(strange) > 1 else ():
            words = list(dict.fromkeys(word for name, other in self.names if other == flow for word in name.split()))
            near = {other: word for word in strange if word not in words for other in slips_of(word, words)}
            near = {other: word for other, word in near.items() if not _has_other_letter(word, other)}
            if len({*near.values()}) > 1:
                found[flow] = next(iter(near.values()))
        return {} if "" in found else found

    def _only(self, flows: frozenset[str], text: str, by: str, phrase: str) -> TriggerMatch | None:
        """The start of the only flow, if the text does not forbid it, nor names another, nor asks for hours."""
        if len(flows) != 1 or asks_hours(text, phrase):
            return None
        (flow,), said = flows, normalise(text)
        if self._forbids(flow, text) or any(each != flow and contains(said, name) for name, each in self.names):
            return None
        return TriggerMatch(flow, by=by)

    def by_texts(self, texts: Iterable[str], language: str | None) -> TriggerMatch | None:
        """The flow that these texts start: the first text that starts any flow decides.

        A phrase within a text starts nothing if the text denies it, in the ``language`` or in English.
        """
        for text in texts:
            found = self._by_text(text, language)
            if found is not None:
                return found
        return None

    def _by_text(self, text: str, language: str | None) -> TriggerMatch | None:
        """The flow by a whole word, a pattern, an early topic, a word within, a close word, a call for a person."""
        whole = self.words.get(normalise(text))
        if whole is not None:
            return TriggerMatch(whole, whole=True)
        for pattern, flow in self.patterns:
            given = named_parts(pattern, text.strip())
            if given is not None:
                return TriggerMatch(flow, given, whole=bool(given))
        topics = topics_in(text) if self.topics.keys() - {QUESTION} else {}
        phrase, by_words = self._by_wider(text, language)
        for topic, flow in self._by_topics(topics, text, language):
            said = topics[topic]
            if by_words is None or not (topic == PERSON or topic in topics_in(phrase)):
                return TriggerMatch(flow, by=f'topic {topic}, "{said}"', topic=topic)
        return by_words

    def _by_topics(self, topics: Mapping[str, str], text: str, language: str | None) -> Iterator[tuple[str, str]]:
        """The topics of a text that start a flow. A call for help, or for a person, is heard in any sentence."""
        for topic in (topic for topic in TOPICS if topic in topics and topic in self.topics):
            if self._forbids(self.topics[topic], text):
                continue
            if topic in (CRISIS, PERSON) or not is_negated(text, topics[topic], language):
                yield topic, self.topics[topic]

    def _by_wider(self, text: str, language: str | None) -> tuple[str, TriggerMatch | None]:
        """The word by which a text starts a flow in a wider way, and the flow. Thanks start none: "thanks, what a
        wonderful cake".
        """
        if topic_of(text, language) == THANKS or (CRISIS not in self.topics and kind_words(text, language) == THANKS):
            return "", None
        for how, phrases in self.wider.items():
            if self.unless:
                phrases = tuple(each for each in phrases if not self._forbids(each[1], text))
            known = [phrase for phrase, _ in phrases]
            found = match_wider(text, known, how)
            said = "" if found is None else known[found]
            near = slipped(_strange_words(text, language), known) if found is None and how == ANYWHERE else None
            if near is not None and not denies(text, language):
                found, said = near
            if found is None or is_negated(text, said, language) or is_told(text, said, language):
                continue
            if asks_hours(text, said) or _denies_beside(text, said, phrases, language):
                continue
            return known[found], TriggerMatch(phrases[found][1])
        return "", None

    def _forbids(self, flow: str, text: str) -> bool:
        """True if a text has a word with which it starts the flow no longer."""
        return any(contains(normalise(text), word) for word in self.unless.get(flow, ()))

    def by_event(self, event: Event) -> str | None:
        """The flow that such an event starts."""
        return self.events.get(name_of_event(event)) if self.events else None


Triggers = Mapping[str, TriggerIndex]
"""The triggers for each of `CONTACTS`: contacts who have never been in a flow, and the others."""


def _denies_beside(text: str, said: str, phrases: Sequence[tuple[str, str]], language: str | None) -> bool:
    """True if a clause denies another word by which the same flow starts: "I don't drink coffee"."""
    flows = {flow for phrase, flow in phrases if phrase == said}
    clauses = [clause for clause in clauses_of(text) if contains(clause, normalise(said))]
    others = [phrase for phrase, flow in phrases if flow in flows]
    return any(contains(clause, each) and is_negated(clause, each, language) for clause in clauses for each in others)


def _strange_words(text: str, language: str | None) -> str:
    """The words of a text that may be slips of others: "guess" is right as it is written, and no "guests"."""
    return " ".join(word for word in normalise(text).split() if not is_known(word, language))


def _has_other_letter(word: str, other: str) -> bool:
    """True if a slip of a word has another letter in its place, which may make another word: case for cake."""
    return len(word) == len(other) and sorted(word) != sorted(other)


def _by_wish(phrases: Iterable[tuple[str, str]], language: str | None) -> dict[str, frozenset[str]]:
    """The flows of each wish: the first wish of a phrase counts."""
    found: dict[str, frozenset[str]] = {}
    for phrase, flow in phrases:
        for wish in list(wishes_in(phrase, language))[:1]:
            found[wish] = found.get(wish, frozenset()) | {flow}
    return found


def _first_of(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The first name for each key."""
    firsts: dict[str, str] = {}
    for key, name in found:
        firsts.setdefault(key, name)
    return firsts
