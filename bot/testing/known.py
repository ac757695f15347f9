"""What a test may name: the flows and handlers of its bot, and the files of its folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.extensions.decorators import HandlerSpec
from bot.flow.definition import Flow


@dataclass(frozen=True, slots=True)
class Known:
    """The bot of a test. ``complete`` is False where it could not be loaded: then no name can be called wrong.

    ``evaluates``: a model answers, not the test.
    """

    flows: Mapping[str, Flow] = field(default_factory=dict)
    handlers: Mapping[str, HandlerSpec] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    folder: Path = Path()
    complete: bool = True
    evaluates: bool = False
