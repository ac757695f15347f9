"""The MCP servers of a bot, as ``bot.yml`` declares them, and their tools, as the files in ``mcp/`` list them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal, Self

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import TEMPLATE, Form, KeySet, KeySpec, seconds
from bot.language.keys.fields import Fields, entries_of, name_of
from bot.language.python.decorators import KEY_PARAMETER, HandlerParameter, HandlerSpec
from bot.language.source.problems import Problems
from bot.language.steps.attempts import WITHIN, Attempts
from bot.language.steps.http_services import (
    ALLOW_PRIVATE,
    HEADERS,
    Entries,
    HttpService,
    check_public,
    check_service_text,
    is_web_address,
)
from bot.language.steps.output_guard import as_data, one_line

MCP = "mcp"
"""The key of ``bot.yml`` with the servers, and of a tool that is theirs."""
LISTS = f"{MCP}/"
"""The folder with the tools of each server, as the paths of its files begin."""
MOST_ABOUT = 1000  # characters of a description
MOST_CHOICE = 100  # characters of a text that an argument can be
MOST_SCHEMA = 10_000  # characters of what a model is told of one tool's arguments
_NAME = lazy_pattern(r"[A-Za-z0-9_.-]{1,64}")  # of an argument, as models take it
_NAME_OF_TOOL = lazy_pattern(r"[A-Za-z0-9_.-]{1,128}")
_REFERENCE = lazy_pattern(r"#/\$defs/[A-Za-z0-9_.-]{1,64}")
_FORMAT = lazy_pattern(r"[a-z-]{1,30}")
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
           "minItems", "maxItems", "uniqueItems")  # fmt: skip
_ONE, _SEVERAL, _NAMED = ("items", "additionalProperties"), ("anyOf", "oneOf", "allOf"), ("properties", "$defs")
_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict[str, Any], "null": None}


class ToolError(BotError):
    """The server says that the tool has failed. Its text is the server's."""


class ServerUnreachable(BotError):
    """There is no whole answer of a server, or none that can be read."""


class ServerTimedOut(BotError):
    """The answer was not whole in time."""


class NotOffered(BotError):
    """A tool that no model can be offered; the text says why."""


@immutable
class ServerTool:
    """A tool of a server, as its list has it, made harmless for a model.

    ``headers`` are the headers that repeat an argument, by the argument's path. ``writes``: it says that it changes
    something. ``unchecked`` are the arguments whose types the bot does not know: the server alone checks these.
    """

    server: str
    name: str
    about: str
    schema: Mapping[str, Any]
    headers: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    writes: bool = False

    @classmethod
    def of(cls, server: str, listed: Any) -> Self:
        """The tool that an entry of the server's list describes. Raises `NotOffered`."""
        match listed:
            case {"name": str(name), "inputSchema": {"type": "object", "properties": dict()} as given}:
                pass
            case {"name": str(name), "inputSchema": {"type": "object"} as given}:
                given = {**given, "properties": {}}
            case _:
                raise NotOffered("it has no name, or its arguments are no object")
        if not _NAME_OF_TOOL.fullmatch(name):
            raise NotOffered("its name has other characters than letters, digits, dots, hyphens and _")
        schema = _harmless(given)
        schema = {"properties": {}, "required": [], **schema, "additionalProperties": False}
        if len(json.dumps(schema)) > MOST_SCHEMA:
            raise NotOffered(f"the description of its arguments has more than {MOST_SCHEMA:,} characters")
        headers = dict(_headers(given))
        if json.dumps(given).count(f'"{_HEADER_KEY}"') != len({header.lower() for header in headers.values()}):
            raise NotOffered(f"{_HEADER_KEY} stands where it means nothing, or twice with one name")
        match listed.get("annotations"):
            case {"readOnlyHint": False} | {"destructiveHint": True}:
                writes = True
            case _:
                writes = False
        about = as_data(one_line(str(listed.get("description") or ""), MOST_ABOUT))
        return cls(server, name, about, schema, headers, writes)

    @property
    def full_name(self) -> str:
        """``crm.find_order``: its name among the bot's handlers."""
        return f"{self.server}.{self.name}"

    @property
    def takes_key(self) -> bool:
        """True if the call's key is one of its arguments."""
        return KEY_PARAMETER in self.schema["properties"]

    @property
    def unchecked(self) -> list[str]:
        """The arguments whose types the bot does not know: the server alone checks them."""
        return [each.name for each in self.parameters.values() if each.annotation is Any]

    @property
    def parameters(self) -> dict[str, HandlerParameter]:
        """Its arguments as those of a handler."""
        required = self.schema["required"]
        return {
            name: HandlerParameter(name, _annotation(schema), name in required)
            for name, schema in self.schema["properties"].items()
            if name != KEY_PARAMETER
        }

    def spec(self, errors: Mapping[str, type[BaseException]]) -> HandlerSpec:
        """The tool as a handler with these errors."""
        return HandlerSpec(self.full_name, self, self.parameters, errors, Any, "", takes_key=True)

    def __call__(self, **given: Any) -> Any:
        """Raise: the engine replaces this by a request to the server, a test by a stub."""
        raise ServerUnreachable("the test has no answer")


