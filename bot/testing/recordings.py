"""Recordings: what models answered in evaluations, in a file beside that of the evaluations."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bot.core.errors import BotError
from bot.testing.models import Answered, Question
from bot.testing.transcript import Transcript

SUFFIX = ".recorded.json"
Tried = list[tuple[Answered, ...]]
"""The answers of each try."""


class Unreadable(BotError):
    """A file is no recording."""


class Recordings:
    """The recordings of a bot's evaluations: by evaluation and model, the answers of each try."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, dict[str, dict[str, Tried]]] = {}

    def of(self, evaluation: Transcript) -> Mapping[str, Tried]:
        """The recorded tries of an evaluation, by model. Raises `Unreadable`."""
        return self._file(self.path(evaluation)).get(evaluation.name, {})

    def keep(self, evaluation: Transcript, model: str, tries: Tried, names: Collection[str]) -> Path:
        """Write an evaluation's tries with a model in place of those that are there. Raises `OSError`.

        ``names`` are those of all evaluations: what was recorded of others in that file is no longer wanted.
        """
        path = self.path(evaluation)
        try:
            known = self._file(path)
        except Unreadable:
            known = {}
        known = {name: models for name, models in known.items() if name in names}
        known[evaluation.name] = known.get(evaluation.name, {}) | {model: tries}
        self._files[path] = known
        path.write_text(_written(known), encoding="utf-8")
        return path

    def path(self, evaluation: Transcript) -> Path:
        """The file that its recordings stand in, or will."""
        return (self._folder / evaluation.mark.path).with_suffix(SUFFIX)

    def _file(self, path: Path) -> dict[str, dict[str, Tried]]:
        if path not in self._files:
            self._files[path] = _read(path) if path.exists() else {}
        return self._files[path]


def _read(path: Path) -> dict[str, dict[str, Tried]]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: {model: [tuple(map(_answered, answers)) for answers in tries] for model, tries in models.items()}
            for name, models in plain.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        advice = "delete it, or write it anew with `bot test --model --record`"
        raise Unreadable(f"{path} cannot be read as a recording: {advice}") from error


def _written(known: Mapping[str, Mapping[str, Tried]]) -> str:
    """The file's text: one line for each answer, so that an edit shows as what it is."""
    named = []
    for name, models in sorted(known.items()):
        tried = []
        for model, tries in sorted(models.items()):
            held = ",\n".join("   [\n    " + ",\n    ".join(map(_line, answers)) + "\n   ]" for answers in tries)
            tried.append(f"  {_json(model)}: [\n{held}\n  ]")
        named.append(f" {_json(name)}: {{\n" + ",\n".join(tried) + "\n }")
    return "{\n" + ",\n".join(named) + "\n}\n"


def _line(answer: Answered) -> str:
    return _json(_plain(answer))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(answer: Answered) -> dict[str, Any]:
    """An answer as it stands in the file: what it leaves out is as usual."""
    usual = Answered(answer.question)
    return {
        name: value for name, value in asdict(answer).items() if value != getattr(usual, name) or name == "question"
    }


def _answered(plain: Mapping[str, Any]) -> Answered:
    calls = tuple((str(name), str(arguments)) for name, arguments in plain.get("calls", ()))
    asked, answered = plain.get("tokens", (0, 0))
    more = {"question": Question(**plain["question"]), "calls": calls, "tokens": (int(asked), int(answered))}
    return Answered(**{**plain, **more})
