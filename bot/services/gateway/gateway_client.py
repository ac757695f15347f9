"""The client of the gateway: its endpoints, and messages as its JSON. One call is one request."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, TypeVar
from urllib.parse import urlencode

import orjson

from bot.core.defects import found
from bot.core.immutable import immutable
from bot.core.messages import (
    MEDIA_KINDS,
    Buttons,
    Choice,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    TemplateMessage,
    TextMessage,
    violations,
)
from bot.core.text import parameter_line
from bot.services.gateway.gateway_account import (
    PER_PAGE,
    ContactInfo,
    ContactPut,
    Page,
    RegisteredWebhook,
    TemplateInfo,
    read_contact,
    read_id,
    read_page,
    read_template,
    read_webhook,
)
from bot.services.gateway.gateway_answers import (
    EndpointRefused,
    EndpointUnavailable,
    GatewayError,
    GatewayNotReached,
    GatewayResult,
    InvalidMessage,
    InvalidType,
    KeyState,
    NotTheGateway,
    OutcomeUnknown,
    Sent,
    read_result,
    read_sent,
)
from bot.services.http_client import HttpClient, ReachabilityAlarm, Response, wait_for
from bot.services.request_errors import HttpError, NotSent

T = TypeVar("T")
_NO_ANSWER = (GatewayNotReached, NotTheGateway, OutcomeUnknown)  # nobody has answered, or not the gateway
Json = dict[str, Any]


def type_of(message: Message) -> str:
    """The gateway's name for the message's type: also the name of the field that holds its content."""
    match message:
        case TextMessage():
            return "text"
        case MediaMessage(kind):
            return kind
        case LocationMessage():
            return "location"
        case TemplateMessage():
            return "template"
    return "interactive"


def content(message: Message) -> Json:
    """The value of the field for the message's type."""
    match message:
        case TextMessage(body, preview_url):
            return {"body": body, "preview_url": True} if preview_url else {"body": body}
        case MediaMessage(_, link, caption, filename):
            return {"link": link, **_given(caption=caption, filename=filename)}
        case LocationMessage(latitude, longitude, name, address):
            return {"latitude": latitude, "longitude": longitude, **_given(name=name, address=address)}
        case TemplateMessage():
            return _template(message)
    return _interactive(message)


def _interactive(message: Buttons | LinkButton | ListMessage) -> Json:
    body = {"text": message.body}
    match message:
        case Buttons(_, buttons, header):
            replies = [{"type": "reply", "reply": {"id": item.id, "title": item.title}} for item in buttons]
            return {"type": "button", **_header(header), "body": body, "action": {"buttons": replies}}
        case LinkButton(_, title, url, header, footer):
            action: Json = {"display_text": title, "url": url}
            return {"type": "cta_url", **_header(header), "body": body, **_footer(footer), "action": action}
        case ListMessage(_, button, sections, footer):
            listed = [{"title": section.title, "rows": [_row(row) for row in section.rows]} for section in sections]
            action = {"button": button, "sections": listed}
            return {"type": "list", "body": body, **_footer(footer), "action": action}


def _header(text: str | None) -> Json:
    return {"header": {"type": "text", "text": text}} if text else {}


def _footer(text: str | None) -> Json:
    return {"footer": {"text": text}} if text else {}


def _row(row: Choice) -> Json:
    return {"id": row.id, "title": row.title, **_given(description=row.description)}


def _template(message: TemplateMessage) -> Json:
    components: list[Json] = []
    if message.header is not None:
        components.append({"type": "header", "parameters": [_parameter(message.header)] if message.header else []})
    if message.body:
        components.append({"type": "body", "parameters": [_parameter(each) for each in message.body]})
    taken = {index for index, _ in message.url_buttons}
    places = (index for index in count() if index not in taken)
    for index, payload in zip(places, message.replies, strict=False):
        components.append(_button("quick_reply", index, {"type": "payload", "payload": payload}))
    for index, text in message.url_buttons:
        components.append(_button("url", index, _parameter({"type": "text", "text": text})))
    template = {"name": message.name, "language": {"code": message.language}}
    return {**template, **({"components": components} if components else {})}


