"""All settings that there are, with how the text of each is read; and what is written that is none."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bot.lang.nodes import Node
from bot.lang.problems import Problems, nearest
from bot.settings import texts

if TYPE_CHECKING:
    from bot.keys.fields import Fields

PREFIX = "BOT_"
OF_DEPLOYMENT = ("BOT_DOMAIN", "BOT_FOLDER", "BOT_UPSTREAM")
"""Variables of compose.yaml and of examples/deploy, which may stand in the same ``.env``."""
PARSERS: Mapping[str, Callable[[str], Any]] = {
    "gateway_url": texts.url,
    "gateway_key": texts.secret,
    "gateway_per_minute": texts.number(1, 1_000_000),
    "gateway_per_day": texts.number(1, 1_000_000_000),
    "gateway_per_contact": texts.number(1, 1_000_000_000),
    "channel_id": str,
    "webhook_secret": texts.secrets,
    "webhook_path": texts.path,
    "webhook_tolerance": texts.tolerance,
    "repeat_unknown": texts.yes_or_no,
    "log": texts.log,
    "log_format": texts.log_format,
    "store": str,
    "host": texts.host,
    "port": texts.number(0, 65535),
    "public_url": texts.url,
    "api_key": texts.api_key,
    "ai_url": texts.url,
    "ai_key": texts.secret,
    "ai_model": texts.models,
    "ai_key_in": texts.key_in,
}


def variable(name: str) -> str:
    """What a setting is called in the environment."""
    return PREFIX + name.upper()


def unknown_variables(environ: Iterable[str]) -> list[str]:
    """A line for each variable of the environment that looks like a setting and is none."""
    known = {*map(variable, PARSERS), *OF_DEPLOYMENT}
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return [f"there is no setting {name} ({_setting_meant(name)})" for name in unknown]


def _setting_meant(name: str) -> str:
    near = nearest(name.removeprefix(PREFIX), PARSERS)
    return "docs/going-live.md lists them" if near is None else f'did you mean "{variable(near)}"?'


def problems_in(settings: Node) -> Problems:
    """What is wrong with the `settings` of ``bot.yml``, as far as that does not depend on where the bot runs."""
    from bot.keys.fields import Fields  # slow to import, and a server that starts reads no more than values

    problems = Problems()
    fields = Fields(settings, problems, "bot: settings", "settings: {port: 8080}")
    for name, parse in PARSERS.items():
        _check(fields, name, parse)
    fields.close()
    return problems


def _check(fields: "Fields", name: str, parse: Callable[[str], Any]) -> None:
    text = fields.string(name)
    if text is None:
        return
    try:
        parse(text)
    except ValueError as error:
        what, _, fix = str(error).partition(": ")
        fields.problems.add("E106", fields.mark_of(name), f"{fields.what}: {name} {what}", fix)
