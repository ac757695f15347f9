"""The names in templates, expressions and definitions: each is declared, and means one thing where it stands."""

from collections.abc import Collection, Iterable, Mapping

from bot.language.expressions.filters import FUNCTIONS
from bot.language.expressions.grammar import HISTORY, RESERVED_LIST, RESERVED_NAMES, WINDOW_OPEN, check_calls
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import BotDefinition, Flow, uses_of_all, uses_of_bot, uses_of_flow
from bot.language.flow.documents import BOT_FILE
from bot.language.keys.definitions import Definitions
from bot.language.python.decorators import FunctionSpec
from bot.language.source.problems import Problems, did_you_mean
from bot.language.steps.step_facts import Used
from bot.language.types.variable import Variable

CONTACT_FIELDS = ("id", "name", "email", "tags")
ELSEWHERE = {
    "secret": "only the services of bot.yml know secrets: put it into `headers` or `query` there",
    "answer": "save it in a variable: only `save` and `errors` of the step itself know it",
    "status": "save it in a variable: only `save` and `errors` of the step itself know it",
    "event": "`set` it in a variable: only the transition of the signal itself knows it",
    "error": "write the text here: a flow knows only the kind of an error, under `errors` of its step",
    "it": "only filters such as where(it.price > 3), checks, and what is done with each element know it",
    "loop": "only a text within {% for %}, filters such as map(loop.index), and what is done with each element know it",
}
"""Names that are known in some places only, and what to do elsewhere."""
NOTHING_KEPT: Mapping[str, str] = {}
BUILT_INS = ("contact", "now", "today", "came_from", "message", HISTORY, WINDOW_OPEN)


def check_uses(
    uses: Iterable[Used],
    variables: Mapping[str, Variable],
    problems: Problems,
    vars_of: str = "vars",
    kept: Mapping[str, str] = NOTHING_KEPT,
) -> None:
    """Check that every name in a template or an expression is declared. Names in a definition are checked there.

    ``kept`` are the names that flows keep with the contact, by such a flow.
    """
    everywhere = frozenset({*variables, *BUILT_INS, *FUNCTIONS})
    for used in uses:
        defined = [each.expression for each in used.text.definitions]
        for name in sorted(used.text.names.difference(everywhere, used.extra, *(each.names for each in defined))):
            if problems.is_taken(used.text.mark, name):
                continue
            known = () if name in kept else {*variables, *BUILT_INS, *used.extra}
            fix = ELSEWHERE.get(name) or did_you_mean(name, known, _to_declare(name, used, vars_of, kept))
            problems.add("E301", used.text.mark, f'no variable "{name}"', fix)
        for name in sorted(used.text.names & used.extra & variables.keys()):
            what = f'variable "{name}": at {used.text.mark} "{name}" means something else'
            problems.add("E306", variables[name].mark, what, "choose another name for the variable")
        check_contact_fields(used.text, problems)


def check_loop_names(uses: Iterable[Used], flow: Flow, problems: Problems) -> None:
    """No loop in a text calls its element as something is called that could not be read there any more."""
    for used in uses:
        for name in sorted(used.text.loops & {*flow.variables, *flow.definitions, *used.extra}):
            kind = "variable" if name in flow.variables else "definition" if name in flow.definitions else "value"
            what = f'"{name}": the loop hides the {kind} of this name'
            problems.add("E306", used.text.mark, what, "give the element of the loop another name")


def check_contact_fields(text: Expression | Template, problems: Problems) -> None:
    """Check that a contact has every field that a template or an expression names; definitions are checked apart."""
    for path in sorted(text.paths.difference(*(each.expression.paths for each in text.definitions))):
        if path[0] == "contact" and len(path) > 1 and path[1] not in CONTACT_FIELDS:
            all_fields = f"a contact has {', '.join(CONTACT_FIELDS)}; contact.id is the phone number"
            fix = did_you_mean(path[1], CONTACT_FIELDS, all_fields)
            problems.add("E302", text.mark, f'a contact has no "{path[1]}"', fix)
        elif path[0] == "contact" and len(path) > 2:
            kind = "a list" if path[1] == "tags" else "a text"
            what = f'contact.{path[1]} is {kind} and has no "{path[2]}"'
            problems.add("E302", text.mark, what, f"write contact.{path[1]}")


