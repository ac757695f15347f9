"""The settings of AI turns: those of the step, else those of ``bot.yml`` for all of them."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Any

from bot.core.effects import SPARE_SECONDS, AskModel, TokenBudget
from bot.core.events import CallEnded
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import TEXT_BODY
from bot.core.text import head
from bot.language.expressions.templates import Template
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    BOOLEAN,
    DURATION,
    STRING,
    STRINGS,
    WORDING,
    Form,
    KeySet,
    KeySpec,
    as_fields,
    either,
    integer,
    map_of,
    number,
    one_of,
    word_or,
)
from bot.language.keys.fields import Fields, entries_of, text_of
from bot.language.keys.text_shapes import TEXT
from bot.language.python.decorators import HandlerSpec
from bot.language.source.problems import Problems, did_you_mean
from bot.language.source.yaml_tree import Node, Scalar
from bot.language.steps.judging import JUDGE_KEY, AnswerSample
from bot.language.steps.knowledge import KNOWLEDGE, Knowledge, read_knowledge
from bot.language.steps.message_parts import check_error_names, check_length
from bot.language.steps.output_guard import has_letters
from bot.language.steps.step_facts import Spends, StepFailed, Wait, WaitsFor
from bot.language.steps.transition import TRANSITION
from bot.language.steps.unsupported import BOT_UNSUPPORTED, PRODUCTS_KEY, SourceRules, read_unsupported

_HOST = lazy_pattern(r"([\w-]{1,63}\.)+[\w-]{2,63}")
HISTORY = 2000  # tokens
MOST_TOKENS = 100_000  # of an answer (spec: Limits)
ANSWER_TOKENS = 1024  # by default (spec: Chat request)
MESSAGES = 3
BUSY = ("together", "merge")
UNLIMITED = "unlimited"
BUDGET: Mapping[str, int | None] = {"turn": 40_000, "contact": 200_000, "all": 10_000_000}
"""Tokens by default: of one turn, of a contact's day, and of everybody's. 20 turns with the shop of the examples
have 23,000, or 45,000 with a tool in each, and no turn has more than 4,000.
"""
NOTHING_TO_READ = "(There is nothing to read. Write.)"
HEARS = 4000  # characters of what a contact writes in one turn
CALLS = 16  # of tools, notes and exits in one turn
MODEL_ERRORS = ("timeout", "down", "quota", "refused", "unsafe", "empty", "over_budget", "mismatch", "failed")
TRIES = 3  # by default
TRIES_KEY = KeySpec(
    "tries",
    integer(1, 10),
    f"How often a model that is down, or asked too much, is asked in all; {TRIES} times by default.",
)
MODEL = KeySpec("model", STRINGS, "Models by name, tried in this order; BOT_AI_MODEL by default.")


_NUMBER, _WORD = integer(0), one_of(UNLIMITED)


def _tokens_of(node: Node, problems: Problems, what: str) -> int | None:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return _NUMBER.read(node, problems, what)
    _WORD.read(node, problems, what)
    return None


_TOKENS = Form(key_schemas.either(_NUMBER.schema, _WORD.schema), _tokens_of)
_TURN_TOKENS = KeySpec("turn", _TOKENS, f"How many tokens one turn may use up; {BUDGET['turn']:,} by default.")
DAY_BUDGET = KeySet(
    KeySpec("contact", _TOKENS, f"How many tokens a day one contact may use up; {BUDGET['contact']:,} by default."),
    KeySpec("all", _TOKENS, f"How many tokens a day all contacts may use up; {BUDGET['all']:,} by default."),
)
TURN_BUDGET = KeySet(_TURN_TOKENS, *DAY_BUDGET)
BUDGET_ELSE = KeySpec("else", TRANSITION, "Where it leads if it is used up.", required=True)


def budget_key(*keys: KeySpec[Any]) -> KeySpec[Fields | None]:
    """The key `budget`, under which these stand."""
    about = "How many tokens may be used up, in one turn and in a day (UTC); a number, or unlimited."
    return KeySpec("budget", as_fields(KeySet(*keys)), about)


_BOT_BUDGET = budget_key(*TURN_BUDGET)
STEP_BUDGET = budget_key(*TURN_BUDGET, BUDGET_ELSE)
_DAY_BUDGET_KEY = budget_key(*DAY_BUDGET)
ONE_QUESTION = KeySet(MODEL, TRIES_KEY, _DAY_BUDGET_KEY)
"""The settings of a step that asks a model one question."""
_HEARD = KeySpec("heard", STRING, "A handler that judges what contacts write and tools give before a model reads it.")
_SAID = KeySpec("said", STRING, "A handler that judges each text of the model's, and what it gives to tools.")
_HEARS_KEY = KeySpec(
    "hears",
    integer(1, 100_000),
    f"How many characters of what a contact writes in one turn the model is given; {HEARS:,} by default.",
)
_CALLS_KEY = KeySpec("calls", integer(1, 256), f"How many calls a model may make in one turn; {CALLS} by default.")
_WHILE_BUSY = KeySpec(
    "while_busy",
    one_of(*BUSY),
    "Messages that come while the model works: one further question after its answer, or asked again with them; together by default.",
)
_HISTORY_KEY = KeySpec(
    "history", integer(0, 100_000), f"How many tokens of the earlier exchange the model gets; {HISTORY} by default."
)
_MESSAGES_KEY = KeySpec(
    "messages", integer(1, 10), f"How many messages an answer is sent in at most; {MESSAGES} by default."
)
_LINKS = KeySpec("links", STRINGS, "Hosts whose addresses the model may send; none by default.")
_NEVER = KeySpec("never", STRINGS, "Secrets: texts that no message of the model may contain; none by default.")
_MAX_TOKENS = KeySpec(
    "max_tokens", integer(1, MOST_TOKENS), f"How many tokens an answer may have; {ANSWER_TOKENS} by default."
)
_TEMPERATURE = KeySpec(
    "temperature", number(0, 2), "How freely the model words its answers; the service's 0.7 by default."
)
_PICTURES = KeySpec(
    "pictures", BOOLEAN, "Whether the model is given the pictures that contacts send; false by default."
)
_REASONING_SPLIT = KeySpec(
    "reasoning_split", BOOLEAN, "For models that think between their words; not sent by default."
)
_THINKING_AFTER = KeySpec("after", DURATION, "After how long, like 6s.", required=True)
THINKING_SAY = KeySpec("say", WORDING, "The text that the bot sends.", required=True, texts=TEXT)
_THINKING = KeySpec(
    "thinking",
    as_fields(KeySet(_THINKING_AFTER, THINKING_SAY), "{after: 6s, say: One moment.}"),
    "A text that the bot sends once while nothing of an answer has come; none by default.",
)
_MODERATE = KeySpec(
    "moderate",
    either(STRING, as_fields(KeySet(_HEARD, _SAID), "{heard: shop.polite, said: shop.polite}")),
    "A handler that judges what the model hears and says, or one for each.",
)


def _read_notes(node: Node, problems: Problems, what: str) -> dict[str, str]:
    found = {
        name.text: text_of(item, problems, f"{what}: {name.text}") for name, item in entries_of(node, problems, what)
    }
    return {name: about for name, about in found.items() if about is not None}


REMEMBER_KEY: KeySpec[Mapping[str, str] | str | None] = KeySpec(
    "remember",
    word_or("none", map_of(STRING, _read_notes)),
    "Kept lists to which the model adds notes about the contact, each with what to note; none: not those of bot.yml either.",
)


def settings_keys(budget: KeySpec[Fields | None], unsupported: KeySpec[Fields | str | None]) -> KeySet:
    """The keys of these settings. A step has an `else` under its ``budget``, and transitions under ``unsupported``."""
    return KeySet(
        MODEL,
        TRIES_KEY,
        budget,
        _HEARS_KEY,
        _CALLS_KEY,
        _WHILE_BUSY,
        _HISTORY_KEY,
        _MESSAGES_KEY,
        _THINKING,
        _LINKS,
        _NEVER,
        unsupported,
        PRODUCTS_KEY,
        _MODERATE,
        _PICTURES,
        _MAX_TOKENS,
        _TEMPERATURE,
        _REASONING_SPLIT,
        JUDGE_KEY,
        KNOWLEDGE,
        REMEMBER_KEY,
    )


SETTINGS = settings_keys(_BOT_BUDGET, BOT_UNSUPPORTED)


@immutable
class Thinking:
    """The text that is sent once where nothing of an answer has come for so long."""

    after: timedelta
    say: Template


@immutable
class AiSettings:
    """``models`` are tried in this order; empty: those of the settings. ``history`` is in tokens.

    ``budget`` are tokens by `TURN_BUDGET`, None where there is no bound; ``hears`` are characters of a contact's turn,
    ``calls`` those of a model's. ``messages`` is the most that one answer is sent in, ``links`` are the hosts that a
    model may send addresses of, ``never`` are secrets that it may not say, ``input_moderator`` and ``output_moderator``
    are the handlers that judge what it is given and what comes from it, ``merges``: what a contact writes while the
    model works is taken along. ``max_tokens``, ``temperature`` and ``reasoning_split`` go to the model as they are
    (spec: Chat request). ``tries`` is how often a model is asked that may answer a little later; with ``pictures`` it
    is given those that contacts send. The answers in ``judge`` are judged afterwards. The values in ``unsupported``
    need a source, among them the names of ``products``. ``remember`` are lists of notes, each with what is noted.
    """

    models: tuple[str, ...] = ()
    history: int = HISTORY
    messages: int = MESSAGES
    links: tuple[str, ...] = ()
    input_moderator: str | None = None
    output_moderator: str | None = None
    budget: Mapping[str, int | None] = field(default_factory=lambda: BUDGET)
    hears: int = HEARS
    calls: int = CALLS
    merges: bool = False
    max_tokens: int = ANSWER_TOKENS
    temperature: float | None = None
    reasoning_split: bool | None = None
    never: tuple[str, ...] = ()
    tries: int = TRIES
    pictures: bool = False
    judge: AnswerSample | None = None
    products: tuple[str, ...] = ()
    unsupported: SourceRules = SourceRules()
    thinking: Thinking | None = None
    knowledge: Knowledge | None = None
    remember: Mapping[str, str] = field(default_factory=dict)

    def bounds(self, since: datetime | None = None) -> TokenBudget:
        """The budget of a question: of the turn that began at ``since``, and of the day."""
        tokens = self.budget
        return TokenBudget(tokens["contact"], tokens["all"], None if since is None else tokens["turn"], since)

    def waits_for(self, within: float) -> Wait:
        """The wait of a step until a model has answered, or all tries are over. A try takes ``within`` seconds."""
        return Wait(WaitsFor.RESULT, timedelta(seconds=within * self.tries))

    def asking(
        self,
        messages: tuple[dict[str, Any], ...],
        fresh: tuple[int, ...],
        flow: str,
        within: float,
        since: datetime | None = None,
        **more: Any,
    ) -> AskModel:
        """A question to a model, with these settings and ``more``. ``since``: when the turn with the budget began."""
        return AskModel(
            messages=messages,
            models=self.models,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            reasoning_split=self.reasoning_split,
            budget=self.bounds(since),
            heard=self.input_moderator,
            said=self.output_moderator,
            fresh=fresh,
            flow=flow,
            seconds=within,
            within=within + SPARE_SECONDS,
            tries=self.tries,
            **more,
        )

    def question(self, rules: str, text: str, flow: str, within: float) -> AskModel:
        """A single question to a model about a text of a contact, by these rules."""
        system = {"role": "system", "content": rules}
        user = {"role": "user", "content": head(text, self.hears) or NOTHING_TO_READ}
        return self.asking((system, user), (1,) if text else (), flow, within)

    def spends(self, rules: int, answer: int = ANSWER_TOKENS) -> Spends:
        """The tokens that a question may use, with so many tokens of rules and of an answer."""
        return Spends(self.bounds().contact, rules + self.hears, answer)


def read_ai_settings(
    fields: Fields,
    handlers: Mapping[str, HandlerSpec],
    documents: Mapping[str, str],
    inherited: AiSettings | None = None,
    budget: KeySpec[Fields | None] = _BOT_BUDGET,
    unsupported: KeySpec[Fields | str | None] = BOT_UNSUPPORTED,
) -> AiSettings:
    """Read ``ai`` of ``bot.yml``, or a step's keys, with its ``budget`` and ``unsupported``; the rest is inherited."""
    inherited, busy, links = inherited or AiSettings(), _WHILE_BUSY.read(fields), _LINKS.read(fields)
    for host in links:
        if not _HOST.fullmatch(host):
            _LINKS.report(fields, "E405", f'links: "{host}" is no host', "write the host alone, like shop.example")
    of_input, of_output = _read_moderators(fields, handlers)
    products = (*PRODUCTS_KEY.read(fields), *inherited.products)
    return replace(
        _with_own(fields, inherited, _AS_WRITTEN, budget),
        links=(*links, *inherited.links),
        never=(*_read_never(fields), *inherited.never),
        input_moderator=of_input or inherited.input_moderator,
        output_moderator=of_output or inherited.output_moderator,
        merges=inherited.merges if busy is None else busy == "merge",
        products=products,
        unsupported=read_unsupported(fields, unsupported, products, inherited.unsupported),
        thinking=_read_thinking(fields) or inherited.thinking,
        knowledge=read_knowledge(fields, documents, inherited.knowledge),
        remember=_read_remember(fields, inherited),
    )


