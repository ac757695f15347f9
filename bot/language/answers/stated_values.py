"""The values that a free text states: numbers, prices, days, times and codes, each in the form in which it is compared.

The readers of answers read a text that is an answer as a whole; here a value stands among any words.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.days import Day, DayReader
from bot.language.answers.numbers import figures_at, number_at
from bot.language.answers.segments import TokenizedText
from bot.language.answers.times_of_day import ClockReader, TimeOfDay
from bot.language.answers.tokens import split
from bot.language.answers.words import Kind, Mark, words_of
from bot.language.source.languages import without_country
from bot.language.source.wall_clock import A_DAY
from bot.language.source.word_matching import normalise

Meaning = tuple[str, Any]
"""A kind of value, and the value: ``("percent", Decimal(5))``, ``("day", date(2030, 5, 12))``."""

NUMBERS, PRICES, DATES, TIMES, CODES = "numbers", "prices", "dates", "times", "codes"


@immutable
class Stated:
    """A value in a text: its kind, how it is written, what it ``means``, and what it ``supports`` as a source.

    Several meanings are those that people may mean by the same words. ``9:00`` supports ``at 9``, too.
    """

    kind: str
    written: str
    means: frozenset[Meaning]
    supports: frozenset[Meaning]


_CURRENCIES = {
    "eur": "€|eur|euros?|евро|avro|يورو|यूरो", "usd": r"\$|us\$|usd|dollars?|bucks|dólar(?:es)?|dolares|dolar(?:es)?|dollari|dollaro|доллар\w*|دولار\w*|डॉलर",
    "gbp": "£|gbp|pounds?|quid|pfund|libras?|livres?|sterlin\\w*|pond|фунт\\w*", "inr": "₹|inr|rs|rupees?|रुपये|रुपए|रुपया|रु|rupien?|rupias?|roupies?",
    "idr": "rp|idr|rupiah", "try": "₺|try|tl|lira", "rub": "₽|rub|rubles?|руб\\w*", "chf": "chf|sfr|franken", "brl": r"r\$|brl|reais|real",
    "sar": "sar|ريال\\w*", "aed": "aed|درهم\\w*|dirhams?", "egp": "egp|جنيه\\w*", "cent": "ct|cents?|pence|céntimos?|centimes?|centavos?|centesimi|cent|kuruş|копе\\w*|paise",
}  # fmt: skip
_CURRENCY = lazy_pattern("|".join(f"(?P<{code}>{forms})" for code, forms in _CURRENCIES.items()))
_PERCENT = lazy_pattern(
    "%|percent|prozent|por ?ciento|pourcents?|por ?cento|per ?cento|procent|persen|процент\\w*|yüzde|بالمئة|بالمائة|प्रतिशत|फीसदी"
)
_PERCENT_OF_TWO = {
    ("per", "cent"), ("por", "ciento"), ("pour", "cent"), ("por", "cento"), ("per", "cento"), ("في", "المئة"), ("في", "المائة"),
}  # fmt: skip
_IN_DAYS = {"day": 1, "week": 7}
_IN_MINUTES = {"minute": 1, "hour": 60}
_IN_MONTHS = {"month": 1, "year": 12}
_SMALL = 10  # a number word up to this may be no value: "one moment", "two options"
_SHORTEST_WEEKDAY = 4  # letters: "sat", "do" and "so" are other words, too
_LONGEST_PIECE = 400  # characters that are read at once
_NUMBERED = lazy_pattern(
    r"^[ \t]*(?:[-*•·][ \t]*)?(?:\(?[0-9]{1,2}[.)](?=\s)|[0-9]\ufe0f?\u20e3)|[0-9]\ufe0f?\u20e3", re.MULTILINE
)
_ITEM = lazy_pattern(r"^[ \t]*(?:[-*•·]|\(?[0-9]{1,2}[.)])[ \t]+\S", re.MULTILINE)
_PIECE = lazy_pattern(r"\n+|(?<=[.!?…؟।])(?<![0-9]\.)\s+|[;،؛]\s")
_CODE = lazy_pattern(
    r"(?<![\w.,-])(?!(?i:rp|rs|usd|eur|gbp|inr|idr|try|tl|chf)[0-9])(?!(?:[ckm]?m|CO)[23](?!\w))"
    r"(?:[A-Za-z]{1,6}[-#/]?[0-9]\w*(?:-\w+)*|(?![0-9]{1,2}[hux][0-9])[0-9]+(?:-[0-9]+)*-?[A-Za-z]+[0-9]\w*"
    r"|0[0-9]{5,}|[0-9]{9,}|[A-Z]{1,8}(?:-[A-Z0-9]+)*-[0-9]+)(?!\w)"
)
_WEEKDAYS = lazy_pattern(r"(?i)\b((?:mon|tues|wednes|thurs|fri|satur|sun)day)s\b")
_CLOCK = lazy_pattern(r"(?<![\w.,:])([01]?[0-9]|2[0-4])[:.]([0-5][0-9]) ?h(?!\w)")  # 21:15 h
_MOMENT = lazy_pattern(r"(?<=[0-9])T(?=[0-9]{2}:)")  # of a service's time: 2030-05-12T09:30
_PLAIN_CODE = lazy_pattern(r"[\W_]")
_FREQUENT = {
    "en": "the is are you your we our it and of to for with on can have has will this that be not a an in at by from or do",
    "de": "der die das ist sind sie ihre ihr wir unser und von zu für mit auf kann haben hat wird nicht ein eine uhr am im den es ich bei",
    "es": "el la los las es son usted su nuestro y de para con por puede tiene tenemos está del al una un que se en lo",
    "fr": "le la les est sont vous votre nous notre et de pour avec sur peut avez avons du au une un que des en il ce dans",
    "pt": "o a os as é são você seu sua nosso e de para com por pode tem temos está do da ao uma um que se em no na",
    "it": "il la le gli è sono lei suo nostro e di per con su può ha abbiamo del al una un che si in lo alle della dal",
    "nl": "de het is zijn u uw wij we ons onze en van voor met op kan heeft hebben niet een om dat er je in ik bij",
    "id": "yang adalah anda kami kita dan di ke untuk dengan pada bisa dapat akan tidak ini itu dari hari buka jam sudah",
    "ru": "в и на с мы вы вас ваш ваша это для по не до от за у нас можно есть будет к из",
    "tr": "bir ve için ile bu de da size sizin biz var değil olarak kadar saat gün siparişiniz olan en",
    "ar": "في من على إلى هو هي نحن لك لكم مع هذا هذه أن لا يمكن حتى عن طلبك و كل",
    "hi": "है हैं और का की के में से को पर हम आप आपका आपके यह तक ने लिए हो",
}  # fmt: skip
"""The most frequent words of each language."""
_ONE_OF_THEM = frozenset(
    ["one", "ein", "eine", "einer", "einem", "uno", "una", "un", "une", "um", "uma", "een", "satu", "bir"]
)
_SPANS = frozenset({
    "to", "till", "until", "through", "bis", "a", "al", "à", "au", "até", "ao", "tot", "t", "до", "по", "hingga", "sampai", "ile", "ila", "से", "तक", "إلى", "حتى",
})  # fmt: skip
_BREAKS_SPAN = lazy_pattern(r"[,;.\n]")
_DAILY = lazy_pattern(
    r"(?<!\w)(?:daily|every day|each day|seven days a week|7 days a week|täglich|jeden tag|todos los días|a diario|cada día|tous les jours|chaque jour|todos os dias|diariamente"
    r"|ogni giorno|tutti i giorni|dagelijks|elke dag|iedere dag|setiap hari|tiap hari|ежедневно|каждый день|her gün|يوميا|كل يوم|रोज़|रोज|हर दिन|प्रतिदिन)(?!\w)"
)  # fmt: skip


def stated_in(text: str, language: str, today: date, most: int) -> tuple[Stated, ...]:
    """The values in a text, in the language in which it seems to be written; ``language`` is the usual one.

    ``most`` of them are read, because each takes a millisecond or so.
    """
    return stated_as(text, language_of(text, language), today, most)


@lru_cache(maxsize=512)
def stated_as(text: str, language: str, today: date, most: int | None = None) -> tuple[Stated, ...]:
    """The values in a text, read as one of this language."""
    text = _WEEKDAYS.sub(r"\1", text)
    plain = _CLOCK.sub(r"\1:\2", _MOMENT.sub(" ", _NUMBERED.sub(" ", text)))
    return tuple(islice((value for piece in _pieces(plain) for value in _values_in(piece, language, today)), most))


def _values_in(piece: str, language: str, today: date) -> Iterator[Stated]:
    rest, codes = _without_codes(piece)
    yield from codes
    yield from _Reader(rest, language, today).read()


def items_in(text: str) -> int:
    """The number of listed lines in a text: it may say how many there are."""
    return len(_ITEM.findall(text))


def is_daily(text: str) -> bool:
    """True if a text says that something is so each day."""
    return _DAILY.search(text.casefold()) is not None


def _code_form(written: str) -> str:
    """A code as it is compared: ``ab-123 456`` and ``AB123456`` are the same."""
    return _PLAIN_CODE.sub("", written).casefold()


@lru_cache(maxsize=512)
def language_of(text: str, usual: str) -> str:
    """The language of a text, by its most frequent words; the usual one unless another has clearly more."""
    said = Counter(normalise(text).split())
    counts = {language: sum(said[word] for word in words) for language, words in _frequent().items()}
    best = max(counts, key=lambda language: (counts[language], language == without_country(usual)))
    return best if counts[best] > counts.get(without_country(usual), 0) + 1 else usual


@cache
def _frequent() -> dict[str, frozenset[str]]:
    return {language: frozenset(normalise(words).split()) for language, words in _FREQUENT.items()}


def _pieces(text: str) -> Iterator[str]:
    for piece in _PIECE.split(text):
        while len(piece) > _LONGEST_PIECE:
            cut = piece.rfind(" ", 0, _LONGEST_PIECE)
            cut = cut if cut > 0 else _LONGEST_PIECE
            yield piece[:cut]
            piece = piece[cut:]
        yield piece


def _without_codes(piece: str) -> tuple[str, list[Stated]]:
    codes: list[Stated] = []

    def taken(found: re.Match[str]) -> str:
        means = frozenset({("code", _code_form(found[0]))})
        codes.append(Stated(CODES, found[0], means, means))
        return " | "

    return _CODE.sub(taken, piece), codes


class _Reader:
    """Reads the numbers, prices, days and times of a piece of text."""

    def __init__(self, text: str, language: str, today: date) -> None:
        words = words_of(language)
        tokens = split(text, words.spelling)
        marks = [words.marks(tokens.tokens, index) for index in range(len(tokens.tokens))]
        self._text = TokenizedText(tokens, marks, words, frozenset())
        self._today = today
        self._days = DayReader(tokens, marks, words, today, False)
        self._past_days = DayReader(tokens, marks, words, today, True)
        self._clock = ClockReader(tokens, marks, words, dots=True)

    def read(self) -> Iterator[Stated]:
        """Each value, from the beginning on; of those that begin at one word the longest."""
        index, weekday, behind = 0, None, 0
        while index < self._text.length:
            end, found = self._longest_at(index)
            if found is None:
                index = max(index + 1, self._phrase_end(index))
                continue
            days = [value for name, value in found.supports if name == "weekday"]
            if len(days) == 1 and weekday is not None and self._spans(behind, index):
                span = range(weekday, weekday + (days[0] - weekday) % 7)
                between = frozenset((name, day % 7) for day in span for name in ("weekday", "each"))
                found = Stated(found.kind, found.written, found.means, found.supports | between)
            weekday, behind = (days[0] if len(days) == 1 else None), end
            yield found
            index = end

    def _longest_at(self, start: int) -> tuple[int, Stated | None]:
        """The value that begins at a token, or within it, if that one goes further: "on 9.5.2030", not "on 9"."""
        end, found = self._at(start) if self._may_begin(start) else (0, None)
        figures = [at for at in range(start + 1, end) if self._text.tokens.tokens[at][0].isdigit()]
        for inner in figures if start + 1 < end and not self._text.tokens.tokens[start][0].isdigit() else ():
            further, other = self._at(inner) if self._may_begin(inner) else (0, None)
            if further > end and other is not None:
                return further, other
        return end, found

    def _may_begin(self, start: int) -> bool:
        """True if a value can begin at a token."""
        tokens, words = self._text.tokens.tokens, self._text.words
        return (
            tokens[start][0].isdigit()
            or any(kind in _BEGINS for _, kind, _ in self._text.marks[start])
            or tokens[start] in words.dates.by_word
            or tokens[start] in words.clock.by_word
            or (words.joined and len(tokens[start]) > 4)
            or self._currency_at(start) is not None
            or _PERCENT.fullmatch(tokens[start]) is not None
        )

    def _spans(self, start: int, end: int) -> bool:
        """True if what stands between two days makes them the ends of a span: Monday to Friday, Mo-Fr."""
        tokens = self._text.tokens
        if end == start:
            return tokens.gap(end).strip() in ("-", "–", "—", "~")
        clear = not any(_BREAKS_SPAN.search(tokens.gap(index)) for index in range(start, end + 1))
        return clear and end - start <= 2 and any(token in _SPANS for token in tokens.tokens[start:end])

    def _phrase_end(self, start: int) -> int:
        """The end of a phrase that changes nothing: in "Guten Morgen" there is no day."""
        ends = self._text.ends_of(start, Kind.HARMLESS, Kind.AGAINST, Kind.YES, Kind.NO)
        return max((end for end in ends if not self._has_figures(start, end)), default=start)

    def _has_figures(self, start: int, end: int) -> bool:
        return any(token[0].isdigit() for token in self._text.tokens.tokens[start:end])

    def _at(self, start: int) -> tuple[int, Stated | None]:
        """The longest value that begins at a token, with the index behind it."""
        days = [found for found in self._days.days_at(start) if self._is_day(start, found[0])]
        days += [found for found in self._past_days.days_at(start) if self._is_day(start, found[0])] if days else []
        times = list(self._times_at(start))
        number = self._number_at(start)
        ends = [found[0] for found in (*days, *times)]
        end = max([*ends, 0 if number is None else number[0]])
        if not end or self._phrase_end(start) > end:
            return 0, None
        written = self._text.tokens.text[self._text.tokens.starts[start] : self._text.tokens.ends[end - 1]]
        means: set[Meaning] = set()
        supports: set[Meaning] = set()
        kind = NUMBERS
        if number is not None and number[0] == end:
            kind, said, gives = number[1:]
            means |= said
            supports |= {each for each in gives if each[0] != "plain" or all(last != end for last, _ in times)}
        for last, time in times:
            if last == end:
                kind = TIMES
                means |= _meanings_of_time(time)
                supports |= _support_of_time(time, in_figures=written[:1].isdigit())
        dates = [day for last, day in days if last == end]
        if dates:
            kind = DATES
            kinds = {mark[1] for mark in self._text.marks[start] if mark[0] == end}
            means |= _meanings_of_days(dates, kinds)
            supports |= _support_of_days(dates, Kind.WEEKDAY in kinds)
            for at in range(start, end):  # in 30 days: the 30 days may be what a source has
                inner = self._number_at(at)
                if inner is not None and any(name in _PERIODS for name, _ in inner[2]):
                    means |= inner[2]
                    supports |= inner[3]
        return end, Stated(kind, written, frozenset(means), frozenset(supports)) if means else None

    def _is_day(self, start: int, end: int) -> bool:
        """False for words and figures that only look like a day: "first", "sat", 12.5 %."""
        tokens = self._text.tokens
        words = tokens.tokens[start:end]
        if any(word[0].isdigit() for word in words):
            listed = words[0].isdigit() and end > start + 1 and "," in tokens.gap(start + 1)  # 9 to 18, on Saturdays
            return not listed and not self._is_of_hours(start, end) and self._is_dated(end)
        kinds = {kind for at in range(start, end) for _, kind, _ in self._text.marks[at]}
        if end == start + 1 and Kind.WEEKDAY in kinds and Kind.DAY not in kinds:
            return len(words[0]) >= _SHORTEST_WEEKDAY or not words[0].isascii() or self._is_listed(start)
        return bool(kinds & {Kind.WEEKDAY, Kind.MONTH, Kind.DAY, Kind.PERIOD})

    def _is_listed(self, start: int) -> bool:
        """True for a short weekday beside another one, or before hours: Mo-Fr 9-18."""
        tokens = self._text.tokens
        before = start > 0 and any(kind is Kind.WEEKDAY for _, kind, _ in self._text.marks[start - 1])
        behind = any(kind is Kind.WEEKDAY for _, kind, _ in self._marks_at(start + 1))
        hours = start + 1 < self._text.length and tokens.tokens[start + 1][0].isdigit()
        return before or behind or hours

    def _is_of_hours(self, start: int, end: int) -> bool:
        """True for a weekday before hours, which is no day of the month: Fr 9-18."""
        tokens = self._text.tokens
        weekday = any(kind is Kind.WEEKDAY for _, kind, _ in self._text.marks[start])
        return weekday and end == start + 2 and end < self._text.length and tokens.gap(end)[:1] in tuple("-–:")

    def _is_dated(self, end: int) -> bool:
        """True if figures are a day and not a price or a share: 12.5. is, 12.5 % is not."""
        return not (end < self._text.length and self._measure_at(end) is not None)

    def _times_at(self, start: int) -> Iterator[tuple[int, TimeOfDay]]:
        """The times of day, with the part of the day before or behind them: 3 pm, शाम 5 बजे."""
        before = next(((end, value) for end, kind, value in self._text.marks[start] if kind is Kind.PART), None)
        tokens = self._text.tokens.tokens
        first, part = (start, None) if before is None or before[0] >= self._text.length else before
        for end, time in self._clock.times_at(first):
            behind = [(last, value) for last, kind, value in self._marks_at(end) if kind is Kind.PART]
            for last, said in (*behind, (end, part)):
                clock = time.at(said)
                if said is None and time.hour == 1 and tokens[end - 1] in _ONE_OF_THEM:
                    continue  # one by one
                if clock is not None and (said is not None or not time.bare) and self._is_time(first, end):
                    yield last, clock

    def _marks_at(self, start: int) -> list[Mark]:
        return self._text.marks[start] if start < self._text.length else []

    def _is_time(self, start: int, end: int) -> bool:
        """False for a number with a decimal point that measures something: 9.30 euros."""
        tokens = self._text.tokens
        measures = end < self._text.length and self._measure_at(end) is not None
        return not measures or ":" in tokens.text[tokens.starts[start] : tokens.ends[end - 1]]

    def _number_at(self, start: int) -> tuple[int, str, set[Meaning], set[Meaning]] | None:
        """A number with what it measures: the index behind it, its kind, its meanings, and what it supports."""
        text, tokens = self._text, self._text.tokens
        first, currency = start, None
        share = _PERCENT.fullmatch(tokens.tokens[start]) is not None and start + 1 < text.length  # %20, yüzde 20
        if share:
            first = start + 1
        elif (before := self._currency_at(start)) is not None and before[0] < text.length:
            first, currency = before
        if first > start and (not tokens.tokens[first][0].isdigit() or tokens.gap(first).strip(" .-\u00a0\u202f")):
            return None
        values, end = self._values_at(first)
        if not values:
            period = next(((last, value) for last, kind, value in text.marks[start] if kind is Kind.PERIOD), None)
            if period is not None and period[1][0] > 1:  # half an hour, a fortnight
                said = {_period(Decimal(1), period[1])}
                return period[0], NUMBERS, {*said, ("plain", Decimal(period[1][0]))}, said
            return None
        in_figures = any(char.isdigit() for token in tokens.tokens[first:end] for char in token)
        behind = self._measure_at(end) if end < text.length else None
        if currency is None and behind is not None:
            end, currency = behind[0], behind[1]
        bare: set[Meaning] = {("number", value) for value in values}
        plain: set[Meaning] = {("plain", value) for value in values}
        if currency is not None:
            said = {("price", (value, currency)) for value in values}
            return end, PRICES, said | plain, said | bare
        if share or (behind is not None and behind[2] == "percent"):
            said = {("percent", value) for value in values}
            return end, NUMBERS, said | plain, said | bare
        if behind is not None and isinstance(behind[2], tuple):
            if not in_figures and values == {Decimal(1)} and behind[2][1] == "minute":
                return None
            said = {_period(value, behind[2]) for value in values}
            return end, NUMBERS, said | plain | {("plain", count) for _, count in said}, said | bare
        small = not in_figures and all(value <= _SMALL for value in values)
        if small and (behind is None or values == {Decimal(1)}):
            return None
        said = {(name, value) for value in values for name in ("number", "hour")}
        return end, NUMBERS, said, bare if behind else bare | {("plain", value) for value in values}

    def _values_at(self, start: int) -> tuple[set[Decimal], int]:
        """The numbers that figures or words may be, by how thousands are divided, and the index behind them."""
        text = self._text
        found = [number_at(text.tokens, text.marks, start, text.words, whole) for whole in (False, True)]
        read = [(number[0], number[2]) for number in found if number is not None]
        if not read and text.tokens.tokens[start][0].isdigit():  # 10-12
            both = (figures_at(text.tokens, start, text.words, whole) for whole in (False, True))
            read = [figures for figures in both if figures is not None]
        if not read and text.tokens.tokens[start].isdecimal():  # no reader takes it, so no source has it in other words
            read = [(start + 1, Decimal(text.tokens.tokens[start]))]
        end = max((end for end, _ in read), default=start)
        return {abs(value) for last, value in read if last == end}, end

    def _currency_at(self, start: int) -> tuple[int, str] | None:
        token = self._text.tokens.tokens[start]
        end = next(self._text.ends_of(start, Kind.CURRENCY), 0)
        if any(kind is Kind.WEEKDAY for _, kind, _ in self._text.marks[start]):
            return None  # Fr 9-18
        if token in ("us", "r", "a") and self._text.tokens.tokens[start + 1 : start + 2] == ["$"]:
            return start + 2, "brl" if token == "r" else "usd"
        if found := _CURRENCY.fullmatch(token):
            return start + 1, str(found.lastgroup)
        return (end, token) if end else None

    def _measure_at(self, start: int) -> tuple[int, str | None, Any] | None:
        """The measure behind a number: the index behind it, a currency, and a period, ``percent`` or ``unit``."""
        text = self._text
        if text.tokens.gap(start).strip(" -\u00a0\u202f"):
            return None
        pair = tuple(text.tokens.tokens[start : start + 2])
        if pair in _PERCENT_OF_TWO:
            return start + 2, None, "percent"
        if _PERCENT.fullmatch(text.tokens.tokens[start]):
            return start + 1, None, "percent"
        if (currency := self._currency_at(start)) is not None:
            return currency[0], currency[1], None
        for end, kind, value in text.marks[start]:
            if kind is Kind.PERIOD:
                return end, None, value
        end = next(text.ends_of(start, Kind.UNIT), 0)
        return (end, None, "unit") if end else None


_BEGINS = frozenset({
    Kind.NUMBER, Kind.MULTIPLE, Kind.FRACTION, Kind.BEFORE_NUMBER, Kind.ONE, Kind.MINUS, Kind.PLUS, Kind.ORDINAL, Kind.COUNT, Kind.CURRENCY, Kind.MONTH, Kind.WEEKDAY,
    Kind.DAY, Kind.PERIOD, Kind.PART, Kind.TIME, Kind.TIME_OF_12, Kind.BEFORE_TIME, Kind.HOUR,
})  # fmt: skip
_PERIODS = ("days", "minutes", "months")


def _period(count: Decimal, period: tuple[int, str]) -> Meaning:
    """A length of time in its smallest unit: ``(2, (1, "week"))`` -> 14 days."""
    size, unit = period
    if unit in _IN_DAYS:
        return "days", count * size * _IN_DAYS[unit]
    if unit in _IN_MONTHS:
        return "months", count * size * _IN_MONTHS[unit]
    minutes = count * size * _IN_MINUTES[unit]
    return ("days", minutes / A_DAY) if minutes % A_DAY == 0 else ("minutes", minutes)


def _minutes(time: TimeOfDay) -> set[int]:
    times = {time.time_of_day, *([] if time.later is None else [time.later])}
    return {each.hour * 60 + each.minute for each in times}


def _meanings_of_time(time: TimeOfDay) -> set[Meaning]:
    """The time, or its hour as a number that measures nothing: "from 9 to 6" has 18:00."""
    return {("time", minutes) for minutes in _minutes(time)} | {("plain", hour) for hour in _hours(time)}


def _hours(time: TimeOfDay) -> set[Decimal]:
    hours = {Decimal(minutes // 60) for minutes in _minutes(time) if minutes % 60 == 0}
    return hours | {hour % 12 or Decimal(12) for hour in hours}


def _support_of_time(time: TimeOfDay, *, in_figures: bool) -> set[Meaning]:
    """The time, and its hour as a number. In figures it is one of 24 hours: a source's 9:00 is not in the evening."""
    minutes = {time.hour * 60 + time.minute} if in_figures else _minutes(time)
    hours = {Decimal(each // 60) for each in minutes if each % 60 == 0}
    return {*(("time", each) for each in minutes), *(("hour", each) for hour in hours for each in (hour, hour % 12))}


def _days_of(days: Iterable[Day]) -> set[date]:
    return {day for each in days for day in (each.day, each.other) if day is not None}


def _meanings_of_days(days: Iterable[Day], kinds: Container[Kind]) -> set[Meaning]:
    """A weekday; or a day, and for "tomorrow" also what is so each week on that weekday."""
    found = _days_of(days)
    if Kind.WEEKDAY in kinds:
        return {("weekday", day.isoweekday() % 7) for day in found}
    each: set[Meaning] = {("each", day.isoweekday() % 7) for day in found} if Kind.DAY in kinds else set()
    return each | {("day", day) for day in found}


def _support_of_days(days: Iterable[Day], only_weekday: bool) -> set[Meaning]:
    found = _days_of(days)
    weekdays = {day.isoweekday() % 7 for day in found}
    more: set[Meaning] = (
        {("each", day) for day in weekdays} if only_weekday else {("number", Decimal(day.year)) for day in found}
    )
    return {*more, *(("weekday", day) for day in weekdays), *(("day", day) for day in found)}
