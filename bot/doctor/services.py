"""The two services: can they be reached, do they take the keys, do their clocks agree with ours."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from bot.ai.ai_client import Completions
from bot.ai.ai_errors import CompletionError
from bot.core.errors import BotError
from bot.doctor.finding import Finding, fail, ok, warn
from bot.flow.library import Library, template_uses
from bot.gateway.gateway_account import TemplateInfo
from bot.http_client import HttpClient, HttpError
from bot.runtime.template_check import misfits
from bot.settings import ModelService

PATIENCE = 5.0  # seconds
REFUSED_BEYOND = timedelta(minutes=5)
DOUBTFUL_BEYOND = timedelta(minutes=1)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def reach(about: str, variable: str, url: str, now: Callable[[], datetime]) -> Generator[Finding, None, bool]:
    """Whether a service answers at all, which is returned, and how far its clock is from ours. No key goes with it."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        yield warn(about, f"{variable} is not https: the key can be read on the way", f"set {variable} to https://...")
    try:
        with closing(HttpClient(url, seconds=PATIENCE, connections=1, own=True)) as http:
            answer = http.get("/", {})
    except HttpError as error:
        yield fail(about, str(error), error.advice or f"check {variable} and the network")
        return False
    yield ok(about, f"{parts.netloc} answers")
    yield from _clock(about, answer.headers.get("Date"), now())
    return True


def gateway_key(listed: Callable[[], Sequence[TemplateInfo]], flows: Callable[[], Library | None]) -> Iterator[Finding]:
    """Whether the gateway takes the key, and has what the flows name. ``listed`` gets its templates."""
    try:
        templates = listed()
    except BotError as error:
        yield fail("gateway", f"its templates cannot be listed: {error}")
        return
    yield ok("gateway", f"the key is accepted; templates of the channel: {len(templates)}")
    if (library := flows()) is not None:
        yield from _templates(library, templates)


def models(service: ModelService) -> Iterator[Finding]:
    """Whether the chat-completion service takes the key, and has the models that are set."""
    try:
        with closing(Completions(service.url, service.key, key_in=service.key_in, seconds=PATIENCE)) as asked:
            there = {model.id for model in asked.models()}
    except CompletionError as error:
        yield fail("models", str(error))
        return
    missing = [model for model in service.models if model not in there]
    for model in missing:
        yield fail("models", f'"{model}" is not in the list', "`bot models` lists them; set BOT_AI_MODEL")
    if not missing:
        yield ok("models", f"the key is accepted; models in the list: {len(there)}")


def _clock(about: str, date: str | None, now: datetime) -> Iterator[Finding]:
    try:
        off = abs(parsedate_to_datetime(date or "") - now)
    except (ValueError, TypeError):
        return  # it does not say, or not where in the world that is
    what = f"its clock and ours differ by {off.total_seconds():,.0f} s"
    if off > REFUSED_BEYOND:
        advice = "set this machine's clock (timedatectl set-ntp true): events are refused as stale"
        yield fail(about, what, advice)
    elif off > DOUBTFUL_BEYOND:
        yield warn(about, what, "set this machine's clock (timedatectl set-ntp true)")
    else:
        yield ok(about, what)


def _templates(library: Library, listed: Sequence[TemplateInfo]) -> Iterator[Finding]:
    uses = list(template_uses(library))
    found = misfits(uses, listed)
    for misfit in found:
        yield (fail if misfit.certain else warn)("templates", f"{misfit.mark}: {misfit.what}", misfit.fix)
    if not found and uses:
        yield ok("templates", f"all {len({use.notice.name for use in uses})} that the flows name can be sent")
