"""A CALM assistant, written as flows of this language."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bot.cli.importing.imported import NOT_VARIABLES, ImportedBot, name_of, unsendable, written_out
from bot.cli.importing.rasa.expressions import PredicateError, parse_predicate, slots_in, written_predicate
from bot.cli.importing.rasa.reading import (
    END,
    LONGEST_TITLE,
    RasaAssistant,
    RasaFlow,
    RasaSlot,
    RasaStep,
    RasaVariation,
)

MOST_VISITS = 100
COMPLETED = "What else can I help you with?"
_KINDS = {"text": "text", "any": "text", "bool": "boolean", "float": "number", "categorical": "choice", "list": "list"}
_MOST_BUTTONS, _BUTTON_TITLE, _MOST_ROWS = 3, 20, 10
_CLASSIC = {
    "stories": "write what it does as a flow: its intents are the flow's start, its actions are steps",
    "rules": "write what it does as a flow: its intents are the flow's start, its actions are steps",
    "forms": "write a flow of ask steps, one for each slot",
}
_JOINED = "it is a flow, which always does the same: no model predicts another action, and its slots begin empty"


_NOTHING = ("null", "none", "undefined")


def typed_value(slot: RasaSlot, value: Any) -> Any:
    """A value as its slot has it; None where it is nothing, or no value of the slot's type."""
    if value is None or (isinstance(value, str) and value.lower() in _NOTHING):
        return None
    if slot.kind == "bool":
        return str(value).lower() in ("true", "yes", "1")
    if slot.kind == "float":
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None
        return int(number) if number.is_integer() else number
    if slot.kind == "list":
        return value if isinstance(value, list) else [value]
    return str(value)


