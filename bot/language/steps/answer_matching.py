"""A question's choices as a contact sees them, and answer matching: which of them a reply means."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from itertools import islice
from typing import Any

from bot.core import messages as limits
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import Buttons, Choice, ListMessage, Message, Section, TextMessage, clip
from bot.language.answers.closings import praises
from bot.language.answers.denials import affirmed
from bot.language.answers.readers import denies_own_question, read_yes_no, same_side, says_both
from bot.language.answers.sentences import Reach, is_meant, is_supposed, place_of, places_of, words_in
from bot.language.answers.titles import (
    all_within,
    extreme_in,
    faulty,
    has_word,
    is_name,
    is_phrase,
    is_yes_or_no,
    left_out_of_all,
    name_in,
    names_last,
    number_in,
    place_in,
    refuses_all,
    says_nothing_of_all,
    telling_words,
    with_number,
    with_time,
    within,
)
from bot.language.answers.topics import COMPLAINT, PERSON, only_asks, topics_in
from bot.language.answers.words import Kind
from bot.language.source.languages import wording
from bot.language.source.word_matching import (
    ANYWHERE,
    CLOSE,
    EXACT,
    FEWEST_AMONG_OTHERS,
    LONGEST,
    WHOLE,
    Option,
    by_number,
    closest,
    contains,
    match,
    normalise,
    singular,
    slips_of,
)
from bot.language.steps.choices import MARK, MOST, Choices, Many, ShownChoice
from bot.language.steps.small_talk_texts import asks_hours
from bot.language.steps.step_kind import LeaveStep, Reply, ReplyId, StepContext, WaitHere, value_hash

DONE, PAGE = MOST, MOST + 1  # reply ids above those of the choices: the end of many answers, then each page


class ShownChoices:
    """The shown choices of a question, by its state: the page, and the hashes of picked choices."""

    def __init__(self, choices: Choices, context: StepContext, step_state: Mapping[str, Any]) -> None:
        self.choices, self.context, self.step_state = choices, context, step_state
        self.shown = choices.shown(context, step_state)
        self.picked = self._known(step_state["picked"]) if step_state.get("picked") else []

    @property
    def language(self) -> str | None:
        """The language of the contact's answers."""
        return self.context.contact_language

    def _known(self, picked: Sequence[str]) -> list[str]:
        """The picked choices that still exist after an edit or a change of the list."""
        known = {choice.hash for choice in self.shown}
        return [each for each in picked if each in known]

    def messages(self, body: str, header: str | None, footer: str | None) -> tuple[Message, ...]:
        """The messages that put the question."""
        if self.choices.numbered:
            above, below = [] if header is None else [header, ""], [] if footer is None else ["", footer]
            return tuple(map(TextMessage, _parts([*above, body, "", *self._lines(), *below])))
        if self.choices.as_buttons(self.shown):
            buttons = tuple(
                [
                    Choice(self.context.reply_id(choice.index, choice.hash, choice.payload), self._marked(choice))
                    for choice in self.shown
                ]
            )
            return (Buttons(body, buttons + self._end(), header),)
        pages, page = self._paged
        rows = [*map(self._row, pages[page]), *(("", move) for move in self.moves())]
        opener = self.choices.opener
        label = wording(self.context.scope, "choose") if opener is None else opener.render(self.context.scope)
        return (ListMessage(self._with_picked(body), label, _sections(rows, label), footer),)

    def moves(self) -> Iterator[Choice]:
        """The entries below the choices of a page: back, more, and the end of many answers."""
        pages, page = self._paged
        if page > 0:
            yield self._move(PAGE + page - 1, wording(self.context.scope, "back"))
        if page + 1 < len(pages):
            yield self._move(PAGE + page + 1, wording(self.context.scope, "more"))
        yield from self._end()

    def _end(self) -> tuple[Choice, ...]:
        many = self.choices.many
        return (self._move(DONE, self.done(many)),) if many is not None and len(self.picked) >= many.least else ()

    @cached_property
    def _paged(self) -> tuple[Sequence[Sequence[ShownChoice]], int]:
        """The choices of each page, and which page is shown."""
        choices = self.choices
        whole = choices.numbered or choices.as_buttons(self.shown)
        pages = [self.shown] if whole else pages_of(self.shown, 0 if choices.many is None else 1)
        return pages, min(self.step_state.get("page", 0), len(pages) - 1)

    def done(self, many: Many) -> str:
        """The title of what ends many answers."""
        return wording(self.context.scope, "done") if many.done is None else many.done.render(self.context.scope)

    def _move(self, index: int, title: str) -> Choice:
        taken = any(choice.title == title for choice in self.shown)
        return Choice(self.context.reply_id(index, value_hash("", index)), f"{title} (2)" if taken else title)

    def _row(self, choice: ShownChoice) -> tuple[str, Choice]:
        id = self.context.reply_id(choice.index, choice.hash)
        return choice.section, Choice(id, self._marked(choice), choice.about)

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
    """Group rows by their section. Rows without a section stand under the label of the list."""
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


