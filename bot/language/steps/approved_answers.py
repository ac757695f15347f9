"""``answers``: the texts of the flow that a model may send, and nothing else."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from bot.core.immutable import immutable
from bot.core.messages import TEXT_BODY, clip
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import TEMPLATE, KeySet, KeySpec, as_fields, either, map_of
from bot.language.keys.fields import Fields, entries_of
from bot.language.keys.text_shapes import TEXT
from bot.language.python.annotations import Arguments
from bot.language.python.decorators import HandlerSpec
from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.language.steps.exits import check_tool_name
from bot.language.steps.output_guard import one_line
from bot.language.steps.step_facts import IT, SentText, Used
from bot.language.steps.tools import SAY, TAKES, check_taken, function, nothing_called, read_taken

_SAID = KeySpec("say", TEMPLATE, "The text; what the model gives is called it.name in it.", required=True, texts=TEXT)
_KEYS = KeySet(_SAID, TAKES)
ANSWERS: KeySpec[tuple[tuple[Scalar, Node], ...]] = KeySpec(
    "answers",
    map_of(
        either(replace(TEMPLATE, texts=TEXT), as_fields(_KEYS, "{say: TEXT, takes: {day: the day}}")),
        entries_of,
        absent=(),
    ),
    "The texts that the model may send: it picks one and fills its values. Nothing else that it writes is sent.",
)


@immutable
class ApprovedAnswer:
    """A text of the flow that a model may send, with what the model gives for it."""

    name: str
    text: Template
    schema: Mapping[str, Any]
    arguments: Arguments

    def wire(self) -> dict[str, Any]:
        """The tool by which a model sends it."""
        return function(f"{SAY}{self.name}", f"Send the contact this text: {self.text.source}", self.schema)

    def rendered(self, given: Mapping[str, Any], scope: Mapping[str, Any]) -> str:
        """The text with what the model gives. Raises `BadArgument`, in words for the model."""
        fitted = self.arguments.fitted(given)
        values = {name: one_line(value) if isinstance(value, str) else value for name, value in fitted.items()}
        return clip(self.text.render({**scope, "it": values}), TEXT_BODY)

    def uses(self) -> Used:
        """The text, with what the model gives."""
        return Used(self.text, IT, sure=False)

    def sent(self) -> SentText:
        """The text as what the step may send."""
        return SentText(f"{ANSWERS.name}.{self.name}", self.text, TEXT_BODY)


def read_answers(fields: Fields) -> tuple[ApprovedAnswer, ...]:
    """Read `answers`: for each name a text, or ``{say, takes}``."""
    found = (_read_answer(fields, name, node) for name, node in ANSWERS.read(fields))
    return tuple(answer for answer in found if answer is not None)


def _read_answer(fields: Fields, name: Scalar, node: Node) -> ApprovedAnswer | None:
    what = f"{fields.what}: {ANSWERS.name}: {name.text}"
    check_tool_name(fields, ANSWERS, name)
    if isinstance(node, Map):
        each = _KEYS.open(node, fields.problems, what)
        text, (schema, parameters) = _SAID.read(each), read_taken(each)
    else:
        text, schema, parameters = TEMPLATE.read(node, fields.problems, what), NOTHING_TAKEN, {}
    if text is None:
        return None
    check_taken(fields, f"{SAY}{name.text}", schema["properties"], text, ANSWERS.name)
    spec = HandlerSpec(name.text, nothing_called, parameters, {}, Any, "")
    return ApprovedAnswer(name.text, text, schema, Arguments(spec))


NOTHING_TAKEN: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def answer_called(answers: Iterable[ApprovedAnswer], call: str) -> ApprovedAnswer | None:
    """The text that a call of the model's sends; None for another call."""
    return next((answer for answer in answers if f"{SAY}{answer.name}" == call), None)


def answers_in_words(answers: tuple[ApprovedAnswer, ...]) -> Iterator[str]:
    """The answers that a model without tools can send, each with its command."""
    return (f"SAY {each.name}    {each.text.source}" for each in answers if not each.schema["properties"])
