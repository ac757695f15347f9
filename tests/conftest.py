"""What holds for all tests."""

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# a busy machine is no failure, and a change is not to blame for what chance finds on the day that it lands:
# HYPOTHESIS=random goes looking
settings.register_profile("same", deadline=None, derandomize=True, database=None)
settings.register_profile("random", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "same"))

if sys.dont_write_bytecode:  # else each of some hundred processes would compile all that it imports
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parent.parent / ".pytest_cache" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One more than there are cores: many tests wait for the disk or for another process."""
    return (yield) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest test comes first: all others would have ended long before it, did it begin late."""
    items.sort(key=lambda item: item.path.name != "test_kill.py")


def pytest_collection_finish() -> None:
    """What is imported and collected by now stays: the garbage collector need not look through it again and again."""
    gc.freeze()
