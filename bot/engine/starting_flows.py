"""The starts of flows: by a message, an event, a model's answer or a plan.

Each function returns what the flow's first step decides.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from bot.core.events import MessageReceived, Tapped
from bot.core.immutable import immutable
from bot.core.session import HAS_OPTED_OUT, Plan
from bot.core.turn import SKIPPED, STARTED
from bot.engine.entering import open_flow
from bot.engine.frame_stack import MOST_FRAMES, drop_copy, drop_flow, end_all, make_room, remove_step_tags
from bot.engine.scheduled_flows import can_start, fitting_inputs
from bot.engine.turn_context import FlowBroken, OpeningText, TurnContext
from bot.language.answers.emoji import spelt_out
from bot.language.answers.titles import place_in
from bot.language.answers.topics import CRISIS, QUESTION, only_asks
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.flow.definition import FIRST, RETURNING
from bot.language.flow.trigger_index import TriggerIndex, TriggerMatch, name_of_event
from bot.language.source.word_matching import LONGEST, normalise
from bot.language.steps.intent_step import INTENTS, PICK, IntentStep
from bot.language.steps.small_talk_texts import GREETING, OPENING_HOURS, topic_of
from bot.language.steps.step_kind import Reply, StepResult
from bot.language.types.type_registry import Answer, InvalidAnswer, TypeMismatch


def triggers(turn: TurnContext) -> TriggerIndex:
    """All starts of flows for this contact, in their language."""
    return turn.library.triggers[RETURNING if turn.session.visit else FIRST]


@immutable
class FoundStart:
    """A flow that a message starts, and its inputs. ``whole``: the message says nothing else. ``by``: by what it
    starts, for the trace; its ``topic``.
    """

    flow: str
    inputs: Mapping[str, Any]
    whole: bool = True
    by: str = ""
    topic: str = ""


def find_start(turn: TurnContext, reply: Reply) -> FoundStart | None:
    """The flow that a message starts by its payload, its words or its pattern. The text below a file counts as its
    words.
    """
    starts = triggers(turn)
    if starts.payloads and (found := start_by_payload(turn, reply)) is not None:
        return found
    caption = () if reply.media is None or not reply.media.caption else (reply.media.caption,)
    match = starts.by_texts((*(reply.texts or caption), *_shown_things(turn, reply)), turn.contact_language)
    if match is None:
        return None
    inputs = _inputs_of(turn, match) if match.given else {}
    return FoundStart(match.flow, inputs, match.whole, match.by, match.topic)


def _shown_things(turn: TurnContext, reply: Reply) -> tuple[str, ...]:
    """The words for emoji that show a thing, in no flow and at the bot's menu."""
    text = "" if reply.text is None or reply.tap is not None or reply.payload is not None else reply.text
    if text.isascii() or not (turn.session.frame is None or turn.flow.is_menu):
        return ()
    return spelt_out(text, turn.contact_language)


def find_wish(turn: TurnContext, reply: Reply) -> FoundStart | None:
    """The flow for what a message wishes, where nothing else takes it: in no flow, and at the bot's menu. A model
    that takes all other messages there takes wishes, too.
    """
    wishes = reply.text and reply.tap is None and reply.payload is None
    in_flow = turn.session.frame is not None
    if not wishes or (in_flow and not turn.flow.is_menu) or model_takes_others(turn):
        return None
    match = triggers(turn).by_wish(reply.text or "", turn.contact_language)
    return None if match is None else FoundStart(match.flow, {}, whole=False, by=match.by)


def hears_crises(turn: TurnContext) -> bool:
    """True for a bot with a flow for crises: there, a doubtful goodbye is left to a person."""
    return CRISIS in triggers(turn).topics


def model_takes_others(turn: TurnContext) -> bool:
    """True if a model gets the messages that nothing else takes."""
    target = triggers(turn).otherwise
    if turn.session.frame is not None:
        other = turn.step.transitions.get("other")
        target = None if other is None or other.target is None else other.target.removeprefix("/")
    flow = turn.library.flows.get(target or "")
    return flow is not None and flow.steps[flow.first].facts.takes_pending_input


