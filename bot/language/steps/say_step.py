"""``say``: tell the contact something, with a link, buttons, a file or a place."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Self
from urllib.parse import unquote

from bot.core import messages as limits
from bot.core.effects import REPLY_TRIED_FOR
from bot.core.events import UNSENT, SendEnded
from bot.core.immutable import immutable
from bot.core.messages import LinkButton, MediaMessage, Message, TextMessage, clip, in_plain_text
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import (
    BOOLEAN,
    TEMPLATE,
    WORDING_OR_NOTHING,
    KeySet,
    KeySpec,
    as_fields,
    either,
    map_of,
    mapped,
    nested,
    one_written,
)
from bot.language.keys.fields import Fields, entries_of
from bot.language.keys.text_shapes import MAY, TEXT, Part
from bot.language.source.problems import Problems
from bot.language.source.word_matching import match
from bot.language.source.yaml_tree import List, Map, Node, Scalar
from bot.language.steps.answer_matching import ShownChoices, meaning
from bot.language.steps.choice_limits import check_choices, choice_texts
from bot.language.steps.choice_reader import titled
from bot.language.steps.choices import Choices, FixedChoice
from bot.language.steps.message_parts import (
    ADDRESS,
    LOCATION,
    OWN_FILE,
    PAYLOAD,
    SENDING,
    VALID,
    LocationPart,
    check_error_names,
    check_length,
    link_to_file,
    links_to_files,
    media_address,
    read_location,
    written_source,
)
from bot.language.steps.step_facts import (
    GOES_ON,
    Outcome,
    SentFile,
    SentPart,
    SentText,
    StepFacts,
    StepFailed,
    Used,
    Wait,
    WaitsFor,
    text_sent,
    texts_used,
)
from bot.language.steps.step_kind import (
    Awaited,
    LeaveStep,
    ReadContext,
    Reply,
    StepContext,
    StepKind,
    StepResult,
    WaitForSend,
    WaitHere,
)
from bot.language.steps.step_options import ERRORS
from bot.language.steps.template_message import TemplateToSend
from bot.language.steps.transition import TO_TARGET, TRANSITION_KEYS, transition_from, transition_to


@immutable
class LinkPart:
    """A button that opens an address."""

    title: Template
    url: Template


@immutable
class ButtonsPart:
    """Buttons that nobody waits for. ``leads``: a tap leads on from here; otherwise its payload says what it is."""

    choices: Choices
    leads: bool


@immutable
class FilePart:
    """A file: by its public address, by its path among the files of the bot's own, made by a handler or of a text.

    ``source`` is the address, the path or made file, or the text, as the key ``by`` says.
    """

    kind: str
    by: str
    source: Template
    filename: Template | None

    def message(self, context: StepContext, caption: str | None) -> MediaMessage:
        """The message. Raises `StepFailed` for a file of the bot's own that cannot be sent."""
        name = None if self.filename is None else context.text(self.filename)
        if self.by == OWN_FILE.name:
            link = link_to_file(context.scope, self.kind, self.source, name or "")
            shown = unquote(link.rpartition("/")[2]) if self.kind == "document" else None
            return MediaMessage(self.kind, link, caption, name or shown)
        source = context.text(self.source)
        if self.by == _CONTENT.name:
            link = links_to_files(context.scope).of_text(name or "", source)
            return MediaMessage(self.kind, link, caption, name, source)
        return MediaMessage(self.kind, source, caption, name)


def _read_link(fields: Fields) -> LinkPart | None:
    title, url = _TITLE.read(fields), _URL.read(fields)
    if title is not None and title.blank:
        _TITLE.report(fields, "E105", "the title is empty", "write what the button says")
    check_length(fields, "title", title, limits.BUTTON_TITLE)
    check_length(fields, "url", url, limits.URL)
    return LinkPart(title, url) if title is not None and url is not None else None


def _read_buttons(node: Node, problems: Problems, what: str) -> Choices:
    if isinstance(node, List):
        titles = ", ".join(f"{item.text}: step" for item in node.items if isinstance(item, Scalar))
        fix = f"for a question write ask in place of say; for taps at any time {{{titles}}} and valid: 7d"
        problems.add("E106", node.mark, f"{what}: titles alone lead nowhere, because a say does not wait", fix)
        return Choices("buttons", node.mark)
    entries = entries_of(node, problems, what, "{Title: step}")
    return Choices("buttons", node.mark, tuple(_button(title, item, problems, what) for title, item in entries))


