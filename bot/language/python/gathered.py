"""All specs of a bot's own Python, gathered from its modules, each by its name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Self, TypeVar

from bot.core.immutable import immutable
from bot.language.python.decorators import (
    HOOK_EVENTS,
    BadDeclaration,
    FunctionSpec,
    HandlerSpec,
    HookSpec,
    ProviderSpec,
    declared_in,
)
from bot.language.python.verbs import VerbSpec
from bot.language.source.problems import did_you_mean

S = TypeVar("S", HandlerSpec, FunctionSpec, VerbSpec, ProviderSpec, HookSpec)
Guard = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes of a function one that is bounded in time."""


@immutable
class Extensions:
    """The declarations of a bot's Python, each by its name. ``own`` are the functions and filters of templates."""

    handlers: Mapping[str, HandlerSpec] = field(default_factory=dict)
    own: Mapping[str, FunctionSpec] = field(default_factory=dict)
    verbs: Mapping[str, VerbSpec] = field(default_factory=dict)
    providers: Mapping[str, ProviderSpec] = field(default_factory=dict)
    hooks: Mapping[str, HookSpec] = field(default_factory=dict)
    tools: Mapping[str, HandlerSpec] = field(default_factory=dict)  # of MCP servers, which only models call

    @property
    def calls(self) -> dict[str, HandlerSpec]:
        """All that is called outside of turns by name: handlers, verbs that work outside, hooks, tools of servers."""
        verbs = (verb.outside for verb in self.verbs.values() if verb.outside is not None)
        others = (*verbs, *(hook.call for hook in self.hooks.values()))
        return {**self.tools, **self.handlers, **{call.name: call for call in others}}

    def guarded(self, guard: Guard) -> Self:
        """The same, with everything that runs within turns bounded."""
        own = {name: replace(spec, function=guard(spec.function)) for name, spec in self.own.items()}
        verbs = {name: _guarded(verb, guard) for name, verb in self.verbs.items()}
        return replace(self, own=own, verbs=verbs)


def extensions_in(namespaces: Iterable[Mapping[str, Any]]) -> Extensions:
    """All that is declared in some modules' namespaces. Raises `BadDeclaration` when two things share a name."""
    found = declared_in(namespaces)
    providers = _by_name(found, ProviderSpec, "provider")
    handlers = _by_name(found, HandlerSpec, "handler")
    verbs = _by_name(found, VerbSpec, "step kind")
    hooks = _by_name(found, HookSpec, "hook")
    return Extensions(
        {name: spec.provided_by(providers) for name, spec in handlers.items()},
        _by_name(found, FunctionSpec, "function or filter"),
        {name: _provided_verb(verb, providers) for name, verb in verbs.items()},
        providers,
        {name: _provided_hook(hook, providers) for name, hook in hooks.items()},
    )


def _by_name(found: Iterable[Any], kind: type[S], what: str) -> dict[str, S]:
    named: dict[str, S] = {}
    for spec in found:
        if isinstance(spec, kind):
            name = spec.verb if isinstance(spec, VerbSpec) else spec.name
            if name in named:
                two = "classes" if kind is VerbSpec else "functions"
                raise BadDeclaration(f'two {two} are declared as {what} "{name}"', _target(spec))
            named[name] = spec
    return named


def _target(spec: Any) -> Any:
    match spec:
        case VerbSpec(run=run):
            return run
        case HookSpec(call=call):
            return call.function
    return spec.function


def _provided_verb(verb: VerbSpec, providers: Mapping[str, ProviderSpec]) -> VerbSpec:
    if verb.outside is None:
        return verb
    call = verb.outside.provided_by({*providers} - verb.keys.keys())
    for name in call.parameters.keys() - verb.keys.keys():
        what = f'step kind "{verb.verb}": `run` wants "{name}", and no provider gives it'
        fix = did_you_mean(name, providers, "declare one with @provider")
        raise BadDeclaration(f"{what}: {fix}", verb.run)
    return replace(verb, outside=call)


def _provided_hook(hook: HookSpec, providers: Mapping[str, ProviderSpec]) -> HookSpec:
    arguments = HOOK_EVENTS[hook.event]
    call = hook.call.provided_by({*providers} - {*arguments})
    for name in call.parameters.keys() - {*arguments}:
        fix = did_you_mean(name, [*arguments, *providers], f"there are {', '.join((*arguments, *providers)) or 'none'}")
        raise BadDeclaration(
            f'hook "{hook.name}" wants "{name}", which no event and no provider gives it: {fix}', hook.call.function
        )
    return replace(hook, call=call)


def _guarded(verb: VerbSpec, guard: Guard) -> VerbSpec:
    answer = None if verb.answer is None else guard(verb.answer)
    return verb if verb.outside is not None else replace(verb, run=guard(verb.run), answer=answer)
