"""Masks phone numbers, e-mail addresses and words of contacts in the log, and on pages for some users."""

import re

from bot.core.lazy_patterns import lazy_pattern

_SHORTEST = 7  # digits
_NOT_NUMBERS = r"""
    (?P<kept>
        \b(?=\d*[a-f])[0-9a-f]{32,}\b                                   # the id of an event
        | \b\d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?\b    # a date, a time
        | \b\d\d:\d\d:\d\d(?:\.\d+)?\b
        | (?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.]*\d)  # an address of the network
    )
"""
_DIGITS = r"(?:(?!\b\d{4}-\d\d-\d\d\b)\d|\(\d{1,5}\))"  # of a number: no date
_SEPARATOR = r"[\s./_\u00b7\u2010-\u2015\u2212-]{0,3}"
_NUMBER = lazy_pattern(rf"{_NOT_NUMBERS} | \+?{_DIGITS}(?:{_SEPARATOR}{_DIGITS})*", re.VERBOSE)
_EMAIL = lazy_pattern(r"(?<![\w.%+/:-])[\w.%+-]+@[\w-]+(?:\.[\w-]+)+")
_SAID = lazy_pattern(r'(\banswers (?=\w+ ")|\bruns for ).*', re.DOTALL)


def mask_numbers(text: str, mark: str, shown: int) -> str:
    """The text with a mark and the last ``shown`` digits in place of each phone number, however it is written.

    >>> mask_numbers("sale: +62 812-3456-7890", "…", 2)
    'sale: …90'
    """

    def masked(found: re.Match[str]) -> str:
        digits = "".join(filter(str.isdecimal, found[0]))
        return found[0] if found["kept"] or len(digits) < _SHORTEST else mark + digits[-shown:]

    return _NUMBER.sub(masked, text)


def mask_emails(text: str, mark: str) -> str:
    """The text with a mark in place of each e-mail address."""
    return _EMAIL.sub(mark, text)


def mask_answers(rule: str, mark: str) -> str:
    """The rule of a turn without a contact and quoted words: ``answers size "large"`` -> ``answers …``"""
    return _SAID.sub(lambda found: found[1] + mark, rule)