def check_definitions(
    bot: BotDefinition,
    flows: Mapping[str, Flow],
    own: Mapping[str, FunctionSpec],
    problems: Problems,
    unread: Collection[str],
) -> None:
    """Check the definitions of each flow with its variables, and those of bot.yml with the variables of all flows."""
    of_all = {name: variable for flow in flows.values() for name, variable in flow.variables.items()}
    if not unread:
        _check_defined(bot.definitions, {**of_all, **bot.common}, "vars of the flows that use it", own, problems)
    _check_used(uses_of_bot(bot), of_all.keys() - bot.common.keys(), problems)
    for flow in flows.values():
        _check_defined(flow.definitions, {**flow.variables, **bot.common}, "vars", own, problems)
        _check_used(uses_of_flow(flow), of_all.keys() - flow.variables.keys() - bot.common.keys(), problems)


def _check_used(uses: Iterable[Used], elsewhere: Collection[str], problems: Problems) -> None:
    """A definition keeps its meaning, and its names, where it is used. Other flows have variables ``elsewhere``."""
    reported = set()
    for used in uses:
        place = used.text.mark
        for name, expression in ((each.name, each.expression) for each in used.text.definitions):
            if name in used.extra:
                what = f'definition "{name}": at {place} "{name}" means something else'
                problems.add("E306", expression.mark, what, "choose another name for the definition")
            for missing in expression.names.intersection(elsewhere) if expression.mark.path == BOT_FILE else ():
                if (name, missing) not in reported:
                    reported.add((name, missing))
                    what = f'definition "{name}": it is used at {place}, where there is no variable "{missing}"'
                    fix = f"declare {missing} under vars there, or define {name} only in the flows that have it"
                    if place.path == BOT_FILE:
                        fix = "the texts of bot.yml know no variables: write this one in the flows"
                    problems.add("E301", expression.mark, what, fix)


def _check_defined(
    definitions: Definitions,
    variables: Mapping[str, Variable],
    vars_of: str,
    own: Mapping[str, FunctionSpec],
    problems: Problems,
) -> None:
    """Every definition has a name of its own, and reads and calls what there is."""
    for name, mark in ((each.name, each.expression.mark) for each in definitions.values()):
        taken = None
        if name in own:
            taken = f"the bot's Python has a {own[name].kind} of this name"
        elif name in variables:
            taken = f"{variables[name].mark} declares a variable of this name"
        if taken is not None:
            problems.add("E306", mark, f'definition "{name}": {taken}', "choose another name for the definition")
    expressions = [each.expression for each in definitions.values()]
    check_uses((Used(expression) for expression in expressions), variables, problems, vars_of)
    for expression in expressions:
        check_calls(expression.calls, own, problems)


def _to_declare(name: str, used: Used, vars_of: str, kept: Mapping[str, str]) -> str:
    """The fix for an unknown name. A bare expression may have been meant as a text, which needs quotes."""
    if name in RESERVED_NAMES:
        return f"choose another name: {RESERVED_LIST}"
    if name in ("yes", "no", "on", "off"):
        return f'write true or false; a text stands in quotes: "{name}"'
    quoted = f'; a text stands in quotes: "{name}"' if isinstance(used.text, Expression) else ""
    of_record = any(path[0] == name and path[1:] for path in used.text.paths)
    of_contact = f"write contact.{name}, or " if name in CONTACT_FIELDS else ""
    return f"{of_contact}declare it under {vars_of}{form_of(name, kept, 'object' if of_record else 'text')}{quoted}"


def form_of(name: str, kept: Mapping[str, str], type_: str) -> str:
    """How an unknown variable is declared: `: name: {type: text}`, or like the one that another flow keeps."""
    if name in kept:
        return f" as flow {kept[name]} does, with keep: true"
    return f": {name}: {{type: {type_}}}"


def check_python_names(
    bot: BotDefinition, flows: Mapping[str, Flow], own: Mapping[str, FunctionSpec], problems: Problems
) -> None:
    """Report every call of what is not there, and every variable whose name is a function's."""
    for used in uses_of_all(bot, flows):
        check_calls(used.text.calls, own, problems)
        for name in sorted(used.text.loops & own.keys()):
            what = f'"{name}": the loop hides the {own[name].kind} of this name in the bot\'s Python'
            problems.add("E306", used.text.mark, what, "give the element of the loop another name")
    for variable in (variable for flow in flows.values() for variable in flow.variables.values()):
        if variable.name in own:
            what = f'variable "{variable.name}": the bot\'s Python has a {own[variable.name].kind} of this name'
            problems.add("E306", variable.mark, what, "choose another name")