def asked_flow(turn: TurnContext, text: str | None) -> str | None:
    """The flow for questions that nothing else answers, if a text is a question, and not a request in its form."""
    flow = triggers(turn).topics.get(QUESTION)
    return flow if flow is not None and text is not None and only_asks(text) else None


def start_by_payload(turn: TurnContext, reply: Reply) -> FoundStart | None:
    """The flow that the payload of a tap starts. The trace says which values do not fit."""
    for pattern, flow in triggers(turn).payloads:
        given = None if reply.named is None else pattern.values_in(reply.named)
        if given is None:
            continue
        try:
            return FoundStart(flow, fitting_inputs(turn.library, flow, given, turn.now))
        except TypeMismatch as misfit:
            note = f"{pattern.written}: {misfit}"
            turn.trace.notes += [] if note in turn.trace.notes else [note]  # it may be offered more than once
    return None


def start_by_message(turn: TurnContext, reply: Reply) -> StepResult | None:
    """Start the flow that a message is for: a file by the text below it."""
    starts = triggers(turn)
    match, by_event = find_start(turn, reply), starts.by_event(turn.event)
    if match is None and by_event is None and (asked := ask_what_about(turn, reply)) is not None:
        return asked
    if match is None and by_event is None:
        match = find_wish(turn, reply)
    flow = by_event or starts.otherwise if match is None else match.flow
    handed_on = f"{turn.trace.rule}: " if turn.trace.rule else ""  # by a word, or by `other`
    if flow is None:
        turn.trace.rule = f"{handed_on}no flow starts by this"
        return None
    turn.pending_input = reply
    turn.only_starts = reply.media is None and _only_starts(turn, reply.text or "")
    by = f": {name_of_event(turn.event)}" if by_event else ": otherwise"
    if match:
        by = f": {match.by}" if match.by else ""
    turn.trace.rule = f"{handed_on}start of {flow}{by}"
    note_opening(turn, reply, whole=match is not None and match.whole, astray=match is None and by_event is None)
    return open_flow(turn, f"/{flow}", {} if match is None else match.inputs)


def note_opening(turn: TurnContext, reply: Reply, *, whole: bool = False, astray: bool = False) -> None:
    """Note the text that starts a flow: it may answer the first questions. A word that starts a flow answers none, nor
    does a greeting.

    ``astray``: only `otherwise` has taken it.
    """
    text = reply.text
    written = text is not None and reply.tap is None and reply.payload is None and len(text) <= LONGEST
    if written and text and not whole and not _only_starts(turn, text):
        topic = topic_of(text, turn.contact_language) if astray else None
        astray = astray and topic in (None, OPENING_HOURS)  # a bot with hours has told them
        turn.opening = OpeningText(
            tuple(text.split()), astray=astray, asked_flow=asked_flow(turn, text) if astray else None
        )


def _only_starts(turn: TurnContext, text: str) -> bool:
    """True for a word that starts a flow, and for a greeting."""
    return normalise(text) in triggers(turn).words or topic_of(text, turn.contact_language) == GREETING


def note_sentence(turn: TurnContext, reply: Reply) -> None:
    """Note a sentence that has chosen from the bot's menu: the rest of it may answer the questions where that leads."""
    texts, language = (answer.text for answer in turn.step.facts.answers), turn.contact_language
    if reply.text is None or place_in(reply.text, language) is not None:  # "the first one" says no more
        return
    if normalise(reply.text) not in map(normalise, texts):
        note_opening(turn, reply)
        if turn.opening is not None:
            turn.opening.led.add(turn.where)
            turn.opening.answers = True


def start_by_intent(turn: TurnContext, flow: str | None, reply: Reply) -> StepResult | None:
    """Start the flow that a message is about, as a model or the contact says; if it is None, start `otherwise`."""
    flow, by = flow or triggers(turn).otherwise, "about" if flow else "otherwise"
    if flow is None:
        turn.trace.rule += ": no flow starts by this"
        return None
    turn.trace.rule += f": start of {flow}: {by}"
    turn.pending_input = reply
    note_opening(turn, reply, astray=by == "otherwise")
    return open_flow(turn, f"/{flow}", {})