def _button(title: Scalar, node: Node, problems: Problems, what: str) -> FixedChoice:
    what = f'{what}: "{title.text}"'
    choice = titled(title, problems)
    if not isinstance(node, Map):
        return replace(choice, transition=transition_to(node, problems, what))
    fields = _BUTTON.open(node, problems, what)
    return replace(choice, transition=transition_from(fields), payload=PAYLOAD.read(fields))


_BUTTON = KeySet(PAYLOAD, *TRANSITION_KEYS)


def _file(kind: str) -> KeySpec[FilePart | None]:
    """A file: its address, or a map that says where it comes from."""
    link = KeySpec("link", media_address(kind), "Its public address.")
    sources = (link, OWN_FILE, _CONTENT) if kind == "document" else (link, OWN_FILE)
    keys = KeySet(*sources, _FILENAME) if kind == "document" else KeySet(*sources)

    def read(fields: Fields) -> FilePart | None:
        by = written_source(fields, sources)
        if by is None:
            return None
        source, filename = by.read(fields), _FILENAME.read(fields) if kind == "document" else None
        if by is _CONTENT:
            _check_made(fields, filename)
        return None if source is None else FilePart(kind, by.name, source, filename)

    short = mapped(link.form, lambda address: FilePart(kind, link.name, address, None))
    form = either(short, nested(keys, read))
    return KeySpec(kind, form, f"A file, {kind}: its public address, or a map that says where it comes from.")


def _check_made(fields: Fields, filename: Template | None) -> None:
    """The name of a file that is made says what it is."""
    if filename is None:
        if not _FILENAME.written(fields):
            fields.report("E105", fields.mark, "the file has no name", "write filename: bill.txt")
    elif filename.constant and not filename.source.lower().endswith(MADE_SUFFIXES):
        what = f'"{filename.source}" is made of a text, which is no such file'
        _FILENAME.report(fields, "E404", what, f"use {' or '.join(MADE_SUFFIXES)}")


MADE_SUFFIXES = (".txt", ".csv")
"""The endings of names of files that are made of texts."""
_CONTENT = KeySpec("text", TEMPLATE, "The text that the file is made of.", texts=TEXT)
_FILENAME = KeySpec("filename", TEMPLATE, "The name that it is shown and saved by.", texts=MAY)
Attachment = LinkPart | ButtonsPart | FilePart | LocationPart
_TITLE = KeySpec("title", TEMPLATE, "The button's title.", required=True, texts=TEXT)
_URL = KeySpec("url", ADDRESS, "The address that it opens.", required=True)
_SAY = KeySpec("say", WORDING_OR_NOTHING, "The text that is said.", required=True, texts=TEXT)
_HEADER = KeySpec("header", TEMPLATE, "A line above the text; goes with a link or buttons.", texts=TEXT)
_FOOTER = KeySpec("footer", TEMPLATE, "A line below the text; goes with a link.", texts=TEXT)
_PREVIEW = KeySpec("preview_url", BOOLEAN, "Whether an address in the text is shown with a preview; false by default.")
_TEMPLATE = "template"  # in the step state: what has been sent is the template
_BUTTONS = KeySpec(
    "buttons",
    mapped(
        map_of(either(TO_TARGET, as_fields(_BUTTON)), _read_buttons, Part.TITLE),
        lambda found: ButtonsPart(found, False),
    ),
    "Buttons by their titles, and where a tap leads. The step does not wait for it.",
)
_ATTACHMENTS: tuple[KeySpec[Attachment | None], ...] = (
    _BUTTONS,
    KeySpec("link", nested(KeySet(_TITLE, _URL), _read_link), "A button that opens an address."),
    *map(_file, limits.MEDIA_KINDS),
    KeySpec("location", nested(LOCATION, read_location, "{latitude: 38.7, longitude: -9.1}"), "A place on the map."),
)


