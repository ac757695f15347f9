"""The site that `make docs` builds of these pages. Its first page is the README; index.md has the order of the others."""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
ROOT = DOCS.parent
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")

project = html_title = "bot-flows"
extensions = ["myst_parser"]
myst_heading_anchors = 6
html_theme = "furo"
html_copy_source = False


def read(_: Sphinx, page: str, source: list[str]) -> None:
    """Put the README on the first page, and name what a link leads to that the site does not have: examples, the Dockerfile."""
    at, text = DOCS / f"{page}.md", source[0]
    if page == "index":
        at, text = ROOT / "README.md", f"{(ROOT / 'README.md').read_text()}\n{text}"

    def written(link: re.Match[str]) -> str:
        target = (at.parent / link[2]).resolve()
        if target.is_relative_to(DOCS) or not target.exists():  # Sphinx warns of one that does not exist
            return f"[{link[1]}]({os.path.relpath(target, (DOCS / page).parent)}{link[3] or ''})"
        path = target.relative_to(ROOT)
        return f"`{path}`" if link[1].strip("`/") == str(path) else f"{link[1]} (`{path}`)"

    source[0] = LINK.sub(written, text)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read)
