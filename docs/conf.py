"""The site that `make docs` builds of these pages. Its first page is the README; index.md has the order of the others."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
from llms import llms_full_txt, llms_txt  # noqa: E402

ROOT = DOCS.parent
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")

project = html_title = "bot-flows"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 6
html_theme = "furo"
html_copy_source = False
templates_path = ["theme"]
html_static_path = ["theme", "images/dev-light.png", "images/dev-dark.png"]  # the README's own picture
html_css_files = ["search.css"]


def read(_: Sphinx, page: str, source: list[str]) -> None:
    """Put the README on the first page, and name what a link leads to that the site does not have: examples, the Dockerfile."""
    at, text = DOCS / f"{page}.md", source[0]
    if page == "index":
        at, text = (
            ROOT / "README.md",
            f"{(ROOT / 'README.md').read_text()}\n{text}".replace('"docs/images/', '"_static/'),
        )

    def written(link: re.Match[str]) -> str:
        target = (at.parent / link[2]).resolve()
        if target.is_relative_to(DOCS) or not target.exists():  # Sphinx warns of one that does not exist
            return f"[{link[1]}]({os.path.relpath(target, (DOCS / page).parent)}{link[3] or ''})"
        path = target.relative_to(ROOT)
        return f"`{path}`" if link[1].strip("`/") == str(path) else f"{link[1]} (`{path}`)"

    source[0] = LINK.sub(written, text)


def write_sections(app: Sphinx, error: Exception | None) -> None:
    """Write what the search looks in: a script, since a page that is opened as a file may fetch nothing.

    Raises `ExtensionError` if a picture of the first page is missing.
    """
    if error is not None or app.builder.name != "html":
        return
    sections = []
    for page in sorted(app.env.found_docs):
        title = app.env.titles[page].astext()
        for section in app.env.get_doctree(page).findall(nodes.section):
            parts = [part for part in section.children[1:] if not isinstance(part, nodes.section)]
            prose, code = (
                " ".join(
                    " ".join(
                        part.astext() for part in parts if isinstance(part, nodes.literal_block) == is_code
                    ).split()
                )
                for is_code in (False, True)
            )
            sections.append((title, section.children[0].astext(), f"{page}.html#{section['ids'][0]}", prose, code))
    script = f"const SECTIONS = {json.dumps(sections, ensure_ascii=False)};\n"
    out = Path(app.outdir)
    (out / "_static/sections.js").write_text(script, encoding="utf-8")
    pictures = re.findall(r'(?:src|srcset)="([^":?]+)"', (out / "index.html").read_text(encoding="utf-8"))
    if missing := [picture for picture in pictures if not (out / picture).exists()]:
        raise ExtensionError(f"the first page shows what is not there: {', '.join(missing)}")


def write_for_models(app: Sphinx, error: Exception | None) -> None:
    """Write the pages for language models."""
    if error is None and app.builder.name == "html":
        about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["description"]
        (Path(app.outdir) / "llms.txt").write_text(llms_txt(DOCS, about), encoding="utf-8")
        (Path(app.outdir) / "llms-full.txt").write_text(llms_full_txt(DOCS), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("txt", TextLexer)  # a text file among the examples
    app.connect("source-read", read)
    app.connect("build-finished", write_sections)
    app.connect("build-finished", write_for_models)
