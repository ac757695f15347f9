"""What an AI turn may use and may say: on the step, else what ``bot.yml`` says for all of them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from bot.core.effects import TokenBudget
from bot.extensions.decorators import HandlerSpec
from bot.keys.fields import Fields
from bot.keys.key_schemas import (
    ANY_TEXT,
    BOOLEAN,
    Schemas,
    choice,
    either,
    integer,
    number,
    one_or_several,
    record,
    takes,
)
from bot.lang.problems import did_you_mean
from bot.steps.message_parts import check_error_names
from bot.steps.output_guard import has_letters

_HOST = re.compile(r"([\w-]{1,63}\.)+[\w-]{2,63}")
HISTORY = 2000  # tokens
MOST_TOKENS = 100_000  # of an answer (spec: Limits)
ANSWER_TOKENS = 1024  # where nothing is said (spec: Chat request)
MESSAGES = 3
BUSY = ("together", "merge")
UNLIMITED = "unlimited"
BUDGET: Mapping[str, int | None] = {"turn": 40_000, "contact": 200_000, "all": 10_000_000}
"""Tokens where nothing is said: of one turn, of a contact's day, and of everybody's. 20 turns with the shop of the examples
have 23,000, or 45,000 with a tool in each, and no turn has more than 4,000.
"""
HEARS = 4000  # characters of what a contact writes in one turn
CALLS = 16  # of tools, notes and exits in one turn
MODEL_ERRORS = ("timeout", "down", "quota", "refused", "unsafe", "empty", "over_budget", "mismatch", "failed")
MODEL_KEYS: Schemas = {
    "model": takes(one_or_several(ANY_TEXT), "Models by name, tried in this order; BOT_AI_MODEL where nothing is said.")
}
_TOKENS = either(integer(0), choice(UNLIMITED))
DAY_KEYS: Schemas = {
    "contact": takes(
        _TOKENS, f"How many tokens a day one contact may use up; {BUDGET['contact']:,} where nothing is said."
    ),
    "all": takes(_TOKENS, f"How many tokens a day all contacts may use up; {BUDGET['all']:,} where nothing is said."),
}
BUDGET_KEYS: Schemas = {
    "turn": takes(_TOKENS, f"How many tokens one turn may use up; {BUDGET['turn']:,} where nothing is said."),
    **DAY_KEYS,
}
BUDGET_ABOUT = "How many tokens may be used up, in one turn and in a day (UTC); a number, or unlimited."
_MODERATORS: Schemas = {
    "heard": takes(ANY_TEXT, "A handler that judges what contacts write and tools give before a model reads it."),
    "said": takes(ANY_TEXT, "A handler that judges each text of the model's, and what it gives to tools."),
}
SETTINGS_KEYS: Schemas = {
    **MODEL_KEYS,
    "budget": takes(record(BUDGET_KEYS), BUDGET_ABOUT),
    "hears": takes(
        integer(1, 100_000),
        f"How many characters of what a contact writes in one turn the model is given; {HEARS:,} where nothing is said.",
    ),
    "calls": takes(integer(1, 256), f"How many calls a model may make in one turn; {CALLS} where nothing is said."),
    "while_busy": takes(
        choice(*BUSY),
        "What comes while the model works is one further question after its answer, or is taken along; together where nothing is said.",
    ),
    "history": takes(
        integer(0, 100_000), f"How many tokens of the exchange go along; {HISTORY} where nothing is said."
    ),
    "messages": takes(
        integer(1, 10), f"How many messages an answer is sent in at most; {MESSAGES} where nothing is said."
    ),
    "links": takes(
        one_or_several(ANY_TEXT), "The hosts that the model may send addresses of; none where nothing is said."
    ),
    "never": takes(
        one_or_several(ANY_TEXT),
        "Secrets: texts that no message of the model's may have in it; none where nothing is said.",
    ),
    "moderate": takes(
        either(ANY_TEXT, record(_MODERATORS)), "A handler that judges what the model hears and says, or one for each."
    ),
    "max_tokens": takes(
        integer(1, MOST_TOKENS), f"How many tokens an answer may have; {ANSWER_TOKENS} where nothing is said."
    ),
    "temperature": takes(
        number(0, 2), "How freely the model words its answers; the service's 0.7 where nothing is said."
    ),
    "reasoning_split": takes(BOOLEAN, "For models that think between their words; not sent where nothing is said."),
}


@dataclass(frozen=True, slots=True)
class AiSettings:
    """``models`` are tried in this order; empty: those of the settings. ``history`` is in tokens.

    ``budget`` are tokens by `BUDGET_KEYS`, None where there is no bound; ``hears`` are characters of a contact's turn,
    ``calls`` those of a model's. ``messages`` is the most that one answer is sent in, ``links`` are the hosts that a
    model may send addresses of, ``never`` are secrets that it may not say, ``heard`` and ``said`` are the handlers that
    judge what it is given and what comes from it, ``merges``: what a contact writes while the model works is taken
    along. ``max_tokens``, ``temperature`` and ``reasoning_split`` go to the model as they are (spec: Chat
    request).
    """

    models: tuple[str, ...] = ()
    history: int | None = None
    messages: int | None = None
    links: tuple[str, ...] = ()
    heard: str | None = None
    said: str | None = None
    budget: Mapping[str, int | None] = field(default_factory=dict)
    hears: int | None = None
    calls: int | None = None
    merges: bool | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_split: bool | None = None
    never: tuple[str, ...] = ()

    def bounds(self, since: datetime | None = None) -> TokenBudget:
        """The budget of a question: of the turn that began at ``since``, and of the day."""
        tokens = {**BUDGET, **self.budget}
        return TokenBudget(tokens["contact"], tokens["all"], None if since is None else tokens["turn"], since)

    @property
    def bounded(self) -> bool:
        """Whether there is a budget of any kind."""
        return any(tokens is not None for tokens in {**BUDGET, **self.budget}.values())

    def over(self, inherited: Self) -> Self:
        """These, with what they leave out taken from the inherited ones."""
        return replace(
            self,
            models=self.models or inherited.models,
            history=inherited.history if self.history is None else self.history,
            messages=inherited.messages if self.messages is None else self.messages,
            links=(*self.links, *inherited.links),
            never=(*self.never, *inherited.never),
            heard=self.heard or inherited.heard,
            said=self.said or inherited.said,
            budget={**inherited.budget, **self.budget},
            hears=inherited.hears if self.hears is None else self.hears,
            calls=inherited.calls if self.calls is None else self.calls,
            merges=inherited.merges if self.merges is None else self.merges,
            max_tokens=inherited.max_tokens if self.max_tokens is None else self.max_tokens,
            temperature=inherited.temperature if self.temperature is None else self.temperature,
            reasoning_split=inherited.reasoning_split if self.reasoning_split is None else self.reasoning_split,
        )


def read_ai_settings(fields: Fields, handlers: Mapping[str, HandlerSpec], *, step: bool) -> AiSettings:
    """Read the keys that stand on a step or under ``ai`` in ``bot.yml``."""
    busy = fields.choice("while_busy", BUSY)
    links = fields.strings("links")
    for host in links:
        if not _HOST.fullmatch(host):
            what = f'{fields.what}: links: "{host}" is no host'
            fields.problems.add("E405", fields.mark_of("links"), what, "write the host alone, like shop.example")
    return AiSettings(
        fields.strings("model"),
        fields.integer("history", 0, 100_000),
        fields.integer("messages", 1, 10),
        links,
        *_read_moderators(fields, handlers),
        read_budget(fields, BUDGET_KEYS, "else" if step else None),
        fields.integer("hears", 1, 100_000),
        fields.integer("calls", 1, 256),
        None if busy is None else busy == "merge",
        fields.integer("max_tokens", 1, MOST_TOKENS),
        fields.number("temperature", 0, 2),
        fields.boolean("reasoning_split") if fields.has("reasoning_split") else None,
        _read_never(fields),
    )


def _read_never(fields: Fields) -> tuple[str, ...]:
    """Read `never`: texts of two letters or digits at least, as nothing else is compared."""
    secrets = fields.strings("never")
    for secret in secrets:
        if not has_letters(secret):
            what = f'{fields.what}: never: "{secret}" is no secret: it has less than two letters or digits'
            fields.problems.add("E105", fields.mark_of("never"), what, "write the whole text, like INSIDER20")
    return secrets


def read_budget(fields: Fields, keys: Iterable[str], needs: str | None = None) -> dict[str, int | None]:
    """Read `budget`: tokens by each of the ``keys``, None where there is no bound, what is not said left out.

    ``needs`` is a key that must stand there too and is read by the step.
    """
    inner = fields.fields("budget")
    if inner is None:
        return {}
    budget = {key: _read_tokens(inner, key) for key in keys if inner.has(key)}
    if needs is not None:
        inner.require(needs)
    inner.close()
    return budget


def _read_tokens(fields: Fields, key: str) -> int | None:
    if not fields.is_text(key):
        return fields.integer(key, 0)
    fields.choice(key, (UNLIMITED,))
    return None


def _read_moderators(fields: Fields, handlers: Mapping[str, HandlerSpec]) -> tuple[str | None, str | None]:
    """Read `moderate`: who judges what is heard, and what is said. One name is both."""
    if not fields.has("moderate") or fields.is_text("moderate"):
        both = _read_moderator(fields, "moderate", handlers)
        return both, both
    inner = fields.fields("moderate", "moderate: {heard: shop.polite, said: shop.polite}")
    if inner is None:
        return None, None
    found = _read_moderator(inner, "heard", handlers), _read_moderator(inner, "said", handlers)
    if not (inner.has("heard") or inner.has("said")):
        fix = "name a handler: heard: shop.polite, or said: shop.polite"
        fields.problems.add("E105", inner.mark, f"{inner.what}: nothing is judged", fix)
    inner.close()
    return found


def _read_moderator(fields: Fields, key: str, handlers: Mapping[str, HandlerSpec]) -> str | None:
    """The handler that judges takes a text, nothing else that it needs, and says yes or no."""
    name = fields.string(key)
    if name is None:
        return None
    spec = handlers.get(name)
    if spec is None:
        fix = did_you_mean(name, handlers, "declare it in handlers.py")
        fields.problems.add("E501", fields.mark_of(key), f'{fields.what}: no handler "{name}"', fix)
        return name
    needed = {parameter.name for parameter in spec.parameters.values() if parameter.required}
    if "text" not in spec.parameters or needed - {"text"}:
        what = f'{fields.what}: handler "{name}" judges texts, so it takes one argument, `text`'
        fields.problems.add("E502", fields.mark_of(key), what, "declare it as def f(text: str) -> bool")
    if spec.returns not in (bool, Any):
        what = f'{fields.what}: handler "{name}" judges texts, so its result is true or false'
        fields.problems.add("E507", fields.mark_of(key), what, "declare it as def f(text: str) -> bool")
    return name


def check_model_errors(fields: Fields, more: tuple[str, ...] = ()) -> None:
    """The step's own `errors` are those that a question to a model can end with."""
    known = (*MODEL_ERRORS, *more)
    check_error_names(fields, known, "a model has no error", f"write one of {', '.join(known)} or else")
