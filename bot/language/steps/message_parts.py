"""Parts of messages that several kinds of step share: limited texts, addresses, a place, failures of sending."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from bot.core.immutable import immutable
from bot.core.messages import MEDIA_SUFFIXES, URL, LocationMessage, is_link, wrong_suffix
from bot.core.values import Media
from bot.language.expressions.filters import FILE_LINKS
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import DURATION, TEMPLATE, Form, KeySet, KeySpec, number, one_written
from bot.language.keys.fields import Fields, template_of
from bot.language.keys.key_schemas import ANY_TEXT, STRING, either
from bot.language.keys.text_shapes import MAY
from bot.language.source.problems import Problems, did_you_mean
from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.language.steps.step_facts import Given, SentText, StepFailed


def check_length(fields: Fields, name: str, text: Template | None, most: int, fix: str = "shorten it") -> None:
    """Check that a text that is written out in the flow fits the gateway's limit (spec: Limits)."""
    for wording in () if text is None else text.wordings:
        if wording.constant and len(wording.source) > most:
            what = f"{name} has {len(wording.source)} characters, {most} are allowed"
            fields.report("E402", wording.mark, what, fix)


MOST_PAYLOAD = 90
"""The characters of a payload: with the longest id before it (`ReplyId`) they are fewer than the gateway's 256."""


def _payload_of(node: Node, problems: Problems, what: str) -> Template | None:
    payload = template_of(node, problems, what)
    if payload is not None and payload.constant and len(payload.source) > MOST_PAYLOAD:
        what = f"{what} has {len(payload.source)} characters, {MOST_PAYLOAD} are allowed"
        problems.add("E402", node.mark, what, "shorten it")
    return payload


PAYLOAD = KeySpec(
    "payload",
    Form(ANY_TEXT, _payload_of),
    "A text that a tap on it brings back, to start a flow or as a signal: PAY:17.",
)


VALID = KeySpec(
    "valid", DURATION, "How long a tap on one of its buttons counts, also when the conversation is over or elsewhere."
)


def payload_text(payload: Template, given: tuple[Given, ...] = ()) -> SentText:
    """A payload as a part of a message."""
    return SentText("payload", payload, MOST_PAYLOAD, cut=False, given=given)


def rendered_payload(payload: Template | None, scope: Mapping[str, Any]) -> str | None:
    """A payload on one line; None if there is none. Raises `StepFailed` if it is too long."""
    written = "" if payload is None else " ".join(payload.render(scope).split())
    if len(written) > MOST_PAYLOAD:
        raise StepFailed("failed", f"a payload of {len(written)} characters, {MOST_PAYLOAD} are allowed")
    return written or None


def _address_of(node: Node, problems: Problems, what: str, file: str = "") -> Template | None:
    """An address that is written out in the flow is one that the gateway can fetch or open.

    ``file`` is what to write instead for a file of the bot's own.
    """
    url = template_of(node, problems, what)
    if url is None or not url.constant:
        return url
    address = url.source
    if not is_link(address) or len(address) > URL:
        fix = "write the host, too: https://shop.example" if "://" in address else f"write it out, with https://{file}"
        if is_link("".join(address.split())):
            fix = f"shorten it: {URL} characters are allowed" if len(address) > URL else "write %20 in place of a space"
        problems.add("E405", node.mark, f'{what}: "{address}" is no address', fix)
    return url


def media_address(kind: str) -> Form[Template | None]:
    """An address of media, which ends in no type that the gateway refuses for this kind."""

    def of(node: Node, problems: Problems, what: str) -> Template | None:
        written = node.text if isinstance(node, Scalar) else ""
        link = _address_of(node, problems, what, f"; for a file in the folder files write {kind}: {{file: {written}}}")
        suffix = wrong_suffix(kind, link.source) if link is not None and link.constant else None
        if suffix is not None:
            fix = f"use {', '.join(MEDIA_SUFFIXES[kind])}"
            problems.add("E404", node.mark, f"{what}: the gateway takes no .{suffix} as {kind}", fix)
        return link

    return replace(ADDRESS, read=of)


ADDRESS: Form[Template | None] = Form(ANY_TEXT, _address_of, MAY)
OWN_FILE = KeySpec(
    "file", TEMPLATE, "The path of a file in the bot's folder files, or a file that a handler has made.", texts=MAY
)


def written_source(fields: Fields, sources: Sequence[KeySpec[Template | None]]) -> KeySpec[Template | None] | None:
    """The key of a map that says where a file comes from; None, with a problem, if it has none of these."""
    found = one_written(fields, sources)
    if found is None:
        names = ", ".join(each.name for each in sources)
        fields.report("E105", fields.mark, "nothing says which file it is", f"write one of {names}")
    return found


