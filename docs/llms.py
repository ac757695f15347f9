"""The docs for language models: `llms.txt`, a list of the site's pages, and `llms-full.txt`, the text of all of them."""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

_LISTS = re.compile(r"^```\{toctree\}\n(?::\w+:.*\n)*?:caption: (.+)\n\n((?:.+\n)+)```", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_SENTENCE = re.compile(r"[^\W_].*?\.(?= |$)")


def llms_txt(docs: Path, about: str) -> str:
    """The list: each page with its title and its first sentence, under the captions of the site."""
    lines = ["# bot-flows", "", f"> {about}", "", "All pages in one file: [llms-full.txt](llms-full.txt)."]
    for caption, pages in _captions(docs):
        lines += ["", f"## {caption}", "", *(_line(docs, page) for page in pages)]
    return "\n".join(lines) + "\n"


def llms_full_txt(docs: Path) -> str:
    """The pages in the order of the site, each behind its address."""
    pages = (page for _, pages in _captions(docs) for page in pages)
    return "\n".join(f"<!-- {page}.html -->\n\n{(docs / f'{page}.md').read_text('utf-8')}" for page in pages)


def _captions(docs: Path) -> Iterator[tuple[str, list[str]]]:
    there = sorted(page.relative_to(docs).with_suffix("").as_posix() for page in docs.rglob("*.md"))
    for caption, entries in _LISTS.findall((docs / "index.md").read_text("utf-8")):
        found = (page for entry in entries.split() for page in there if fnmatch(page, entry))
        yield caption, list(dict.fromkeys(found))


def _line(docs: Path, page: str) -> str:
    """The page's title, and the first sentence below it if it begins with a word."""
    title, paragraph, *_ = (docs / f"{page}.md").read_text("utf-8").split("\n\n", 2)
    says = _SENTENCE.match(_LINK.sub(r"\1", " ".join(paragraph.split())))
    return f"- [{title.removeprefix('# ')}]({page}.html)" + ("" if says is None else f": {says[0]}")