class CalmTranslation:
    """All flows of an assistant, as they are written here."""

    def __init__(self, assistant: RasaAssistant, bot: ImportedBot) -> None:
        self.assistant = assistant
        self.bot = bot
        self.flows: dict[str, str] = {}
        for name in assistant.flows:
            if not name.startswith("pattern_"):
                self.flows[name] = name_of(name, {*self.flows.values()}, "flow")
        steps = (step for flow in assistant.flows.values() for step in flow.steps.values())
        self.called = {step.value for step in steps if step.kind == "call"}  # these do not end the conversation
        self.slots: dict[str, str] = {}
        self.handlers: dict[str, str] = {}  # of custom actions
        self._given: dict[str, list[set[str]]] = {}  # to each of them, by each step that calls it
        self.persisted = {slot for flow in assistant.flows.values() for slot in flow.persisted}
        self._heard = {_bare(name) for name in self.flows.values()}  # words and examples that start a flow
        self.used: set[str] = set()  # responses and actions

    def translate(self) -> None:
        """Write all flows into the bot, and note what became of everything."""
        self.bot.settings["defaults"] = {"timeout": {"after": f"{max(self.assistant.minutes, 1)}m", "then": "end"}}
        for flow in self.assistant.flows.values():
            if flow.id in self.flows:
                _FlowTranslation(self, flow).write()
            else:
                self.bot.lost(f"flow {flow.id}", "conversation repair is built in: write words, retry and interrupted")
        if not self.flows:
            note = "There is no CALM flow in the export of this bot. See import-report.md."
            step = {"handoff": {"team": "operators", "note": note}, "closed": "end"}
            self.bot.flows["main"] = {"start": {"otherwise": True}, "steps": {"person": step}}
        for name, slot in self.assistant.slots.items():
            self._note_slot(name, slot)
        for name in self.assistant.responses:
            if name not in self.used and name != "utter_can_do_something_else":
                self.bot.lost(f"response {name}", "no flow says it: write a say step where it belongs")
        for name in self.assistant.actions:
            if name not in self.used and name not in self.assistant.responses:
                self.bot.lost(f"action {name}", "no flow runs it: write a function and a call step where it belongs")
        for rule in self.assistant.classic:
            self.bot.lost(rule.place, _CLASSIC[rule.kind])
        for name in self.assistant.forms:
            if f"forms > {name}" not in self.assistant.joined:
                self.bot.lost(f"forms > {name}", _CLASSIC["forms"])
        for place, joined in self.assistant.joined.items():
            self.bot.nearly(place, _JOINED, self.flows[joined])
        triggers = {intent for flow in self.assistant.flows.values() for intent in flow.intents}
        for intent in self.assistant.examples:
            if intent not in triggers:
                self.bot.lost(
                    f"intent {intent}", "no flow starts by it: write start: {about, examples} in the flow that does"
                )

    def slot(self, name: str) -> str:
        """The variable of a slot: one name in all flows."""
        if name not in self.slots:
            self.slots[name] = name_of(name, {*self.slots.values(), *NOT_VARIABLES}, "value")
        return self.slots[name]

    def declaration(self, name: str) -> Any:
        """The type of the variable of a slot."""
        slot = self.assistant.slot(name)
        kind = _KINDS.get(slot.kind, "text")
        found: dict[str, Any] = {"type": kind if kind != "choice" or slot.values else "text"}
        if found["type"] == "choice":
            found["of"] = list(slot.values)
        first = typed_value(slot, slot.initial)
        if first is not None and (found["type"] != "choice" or first in slot.values):
            found["value"] = first
        if name in self.persisted:
            found["keep"] = True
        return found["type"] if len(found) == 1 else found

    def handler(self, action: str, given: Mapping[str, str]) -> str:
        """The function that stands for a custom action. Arguments that only some steps have may be left out."""
        if action not in self.handlers:
            self.handlers[action] = name_of(action, self.bot.functions, "action")
        calls = self._given.setdefault(action, [])
        calls.append({*given})
        always = set.intersection(*calls)
        parameters = dict.fromkeys(sorted(always), "Any")
        parameters |= dict.fromkeys(sorted(set.union(*calls) - always), "Any = None")
        original = f"The custom action {action}. Return a dict of the slots that it sets."
        return self.bot.untranslatable(self.handlers[action], original, parameters)

    def starting_word(self, flow: RasaFlow) -> str:
        """The words that start a flow when no model reads the message."""
        return self.flows[flow.id].replace("_", " ")

    def examples(self, flow: RasaFlow) -> list[str]:
        """The examples of a flow's intents, without those by which another flow starts already."""
        found: dict[str, str] = {}
        for example in (each for intent in flow.intents for each in self.assistant.examples.get(intent, ())):
            if (key := _bare(example)) not in self._heard:
                found.setdefault(key, example)
        self._heard |= found.keys()
        return [*found.values()]

    def has_completed(self, flow: RasaFlow) -> bool:
        """True if Rasa ends a flow with its sentence for when nothing is left to do."""
        return self.assistant.mentions_completed and flow.says_completed and flow.id not in self.called

    def _note_slot(self, name: str, slot: RasaSlot) -> None:
        place = f"slot {name}"
        if name not in self.slots:
            self.bot.lost(place, "no flow uses it")
        elif slot.kind not in _KINDS:
            self.bot.nearly(place, f'the type "{slot.kind}" is a text here')
        elif name in self.persisted:
            self.bot.nearly(place, "it is kept with the contact for good, in Rasa until the session expires")
        else:
            self.bot.same(place)


