"""Values checked against a handler's annotations, by pydantic.

Its arguments, before the contact is asked to agree and before the call; the JSON schema that a model gets of them; the
value of a stub, read as the handler's result.
"""

import copy
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Annotated, Any, get_origin

from bot.core.errors import BotError
from bot.core.values import Media, dumps, plain
from bot.language.python.decorators import HandlerSpec, named_in
from bot.language.python.gathered import Extensions

Fit = Callable[[str, Any], Any]


class BadArgument(BotError):
    """An argument that a handler does not take.

    ``name`` is the argument. ``detail`` says more where the annotation's own Python has raised: that is for the trace.
    """

    def __init__(self, name: str, what: str, detail: str = "") -> None:
        super().__init__(what)
        self.name = name
        self.detail = detail or what


class Arguments:
    """The arguments of a handler. Safe to use from many threads."""

    def __init__(self, spec: HandlerSpec) -> None:
        self._parameters = spec.parameters
        self._fits = {each.name: _fit(each.annotation) for each in spec.parameters.values()}

    def fitted(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Copies of a flow's or a model's values, each as the handler's annotation has it. Raises `BadArgument`."""
        if unknown := sorted(given.keys() - self._fits.keys()):
            raise BadArgument(unknown[0], f"no such argument: {', '.join(unknown)}")
        for each in self._parameters.values():
            if each.required and each.name not in given:
                raise BadArgument(each.name, f"the argument {each.name} is missing")
        return {name: self._fits[name](name, value) for name, value in given.items()}


def _fit(annotation: Any) -> Fit:
    """A function that makes a value fit an annotation. The value itself is never handed out: it is kept."""
    if annotation is Any:
        return lambda name, value: copy.deepcopy(value)
    from pydantic import PydanticUserError, TypeAdapter, ValidationError  # slow to import: only where there are types

    try:
        adapter = TypeAdapter(annotation)
    except PydanticUserError:  # a class that nothing is known of, such as Record
        kind = annotation.__origin__ if get_origin(annotation) is Annotated else annotation
        return lambda name, value: _instance(name, value, kind)

    def fit(name: str, value: Any) -> Any:
        try:
            return adapter.validate_python(_bare(value))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, (name, *first["loc"])))
            if isinstance(first.get("ctx", {}).get("error"), Exception):
                raise _not_taken(name, place, first["msg"]) from error
            raise BadArgument(name, f"the argument {place}: {first['msg']}") from error
        except Exception as error:  # of a class of the bot's own, while it is made
            raise _not_taken(name, name, f"{type(error).__name__}: {error}") from error

    return fit


def _not_taken(name: str, place: str, why: str) -> BadArgument:
    return BadArgument(name, f"the argument {place}: it is not taken", f"the argument {place}: {why}")


def _instance(name: str, value: Any, annotation: Any) -> Any:
    if isinstance(annotation, type) and isinstance(value, annotation):
        return copy.deepcopy(value)
    raise BadArgument(name, f"the argument {name}: {type(value).__name__} is no {annotation}")


def _bare(value: Any) -> Any:
    """A copy with each record as a dict, from which a dataclass can be made."""
    if isinstance(value, Mapping):
        return {key: _bare(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value


class NoSchema(BotError):
    """An argument without an annotation, or with one that has no form in JSON."""


def parameters_schema(spec: HandlerSpec, without: Collection[str]) -> dict[str, Any]:
    """The schema of a handler's arguments, but for those in ``without``. Raises `NoSchema`.

    A line ``name: what it is`` in the docstring describes an argument.
    """
    about = named_in(spec.doc)
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    parameters = [parameter for parameter in spec.parameters.values() if parameter.name not in without]
    for parameter in parameters:
        if parameter.name not in getattr(spec.function, "__annotations__", ()):
            raise NoSchema(f'nothing says what the argument "{parameter.name}" is')
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
    from pydantic import PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(annotation).json_schema(schema_generator=_schemas_for_models())
    except (PydanticUserError, _NotOfModels):
        kind = annotation.__name__ if isinstance(annotation, type) else str(annotation)
        raise NoSchema(f'the argument "{name}" is a {kind}') from None


class _NotOfModels(BotError):
    """Bytes, or a file: its path could be any."""


@cache
def _schemas_for_models() -> Any:
    """The generator of schemas for what a model can give."""
    from pydantic.json_schema import GenerateJsonSchema

    class SchemasForModels(GenerateJsonSchema):
        def bytes_schema(self, schema: Any) -> Any:
            raise _NotOfModels

        def dataclass_schema(self, schema: Any) -> Any:
            if schema["cls"] is Media:
                raise _NotOfModels
            return super().dataclass_schema(schema)

    return SchemasForModels


Read = Callable[[Any], Any]


class Results:
    """Reads values in place of the results of a bot's handlers and verbs, by their names."""

    def __init__(self, extensions: Extensions) -> None:
        self._calls: Mapping[str, HandlerSpec] = extensions.calls
        self._verbs = {verb.outside.name for verb in extensions.verbs.values() if verb.outside is not None}
        self._readers: dict[str, Read] = {}

    def of(self, name: str, value: Any) -> Any:
        """The value as a conversation has it after such a call."""
        if name in self._verbs:
            return {"outcome": "then", "value": copy.deepcopy(value), "say": dumps([]), "set": {}}
        spec = self._calls.get(name)
        if spec is None:
            return copy.deepcopy(value)
        if name not in self._readers:
            self._readers[name] = reader(spec.returns)
        read = self._readers[name](value)
        return read if isinstance(read, bytes) else plain(read)


def reader(annotation: Any) -> Read:
    """A function that reads values of an annotation: dates, dataclasses. It does not change what does not fit."""
    if annotation is Any:
        return copy.deepcopy
    # 100 ms, which bots without stubs need not spend
    from pydantic import PydanticUserError, TypeAdapter, ValidationError

    try:
        adapter = TypeAdapter(annotation)
    except PydanticUserError:  # a class that nothing is known of
        return copy.deepcopy

    def read(value: Any) -> Any:
        try:
            return adapter.validate_python(copy.deepcopy(value))
        except ValidationError:
            return copy.deepcopy(value)

    return read
