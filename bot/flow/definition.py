"""What a bot and its flows say, once read. All of it is immutable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from bot.lang.nodes import Mark
from bot.lang.variables import Variable
from bot.steps.ai_settings import AiSettings
from bot.steps.doors import Door
from bot.steps.kind import StepKind
from bot.steps.riders import Defaults, Riders


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
    """One step: its name is its state. ``ways`` are all its outcomes."""

    name: str
    mark: Mark
    kind: StepKind
    riders: Riders
    defaults: Defaults
    fingerprint: str
    ways: Mapping[str, Way] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """What starts a flow: words, events of the gateway, or being the one for everything else."""

    mark: Mark
    words: tuple[tuple[str, Mark], ...] = ()
    otherwise: bool = False
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow: its variables, its defaults, and its steps in order.

    ``interrupted``: what becomes of it when another flow cuts in, ``resume``, ``ask`` or ``drop``; None: none can.
    """

    name: str
    mark: Mark
    about: str
    start: Start | None
    variables: Mapping[str, Variable]
    defaults: Defaults
    steps: Mapping[str, Step]
    interrupted: str | None = None
    unreadable: frozenset[str] = frozenset()  # names of steps with a problem that left nothing of them

    @property
    def first(self) -> str:
        """The name of the step that the flow begins with."""
        return next(iter(self.steps))


@dataclass(frozen=True, slots=True)
class BotDefinition:
    """What ``bot.yml`` says."""

    name: str
    mark: Mark
    timezone: ZoneInfo
    words: Mapping[str, Door]
    defaults: Defaults
    languages: tuple[str, ...] = ()  # the first is the one that the flows are written in
    ai: AiSettings = field(default_factory=AiSettings)
    channels: Mapping[str, str] = field(default_factory=dict)  # the gateway's channel ids, by number
