"""Which flow a message starts, and which word of the bot it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.flow.definition import Flow
from bot.lang.words import normalise


@dataclass(frozen=True, slots=True)
class Triggers:
    """The starts of all flows, by normalised word; and the flow for everything else."""

    words: Mapping[str, str]
    otherwise: str | None

    @classmethod
    def of(cls, flows: Iterable[Flow]) -> "Triggers":
        """Index the flows' starts. Collisions have been reported by the checks."""
        words: dict[str, str] = {}
        otherwise: str | None = None
        for flow in flows:
            if flow.start is None:
                continue
            for word, _ in flow.start.words:
                words.setdefault(normalise(word), flow.name)
            if flow.start.otherwise and otherwise is None:
                otherwise = flow.name
        return cls(words, otherwise)

    def by_word(self, text: str | None) -> str | None:
        """The flow that this text starts."""
        return None if text is None else self.words.get(normalise(text))
