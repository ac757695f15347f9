"""Reads what a test expects of a message (`bot`) and of the conversation (`expect`)."""

from collections.abc import Mapping

from bot.core.messages import MEDIA_KINDS
from bot.keys.fields import Fields, text_of
from bot.lang.problems import Problems, did_you_mean
from bot.lang.source import List, Map, Node, Scalar
from bot.testing.stub_reader import named_value
from bot.testing.transcript import BotLine, ExpectLine, KnownNames

TEXTS = ("says", "header", "footer", "link", "template", "language", *MEDIA_KINDS, "location")
LISTS = ("contains", "buttons", "rows", "body")
CALLS = ("calls", "called", "not_called")
SAID = ("contains", "any", "without", "judge")
EXPECTED = ("flow", "step", "vars", "kept", "tags", "language", "sent", *CALLS, "exit", "filled", "says")


def read_says(fields: Fields, known: KnownNames) -> BotLine | None:
    """Read ``bot``: a text, or a map of a message's parts."""
    if not isinstance(fields.raw("bot"), Map):
        text = fields.string("bot")
        return None if text is None else BotLine(fields.mark, {"says": text}, alone=True)
    inner = fields.fields("bot")
    assert inner is not None
    inner.what = "bot"
    parts: dict[str, str | tuple[str, ...]] = {}
    for key in TEXTS:
        text = inner.string(key)
        if text is not None:
            parts[key] = text
    inner.declare(LISTS)
    for key in LISTS:
        if inner.has(key):
            parts[key] = inner.strings(key)
    inner.close()
    if not inner.node.entries:
        fields.problems.add("E601", inner.mark, "nothing is said about this message", "write says: or contains:")
    return BotLine(fields.mark, parts)


def read_expect(fields: Fields, known: KnownNames) -> ExpectLine | None:
    """Read ``expect``: where the contact is, and what the conversation knows."""
    inner = fields.fields("expect")
    if inner is None:
        return None
    inner.what = "expect"
    wanted = {key: node for key in EXPECTED if (node := inner.raw(key)) is not None}
    inner.close()
    if not inner.node.entries:
        fix = "write flow:, step:, vars: or another of the keys"
        fields.problems.add("E601", inner.mark, "nothing is expected here", fix)
    _check_forms(inner, wanted)
    _check_said(inner, known)
    if known.complete:
        _check_names(inner, wanted, known)
    return ExpectLine(fields.mark, wanted)


def _check_forms(fields: Fields, wanted: Mapping[str, Node]) -> None:
    for key in ("flow", "step", "language"):
        if not fields.null(key):
            fields.string(key)
    for key in ("vars", "kept", "filled"):
        fields.fields(key)
    if not fields.null("exit"):
        fields.strings("exit")
    if "tags" in wanted and not isinstance(wanted["tags"], List):
        text_of(wanted["tags"], fields.problems, "expect: tags")
    for key in CALLS:
        for node in fields.items(key):
            named_value(node, fields.problems)
    fields.integer("sent", 0)


def _check_said(fields: Fields, known: KnownNames) -> None:
    inner = fields.fields("says", "says: {contains: ..., without: ...}")
    if inner is None:
        return
    inner.what = "expect: says"
    given = {key: inner.strings(key) for key in SAID}
    inner.close()
    if not any(given.values()):
        inner.problems.add("E601", inner.mark, "nothing is expected of what is said", f"write {', '.join(SAID)}")
    if given["judge"] and not known.evaluates:
        fix = "begin the document with evaluate:, or leave it out"
        inner.problems.add(
            "E601", inner.mark_of("judge"), "a judging question needs a model, which a test has none of", fix
        )


def _check_names(fields: Fields, wanted: Mapping[str, Node], known: KnownNames) -> None:
    """Check that the flow, the step, the variables and the language that are expected exist."""
    flow, step = wanted.get("flow"), wanted.get("step")
    within = list(known.flows.values())
    if isinstance(flow, Scalar) and flow.value is not None:
        if flow.text not in known.flows:
            fix = did_you_mean(flow.text, known.flows, f"there are {', '.join(known.flows)}")
            fields.problems.add("E103", flow.mark, f'no flow "{flow.text}"', fix)
            return
        within = [known.flows[flow.text]]
    if isinstance(step, Scalar) and step.value is not None:
        steps = [name for one in within for name in one.steps]
        if step.text not in steps:
            fields.problems.add("E102", step.mark, f'no step "{step.text}"', did_you_mean(step.text, steps))
    where = f" in flow {flow.text}" if len(within) == 1 and isinstance(flow, Scalar) else ""
    _check_variables(fields, wanted.get("vars"), {name for one in within for name in one.variables}, where)
    kept = {name for one in known.flows.values() for name, variable in one.variables.items() if variable.keep}
    _check_variables(fields, wanted.get("kept"), kept, " that is kept")
    kinds = [step.kind for one in known.flows.values() for step in one.steps.values()]
    notable = {
        name for kind in kinds if kind.asks_models for name in (*kind.gives, *(need.variable for need in kind.needs()))
    }
    _check_variables(fields, wanted.get("filled"), notable, " that a model may note")
    _check_exits(fields, known)
    _check_called(fields, wanted, known)
    if "language" in wanted:
        fields.choice("language", known.languages)


def _check_variables(fields: Fields, written: Node | None, names: set[str], where: str) -> None:
    for key, _ in written.entries if isinstance(written, Map) else ():
        if key.text not in names:
            otherwise = f"there are {', '.join(sorted(names))}" if names else "there are none"
            fix = did_you_mean(key.text, sorted(names), otherwise)
            fields.problems.add("E301", key.mark, f'no variable "{key.text}"{where}', fix)


def _check_exits(fields: Fields, known: KnownNames) -> None:
    outcomes = [outcome for one in known.flows.values() for step in one.steps.values() for outcome in step.outcomes]
    exits = dict.fromkeys(outcome.removeprefix(EXIT) for outcome in outcomes if outcome.startswith(EXIT))
    for name in () if fields.null("exit") else fields.strings("exit"):
        if name not in exits:
            fix = did_you_mean(name, exits, f"there are {', '.join(exits)}" if exits else "no step has exits")
            fields.problems.add("E109", fields.mark_of("exit"), f'no exit "{name}"', fix)


def _check_called(fields: Fields, wanted: Mapping[str, Node], known: KnownNames) -> None:
    """Report a name that no call has: the expectation could never be met, or never fail."""
    for key in ("called", "not_called"):
        for node in fields.items(key):
            call = named_value(node, Problems())
            if call is not None and " " not in call[0] and call[0] not in known.handlers:
                fix = did_you_mean(
                    call[0], known.handlers, "write a handler's name, or a request like GET crm:/orders/*"
                )
                fields.problems.add("E501", node.mark, f'no handler "{call[0]}"', fix)


EXIT = "exits."