_AS_WRITTEN: Mapping[str, KeySpec[Any]] = {
    "models": MODEL,
    "history": _HISTORY_KEY,
    "messages": _MESSAGES_KEY,
    "hears": _HEARS_KEY,
    "calls": _CALLS_KEY,
    "max_tokens": _MAX_TOKENS,
    "temperature": _TEMPERATURE,
    "reasoning_split": _REASONING_SPLIT,
    "tries": TRIES_KEY,
    "pictures": _PICTURES,
    "judge": JUDGE_KEY,
}
"""The keys of settings that take the place of what is inherited."""


def _with_own(
    fields: Fields, inherited: AiSettings, keys: Mapping[str, KeySpec[Any]], budget: KeySpec[Fields | None]
) -> AiSettings:
    """The inherited settings, with what is written under these keys and under `budget`."""
    found = {name: key.read(fields) for name, key in keys.items() if key.written(fields)}
    own = {name: value for name, value in found.items() if value not in (None, ())}  # else it could not be read
    return replace(inherited, **own, budget={**inherited.budget, **_read_budget(budget.read(fields))})


def read_own_settings(fields: Fields, inherited: AiSettings, errors: tuple[str, ...] = ()) -> AiSettings:
    """Read `ONE_QUESTION`; the rest is inherited. The step may have ``errors`` beside `MODEL_ERRORS`."""
    check_model_errors(fields, errors)
    return _with_own(fields, inherited, {"models": MODEL, "tries": TRIES_KEY}, _DAY_BUDGET_KEY)