@immutable
class McpServer:
    """A server, and its tools by name: not ``listed`` while unknown. ``protocol`` is the version that it speaks."""

    service: HttpService
    tools: Mapping[str, ServerTool] = field(default_factory=dict)
    protocol: str = ""
    listed: bool = False

    @property
    def within(self) -> float:
        """The seconds for one call."""
        return self.service.attempts.within or WITHIN


ERRORS = {"ToolError": ToolError, "unreachable": ServerUnreachable, "timeout": ServerTimedOut}
"""The outcomes of a tool that has failed."""


def read_servers(
    entries: Entries, secrets: tuple[str, ...], documents: Mapping[str, str], problems: Problems
) -> dict[str, McpServer]:
    """Read the `SERVERS` of a bot with these secrets, by name. ``documents`` have the lists of their tools."""
    servers = {}
    for key, item in entries:
        if name_of(key, problems, "server") is None:
            continue
        fields = _SERVER.open(item, problems, f'server "{key.text}"', f"{key.text}: {{url: https://host/mcp}}")
        service = _read_service(key.text, fields, secrets)
        if service is not None:
            servers[key.text] = _listed(service, documents.get(list_path(key.text), ""))
    return servers


def list_path(server: str) -> str:
    """The file with the tools of a server."""
    return f"{LISTS}{server}.json"


def server_calls(servers: Mapping[str, McpServer]) -> dict[str, HandlerSpec]:
    """All tools of the servers, as handlers."""
    return {tool.full_name: tool.spec(ERRORS) for server in servers.values() for tool in server.tools.values()}


def _read_service(name: str, fields: Fields, secrets: tuple[str, ...]) -> HttpService | None:
    url = _URL.read(fields)
    headers, private, attempts = HEADERS.read(fields), ALLOW_PRIVATE.read(fields), Attempts(_WITHIN.read(fields))
    if url is None:
        return None
    if url.constant and not is_web_address(url.source):
        fields.report("E405", url.mark, "url: this is no address", "write one like https://crm.example/mcp")
    check_public(fields, _URL.name, url)
    service = HttpService(name, url, headers, allow_private=private, attempts=attempts)
    for text in service.texts():
        check_service_text(fields, text, secrets)
        text.prepare()  # threads render it
    return service