_SHOWN = ("text", "fallback_value", "name", "address")  # the texts of a parameter that contacts read


def _parameter(parameter: Json) -> Json:
    """The parameter object with its texts as the platform takes them, which refuses line breaks in them."""
    return {
        name: _parameter(value)
        if isinstance(value, dict)
        else parameter_line(value)
        if name in _SHOWN and isinstance(value, str)
        else value
        for name, value in parameter.items()
    }


def _button(sub_type: str, index: int, parameter: Json) -> Json:
    return {"type": "button", "sub_type": sub_type, "index": index, "parameters": [parameter]}


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


@immutable
class Endpoint:
    """An address that takes messages: whether it honours ``Idempotency-Key``, and the common fields of its body."""

    path: str
    keyed: bool
    fields: tuple[str, ...] = ("to", "type", "channel_id")


SEND_MESSAGE = Endpoint("/external-api/inbox/send-message", keyed=True)
CHAT_MESSAGES = Endpoint("/external-api/chat/messages", keyed=True)
SEND_TEMPLATE = Endpoint("/external-api/inbox/send-template-message", keyed=False, fields=("to", "channel_id"))
INTERACTIVE = Endpoint("/external-api/v1/chat/interactive", keyed=False)

ENDPOINTS: dict[str, tuple[Endpoint, ...]] = {
    "text": (SEND_MESSAGE, CHAT_MESSAGES),
    "template": (SEND_MESSAGE, CHAT_MESSAGES, SEND_TEMPLATE),
    "interactive": (SEND_MESSAGE, CHAT_MESSAGES, INTERACTIVE),
    **dict.fromkeys((*MEDIA_KINDS, "location"), (SEND_MESSAGE,)),
}
"""The endpoints for each type of message, in the order in which they are tried."""

_MISSING = (404, 405, 410, 501)
"""The statuses by which a gateway says that it has no such endpoint."""

TEMPLATE_LIST = "/external-api/inbox/template-list"
CHAT_TEMPLATES = "/external-api/chat/templates"
CONTACTS = "/external-api/contacts"
WEBHOOKS = "/external-api/v1/webhooks"