def pages_of(shown: Sequence[ShownChoice], more_rows: int) -> list[tuple[ShownChoice, ...]]:
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


Reading = Callable[[], Callable[[Any], bool]]
"""Reads a reply as a value of the question's variable, and returns a test for whether another value is the same."""


def meaning(offer: ShownChoices, reply: Reply, read: Reading) -> LeaveStep | WaitHere | None:
    """The choice that a reply means; None if it means no choice."""
    if reply.tap is not None:
        return _tapped(offer, reply.tap)
    return None if reply.text is None else _typed(offer, reply.text, read)


def _tapped(offer: ShownChoices, tap: ReplyId) -> LeaveStep | WaitHere | None:
    """A tap on one of the question's own buttons or rows."""
    for choice in offer.shown:
        if choice.index == tap.choice and choice.hash == tap.hash:
            return _take(offer, choice)
    if tap.choice < DONE or tap.hash != value_hash("", tap.choice):
        return None
    if tap.choice >= PAGE:
        return _go_on(offer, page=tap.choice - PAGE)
    return _finish(offer, offer.picked) or _go_on(offer)


def _typed(offer: ShownChoices, text: str, read: Reading) -> LeaveStep | WaitHere | None:
    """A title, a word, a number or a value, of whatever page."""
    many = offer.choices.many
    if many is not None and (answer := _several(offer, many, text)) is not None:
        return answer
    if many is None and (index := _one(offer, text, read)) is not None:
        return _take(offer, offer.shown[index])
    for move in offer.moves():
        if normalise(move.title) == normalise(text) and (tap := ReplyId.parse(move.id)) is not None:
            return _tapped(offer, tap)
    return None


def _one(offer: ShownChoices, text: str, read: Reading) -> int | None:
    """The choice by its title or word; by a number; by its value; or within a sentence. Where these are two, none."""
    options, how = [choice.option for choice in offer.shown], offer.choices.how
    if how == EXACT:
        return _exactly(offer, text, options)
    index = match(text, options, WHOLE)
    if index is not None or len(text) > LONGEST:
        return index
    corrects = has_word(text, (Kind.CORRECTING,), offer.language)
    if corrects and read_yes_no(text, offer.language) is not None:
        return None  # "no, coffee instead"
    if denies_own_question(text, offer.language):
        return None
    means = read()
    valued = [n for n, choice in enumerate(offer.shown) if choice.saves and means(choice.value)]
    titles = [choice.title for choice in offer.shown]
    timed = with_time(text, titles, offer.context.now, offer.language)
    said = number_in(text, offer.language) if offer.choices.counted else None
    numbered = None if said is None else _by_number(offer, *said)
    wider, by_start = _wider(text, options, how, offer.language), _by_start(offer, text)
    found = {index for index in (*valued, *timed, numbered, wider, by_start) if index is not None}
    if not found:
        found = {index for index in (_by_distinction(text, options, offer.language),) if index is not None}
    if not found:
        side = same_side(text, [(option.title, *option.words) for option in options], offer.language)
        meant = normalise(affirmed(text, offer.language)) if side is not None else ""
        others = (option.title for index, option in enumerate(options) if index != side)
        if side is not None:
            return None if any(contains(meant, normalise(title)) for title in others) else side  # "no make it coffee"
        heard = (
            _by_fault(offer, text),
            _by_refusal(text, titles, offer.language),
            _by_extreme(offer, text),
            says_nothing_of_all(text, titles, offer.language),
            _by_place(offer, text, None if corrects else said),
            _by_slip(text, options, how, offer.language),
        )
        return next((index for index in heard if index is not None and index != _TWO), None)
    return found.pop() if len(found) == 1 and _TWO not in found else None


