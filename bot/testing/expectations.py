"""Reading what a test expects: of a message, and of the conversation."""

from collections.abc import Mapping

from bot.core.messages import MEDIA_KINDS
from bot.lang.fields import Fields
from bot.lang.nodes import List, Map, Node, Scalar
from bot.lang.problems import did_you_mean
from bot.lang.scalars import text_of
from bot.testing.known import Known
from bot.testing.stage import named_value
from bot.testing.transcript import Expect, Says

TEXTS = ("says", "header", "footer", "link", "template", "language", *MEDIA_KINDS, "location")
LISTS = ("contains", "buttons", "rows", "body")
EXPECTED = ("flow", "step", "vars", "kept", "tags", "language", "calls", "sent")


def read_says(fields: Fields, known: Known) -> Says | None:
    """Read ``bot``: a text, or a map of a message's parts."""
    if not isinstance(fields.raw("bot"), Map):
        text = fields.string("bot")
        return None if text is None else Says(fields.mark, {"says": text}, alone=True)
    inner = fields.fields("bot")
    assert inner is not None
    inner.what = "bot"
    parts: dict[str, str | tuple[str, ...]] = {}
    for key in TEXTS:
        text = inner.string(key)
        if text is not None:
            parts[key] = text
    for key in LISTS:
        if inner.has(key):
            parts[key] = inner.strings(key)
    inner.close()
    if not inner.node.entries:
        fields.problems.add("E601", inner.mark, "nothing is said about this message", "write says: or contains:")
    return Says(fields.mark, parts)


def read_expect(fields: Fields, known: Known) -> Expect | None:
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
    if known.complete:
        _check_names(inner, wanted, known)
    return Expect(fields.mark, wanted)


def _check_forms(fields: Fields, wanted: Mapping[str, Node]) -> None:
    for key in ("flow", "step", "language"):
        if not fields.null(key):
            fields.string(key)
    for key in ("vars", "kept"):
        fields.fields(key)
    if "tags" in wanted and not isinstance(wanted["tags"], List):
        text_of(wanted["tags"], fields.problems, "expect: tags")
    for node in fields.items("calls"):
        named_value(node, fields.problems)
    fields.integer("sent", 0)


def _check_names(fields: Fields, wanted: Mapping[str, Node], known: Known) -> None:
    """The flow, the step, the variables and the language that are expected are there to be expected."""
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
    if "language" in wanted:
        fields.choice("language", known.languages)


def _check_variables(fields: Fields, written: Node | None, names: set[str], where: str) -> None:
    for key, _ in written.entries if isinstance(written, Map) else ():
        if key.text not in names:
            otherwise = f"there are {', '.join(sorted(names))}" if names else "there are none"
            fix = did_you_mean(key.text, sorted(names), otherwise)
            fields.problems.add("E301", key.mark, f'no variable "{key.text}"{where}', fix)
