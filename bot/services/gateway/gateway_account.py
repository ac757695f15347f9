"""The account's templates, contacts and webhooks, and their paginated lists (spec: Resources)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Generic, TypeVar

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import digits, line
from bot.core.values import UnstorableValue, plain
from bot.services.gateway.gateway_answers import EndlessList, GatewayResult, Rate

PER_PAGE = 100
"""The number of items on a page: the most that the gateway gives."""

MOST_PAGES = 5000
_NAME = 512  # characters of a template's or a webhook's name that are kept
_EMAIL = 254
_PERSON = 200
_TAG = 200
_TAGS = 500  # of a contact; an upsert would take away those that are not kept here
SECRET = lazy_pattern(r"[!-+\--~]{1,512}")
"""A signing secret as it can be set: no comma, which divides several, and nothing that a terminal or a file acts on."""

T = TypeVar("T")


@immutable
class TemplateInfo:
    """A registered template. ``components`` are some of HEADER, BODY, FOOTER and BUTTONS.

    ``status``: APPROVED, PENDING, REJECTED or PAUSED. A field that a list does not show is ``""``.
    """

    name: str
    language: str
    category: str = ""
    status: str = ""
    components: tuple[str, ...] = ()


@immutable
class ContactInfo:
    """A contact as the gateway has it. ``phone`` is in digits; ``name`` is None where it is only the number."""

    id: str
    phone: str
    name: str | None = None
    email: str | None = None
    tags: tuple[str, ...] = ()
    custom_fields: Mapping[str, Any] = field(default_factory=dict)
    created_at: str | None = None
    updated_at: str | None = None


@immutable
class ContactPut:
    """A contact was made or changed. ``id`` is the gateway's."""

    id: str
    rate: Rate


@immutable
class RegisteredWebhook:
    """A webhook that was registered. No later answer shows its ``secret`` again."""

    id: str
    name: str
    url: str
    events: tuple[str, ...]
    secret: str | None = field(repr=False)
    is_active: bool
    created_at: str | None
    rate: Rate


@immutable
class Page(Generic[T]):
    """The items of one answer. ``total`` is how many all pages have, where the answer says that."""

    items: tuple[T, ...]
    has_more: bool
    rate: Rate
    total: int | None = None

    @property
    def last(self) -> int | None:
        """The number of the last page, where the answer says how many items there are."""
        return None if self.total is None else -(-self.total // PER_PAGE)

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def pages(fetch: Callable[[int], Page[T]]) -> Iterator[T]:
    """The items of all pages, in order: ``pages(gateway.contacts_page)``. A page is fetched when it is needed.

    Each is a request of its own. Raises what ``fetch`` raises, and `EndlessList` for a list that does not end or
    comes again and again.
    """
    before: Page[T] | None = None
    for number in range(1, MOST_PAGES + 1):
        page = fetch(number)
        if page.items and before is not None and page.items == before.items:
            raise EndlessList(f"pages {number - 1} and {number} of the list are the same")
        yield from page
        if not page.has_more or not page.items:
            return
        before = page
    raise EndlessList(f"the list has more than {MOST_PAGES} pages")


def read_page(result: GatewayResult, read: Callable[[Mapping[str, Any]], T | None]) -> Page[T]:
    """The items of an answer, without those that make no sense."""
    listed = result.data if isinstance(result.data, list) else []
    found = (read(item) for item in listed if isinstance(item, dict))
    items, total = tuple(item for item in found if item is not None), result.meta.get("total")
    return Page(items, result.meta.get("has_more") is True, result.rate, total if isinstance(total, int) else None)


def read_template(item: Mapping[str, Any]) -> TemplateInfo | None:
    """A template list item."""
    name, language = line(item.get("name"), _NAME), line(item.get("language"), _NAME)
    if name is None or language is None:
        return None
    components = item.get("components")
    kinds = [line(kind, _NAME) for kind in components] if isinstance(components, list) else []
    category, status = (line(item.get(field), _NAME) or "" for field in ("category", "status"))
    return TemplateInfo(name, language, category.upper(), status.upper(), tuple(kind.upper() for kind in kinds if kind))


def read_contact(item: Mapping[str, Any]) -> ContactInfo | None:
    """A contact, of a list or of an event: its id is called ``id`` or ``contact_id``."""
    phone = digits(item.get("phone"))
    if phone is None:
        return None
    return ContactInfo(
        id=read_id(item),
        phone=phone,
        name=person(item.get("name"), phone),
        email=read_email(item.get("email")),
        tags=read_tags(item.get("tags")) or (),
        custom_fields=_custom(item.get("custom_fields")),
        created_at=line(item.get("created_at"), _TAG),
        updated_at=line(item.get("updated_at"), _TAG),
    )


def _custom(fields: Any) -> Mapping[str, Any]:
    """A map of any fields; if it is nested without end, an empty one."""
    try:
        return dict(plain(fields)) if isinstance(fields, dict) else {}
    except UnstorableValue:
        return {}


def person(name: Any, phone: str) -> str | None:
    """A contact's name. None if it is only the number, because the gateway calls contacts without a name so."""
    found = line(name, _PERSON)
    return None if found is None or digits(found) == phone else found


def read_email(value: Any) -> str | None:
    """A contact's email; None if the value is no text or too long."""
    found = line(value, _EMAIL + 1)
    return None if found is None or len(found) > _EMAIL else found


def read_tags(value: Any) -> tuple[str, ...] | None:
    """A contact's tags, each once; None if the value is no list."""
    if not isinstance(value, list):
        return None
    found = (line(tag, _TAG) for tag in value[:_TAGS])
    return tuple(dict.fromkeys(tag for tag in found if tag is not None))


def read_webhook(
    result: GatewayResult, name: str, url: str, events: tuple[str, ...], secret: str | None
) -> RegisteredWebhook:
    """A registration, from the answer with its secret. Fields that the answer leaves out are as requested."""
    data = result.data if isinstance(result.data, dict) else {}
    named = data.get("events")
    shown = data.get("secret")
    return RegisteredWebhook(
        id=read_id(data),
        name=line(data.get("name"), _NAME) or name,
        url=line(data.get("url"), 2000) or url,
        events=tuple(event for each in named if (event := line(each, _NAME))) if isinstance(named, list) else events,
        secret=shown if isinstance(shown, str) and SECRET.fullmatch(shown) else secret,
        is_active=data.get("is_active") is not False,
        created_at=line(data.get("created_at"), _TAG),
        rate=result.rate,
    )


def read_id(data: Any) -> str:
    """The id in a result, of any type; ``""`` if there is none."""
    fields = data if isinstance(data, dict) else {}
    found = fields.get("id", fields.get("contact_id"))
    return line(str(found), _TAG) or "" if isinstance(found, str | int) else ""