def _by_distinction(text: str, options: Sequence[Option], language: str | None) -> int | None:
    """The only choice whose title has a text's words, and else words of other titles: "almond" is Almond cake."""
    said = telling_words(text, language)
    if not said:
        return None
    titles = [telling_words(option.title, language) for option in options]
    found = [index for index, title in enumerate(titles) if {*said} <= {*title} or "".join(said) == "".join(title)]
    if len(found) != 1:
        return None
    others = {word for index, title in enumerate(titles) if index != found[0] for word in title}
    rest = {*titles[found[0]]} - {*said}
    return found[0] if rest <= others or "".join(said) == "".join(titles[found[0]]) else None


def _by_slip(text: str, options: Sequence[Option], how: str, language: str | None) -> int | None:
    """The choice that a text names with slips in its longer words: "some advise", "the ornage one"."""
    if how not in (CLOSE, ANYWHERE):
        return None
    phrases = (phrase for option in options for phrase in (option.title, *option.words))
    known = {word for phrase in phrases for word in normalise(phrase).split()}
    longer = [word for word in known if len(word) >= FEWEST_AMONG_OTHERS]
    meant = [_meant_by(word, known, longer, language) for word in text.split()] if longer else []
    if meant == text.split() or not meant:
        return None
    named = _by_distinction(" ".join(meant), options, language)
    return _wider(" ".join(meant), options, how, language) if named is None and how == ANYWHERE else named


def _meant_by(word: str, known: Collection[str], longer: Sequence[str], language: str | None) -> str:
    """The only one of the longer known words of which a word is a slip, else the word itself."""
    said = normalise(word)
    if len(said) < FEWEST_AMONG_OTHERS - 1 or said in known or singular(said) in known or is_name(said, language):
        return word
    near = slips_of(said, longer)
    return near[0] if len(near) == 1 else word


def _by_fault(offer: ShownChoices, text: str) -> int | None:
    """The choice that corrects what a text calls wrong: Email for "the email is wrong"."""
    corrects = [index for index, choice in enumerate(offer.shown) if choice.corrects]
    found = faulty(text, [offer.shown[index].title for index in corrects], offer.language) if corrects else None
    return None if found is None else corrects[found]


def _by_refusal(text: str, titles: Sequence[str], language: str | None) -> int | None:
    """The only choice of something else, where a text refuses the others: Another day for "none of those work"."""
    refuses = len(titles) > _TWO_CHOICES and len(text.split()) <= _MOST_OF_REFUSAL and refuses_all(text, language)
    others = [index for index, title in enumerate(titles) if refuses and has_word(title, (Kind.OTHER,), language)]
    return others[0] if len(others) == 1 else None


_TWO_CHOICES = 2  # of which no text refuses several
_MOST_OF_REFUSAL = 10  # words


def _by_extreme(offer: ShownChoices, text: str) -> int | None:
    """The earliest, latest or cheapest choice, where a text asks for it, and nothing else is an answer."""
    valued = [index for index, choice in enumerate(offer.shown) if choice.saves and offer.choices.placed]
    titles = [offer.shown[index].title for index in valued]
    found = extreme_in(text, titles, offer.context.now, offer.language)
    return None if found is None else valued[found]


