"""The checks of a model's text: no secret, not its instructions, no address of another's."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from itertools import accumulate

from publicsuffixlist import PublicSuffixList

from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import TEXT_BODY, TextMessage
from bot.core.text import head, in_letters, without_invisible

DATA_MARKS = "⟦⟧"  # a value stands between them among the instructions
MOST_VALUE = 300  # characters of a value that stands among the instructions, or in a text of the flow
CUT = "…"  # ends an answer that reached the model's length
_TAIL = ".,;:!?*_~"
_STOPS = r"\s<>\"'`()\[\]{}，。！？；：、（）【】「」『』《》"  # what an address ends at
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # letters that no space comes before
# patterns of what only models write are texts: each is compiled when it is first used, not when a bot starts
_SCHEMED = rf"""(?ix)(?:[a-z][a-z0-9+.-]{{0,20}}:[/\\]{{2}}|(?<![a-z0-9])www\.)(?:\[[^\s\[\]]{{2,60}}\][^{_STOPS}]*|[^{_STOPS}]+)
    |(?<!\w)(?:(?:javascript|vbscript|mailto|smsto):(?=\S)|data:(?=[a-z]+/)|file:(?=/)|(?-i:tel|sms):(?=[+\d]))[^{_STOPS}]*
    |(?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![\w]|\.\d)(?:[:/?#][^{_STOPS}]*)?"""
_LETTER = r"\w\u0300-\u036f\u0900-\u0963\u0966-\u0dff"  # with the vowel signs of India's scripts
_DOMAIN = rf"""(?ix)(?:(?<![{_LETTER}@-])(?<!\w\.)|(?<=[{UNSPACED}]))
    ((?:[{_LETTER}](?:[{_LETTER}-]{{0,61}}[{_LETTER}])?\.)+(?:xn--[a-z0-9-]{{1,59}}|[a-z]{{2,24}}|(?![a-z\d_])[{_LETTER}]{{2,24}}))
    (?![\w.+-]{{0,64}}@)((?::\d{{1,5}})?/[^{_STOPS}]*)?"""
_WIDE_DOT = r"(?i)(?<=[^\W_])[\u3002\uff0e\uff61](?=[a-z0-9])"
_ACCOUNT = r"""(?x)(?<![\w@.+-])(?:
    (?P<mail>[\w.+-]{1,64}@(?:[\w-]{1,63}\.)+[\w-]{2,63}) | (?P<handle>@[A-Za-z0-9_.]{3,64})
    | (?P<iban>[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]){11,30}) | (?P<figures>(?:\+|\(?\d)[\d ().\-/]{6,28}\d)
    | (?P<wallet>0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34})
)(?!\w)"""
_MARKUP = lazy_pattern(r"\*\*|__|<br|^[^\S\n]*[#|]|\A(?:assistant|model)\b", re.MULTILINE | re.IGNORECASE)
_ROLE = lazy_pattern(r"\A(?:assistant|model)\s*[:\n]\s*", re.IGNORECASE)
_DATA_MARK = lazy_pattern(rf"[{DATA_MARKS}]|\\u27e[67]", re.IGNORECASE)
_TAGS = lazy_pattern("(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)|[\U000e0000-\U000e007f]")
_BREAK = lazy_pattern(r"<br\s*/?>", re.IGNORECASE)
_RULE = lazy_pattern(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*")  # the line below the head of a table
_ROW = lazy_pattern(r"\s*\|(.+)\|\s*")
_HEADING = lazy_pattern(r"\s*(?:#{2,6}\s+|#\s+(?!\d))(.*)")
_STRONG = lazy_pattern(r"\*\*(?=\S)(.{1,1000}?)(?<=\S)\*\*|(?<!\w)__(?=\S)(.{1,1000}?)(?<=\S)__(?!\w)")
_VALUE = lazy_pattern(r"\{[{%].*?[}%]\}", re.DOTALL)


def without_data_marks(text: str) -> str:
    """A model's text or JSON without the marks around values and invisible tag characters, except in flags."""
    return _TAGS.sub(r"\1", _DATA_MARK.sub("", text))


def one_line(text: str, most: int = MOST_VALUE) -> str:
    """The beginning of a text that others have written, in one line, and with nothing that hides."""
    return head(without_data_marks(without_invisible(" ".join(text.split()))), most)


def as_data(text: str) -> str:
    """A text between the marks that tell a model that it is data: ``⟦Ann⟧``."""
    return f"{DATA_MARKS[0]}{text}{DATA_MARKS[1]}" if text.strip() else text


def links_in(text: str) -> Iterator[str]:
    """Every address in a text as it is written, with or without its scheme. An e-mail address is not a link."""
    for found in re.finditer(_SCHEMED, text):
        if found[0][0].isalpha() or _is_ip(found[0]):
            yield found[0].rstrip(_TAIL)
    for found in re.finditer(_DOMAIN, re.sub(_SCHEMED, " ", text)):
        if found[2] or _is_domain(found[1]):
            yield found[0].rstrip(_TAIL)


def without_tappable_words(text: str, hosts: Iterable[str], known: Collection[str]) -> str:
    """The text with a space after the dot of words that are read as addresses, and were most likely not meant so.

    ``Thanks.it is in ASP.NET`` -> ``Thanks. it is in ASP. NET``. Such words are two, the second has two letters, or
    both are capitals, and nothing else shows an address.
    """
    names, ours = _allowed(hosts, known)

    def apart(found: re.Match[str]) -> str:
        label, _, ending = found[1].partition(".")
        doubtful = "." not in ending and (len(ending) == 2 or (found[1].isupper() and len(ending) <= 3))
        foreign = _is_domain(found[1]) and _bare(found[0]) not in ours and not _is_of(found[0], names)
        return f"{label}. {ending}" if doubtful and foreign and not found[2] else found[0]

    return re.sub(_DOMAIN, apart, text)


def accounts_in(text: str) -> Iterator[str]:
    """Each phone number, bank account, card, wallet, handle and e-mail address in a text, without spaces and signs.

    ``Pay DE89 3704 0044 0532 0130 00`` has ``de89370400440532013000``.
    """
    plain = unicodedata.normalize("NFKC", without_invisible(text))
    for found in re.finditer(_ACCOUNT, plain):
        bare = re.sub(r"[\s().\-/]", "", found[0]) if found["figures"] or found["iban"] else found[0]
        if found["iban"] and not _is_iban(bare):
            continue
        if found["figures"] and not (_is_phone(found[0]) or _is_card(bare)):
            continue
        yield bare.lower().rstrip(".").removeprefix("+").removeprefix("00")


def addresses_in(text: str) -> tuple[str, ...]:
    """The web addresses and accounts in a text. A model may send them if the text is ours."""
    return (*links_in(text), *accounts_in(text))


def without_addresses(text: str) -> str:
    """The text without its web addresses and accounts: their figures are no values."""
    for link in links_in(text):
        text = text.replace(link, " ")
    return re.sub(_ACCOUNT, lambda found: " " if next(accounts_in(found[0]), None) else found[0], text)


def foreign_account(text: str, known: Iterable[str]) -> str | None:
    """The first phone number, bank account, card, wallet, handle or e-mail address that our side did not give."""
    ours = frozenset(known)
    return next((found for found in accounts_in(text) if found not in ours), None)


def _is_iban(bare: str) -> bool:
    moved = bare[4:] + bare[:4]
    return 15 <= len(bare) <= 34 and int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


def _is_phone(written: str) -> bool:
    """True for a number in the international form, or a national one: a zero and eight figures, and no day."""
    figures = re.sub(r"\D", "", written)
    is_day = re.match(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b", written)
    return not is_day and (
        8 <= len(figures) <= 15 if written.startswith(("+", "00")) else written[0] in "0(" and 9 <= len(figures) <= 13
    )


def _is_card(bare: str) -> bool:
    """True for 13 to 19 figures with the last one as cards have it (Luhn)."""
    if not (13 <= len(bare) <= 19 and bare.isdecimal()):
        return False
    doubled = (int(char) * (1 + place % 2) for place, char in enumerate(reversed(bare)))
    return sum(figure // 10 + figure % 10 for figure in doubled) % 10 == 0


def in_chat_form(text: str) -> str:
    """The text with Markdown and HTML as a chat app shows them: ``### **Prices**<br>`` is ``*Prices*``.

    A table is one line a row. The name of the role at the beginning goes.
    """
    if not _MARKUP.search(text):
        return text
    lines = []
    for line in _BREAK.sub("\n", _ROLE.sub("", text)).split("\n"):
        if _RULE.fullmatch(line):
            continue
        if row := _ROW.fullmatch(line):
            line = " · ".join(cell for cell in map(str.strip, row[1].split("|")) if cell)
        if heading := _HEADING.fullmatch(line):
            title = heading[1].rstrip("#").rstrip()
            line = f"*{_STRONG.sub(_inner, title)}*" if title else ""
        lines.append(_STRONG.sub(lambda found: f"*{_inner(found)}*", line))
    return "\n".join(lines)


def _inner(found: re.Match[str]) -> str:
    return found[1] or found[2]


def written_links(source: str, rendered: str) -> Iterator[str]:
    """The addresses of a rendered text that its author wrote: whole, or up to a value in the path.

    An address that a value brings is a contact's or a service's: ``See {{ order.note }}`` gives none.
    """
    begun = []
    for written in _VALUE.split(source)[:-1]:
        link = next((link for link in links_in(written) if written.endswith(link)), "")
        if re.search("[/?#]", _without_scheme(link)):
            begun.append(link)
    for link in links_in(rendered):
        if link in source or any(link.startswith(each) for each in begun):
            yield link


def foreign_link(text: str, hosts: Iterable[str], known: Collection[str]) -> str | None:
    """The first address that is neither of an allowed host nor one that our own side gave the model.

    The text is read as it is written, and as it looks: without what cannot be seen, and with plain letters.
    """
    names, ours = _allowed(hosts, known)
    for reading in dict.fromkeys((text, _looks(text))):
        for link in links_in(reading):
            if _bare(link) not in ours and not _is_of(link, names):
                return link
    return None


def _allowed(hosts: Iterable[str], known: Iterable[str]) -> tuple[list[str], set[str]]:
    """The hosts and the addresses that may be sent, in the form in which they are compared."""
    names = [host.lower().removeprefix("www.") for host in hosts]
    return names, {_bare(link) for each in known for link in (each, _looks(each))}


def _looks(text: str) -> str:
    plain = unicodedata.normalize("NFKC", re.sub(_WIDE_DOT, ".", without_invisible(text)))
    return re.sub(r"[*~`]", "", plain)  # marks of bold, struck and fixed text: a chat app does not show them


def _is_domain(host: str) -> bool:
    """True if it ends as domains do. ``Yes.No`` is a sentence without its space, although there is ``.no``."""
    *labels, ending = host.split(".")
    sentence = len(ending) == 2 and ending.istitle() and len(labels) == 1
    return not sentence and (ending.lower().startswith("xn--") or _is_ending(ending.lower()))


@lru_cache(maxsize=1024)
def _is_ending(ending: str) -> bool:
    """True if domains end so, by the public suffix list."""
    try:
        return _public_suffixes().publicsuffix(f"x.{ending}") is not None
    except UnicodeError:  # an ending that cannot be encoded as domains are
        return False


@cache
def _public_suffixes() -> PublicSuffixList:
    """The public suffix list; a twentieth of a second is needed to read it."""
    return PublicSuffixList(accept_unknown=False)


def _is_ip(address: str) -> bool:
    """True if digits and dots are an IP address, and no version or amount (10.000.000.000)."""
    parts = re.findall(r"\d+", address)[:4]
    grouped = re.fullmatch(r"\d+(\.\d{3}){3}", address)
    return not grouped and all(int(part) < 256 and str(int(part)) == part for part in parts)


def _is_of(link: str, names: Iterable[str]) -> bool:
    """True if an address is of one of these hosts, or of one below them."""
    authority = re.split(r"[/?#\\]", _without_scheme(link), maxsplit=1)[0].lower()
    host = re.sub(r"(?::\d{1,5})?$", "", authority).strip("_").rstrip(".").removeprefix("www.")
    if _without_scheme(link) == link:
        host = re.sub(f"^[^.]*[{UNSPACED}]", "", host)  # words before it, which their script does not set off
    return any(host == name or _is_below(host, name) for name in names)


def _is_below(host: str, name: str) -> bool:
    return host.endswith(f".{name}") and re.fullmatch("[a-z0-9.-]+", host.removesuffix(name)) is not None


def _bare(link: str) -> str:
    """An address without what a model may write in one way or another."""
    return _without_scheme(link).lower().removeprefix("www.").rstrip(_TAIL + "/")


def _without_scheme(link: str) -> str:
    return re.sub(r"^[a-z0-9+.-]*https?://", "", link, flags=re.IGNORECASE)


RUN = 5  # words that stand together: a run
FEWEST = 40  # words: of shorter instructions no share is taken
LONG = 8  # letters and digits: a secret of so many is found within longer words, too
_BLANK_LINE = lazy_pattern(r"\n[ \t]*\n\s*")
_BEYOND_ASCII = lazy_pattern(r"[^\x00-\x7f]")
_WORD = rf"[{UNSPACED}]|[^\W_{UNSPACED}]+"
_ALIKE = str.maketrans("авекмнорстухіјѕԁԛԝαεικνορτυχıł", "abekmhopctyxijsdqwaeiknoptuxil")
_SAME = str.maketrans("1i0", "llo")  # Unicode's table holds `I`, `l` and `1` to be one, and `O` and `0`


def leaks(text: str, instructions: str) -> bool:
    """True if a text has half of the instructions in it, by their runs of five words.

    A letter of a script without spaces is a word. Instructions of less than 40 words are no secret as a whole.
    """
    runs = _runs(instructions)
    return len(runs) > FEWEST - RUN and 2 * len(runs & _runs(text)) >= len(runs)


def secret_in(text: str, secrets: Sequence[str]) -> int | None:
    """Which of some secrets stands in a text, however it is written, spaced or marked. None: none does."""
    readings: list[Callable[[str], list[str]]] = [_words]
    if not text.isascii() and not _look_alikes().keys().isdisjoint(map(ord, text)):
        readings.append(_words_as_they_look)
    return next((found for read in readings if (found := _found(text, secrets, read)) is not None), None)


def _found(text: str, secrets: Sequence[str], read: Callable[[str], list[str]]) -> int | None:
    words = read(text)
    starts = list(accumulate(map(len, words), initial=0))
    joined, bounds = "".join(words), frozenset(starts)
    for number, secret in enumerate(secrets):
        letters = "".join(read(secret))
        if letters and any(
            len(letters) >= LONG or bounds >= {start, start + len(letters)} for start in _all_of(letters, joined)
        ):
            return number
    return None


def as_it_looks(text: str) -> str:
    """The text with a Latin letter for each that looks like one, in words that have a Latin letter."""
    plain = unicodedata.normalize("NFKC", without_invisible(text))
    if plain.isascii() or _look_alikes().keys().isdisjoint(map(ord, plain)):
        return plain
    return re.sub(r"\S*[a-zA-Z]\S*", lambda word: word[0].translate(_look_alikes()), plain)


def has_letters(text: str) -> bool:
    """True if there are two letters or digits at least to compare a secret by."""
    return sum(map(len, _words(text))) > 1


def canary(flow: str, step: str) -> str:
    """The mark that stands among a step's rules: where it is said, the rules are."""
    return in_letters(sha256(f"{flow}/{step}".encode()).hexdigest())


def messages_of(text: str, most: int) -> tuple[TextMessage, ...]:
    """A text as messages, one for each paragraph: at most ``most``, unless the gateway's limit on length needs more."""
    paragraphs = [paragraph.strip() for paragraph in _BLANK_LINE.split(text.strip()) if paragraph.strip()]
    kept = paragraphs[: most - 1]
    if rest := paragraphs[most - 1 :]:
        kept.append("\n\n".join(rest))
    return tuple(TextMessage(piece) for paragraph in kept for piece in _pieces(paragraph))


def _words(text: str) -> list[str]:
    """The words as they are read, whatever stands in or between them; each letter of a script without spaces is one."""
    plain = unicodedata.normalize("NFKD", without_invisible(text)).casefold()
    return re.findall(_WORD, _BEYOND_ASCII.sub(_plain, plain).translate(_ALIKE))


def _words_as_they_look(text: str) -> list[str]:
    """The words with a Latin letter for each that looks like it, by Unicode's table."""
    plain = unicodedata.normalize("NFKD", without_invisible(text)).translate(_look_alikes()).casefold()
    return re.findall(_WORD, _BEYOND_ASCII.sub(_plain, plain).translate(_SAME))


@cache
def _look_alikes() -> Mapping[int, str]:
    """The letters that look like a Latin letter or a digit, by Unicode's table of confusables."""
    from confusable_homoglyphs.confusables import confusables_data  # large: not before a model has said such a letter

    found: dict[int, str] = {}
    for char, likes in confusables_data.items():
        plain = next((like["c"] for like in likes if like["c"].isascii() and like["c"].isalnum()), None)
        if plain is not None and len(char) == len(plain) == 1 and not char.isascii():
            found[ord(char)] = plain
    return found


def _plain(found: re.Match[str]) -> str:
    """A character without its accent; a digit of any script as ours."""
    char = found[0]
    return "" if unicodedata.combining(char) else str(unicodedata.decimal(char, char))


@lru_cache(maxsize=64)
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _words(text)
    return frozenset(tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))


def _all_of(part: str, text: str) -> Iterator[int]:
    """The positions of a part in a text, overlapping ones too."""
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


def _pieces(text: str) -> Iterator[str]:
    while len(text) > TEXT_BODY:
        start = head(text, TEXT_BODY)
        cut = max(start.rfind(end) + len(end) for end in ("\n", ". ", "! ", "? "))
        if cut < TEXT_BODY // 2:
            cut = max(start.rfind(" ") + 1, len(head(text, TEXT_BODY // 2)))
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    yield text