def ask_what_about(turn: TurnContext, reply: Reply) -> StepResult | None:
    """Ask a model which flow a message is about; without a model its words tell. Returns None if there is nothing to
    ask.
    """
    frame = turn.session.frame
    written = reply.text and reply.text.strip() and reply.tap is None and reply.payload is None
    if not written or INTENTS not in turn.library.flows or len(turn.session.frames) >= MOST_FRAMES:
        return None
    kind = turn.library.flows[INTENTS].steps[PICK].kind
    asks = not isinstance(kind, IntentStep) or kind.asks
    if isinstance(kind, IntentStep) and not asks:
        flow, likely, _ = kind.by_words(reply.text or "", turn.contact_language, kind.intents)
        if flow is None and not likely:
            return None
    turn.pending_input = reply
    turn.trace.rule = f"{turn.trace.rule}: " if turn.trace.rule else ""
    turn.trace.rule += "a model is asked what it is about" if asks else "its words tell what it is about"
    came_from = None if frame is None else frame.flow
    return open_flow(turn, f"/{INTENTS}", {}, came_from=came_from, interrupts=frame is not None)


def _inputs_of(turn: TurnContext, match: TriggerMatch) -> dict[str, Any]:
    """The inputs that a text gives to the flow that it starts: as an answer would, if it fits."""
    inputs: dict[str, Any] = {}
    variables = turn.library.flows[match.flow].variables
    for name, text in match.given.items():
        with suppress(InvalidAnswer, TemplateFailed):
            inputs[name] = variables[name].accept(Answer(text), turn.now, turn.scope())
    return inputs


def reroute(turn: TurnContext) -> StepResult | None:
    """Route the message again as a new one (`route`)."""
    event, reply = turn.event, turn.pending_input
    if reply is None and isinstance(event, MessageReceived | Tapped):
        reply = Reply(text=event.title if isinstance(event, Tapped) else event.text)
    if turn.counted.routed or reply is None:
        raise FlowBroken("`route` has no message to hand on, or leads to itself")
    turn.counted.routed = True
    turn.session.frames = ()
    return start_by_message(turn, reply)


def start_by_event(turn: TurnContext) -> StepResult | None:
    """Start the flow that waits for this event. A contact who is in a flow, or with an agent, stays there."""
    flow = triggers(turn).by_event(turn.event)
    if flow is None or turn.session.frame is not None or turn.session.agent is not None:
        return None
    if turn.session.opted_out:
        turn.trace.rule = f"no start of {flow} by {name_of_event(turn.event)}: {HAS_OPTED_OUT}"
        return None
    turn.trace.rule = f"start of {flow}: {name_of_event(turn.event)}"
    return open_flow(turn, f"/{flow}", {})


def start_plan(turn: TurnContext, plan: Plan, inputs: Mapping[str, Any], why: str) -> StepResult | None:
    """Start the flow of a plan now, or skip it if the contact is busy."""
    if not can_start(turn, plan):
        turn.trace.rule, turn.result.start = f"no start of {plan.flow}: the contact is busy", SKIPPED
        return None
    turn.trace.rule = f"start of {plan.flow}: {why}"
    turn.result.start = STARTED if turn.session.frame is None else plan.busy
    turn.session.broadcast = plan.broadcast
    if plan.busy == "replace":
        end_all(turn)
    if turn.session.frame is None:
        return open_flow(turn, f"/{plan.flow}", inputs)
    return interrupt(turn, plan.flow, inputs, notice=plan.busy == "notice")


def interrupt(turn: TurnContext, target: str, inputs: Mapping[str, Any], *, notice: bool = False) -> StepResult | None:
    """Interrupt the active flow by another (``flow``, or ``flow/step``). An open copy of that flow is dropped.

    ``notice``: the interrupted flow continues in any case; if nothing was asked, its question is not asked again.
    """
    came_from = turn.frame.flow
    if turn.flow.interrupted == "drop" and not notice:
        remove_step_tags(turn, (turn.frame,))
        drop_flow(turn)
    drop_copy(turn, target.partition("/")[0])
    make_room(turn)
    interrupts = turn.session.frame is not None
    return open_flow(turn, f"/{target}", inputs, came_from=came_from, interrupts=interrupts, notice=notice)