def _by_place(offer: ShownChoices, text: str, number: tuple[Decimal, frozenset[str]] | None) -> int | None:
    """The choice at the place that a text names, if no title has a number; at a menu also by a bare ``number``."""
    titles = [choice.title for choice in offer.shown]
    if not offer.choices.placed or any(map(_NUMBERED.search, titles)):
        return None
    if any(number_in(title, offer.language) or place_in(title, offer.language) for title in titles):
        return None
    place = place_in(text, offer.language)
    if place is None and number is not None and not number[1] and not any(choice.saves for choice in offer.shown):
        place = int(number[0])
    if place is None and names_last(text, offer.language):
        place = len(titles)
    if place is None or not 1 <= place <= len(titles):
        return None
    side = read_yes_no(titles[place - 1], offer.language)
    if side is not None and any(_says(not side.value, word, offer.language) for word in text.split()):
        return None  # "yes 2" beside Yes and No
    return place - 1


def _says(side: bool, text: str, language: str | None) -> bool:
    said = read_yes_no(text, language)
    return said is not None and said.value == side


_NUMBERED = lazy_pattern(r"\d")
_TWO = -1  # in place of a choice: a text may mean several, or none


def _by_number(offer: ShownChoices, number: Decimal, others: frozenset[str]) -> int | None:
    """The only choice with a number in its title, or at that place where numbers are shown."""
    titles = [choice.title for choice in offer.shown]
    found = set(with_number(number, others, titles, offer.language))
    if offer.choices.numbered and not others and number == int(number) and 1 <= number <= len(titles):
        found.add(int(number) - 1)
    return found.pop() if len(found) == 1 else _TWO if found else None


def _wider(text: str, options: Sequence[Option], how: str, language: str | None) -> int | None:
    """The choice that a text names beside other words, or with slips of the pen."""
    phrases = [(phrase, index) for index, option in enumerate(options) for phrase in (option.title, *option.words)]
    index = within(text, [*phrases, *_names(options, language)], language)
    if index is not None and says_both(text):  # "yes, I have no time" is no choice whose word is "no"
        phrases = [(phrase, index) for phrase, index in phrases if not is_yes_or_no(phrase, language)]
        index = within(text, [*phrases, *_names(options, language)], language)
    if index is not None and only_asks(text) and has_word(text, (Kind.ASKING, Kind.PAST), language):
        return _TWO  # "was it good?", but not "what about tea?"
    if index is not None or how == WHOLE:
        return index
    said = normalise(text)
    if how == CLOSE:
        place = closest(said, [normalise(phrase) for phrase, _ in phrases], partial(is_name, language=language))
        return None if place is None else phrases[place][1]
    longest, meant = _longest(said, phrases)
    if not meant:
        return None
    words = words_in(text)
    is_sure = all(
        is_meant(words, place, language, Reach.CLAUSE) and not is_supposed(words, place, language)
        for place in places_of(longest, words)
    )
    is_sure = is_sure and not only_asks(text) and not (praises(longest) and COMPLAINT in topics_in(text))
    return meant.pop() if len(meant) == 1 and is_sure else _TWO


def _by_start(offer: ShownChoices, text: str) -> int | None:
    """The choice to whose flow a sentence leads, by words that start the flow or by its own title."""
    heard = [choice.hears for choice in offer.shown]
    asks = any(each.answers for each in heard) and has_word(text, (Kind.ASKING,), offer.language)
    phrases = [
        (phrase, index)
        for index, each in enumerate(heard)
        for phrase in (each.words if asks else (*each.words, *each.answers))
        if not _refuses(phrase, offer.language)
    ]
    said = normalise(text) if phrases else ""
    phrase, meant = _longest(said, phrases) if phrases else ("", set[int]())
    if not meant:
        return None
    if len(meant) > 1 or has_word(text, (Kind.TELLING,), offer.language):
        return _TWO
    (index,), words = meant, words_in(text)
    if topics_in(text).keys() - {PERSON, *topics_in(phrase)}:  # "is my order ready?"
        return _TWO
    if asks_hours(text, phrase) or any(contains(said, word) for word in offer.shown[index].hears.unless):
        return _TWO
    place = place_of(phrase, words)
    return index if place is not None and is_meant(words, place, offer.language, Reach.UP_TO) else _TWO