class LinksToFiles(Protocol):
    """Makes the addresses of files (`bot.language.flow.own_files.FileLinks`)."""

    def of_own(self, kind: str, path: str) -> str:
        """The address of a file in the folder. Raises `StepFailed` if it cannot be sent."""

    def of_made(self, kind: str, file: Media, filename: str) -> str:
        """The address of a file that a handler has made. Raises `StepFailed` if it cannot be sent."""

    def of_text(self, filename: str, text: str) -> str:
        """The address of a file with this text. Raises `StepFailed` if the gateway cannot fetch it."""


def links_to_files(scope: Mapping[str, Any]) -> LinksToFiles:
    """The maker of addresses of files, from the names of a turn."""
    links: LinksToFiles = scope[FILE_LINKS]
    return links


def link_to_file(scope: Mapping[str, Any], kind: str, file: Template, filename: str = "") -> str:
    """The address of a file in the folder, by its path, or of one that a handler has made. Raises `StepFailed`."""
    value = file.value(scope)
    if isinstance(value, Media):
        return links_to_files(scope).of_made(kind, value, filename)
    return links_to_files(scope).of_own(kind, value if isinstance(value, str) else file.render(scope))


def _degrees(most: float) -> Form[Template | float | None]:
    """A number, or a text that is a template of one."""
    degrees = number(-most, most)

    def of(node: Node, problems: Problems, what: str) -> Template | float | None:
        is_text = isinstance(node, Scalar) and isinstance(node.value, str)
        return (TEMPLATE if is_text else degrees).read(node, problems, what)

    return Form(either(degrees.schema, STRING), of)


_LATITUDE = KeySpec("latitude", _degrees(90), "Its latitude, in degrees.", required=True)
_LONGITUDE = KeySpec("longitude", _degrees(180), "Its longitude, in degrees.", required=True)
_NAME = KeySpec("name", TEMPLATE, "The name that the contact sees.", texts=MAY)
_ADDRESS = KeySpec("address", TEMPLATE, "Its address.", texts=MAY)
LOCATION = KeySet(_LATITUDE, _LONGITUDE, _NAME, _ADDRESS)
NAMED_LOCATION = KeySet(_LATITUDE, _LONGITUDE, replace(_NAME, required=True), replace(_ADDRESS, required=True))


@immutable
class LocationPart:
    """A place on the map; coordinates are numbers or templates of numbers."""

    coordinates: Mapping[str, Template | float]
    name: Template | None
    address: Template | None

    def message(self, scope: Mapping[str, Any]) -> LocationMessage:
        """The place with its coordinates evaluated. Raises `StepFailed` if they are not numbers."""
        numbers = {}
        for key, written in self.coordinates.items():
            value = written.value(scope) if isinstance(written, Template) else written
            try:
                numbers[key] = float(value)
            except (TypeError, ValueError, OverflowError):
                raise StepFailed("mismatch", f"{key} is no number") from None
        return LocationMessage(
            numbers["latitude"],
            numbers["longitude"],
            None if self.name is None else self.name.render(scope),
            None if self.address is None else self.address.render(scope),
        )

    def uses(self) -> Iterator[Template]:
        """Every template of the place."""
        for written in (*self.coordinates.values(), self.name, self.address):
            if isinstance(written, Template):
                yield written


def read_location(fields: Fields) -> LocationPart | None:
    """Read a place: its coordinates, in degrees, and perhaps its name and address."""
    found = {key.name: key.read(fields) for key in (_LATITUDE, _LONGITUDE)}
    coordinates = {name: written for name, written in found.items() if written is not None}
    place = LocationPart(coordinates, _NAME.read(fields), _ADDRESS.read(fields))
    return place if len(coordinates) == len(found) else None


ELSE = "else"
SETTING = ("mismatch", "failed")
SENDING = ("refused", *SETTING)
"""How a step that sends a message can fail."""


def check_error_names(
    fields: Fields, known: Collection[str], whose: str, fix: str, also: re.Pattern[str] | None = None
) -> None:
    """Report names in the step's own `errors` with which it cannot end. Inherited names may be for other steps.

    It can end with the ``known`` names, and with those that match ``also``. ``whose`` begins the report.
    """
    own = fields.raw("errors")
    named = own.entries if isinstance(own, Map) and own.get("then") is None else ()
    for name, _ in named:
        if name.text not in (*known, ELSE) and not (also is not None and also.fullmatch(name.text)):
            fields.report("E504", name.mark, f'{whose} "{name.text}"', did_you_mean(name.text, [*known, ELSE], fix))
