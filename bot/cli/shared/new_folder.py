"""A new bot's folder: it must be empty, and it gets the files that every bot has around it."""

import json
import shutil
from pathlib import Path

from bot.core.errors import BotError

FILES = Path(__file__).parent.with_name("starters")
BESIDE = {"AGENTS.md": "AGENTS.md", "gitignore": ".gitignore", "env.example": ".env.example"}
"""The files of each new bot, with their names there: a wheel leaves out files that begin with a dot."""
SCHEMA = "bot.schema.json"


class FolderInUse(BotError):
    """The new bot's folder holds something already, or it cannot be written."""


def refuse_used(folder: Path) -> None:
    """Raise `FolderInUse` if the folder exists and is not empty."""
    if folder.exists() and not folder.is_dir():
        raise FolderInUse(f"{folder} is a file: nothing was written (name a folder that does not exist yet)")
    if folder.exists() and any(folder.iterdir()):
        raise FolderInUse(f"{folder} is not empty: nothing was written (name a folder that does not exist yet)")


def write_common_files(folder: Path) -> None:
    """Write the files beside each bot, and the settings of VS Code, which looks for the schema from this folder."""
    from bot.testing.conversations.documents_schema import documents_schema  # no other command needs it

    for name, there in BESIDE.items():
        shutil.copyfile(FILES / name, folder / there)
    editor = folder / ".vscode"
    editor.mkdir()
    (editor / SCHEMA).write_text(json.dumps(documents_schema({}), ensure_ascii=False) + "\n", "utf-8")
    settings = {"yaml.schemas": {f"{editor.name}/{SCHEMA}": ["bot.yml", "flows/**/*.yml", "tests/**/*.yml"]}}
    (editor / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