class Gateway:
    """The gateway, for one account. Safe to use from many threads.

    ``channel_id`` is the account's channel; ``channels`` are the channels by their numbers where it has several. Which
    endpoint takes a type is learned from definite refusals and remembered for as long as this object lives. Every
    method raises the tree of `bot.services.gateway.gateway_answers`; every answer has the limits in ``rate``. ``reach``
    is told whether the gateway answers: a redirect, or the page of another server, does not count.
    """

    def __init__(
        self,
        url: str,
        key: str,
        channel_id: str | None = None,
        http: HttpClient | None = None,
        *,
        channels: Mapping[str, str] | None = None,
        reach: ReachabilityAlarm | None = None,
    ) -> None:
        self._http = http or HttpClient(url, own=True)
        self._url = url
        self._reach = reach
        self._channel_id = channel_id
        self.use_channels(channels or {})
        self._key = key
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._refusals: dict[str, int] = {}  # type -> how many endpoints have refused it

    def keyed(self, message: Message) -> bool:
        """True if the endpoint that this message goes to honours the key, as far as is known now."""
        return self._endpoint(type_of(message)).keyed

    def use_channels(self, channels: Mapping[str, str]) -> None:
        """Use these channels from now on."""
        self._channels = dict(channels)

    def channel_id(self, channel: str | None) -> str | None:
        """The channel id for contacts who write to this number; the account's if the number is not known."""
        return self._channels.get(channel or "", self._channel_id)

    def channel_ids(self) -> set[str | None]:
        """All that `channel_id` can return."""
        return {self._channel_id, *self._channels.values()}

    def begin_send(
        self,
        to: str,
        message: Message,
        key: str,
        channel: str | None,
        done: Callable[[Sent | GatewayError], None],
        *,
        repeated: bool = False,
    ) -> None:
        """Begin to send a message, and return. ``channel`` is the number that the contact writes to: its channel id is
        the one used. ``repeated``: an earlier request with this key may have been carried out.

        ``done`` gets what was sent or why it was not, on a thread that it must not hold up. `EndpointRefused` says that
        another endpoint is next: send again at once. The client does not do that itself, because each request counts
        against the account's limits, which the caller keeps.
        """
        if broken := violations(message):
            done(InvalidMessage("; ".join(broken)))
            return
        kind = type_of(message)
        endpoint = self._endpoint(kind)
        fields = {"to": to, "type": kind, "channel_id": self.channel_id(channel), kind: content(message)}
        body = {name: fields[name] for name in (*endpoint.fields, kind) if fields[name] is not None}
        headers = {**self._headers, "Idempotency-Key": key} if endpoint.keyed else self._headers
        state = KeyState.NONE if not endpoint.keyed else KeyState.REPEATED if repeated else KeyState.FIRST
        read = partial(self._read_sent, to, kind, endpoint, state)
        self._begin("POST", endpoint.path, orjson.dumps(body), headers, endpoint.keyed, read, done)

    def send(self, to: str, message: Message, key: str, channel: str | None = None, *, repeated: bool = False) -> Sent:
        """Send a message as `begin_send` does, and wait for the answer. Raises `GatewayError`."""
        sent: Sent = wait_for(partial(self.begin_send, to, message, key, channel, repeated=repeated))
        return sent

    def after_answers(self, call: Callable[[], object]) -> None:
        """See `HttpClient.after_answers`."""
        self._http.after_answers(call)

    def templates(self) -> Page[TemplateInfo]:
        """The templates of the account's channel, all of them (spec: GET inbox/template-list)."""
        return read_page(self._get(TEMPLATE_LIST), read_template)

    def chat_templates_page(self, page: int) -> Page[TemplateInfo]:
        """A page of templates, of which only name and language are certain (spec: GET chat/templates).

        `bot.services.gateway.gateway_account.pages` goes through all pages of a list; the first is page 1.
        """
        return read_page(self._get(CHAT_TEMPLATES, page), read_template)

    def begin_contacts_page(self, page: int, done: Callable[[Page[ContactInfo] | GatewayError], None]) -> None:
        """Begin to read a page of contacts, as `contacts_page` does, and return; ``done`` gets the result."""

        def read(response: Response) -> Page[ContactInfo]:
            result = read_result(response, keyed=True, asked=self._asked("GET", CONTACTS))
            if not isinstance(result.data, list | None):  # this does not say that the account has no contacts
                raise NotTheGateway("the answer has no list of contacts", rate=result.rate)
            page = read_page(result, read_contact)
            may_go_on = "has_more" not in result.meta and len(page) >= PER_PAGE
            return replace(page, has_more=True) if may_go_on else page

        self._begin("GET", _page_of(CONTACTS, page), None, self._headers, True, read, done)

    def contacts_page(self, page: int) -> Page[ContactInfo]:
        """A page of contacts (spec: GET contacts)."""
        found: Page[ContactInfo] = wait_for(partial(self.begin_contacts_page, page))
        return found

    def begin_put_contact(
        self,
        phone: str,
        name: str | None,
        email: str | None,
        tags: Iterable[str],
        done: Callable[[ContactPut | GatewayError], None],
    ) -> None:
        """Begin to make or change a contact, as `put_contact` does, and return; ``done`` gets the result."""
        given = {"phone": phone, "name": name, "email": email, "tags": list(tags)}

        def read(response: Response) -> ContactPut:
            result = read_result(response, True, self._asked("POST", CONTACTS))
            return ContactPut(read_id(result.data), result.rate)

        self._begin("POST", CONTACTS, orjson.dumps(_given(**given)), self._headers, True, read, done)

    def put_contact(self, phone: str, name: str | None, email: str | None, tags: Iterable[str]) -> ContactPut:
        """Make or change a contact; ``tags`` replace all tags that it has (spec: POST contacts).

        A name that is None is not sent. The specification does not call it optional, so a gateway may refuse that.
        """
        put: ContactPut = wait_for(partial(self.begin_put_contact, phone, name, email, tags))
        return put

    def register_webhook(
        self, name: str, url: str, events: Iterable[str], secret: str | None = None
    ) -> RegisteredWebhook:
        """Register a webhook for these events (spec: POST webhooks). Its secret is made there when none is given."""
        events = tuple(events)
        given = {"name": name, "url": url, "events": list(events), "secret": secret}
        result = self._ask("POST", WEBHOOKS, orjson.dumps(_given(**given)), keyed=False)
        return read_webhook(result, name, url, events, secret)

    def close(self) -> None:
        """Close idle connections."""
        self._http.close()

    def _get(self, path: str, page: int | None = None) -> GatewayResult:
        return self._ask("GET", path if page is None else _page_of(path, page), None, keyed=True)

    def _ask(self, method: str, path: str, body: bytes | None, *, keyed: bool) -> GatewayResult:
        read = partial(read_result, keyed=keyed, asked=self._asked(method, path))
        result: GatewayResult = wait_for(partial(self._begin, method, path, body, self._headers, keyed, read))
        return result

    def _begin(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        keyed: bool,
        read: Callable[[Response], T],
        done: Callable[[T | GatewayError], None],
    ) -> None:
        """Begin a request. ``keyed``: it may be made twice. ``read`` raises `GatewayError` for an answer that is a
        refusal.
        """
        self._http.begin(method, path, body, headers, partial(self._answered, keyed, read, done))

    def _answered(
        self,
        keyed: bool,
        read: Callable[[Response], T],
        done: Callable[[T | GatewayError], None],
        answer: Response | HttpError,
    ) -> None:
        result: T | GatewayError
        if isinstance(answer, NotSent):
            result = GatewayNotReached(str(answer), advice=answer.advice)
        elif isinstance(answer, HttpError):
            result = OutcomeUnknown(str(answer), keyed)
        else:
            try:
                result = read(answer.without(self._key))
            except GatewayError as error:
                result = error
            except Exception as defect:  # an answer that we cannot read costs its own request alone
                found(defect, "http", ends_process=False)
                result = OutcomeUnknown(f"a defect of the bot's: {type(defect).__name__}", keyed=keyed)
        if self._reach is not None:
            if isinstance(result, _NO_ANSWER):
                self._reach.failed(result.message, result.advice)
            else:
                self._reach.answered()
        done(result)

    def _read_sent(self, to: str, kind: str, endpoint: Endpoint, key: KeyState, response: Response) -> Sent:
        try:
            return read_sent(response, key, to, self._asked("POST", endpoint.path))
        except InvalidType as error:
            raise self._refused(kind, endpoint, error) from error
        except (EndpointUnavailable, NotTheGateway) as error:
            if endpoint is ENDPOINTS[kind][0] or response.status not in _MISSING:
                raise
            raise self._refused(kind, endpoint, error) from error

    def _asked(self, method: str, path: str) -> str:
        """A request, in words."""
        return f"{method} {self._url}{path.partition('?')[0]}"

    def _endpoint(self, kind: str) -> Endpoint:
        return ENDPOINTS[kind][self._refusals.get(kind, 0)]

    def _refused(self, kind: str, endpoint: Endpoint, error: GatewayError) -> GatewayError:
        """Return the error for an endpoint that does not take a type, or is missing, and use the next endpoint from now
        on.

        If the last endpoint is missing, no endpoint takes the type. The gateway's address is right, since the first
        endpoint answered.
        """
        following = ENDPOINTS[kind].index(endpoint) + 1
        if following == len(ENDPOINTS[kind]):
            if isinstance(error, EndpointUnavailable):
                return InvalidType(error.message, error.details, error.rate, error.code, asked=error.asked)
            return error
        self._refusals[kind] = max(following, self._refusals.get(kind, 0))
        return EndpointRefused(error.message, error.details, error.rate, error.code)


def _page_of(path: str, page: int) -> str:
    return f"{path}?{urlencode({'page': page, 'per_page': PER_PAGE})}"
