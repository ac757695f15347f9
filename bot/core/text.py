"""Text from outside, read tolerantly and made fit to be stored; how many tokens a text is."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from bot.core.lazy_patterns import lazy_pattern, unicode_pattern

KEPT_CHARACTERS = 64 * 1024
_LONG_SECRET = 8  # characters; a shorter one may be a part of an ordinary word
_LETTERS = str.maketrans("0123456789", "ghijklmnop")
_MOST_DIGITS = 15
_NUMBER = lazy_pattern(rf"\+?([0-9]{{1,{_MOST_DIGITS}}})")
_PHONE = lazy_pattern(r"[1-9][0-9]{6,14}")
_SEPARATORS = str.maketrans("", "", " -().\u00a0")
_UNSEEN = lazy_pattern("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and marks that turn the direction of writing: with them a name could look like another one."""

_INVISIBLE = lazy_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_NEVER_MEANT = lazy_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufeff\uffa0\ufff0-\ufffb]"
)
_ENDS = lazy_pattern("^[\\s\u200c\u200d\ufe0e\ufe0f]+|(?<![\\s\u200c\u200d])[\\s\u200c\u200d]+$")
_LINE_ENDS = dict.fromkeys(map(ord, "\v\f\x85\u2028\u2029"), "\n")
_CONTROLS = dict.fromkeys(
    [*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
)
_TAKEN_OUT = {**_CONTROLS, **_LINE_ENDS, ord("\n"): "\n", ord("\t"): "\t"}
_BREAK = lazy_pattern("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_NO_PARAMETER = lazy_pattern("[\t\n\r\v\f\x1c-\x1f\x85\u2028\u2029]| {5}")
_SPACES = lazy_pattern("[ \t\n\r\v\f\x1c-\x1f\x85\u2028\u2029]+")
_JOINERS = lazy_pattern("[\u200c\u200d\ufe0e\ufe0f]")
_ACCENTS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_HEAP = lazy_pattern(f"([{_ACCENTS}]{{2}})[{_ACCENTS}]+")


_CLUSTER = unicode_pattern(r"\X")


def head(text: str, limit: int) -> str:
    """The beginning of a text: at most so many characters, and no part of what a reader sees as one character: a flag,
    a family, a letter with its accents (an extended grapheme cluster of Unicode). One that is longer than that alone is
    cut.

    ``head("Ciao 👨‍👩‍👧!", 7)  -> "Ciao "``
    """
    if len(text) <= limit or text.isascii():
        return text[:limit]
    start = next((place for place in range(limit - 1, 0, -1) if text[place].isascii() and text[place - 1].isascii()), 0)
    end = start  # a cluster begins here, so that not all of the text has to be looked at
    for cluster in _CLUSTER.finditer(text, start):
        if cluster.end() > limit:
            break
        end = cluster.end()
    return text[: end or limit]


def clean(text: str, limit: int = KEPT_CHARACTERS) -> str:
    """The text without NULs, with U+FFFD for halves of surrogate pairs, and cut at ``limit`` characters."""
    if text.isascii():  # as most are
        return text[:limit].replace("\0", "")
    text = head(text, limit).replace("\0", "")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def line(value: Any, limit: int) -> str | None:
    """A text on one line, without invisible characters; None if it is no text, or empty."""
    if not isinstance(value, str):
        return None
    return head(_UNSEEN.sub("", " ".join(clean(value, 4 * limit).split())), limit).strip() or None


def parameter_line(text: str) -> str:
    """The text of a template's parameter as the platform takes it: on one line, with at most four spaces in a row.

    One that breaks this gets single spaces: ``"one\n two"  -> "one two"``.
    """
    return " ".join(_SPACES.split(text)).strip() if _NO_PARAMETER.search(text) else text


def without_secret(text: str, secret: str, shown: str) -> str:
    """The text with ``shown`` in place of a secret. A short one is replaced only where it stands alone: the key ``k``
    is no part of "taken".
    """
    if not secret or secret not in text:
        return text
    if len(secret) >= _LONG_SECRET:
        return text.replace(secret, shown)
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", lambda match: shown, text)


def without_controls(text: str) -> str:
    """A text without control characters and without those that turn the direction of writing.

    Line ends of all kinds are ``\\n``. Cutting a text first and joining its parts then changes nothing.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_TAKEN_OUT)


def printable(text: str) -> str:
    """A text without characters that move a terminal's cursor or colour it. Joiners of letters and emoji stay."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t\u200c\u200d")


def without_invisible(text: str) -> str:
    """A text without the characters that take no room, or show nothing where they stand."""
    return _INVISIBLE.sub("", text)


def as_meant(text: str) -> str:
    """A text without spaces around it and without invisible characters, but for those that join letters or emoji."""
    return _ENDS.sub("", _NEVER_MEANT.sub("", text))


def is_blank(text: str) -> bool:
    """True if a text shows nothing."""
    return not without_invisible(text).strip()


def visible(text: str) -> str:
    """A text in one line in which nothing hides: ``⏎`` for a line break, ``\ufffd`` for what cannot be seen or turns
    the writing.

    Characters that join letters or emoji are left out, and at most two accents on a letter are kept: more would cover
    the lines around it.
    """
    text = " ".join(_BREAK.sub(" ⏎ ", text).split())
    if text.isascii() and text.isprintable():
        return text
    text = _HEAP.sub(r"\1", _INVISIBLE.sub("\ufffd", _JOINERS.sub("", text)))
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, the names in it included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each text in it changed, except the names in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: with_texts(item, change) for name, item in value.items()}
    return [with_texts(item, change) for item in value] if isinstance(value, list) else value


def json_object(content: bytes | str) -> dict[str, Any]:
    """The JSON object in a text; an empty one if there is none."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(content)  # which takes more than the standard: NaN, half of a surrogate pair
        except (ValueError, RecursionError):  # no JSON, no UTF-8, a number of 5,000 digits, 100,000 brackets
            return {}
    return value if isinstance(value, dict) else {}


def is_phone(number: str) -> bool:
    """True if a message can go to a number of digits only (spec: Phone number format)."""
    return _PHONE.fullmatch(number) is not None


_SENDER = lazy_pattern(r"(?![0-9]+$)[A-Za-z0-9._@:+=~-]{1,128}")


def sender_id(value: Any) -> str | None:
    """The name of a sender that is no phone number, as it came: a user name, or a business-scoped id (``US.1a2b``)."""
    return value if isinstance(value, str) and _SENDER.fullmatch(value) else None


_BRAZIL = lazy_pattern(r"(55[1-9]{2})(9?)([6-9]\d{7})")
_MEXICO = lazy_pattern(r"(52)(1?)(\d{10})")


def in_one_form(number: str) -> str:
    """A phone number in one form: with the 9 of mobile numbers in Brazil, without the 1 of those in Mexico."""
    if number.startswith(("55", "52")):
        if found := _BRAZIL.fullmatch(number):
            return f"{found[1]}9{found[3]}"
        if found := _MEXICO.fullmatch(number):
            return f"{found[1]}{found[3]}"
    return number


def other_form(number: str) -> str | None:
    """The other form of a number that has two (see `in_one_form`)."""
    if not number.startswith(("55", "52")):
        return None
    if (one := in_one_form(number)) != number:
        return one
    if found := _BRAZIL.fullmatch(number):
        return f"{found[1]}{found[3]}"
    return f"521{number[2:]}" if _MEXICO.fullmatch(number) else None


def is_contact(text: str) -> bool:
    """True if the store may know a contact by this: its digits, or its `sender_id`."""
    return text.isdecimal() or sender_id(text) is not None


def digits(value: Any) -> str | None:
    """The digits of a phone number, without other signs; None for anything else (spec: Phone number format)."""
    if isinstance(value, str) and value.isdecimal() and value.isascii():  # as the gateway writes it
        return value if len(value) <= _MOST_DIGITS else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    found = _NUMBER.fullmatch(value.translate(_SEPARATORS)) if isinstance(value, str) else None
    return found[1] if found else None


def in_letters(digest: str) -> str:
    """The beginning of a hexadecimal digest, as twelve letters: the log could take digits for a phone number."""
    return digest[:12].translate(_LETTERS)


_EACH = 4  # tokens around a message
_ADDED = 1000  # by a service to a question, to explain its tools, for example


def estimate(text: str) -> int:
    """A text's tokens: about four characters each in plain English, and one or two for each other character."""
    plain = len(text) if text.isascii() else sum(character < "\u0250" for character in text)
    return -(-plain // 4) + (len(text) - plain)


def estimate_messages(messages: Iterable[Mapping[str, Any]]) -> int:
    """The tokens of messages in the wire form, with the calls that stand in them."""
    return sum(map(_of_message, messages))


PICTURE = "picture"  # the key of a message that has the address of one
PICTURE_TOKENS = 1_500  # of a large one


def _of_message(message: Mapping[str, Any]) -> int:
    shown = PICTURE_TOKENS if PICTURE in message else 0
    called = [call["function"]["name"] + call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return shown + _EACH + estimate(str(message.get("content") or "")) + sum(_EACH + estimate(text) for text in called)


def most_tokens(prompt_tokens: int, max_tokens: int) -> int:
    """The most that a request counts: a letter is four tokens at worst, and a service may add a text."""
    return 4 * prompt_tokens + _ADDED + max_tokens


_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would run


def guarded_cell(cell: str) -> str:
    """A cell that no spreadsheet runs as a formula: an apostrophe in front keeps it from that."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def unguarded_cell(cell: str) -> str:
    """A cell without the apostrophe of `guarded_cell`."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
