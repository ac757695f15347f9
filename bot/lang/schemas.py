"""What a model is told of a handler: the JSON schema of its arguments, from its annotations and its docstring."""

from collections.abc import Collection
from typing import Any

from pydantic import PydanticUserError, TypeAdapter

from bot.core.errors import BotError
from bot.lang.docstrings import named_in
from bot.lang.handlers import HandlerSpec


class NoSchema(BotError):
    """An argument whose annotation has no form in JSON."""


def parameters_schema(spec: HandlerSpec, without: Collection[str]) -> dict[str, Any]:
    """The schema of a handler's arguments, but for those in ``without``. Raises `NoSchema`.

    A line ``name: what it is`` in the docstring describes an argument.
    """
    about = named_in(spec.doc)
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    parameters = [parameter for parameter in spec.parameters.values() if parameter.name not in without]
    for parameter in parameters:
        schema = {} if parameter.annotation is Any else _schema(parameter.name, parameter.annotation)
        definitions |= schema.pop("$defs", {})
        schema.pop("title", None)
        if parameter.name in about:
            schema["description"] = about[parameter.name]
        properties[parameter.name] = schema
    required = [parameter.name for parameter in parameters if parameter.required]
    whole = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return whole | ({"$defs": definitions} if definitions else {})


def _schema(name: str, annotation: Any) -> dict[str, Any]:
    try:
        return TypeAdapter(annotation).json_schema()
    except PydanticUserError:
        raise NoSchema(f'the argument "{name}" is a {getattr(annotation, "__name__", annotation)}') from None
