"""`bot graph`: what is drawn, where it goes, and what is refused."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.terminal import call, make_bot

FLOWS = """
flow: main
start: {otherwise: true}
steps:
  menu: {ask: What?, buttons: {Order: /order, Bye: end}}
---
flow: order
steps:
  done: {say: Done., then: end}
  lost: {say: Lost.}
"""


@pytest.fixture
def cafe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bot, whose folder is the current one."""
    folder = make_bot(tmp_path / "cafe", FLOWS)
    monkeypatch.chdir(folder)
    return folder


def test_a_bot_is_drawn_as_mermaid(cafe: Path) -> None:
    printed = call("graph", "--mermaid")
    assert (printed.code, printed.err) == (0, "")
    assert printed.lines[:5] == [
        "flowchart TD",
        '  n1[["main<br/>▶ any other message<br/>interrupted: drop"]]:::is_flow',
        '  n2[["order<br/>⚠ W101: a step that nobody reaches"]]:::is_flow',
        '  n1 -->|"Order"| n2',
        "  classDef is_flow fill:#f1e7fd,stroke:#8430ce,color:#202124",
    ]


@pytest.mark.parametrize("arguments", [("order",), (".", "order"), ("../cafe", "order")])
def test_a_flow_is_drawn_with_what_is_found_in_it(cafe: Path, arguments: tuple[str, ...]) -> None:
    printed = call("graph", "--mermaid", *arguments)
    assert printed.code == 0
    assert '  n2["done<br/>say<br/>Done."]:::is_says' in printed.lines
    assert '  n3["lost<br/>say<br/>Lost.<br/>⚠ W101: a step that nobody reaches"]:::is_says' in printed.lines


def test_a_folder_alone_is_the_bots(cafe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cafe.parent)
    assert call("graph", "cafe", "--svg").out == call("graph", cafe, "--svg").out


@pytest.mark.parametrize(
    ("name", "options", "begins"),
    [
        ("bot.svg", (), "<svg "),
        ("bot.SVG", (), "<svg "),
        ("bot.mmd", (), "flowchart TD"),
        ("bot.txt", ("--svg",), "<svg "),
        ("bot.txt", ("--mermaid",), "flowchart TD"),
    ],
)
def test_a_file_is_what_its_name_or_an_option_says(
    cafe: Path, name: str, options: tuple[str, ...], begins: str
) -> None:
    printed = call("graph", *options, "-o", name)
    assert (printed.code, printed.out) == (0, "")
    assert (cafe / name).read_text("utf-8").startswith(begins)


def test_a_picture_is_written_whose_name_is_the_bots_or_the_flows(cafe: Path) -> None:
    for arguments, name in (((), "cafe.svg"), (("order",), "order.svg")):
        assert call("graph", *arguments).lines == [name]
        assert (cafe / name).read_text("utf-8").startswith("<svg ")


def test_svg_can_be_printed(cafe: Path) -> None:
    printed = call("graph", "main", "--svg")
    assert ElementTree.fromstring(printed.out).tag == "{http://www.w3.org/2000/svg}svg"


def test_what_is_inherited_is_drawn_with_all(cafe: Path) -> None:
    assert "timeout" not in call("graph", "main", "--mermaid").out
    assert "timeout" in call("graph", "main", "--all", "--mermaid").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mian",), 'there is no flow "mian" (did you mean "main"?)'),
        (("xyz",), 'there is no flow "xyz" (there are main, order)'),
        (("-o", "bot.png"), "bot.png ends neither in .svg nor in .mmd: add --svg or --mermaid"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(cafe: Path, arguments: tuple[str, ...], said: str) -> None:
    refused = call("graph", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err


def test_a_bot_that_does_not_load_has_its_problems_listed(cafe: Path) -> None:
    (cafe / "flows" / "main.yml").write_text("flow: main\nsteps:\n  a: {say: A, then: b}\n")
    refused = call("graph", "-o", "bot.svg")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines() == [
        'flows/main.yml:3:21: E102 no step "b" (add the step to flow main)',
        "1 problem",
    ]
    assert not (cafe / "bot.svg").exists()


def test_a_folder_without_a_bot_is_said_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    refused = call("graph", "empty")
    assert (refused.code, refused.out) == (1, "")
    assert "there is no bot.yml in empty" in refused.err
