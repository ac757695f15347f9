"""The switches: one for each point on which the gateway's specification is silent or contradicts itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, get_args, get_origin, get_type_hints


@dataclass
class Behaviour:
    """The switches for every point on which the specification is silent. Each may be changed at any time.

    Sending:

    * ``repeated_key``: what a repeated ``Idempotency-Key`` gets. ``replay``: the answer that accepted it, again;
      ``conflict``: 409; ``refused``: 422 with a code that says so; ``stored_error``: whatever the first request
      was answered, even an error that came before the message was accepted; ``new``: the message is sent again;
      ``ignored``: as if no key had been given.
    * ``key_kept``: after this long a key is new.
    * ``send_message_refuses``, ``chat_messages_refuses``: types that the endpoint answers with
      ``VALIDATION_INVALID_TYPE``, such as ``{"interactive", "template"}``.
    * ``ids_in_results``: False leaves every message id out of the results.
    * ``success_status``: the HTTP status of an accepted POST. ``error_status``: one for all refusals (200, say),
      instead of each its own. ``interactive_status``: of the ``INTERACTIVE_...`` errors.
    * ``recipients``: ``to`` has ``numbers``, or ``any`` text that names a sender.
    * ``window``: ``enforced``, or ``open`` for every contact.
    * ``aliases``: numbers whose ``contacts[].chat_id`` differs, and from which events then come.
    * ``per_page_over_max``: a ``per_page`` above 100 is ``refused`` or ``clamped``.
    * ``contact_name``: an upsert without a name is refused (``required``), or leaves the name alone (``optional``).
    * ``contact_tags``: the tags of an upsert ``replace`` the contact's or are added (``merge``).

    Interactive messages:

    * ``list_header``, ``list_footer``, ``button_footer``: taken, though one of the two tables does not have them.
    * ``untitled_sections``: a list's section needs no title. ``duplicate_choices``: ids and titles may repeat.

    Templates:

    * ``upper_case_components``: `chat/messages` takes ``BODY`` for ``body``.
    * ``static_header_needed``: a header without placeholders has to be sent, too.
    * ``too_few_parameters``: 132001 or 132000. ``pending_template``: the code for a template still ``PENDING``.
    * ``template_parameter_max``: characters in a parameter. ``template_status``: the first status of a sent template.

    Limits:

    * ``minute_window``: the minute is ``sliding`` or ``fixed``. ``day_window``: the day is the ``calendar``'s (UTC)
      or ``sliding``. ``retry_after``: in ``seconds`` or as a ``date``.

    Events:

    * ``template_tap``: a tap on a template's quick reply comes as an ``interactive_reply``, or as an inbound text
      that is the button's ``title`` or ``payload``.
    * ``restamp``: the timestamp header is the time of each try, not of the event.
    * ``ordered``: a contact's events are first tried one after the other.
    * ``statuses``: which status events follow a message, such as ``("sent", "delivered", "read")``;
      ``statuses_first``: they are delivered before the send is answered; ``status_id``: the id that they carry;
      ``status_payload``: id, number and status side by side (``flat``), id and number in objects (``nested``), or
      nothing but id and status (``bare``).
    * ``companion_events``: ``contact.created`` and ``conversation.opened`` come with a contact's first message.
    * ``sample_code_names``: events are named as in the sample code (``message.received`` and so on).
    * ``signature_prefix``: False gives the bare hex digest. ``plus_in_events``: numbers in events begin with ``+``.
    * ``coordinates``: where a location's are: ``absent``, in an ``object`` (``location``), ``flat`` or in the ``body``.
    * ``resolved_names_contact``: False gives ``conversation.resolved`` nothing but the conversation's id.
    """

    repeated_key: Literal["replay", "conflict", "refused", "stored_error", "new", "ignored"] = "replay"
    key_kept: timedelta = timedelta(hours=24)
    send_message_refuses: frozenset[str] = frozenset()
    chat_messages_refuses: frozenset[str] = frozenset()
    ids_in_results: bool = True
    success_status: int = 200
    error_status: int | None = None
    interactive_status: int = 400
    recipients: Literal["numbers", "any"] = "numbers"
    window: Literal["enforced", "open"] = "enforced"
    aliases: dict[str, str] = field(default_factory=dict)
    per_page_over_max: Literal["refused", "clamped"] = "refused"
    contact_name: Literal["required", "optional"] = "required"
    contact_tags: Literal["replace", "merge"] = "replace"

    list_header: bool = False
    list_footer: bool = True
    button_footer: bool = False
    untitled_sections: bool = False
    duplicate_choices: bool = False

    upper_case_components: bool = False
    static_header_needed: bool = False
    too_few_parameters: Literal["132001", "132000"] = "132001"
    pending_template: str = "132007"
    template_parameter_max: int = 1024
    template_status: Literal["sent", "queued"] = "sent"

    minute_window: Literal["sliding", "fixed"] = "sliding"
    day_window: Literal["calendar", "sliding"] = "calendar"
    retry_after: Literal["seconds", "date"] = "seconds"

    template_tap: Literal["interactive_reply", "title", "payload"] = "interactive_reply"
    restamp: bool = False
    ordered: bool = True
    statuses: tuple[str, ...] = ()
    statuses_first: bool = False
    status_id: Literal["messageId", "chatMessageId"] = "messageId"
    status_payload: Literal["flat", "nested", "bare"] = "flat"
    companion_events: bool = False
    sample_code_names: bool = False
    signature_prefix: bool = True
    plus_in_events: bool = False
    coordinates: Literal["absent", "object", "flat", "body"] = "absent"
    resolved_names_contact: bool = True

    def change(self, values: Mapping[str, Any]) -> None:
        """Set switches from JSON: lists for sets, seconds for durations. Raises `ValueError` for an unknown one."""
        hints = get_type_hints(Behaviour)
        for name, value in values.items():
            if name not in hints:
                raise ValueError(f"there is no switch {name!r}, but these: {', '.join(hints)}")
            setattr(self, name, _read(name, value, hints[name]))


def _read(name: str, value: Any, hint: Any) -> Any:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ValueError(f"{name} is one of {', '.join(map(str, get_args(hint)))}, not {value!r}")
        return value
    if hint is timedelta and isinstance(value, int | float):
        return timedelta(seconds=value)
    origin = get_origin(hint)
    if origin in (frozenset, tuple) and isinstance(value, list):
        return origin(value)
    if not isinstance(value, origin if isinstance(origin, type) else hint):
        raise ValueError(f"{value!r} is no value for {name}")
    return value
