"""Numbers as people write them: ``1,200``, ``5k``, ``two and a half``, ``dreiundzwanzig``, ``डेढ़ लाख``."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.tokens import Tokens
from bot.language.answers.words import PIECES, Kind, Mark, Words

Atom = tuple[Kind | None, Decimal | Fraction | None, int]
"""A piece of a number: its kind, None for figures; its value; the index of the token behind it."""

_MOST_ATOMS = 16
_LONGEST_FIGURES = 60  # characters
_DOZEN, _TEN, _HUNDRED, _THOUSAND, _MILLION = map(Decimal, (12, 10, 100, 1000, 1_000_000))
_FIGURES = lazy_pattern(
    r"[0-9]+(?:[.,٫،][0-9]+|['’_٬][0-9]{3}(?![0-9]))*"
    r"(?:[ \u00a0\u202f][0-9]{3}(?![0-9]))*(?:[.,٫][0-9]{1,9}(?![0-9]))?(?![0-9]|['’][0-9])"
)
_SIGNED_FRACTION = lazy_pattern(r"(?:([0-9]{1,6})\s{1,2})?([0-9]{1,2})\s?[/⁄]\s?([0-9]{1,2})(?![0-9/])")
_PRICE_END = lazy_pattern(r"\s?(?:/[-=]|,-{1,2}|\.-)(?![0-9])")  # 5,000/- and 20,-
_SPACES = lazy_pattern(r"[\s'’_٬]")
_BY_COMMAS = lazy_pattern(r"[1-9]\d{0,2}(,\d{3})+(\.\d{1,9})?|[1-9]\d?(,\d\d)+,\d{3}(\.\d{1,9})?")  # 1,000 and 1,00,000
_BY_POINTS = lazy_pattern(r"[1-9]\d{0,2}(\.\d{3})+,\d{1,9}|[1-9]\d{0,2}(\.\d{3}){2,}")  # 1.234,5 and 1.000.000
_SINGLE = lazy_pattern(r"\d{1,15}([.,]\d{1,9})?|[.,]\d{1,9}")  # 3, 3.5, 3,5 and .5
_EITHER = lazy_pattern(r"[1-9]\d{0,2}[.,]\d{3}")  # 1,000 and 1.000: a thousand or one, by the language
_MIXED = lazy_pattern(r"['’][0-9]{3}[.,][0-9]{3}(?![0-9])")
_CODE = lazy_pattern(r"0\d{7,}")  # no number begins so, but a phone's
_NEGATIVE = lazy_pattern(r"\s[-−–]$")
_SEPARATED = lazy_pattern(r"[,.;:!?\n]")
_PAST_MULTIPLE = frozenset(" ,-")
_CLEAR_FRACTIONS = frozenset({(1, 2), (1, 3), (1, 4), (3, 4)})  # 5/6 may be a choice or a day


def number_at(tokens: Tokens, marks: Sequence[Sequence[Mark]], start: int, words: Words, whole: bool) -> Mark | None:
    """The number that begins at a token, as long as it goes; ``whole`` reads 1.000 as a thousand in every language."""
    known = tokens.numbers
    if (start, whole) not in known:
        known[start, whole] = _number_at(tokens, marks, start, words, whole)
    found: Mark | None = known[start, whole]
    return found


def _number_at(tokens: Tokens, marks: Sequence[Sequence[Mark]], start: int, words: Words, whole: bool) -> Mark | None:
    token = tokens.tokens[start]
    if not token[0].isdigit() and not any(kind in _PARTS for _, kind, _ in marks[start]) and not words.joined:
        return None
    if (fraction := _fraction_at(tokens, start)) is not None:
        return fraction
    atoms = list(_atoms(tokens, marks, start, words, whole))
    signed = 0 if not atoms or atoms[0][0] is not None else _sign(tokens, start)
    if signed is None:
        return None
    for count in range(len(atoms), 0, -1):
        if count < len(atoms) and atoms[count][2] == atoms[count - 1][2]:
            continue  # within a word
        value = _value(atoms[:count], words)
        if count == 1 and atoms[0][0] is Kind.FRACTION and any(mark[1] is Kind.ORDINAL for mark in marks[start]):
            return None  # the fifth
        if value is not None:
            return atoms[count - 1][2], Kind.NUMBER, -value if signed < 0 else value
    return None


def _sign(tokens: Tokens, start: int) -> int | None:
    """-1 where a minus stands before figures, 0 where nothing does; None where a dash may be either."""
    gap = tokens.gap(start)
    if not gap.rstrip().endswith(("-", "−", "–")):
        return 0
    if gap.count("-") > 1:
        return None
    if start == 0 or _NEGATIVE.search(gap):
        return -1
    return None


def _fraction_at(tokens: Tokens, start: int) -> Mark | None:
    """``½``, ``1/2``, ``2 1/4``."""
    if not tokens.tokens[start][0].isdigit() or (
        tokens.text[tokens.starts[start] :].find("/") < 0 and "⁄" not in tokens.text
    ):
        return None
    found = _SIGNED_FRACTION.match(tokens.text, tokens.starts[start])
    if found is None:
        return None
    over, under = int(found[2]), int(found[3])
    sure = found[1] is not None or "⁄" in found.group() or (over, under) in _CLEAR_FRACTIONS
    if not 0 < over < under or not sure:
        return None
    value = int(found[1] or 0) + Decimal(over) / Decimal(under)
    sign = _sign(tokens, start)
    return None if sign is None else (tokens.at(found.end()), Kind.NUMBER, -value if sign < 0 else value)


def _atoms(tokens: Tokens, marks: Sequence[Sequence[Mark]], start: int, words: Words, whole: bool) -> Iterator[Atom]:
    """The pieces of a number from a token on: figures, and words that a number may be made of."""
    index = start
    last: Kind | None = Kind.AND
    large = False
    for count in range(_MOST_ATOMS):
        if index >= len(tokens.tokens):
            return
        gap = tokens.gap(index) if count else ""
        if _SEPARATED.search(gap) and not (last is Kind.MULTIPLE and large and set(gap) <= _PAST_MULTIPLE):
            return
        if count and ("-" in gap or "–" in gap) and tokens.tokens[index][0].isdigit():
            return
        found = list(_atoms_at(tokens, marks, index, words, whole, last))
        if not found:
            return
        yield from found
        last, index = found[-1][0], found[-1][2]
        large = last is Kind.MULTIPLE and _decimal(found[-1][1]) >= _THOUSAND


def _atoms_at(
    tokens: Tokens, marks: Sequence[Sequence[Mark]], index: int, words: Words, whole: bool, last: Kind | None
) -> Iterator[Atom]:
    """The pieces in one word or phrase. ``last`` is the kind of the piece before it."""
    token = tokens.tokens[index]
    if token[0].isdigit():
        if (figures := figures_at(tokens, index, words, whole)) is not None:
            yield None, figures[1], figures[0]
        return
    glued = last is None or len(token) > 1  # 5 k
    parts = [mark for mark in marks[index] if mark[1] in _PARTS and (glued or mark[1] is not Kind.MULTIPLE)]
    added = [mark for mark in parts if mark[1] is Kind.ADDED] if last in (Kind.NUMBER, Kind.MULTIPLE, None) else []
    found = next(iter([*added, *parts]), None)
    if found is not None:
        yield found[1], found[2], found[0]
    elif words.joined and len(token) > 4:
        yield from ((kind, value, index + 1) for kind, value in cut(token, words) or ())


_PARTS = PIECES | {Kind.POINT, Kind.MINUS, Kind.OVER, Kind.PLUS, Kind.TEEN, Kind.BEFORE_NUMBER}


def figures_at(tokens: Tokens, index: int, words: Words, whole: bool) -> tuple[int, Decimal] | None:
    """The number that figures say, and the index of the token behind them."""
    start = tokens.starts[index]
    gap = tokens.gap(index)
    bare = gap.endswith((".", ",", "٫")) and (gap[-2].isspace() if len(gap) > 1 else index == 0)  # .5
    if len(gap) > 1 and gap[-1] in ".," and bare is False and tokens.text[: start - 1][-1:].isdigit():
        return None
    found = _FIGURES.match(tokens.text, start)
    if found is None or len(found.group()) > _LONGEST_FIGURES:
        return None
    value = _in_figures(("." if bare else "") + found.group(), words.decimal_comma, whole)
    if value is None:
        return None
    end = found.end()
    if (price := _PRICE_END.match(tokens.text, end)) is not None:
        end = price.end()
    return tokens.at(end), value


def _in_figures(text: str, decimal_comma: bool, whole: bool) -> Decimal | None:
    if _MIXED.search(text):
        return None  # 1'000,000 is a million for some
    digits = _SPACES.sub("", text).replace("٫", ",").replace("،", ",")
    if _CODE.fullmatch(digits) or (" " in text and not _grouped(text)):
        return None
    if "٫" in text and digits.count(",") == 1 and "." not in digits:
        return Decimal(digits.replace(",", "."))
    if _EITHER.fullmatch(digits) and (whole or decimal_comma):
        return Decimal(digits.replace(".", "").replace(",", "" if whole else "."))
    if _BY_COMMAS.fullmatch(digits):
        return Decimal(digits.replace(",", ""))
    if _BY_POINTS.fullmatch(digits):
        return Decimal(digits.replace(".", "").replace(",", "."))
    return Decimal(digits.replace(",", ".")) if _SINGLE.fullmatch(digits) else None


def _grouped(text: str) -> bool:
    """True if spaces stand before groups of three figures only: 12 345, not 5 600 000 1."""
    if re.fullmatch(r"[0-9]{3} [0-9]{3}", text) and not text.endswith("000"):
        return False  # 100 200 may be two numbers
    return re.fullmatch(r"[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+(?:[.,٫][0-9]{1,9})?", text) is not None


@lru_cache(maxsize=2048)
def cut(word: str, words: Words) -> tuple[tuple[Kind, Decimal | Fraction | None], ...] | None:
    """The pieces of a number that is written as one word: ``einundzwanzig`` is ein, und, zwanzig."""
    pieces = _pieces(words)
    ends: list[tuple[tuple[Kind, Decimal | Fraction | None], ...] | None] = [None] * len(word) + [()]
    for start in range(len(word) - 1, -1, -1):
        for end in range(min(len(word), start + 20), start + 1, -1):
            rest = ends[end]
            piece = pieces.get(word[start:end])
            if rest is not None and piece is not None:
                found = (piece, *rest)
                if ends[start] is None or _makes_sense(found, words):
                    ends[start] = found
                    if _makes_sense(found, words):
                        break
    found_all = ends[0]
    return found_all if found_all is not None and len(found_all) > 1 and _makes_sense(found_all, words) else None


def _makes_sense(pieces: Sequence[tuple[Kind, Decimal | Fraction | None]], words: Words) -> bool:
    rest = list(pieces)
    while rest and rest[0][0] is Kind.AND:
        rest.pop(0)
    return not rest or _value([(kind, value, 0) for kind, value in rest], words) is not None


@lru_cache(maxsize=32)
def _pieces(words: Words) -> dict[str, tuple[Kind, Decimal | Fraction | None]]:
    found: dict[str, tuple[Kind, Decimal | Fraction | None]] = {}
    for first, phrases in words.phrases.items():
        for phrase, kind, value in phrases:
            if len(phrase) == 1 and kind in PIECES and len(first) > 1:
                found.setdefault(first, (kind, value))
    return found


def _value(atoms: Sequence[Atom], words: Words) -> Decimal | None:
    """The number that the pieces make together; None if they make no number or several."""
    if not atoms:
        return None
    kind = atoms[0][0]
    if kind in (Kind.MINUS, Kind.PLUS):
        found = _value(atoms[1:], words)
        return found if found is None or kind is Kind.PLUS else -found
    over = [index for index, atom in enumerate(atoms) if atom[0] is Kind.OVER]
    if over:
        above, below = _value(atoms[: over[0]], words), _value(atoms[over[0] + 1 :], words)
        return None if above is None or not below else _plain(above / below)  # one over three
    if any(atom[0] is Kind.POINT for atom in atoms):
        return _with_point(atoms, words)
    if atoms[-1][0] is Kind.ONE or atoms[-1][0] is Kind.AND or kind is Kind.AND:
        return None
    return _multiplied(atoms, words)


def _with_point(atoms: Sequence[Atom], words: Words) -> Decimal | None:
    """``two point five``, ``zero point nought four``, ``one point two million``."""
    place = next(index for index, atom in enumerate(atoms) if atom[0] is Kind.POINT)
    before, after = list(atoms[:place]), list(atoms[place + 1 :])
    times = Decimal(1)
    while after and after[-1][0] is Kind.MULTIPLE and len(after) > 1 and after[-1][1] and after[-1][1] >= _THOUSAND:
        times *= Decimal(after.pop()[1])  # type: ignore[arg-type]
    whole = _value(before, words) if before else Decimal(0)
    if whole is None or not after or whole != int(whole):
        return None
    zeros = ""
    while len(after) > 1 and after[0][1] == 0:
        zeros += "0"
        after.pop(0)
    if all(atom[0] in (Kind.NUMBER, None) and atom[1] is not None and 0 <= atom[1] < _TEN for atom in after):
        digits = "".join(str(int(atom[1] or 0)) for atom in after)
    else:
        rest = _value(after, words)
        if rest is None or rest != int(rest):
            return None
        digits = str(int(rest))
    return _plain(Decimal(f"{int(whole)}.{zeros}{digits}") * times)


def _plain(value: Decimal) -> Decimal:
    """500000 for 500000.0."""
    return Decimal(int(value)) if value == int(value) else value


def _multiplied(atoms: Sequence[Atom], words: Words) -> Decimal | None:
    """Pieces with multiples: the largest multiple times the number before it, plus the rest."""
    multiples = [(atom[1], -index) for index, atom in enumerate(atoms) if atom[0] is Kind.MULTIPLE]
    if not multiples:
        return _small(atoms, words)
    if atoms[0][0] is Kind.NUMBER and len(atoms) > 1 and (room := _room(_decimal(atoms[0][1]))) >= _HUNDRED:
        more = _value(atoms[2:] if atoms[1][0] is Kind.AND else atoms[1:], words)  # seribu lima ratus
        clear = atoms[1][0] is Kind.AND or room < _MILLION or more is None or not _is_short(more)
        if more is not None and 0 < more < room and clear:
            return _plain(_decimal(atoms[0][1]) + more)
    if atoms[-1][0] is Kind.MULTIPLE and atoms[-1][1] == _DOZEN:
        clear = len(atoms) > 1 and all(atom[0] is not Kind.AND for atom in atoms)  # 300 and two dozen
        times = _coefficient(atoms[:-1], words) if clear else None
        return None if times is None else _plain(times * _DOZEN)
    if any(value == _DOZEN for value, _ in multiples):
        return None  # two dozen of 10
    value, place = max(multiples)
    index = -place
    assert isinstance(value, Decimal)
    if sum(found == value for found, _ in multiples) > 1:
        return None
    times = _coefficient(atoms[:index], words)
    if times is None or (times >= value and atoms[0][0] is not None):
        return None
    rest = list(atoms[index + 1 :])
    if not rest:
        return None if index == 0 and value > _THOUSAND else _plain(times * value)  # millions are no number
    joined = rest[0][0] is Kind.AND
    if joined:
        rest = rest[1:]
    if not rest:
        return None
    if (joined or rest[0][0] is Kind.ADDED) and value >= _MILLION and (part := _part(rest)) is not None:
        return _plain((times + part) * value)  # three million and a half
    more = _value(rest, words)
    if more is None or not 0 < more < value or (_part(rest) is not None and not (joined and value == _HUNDRED)):
        return None
    if [atom[0] for atom in rest] == [None] and not joined and more * _TEN < value:
        return None  # 2 thousand 500, but not 5k 6
    if value >= _MILLION and not joined and _is_short(more):
        return None  # a million two hundred may have two hundred thousand
    return _plain(times * value + more)


def _is_short(more: Decimal) -> bool:
    """True for a number that may be said without its thousands: two, or two hundred."""
    return more < _TEN or (more < _THOUSAND and more % _HUNDRED == 0)


def _coefficient(atoms: Sequence[Atom], words: Words) -> Decimal | None:
    """The number before a multiple: one where there is none, or an article."""
    if not atoms or (len(atoms) == 1 and atoms[0][0] is Kind.ONE):
        return Decimal(1)
    if len(atoms) == 1 and atoms[0][0] is Kind.BEFORE_NUMBER:
        return 1 + _decimal(atoms[0][1])
    found = _value(atoms, words)
    return None if found is None or found <= 0 else found


def _part(atoms: Sequence[Atom]) -> Decimal | None:
    """``a half``, ``three quarters``, ``one third``."""
    kinds = [atom[0] for atom in atoms]
    if not kinds or kinds[-1] not in (Kind.FRACTION, Kind.ADDED):
        return None
    part = _decimal(atoms[-1][1])
    if kinds in ([Kind.FRACTION], [Kind.ADDED], [Kind.ONE, Kind.FRACTION]):
        return part
    if len(atoms) == 2 and kinds[0] in (Kind.NUMBER, None) and kinds[1] is Kind.FRACTION:
        count = _decimal(atoms[0][1])
        if count != int(count) or not 0 < count * part < 1:
            return None
        return _decimal(Fraction(int(count)) * Fraction(atoms[-1][1] or 0))
    return None


def _decimal(value: Decimal | Fraction | None) -> Decimal:
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    assert value is not None
    return value


def _small(atoms: Sequence[Atom], words: Words) -> Decimal | None:
    """Pieces without multiples: ``twenty-one``, ``one and twenty``, ``two and a half``, ``साढ़े तीन``."""
    if (part := _part(atoms)) is not None:
        return part
    kinds = [atom[0] for atom in atoms]
    if kinds[0] is Kind.BEFORE_NUMBER:
        rest = _small(atoms[1:], words) if len(atoms) > 1 else Decimal(1)
        return None if rest is None or rest != int(rest) else rest + _decimal(atoms[0][1])
    if kinds[-1] is Kind.ADDED:
        whole = _small(atoms[:-1], words)
        return None if whole is None or whole != int(whole) else whole + _decimal(atoms[-1][1])
    if Kind.FRACTION in kinds:
        for index in range(len(atoms) - 1, 0, -1):
            if kinds[index] is Kind.AND and (part := _part(atoms[index + 1 :])) is not None:
                whole = _small(atoms[:index], words)
                if (
                    len(atoms) - index > 2
                    and kinds[index + 1] is not Kind.ONE
                    and _added(atoms[:-1], words) is not None
                ):
                    return None  # a hundred and two fifths may be 102 of them
                return None if whole is None or whole != int(whole) else whole + part
        return None
    return _added(atoms, words)


def _added(atoms: Sequence[Atom], words: Words) -> Decimal | None:
    """Numbers that follow each other, each smaller than the zeros of the one before it."""
    kinds = [atom[0] for atom in atoms]
    if len(atoms) == 1:
        return atoms[0][1] if kinds[0] in (None, Kind.NUMBER) and isinstance(atoms[0][1], Decimal) else None
    if None in kinds:
        return None  # figures are not added to figures: 5 6
    if kinds == [Kind.NUMBER, Kind.TEEN]:
        return _TEN + _decimal(atoms[0][1]) if 0 < _decimal(atoms[0][1]) < _TEN else None
    if words.unit_first and kinds[-3:] == [Kind.NUMBER, Kind.AND, Kind.NUMBER]:
        unit, tens = _decimal(atoms[-3][1]), _decimal(atoms[-1][1])
        if 0 < unit < _TEN and tens % _TEN == 0 and _TEN < tens < _HUNDRED:
            return _onto([*atoms[:-3], (Kind.NUMBER, tens + unit, atoms[-1][2])], words)
    return _onto(atoms, words)


def _onto(atoms: Sequence[Atom], words: Words) -> Decimal | None:
    """The sum of pieces. Where the unit is said first, none follows the tens."""
    total, room, after_and = Decimal(0), None, True
    for kind, value, _ in atoms:
        if kind is Kind.AND and not after_and:
            after_and = True
            continue
        if kind is not Kind.NUMBER or not isinstance(value, Decimal) or (room is not None and not 0 < value < room):
            return None
        total += value
        room = Decimal(0) if (words.unit_first or words.tens_alone) and value < _HUNDRED else _room(value)
        after_and = False
    return None if after_and else total


def _room(value: Decimal) -> Decimal:
    """The bound of a number that may be added to one with zeros at its end: 10 for twenty, 100 for two hundred."""
    if value != int(value) or value < 20:
        return Decimal(0)
    if value in (60, 80):
        return Decimal(20)  # soixante-dix, quatre-vingt-onze
    number, room = int(value), 1
    while number % 10 == 0:
        number //= 10
        room *= 10
    return Decimal(room)
