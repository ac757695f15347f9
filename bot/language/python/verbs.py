"""Verbs of a bot's own: `@step_kind` declares a class whose annotations are the keys of its steps."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import timedelta
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

from bot.core.immutable import immutable
from bot.core.values import dumps
from bot.language.python.decorators import (
    NOW_PARAMETER,
    BadDeclaration,
    HandlerParameter,
    HandlerSpec,
    declare,
    named,
    signature_of,
    spec_of,
)

C = TypeVar("C", bound=type[Any])
Expression = Annotated[Any, "a bare expression"]
"""The annotation of a key that holds a bare expression, as `if` does; the others hold templates and plain values."""

_PLAIN = (str, bool, int, float, timedelta, Any, Expression)
_KNOWN = "str, bool, int, float, timedelta, Literal, Any or Expression"


@immutable
class Leave:
    """The end of a step of a bot's own verb: its outcome, and the value for its `save`.

    ``say`` is a text or a message of `bot.core.messages`, or several; ``set`` gives variables of the flow values.
    """

    outcome: str = "then"
    value: Any = None
    say: Any = ()
    set: Mapping[str, Any] = field(default_factory=dict)


@immutable
class VerbKey:
    """A key of the verb's steps. ``annotation`` says what it holds: see `Expression`."""

    name: str
    annotation: Any
    required: bool
    default: Any


@immutable
class VerbSpec:
    """A verb as flows see it. ``outside``: its work is a call, made outside the turn; else it is pure.

    ``answer``: its step waits for the contact, and this takes what comes. ``outcomes`` are those beside ``then``.
    """

    verb: str
    made: type[Any]
    keys: Mapping[str, VerbKey]
    outcomes: tuple[str, ...]
    run: Callable[..., Any]
    answer: Callable[..., Any] | None
    takes_now: bool
    outside: HandlerSpec | None


@dataclass_transform(kw_only_default=True)
def step_kind(
    verb: str, *, outcomes: Iterable[str] = (), outside: bool = False, errors: Iterable[type[BaseException]] = ()
) -> Callable[[C], C]:
    """Declare a class as what a verb of one's own does.

    Its annotations are the keys of a step, one has the verb's name.

    A step's `run` is called within the turn, where it must be pure and quick, on an instance with what the keys came
    to. It returns the value for `save`, or a `Leave`. With ``outside`` it is a call like a handler's, and each class in
    ``errors`` is an outcome. A class with an `answer` waits for the contact: what `run` returns is said, and `answer`
    is called with the reply; None says that it is no answer. Raises `BadDeclaration`.
    """
    named(verb, "step_kind")
    what, ways = f'step kind "{verb}"', tuple(outcomes)
    declared = {error.__name__: error for error in errors}

    def of(cls: C) -> C:
        if "__dataclass_fields__" not in vars(cls):
            dataclasses.dataclass(kw_only=True)(cls)
        run, answer = getattr(cls, "run", None), getattr(cls, "answer", None)
        if not inspect.isfunction(run):
            raise BadDeclaration(f"{what} has no method `run`", cls)
        if (declared and not outside) or (answer is not None and outside):
            raise BadDeclaration(f"{what}: only a call outside has `errors`, and only one in the turn an `answer`", run)
        keys = _keys(cls, verb, what)
        call = _handler(what, verb, cls, keys, run, declared) if outside else None
        takes_now = call is None and _takes_now(run, what)
        return declare(cls, VerbSpec(verb, cls, keys, ways, run, answer, takes_now, call))

    return of


def left_by(result: Any) -> Leave:
    """The way in which `run` leaves the step."""
    return result if isinstance(result, Leave) else Leave(value=result)


def messages_of(say: Any) -> list[Any]:
    """The messages of a list of texts and messages."""
    return list(say) if isinstance(say, list | tuple) else [say]


def _keys(cls: type[Any], verb: str, what: str) -> dict[str, VerbKey]:
    hints = typing.get_type_hints(cls, include_extras=True)
    keys = {}
    for found in dataclasses.fields(cls):
        annotation = _without_none(hints[found.name])
        if annotation not in _PLAIN and typing.get_origin(annotation) is not Literal:
            raise BadDeclaration(f'{what}: no key can hold what "{found.name}" is: write {_KNOWN}', cls)
        required = found.default is dataclasses.MISSING and found.default_factory is dataclasses.MISSING
        default = found.default if found.default_factory is dataclasses.MISSING else found.default_factory()
        keys[found.name] = VerbKey(found.name, annotation, required, None if required else default)
    if verb not in keys:
        raise BadDeclaration(f'{what}: annotate "{verb}": it is what stands behind the verb', cls)
    return keys


def _without_none(annotation: Any) -> Any:
    """``str | None`` as ``str``."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    left = [each for each in typing.get_args(annotation) if each is not type(None)]
    return left[0] if len(left) == 1 else annotation


def _takes_now(run: Callable[..., Any], what: str) -> bool:
    names = list(signature_of(run, what).parameters)[1:]
    if set(names) - {NOW_PARAMETER}:
        raise BadDeclaration(f"{what}: within a turn, `run` is given `now` and nothing else", run)
    return bool(names)


def _handler(
    what: str,
    verb: str,
    cls: type[Any],
    keys: Mapping[str, VerbKey],
    run: Callable[..., Any],
    errors: Mapping[str, type[BaseException]],
) -> HandlerSpec:
    """The call that does the work of a verb outside: its arguments are the keys."""
    spec = spec_of(f"{verb} step", run, what, errors)
    itself, *own = spec.parameters
    if taken := keys.keys() & {*own}:
        raise BadDeclaration(f"{what}: `run` has a parameter that is a key: read self.{min(taken)}", run)
    arguments = {key.name: HandlerParameter(key.name, key.annotation, key.required) for key in keys.values()}
    given = {name: parameter for name, parameter in spec.parameters.items() if name != itself}

    @wraps(run)  # an error is at a line of the author's
    def call(**values: Any) -> dict[str, Any]:
        step = cls(**{name: values.pop(name) for name in keys if name in values})
        left = left_by(run(step, **values))
        said = dumps(messages_of(left.say))  # messages are no values of a conversation
        return {"outcome": left.outcome, "value": left.value, "say": said, "set": dict(left.set)}

    return dataclasses.replace(spec, function=call, parameters={**arguments, **given})