def _refuses(phrase: str, language: str | None) -> bool:
    """True for a "no" or "nothing", which says something else in a sentence: "nothing helps"."""
    return _says(False, phrase, language) or is_phrase(phrase, (Kind.NOTHING,), language)


def _longest(said: str, phrases: Iterable[tuple[str, int]]) -> tuple[str, set[int]]:
    """The longest phrase that a text has, and all choices that it names, except by parts of that phrase."""
    found = [(normalise(phrase), index) for phrase, index in phrases if contains(said, normalise(phrase))]
    longest = max((phrase for phrase, _ in found), key=len, default="")
    return longest, {index for phrase, index in found if not contains(longest, phrase) or phrase == longest}


def several_named(offer: ShownChoices, text: str) -> list[str]:
    """The titles of the choices that a text names and does not deny: two or more, but not all, where one answer is
    asked for.
    """
    if offer.choices.many is not None or offer.choices.how == EXACT or len(text) > LONGEST:
        return []
    said, options = normalise(affirmed(text, offer.language)), [choice.option for choice in offer.shown]
    named = set[int]()
    phrases = [(normalise(phrase), n) for phrase, n in (*_phrases(options).items(), *_names(options, offer.language))]
    for phrase, index in sorted(phrases, key=lambda found: -len(found[0])):
        if contains(said, phrase):
            named.add(index)
            said = f" {said} ".replace(f" {phrase}", " ")
    return [offer.shown[index].title for index in sorted(named)] if 1 < len(named) < len(options) else []


def _exactly(offer: ShownChoices, text: str, options: Sequence[Option]) -> int | None:
    """The option by its title or word as written, or by its number where numbers are shown."""
    index = match(text, options, EXACT)
    return by_number(text.strip(), len(options)) if index is None and _counts_places(offer) else index


def _several(offer: ShownChoices, many: Many, text: str) -> LeaveStep | WaitHere | None:
    """Take one answer like a tap; several, or a sentence about one, as the contact's whole answer."""
    left_out = left_out_of_all(text, sum(not choice.leads for choice in offer.shown), offer.language)
    if left_out is not None and match(text, [choice.option for choice in offer.shown], WHOLE) is None:
        return _all_but(offer, left_out)
    titles = [choice.title for choice in offer.shown]
    if offer.choices.how != EXACT and (nothing := says_nothing_of_all(text, titles, offer.language)) is not None:
        return _take(offer, offer.shown[nothing])
    options = [*(choice.option for choice in offer.shown), Option(offer.done(many))]
    if offer.choices.how == EXACT:
        one = _exactly(offer, text, options)
        found = [] if one is None else [one]
    else:
        numbers = _counts_places(offer)
        found = named(text, options, offer.choices.how, shown_numbers=numbers)
        found = found or _named_within(text, options, offer.language, shown_numbers=numbers)
    if offer.choices.how == ANYWHERE and _denies_one(text, options, offer.language):
        return None
    chosen = [offer.shown[index] for index in found if index < len(offer.shown)]
    if len(found) == 1 and chosen and not _tells(offer, text, options):
        return _take(offer, chosen[0])
    if not found or any(choice.leads for choice in chosen):
        return None
    return _finish(offer, list(dict.fromkeys([*offer.picked, *(choice.hash for choice in chosen)])))