def answer_of(event: CallEnded) -> str:
    """The text of a model's answer. Raises `StepFailed` if there is none."""
    if event.outcome != "done":
        raise StepFailed(event.outcome, event.detail or f"the model: {event.outcome}")
    text: str = event.value["text"]
    return text


def _read_thinking(fields: Fields) -> Thinking | None:
    """Read `thinking`. None: nothing is said, or what is written there could not be read."""
    written = _THINKING.read(fields)
    if written is None:
        return None
    after, say = _THINKING_AFTER.read(written), THINKING_SAY.read(written)
    check_length(written, THINKING_SAY.name, say, TEXT_BODY)
    return None if after is None or say is None else Thinking(after, say)


def _read_remember(fields: Fields, inherited: AiSettings) -> Mapping[str, str]:
    """Read `remember`: for each list of notes, what the model notes in it."""
    if not REMEMBER_KEY.written(fields):
        return inherited.remember
    written = REMEMBER_KEY.read(fields)
    return written if isinstance(written, Mapping) else {}


def _read_never(fields: Fields) -> tuple[str, ...]:
    """Read `never`: texts of two letters or digits at least, as nothing else is compared."""
    secrets = _NEVER.read(fields)
    for secret in secrets:
        if not has_letters(secret):
            what = f'never: "{secret}" is no secret: it has less than two letters or digits'
            _NEVER.report(fields, "E105", what, "write the whole text, like INSIDER20")
    return secrets


