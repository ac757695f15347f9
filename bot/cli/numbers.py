"""Contacts' numbers, as people write them on a command line or in a file."""

import re

from bot.cli.operate import Refused
from bot.core.text import is_phone


def number(contact: str) -> str:
    """A contact's number as the store has it: without the plus, the spaces and the hyphens that people write."""
    return re.sub(r"[+\s()-]", "", contact)


def phone(contact: str) -> str:
    """A number that a message can go to. Raises `GatewayRefused`."""
    digits = number(contact)
    if not is_phone(digits):
        raise Refused(f'"{contact[:40]}" is no phone number: write its digits, with the country code')
    return digits
