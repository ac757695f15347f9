"""The lock in requirements/: it fulfils pyproject.toml, its files go together, and everything that is installed comes
from it.
"""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.locks import EXTRAS, PROJECT, pinned, requirements

ROOT = Path(__file__).parents[1]
LOCKS = {path.stem: path.read_text() for path in sorted((ROOT / "requirements").iterdir())}
FAULTY = {
    "orjson": "3.9.14",
    "jinja2": "3.1.5",
    "requests": "2.32.3",
    "werkzeug": "3.0.5",
    "certifi": "2024.6.2",
}
"""Releases with known faults."""


def test_there_is_a_file_for_each_purpose() -> None:
    assert LOCKS.keys() == {"build", "bot", *EXTRAS}


@pytest.mark.parametrize("lock", LOCKS)
def test_each_file_fulfils_what_the_project_requires(lock: str) -> None:
    included = re.findall(r"^-r (\w+)\.txt$", LOCKS[lock], re.MULTILINE)
    assert included == (["bot"] if lock in EXTRAS else [])
    pins = [pin for each in (lock, *included) for pin in pinned(LOCKS[each])]
    for wanted in map(Requirement, requirements(lock)):
        versions = [version for name, version in pins if name == canonicalize_name(wanted.name)]
        assert versions, f"{wanted} is not in the lock: `make lock`"
        assert [each for each in versions if each not in wanted.specifier] == [], (
            f"not what {wanted} allows: `make lock`"
        )


def test_a_library_has_the_same_releases_in_each_file() -> None:
    """Several, where one does not run with each version of Python."""
    pins = [pinned(text) for text in LOCKS.values()]
    for name in {name for each in pins for name, _ in each}:
        found = {tuple(version for known, version in each if known == name) for each in pins} - {()}
        assert len(found) == 1, name


def test_the_image_of_several_machines_is_built_from_one_of_the_files() -> None:
    compose = (ROOT / "examples" / "several-machines" / "compose.yaml").read_text()
    assert set(re.findall(r"LOCK: (\S+)", compose)) == {"several-machines"} <= LOCKS.keys()


@pytest.mark.parametrize("lock", LOCKS)
def test_each_release_has_hashes_and_no_file_names_where_it_comes_from(lock: str) -> None:
    entries = re.split(r"\n(?! )", LOCKS[lock].strip())[1:]
    assert [entry for entry in entries if not entry.startswith("-r ") and "--hash=sha256:" not in entry] == []
    assert "//" not in LOCKS[lock]


def test_releases_with_known_faults_are_excluded() -> None:
    bounds: dict[str, SpecifierSet] = {
        canonicalize_name(each.name): each.specifier for each in map(Requirement, PROJECT["project"]["dependencies"])
    }
    assert {name for name, version in FAULTY.items() if Version(version) in bounds[name]} == set()


@pytest.mark.parametrize("file", ["Makefile", "Dockerfile", "docs/going-live.md"])
def test_what_is_installed_is_locked(file: str) -> None:
    """But for the project itself; `make test-latest` tries what is newest."""
    lines = (ROOT / file).read_text().replace("pip install --quiet --disable-pip-version-check\n", "").splitlines()
    installed = [line for line in lines if re.search(r"pip install|PIP_INSTALL\)", line) and "(LATEST)" not in line]
    assert (
        installed
        and [line for line in installed if "--require-hashes -r" not in line and "--no-deps" not in line] == []
    )