@immutable
class SayStep(StepKind):
    """A text and at most one attachment. While the window is closed, the message can wait until the contact answers.

    ``valid``: for so long a tap on its buttons counts wherever the contact is.
    """

    text: Template | None
    header: Template | None
    footer: Template | None
    attachment: Attachment | None
    preview_url: bool = False
    watches: bool = False  # its own errors name `refused`: wait for the gateway's word
    instead: TemplateToSend | None = None  # sent while the window is closed: an answer to it brings the message
    valid: timedelta | None = None
    verb = "say"
    options = frozenset({"then", "remind", "timeout", "words"})
    keys = KeySet(_SAY, _HEADER, _FOOTER, _PREVIEW, *_ATTACHMENTS, VALID)

    @classmethod
    def read(cls, fields: Fields, reading: ReadContext) -> Self:
        """Read ``say`` with its link, file or place."""
        attached = one_written(fields, _ATTACHMENTS, "send them in two steps")
        attachment, valid = None if attached is None else attached.read(fields), VALID.read(fields)
        if isinstance(attachment, ButtonsPart):
            attachment = replace(attachment, leads=valid is not None)
        text = _read_text(fields, attachment)
        header, footer, preview = _HEADER.read(fields), _FOOTER.read(fields), _PREVIEW.read(fields)
        own = fields.raw(ERRORS.name)
        watches = isinstance(own, Map) and own.get("refused") is not None
        say = cls(text, header, footer, attachment, preview, watches, reading.instead, valid)
        say._check(fields)
        return say

    def _check(self, fields: Fields) -> None:
        check_error_names(fields, SENDING, "saying something has no error", f"write {', '.join(SENDING)}, else")
        if isinstance(self.attachment, ButtonsPart):
            _check_buttons(fields, self.attachment)
        elif self.valid is not None:
            VALID.report(fields, "E123", '"valid" where there is no button to tap', "add `buttons`, or leave it out")
        linked, tapped = isinstance(self.attachment, LinkPart), isinstance(self.attachment, ButtonsPart)
        for key, fits, what in ((_HEADER, linked or tapped, "a link or buttons"), (_FOOTER, linked, "a link")):
            if key.written(fields) and not fits:
                key.report(fields, "E403", f"a {key.name} goes with {what} only", "put it in the text")
        if self.preview_url and self.attachment is not None:
            _PREVIEW.report(fields, "E403", "a preview goes with a plain text only", "leave it out")
        captioned = isinstance(self.attachment, FilePart) and self.attachment.kind in limits.CAPTIONED
        most = limits.INTERACTIVE_BODY if self._interactive else limits.TEXT_BODY
        check_length(fields, "say", self.text, limits.CAPTION if captioned else most)
        check_length(fields, "header", self.header, limits.HEADER_TEXT)
        check_length(fields, "footer", self.footer, limits.FOOTER_TEXT)

    def facts(self) -> StepFacts:
        """Return the facts. A refusal is a failure only where the step's own errors name `refused`."""
        buttons = self._taken_buttons
        return StepFacts(
            waits_for=self._waits_for(),
            texts_before_words=buttons is not None,
            stays_valid=self.valid is not None,
            tapped_later=frozenset() if buttons is None else frozenset(buttons.outcomes()),
            answers=() if buttons is None else tuple(replace(each, before_words=True) for each in buttons.answers()),
            outcomes=self._outcomes(),
            sends=tuple(self._sends()),
            most_messages=self._most_messages,
            can_bring_later=True,
            refusable=self.watches,
            values_may_fail=self._address_may_fail,
            uses=tuple(self._uses()),
        )

    @property
    def _interactive(self) -> bool:
        return isinstance(self.attachment, LinkPart | ButtonsPart)

    @property
    def _taken_buttons(self) -> Choices | None:
        """The buttons, if a tap on them leads on from here."""
        return self.attachment.choices if isinstance(self.attachment, ButtonsPart) and self.attachment.leads else None

    def _outcomes(self) -> dict[str, Outcome]:
        """``then``, and what a later tap leads to, long after the step's options were carried out."""
        found = {**GOES_ON}
        if self._taken_buttons is not None:
            found |= {name: replace(each, success=False) for name, each in self._taken_buttons.outcomes().items()}
        return found

    @property
    def _most_messages(self) -> int:
        """The text and what is sent along, where that cannot carry it."""
        alone = self.text is None or self.attachment is None or self._interactive
        captioned = isinstance(self.attachment, FilePart) and self.attachment.kind in limits.CAPTIONED
        return 1 if alone or (captioned and self.text is not None and self.text.constant) else 2

    @property
    def _address_may_fail(self) -> bool:
        """A template can evaluate to a text that is not an address or a place."""
        match self.attachment:
            case LinkPart(_, url):
                return not url.constant
            case FilePart(_, by, source):
                return by != _CONTENT.name and not source.constant
        return isinstance(self.attachment, LocationPart) and any(self.attachment.uses())

    def _uses(self) -> Iterator[Used]:
        """Every template of the step."""
        if self.instead is not None:
            yield from self.instead.uses()
        yield from texts_used(self.text, self.header, self.footer)
        match self.attachment:
            case LinkPart(title, url):
                yield from texts_used(title, url)
            case FilePart(_, _, source, filename):
                yield from texts_used(source, filename)
            case LocationPart() as place:
                yield from texts_used(*place.uses())
            case ButtonsPart(choices):
                yield from choices.uses()

    def _sends(self) -> Iterator[SentPart]:
        """The text, which goes alone where a caption is too short for it; what goes with it; the file."""
        needed = self._interactive
        yield from text_sent("say", self.text, limits.INTERACTIVE_BODY if needed else limits.TEXT_BODY, needed=needed)
        yield from text_sent("header", self.header, limits.HEADER_TEXT)
        yield from text_sent("footer", self.footer, limits.FOOTER_TEXT)
        match self.attachment:
            case LinkPart(title, url):
                yield SentText("title", title, limits.BUTTON_TITLE, needed=True)
                yield SentText("url", url, limits.URL, cut=False, needed=True)
            case ButtonsPart(choices):
                yield from choice_texts(choices)
                yield choices.offered
            case FilePart(kind, by, source):
                yield SentText(kind, source, None, needed=True)
                if by != _CONTENT.name:
                    yield SentFile(kind, source, own=by == OWN_FILE.name)

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
        return WaitForSend(messages, valid=self.valid) if awaited else LeaveStep("then", messages, valid=self.valid)

    def answer_before_words(self, context: StepContext, reply: Reply) -> StepResult | None:
        """A tap on one of its buttons, or a title alone, when the conversation has gone on long ago."""
        if self._taken_buttons is None:
            return None
        shown = ShownChoices(self._taken_buttons, context, {})
        if reply.tap is not None:
            return meaning(shown, reply, lambda: bool)
        index = match(reply.text or "", [choice.option for choice in shown.shown])
        return None if index is None else LeaveStep(shown.shown[index].outcome)

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
            case ButtonsPart(choices):
                header = None if self.header is None else context.text(self.header)
                yield from ShownChoices(choices, context, {}).messages(text, header, None)
                return
            case FilePart(kind) as file:
                if kind in limits.CAPTIONED and len(text) <= limits.CAPTION:
                    yield file.message(context, text or None)
                    return
                attachment: Message | None = file.message(context, None)
            case LocationPart() as place:
                attachment = place.message(context.scope)
            case _:
                attachment = None
        if text.strip():
            yield TextMessage(clip(text, limits.TEXT_BODY), self.preview_url)
        if attachment is not None:
            yield attachment


