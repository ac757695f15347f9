"""The docs for language models, which the site has beside its pages."""

import re

from docs.llms import llms_full_txt, llms_txt
from tests.docs.test_docs import ROOT

DOCS = ROOT / "docs"
PAGES = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")} - {"index"}


def test_each_page_is_listed_once_with_its_title() -> None:
    listed = re.findall(r"^- \[.+\]\((.+)\.html\)", llms_txt(DOCS, "Chatbots."), re.MULTILINE)
    assert sorted(listed) == sorted(PAGES)


def test_a_page_is_listed_with_its_first_sentence() -> None:
    lines = llms_txt(DOCS, "Chatbots.").splitlines()
    assert lines[:3] == ["# bot-flows", "", "> Chatbots."] and "## Writing bots" in lines
    assert "- [The flow language](language/README.html): The whole language on one page." in lines
    assert "- [Drawings](graph.html): bot graph draws a bot." not in lines  # its paragraph begins with code


def test_the_whole_text_has_each_page() -> None:
    whole = llms_full_txt(DOCS)
    assert {*re.findall(r"^<!-- (.+)\.html -->$", whole, re.MULTILINE)} == PAGES
    assert (DOCS / "language" / "signals.md").read_text() in whole
