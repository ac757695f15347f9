"""The decorators of a bot's own Python: `@handler`, `@function`, `@template_filter`, `@provider`, `@on`.

Each leaves a spec on the function; `gathered` collects the specs of all modules. `verbs` has `@step_kind`.
"""

import inspect
import re
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self, TypeVar

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.problems import did_you_mean

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__bot_declares__"


class BadDeclaration(BotError):
    """A function or class cannot be declared in this way. ``target`` is the function or class, if it is known."""

    def __init__(self, message: str, target: object = None) -> None:
        super().__init__(message)
        self.target = target


def declare(target: T, spec: object) -> T:
    """Leave a spec on a function or class, which may have several; return it."""
    setattr(target, _MARK, (*_declared(target), spec))
    return target


def declared_in(namespaces: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The specs of everything in some modules' namespaces, each once, in the order of the modules."""
    found = {id(spec): spec for names in namespaces for value in names.values() for spec in _declared(value)}
    return list(found.values())


def named(name: object, what: str) -> str:
    """The name that a decorator was given. Raises `BadDeclaration` where it was put on without one."""
    if isinstance(name, str) and name:
        return name
    raise BadDeclaration(f'a {what.replace("_", " ")} has a name: write @{what}("name")', name)


def signature_of(function: Callable[..., Any], what: str) -> inspect.Signature:
    """The signature of a plain function. Raises `BadDeclaration` for an async one."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise BadDeclaration(f"{what} is async: write a plain function, it runs on a thread", function)
    return inspect.signature(function)


def _declared(value: object) -> tuple[Any, ...]:
    """The specs of a function or class itself; a subclass does not inherit them."""
    own = getattr(value, "__dict__", None)
    specs = own.get(_MARK, ()) if isinstance(own, Mapping) else ()
    return specs if isinstance(specs, tuple) else ()


_NAMED = lazy_pattern(r"^\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?:\s*(\S.*)$", re.MULTILINE)


def named_in(doc: str) -> dict[str, str]:
    """The description of each name in a docstring: its lines ``name: what it is``."""
    return dict(_NAMED.findall(doc))


def summary(doc: str) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join(doc.partition("\n\n")[0].split())


KEY_PARAMETER = "idempotency_key"


@immutable
class HandlerParameter:
    """One argument of a handler. ``annotation`` is `typing.Any` where the function says nothing.

    ``default`` is its value where it is not given, if it is not required.
    """

    name: str
    annotation: Any
    required: bool
    default: Any = None

    @property
    def takes_null(self) -> bool:
        """True if null is a value of it."""
        return may_be_null(self.annotation)


@immutable
class HandlerSpec:
    """A handler as flows see it: its arguments by name, its result, and the errors that are outcomes.

    Not all parameters are arguments of the flow: ``idempotency_key`` is given the call's stable key, the same at
    every repeat of the same call, and one that has the name of a provider is given what that has made.
    """

    name: str
    function: Callable[..., Any]
    parameters: Mapping[str, HandlerParameter]
    errors: Mapping[str, type[BaseException]]
    returns: Any
    doc: str
    takes_key: bool = False
    providers: tuple[str, ...] = ()

    @property
    def gives_null(self) -> bool:
        """True if it says of itself that it may return null."""
        return self.returns is not Any and may_be_null(self.returns)

    @property
    def writes(self) -> bool:
        """True if it says of itself that it changes something: it takes a key for that, or returns nothing."""
        return self.takes_key or self.returns is type(None)

    def provided_by(self, providers: Collection[str]) -> Self:
        """This handler, without the arguments that these providers give."""
        given = tuple(name for name in self.parameters if name in providers)
        left = {name: parameter for name, parameter in self.parameters.items() if name not in given}
        return replace(self, parameters=left, providers=given)


def may_be_null(annotation: Any) -> bool:
    """True if null is a value of an annotation."""
    if typing.get_origin(annotation) is typing.Annotated:
        return may_be_null(annotation.__origin__)
    return annotation in (Any, object, None, type(None)) or type(None) in typing.get_args(annotation)


def handler(name: str, *, errors: Iterable[type[BaseException]] = ()) -> Callable[[F], F]:
    """Declare a function as the handler ``name``; each class in ``errors`` is an outcome of that name.

    Calls are made at least once: a handler that changes something outside should take a parameter
    ``idempotency_key`` and use it. Raises `BadDeclaration` at once for a function that cannot be called by name.
    """
    named(name, "handler")
    declared = {error.__name__: error for error in errors}
    return lambda function: declare(function, spec_of(name, function, f'handler "{name}"', declared))


def spec_of(
    name: str, function: Callable[..., Any], what: str, errors: Mapping[str, type[BaseException]] | None = None
) -> HandlerSpec:
    """The spec of a function whose arguments are given by name. Raises `BadDeclaration` where they cannot be."""
    signature = signature_of(function, what)
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = {}
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BadDeclaration(f'{what}: parameter "{parameter.name}" cannot be given by name', function)
        annotation = hints.get(parameter.name, Any)
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        parameters[parameter.name] = HandlerParameter(parameter.name, annotation, required, default)
    takes_key = parameters.pop(KEY_PARAMETER, None) is not None
    doc = inspect.getdoc(function) or ""
    returns = typing.get_type_hints(function).get("return", Any)
    return HandlerSpec(name, function, parameters, errors or {}, returns, doc, takes_key)


NOW_PARAMETER = "now"
FUNCTION, FILTER = "function", "filter"


@immutable
class FunctionSpec:
    """A function or a filter as templates see it: ``kind`` says which.

    A parameter called ``now`` is given the turn's time, in the bot's time zone; templates do not see it.
    """

    name: str
    kind: str
    function: Callable[..., Any]
    signature: inspect.Signature
    takes_now: bool

    def objection(self, positional: int, keywords: Collection[str]) -> str | None:
        """The reason why it cannot be called with so many arguments, and these by name; None: it can."""
        given = positional + (self.kind == FILTER)
        try:
            self.signature.bind(*[None] * given, **dict.fromkeys(keywords))
        except TypeError as error:
            return str(error)
        return None


def function(name: str) -> Callable[[F], F]:
    """Declare a function that conditions, checks and texts may call: ``if: is_free(slot)``.

    It runs within a turn, so it must be pure and quick: no I/O, no clock, nothing changed. A parameter ``now`` is
    given the turn's time. Whatever it raises makes the expression fail. Raises `BadDeclaration`.
    """
    return _declaring(named(name, "function"), FUNCTION)


def template_filter(name: str) -> Callable[[F], F]:
    """Declare a filter: ``{{ slot | spoken }}``. Its first parameter is the value; the rest is as in `function`."""
    return _declaring(named(name, "template_filter"), FILTER)


def _declaring(name: str, kind: str) -> Callable[[F], F]:
    what = f'{kind} "{name}"'
    if not name.isidentifier():
        raise BadDeclaration(f"{what} cannot be written in a template: use letters, digits and _", name)

    def of(function: F) -> F:
        signature = signature_of(function, what)
        seen = [parameter for parameter in signature.parameters.values() if parameter.name != NOW_PARAMETER]
        takes_now = len(seen) < len(signature.parameters)
        return declare(function, FunctionSpec(name, kind, function, signature.replace(parameters=seen), takes_now))

    return of


@immutable
class ProviderSpec:
    """A function that makes something for handlers. ``closes``: it yields it once, and closes it when it is resumed."""

    name: str
    function: Callable[[], Any]
    closes: bool


def provider(name: str) -> Callable[[F], F]:
    """Declare what handlers and hooks get for a parameter of this name.

    The function is called once in a process, when its value is needed first; many threads use the value. If the
    function yields it, it is resumed at the end, to close it. Raises `BadDeclaration`.
    """
    named(name, "provider")

    def of(function: F) -> F:
        if signature_of(function, f'provider "{name}"').parameters:
            raise BadDeclaration(f'provider "{name}" has a parameter, and nothing gives it a value', function)
        return declare(function, ProviderSpec(name, function, inspect.isgeneratorfunction(function)))

    return of


START, STOP, ERROR, HANDOFF, END, DEAD_LETTER = "start", "stop", "error", "handoff", "end", "dead_letter"
TEAM_QUESTION = "team_question"
HOOK_EVENTS: dict[str, tuple[str, ...]] = {
    START: (),
    STOP: (),
    ERROR: ("contact", "at", "flow", "step", "reason"),
    HANDOFF: ("contact", "at", "flow", "step", "team", "note"),
    TEAM_QUESTION: ("contact", "at", "flow", "step", "team", "question", "until"),
    END: ("contact", "at", "flow", "expired", "vars"),
    DEAD_LETTER: ("contact", "at", "what", "reason"),
}
"""The events that a hook can be called for, each with the arguments that the hook can take."""


@immutable
class HookSpec:
    """A function that is called for an event; with a ``flow``, for events in this flow only."""

    event: str
    flow: str | None
    call: HandlerSpec

    @property
    def name(self) -> str:
        """Its name, which stays the same when the file is edited."""
        return self.call.name


def on(event: str, *, flow: str | None = None) -> Callable[[F], F]:
    """Declare a function that is called for an event: one of `HOOK_EVENTS`, with the arguments that it names.

    For an event of a conversation it is called at least once, with a stable ``idempotency_key`` for a parameter of that
    name. An exception that it raises is logged. Raises `BadDeclaration`.
    """
    if event not in HOOK_EVENTS:
        fix = did_you_mean(str(event), HOOK_EVENTS, f"there are {', '.join(HOOK_EVENTS)}")
        raise BadDeclaration(f'no event "{event}": {fix}', event)
    if flow is not None and "flow" not in HOOK_EVENTS[event]:
        raise BadDeclaration(f'"{event}" belongs to no flow: leave the flow out')

    def of(function: F) -> F:
        name = f"{event}/{function.__name__}"
        return declare(function, HookSpec(event, flow, spec_of(name, function, f'hook "{name}"')))

    return of


def raised_at(function: Callable[..., Any], error: BaseException) -> str:
    """The line of the function's own file, as far down as the error came from: ` at handlers.py:17`, or nothing."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    place, traceback = "", error.__traceback__
    while traceback is not None:
        if code is not None and traceback.tb_frame.f_code.co_filename == code.co_filename:
            place = f" at {code.co_filename.rpartition('/')[2]}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
