"""The checks of a model's text: no secret, not its instructions, no address of another's."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate

from bot.core.messages import TEXT_BODY, TextMessage
from bot.core.text import head, in_letters, without_invisible

CUT = "…"  # ends an answer that reached the model's length
_TAIL = ".,;:!?*_~"
_STOPS = r"\s<>\"'`()\[\]{}，。！？；：、（）【】「」『』《》"  # what an address ends at
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # letters that no space comes before
# patterns of what only models write are texts: each is compiled when it is first used, not when a bot starts
_SCHEMED = rf"""(?ix)(?:[a-z][a-z0-9+.-]{{0,20}}:[/\\]{{2}}|(?<![a-z0-9])www\.)(?:\[[^\s\[\]]{{2,60}}\][^{_STOPS}]*|[^{_STOPS}]+)
    |(?<!\w)(?:(?:javascript|vbscript|mailto|smsto):(?=\S)|data:(?=[a-z]+/)|file:(?=/)|(?-i:tel|sms):(?=[+\d]))[^{_STOPS}]*
    |(?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![\w]|\.\d)(?:[:/?#][^{_STOPS}]*)?"""
_LETTER = r"\w\u0300-\u036f"
_DOMAIN = rf"""(?ix)(?:(?<![{_LETTER}@-])(?<!\w\.)|(?<=[{UNSPACED}]))
    ((?:[{_LETTER}](?:[{_LETTER}-]{{0,61}}[{_LETTER}])?\.)+(?:xn--[a-z0-9-]{{1,59}}|[a-z]{{2,24}}|(?![a-z])[^\W\d_]{{2,24}}))
    (?![\w.+-]{{0,64}}@)((?::\d{{1,5}})?/[^{_STOPS}]*)?"""
_WIDE_DOT = r"(?i)(?<=[^\W_])[\u3002\uff0e\uff61](?=[a-z0-9])"
_ENDINGS = """
    com net org info biz edu gov mil int name pro mobi asia app dev page web site website online shop store tech cloud
    link click live club xyz top vip win bid loan money bank pay cash finance credit exchange market trade icu cyou
    buzz space fun host press today world life work works zone center help support email news blog chat social media
    agency group company digital network services solutions systems software download stream video games game bet
    casino poker sale deals discount gift gifts promo cheap guru ninja rocks lol monster quest rest bar cafe pizza
    travel tours delivery express direct global international foundation charity church africa arpa
    ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd
    cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge
    gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh
    ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw
    mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb
    sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk
    us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw
    рф рус онлайн сайт москва укр бел срб қаз бг ею 中国 中國 公司 网络 网址 商城 香港 台湾 台灣 한국 भारत ไทย 新加坡
"""
_VALUE = re.compile(r"\{[{%].*?[}%]\}", re.DOTALL)
_KNOWN_ENDINGS = frozenset(_ENDINGS.split())


def links_in(text: str) -> Iterator[str]:
    """Every address in a text as it is written, with or without its scheme. An e-mail address is not a link."""
    for found in re.finditer(_SCHEMED, text):
        if found[0][0].isalpha() or _is_ip(found[0]):
            yield found[0].rstrip(_TAIL)
    for found in re.finditer(_DOMAIN, re.sub(_SCHEMED, " ", text)):
        if found[2] or _is_domain(found[1]):
            yield found[0].rstrip(_TAIL)


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
    names = [host.lower().removeprefix("www.") for host in hosts]
    ours = {_bare(link) for each in known for link in (each, _looks(each))}
    for reading in dict.fromkeys((text, _looks(text))):
        for link in links_in(reading):
            if _bare(link) not in ours and not _is_of(link, names):
                return link
    return None


def _looks(text: str) -> str:
    plain = unicodedata.normalize("NFKC", re.sub(_WIDE_DOT, ".", without_invisible(text)))
    return re.sub(r"[*~`]", "", plain)  # marks of bold, struck and fixed text: a chat app does not show them


def _is_domain(host: str) -> bool:
    """True if it ends as domains do. ``Yes.No`` is a sentence without its space, although there is ``.no``."""
    *labels, ending = host.split(".")
    sentence = len(ending) == 2 and ending.istitle() and len(labels) == 1
    return not sentence and (ending.lower() in _KNOWN_ENDINGS or ending.lower().startswith("xn--"))


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
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_WORD = rf"[{UNSPACED}]|[^\W_{UNSPACED}]+"
_ALIKE = str.maketrans("авекмнорстухіјѕԁԛԝαεικνορτυχıł", "abekmhopctyxijsdqwaeiknoptuxil")


def leaks(text: str, instructions: str) -> bool:
    """True if a text has half of the instructions in it, by their runs of five words.

    A letter of a script without spaces is a word. Instructions of less than 40 words are no secret as a whole.
    """
    runs = _runs(instructions)
    return len(runs) > FEWEST - RUN and 2 * len(runs & _runs(text)) >= len(runs)


def secret_in(text: str, secrets: Sequence[str]) -> int | None:
    """Which of some secrets stands in a text, however it is written, spaced or marked. None: none does."""
    words = _words(text)
    starts = list(accumulate(map(len, words), initial=0))
    joined, bounds = "".join(words), frozenset(starts)
    for number, secret in enumerate(secrets):
        letters = "".join(_words(secret))
        if letters and any(
            len(letters) >= LONG or bounds >= {start, start + len(letters)} for start in _all_of(letters, joined)
        ):
            return number
    return None


def has_letters(text: str) -> bool:
    """True if there are two letters or digits at least to compare a secret by."""
    return sum(map(len, _words(text))) > 1


def canary(flow: str, step: str) -> str:
    """The mark that stands among a step's rules: where it is said, the rules are."""
    return in_letters(sha256(f"{flow}/{step}".encode()).hexdigest())


def messages_of(text: str, most: int) -> tuple[TextMessage, ...]:
    """A text as messages, one a paragraph, ``most`` of them unless the gateway's limit makes it more."""
    paragraphs = [paragraph.strip() for paragraph in _BLANK_LINE.split(text.strip()) if paragraph.strip()]
    kept = paragraphs[: most - 1]
    if rest := paragraphs[most - 1 :]:
        kept.append("\n\n".join(rest))
    return tuple(TextMessage(piece) for paragraph in kept for piece in _pieces(paragraph))


def _words(text: str) -> list[str]:
    """The words as they are read, whatever stands in or between them; each letter of a script without spaces is one."""
    plain = unicodedata.normalize("NFKD", without_invisible(text)).casefold()
    return re.findall(_WORD, _BEYOND_ASCII.sub(_plain, plain).translate(_ALIKE))


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
