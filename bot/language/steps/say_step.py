"""``say``: tell the contact something, with a link, a file or a place."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

from bot.core import messages as limits
from bot.core.effects import REPLY_TRIED_FOR
from bot.core.events import UNSENT, SendEnded
from bot.core.immutable import immutable
from bot.core.messages import LinkButton, MediaMessage, Message, TextMessage, clip, in_plain_text
from bot.language.expressions.templates import Template
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    BOOLEAN,
    TEMPLATE,
    WORDING,
    KeySet,
    KeySpec,
    either,
    mapped,
    nested,
    one_written,
)
from bot.language.keys.fields import Fields
from bot.language.keys.key_schemas import EMPTY
from bot.language.keys.text_shapes import MAY, TEXT
from bot.language.source.yaml_tree import Map
from bot.language.steps.message_parts import (
    ADDRESS,
    LOCATION,
    SENDING,
    LocationPart,
    check_error_names,
    check_length,
    media_address,
    read_location,
)
from bot.language.steps.step_facts import (
    SentFile,
    SentPart,
    SentText,
    StepFacts,
    StepFailed,
    Used,
    Wait,
    WaitsFor,
)
from bot.language.steps.step_kind import (
    Awaited,
    LeaveStep,
    ReadContext,
    StepContext,
    StepKind,
    StepResult,
    WaitForSend,
    WaitHere,
)
from bot.language.steps.step_options import ERRORS
from bot.language.steps.template_message import TemplateToSend


@immutable
class LinkPart:
    """A button that opens an address."""

    title: Template
    url: Template


@immutable
class FilePart:
    """A file by its public address."""

    kind: str
    link: Template
    filename: Template | None


def _read_link(fields: Fields) -> LinkPart | None:
    title, url = _TITLE.read(fields), _URL.read(fields)
    check_length(fields, "title", title, limits.BUTTON_TITLE)
    check_length(fields, "url", url, limits.URL)
    return LinkPart(title, url) if title is not None and url is not None else None


def _file(kind: str) -> KeySpec[FilePart | None]:
    """A file: its address, or a map with it."""
    address = KeySpec("link", media_address(kind), "Its public address.", required=True)
    filename = KeySpec("filename", TEMPLATE, "The name that it is shown and saved by.", texts=MAY)
    keys = KeySet(address, filename) if kind == "document" else KeySet(address)

    def read(fields: Fields) -> FilePart | None:
        link = address.read(fields)
        return None if link is None else FilePart(kind, link, filename.read(fields) if filename in keys else None)

    short = mapped(address.form, lambda link: FilePart(kind, link, None))
    form = either(short, nested(keys, read))
    return KeySpec(kind, form, f"A file, {kind}, by its public address.")


_TITLE = KeySpec("title", TEMPLATE, "The button's title.", required=True, texts=TEXT)
_URL = KeySpec("url", ADDRESS, "The address that it opens.", required=True)
_SAY = KeySpec(
    "say",
    replace(WORDING, schema=key_schemas.either(WORDING.schema, EMPTY)),
    "The text that is said.",
    required=True,
    texts=TEXT,
)
_HEADER = KeySpec("header", TEMPLATE, "A line above the text; goes with a link.", texts=TEXT)
_FOOTER = KeySpec("footer", TEMPLATE, "A line below the text; goes with a link.", texts=TEXT)
_PREVIEW = KeySpec("preview_url", BOOLEAN, "Whether an address in the text is shown with a preview; false by default.")
_TEMPLATE = "template"  # in the step state: what has been sent is the template
_ATTACHMENTS: tuple[KeySpec[LinkPart | FilePart | LocationPart | None], ...] = (
    KeySpec("link", nested(KeySet(_TITLE, _URL), _read_link), "A button that opens an address."),
    *map(_file, limits.MEDIA_KINDS),
    KeySpec("location", nested(LOCATION, read_location, "{latitude: 38.7, longitude: -9.1}"), "A place on the map."),
)


@immutable
class SayStep(StepKind):
    """A text and at most one attachment. While the window is closed, the message can wait until the contact answers."""

    text: Template | None
    header: Template | None
    footer: Template | None
    attachment: LinkPart | FilePart | LocationPart | None
    preview_url: bool = False
    watches: bool = False  # its own errors name `refused`: wait for the gateway's word
    instead: TemplateToSend | None = None  # sent while the window is closed: an answer to it brings the message
    verb = "say"
    options = frozenset({"then", "remind", "timeout", "words"})
    keys = KeySet(_SAY, _HEADER, _FOOTER, _PREVIEW, *_ATTACHMENTS)

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``say`` with its link, file or place."""
        attached = one_written(fields, _ATTACHMENTS, "send them in two steps")
        attachment = None if attached is None else attached.read(fields)
        text = _read_text(fields, attachment)
        header, footer, preview = _HEADER.read(fields), _FOOTER.read(fields), _PREVIEW.read(fields)
        own = fields.raw(ERRORS.name)
        watches = isinstance(own, Map) and own.get("refused") is not None
        say = cls(text, header, footer, attachment, preview, watches, reading.instead)
        say._check(fields)
        return say

    def _check(self, fields: Fields) -> None:
        check_error_names(fields, SENDING, "saying something has no error", f"write {', '.join(SENDING)}, else")
        for key in () if isinstance(self.attachment, LinkPart) else (_HEADER, _FOOTER):
            if key.written(fields):
                key.report(fields, "E403", f"a {key.name} goes with a link only", "put it in the text")
        if self.preview_url and self.attachment is not None:
            _PREVIEW.report(fields, "E403", "a preview goes with a plain text only", "leave it out")
        captioned = isinstance(self.attachment, FilePart) and self.attachment.kind in limits.CAPTIONED
        most = limits.INTERACTIVE_BODY if isinstance(self.attachment, LinkPart) else limits.TEXT_BODY
        check_length(fields, "say", self.text, limits.CAPTION if captioned else most)
        check_length(fields, "header", self.header, limits.HEADER_TEXT)
        check_length(fields, "footer", self.footer, limits.FOOTER_TEXT)

    def facts(self) -> StepFacts:
        """Return the facts. A refusal is a failure only where the step's own errors name `refused`."""
        return StepFacts(
            waits_for=self._waits_for(),
            sends=tuple(self._sends()),
            most_messages=self._most_messages,
            can_bring_later=True,
            refusable=self.watches,
            values_may_fail=self._address_may_fail,
            uses=tuple(self._uses()),
        )

    @property
    def _most_messages(self) -> int:
        """The text and what is sent along, where that cannot carry it."""
        alone = self.text is None or self.attachment is None or isinstance(self.attachment, LinkPart)
        captioned = isinstance(self.attachment, FilePart) and self.attachment.kind in limits.CAPTIONED
        return 1 if alone or (captioned and self.text is not None and self.text.constant) else 2

    @property
    def _address_may_fail(self) -> bool:
        """A template can evaluate to a text that is not an address or a place."""
        match self.attachment:
            case LinkPart(_, url):
                return not url.constant
            case FilePart(_, link):
                return not link.constant
        return isinstance(self.attachment, LocationPart) and any(self.attachment.uses())

    def _uses(self) -> Iterator[Used]:
        """Every template of the step."""
        if self.instead is not None:
            yield from self.instead.uses()
        found: list[object] = [self.text, self.header, self.footer]
        match self.attachment:
            case LinkPart(title, url):
                found += [title, url]
            case FilePart(_, link, filename):
                found += [link, filename]
            case LocationPart() as place:
                found += place.uses()
        for text in found:
            if isinstance(text, Template):
                yield Used(text)

    def _sends(self) -> Iterator[SentPart]:
        """The text, which goes alone where a caption is too short for it; what goes with it; the file."""
        linked = isinstance(self.attachment, LinkPart)
        if self.text is not None:
            yield SentText("say", self.text, limits.INTERACTIVE_BODY if linked else limits.TEXT_BODY, needed=linked)
        if self.header is not None:
            yield SentText("header", self.header, limits.HEADER_TEXT)
        if self.footer is not None:
            yield SentText("footer", self.footer, limits.FOOTER_TEXT)
        match self.attachment:
            case LinkPart(title, url):
                yield SentText("title", title, limits.BUTTON_TITLE, needed=True)
                yield SentText("url", url, limits.URL, cut=False, needed=True)
            case FilePart(kind, link):
                yield SentText(kind, link, None, needed=True)
                yield SentFile(kind, link)

    def _waits_for(self) -> Wait | None:
        """The answer that brings the message, or the gateway's word if its own errors name `refused`."""
        if self.instead is not None:
            return Wait(WaitsFor.CONTACT, over=True)
        return Wait(WaitsFor.RESULT, REPLY_TRIED_FOR) if self.watches else None

    def enter(self, context: StepContext) -> StepResult:
        """Send what is to be said and go on, once the gateway has taken it where it matters that it does.

        While the window is closed, send the template to which an answer brings it.
        """
        if self.instead is not None and not context.window_open:
            return WaitHere((self.instead.message(context.scope),), {_TEMPLATE: True}, undelivered=True)
        messages = tuple(self._messages(context))
        awaited = messages and (self.watches or self.instead is not None)
        return WaitForSend(messages) if awaited else LeaveStep("then", messages=messages)

    def in_plain_text(self, context: StepContext, message: Message) -> StepResult:
        """The address as a text, whose end is awaited in turn."""
        return WaitForSend((TextMessage(in_plain_text(message)),), context.step_state)

    def resume(self, context: StepContext, event: Awaited) -> StepResult | None:
        """The gateway took it, or refused it. Without the template, any message of the contact's still brings it."""
        if not isinstance(event, SendEnded):
            return None
        if event.outcome in UNSENT and self.watches:
            raise StepFailed("refused", event.detail)
        return None if context.step_state.get(_TEMPLATE) else LeaveStep("then")

    def _messages(self, context: StepContext) -> Iterator[Message]:
        text = "" if self.text is None else context.text(self.text)
        match self.attachment:
            case LinkPart(title, url):
                header = None if self.header is None else context.text(self.header)
                footer = None if self.footer is None else context.text(self.footer)
                yield LinkButton(text, context.text(title), context.text(url), header, footer)
                return
            case FilePart(kind, link, filename):
                name = None if filename is None else context.text(filename)
                if kind in limits.CAPTIONED and len(text) <= limits.CAPTION:
                    yield MediaMessage(kind, context.text(link), text or None, name)
                    return
                attachment: Message | None = MediaMessage(kind, context.text(link), None, name)
            case LocationPart() as place:
                attachment = place.message(context.scope)
            case _:
                attachment = None
        if text.strip():
            yield TextMessage(clip(text, limits.TEXT_BODY), self.preview_url)
        if attachment is not None:
            yield attachment


def _read_text(fields: Fields, attachment: LinkPart | FilePart | LocationPart | None) -> Template | None:
    if not fields.null(_SAY.name):
        return _SAY.read(fields)
    if attachment is None or isinstance(attachment, LinkPart):
        _SAY.report(fields, "E105", "there is nothing to say", "write the text")
    return None