def _listed(service: HttpService, text: str) -> McpServer:
    try:
        kept = json.loads(text)
        listed, protocol = kept["tools"], str(kept["protocol"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return McpServer(service)
    tools, _ = offered(service.name, listed)
    return McpServer(service, tools, protocol, listed=True)


def offered(server: str, listed: Any) -> tuple[dict[str, ServerTool], dict[str, str]]:
    """The tools in a list that models can be offered; and why they cannot be offered the others. Both by name."""
    tools, others = {}, {}
    for each in listed if isinstance(listed, list) else ():
        try:
            tool = ServerTool.of(server, each)
        except (NotOffered, RecursionError) as error:
            name = one_line(str(each.get("name")), MOST_CHOICE) if isinstance(each, dict) else "?"
            others[name] = str(error) if isinstance(error, NotOffered) else "its arguments are nested too deeply"
        else:
            tools[tool.name] = tool
    return tools, others


def difference(before: Mapping[str, ServerTool], after: Mapping[str, ServerTool]) -> str:
    """The tools that differ between two lists, in words: ``new: find_order; gone: search``. Empty if none does."""
    changed = [name for name in before.keys() & after.keys() if before[name] != after[name]]
    kinds = {"new": after.keys() - before.keys(), "changed": changed, "gone": before.keys() - after.keys()}
    return "; ".join(f"{kind}: {', '.join(sorted(names))}" for kind, names in kinds.items() if names)


def _harmless(schema: Any) -> dict[str, Any]:
    """A schema with nothing but what says which values fit, and with its descriptions as data. Raises `NotOffered`."""
    if not isinstance(schema, dict):
        return {}
    found: dict[str, Any] = {name: schema[name] for name in _LIMITS if type(schema.get(name)) in (int, float, bool)}
    kind, choices = schema.get("type"), schema.get("enum")
    if all(each in (*_TYPES, "array") for each in (kind if isinstance(kind, list) else [kind])):
        found["type"] = kind
    if isinstance(choices, list) and all(map(_is_choice, choices)):
        found["enum"] = choices
    if "const" in schema and _is_choice(schema["const"]):
        found["const"] = schema["const"]
    if isinstance(schema.get("format"), str) and _FORMAT.fullmatch(schema["format"]):
        found["format"] = schema["format"]
    if isinstance(schema.get("$ref"), str) and _REFERENCE.fullmatch(schema["$ref"]):
        found["$ref"] = schema["$ref"]
    if isinstance(schema.get("required"), list):
        names = schema.get("properties")
        found["required"] = [name for name in schema["required"] if isinstance(names, dict) and name in [*names]]
    if schema.get("description"):
        found["description"] = as_data(one_line(str(schema["description"])))
    for key in _ONE:
        if key in schema:
            found[key] = schema[key] if isinstance(schema[key], bool) else _harmless(schema[key])
    for key in _SEVERAL:
        if isinstance(schema.get(key), list):
            found[key] = [_harmless(each) for each in schema[key]]
    for key in _NAMED:
        if isinstance(schema.get(key), dict):
            found[key] = {_argument(name): _harmless(each) for name, each in schema[key].items()}
    return found


def _is_choice(value: Any) -> bool:
    """True if a model may read a value that an argument can be."""
    return (
        value is None
        or isinstance(value, int | float)
        or (isinstance(value, str) and value == one_line(value, MOST_CHOICE))
    )


def _argument(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise NotOffered(f"models take no argument with the name {one_line(name, MOST_CHOICE)}")
    return name


def _annotation(schema: Mapping[str, Any]) -> Any:
    """The type of a value that fits a schema; `Any` for what only the server can check."""
    kind, choices = schema.get("type"), schema.get("enum")
    if choices and not any(isinstance(each, float) for each in choices):
        return Literal[tuple(choices)]
    match schema.get("anyOf"):
        case [one, {"type": "null"}] | [{"type": "null"}, one]:
            return _or_null(_annotation(one))
    match kind:
        case "array":
            items = schema.get("items")
            return list[_annotation(items) if isinstance(items, dict) else Any]  # type: ignore[misc]
        case [str(one), "null"] | ["null", str(one)]:
            return _or_null(_annotation({**schema, "type": one}))
        case str():
            return _TYPES[kind]
    return Any


def _or_null(annotation: Any) -> Any:
    return Any if annotation is Any else annotation | None


def _headers(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The headers that the arguments below are repeated in. Raises `NotOffered` where there can be none."""
    properties = schema.get("properties")
    for name, each in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(each, dict):
            continue
        header = each.get(_HEADER_KEY)
        if header is not None:
            if not (isinstance(header, str) and _NAME.fullmatch(header)):
                raise NotOffered(f"the argument {name} names no header")
            if each.get("type") not in ("string", "integer", "boolean"):
                raise NotOffered(f"the argument {name} cannot be a header")
            yield (*path, name), header
        yield from _headers(each, (*path, name))


_HEADER_KEY = "x-mcp-header"
_URL = KeySpec("url", TEMPLATE, "The address of the server, with http or https.", required=True)
_WITHIN = KeySpec("within", seconds(WITHIN), f"How long one call of a tool may take; {WITHIN:.0f}s by default.")
_SERVER = KeySet(_URL, HEADERS, _WITHIN, ALLOW_PRIVATE)
SERVERS: Form[Entries] = Form(key_schemas.map_of(_SERVER.schema()), entries_of, absent=())
"""MCP servers by name; `read_servers` makes them of it."""
