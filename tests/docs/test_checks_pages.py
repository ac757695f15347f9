"""docs/checks: each code has its page or section, whose first bot has this one fault and whose second has none."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from bot.checker import rules
from bot.checker.rules.yaml_comments import NEEDLESS, UNREASONED
from bot.cli.shared.check_report import TITLES, page, report_on
from bot.language.flow.documents import Source
from bot.language.source.problems import CODES
from bot.language.source.yaml_tree import MAX_BYTES
from bot.loading.folder import Folder

ROOT = Path(__file__).parents[2]
CHECKS = ROOT / "docs" / "checks"
PARTS = re.compile(r"^(?:## )?(Wrong|Right|Allowing it)(?:, .*)?:?$", re.MULTILINE)
BLOCKS = re.compile(r"^```(yaml bot|yaml|python|(?:yaml|md|txt|json) \S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLOWS = "flows/.yml"  # a block without a name is called as its first flow is
NAMES = {"yaml bot": "bot.yml", "yaml": FLOWS, "python": "handlers.py"}
BOT = """
name: x
defaults: {timeout: {after: 20h, then: end}, errors: {else: {say: Please call us., then: end}}}
"""
"""The `bot.yml` of a page that shows none."""
REPORTED = {line.split()[1]: line for line in Path(__file__).with_name("reported.txt").read_text().splitlines()}
"""The line that `bot check` prints for the first bot of each code."""
SAVED: Mapping[str, Callable[[str], bytes]] = {  # faults of a file that no text on a page can have
    "E001": lambda text: text.encode("latin-1"),
    "E003": lambda text: text.encode() + b"#" * MAX_BYTES,
}


def parts(code: str) -> dict[str, str]:
    """A page by its headings; what stands before the first is under the empty one."""
    before, *rest = PARTS.split(page(code))
    return {"": before, **dict(zip(rest[::2], rest[1::2], strict=True))}


def files(text: str) -> dict[str, str]:
    """The files of a bot that a part of a page shows."""
    return {NAMES.get(kind, kind.partition(" ")[2]): written for kind, written in BLOCKS.findall(text)}


def faults(written: Mapping[str, str], save: Callable[[str], bytes] = str.encode) -> list[str]:
    """What `bot check` says of a bot."""
    saved = {"bot.yml": b"name: x\n", **{path: text.encode() for path, text in written.items() if path != FLOWS}}
    name = re.search(r"^flow: (\w+)", written[FLOWS], re.MULTILINE)
    assert name is not None
    saved[f"flows/{name[1]}.yml"] = save(written[FLOWS])
    by_ending: dict[str, list[Source]] = {"yml": [], "py": [], "md": [], "txt": [], "json": []}
    for path, text in saved.items():
        by_ending[path.rpartition(".")[2]].append(Source(path, text))
    documents = (*by_ending["md"], *by_ending["txt"], *by_ending["json"])
    folder = Folder(Path("page"), tuple(by_ending["yml"]), tuple(by_ending["py"]), documents)
    return [str(entry.found) for entry in report_on(folder).entries]


def flow(shown: str) -> str:
    """The file of flows of which a page may show the steps alone, or these with their variables."""
    if re.search(r"^flow: ", shown, re.MULTILINE):
        return shown
    return "flow: main\nstart: {otherwise: true}\n" + ("steps:\n" if shown.startswith(" ") else "") + shown


def corrected(wrong: str, right: str) -> str:
    """A file of the second bot, which a page shows whole, or by the lines that differ: from the first key on to the last."""
    lines, changed = wrong.splitlines(), right.splitlines()
    keys, first, last = [key(line) for line in lines], key(changed[0]), key(changed[-1])
    if first in ("flow", "name", *keys[:1]):
        return right
    assert keys.count(first) == keys.count(last) == 1, right
    return "\n".join([*lines[: keys.index(first)], *changed, *lines[keys.index(last) + 1 :], ""])


def key(line: str) -> str:
    return line.partition(":")[0]


@cache
def faults_of(code: str) -> tuple[list[str], list[str]]:
    """What `bot check` says of the two bots of a page."""
    of = parts(code)
    breaking = {"bot.yml": BOT, FLOWS: "  hello: {say: Hello!}\n", **files(of[""]), **files(of["Wrong"])}
    breaking[FLOWS] = flow(breaking[FLOWS])
    right = {path: corrected(breaking.get(path, ""), text) for path, text in files(of["Right"]).items()}
    return faults(breaking, SAVED.get(code, str.encode)), faults({**breaking, **right})


@pytest.mark.parametrize("code", TITLES)
def test_the_first_bot_has_this_fault_once_and_the_second_does_not_have_it(code: str) -> None:
    breaks, holds = ([line for line in found if line.split()[1] == code] for found in faults_of(code))
    assert (breaks, holds) == ([REPORTED[code]], [])


def test_no_bot_of_a_page_has_another_fault() -> None:
    found = [(code, line) for code in TITLES for lines in faults_of(code) for line in lines]
    assert [(code, line) for code, line in found if line.split()[1] != code] == []


@pytest.mark.parametrize("code", TITLES)
def test_a_page_is_called_as_the_code_is_and_says_why(code: str) -> None:
    title, _, text = parts(code)[""].partition("\n")
    assert title == f"# {code}: {TITLES[code]}"
    assert len(text.split()) > 8


@pytest.mark.parametrize("code", rules.TITLES)
def test_a_findings_page_shows_how_it_is_allowed(code: str) -> None:
    allowing = parts(code).get("Allowing it")
    assert allowing is None or code in (NEEDLESS, UNREASONED) or f"# allow {code}: " in allowing


def test_the_entry_lists_each_page_with_its_title_in_order() -> None:
    pages = sorted({code[:2] if code in CODES else code for code in TITLES})
    titles = {path.stem: path.read_text().partition("\n")[0] for path in CHECKS.glob("[EW]*.md")}
    listed = re.findall(r"^\* \[(\w+)\]\((.*?)\.md\): (.*)$", (CHECKS / "README.md").read_text(), re.MULTILINE)
    assert [(name, f"# {name}: {title}") for name, _, title in listed] == [(name, titles[name]) for name in pages]
    assert [name for name, link, _ in listed if link != name] == []


def test_there_is_no_page_of_a_code_that_there_is_not() -> None:
    pages = {path.stem for path in CHECKS.glob("[EW]*.md")}
    assert pages == {*rules.TITLES, *(code[:2] for code in CODES)}
    for group in pages - rules.TITLES.keys():
        sections = re.findall(r"^## (\w+):", (CHECKS / f"{group}.md").read_text(), re.MULTILINE)
        assert sections == sorted(code for code in CODES if code.startswith(group))


def test_the_pages_are_here_alone_and_no_file_is_a_link() -> None:
    """A link does not survive an archive that is unpacked on Windows. tests/wheel.py finds the pages in the package."""
    assert not (ROOT / "bot" / "cli" / "checks").exists()
    folders = ("bot", "docs", "examples", "flows", "tests")
    assert [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_symlink()] == []


def test_the_allowance_in_the_entry_silences_what_is_there() -> None:
    shown = files((CHECKS / "README.md").read_text())
    assert faults({FLOWS: shown[FLOWS]}) == []
    without = re.sub(r"^  #.*\n", "", shown[FLOWS], flags=re.MULTILINE)
    assert [line.split()[1] for line in faults({FLOWS: without})] == ["W101"]