def _check_buttons(fields: Fields, buttons: ButtonsPart) -> None:
    """Without `valid` a tap is known by its payload alone."""
    fixed, most = buttons.choices.fixed, limits.BUTTONS
    if not fixed:
        return
    if len(fixed) > most:
        what = f"{len(fixed)} buttons, {most} are allowed"
        fields.report("E401", fixed[most].mark, what, "leave some out, or ask a question with `options`")
        return
    check_choices(fields, buttons.choices)
    for choice in () if buttons.leads else fixed:
        transition = choice.transition
        if choice.payload is None:
            what = f'"{choice.key}": a tap leads nowhere, because the step does not wait for it'
            fix = "for a question write ask in place of say; for taps at any time add valid: 7d, or a payload to each"
            fields.report("E105", choice.mark, what, fix)
        elif transition is not None and (transition.acts or transition.then is not None):
            what = f'"{choice.key}": what a tap does here never happens, because the step does not wait for it'
            fields.report("E123", choice.mark, what, "add `valid: 7d`, or leave nothing but the payload")


def _read_text(fields: Fields, attachment: Attachment | None) -> Template | None:
    text = None if fields.null(_SAY.name) else _SAY.read(fields)
    empty = fields.null(_SAY.name) or (text is not None and text.blank)
    if empty and (attachment is None or isinstance(attachment, LinkPart | ButtonsPart)):
        _SAY.report(fields, "E105", "there is nothing to say", "write the text")
    return text
