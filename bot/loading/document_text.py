"""The text of a document that AI turns may know: of Markdown, text, PDF and DOCX."""

import logging
from collections.abc import Callable, Iterator
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING

from bot.language.answers.passages import PAGE_BREAK
from bot.language.flow.documents import Source, plain_text
from bot.language.steps.knowledge import UnreadableDocument

if TYPE_CHECKING:
    import docx.document

MOST_PAGES = 500  # of a PDF
_INSTALL = "needs a library that is not installed"
_EXTRA = "pip install 'bot-flows[knowledge]'"


def document_text(source: Source) -> str:
    """The text of a document; between the pages of a PDF stands `PAGE_BREAK`. Raises `UnreadableDocument`."""
    read = next((reader for end, reader in _READERS.items() if source.path.endswith(end)), None)
    return plain_text(source) if read is None else read(source.text)


@lru_cache(maxsize=256)
def _pdf(content: bytes) -> str:
    try:
        from pypdf import PdfReader
        from pypdf.errors import FileNotDecryptedError
    except ImportError:
        raise UnreadableDocument(_INSTALL, _EXTRA) from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of what it has put right
    try:
        reader = PdfReader(BytesIO(content))
        if (pages := len(reader.pages)) <= MOST_PAGES:
            return f"\n\n{PAGE_BREAK}".join(page.extract_text() for page in reader.pages)
    except FileNotDecryptedError:
        raise UnreadableDocument("is encrypted", "save it without a password") from None
    except Exception as error:  # a broken file makes it raise nearly anything
        raise _broken(error) from None
    raise UnreadableDocument(f"has {pages} pages, {MOST_PAGES} are possible", "divide it")


@lru_cache(maxsize=256)
def _docx(content: bytes) -> str:
    try:
        import docx
    except ImportError:
        raise UnreadableDocument(_INSTALL, _EXTRA) from None
    try:
        return "\n\n".join(_blocks(docx.Document(BytesIO(content))))
    except Exception as error:  # as above
        raise _broken(error) from None


def _blocks(document: "docx.document.Document") -> Iterator[str]:
    """The paragraphs and tables of a document; headings as in Markdown."""
    from docx.table import Table

    for block in document.iter_inner_content():
        if isinstance(block, Table):
            yield "\n".join(" | ".join(cell.text.strip() for cell in row.cells) for row in block.rows)
            continue
        style = (block.style.name if block.style is not None else None) or ""
        level = style.removeprefix("Heading ") if style.startswith("Heading ") else "1" if style == "Title" else ""
        yield f"{'#' * min(int(level), 6)} {block.text}" if level.isdecimal() and block.text.strip() else block.text


def _broken(error: Exception) -> UnreadableDocument:
    return UnreadableDocument(f"cannot be read ({type(error).__name__})", "save it anew, or leave it out")


_READERS: dict[str, Callable[[bytes], str]] = {".pdf": _pdf, ".docx": _docx}
