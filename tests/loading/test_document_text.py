"""The texts of documents: of PDF with its pages, of DOCX with its headings; broken ones say what to do."""

import builtins
from io import BytesIO
from typing import Any

import docx
import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from bot.language.flow.documents import Source
from bot.language.steps.knowledge import UnreadableDocument
from bot.loading.document_text import document_text


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF with a line of text on each page."""
    writer, written = PdfWriter(), BytesIO()
    font = DictionaryObject({NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1"),
                             NameObject("/BaseFont"): NameObject("/Helvetica")})  # fmt: skip
    for text in pages:
        page, stream = writer.add_blank_page(300, 300), DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(written)
    return written.getvalue()


def word() -> bytes:
    document, written = docx.Document(), BytesIO()
    document.add_heading("House rules", 0)
    document.add_heading("Pets", 1)
    document.add_paragraph("Dogs may stay.")
    table = document.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Dog", "10 euros"
    document.save(written)
    return written.getvalue()


def test_between_the_pages_of_a_pdf_stands_a_page_break() -> None:
    first, second = document_text(Source("a.pdf", pdf("Bring the receipt", "Within 30 days"))).split("\f")
    assert (first.strip(), second.strip()) == ("Bring the receipt", "Within 30 days")


def test_a_pdf_without_text_has_none() -> None:
    assert document_text(Source("a.pdf", pdf("", ""))).strip() == ""


def test_a_docx_has_its_headings_and_the_rows_of_its_tables() -> None:
    text = document_text(Source("a.docx", word()))
    assert text == "# House rules\n\n# Pets\n\nDogs may stay.\n\nDog | 10 euros"


def test_markdown_and_text_stay_as_they_are() -> None:
    assert document_text(Source("a.md", "# Ü".encode())) == "# Ü"
    assert document_text(Source("a.txt", b"\xff")) == "\ufffd"


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.pdf", b"%PDF-1.7 and no more", "cannot be read (PdfStreamError)"),
        ("a.pdf", b"", "cannot be read (EmptyFileError)"),
        ("a.pdf", pdf("Secret", password="x"), "is encrypted"),
        ("a.docx", b"PK\x03\x04", "cannot be read (BadZipFile)"),
        ("a.pdf", pdf(*["x"] * 501), "has 501 pages, 500 are possible"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, content: bytes, what: str) -> None:
    with pytest.raises(UnreadableDocument) as raised:
        document_text(Source(name, content))
    assert str(raised.value) == what


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] in ("pypdf", "docx"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    for name in ("b.pdf", "b.docx"):
        with pytest.raises(UnreadableDocument, match="not installed") as raised:
            document_text(Source(name, b"other"))
        assert raised.value.fix == "pip install 'bot-flows[knowledge]'"