class _CalmTexts:
    """The texts, choices and conditions of a flow, and what may differ in them at a step."""

    def __init__(self, whole: CalmTranslation, name: str, collected: set[str]) -> None:
        self.whole = whole
        self.name = name
        self.collected = collected
        self.notes: list[str] = []
        self.lost: list[str] = []

    def predicate(self, text: str) -> str:
        """A predicate as a condition."""
        try:
            return written_predicate(parse_predicate(text), self.whole.slot)
        except PredicateError as error:
            self.lost.append(f"a condition is a function in handlers.py that must be written: {error}")
            name = name_of(f"{self.name} condition", self.whole.bot.functions)
            return f"{self.whole.bot.untranslatable(name, text, decorator='function')}()"

    def say(self, response: str, missing: str, value: str = "") -> Any:
        """The text of a response: one, one of several, or one by conditions. ``value`` is the slot that is rejected."""
        self.whole.used.add(response)
        written = self.whole.assistant.responses.get(response, ())
        listed = [each for each in written if not each.channel]
        if len(listed) < len(written):
            self.notes.append("variations for one channel are left out")
        if not listed:
            if response != "utter_can_do_something_else":
                self.notes.append(f"the response {response} is not in the export")
            return missing
        if any(each.has_more for each in listed):
            self.notes.append("custom payloads are left out")
        plain = [self._text(each, value) for each in listed if not each.conditions]
        special = [each for each in listed if each.conditions]
        if not special:
            return plain[0] if len(plain) == 1 else {"any": plain}
        if len(plain) > 1:
            self.notes.append("of the variations without a condition the first is said")
        if len({tuple(name for name, _ in each.conditions) for each in special}) > 1:
            self.notes.append("where several conditions hold, the first variation is said")
        text = ""
        for each in special:
            tests = [f"{self.whole.slot(name)} == {self._literal(held)}" for name, held in each.conditions]
            text += f"{{% {'elif' if text else 'if'} {' and '.join(tests)} %}}{self._text(each, value)}"
        return text + (f"{{% else %}}{plain[0]}" if plain else "") + "{% endif %}"

    def _text(self, variation: RasaVariation, value: str) -> str:
        def shown(match: re.Match[str]) -> str:
            name = value if match[1] == "value" and value else match[1]
            if name not in self.whole.assistant.slots:
                return written_out(match[0])
            kind = self.whole.assistant.slot(name).kind
            if kind == "float":
                self.notes.append(f"{name} is written 400, in Rasa 400.0")
            elif kind == "bool":
                self.notes.append(f"{name} is written true, in Rasa True")
            if name not in self.collected:
                self.notes.append(f"without a value {name} is empty, in Rasa None")
            return f"{{{{ {self.whole.slot(name)} }}}}"

        if variation.is_jinja:
            rest = variation.places.sub("", variation.text)
            if "{{" in rest or "{%" in rest:
                self.lost.append("a text is made by a function in handlers.py that must be written")
                name = name_of(f"{self.name} text", self.whole.bot.functions)
                return f"{{{{ {self.whole.bot.untranslatable(name, variation.text, decorator='function')}() }}}}"
        return _filled(variation.text, variation.places, shown)

    def image(self, response: str) -> str:
        """The picture of a response, if the gateway takes it."""
        listed = self.whole.assistant.responses.get(response, ())
        image = next((each.image for each in listed if each.image), "")
        if image and (why := unsendable("image", image)):
            self.lost.append(why)
            return ""
        return image

    def choices(self, step: RasaStep, response: str, is_silent: bool) -> dict[str, Any]:
        """The choices of a question, by the buttons of its response."""
        variation = next((each for each in self.whole.assistant.responses.get(response, ()) if each.buttons), None)
        if variation is None:
            return {}
        slot = self.whole.assistant.slot(step.value)
        choices: dict[str, Any] = {}
        for button in variation.buttons:
            sets = button.sets
            value = sets.get(step.value, button.written if button.payload.startswith("/") else button.payload)
            if button.payload.startswith("/") and step.value not in sets:
                self.notes.append(f'the button "{button.title}" saves its title; its payload was {button.payload}')
            choice: dict[str, Any] = {"value": self.typed(step.value, value)}
            others = {
                self.whole.slot(name): self.typed(name, text) for name, text in sets.items() if name != step.value
            }
            if button.title != button.written:
                choice["words"] = [button.written]
                self.notes.append(f"titles of more than {LONGEST_TITLE} characters are shortened")
            choices[button.title] = {**choice, **({"set": others} if others else {})}
        if len(choices) > _MOST_ROWS:
            self.notes.append("more than ten choices are shown in pages")
        if is_silent:
            self.notes.append("the question stands with the choices below its picture")
        short = len(choices) <= _MOST_BUTTONS and all(len(title) <= _BUTTON_TITLE for title in choices)
        free = {"accepts": "text"} if _KINDS.get(slot.kind) in ("text", "number") else {}
        found = {"buttons" if short else "options": choices, **free}
        return {"ask": "…", **found} if is_silent else found

    def typed(self, name: str, value: Any) -> Any:
        """A value as the variable of a slot has it."""
        found = typed_value(self.whole.assistant.slot(name), value)
        if found is None and isinstance(value, str) and value.lower() not in _NOTHING:
            self.lost.append(f'"{value}" is no value of {name}')
        return found

    def _literal(self, value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if isinstance(value, int | float) else '"' + str(value).replace('"', '\\"') + '"'


class _FlowTranslation:
    def __init__(self, whole: CalmTranslation, flow: RasaFlow) -> None:
        self.whole = whole
        self.bot = whole.bot
        self.assistant = whole.assistant
        self.flow = flow
        self.name = whole.flows[flow.id]
        self.names: dict[str, str] = {}
        for each in flow.steps:
            self.names[each] = name_of(each.removeprefix("utter_"), {*self.names.values(), "completed"})
        self.steps: dict[str, Any] = {}
        self.made: set[str] = set()  # names of further steps
        self.collected = {step.value for step in flow.steps.values() if step.kind == "collect"}
        self.set_here = self.collected | {name for step in flow.steps.values() for name, _ in step.slots}
        self.read = {name for step in flow.steps.values() for name in self._reads(step)}
        self.texts = _CalmTexts(whole, self.name, self.collected)
        self.outputs = sorted(self.read - self.assistant.set_by(flow))

    @property
    def _about(self) -> str:
        """The flow's description, in which no values can stand."""
        return self.flow.description.replace("{{", "{ {")

    def write(self) -> None:
        """Write the flow into the bot."""
        document: dict[str, Any] = {"about": self._about}
        notes = [
            "it starts by its name; a model finds it by its description as well, without one the words of a message do"
        ]
        if self.flow.guard.strip().lower() != "false":
            examples = self.whole.examples(self.flow)
            words = [self.whole.starting_word(self.flow)]
            start = {"words": words, "about": self._about}
            document["start"] = {**start, **({"examples": examples} if examples else {})}
            if "nlu_fallback" in self.flow.intents:
                document["start"] = {"otherwise": True}
            if self.flow.guard:
                notes.append(f"it starts also where this does not hold: {self.flow.guard}")
            document["interrupted"] = "resume"
        for step in self.flow.steps.values():
            self._step(step)
        if not self.steps:
            self.steps["nothing"] = {"branch": [{"else": "end"}]}
        if any('"completed"' in json.dumps(step, default=str) for step in self.steps.values()):
            self.steps["completed"] = {"say": self.texts.say("utter_can_do_something_else", COMPLETED), "then": "end"}
        elif self.flow.says_completed and not self.assistant.mentions_completed:
            notes.append(f'where a newer Rasa says "{COMPLETED}", it ends')
        used = sorted(self.read | self.set_here, key=lambda name: (name not in self.collected, name))
        if used:
            document["vars"] = {self.whole.slot(name): self.whole.declaration(name) for name in used}
        if any("result_of_action" in str(step) for step in self.steps.values()):
            document["vars"]["result_of_action"] = "object"
        document["steps"] = self.steps
        self.bot.flows[self.name] = document
        if "start" in document:
            self.bot.nearly(f"flow {self.flow.id}", "; ".join(notes), self.name)
        else:
            self.bot.same(f"flow {self.flow.id}", self.name)

    # Steps

    def _step(self, step: RasaStep) -> None:
        self.texts.notes, self.texts.lost = [], []
        name = self.names[step.id]
        kinds = {
            "collect": self._collect,
            "action": self._action,
            "link": self._link,
            "call": self._call,
            "set_slots": self._set,
            "noop": self._noop,
        }
        kinds[step.kind](name, step)
        if step.extra:
            self.texts.notes.append(f"these keys are left out: {', '.join(step.extra)}")
        place = self.flow.place(step)
        lost, notes = self.texts.lost, list(dict.fromkeys(self.texts.notes))
        if lost:
            self.bot.lost(place, "; ".join([*lost, *notes]), self.name, name)
        elif notes:
            self.bot.nearly(place, "; ".join(notes), self.name, name)
        else:
            self.bot.same(place, self.name, name)

    def _collect(self, name: str, step: RasaStep) -> None:
        slot = self.whole.slot(step.value)
        asks = name
        after = self._after(name, step)
        if not step.ask_before_filling and self._may_be_filled(step):
            asks = self._new(f"{name} ask")
            self.steps[name] = {"branch": [{"if": f"{slot} is not null", "then": after}, {"else": asks}]}
            if self._is_in_circle(step):
                self.steps[name]["visits"] = {"max": MOST_VISITS, "else": "end"}
                self.texts.notes.append(f"it is entered {MOST_VISITS} times at most")
        response = step.question
        if f"action_ask_{step.value}" in self.assistant.actions and response not in self.assistant.responses:
            self.texts.lost.append(f"action_ask_{step.value} asks in Python: write its question here")
            self.whole.used.add(f"action_ask_{step.value}")
        question: dict[str, Any] = {"ask": self.texts.say(response, written_out(f"{step.value}?")), "save": slot}
        if image := self.texts.image(response):
            self.steps[asks] = {"say": question["ask"], "image": image, "then": self._new(f"{asks} answer")}
            asks, question["ask"] = self.steps[asks]["then"], ""
        question |= self.texts.choices(step, response, bool(image))
        first = self._new(f"{name} check") if step.rejections else after
        self.steps[asks] = {**question, "then": first}
        self.texts.notes += self._reading(step)
        for index, (predicate, utter) in enumerate(step.rejections):
            last = index == len(step.rejections) - 1
            following = after if last else self._new(f"{name} check {index + 2}")
            rejected = self._new(f"{name} rejected {index + 1}" if len(step.rejections) > 1 else f"{name} rejected")
            self.steps[first] = {
                "branch": [{"if": self.texts.predicate(predicate), "then": rejected}, {"else": following}]
            }
            again = asks if not image else next(key for key in self.steps if self.steps[key].get("then") == asks)
            said = self.texts.say(utter, "?", step.value)
            self.steps[rejected] = {"say": said, "clear": slot, "then": again}
            first = following
        self._branches(name, step)

    def _reading(self, step: RasaStep) -> Iterator[str]:
        kind = self.assistant.slot(step.value).kind
        if kind in ("text", "any"):
            yield "the whole message is the answer, while Rasa's model takes a part of it"
        else:
            yield "an answer that is not understood is asked again, while Rasa's model may take it for something else"

    def _action(self, name: str, step: RasaStep) -> None:
        if step.value in self.assistant.responses or step.value.startswith("utter_"):
            said = self.texts.say(step.value, "?")
            variation = next(iter(self.assistant.responses.get(step.value, ())), RasaVariation(""))
            image = self.texts.image(step.value)
            self.steps[name] = {"say": said, **({"image": image} if image else {}), "then": self._after(name, step)}
            self.steps[name] |= self._buttons(variation)
            self._branches(name, step)
            return
        self.whole.used.add(step.value)
        given = {self.whole.slot(slot): f"{{{{ {self.whole.slot(slot)} }}}}" for slot in sorted(self.collected)}
        written: dict[str, Any] = {"call": self.whole.handler(step.value, given), **({"with": given} if given else {})}
        if self.outputs:
            written["save"] = "result_of_action"
            written["set"] = {
                self.whole.slot(slot): f"{{{{ result_of_action.{slot} | default({self.whole.slot(slot)}) }}}}"
                for slot in self.outputs
            }
        self.texts.lost.append(
            f"{step.value} is Python on the action server: write it as the function {written['call']} in handlers.py"
        )
        self.steps[name] = {**written, "errors": {"else": "end"}, "then": self._after(name, step)}
        self._branches(name, step)

    def _buttons(self, variation: RasaVariation) -> dict[str, Any]:
        """The buttons of a response for which nobody waits, where each starts a flow by its intent."""
        by_intent = {intent: flow.id for flow in self.assistant.flows.values() for intent in flow.intents}
        flows = [by_intent.get(button.payload.removeprefix("/").partition("{")[0]) for button in variation.buttons]
        titles = [button.title for button in variation.buttons]
        short = len(titles) <= _MOST_BUTTONS and all(len(title) <= _BUTTON_TITLE for title in titles)
        if titles and short and all(flow in self.whole.flows for flow in flows) and not variation.image:
            leads = {title: f"/{self.whole.flows[str(flow)]}" for title, flow in zip(titles, flows, strict=True)}
            return {"buttons": leads, "valid": "7d"}
        if titles:
            why = "are left out, because the flow goes on at once: ask instead"
            self.texts.notes.append(f"the buttons {', '.join(titles)} {why}")
        return {}

    def _link(self, name: str, step: RasaStep) -> None:
        if step.value == "pattern_human_handoff":
            self.steps[name] = {"handoff": "people", "closed": "end"}
            self.texts.notes.append("a person takes over at the gateway")
            return
        target = self._flow_target(step)
        forgotten = [self.whole.slot(slot) for slot in sorted(self.collected - {*self.flow.persisted})]
        self.steps[name] = {"clear": forgotten, "then": target} if forgotten else {"branch": [{"else": target}]}

    def _call(self, name: str, step: RasaStep) -> None:
        if step.value not in self.whole.flows:
            self.texts.lost.append(f"{step.value} is no flow of the export: write an ai step, or a function")
            handler = self.whole.handler(step.value, {})
            self.steps[name] = {"call": handler, "errors": {"else": "end"}, "then": self._after(name, step)}
        else:
            there = _FlowTranslation(self.whole, self.assistant.flows[step.value])
            shared = (self.read | self.set_here) & (there.read | there.set_here)
            both = [self.whole.slot(slot) for slot in sorted(shared)]
            written: dict[str, Any] = {"run": f"/{self.whole.flows[step.value]}"}
            if both:
                written |= {"with": {slot: f"{{{{ {slot} }}}}" for slot in both}, "save": both}
            self.steps[name] = {**written, "errors": {"else": "end"}, "then": self._after(name, step)}
        self._branches(name, step)

    def _set(self, name: str, step: RasaStep) -> None:
        values = {self.whole.slot(slot): self.texts.typed(slot, value) for slot, value in step.slots}
        self.steps[name] = {"set": values, "then": self._after(name, step)}
        self._branches(name, step)

    def _noop(self, name: str, step: RasaStep) -> None:
        if len(step.branches) == 1:
            self.steps[name] = {"branch": [{"else": self._target(step.branches[0][1])}]}
        else:
            self.steps[name] = self._branch(step)

    # Where a step leads

    def _after(self, name: str, step: RasaStep) -> str:
        if len(step.branches) == 1:
            return self._target(step.branches[0][1])
        return f"{name}_next"

    def _branches(self, name: str, step: RasaStep) -> None:
        if len(step.branches) > 1:
            self.steps[f"{name}_next"] = self._branch(step)

    def _branch(self, step: RasaStep) -> dict[str, Any]:
        branches: list[dict[str, Any]] = []
        for predicate, target in step.branches:
            then = self._target(target)
            branches.append(
                {"else": then} if predicate is None else {"if": self.texts.predicate(predicate), "then": then}
            )
        return {"branch": branches}

    def _target(self, target: str) -> str:
        if target == END:
            return "completed" if self.whole.has_completed(self.flow) else "end"
        return self.names[target]

    def _flow_target(self, step: RasaStep) -> str:
        if step.value in self.whole.flows:
            return f"/{self.whole.flows[step.value]}"
        self.texts.lost.append(f"the flow {step.value} is not in the export: it ends here")
        return "end"

    def _new(self, title: str) -> str:
        name = name_of(title, {*self.names.values(), *self.steps, *self.made, "completed"})
        self.made.add(name)
        return name

    def _is_in_circle(self, step: RasaStep) -> bool:
        waiting, seen = [target for _, target in step.branches], set()
        while waiting:
            name = waiting.pop()
            if name == step.id:
                return True
            if name != END and name not in seen:
                seen.add(name)
                waiting += [target for _, target in self.flow.steps[name].branches]
        return False

    def _may_be_filled(self, step: RasaStep) -> bool:
        """True if a slot may have a value when its question is reached, so that it is not asked."""
        slot = step.value
        if self.assistant.slot(slot).initial is not None or slot in self.whole.persisted or self._is_in_circle(step):
            return True
        others = (flow for flow in self.assistant.flows.values() if flow is not self.flow)
        if any(slot in dict(each.slots) for flow in others for each in flow.steps.values()):
            return True
        setters = [each for each in self.flow.steps.values() if each.value == slot or slot in dict(each.slots)]
        has_calls = self.flow.id in self.whole.called or any(each.kind == "call" for each in self.flow.steps.values())
        return len(setters) > 1 or has_calls

    # Texts

    def _reads(self, step: RasaStep) -> Iterator[str]:
        for predicate in step.predicates:
            try:
                yield from slots_in(parse_predicate(predicate))
            except PredicateError:
                continue
        named = step.question if step.kind == "collect" else step.value
        for response in (named, *(utter for _, utter in step.rejections)):
            yield from self.assistant.slots_of(response)


def _filled(text: str, places: re.Pattern[str], shown: Callable[[re.Match[str]], str]) -> str:
    """Put values in the places of a text, and write out the rest."""
    found, at = "", 0
    for match in places.finditer(text):
        found += written_out(text[at : match.start()]) + shown(match)
        at = match.end()
    return found + written_out(text[at:])


def _bare(words: str) -> str:
    """Words in small letters, without the signs around them."""
    return " ".join(re.findall(r"[^\W_]+", words.casefold()))
