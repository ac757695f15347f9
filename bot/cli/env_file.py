"""Writing a setting into ``.env``."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dotenv import dotenv_values, set_key

from bot.cli.operate import Refused
from bot.cli.whole_file import write_whole


def write_setting(file: Path, name: str, value: str) -> None:
    """Set one variable; nothing else in the file changes. There need be no file yet.

    It is replaced whole or not at all, and only its owner can read it. Raises `GatewayRefused` and `OSError`.
    """
    with TemporaryDirectory(dir=file.resolve().parent, prefix=".env.") as folder:  # 0700: nobody else sees a secret
        draft = Path(folder) / "draft"
        draft.write_bytes(file.read_bytes() if file.exists() else b"")
        set_key(draft, name, value, quote_mode="auto")
        if dotenv_values(draft).get(name) != value:
            raise Refused(f"{file} cannot hold this value: set {name} in the environment instead")
        write_whole(file, draft.read_bytes())
