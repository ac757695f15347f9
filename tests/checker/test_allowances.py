"""Comments that allow findings, and what is wrong with some of them."""

import pytest

from bot.checker.findings import Finding
from bot.checker.rules.yaml_comments import without_allowed
from bot.language.flow.documents import Source

FLOW = """\
flow: main
start: {otherwise: true}
steps:
  a: {say: Hi}%s
  %s
  b: {say: "# allow W101: not a comment", then: end}%s
"""


def left(
    behind_a: str = "", above_b: str = "", behind_b: str = "", bot: str = "", codes: str = "W101 W501"
) -> list[str]:
    """The findings of these codes at step b that are left; the line of the step is written as "b"."""
    text = FLOW % (behind_a, above_b, behind_b)
    line = text[: text.index("  b:")].count("\n") + 1
    findings = [Finding("flow.yml", line, 3, code, "what", "fix") for code in codes.split()]
    sources = [Source("bot.yml", f"name: T {bot}\n".encode()), Source("flow.yml", text.encode())]
    return [str(finding).replace(f"flow.yml:{line}:", "b:") for finding in without_allowed(findings, sources)]


W101, W501 = "b:3: W101 what (fix)", "b:3: W501 what (fix)"


@pytest.mark.parametrize(
    "where",
    [
        {"behind_b": "  # allow W501: they are told"},
        {"behind_b": "#allow W501 : they are told"},
        {"above_b": "# allow W501: they are told"},
        {"above_b": "# allow W501: they are told,\n  # and at length"},
        {"above_b": "# what b is for\n  # allow W501: they are told"},
    ],
)
def test_a_comment_allows_a_finding_in_its_line_or_below_it(where: dict[str, str]) -> None:
    assert left(**where) == [W101]


def test_one_comment_allows_several_codes_and_several_comments_one_line() -> None:
    assert left(behind_b=" # allow W501, W101: they are told") == []
    assert left(above_b="# allow W501: they are told\n  # allow W101: they know") == []
    assert left(above_b="# allow W501: they are told", behind_b=" # allow W101: they know") == []


def test_all_findings_of_a_code_in_a_line_are_allowed_at_once() -> None:
    assert left(behind_b=" # allow W501: they are told", codes="W501 W501") == []


def test_a_text_that_looks_like_one_allows_nothing() -> None:
    assert left() == [W101, W501]
    assert left(above_b="c: {say: 'x\n  # allow W501: y'}") == [W101, W501]


@pytest.mark.parametrize("comment", ["# allow it", "# allowed W501: x", "# please allow W501: x", "# allow w501: x"])
def test_a_comment_of_another_form_is_a_comment(comment: str) -> None:
    assert left(behind_b=f"  {comment}") == [W101, W501]


def test_a_comment_in_another_file_or_line_allows_nothing_and_is_found() -> None:
    assert left(behind_a=" # allow W501: they are told") == [
        W101,
        W501,
        "flow.yml:4:24: W001 W501 is allowed, but line 4 has no such finding (remove the comment, or move it to the line of the finding)",
    ]
    assert left(bot="# allow W101: x")[-1].startswith(
        "bot.yml:1:17: W001 W101 is allowed, but line 1 has no such finding"
    )


def test_each_code_that_allows_nothing_is_found_where_it_stands() -> None:
    assert left(behind_b=" # allow W501, W601: they are told", codes="W501") == [
        "b:68: W001 W601 is allowed, but line 6 has no such finding (remove the comment, or move it to the line of the finding)"
    ]


@pytest.mark.parametrize("code", ["W999", "E102", "W001", "W002"])
def test_what_cannot_be_allowed_is_found(code: str) -> None:
    (found,) = left(behind_a=f" # allow {code}: because", codes="")
    assert found == f"flow.yml:4:24: W001 {code} cannot be allowed (docs/checks lists the codes)"


@pytest.mark.parametrize("rest", ["", ":", ": ", " because of that"])
def test_an_allowance_without_a_reason_allows_and_is_found(rest: str) -> None:
    (found,) = left(behind_a="", behind_b=f" # allow W501{rest}", codes="W501")
    assert found == (
        "b:54: W002 W501 is allowed without a reason (write the reason after a colon: # allow W501: the reason)"
    )
