"""``signal_url("paid")``: an address by which a service reports a signal to this run of the flow."""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from bot.expressions.template_failures import TemplateFailed
from bot.lang.problems import did_you_mean

ADDRESS = " address"  # makes the address of a signal for the active run, by its name
SIGNALS = " signals"  # the bot's signals, by name


@pass_context
def _signal_url(context: Context, name: Any) -> str:
    """``signal_url("paid")``: an address by which this signal reaches this run of the flow."""
    known: Mapping[str, Any] = context.parent.get(SIGNALS, {})
    make: Callable[[str], str | None] = context.parent.get(ADDRESS, lambda _: None)
    if name not in known:
        fix = did_you_mean(str(name), known, "declare it under `signals` in bot.yml")
        raise TemplateFailed(f'signal_url: there is no signal "{name}": {fix}')
    found = make(name)
    if found is None:
        raise TemplateFailed("signal_url: the bot has no public address (BOT_PUBLIC_URL), or no flow is running")
    return found


SIGNAL_FUNCTIONS: dict[str, Callable[..., Any]] = {"signal_url": _signal_url}