def _all_but(offer: ShownChoices, left_out: str) -> LeaveStep | WaitHere | None:
    """Take all choices as the whole answer, without those that are left out. None if these are not all known."""
    options = [choice.option for choice in offer.shown]
    numbers = _counts_places(offer)
    without = named(left_out, options, offer.choices.how, shown_numbers=numbers) if left_out else []
    if left_out and not without and offer.choices.how != EXACT:
        without = _named_within(left_out, options, offer.language, shown_numbers=numbers)
    chosen = [choice for index, choice in enumerate(offer.shown) if not choice.leads and index not in without]
    if (left_out and not without) or not chosen:
        return None
    return _finish(offer, [choice.hash for choice in chosen])


def _denies_one(text: str, options: Sequence[Option], language: str | None) -> bool:
    """True if a text denies one of the options that it names: "the staff, but not the food"."""
    words, said = words_in(text), normalise(text)
    named_phrases = [phrase for phrase in _phrases(options) if contains(said, phrase)]
    places = (place for phrase in named_phrases for place in places_of(phrase, words))
    return not all(is_meant(words, place, language, Reach.CLAUSE, by=Kind.DENIAL) for place in places)


def _tells(offer: ShownChoices, text: str, options: Sequence[Option]) -> bool:
    """True for a sentence about one thing, which has more than words that change nothing: "the staff were lovely"."""
    if offer.choices.how != ANYWHERE or match(text, options, WHOLE) is not None or {*normalise(text).split()} & AND:
        return False
    return not _named_within(text, options, offer.language, shown_numbers=_counts_places(offer))


def _take(offer: ShownChoices, choice: ShownChoice) -> LeaveStep | WaitHere:
    """The answer; one of several is marked, and taken back when it is chosen again."""
    many = offer.choices.many
    if many is None:
        return _leave(choice, choice.value)
    if choice.leads:
        return _leave(choice, [choice.value])
    picked = [known for known in offer.picked if known != choice.hash]
    if choice.hash not in offer.picked:
        picked.append(choice.hash)
        if len(picked) == many.most and (finished := _finish(offer, picked)) is not None:
            return finished
    return _go_on(offer, picked=picked)


def _leave(choice: ShownChoice, value: Any) -> LeaveStep:
    return LeaveStep(choice.outcome, saved=value) if choice.saves else LeaveStep(choice.outcome)


def _finish(offer: ShownChoices, picked: list[str]) -> LeaveStep | None:
    """Leave with the values of all that is picked, in that order; None where those are too few or too many."""
    many = offer.choices.many
    if many is None or not many.allows(len(picked)):
        return None
    values = {choice.hash: choice.value for choice in offer.shown}
    return LeaveStep("then", saved=[values[known] for known in picked])


def _go_on(offer: ShownChoices, **changed: Any) -> WaitHere:
    return WaitHere(step_state={**offer.step_state, **changed})


MOST_WORDS = 50  # of a text that names several answers
MOST_COMPARED = 20_000  # pieces of a text with phrases; where there are more, none is close to any (0.1 s at most)
AND = frozenset(
    map(normalise, ("and", "dan", "y", "e", "et", "und", "en", "ve", "и", "و", "और", "og", "och", "i", "a"))
)
"""The word before the last of several answers, in the languages of `bot.language.source.languages` and a few more."""
_NUMBERS = lazy_pattern(r"[\d\s,;.&+/–-]+")
_NO_PLACE_IN_A_LIST = r"\d\.\d|[$%+€£¥]\s*\d|\d\s*[$%€£¥]"
_AMOUNT = lazy_pattern(_NO_PLACE_IN_A_LIST)
_NO_PLACE = lazy_pattern(rf"{_NO_PLACE_IN_A_LIST}|[-−–+]\s*\d")
_SPAN = lazy_pattern(r"(\d{1,2})\s*[–-]\s*(\d{1,2})")


def _counts_places(offer: ShownChoices) -> bool:
    """True if numbers are shown, and no title has the number of another choice's place."""
    if not offer.choices.numbered:
        return False
    titles = [choice.title for choice in offer.shown]
    places = (
        (place, with_number(Decimal(place + 1), frozenset(), titles, offer.language))
        for place in range(len(titles) + 1)
    )
    return all(set(found) <= {place} for place, found in places)


