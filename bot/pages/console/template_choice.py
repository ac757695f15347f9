"""Templates that a person can send: the account's approved ones, and the fields of the one that was chosen."""

from collections.abc import Mapping
from contextlib import suppress
from operator import itemgetter
from typing import Any

from flask import request

from bot.core.engine_requests import AskFlows, ListTemplates
from bot.core.immutable import immutable
from bot.core.messages import LINKED
from bot.pages.console.routes import ActionRefused, Console
from bot.runtime.template_check import APPROVED
from bot.server.local_socket import NotRunning

KEPT_SECONDS, TROUBLE_SECONDS = 600.0, 60.0
"""The time for which the gateway's list is used: each list costs a request of the limits.

And how long it is not asked again after it could not be had.
"""
REPLIES_SECONDS = 10.0
_NAMED = itemgetter("name", "language")


@immutable
class SendableTemplate:
    """A template.

    ``body`` is how many texts fill it, None where nobody knows; ``header`` is the kind of what fills its header, if
    anything does.
    """

    name: str
    language: str
    category: str = ""
    body: int | None = None
    header: str | None = None


@immutable
class TemplateList:
    """The templates that can be sent. If there is no list, ``trouble`` says why."""

    templates: tuple[SendableTemplate, ...]
    trouble: str = ""


def template_list(console: Console) -> TemplateList:
    """The approved templates of the gateway's list.

    It does not say how many texts fill one: the flows that send it do.
    """
    return console.cached(
        "templates", lambda: _listed(console), lambda found: TROUBLE_SECONDS if found.trouble else KEPT_SECONDS
    )


def ready_replies(console: Console) -> Mapping[str, str]:
    """The texts that agents send often, by title, as ``bot.yml`` has them; none while no engine answers."""

    def read() -> Mapping[str, str]:
        with suppress(ActionRefused, NotRunning):
            return console.ask(AskFlows()).replies
        return {}

    return console.cached("replies", read, lambda found: REPLIES_SECONDS)


def chosen(listed: TemplateList, draft: Mapping[str, Any]) -> SendableTemplate | None:
    """The template that the address of the page names, or else that of a draft."""
    named = request.args if "template" in request.args else {"template": draft.get("name"), **draft}
    asked = named.get("template"), named.get("language")
    return next((each for each in listed.templates if (each.name, each.language) == asked), None)


def message_of(form: Any) -> dict[str, Any]:
    """The template of a form, as the engine takes it."""
    fields = form.getlist("body")
    texts = fields if "fields" in form else [line for field in fields for line in field.splitlines() if line.strip()]
    message = {"name": form["template"].strip(), "language": form.get("language", "").strip()}
    message["body"] = [" ".join(text.split()) for text in texts]
    if header := form.get("header", "").strip():
        kind = form.get("header-kind", "text")
        message["header"] = {"type": kind, kind: {"link": header} if kind in LINKED else header}
    return message


def _listed(console: Console) -> TemplateList:
    try:
        items = console.ask(ListTemplates()).items
        filled = {_NAMED(each): each for each in console.ask(AskFlows()).templates}
    except (ActionRefused, NotRunning) as error:
        return TemplateList((), str(error))
    approved = sorted((item for item in items if item["status"] == APPROVED), key=_NAMED)
    return TemplateList(tuple(_template(item, filled.get(_NAMED(item))) for item in approved))


def _template(item: Mapping[str, Any], filled: Mapping[str, Any] | None) -> SendableTemplate:
    has = item["components"]
    body = 0 if has and "BODY" not in has else None
    header = "text" if "HEADER" in has else None
    if filled is not None:
        body, header = filled["body"], filled["header"]
    return SendableTemplate(item["name"], item["language"], item["category"], body, header)
