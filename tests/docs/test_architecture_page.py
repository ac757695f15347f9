"""The page on the architecture names files that are there."""

import re
from pathlib import Path

from tests.test_house import LAYERS

ROOT = Path(__file__).parents[2]
BOT = ROOT / "bot"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`(?:bot/)?((?:\w+/)+\w+|\w+\.py)(?:\.py)?(?=`)", PAGE)))


def test_each_file_that_it_names_is_there() -> None:
    packages = {folder.name for folder in BOT.iterdir() if folder.is_dir()}
    ours = [name for name in NAMED if name.split("/")[0] in packages]
    assert len(ours) > 40
    assert [
        name for name in ours if not (BOT / f"{name.removesuffix('.py')}.py").exists() and not (BOT / name).is_dir()
    ] == []


def test_it_lists_the_layers_in_their_order() -> None:
    assert tuple(re.findall(r"^\* `([\w/]+)/`: ", PAGE, re.M)) == LAYERS
