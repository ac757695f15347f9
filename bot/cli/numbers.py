"""Contacts' numbers, as people write them on a command line or in a file."""

import re

from bot.cli.operate import Refused

_PHONE = re.compile(r"[1-9][0-9]{6,14}")


def number(contact: str) -> str:
    """A contact's number as the store has it: without the plus, the spaces and the hyphens that people write."""
    return re.sub(r"[+\s()-]", "", contact)


def is_phone(number: str) -> bool:
    """Whether a message can go to a number (spec: Phone number format)."""
    return _PHONE.fullmatch(number) is not None


def phone(contact: str) -> str:
    """A number that a message can go to. Raises `Refused`."""
    digits = number(contact)
    if not is_phone(digits):
        raise Refused(f'"{contact[:40]}" is no phone number: write its digits, with the country code')
    return digits