def named(text: str, options: Sequence[Option], how: str, *, shown_numbers: bool = True) -> list[int]:
    """The options that a text names, each once and in its order, as in "1, 3 and 4"; none where it says something else.

    Longer titles come first, so that "Salt, pepper" may be one of them. With ``how`` anywhere, there may be other
    words between them; close, each may have slips, but in a text that is too long for so many options.
    """
    words, phrases = _words_of(text, options), _phrases(options)
    longest = max(len(phrase.split()) for phrase in phrases)
    if how == CLOSE and len(words) * longest * len(phrases) > MOST_COMPARED:
        how = WHOLE
    numbered = len(options) if shown_numbers and _AMOUNT.search(text) is None else 0
    found: list[list[int] | None] = [[]]  # what each end of the text names, the shortest first
    for start in range(len(words) - 1, -1, -1):
        found.append(_beginning(words[start : start + longest], found, partial(_meant, phrases, numbered, how), how))
    return list(dict.fromkeys(found[-1] or ()))


def _named_within(text: str, options: Sequence[Option], language: str | None, *, shown_numbers: bool) -> list[int]:
    """The options that a text names beside words that change nothing: "tea and coffee, please"."""
    if len(text) > LONGEST:
        return []
    phrases = [*_phrases(options).items(), *_names(options, language)]
    if shown_numbers and _NO_PLACE.search(text) is None:
        phrases += [(str(index + 1), index) for index in range(len(options))]
    return list(dict.fromkeys(all_within(text, phrases, language, joints=AND)))


def _names(options: Sequence[Option], language: str | None) -> list[tuple[str, int]]:
    """The name before the price or number of each title, where only one title has it: beard for ``A beard, 12 €``."""
    names = [name_in(option.title, language) for option in options]
    return [(name, index) for index, name in enumerate(names) if name is not None and names.count(name) == 1]


def _phrases(options: Sequence[Option]) -> dict[str, int]:
    """The titles and the words of options, normalised, and which each of them means: a title before a word."""
    phrases: dict[str, int] = {}
    for index, option in enumerate(options):
        phrases.setdefault(normalise(option.title), index)
    for index, option in enumerate(options):
        for word in option.words:
            phrases.setdefault(normalise(word), index)
    return phrases


def _meant(phrases: Mapping[str, int], numbered: int, how: str, text: str) -> int | None:
    """The option that a piece of the text means. The text and the phrases are normalised: there may be thousands."""
    index = phrases.get(text)
    index = by_number(text, numbered) if index is None else index
    if index is not None or how != CLOSE:
        return index
    place = closest(text, phrases)
    return None if place is None else next(islice(phrases.values(), place, None))


def _beginning(
    words: Sequence[str], ends: Sequence[list[int] | None], meant: Callable[[str], int | None], how: str
) -> list[int] | None:
    """The option that the words begin with, and what the end after it names; None where that makes no sense."""
    for length in range(len(words), 0, -1):
        end = ends[-length]
        index = None if end is None else meant(" ".join(words[:length]))
        if end is not None and index is not None:
            return [index, *end]
    return ends[-1] if words[0] in AND or how == ANYWHERE else None


def _words_of(text: str, options: Sequence[Option]) -> list[str]:
    """The words of a text. Where it is nothing but numbers, and no title is that, ``1-3`` is 1, 2 and 3."""
    if len(text) > LONGEST:
        return []
    titles = [option.title for option in options]
    if _NUMBERS.fullmatch(text) is None or any(map(_NUMBERS.fullmatch, titles)):
        words = normalise(text).split()
        return words if len(words) <= MOST_WORDS else []
    return list(dict.fromkeys(normalise(_SPAN.sub(_spelt_out, text)).split()))


def _spelt_out(span: re.Match[str]) -> str:
    return " ".join(map(str, range(int(span[1]), int(span[2]) + 1))) or span[0]
