"""Writing a file so that it is there whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_whole(file: Path, content: bytes) -> None:
    """Replace a file, or make it, so that only its owner can read it. A link stays one. Raises `OSError`."""
    file = file.resolve()
    with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as draft:  # with mode 0600
        try:
            draft.write(content)
            draft.flush()
            os.fsync(draft.fileno())
            Path(draft.name).replace(file)
        except BaseException:
            with suppress(OSError):
                Path(draft.name).unlink()
            raise
