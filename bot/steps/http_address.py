"""The method and the address of an ``http`` step: values are put into it so that they stay what they are, one value."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bot.expressions.templates import Pieces, Template, pieces_of
from bot.keys.fields import Fields
from bot.lang.problems import did_you_mean
from bot.steps.kind import StepFailed
from bot.steps.services import Service
from bot.steps.wire import word

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_START = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?=[/?]|\Z)|(?!https?:)([a-z][a-z0-9_]*):(?=/(?!/))")
_WRITTEN = re.compile(r"[A-Za-z0-9/?:@!$&'()*+,;=._~%-]*")
_VALUE = "\0"  # stands for a value in the address's shape


@dataclass(frozen=True, slots=True)
class Address:
    """``GET crm:/orders/{{ id }}``. ``service`` is empty where the address is a whole one."""

    method: str
    service: str
    pieces: Pieces

    def render(self, scope: Mapping[str, Any]) -> str:
        """The address with its values, each quoted: none adds a part to the path or to the query.

        Raises `StepFailed` where a value that is a part of the path is empty, ``.`` or ``..``.
        """
        texts = [piece if isinstance(piece, str) else _quoted(piece, scope) for piece in self.pieces]
        address = "".join(texts)
        for written, part in zip(_path_of(_shape(self.pieces)), _path_of(address), strict=True):
            if _VALUE in written and part in ("", ".", ".."):
                raise StepFailed("mismatch", "a value in the address's path is empty or consists of dots")
        return address

    def uses(self) -> Iterator[Template]:
        """The templates in the address."""
        return (piece for piece in self.pieces if isinstance(piece, Template))


def read_address(fields: Fields, services: Mapping[str, Service]) -> Address:
    """Read ``http: GET https://...`` or ``http: POST service:/path``."""
    text = fields.string("http")
    method, _, written = (text or "").strip().partition(" ")
    if text is None:
        return Address("GET", "", ())
    if method not in METHODS:
        fix = did_you_mean(method, METHODS, f"begin with one of {', '.join(METHODS)}")
        fields.problems.add("E109", fields.mark_of("http"), f'{fields.what}: "{method}" is no method', fix)
        return Address("GET", "", ())
    mark = fields.mark_of("http")
    pieces = pieces_of(written.strip(), mark, fields.problems)
    return Address(method, "" if pieces is None else _check(fields, pieces, services), pieces or ())


def _check(fields: Fields, pieces: Pieces, services: Mapping[str, Service]) -> str:
    """Hold what is written out against the form of an address; the name of its service."""
    start = _START.match(_shape(pieces))
    what, mark = f"{fields.what}: http", fields.mark_of("http")
    if start is None:
        fix = "write https://host/path, or service:/path with a service of bot.yml; values may stand behind that only"
        fields.problems.add("E405", mark, f"{what}: this is no address", fix)
    elif not all(_WRITTEN.fullmatch(piece) for piece in pieces if isinstance(piece, str)):
        fix = "percent-encode what is no letter, digit or sign of an address"
        fields.problems.add("E405", mark, f"{what}: this address has characters that none can have", fix)
    elif start[1] is not None and start[1] not in services:
        fix = did_you_mean(start[1], services, f"add it to bot.yml: http: {{{start[1]}: {{base: https://...}}}}")
        fields.problems.add("E508", mark, f'{what}: no service "{start[1]}"', fix)
    return "" if start is None else start[1] or ""


def _shape(pieces: Pieces) -> str:
    return "".join(piece if isinstance(piece, str) else _VALUE for piece in pieces)


def _quoted(piece: Template, scope: Mapping[str, Any]) -> str:
    return quote(word(piece.value(scope), "a value in the address"), safe="", errors="replace")


def _path_of(address: str) -> list[str]:
    return address.partition("?")[0].split("/")
