"""Rules, short stories and forms of older assistants, as flows of CALM."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.cli.importing.rasa.reading import END, ClassicRule, RasaAssistant, RasaFlow, RasaStep
from bot.core.immutable import immutable

_SILENT = ("action_listen", "action_restart", "...")
_BUILT_IN = ("action_back", "action_default_fallback", "action_session_start", "action_two_stage_fallback")


@immutable
class _Course:
    """The reaction to a message: actions, and a form whose questions stand behind them."""

    intents: tuple[str, ...]
    actions: tuple[str, ...]
    form: str = ""


def add_flows(found: RasaAssistant) -> None:
    """Add a flow for each rule, and for each story of one message, that says what follows an intent.

    `RasaAssistant.joined` gets the places of all that is part of a flow now, and `classic` keeps the rest.
    """
    endings = {form: (rule, actions) for rule in found.classic for form, actions in _endings(found, rule)}
    answered: dict[str, str] = {}
    for rule in sorted(found.classic, key=lambda each: each.kind != "rules"):
        course = _course(found, rule)
        if course is None or answered.keys() & {*course.intents}:
            continue
        steps = [_step(action, "action") for action in course.actions]
        if course.form:
            steps += [_question(found, course.form, slot) for slot in found.forms[course.form]]
            found.joined[f"forms > {course.form}"] = course.intents[0]
            if course.form in endings:
                ending, actions = endings[course.form]
                steps += [_step(action, "action") for action in actions]
                found.joined[ending.place] = course.intents[0]
        name = course.intents[0]
        answered |= dict.fromkeys(course.intents, name)
        found.joined[rule.place] = name
        found.flows[name] = RasaFlow(name, rule.name, _linked(steps), intents=course.intents, says_completed=False)
    found.classic = [rule for rule in found.classic if rule.place not in found.joined]


def _course(found: RasaAssistant, rule: ClassicRule) -> _Course | None:
    """The course of a rule or a story that begins with one message, and takes no other; else None."""
    if any(each != {"active_loop": None} for each in rule.conditions) or not rule.steps:
        return None
    first, *rest = rule.steps
    listed = first["or"] if isinstance(first.get("or"), list) else [first]
    intents = [str(each["intent"]) for each in listed if isinstance(each, Mapping) and "intent" in each]
    if len(intents) != len(listed) or any(name in found.flows for name in intents):
        return None
    form = ""
    if (
        len(rest) > 1
        and str(rest[-1].get("active_loop")) in found.forms
        and rest[-2].get("action") == rest[-1]["active_loop"]
    ):
        form, rest = str(rest[-1]["active_loop"]), rest[:-2]
    actions = _actions(found, rest)
    return None if actions is None or not (actions or form) else _Course(tuple(intents), tuple(actions), form)


def _endings(found: RasaAssistant, rule: ClassicRule) -> Iterator[tuple[str, list[str]]]:
    """The form whose end a rule describes, with the actions that follow."""
    steps = [step for step in rule.steps if "slot_was_set" not in step]
    if rule.kind == "rules" and len(steps) > 1 and steps[0].get("action") in found.forms:
        actions = _actions(found, steps[2:])
        if steps[1] == {"active_loop": None} and actions is not None:
            yield str(steps[0]["action"]), actions


def _actions(found: RasaAssistant, steps: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """The actions of steps that are nothing else; else None."""
    names = [str(step["action"]) if {*step} == {"action"} else "" for step in steps]
    if any(not name or name in _BUILT_IN or name in found.forms for name in names):
        return None
    return [name for name in names if name not in _SILENT]


def _step(value: str, kind: str, utter: str = "") -> RasaStep:
    return RasaStep(value, kind, value, (), utter)


def _question(found: RasaAssistant, form: str, slot: str) -> RasaStep:
    own = f"utter_ask_{form}_{slot}"
    return _step(slot, "collect", own if own in found.responses else "")


def _linked(steps: Sequence[RasaStep]) -> dict[str, RasaStep]:
    """The steps by ids of their own, each with the next as its only branch."""
    ids: list[str] = []
    for step in steps:
        number = sum(each.id == step.id for each in steps[: len(ids)]) + 1
        ids.append(step.id if number == 1 else f"{step.id}_{number}")
    return {
        own: RasaStep(own, step.kind, step.value, ((None, after),), step.utter)
        for own, after, step in zip(ids, [*ids[1:], END], steps, strict=True)
    }
