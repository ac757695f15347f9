"""Reads the files of an export, and finds the system that they come from."""

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from bot.cli.importing.imported import ExportFile, ImportedBot, UnreadableExport
from bot.core.lazy_patterns import lazy_pattern

SYSTEMS = {"typebot": "Typebot", "rapidpro": "RapidPro", "twilio": "Twilio Studio", "rasa": "Rasa"}
"""The systems by the names of their packages, which each have `recognises` and `import_bot`."""
_YAML = (".yml", ".yaml")
_MOST = 64 << 20  # bytes of a file


class _CoreLoader(yaml.SafeLoader):
    """Reads YAML 1.2: only `true` and `false` are truth values, and dates are texts."""


_BOOL, _TIME = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
_CoreLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_BOOL, _TIME)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_CoreLoader.add_implicit_resolver(_BOOL, lazy_pattern(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def read_export(paths: Sequence[Path]) -> list[ExportFile]:
    """Read files and, of folders, all JSON and YAML files in them. Raises `UnreadableExport`."""
    files = [ExportFile(file, _read(file)) for path in paths for file in _files(path)]
    if not files:
        named = ", ".join(map(str, paths))
        raise UnreadableExport(f"there is no .json or .yml file in {named}: name the export's files")
    return files


def import_export(files: Sequence[ExportFile], system: str | None) -> ImportedBot:
    """Import an export of this system, or of the first system that recognises it. Raises `UnreadableExport`."""
    asked = SYSTEMS if system is None else dict.fromkeys([system, *SYSTEMS])
    found = next((name for name in asked if _package(name).recognises(files)), None)
    if found is not None and system in (None, found):
        bot: ImportedBot = _package(found).import_bot(files)
        return bot
    if system is None:
        names = ", ".join(str(file.path) for file in files[:3])
        fix = f"name the files that {', '.join(SYSTEMS.values())} export with their flows"
        raise UnreadableExport(f"{names}: this is no export that is recognised ({fix})")
    fix = "export the bot again" if found is None else f"it looks like one of {SYSTEMS[found]}: bot import {found}"
    raise UnreadableExport(f"{files[0].path} is no export of {SYSTEMS[system]} ({fix})")


def _package(name: str) -> Any:
    return import_module(f"bot.cli.importing.{name}")


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in (".json", *_YAML) and file.is_file())


def _read(file: Path) -> Any:
    try:
        if file.stat().st_size > _MOST:
            raise UnreadableExport(f"{file} has more than {_MOST >> 20} MB: that is no export of flows")
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise UnreadableExport(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnreadableExport(f"{file} is no text in UTF-8 (save it as UTF-8, or export it again)") from error
    read: Callable[[str], Any] = _yaml if file.suffix in _YAML else json.loads
    try:
        return read(text)
    except json.JSONDecodeError as error:
        raise UnreadableExport(
            f"{file}:{error.lineno}:{error.colno}: this is no JSON: {error.msg} (export it again)"
        ) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "" if mark is None else f":{mark.line + 1}:{mark.column + 1}"
        raise UnreadableExport(f"{file}{place}: this is no YAML: {error.problem} (correct it)") from error
    except (RecursionError, ValueError, yaml.YAMLError) as error:
        raise UnreadableExport(
            f"{file} cannot be read: it is damaged, or nested too deeply (export it again)"
        ) from error


def _yaml(text: str) -> Any:
    documents = list(yaml.load_all(text, _CoreLoader))
    return documents[0] if len(documents) == 1 else documents
