"""The tools of an AI step: handlers, requests, tools of servers, and those by which a model notes values and leaves."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

from bot.core.effects import Call, HttpRequest
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import INTERACTIVE_BODY, clip
from bot.core.text import without_controls
from bot.core.values import UnstorableValue, json_default, plain
from bot.language.expressions.templates import Expression, Template
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    BOOLEAN,
    LITERAL,
    NAME,
    STRING,
    STRINGS,
    Form,
    KeySet,
    KeySpec,
    as_fields,
    as_node,
    either,
    fields_by_key,
    integer,
    map_of,
    one_of,
    one_or_several,
    seconds,
)
from bot.language.keys.definitions import refuse_defined
from bot.language.keys.fields import Fields, entries_of, template_of, text_of
from bot.language.keys.key_schemas import ANY_TEXT
from bot.language.keys.text_shapes import TEXT
from bot.language.python.annotations import Arguments, BadArgument
from bot.language.python.decorators import KEY_PARAMETER, HandlerParameter, HandlerSpec, summary
from bot.language.source.problems import Mark, Problems, did_you_mean
from bot.language.source.yaml_tree import Node, Scalar
from bot.language.steps.call_step import UNDECLARED, argument_uses, check_known
from bot.language.steps.colleague import COLLEAGUE, Colleague, question_to_team
from bot.language.steps.exits import Exit
from bot.language.steps.http_step import ANSWER, REQUEST, HttpStep
from bot.language.steps.mcp_servers import MCP, McpServer, ServerTool, ToolError, list_path
from bot.language.steps.output_guard import without_data_marks
from bot.language.steps.step_facts import IT, StepFailed, Used, texts_used
from bot.language.steps.step_kind import ReadContext, StepContext
from bot.language.steps.transition import ASSIGNMENTS, Assignment
from bot.language.steps.yes_no_question import QuestionTooLong, asked_about, harmless
from bot.language.types.structured_types import (
    AnswerVariable,
    FilesVariable,
    ListVariable,
    LocationVariable,
    MediaVariable,
    ObjectVariable,
)
from bot.language.types.type_registry import Answer, InvalidAnswer, TypeMismatch, Variable

REMEMBER = "remember"  # the tool by which a model notes values
LEAVE = "leave_"  # how the tools begin by which it leaves
SAY = "say_"  # how the tools begin by which it says a text of the flow
MOST_RESULT = 10_000  # characters of a handler's result
CONTACT = "contact"  # an argument of this name is the contact's id, and never the model's to give
WITHIN = 10.0  # seconds
_THREE_DECIMALS = lazy_pattern(r"-?\d+\.\d{3}")
_SIGNS = lazy_pattern("[^a-zA-Z0-9_-]")  # that no tool's name may have

_CALL = KeySpec("call", STRING, "The handler's name.", required=True)
_WITH = KeySpec("with", ASSIGNMENTS, "Arguments that the flow gives, and the model never.")
_ABOUT = KeySpec("about", LITERAL, "A description for the model; the handler's docstring by default.")


def _read_confirm(node: Node, problems: Problems, what: str) -> Template | bool | None:
    is_text = isinstance(node, Scalar) and isinstance(node.value, str)
    return template_of(node, problems, what) if is_text else BOOLEAN.read(node, problems, what)


_CONFIRM: KeySpec[Template | bool | Fields | None] = KeySpec(
    "confirm",
    either(
        Form(
            key_schemas.either(BOOLEAN.schema, key_schemas.STRING),
            _read_confirm,
            lambda node: TEXT if isinstance(node, Scalar) and isinstance(node.value, str) else {},
            absent=False,
        ),
        COLLEAGUE,
    ),
    "Ask the contact first, or with which question; or a colleague: by which team. False by default.",
)
_WITHIN = KeySpec("within", seconds(WITHIN), "How long it may take; 10s by default.")
_TIMES = KeySpec("times", integer(1), "How often it may succeed in one visit of the step; no bound by default.")
_TAKEN_TYPES: Mapping[str, tuple[type, dict[str, str]]] = {
    "text": (str, {"type": "string"}),
    "integer": (int, {"type": "integer"}),
    "number": (float, {"type": "number"}),
    "boolean": (bool, {"type": "boolean"}),
    "date": (date, {"type": "string", "format": "date"}),
}
"""The types of values that a model may give a request, in Python and in the schema for the model."""
_TAKEN_TYPE = KeySpec("type", one_of(*_TAKEN_TYPES, default="text"), "Its type; a text by default.")
_TAKEN_ABOUT = KeySpec("about", LITERAL, "Its description for the model.", required=True)
_TAKEN = either(
    Form(ANY_TEXT, as_node), as_fields(KeySet(_TAKEN_TYPE, _TAKEN_ABOUT), "{type: integer, about: how many}")
)
_NAMED = KeySpec("name", NAME, "The model's name for the request.", required=True)
_REQUEST_ABOUT = replace(_ABOUT, about="A description of the request for the model.", required=True)
TAKES: KeySpec[tuple[tuple[Scalar, Node], ...]] = KeySpec(
    "takes",
    map_of(_TAKEN, entries_of, absent=()),
    "The values that the model gives, each with its description; called it.name.",
)
_HANDLER_KEYS = KeySet(_CALL, _WITH, _ABOUT, _CONFIRM, _WITHIN, _TIMES)
_SERVER = KeySpec(MCP, STRING, "The MCP server, by its name in bot.yml.", required=True)
_ONLY = KeySpec("only", STRINGS, "The tools of the server that the model may ask for; all by default.")
_SHOW_ERRORS = KeySpec(
    "show_errors", BOOLEAN, "Whether the model gets the texts with which the server says that a tool failed."
)
_SERVER_ABOUT = replace(_ABOUT, about="A description for the model; the server's by default.")
_SERVER_KEYS = KeySet(_SERVER, _ONLY, _WITH, _SERVER_ABOUT, _CONFIRM, _TIMES, _SHOW_ERRORS)
_REQUEST_KEYS = KeySet(*REQUEST, _NAMED, _REQUEST_ABOUT, TAKES, _CONFIRM, _TIMES)


TOOLS: KeySpec[tuple[Node | Fields, ...]] = KeySpec(
    "tools",
    one_or_several(
        either(
            Form(ANY_TEXT, as_node),
            fields_by_key({HttpStep.verb: _REQUEST_KEYS, _SERVER.name: _SERVER_KEYS}, _HANDLER_KEYS),
        )
    ),
    "Handlers, requests and tools of MCP servers that the model may ask for.",
)
FILL: KeySpec[tuple[tuple[Scalar, Node], ...]] = KeySpec(
    "fill", map_of(STRING, entries_of, absent=()), "Variables that the model may note, each with what it is."
)

STRUCTURES = (ListVariable, FilesVariable, ObjectVariable, MediaVariable, LocationVariable, AnswerVariable)
"""Types of variables that a model cannot note: nothing that somebody says becomes a value of theirs."""


@immutable
class Tool:
    """One handler as a tool, a request by its name, or a tool of a server.

    ``given`` are the arguments that the flow binds; ``confirm`` asks the contact first, or the ``colleague``.

    ``times`` is how often it may succeed in one visit of the step; None: there is no bound.
    """

    handler: str
    mark: Mark
    name: str
    about: str
    schema: Mapping[str, Any]
    spec: HandlerSpec
    arguments: Arguments
    given: tuple[Assignment, ...] = ()
    binds_contact: bool = False
    confirms: bool = False
    confirm: Template | None = None
    colleague: Colleague | None = None
    within: float = WITHIN
    times: int | None = None
    sent: HttpStep | None = None  # in place of a call
    of_server: ServerTool | None = None  # that is called

    def wire(self) -> dict[str, Any]:
        """The description of the tool for a model."""
        theirs = "" if self.of_server is None else self.of_server.about
        return function(self.name, self.about or theirs, self.schema)

    def typed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with a text for each number that a model gave in place of a text."""
        known = self.schema["properties"]
        return {
            name: str(value) if type(value) in (int, float) and known.get(name, {}).get("type") == "string" else value
            for name, value in arguments.items()
        }

    def effect(self, arguments: Mapping[str, Any], scope: Mapping[str, Any]) -> Call | HttpRequest:
        """The effect that a model asked for. Values that the flow binds replace those that the model gave."""
        if self.sent is not None:
            return self.sent.request({**scope, "it": self.arguments.fitted(arguments)})
        return Call(self.handler, self._given_to(arguments, scope), self.within, most=MOST_RESULT)

    def _given_to(self, arguments: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, Any]:
        bound = {item.name: item.evaluate(scope) for item in self.given}
        if self.of_server is not None:
            bound = json.loads(json.dumps(bound, default=json_default))  # which has no dates
        if self.binds_contact:
            bound[CONTACT] = scope["contact"]["id"]
        return {**arguments, **bound}

    def values(self, arguments: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments as the handler will see them, or the service. Raises `BadArgument`, in words for the model."""
        given = self._given_to(arguments, scope)
        try:
            fitted = self.arguments.fitted(given)
            if self.sent is not None:
                self.sent.request({**scope, "it": fitted})
        except StepFailed as error:
            raise BadArgument("", str(error)) from error
        except BadArgument as error:
            if error.name in self.schema["properties"]:
                raise
            what = f"{error.name}, which is not yours to give, is not known or not right"
            raise BadArgument(error.name, what) from error
        return {name: _kept(value, given[name]) for name, value in fitted.items()}

    @property
    def unasked(self) -> str | None:
        """The fix if it changes something and nobody is asked first; None: all is well."""
        if self.confirms or not self._writes:
            return None
        if self.sent is not None:
            return "write confirm: true beside it; a request that changes nothing is a GET"
        if self.of_server is not None:
            return "write confirm: true and about: what it does, beside it"
        return (
            f"write {{call: {self.handler}, confirm: true}}; "
            "a handler that changes nothing returns something and takes no key"
        )

    @property
    def _writes(self) -> bool:
        if self.of_server is not None:
            return self.of_server.writes
        return self.spec.writes if self.sent is None else self.sent.address.method != "GET"

    def result(self, value: Any) -> str:
        """A result as a model reads it."""
        if self.sent is not None and isinstance(value, Mapping):  # else an edit has made a request of a handler
            value = value.get(ANSWER, value)
        return result_text(value)

    def question(
        self, given: Collection[str], values: Mapping[str, Any], effect: Call | HttpRequest, scope: Mapping[str, Any]
    ) -> str:
        """The question before the call, with the values of what the model has ``given`` and the handler's own defaults.
        A colleague sees all values.

        Raises `bot.language.steps.yes_no_question.QuestionTooLong`.
        """
        known = {**self._defaults(), **values}
        if self.colleague is not None:
            shown = {name: known[name] for name in self.spec.parameters if name in known}
            return question_to_team(self.about or self.name, shown, effect)
        known = {name: value for name, value in known.items() if name in given or name not in values}
        values = {name: known[name] for name in self.schema["properties"] if name in known}
        if self.confirm is not None:
            given = {**dict.fromkeys(self.schema["properties"]), **harmless(values)}
            body = self.confirm.render({**scope, "it": given})
        else:
            body = "\n".join([self.about or self.name, *asked_about(values, scope)])
        if len(body) > INTERACTIVE_BODY:
            raise QuestionTooLong(f"the question has {len(body)} characters")
        return body

    def _defaults(self) -> dict[str, Any]:
        """The handler's own values of what a model may leave out, where they say something and can be shown."""
        found: dict[str, Any] = {}
        for name in self.schema["properties"]:
            if self.spec.parameters[name].default is not None:
                with suppress(UnstorableValue, TypeError):
                    found[name] = plain(self.spec.parameters[name].default)
        return found

    def failure(self, outcome: str, detail: str) -> str:
        """The words for the model about a failed call: with an error's text only if the handler declares the error."""
        declared = outcome in self.spec.errors and outcome not in UNDECLARED
        return f"{outcome}: {detail.removeprefix(f'{outcome}: ')}" if declared and detail else outcome

    def uses(self) -> Iterator[Used]:
        """The templates of the tool."""
        for item in self.given:
            yield from argument_uses(item, self.spec, sure=False)
        if self.sent is not None:
            yield from (replace(used, extra=used.extra | IT, sure=False) for used in self.sent.uses())
        yield from texts_used(self.confirm, extra=IT, sure=False)
        yield from texts_used(None if self.colleague is None else self.colleague.text, sure=False)


def read_tools(fields: Fields, reading: ReadContext) -> tuple[Tool, ...]:
    """Read `tools`: names of handlers, ``{call, with, confirm, about, within, times}``, ``{http, name, about, takes,
    ...}``, or ``{mcp, only, with, confirm, about, times, show_errors}``.
    """
    tools: dict[str, Tool] = {}
    for item in TOOLS.read(fields):
        for tool in _read_tools(fields, item, reading):
            if tool.name in tools:
                fields.report("E121", item.mark, f'a second tool "{tool.handler}"', "keep one of them")
            else:
                tools[tool.name] = tool
    return tuple(tools.values())


def names_of(tools: Iterable[Tool], handlers: Iterable[str]) -> list[str]:
    """The names by which a model knows the tools of these handlers."""
    wanted = set(handlers)
    return [tool.name for tool in tools if tool.handler in wanted]


def name_for_model(name: str) -> str:
    """The name of a handler as models know it: ``orders.find`` is ``orders_find``."""
    return _SIGNS.sub("_", name)[:64]


def read_arguments(text: str) -> dict[str, Any] | None:
    """The arguments of a model's call; None where they are no object, or one that cannot be kept."""
    value = _read_json(without_data_marks(text) or "{}")
    return value if isinstance(value, dict) else None


def json_in(text: str, opening: str = "{[") -> Any | None:
    """The only JSON value in a model's text, from its first bracket to its last; None if there is no such value.

    ``json_in('Here it is: {"cups": 5}')  -> {"cups": 5}``. Its first bracket is one of ``opening``.
    """
    first = min((place for bracket in opening if (place := text.find(bracket)) >= 0), default=-1)
    last = max(text.rfind("}" if bracket == "{" else "]") for bracket in opening)
    return _read_json(text[first : last + 1]) if 0 <= first < last else None


def _read_json(text: str) -> Any | None:
    """A value that can be kept; None for anything else, and where a name stands twice in a record."""
    try:
        value = plain(json.loads(text, object_pairs_hook=_each_once))
        written = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()  # no halves of characters either
    except (ValueError, RecursionError, UnstorableValue):
        return None
    return value if rb"\u0000" not in written else None


def _each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _kept(value: Any, given: Any) -> Any:
    """A value of a handler's own type as a conversation has it; what it was made from where it has no such form."""
    if type(value) is type(given) and value == given:  # most are; to copy a long list takes time
        return given
    try:
        return plain(value)
    except (UnstorableValue, TypeError):  # a set of things that have no order
        return given


def _asking(fields: Fields, tool: Tool, asked: Template | bool | Fields | None, **more: Any) -> Tool:
    """The tool with ``more``, and with who is ``asked`` before it is called."""
    confirm = asked if isinstance(asked, Template) else None
    colleague = Colleague.read(asked, tool.name) if isinstance(asked, Fields) else None
    tool = replace(tool, confirms=asked is not False, confirm=confirm, colleague=colleague, **more)
    _check_question(fields, tool)
    return tool


def _read_tools(fields: Fields, item: Node | Fields, reading: ReadContext) -> Iterator[Tool]:
    if isinstance(item, Fields) and item.has(_SERVER.name):
        yield from _read_server_tools(item, reading)
    elif (tool := _read_tool(fields, item, reading)) is not None:
        yield tool


def _read_tool(fields: Fields, item: Node | Fields, reading: ReadContext) -> Tool | None:
    if not isinstance(item, Fields):
        name = text_of(item, fields.problems, f"{fields.what}: {TOOLS.name}")
        spec = None if name is None else _spec(fields, name, item.mark, reading)
        return None if spec is None else _tool(fields, item.mark, spec)
    if item.has(HttpStep.verb):
        return _read_request(item, reading)
    name, given, about, asked = _CALL.read(item), _WITH.read(item), _ABOUT.read(item), _CONFIRM.read(item)
    spec = None if name is None else _spec(fields, name, _CALL.mark(item), reading)
    if spec is None:
        return None
    check_known(fields, spec, given)
    tool = _tool(fields, item.mark, spec, given)
    if tool is None:
        return None
    within, times = _WITHIN.read(item), _TIMES.read(item)
    return _asking(fields, tool, asked, about=about or tool.about, within=within, times=times)


def _read_request(fields: Fields, reading: ReadContext) -> Tool | None:
    """A request as a tool: what the model gives is called `it` in its texts."""
    name, about, sent = _NAMED.read(fields), _REQUEST_ABOUT.read(fields), HttpStep.read(fields, reading)
    asked, (schema, parameters) = _CONFIRM.read(fields), read_taken(fields)
    if name is None or not _is_free(fields, name, _NAMED.mark(fields)):
        return None
    spec = HandlerSpec(name, nothing_called, parameters, {}, Any, about or "")
    tool = Tool(name, fields.mark, name, about or "", schema, spec, Arguments(spec), sent=sent)
    for used in sent.uses():
        _check_names(fields, tool, used.text, HttpStep.verb)
    return _asking(fields, tool, asked, times=_TIMES.read(fields))


def _read_server_tools(fields: Fields, reading: ReadContext) -> Iterator[Tool]:
    """The tools of a server. The contact is asked in the flow's own words, so consent is for one tool alone."""
    name, only, given = _SERVER.read(fields), _ONLY.read(fields), _WITH.read(fields)
    about, asked, times = _SERVER_ABOUT.read(fields), _CONFIRM.read(fields), _TIMES.read(fields)
    shown = {"ToolError": ToolError} if _SHOW_ERRORS.read(fields) else {}
    server = _server(fields, name, reading) if name else None
    if server is None:
        return
    for key in (_SERVER_ABOUT, _CONFIRM):
        if key.written(fields) and len(only) != 1:
            key.report(fields, "E123", f"{key.name}: it is about one tool", "write `only` with the name of that tool")
    if (asked is True or isinstance(asked, Fields)) and about is None:
        _CONFIRM.report(fields, "E503", "confirm: nothing says what is asked", "add about: what it does")
    for each in only or server.tools:
        found = server.tools.get(each)
        if found is None:
            fix = did_you_mean(each, server.tools, "`bot tools` reads the server's list again")
            _ONLY.report(fields, "E511", f'server "{name}" has no tool "{each}"', fix)
            continue
        spec = found.spec(shown)
        if spec.name in reading.handlers:
            fields.report("E121", fields.mark, f'"{spec.name}" is a handler, too', "give the handler another name")
        check_known(fields, spec, given)
        tool = _server_tool(fields, found, spec, given)
        if tool is not None:
            yield _asking(fields, tool, asked, about=about or "", within=server.within, times=times)


def _server(fields: Fields, name: str, reading: ReadContext) -> McpServer | None:
    server = reading.servers.get(name)
    if server is None:
        fix = did_you_mean(name, reading.servers, f"declare it in bot.yml: mcp: {{{name}: {{url: https://host/mcp}}}}")
        _SERVER.report(fields, "E511", f'no server "{name}"', fix)
    elif not server.listed:
        what = f'the tools of server "{name}" are not known: {list_path(name)} is missing, or no list'
        _SERVER.report(fields, "E511", what, "run `bot tools`, which asks the server")
        return None
    return server


def _server_tool(fields: Fields, found: ServerTool, spec: HandlerSpec, given: tuple[Assignment, ...]) -> Tool | None:
    """The tool without the arguments that a model does not give."""
    name, bound = name_for_model(spec.name), {item.name for item in given}
    if not _is_free(fields, name, fields.mark):
        return None
    hidden = bound | {CONTACT, KEY_PARAMETER}
    left = {key: each for key, each in found.schema["properties"].items() if key not in hidden}
    required = [key for key in found.schema["required"] if key not in hidden]
    schema = {**found.schema, "properties": left, "required": required}
    binds_contact = CONTACT in spec.parameters and CONTACT not in bound
    arguments = Arguments(spec)
    return Tool(spec.name, fields.mark, name, "", schema, spec, arguments, given, binds_contact, of_server=found)


def read_taken(fields: Fields) -> tuple[dict[str, Any], dict[str, HandlerParameter]]:
    """Read `takes`: what the model gives, as a schema for it and as parameters."""
    properties, parameters = {}, {}
    for key, item in TAKES.read(fields):
        what = f"{fields.what}: {TAKES.name}: {key.text}"
        more = _TAKEN.read(item, fields.problems, what)
        told = _TAKEN_ABOUT.read(more) if isinstance(more, Fields) else text_of(item, fields.problems, what)
        kind, in_schema = _TAKEN_TYPES[(_TAKEN_TYPE.read(more) if isinstance(more, Fields) else None) or "text"]
        properties[key.text] = {**in_schema, "description": told or ""}
        parameters[key.text] = HandlerParameter(key.text, kind, required=True)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": [*properties]}
    return {**schema, "additionalProperties": False}, parameters


def nothing_called() -> None:
    """Stand in for a handler where a request or a text is sent; nothing calls this."""


def _check_names(fields: Fields, tool: Tool, text: Template | Expression, key: str) -> set[str]:
    """Report the fields of `it` that a text uses and the model does not give. Returns all that the text uses."""
    return check_taken(fields, tool.handler, tool.schema["properties"], text, key)


def check_taken(fields: Fields, name: str, known: Collection[str], text: Template | Expression, key: str) -> set[str]:
    """Report the fields of `it` that a text uses and that are not ``known``. Returns all that the text uses."""
    named = {path[1] for path in text.paths if path[0] == "it" and len(path) > 1}
    for unknown in sorted(named - set(known)):
        fix = did_you_mean(unknown, known, f"it gives {', '.join(known) or 'nothing'}")
        fields.report("E502", text.mark, f'{key}: a model gives "{name}" no "{unknown}"', fix)
    return named


def _check_question(fields: Fields, tool: Tool) -> None:
    """Check that the question shows each argument that the model gives, and no bound or unknown one."""
    if tool.confirm is None:
        return
    known, named = tool.schema["properties"], _check_names(fields, tool, tool.confirm, _CONFIRM.name)
    if named or "it" not in tool.confirm.names:  # else all of it is shown at once
        for name in (name for name in known if name not in named):
            what = f'confirm: nobody sees the argument "{name}", which the model gives "{tool.handler}"'
            fix = f"put {{{{ it.{name} }}}} into the question, give it under `with`, or write confirm: true"
            fields.report("E503", tool.confirm.mark, what, fix)


def _spec(fields: Fields, name: str, mark: Any, reading: ReadContext) -> HandlerSpec | None:
    spec = reading.handlers.get(name)
    if spec is None:
        fix = did_you_mean(name, reading.handlers, "declare it in handlers.py")
        fields.report("E501", mark, f'no handler "{name}"', fix)
    return spec


def _is_free(fields: Fields, name: str, mark: Mark) -> bool:
    """True if a tool can have this name."""
    taken = name == REMEMBER or name.startswith((LEAVE, SAY))
    if taken:
        what = f'the name "{name}" means something else to a model'
        fix = f'give it one that is not "{REMEMBER}" and has no "{LEAVE}" or "{SAY}"'
        fields.report("E108", mark, what, fix)
    return not taken


def _tool(fields: Fields, mark: Any, spec: HandlerSpec, given: tuple[Assignment, ...] = ()) -> Tool | None:
    from bot.language.python.annotations import NoSchema, parameters_schema  # pydantic: only where there are tools

    name = name_for_model(spec.name)
    if not _is_free(fields, name, mark):
        return None
    bound = {item.name for item in given}
    try:
        schema = parameters_schema(spec, bound | {CONTACT})
    except NoSchema as error:
        fix = "annotate it with text, numbers, dates, lists or a dataclass of these, or give it under `with`"
        fields.report("E506", mark, f'no model can call "{spec.name}": {error}', fix)
        return None
    binds_contact = CONTACT in spec.parameters and CONTACT not in bound
    about = summary(spec.doc)
    return Tool(spec.name, mark, name, about, schema, spec, Arguments(spec), given, binds_contact)


# -- what the model notes --------------------------------------------------------------------------


def read_fill(fields: Fields, variables: Mapping[str, Variable]) -> dict[str, str]:
    """Read `fill`: for each variable that the model may note, what it is."""
    fill: dict[str, str] = {}
    for name, item in FILL.read(fields):
        about = text_of(item, fields.problems, f"{fields.what}: {FILL.name}: {name.text}")
        variable = variables.get(name.text)
        if refuse_defined(name.text, name.mark, fields.problems.definitions, fields.problems):
            continue
        if variable is None:
            fix = did_you_mean(name.text, variables, f"declare it under vars: {name.text}: {{type: text}}")
            fields.report("E301", name.mark, f'fill: no variable "{name.text}"', fix)
        elif isinstance(variable, STRUCTURES):
            what = f'fill: no text becomes "{name.text}", its type is {variable.type}'
            fields.report("E303", name.mark, what, "note texts, numbers, dates and choices")
        elif about is not None:
            fill[name.text] = about
    return fill


def remember_tool(fill: Mapping[str, str], variables: Mapping[str, Variable]) -> dict[str, Any]:
    """The tool by which a model notes values."""
    return function(REMEMBER, "Note what the contact has told you, as soon as they have.", _values(fill, variables))


def written_calls(text: str) -> list[dict[str, str]] | None:
    """The calls that some models write as JSON in place of an answer, perhaps in a block of code; None: it is a text.

    ``{"name": "orders_find", "arguments": {"number": "17"}}``, or a list of these.
    """
    written = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not (written.startswith(("{", "[")) and '"name"' in written):
        return None
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        return None
    calls = []
    for each in found if isinstance(found, list) else [found]:
        call = each.get("function", each) if isinstance(each, dict) else None
        arguments = call.get("arguments", call.get("parameters")) if isinstance(call, dict) else None
        if not (isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(arguments, dict)):
            return None
        calls.append({"id": "", "name": call["name"], "arguments": json.dumps(arguments)})
    return calls


def noted(arguments: Mapping[str, Any], names: Collection[str], context: StepContext) -> tuple[dict[str, Any], str]:
    """The values that fit their variables, and in words for the model what is wrong with the others."""
    values, wrong = {}, []
    for name, value in arguments.items():
        if value is None or value == "":
            continue
        if name not in names:
            wrong.append(f"There is nothing called {name} to note.")
            continue
        variable = context.variables[name]
        try:
            values[name] = _noted_value(variable, value, context)
        except (InvalidAnswer, TypeMismatch) as error:
            example = getattr(variable, "example", None)
            wrong.append(f"{name} does not fit: {error}{f', like {example}' if example else ''}. Ask for it.")
    return values, " ".join(wrong)


def _noted_value(variable: Variable, value: Any, context: StepContext) -> Any:
    if isinstance(value, str | int | float):
        return variable.accept(Answer(as_answer(value)), context.now, context.scope)
    return variable.coerce(value, context.now)


def as_answer(value: str | int | float) -> str:
    """A model's value as an answer that means the same in every language.

    ``as_answer(True)  -> "true"``; ``as_answer(1.125)  -> "1.1250"``, because "1.125" means a thousand where decimals
    have a comma.
    """
    if isinstance(value, str):
        return without_controls(value)
    text = json.dumps(value)
    return f"{text}0" if _THREE_DECIMALS.fullmatch(text) else text


# -- where it leaves -------------------------------------------------------------------------------


def leave_tool(
    exit_: Exit, needed_tools: Sequence[str], fill: Mapping[str, str], variables: Mapping[str, Variable]
) -> dict[str, Any]:
    """The tool by which a model leaves by an exit, once these other tools have succeeded."""
    about = {name: fill.get(name, f"needed: {name}") for name in exit_.needs}
    when = f"End your part when {exit_.when}."
    after = f" Only after {' and '.join(needed_tools)} has succeeded." if needed_tools else ""
    return function(f"{LEAVE}{exit_.name}", f"{when}{after}", _values(about, variables))


# -- tools and results as a model reads them -------------------------------------------------------


def function(name: str, about: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A tool in the wire form (decisions: Chat completion)."""
    return {"type": "function", "function": {"name": name, "description": about, "parameters": dict(parameters)}}


def _values(about: Mapping[str, str], variables: Mapping[str, Variable]) -> dict[str, Any]:
    properties = {name: _property(text, variables[name]) for name, text in about.items()}
    return {"type": "object", "properties": properties, "required": [], "additionalProperties": False}


def _property(about: str, variable: Variable) -> dict[str, Any]:
    of = getattr(variable, "of", ())
    return {"type": "string", "description": about} | ({"enum": list(of)} if of else {})


def result_text(value: Any) -> str:
    """A handler's result as a model reads it: the beginning of a very long one."""
    return clip(_in_words(value), MOST_RESULT)


def cut(value: Any, most: int) -> Any:
    """A handler's result, or the beginning of its text where that has more than so many characters."""
    text = _in_words(value)
    return value if len(text) <= most else clip(text, most)


def _in_words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=json_default, ensure_ascii=False)