def _read_budget(fields: Fields | None) -> dict[str, int | None]:
    """Read what stands under `budget`: tokens, None where there is no bound; what is not said is left out."""
    return {} if fields is None else {key.name: key.read(fields) for key in TURN_BUDGET if key.written(fields)}


def _read_moderators(fields: Fields, handlers: Mapping[str, HandlerSpec]) -> tuple[str | None, str | None]:
    """Read `moderate`: who judges what is heard, and what is said. One name is both."""
    written = _MODERATE.read(fields)
    if not isinstance(written, Fields):
        _check_moderator(fields, _MODERATE, written, handlers)
        return written, written
    heard, said = _HEARD.read(written), _SAID.read(written)
    _check_moderator(written, _HEARD, heard, handlers)
    _check_moderator(written, _SAID, said, handlers)
    if heard is None and said is None:
        fix = "name a handler: heard: shop.polite, or said: shop.polite"
        written.report("E105", written.mark, "nothing is judged", fix)
    return heard, said


def _check_moderator(fields: Fields, key: KeySpec[Any], name: str | None, handlers: Mapping[str, HandlerSpec]) -> None:
    """The handler that judges takes a text, nothing else that it needs, and says yes or no."""
    if name is None:
        return
    spec = handlers.get(name)
    if spec is None:
        key.report(fields, "E501", f'no handler "{name}"', did_you_mean(name, handlers, "declare it in handlers.py"))
        return
    needed = {parameter.name for parameter in spec.parameters.values() if parameter.required}
    if "text" not in spec.parameters or needed - {"text"}:
        what = f'handler "{name}" judges texts, so it takes one argument, `text`'
        key.report(fields, "E502", what, "declare it as def f(text: str) -> bool")
    if spec.returns not in (bool, Any):
        what = f'handler "{name}" judges texts, so its result is true or false'
        key.report(fields, "E507", what, "declare it as def f(text: str) -> bool")


def check_model_errors(fields: Fields, more: tuple[str, ...]) -> None:
    """The step's own `errors` are those that a question to a model can end with."""
    known = (*MODEL_ERRORS, *more)
    check_error_names(fields, known, "a model has no error", f"write one of {', '.join(known)} or else")
