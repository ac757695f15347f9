"""What the keys of a template take: for editors."""

from bot.keys.key_schemas import ANY_TEXT, Schema, Schemas, either, integer, one_or_several, record, shared, takes
from bot.steps.notice import BODY_KINDS, HEADER_KINDS
from bot.steps.place import COORDINATES, PLACE_KEYS

_KINDS: Schemas = {
    "text": takes(ANY_TEXT, "A text."),
    "image": takes(
        either(ANY_TEXT, record({"id": takes(ANY_TEXT, "Its id at the gateway.")}, "id")), "An image, by its address."
    ),
    "video": takes(ANY_TEXT, "A video, by its address."),
    "document": takes(ANY_TEXT, "A document, by its address."),
    "location": takes(record(PLACE_KEYS, *COORDINATES, "name", "address"), "A place on the map."),
    "currency": takes(
        record(
            {
                "amount": takes(ANY_TEXT, "How much, like 12.50."),
                "code": takes(ANY_TEXT, "The currency's code, like EUR."),
                "text": takes(ANY_TEXT, "How it is written; the amount and the code where nothing is said."),
            },
            "amount",
            "code",
        ),
        "An amount of money.",
    ),
    "date_time": takes(ANY_TEXT, "A date or a time, as it is written."),
}


def _parameter(kinds: tuple[str, ...]) -> Schema:
    return either(ANY_TEXT, record({kind: _KINDS[kind] for kind in kinds}, most=1))


_BUTTON: Schemas = {
    "url": takes(ANY_TEXT, "What is added to the address of the button."),
    "index": takes(integer(0, 9), "Its place among the template's buttons; behind the replies where nothing is said."),
}
NOTICE = shared(
    "map-of-template",
    record(
        {
            "name": takes(ANY_TEXT, "The template's name at the gateway."),
            "language": takes(ANY_TEXT, "The template's language, like en or pt_BR."),
            "header": takes(
                either(_parameter(HEADER_KINDS), {"type": "array", "maxItems": 0}), "What fills the header."
            ),
            "body": takes(one_or_several(_parameter(BODY_KINDS)), "What fills the placeholders of the body, in order."),
            "buttons": takes(
                one_or_several(either(ANY_TEXT, record(_BUTTON, "url"))), "What is added to links of its buttons."
            ),
        },
        "name",
        "language",
    ),
)
