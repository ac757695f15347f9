"""What a bot and its flows say, once read. All of it is immutable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from zoneinfo import ZoneInfo

from bot.flow.starts import Start
from bot.lang.hours import Hours
from bot.lang.nodes import Mark
from bot.lang.templates import Template
from bot.lang.variables import Variable
from bot.steps.ai_settings import AiSettings
from bot.steps.doors import END, Door
from bot.steps.kind import StepKind
from bot.steps.riders import Defaults, Riders
from bot.steps.services import Service
from bot.steps.words import Words

LANGUAGE = "language"
"""The name that the contact's language has in flows whose bot speaks several."""


@dataclass(frozen=True, slots=True)
class Way:
    """Where one outcome of a step leads, with all defaults worked out. ``target`` None: the step goes on waiting."""

    outcome: str
    target: str | None
    mark: Mark
    door: Door | None = None
    success: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name is its state. ``ways`` are all its outcomes, ``written`` is what stands beside its verb."""

    name: str
    mark: Mark
    kind: StepKind
    riders: Riders
    defaults: Defaults
    fingerprint: str
    ways: Mapping[str, Way] = field(default_factory=dict)
    written: str = ""


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow: its variables, its defaults, its words, and its steps in order.

    ``interrupted``: what becomes of it when another flow cuts in, ``resume``, ``ask`` or ``drop``; None: none can.
    """

    name: str
    mark: Mark
    about: str
    start: Start | None
    variables: Mapping[str, Variable]
    defaults: Defaults
    words: Words
    steps: Mapping[str, Step]
    interrupted: str | None = None
    unreadable: frozenset[str] = frozenset()  # names of steps with a problem that left nothing of them

    @property
    def first(self) -> str:
        """The name of the step that the flow begins with."""
        return next(iter(self.steps))

    def following(self, step: str) -> str:
        """The name of the step after this one; after the last, ``end``."""
        return dict(pairwise((*self.steps, END)))[step]


@dataclass(frozen=True, slots=True)
class BotDefinition:
    """What ``bot.yml`` says."""

    name: str
    mark: Mark
    timezone: ZoneInfo
    words: Words
    defaults: Defaults
    languages: tuple[str, ...] = ()  # the first is the one that the flows are written in
    common: Mapping[str, Variable] = field(default_factory=dict)  # what every flow has beside its own variables
    wordings: Mapping[str, Template] = field(default_factory=dict)  # in place of the built-in ones, by name
    ai: AiSettings = field(default_factory=AiSettings)
    channels: Mapping[str, str] = field(default_factory=dict)  # the gateway's channel ids, by number
    secrets: tuple[str, ...] = ()  # names of environment variables that the services are told
    services: Mapping[str, Service] = field(default_factory=dict)  # that it sends requests to, by name
    hours: Mapping[str, Hours] = field(default_factory=dict)  # opening hours, by name
