"""Where a bot delivers its events: ``events_to`` in ``bot.yml``."""

from collections.abc import Mapping

from bot.core.immutable import immutable
from bot.language.keys.declared_keys import STRING, TEMPLATE, KeySet, KeySpec, as_fields, one_of, one_or_several
from bot.language.keys.fields import Fields
from bot.language.python.decorators import END, ERROR, HANDOFF, HOOK_EVENTS, TEAM_QUESTION
from bot.language.source.problems import Mark, did_you_mean
from bot.language.source.yaml_tree import Scalar, one_or_more
from bot.language.steps.http_services import (
    ALLOW_PRIVATE,
    HttpService,
    check_public,
    check_service_text,
    is_web_address,
)

RESULT, TAGS, OPT_OUT = "result", "tags", "opt_out"
EVENTS: dict[str, tuple[str, ...]] = {
    RESULT: ("flow", "report", "way", "outcome"),
    TAGS: ("added", "removed", "tags"),
    OPT_OUT: ("opted_out",),
    **{event: HOOK_EVENTS[event][2:] for event in (HANDOFF, TEAM_QUESTION, END, ERROR)},
}
"""The events that a bot can deliver, each with its data; those of hooks without ``contact`` and ``at``, which each
event has.
"""


@immutable
class EventReceiver:
    """The address of the receiver, as a service; the name of the secret that signs; and the events that go there."""

    service: HttpService
    secret: str
    on: Mapping[str, Mark]  # each with its place in the file


def read_receiver(fields: Fields, secrets: tuple[str, ...]) -> EventReceiver | None:
    """Read ``events_to`` of a bot with these secrets."""
    url, secret, on = _URL.read(fields), _SECRET.read(fields), _ON.read(fields)
    if url is not None and url.constant and not is_web_address(url.source):
        fix = "write one like https://crm.example/hooks/bot"
        fields.report("E405", url.mark, "url: this is no address", fix)
    if secret is not None and secret not in secrets:
        fix = did_you_mean(secret, secrets, f"name it in bot.yml: secrets: [{secret}]")
        _SECRET.report(fields, "E509", f'no secret "{secret}"', fix)
    if _ON.written(fields) and not one_or_more(fields.raw(_ON.name)):
        _ON.report(fields, "E105", "on: no event goes there", f"write some of {', '.join(EVENTS)}")
    if url is None or secret is None:
        return None
    check_public(fields, _URL.name, url)
    check_service_text(fields, url, secrets)
    url.prepare()  # threads render it
    marks = {item.text: item.mark for item in one_or_more(fields.raw(_ON.name)) if isinstance(item, Scalar)}
    service = HttpService(NAME, url, allow_private=ALLOW_PRIVATE.read(fields))
    return EventReceiver(service, secret, {event: marks[event] for event in on})


NAME = "events_to"
_URL = KeySpec("url", TEMPLATE, "The address that each event is posted to.", required=True)
_SECRET = KeySpec("secret", STRING, "The name of the secret that signs them, one of `secrets`.", required=True)
_ON = KeySpec("on", one_or_several(one_of(*EVENTS)), "The events that go there.", required=True)
RECEIVER = as_fields(
    KeySet(_URL, _SECRET, _ON, ALLOW_PRIVATE), "{url: https://crm.example/bot, secret: CRM_SECRET, on: end}"
)
"""The form of ``events_to``; `read_receiver` makes a receiver of its value."""
