"""``confirm: {by: team}``: a colleague decides on a call of the model's, in the contact's place."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Self

from bot.core.effects import Call, HttpRequest
from bot.core.immutable import immutable
from bot.core.messages import TEXT_BODY, clip
from bot.core.session import TeamQuestion
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import DURATION, LITERAL, TEMPLATE, Form, KeySet, KeySpec, as_fields
from bot.language.keys.fields import Fields
from bot.language.keys.text_shapes import TEXT
from bot.language.source.languages import wording
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Node
from bot.language.steps.step_facts import DefaultTarget, Outcome
from bot.language.steps.step_kind import StepContext
from bot.language.steps.transition import TRANSITION, Transition
from bot.language.steps.yes_no_question import QuestionTooLong

WITHIN, LONGEST = timedelta(hours=4), timedelta(hours=24)


def _read_within(node: Node, problems: Problems, what: str) -> timedelta:
    within = DURATION.read(node, problems, what) or WITHIN
    if within > LONGEST:
        told = f"{what}: 24h at most: later nobody could tell the contact"
        problems.add("E106", node.mark, told, "write 24h or less")
    return within


_BY = KeySpec("by", LITERAL, "The team of which a person is asked, in the console.", required=True)
_WITHIN = KeySpec(
    "within",
    Form(DURATION.schema, _read_within, absent=WITHIN),
    "The time in which somebody is to decide; 4h by default, 24h at most.",
)
_SAY = KeySpec("say", TEMPLATE, "The text that tells the contact that a colleague is asked.", texts=TEXT)
_ELSE = KeySpec("else", TRANSITION, "Where it leads if nobody has decided in time; by default the model is told.")
COLLEAGUE: Form[Fields | None] = as_fields(KeySet(_BY, _WITHIN, _SAY, _ELSE), "{by: support, within: 4h}")


@immutable
class Colleague:
    """The ``team`` of which a person decides on a call, ``within`` a time.

    ``text`` tells the contact. If nobody decides in time, ``otherwise`` follows by the ``outcome``, if there is a way.
    """

    team: str
    within: timedelta
    text: Template | None
    otherwise: Transition | None
    outcome: str

    @classmethod
    def read(cls, fields: Fields, tool: str) -> Self:
        """Read ``{by, within, say, else}`` of a tool."""
        team, within = _BY.read(fields) or "", _WITHIN.read(fields)
        return cls(team, within, _SAY.read(fields), _ELSE.read(fields), f"confirm.{tool}")

    def outcomes(self) -> dict[str, Outcome]:
        """The outcome where nobody has decided in time, if it leads somewhere."""
        way = self.otherwise
        return {} if way is None else {self.outcome: Outcome(way, DefaultTarget.WRITTEN, success=False)}

    def told(self, scope: Mapping[str, Any]) -> str:
        """The text that tells the contact."""
        return clip(wording(scope, "asks_colleague") if self.text is None else self.text.render(scope), TEXT_BODY)

    def asking(self, context: StepContext, text: str, call: dict[str, Any]) -> TeamQuestion:
        """The question to the team."""
        return TeamQuestion(context.event, context.visit, self.team, text, call, context.now, self.within)


def question_to_team(about: str, values: Mapping[str, Any], effect: Call | HttpRequest) -> str:
    """The question to a colleague: the call with all values as they will be used, also those that the flow binds.

    Each is in one line that hides nothing: a text in quotes, and what cannot be seen in it as in JSON. Raises
    `bot.language.steps.yes_no_question.QuestionTooLong`.
    """
    lines = [about]
    if isinstance(effect, HttpRequest):
        lines += [_escaped(f"{effect.method} {effect.address}"), *filter(None, [_escaped(effect.body or "")])]
    else:
        written = {name: json.dumps(value, ensure_ascii=False, default=str) for name, value in values.items()}
        lines += [f"{name}: {_escaped(text)}" for name, text in written.items()]
    text = "\n".join(lines)
    if len(text) > TEXT_BODY:
        raise QuestionTooLong(f"the question has {len(text)} characters")
    return text


def _escaped(text: str) -> str:
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
