"""Recorded runs of goflow as conversations: the trigger, each input, and the messages that came out."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from bot.checker.exploring.moves import HttpResult
from bot.cli.importing.conversations import SourceConversation, SourceMessage, SourceTurn
from bot.cli.importing.rapidpro.flow_texts import BotNames
from bot.cli.importing.rapidpro.messages import file_of, replies_of
from bot.cli.importing.rapidpro.reading import Data, RecordedRun, language_of
from bot.cli.importing.rapidpro.scopes import place_of

_CONTINUED = ("msg", "timeout", "wait_timeout", "wait_expiration", "run_expiration", "expiration")


def conversation_of(run: RecordedRun, names: BotNames) -> SourceConversation | None:
    """Return the conversation of a run; None if its flow is not in the export."""
    trigger = run.data["trigger"]
    uuid = str((trigger.get("flow") or {}).get("uuid"))
    outputs = [each for each in run.data["outputs"] if isinstance(each, Mapping)]
    if uuid not in names.scopes or not outputs:
        return None
    places = _Places(names, outputs)
    contact = run.data.get("contact") or {}
    message = _message(trigger)
    starts = "otherwise" in (names.bot.flows[names.flows[uuid]].get("start") or {})
    kind, value = ("text", message["text"]) if starts and message and message.get("text") else ("start", "")
    turns = [SourceTurn(kind, value, *places.said(outputs[0]))]
    for resume, output in zip(run.data.get("resumes") or (), outputs[1:], strict=False):
        if resume.get("type") not in _CONTINUED:
            break
        turns.append(SourceTurn(*_input(resume, outputs, names), *places.said(output)))
    events = [event for output in outputs for event in output.get("events") or ()]
    began = next((event["created_on"] for event in events if "created_on" in event), None)
    groups = (each for each in contact.get("groups") or () if isinstance(each, Mapping))
    tags = tuple(str(each["name"]) for each in groups if each.get("name"))
    return SourceConversation(
        run.name, names.flows[uuid], tuple(turns),
        None if began is None else datetime.fromisoformat(began[:26] + "+00:00"),
        data=_data(trigger, names, uuid), http=tuple(_answers(events, names)), handlers=_results(events, names),
        contact=_number(contact),
        contact_name=contact.get("name"), tags=tags, language=_language(contact, names),
        kept=_kept(contact, names),
    )  # fmt: skip


def flows_of(run: RecordedRun) -> set[str]:
    """Return the ids of all flows that a run has entered."""
    runs = [each for output in run.data["outputs"] for each in (output.get("session") or {}).get("runs") or ()]
    return {str((each.get("flow") or {}).get("uuid")) for each in runs}


def _message(trigger: Data) -> Data:
    event = trigger.get("event") or {}
    return trigger.get("msg") or event.get("msg") or {}


def _input(resume: Data, outputs: list[Any], names: BotNames) -> tuple[str, str]:
    """The kind and the value of what continued the run."""
    match resume["type"]:
        case "msg":
            message = _message(resume)
            files = message.get("attachments") or ()
            if files and not message.get("text"):
                kind = str(files[0]).partition("/")[0].partition(":")[0]
                return {"geo": "location", "application": "document"}.get(kind, kind), ""
            return "text", str(message.get("text") or "")
        case "timeout" | "wait_timeout":
            waits = [
                event for output in outputs for event in output.get("events") or () if event.get("type") == "msg_wait"
            ]
            return "wait", str(next((each["timeout_seconds"] for each in waits if each.get("timeout_seconds")), 300))
    longest = max((flow.expires for flow in names.export.flows.values()), default=0)
    return "wait", str((longest or 7 * 24 * 60) * 60)


class _Places:
    """The nodes of a run, by the time at which it reached them."""

    def __init__(self, names: BotNames, outputs: list[Any]) -> None:
        self._names = names
        self._reached: list[tuple[str, str]] = []
        for output in outputs:
            for run in (output.get("session") or {}).get("runs") or ():
                flow = names.export.flows.get(str((run.get("flow") or {}).get("uuid")))
                for step in run.get("path") or ():
                    node = flow.nodes.get(str(step.get("node_uuid"))) if flow is not None else None
                    if flow is not None and node is not None:
                        self._reached.append((str(step.get("arrived_on")), place_of(flow, node)))
        self._reached = sorted(set(self._reached))

    def said(self, output: Data) -> tuple[tuple[SourceMessage, ...], tuple[str, ...]]:
        """The messages of a sprint, and all nodes that were passed until its end."""
        events = output.get("events") or ()
        said = tuple(self._of(event) for event in events if event.get("type") in ("msg_created", "ivr_created"))
        end = max((str(event.get("created_on") or "") for event in events), default="")
        return said, tuple(place for reached, place in self._reached if reached[:23] <= end[:23])

    def _of(self, event: Data) -> SourceMessage:
        message, at = event.get("msg") or {}, str(event.get("created_on") or "")
        place = [place for reached, place in self._reached if reached[:23] <= at[:23]]
        media = tuple(" ".join(file_of(str(each))) for each in message.get("attachments") or ())
        replies = replies_of(message.get("quick_replies"))
        return SourceMessage(str(message.get("text") or ""), replies, media, place[-1] if place else "")


def _data(trigger: Data, names: BotNames, uuid: str) -> dict[str, Any]:
    """The values with which the flow is started: the parameters of the trigger, and what the parent was."""
    scope, data = names.scopes[uuid], {}
    parent = trigger.get("run_summary") or trigger.get("run") or {}
    for key, name in scope.names.items():
        if key == ("trigger", "params") and trigger.get("params"):
            data[name] = trigger["params"]
        if key[0] == "parent" and (found := _of_parent(parent, key[1:])):
            data[name] = found
    return data


def _of_parent(summary: Any, path: tuple[str, ...]) -> str:
    found = summary
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    if isinstance(found, Mapping):
        found = next((found[key] for key in ("value", "ward", "district", "state", "text") if key in found), None)
    return str(found or "")


def _answers(events: list[Any], names: BotNames) -> Iterator[HttpResult]:
    for event in events:
        if event.get("type") != "webhook_called":
            continue
        method = str(event.get("request") or "GET").split(" ")[0]
        request = names.service_request(f"{method} {event['url']}")
        status, response = event.get("status_code"), str(event.get("response") or "")
        if not status:
            yield HttpResult(request, fails="down")
            continue
        body = response.partition("\r\n\r\n")[2]
        try:
            yield HttpResult(request, int(status), json=json.loads(body))
        except ValueError:
            yield HttpResult(request, int(status), text=body)


_DONE = {"airtime_created": "transfer_airtime", "ticket_opened": "open_ticket", "email_sent": "send_email",
         "broadcast_created": "send_broadcast", "session_triggered": "start_session",
         "classifier_called": "call_classifier"}  # fmt: skip


def _results(events: list[Any], names: BotNames) -> dict[str, tuple[Any, ...]]:
    """Return the results of functions that are still to be written, as the run has them."""
    done = [_DONE[event["type"]] for event in events if event.get("type") in _DONE]
    return {
        name: ({},) * done.count(title)
        for title in dict.fromkeys(done)
        for name in names.bot.functions
        if name.startswith(title)
    }


def _number(contact: Data) -> str:
    """The phone number of the contact; without one, any."""
    urns = (str(urn) for urn in contact.get("urns") or ())
    first = next((urn for urn in urns if urn.startswith("tel:")), "")
    return re.sub(r"\D", "", first.partition("?")[0]) or "6281234567890"


def _language(contact: Data, names: BotNames) -> str | None:
    language = language_of(str(contact["language"])) if contact.get("language") else None
    return language if language in names.languages else None


def _kept(contact: Data, names: BotNames) -> dict[str, Any]:
    values = {}
    for key, value in (contact.get("fields") or {}).items():
        if key in names.fields.names and isinstance(value, Mapping):
            parts = (value[part] for part in ("ward", "district", "state", "text") if value.get(part))
            values[names.fields.names[key]] = str(next(parts, ""))
    return values
