"""What a file is by its content, whatever it is called."""

import io
import zipfile

import pytest

from bot.core.filetypes import END, FILE_TYPES, type_of
from bot.core.messages import MEDIA_KINDS, MEDIA_SUFFIXES


def zipped(*names: str, filler: int = 0) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("docProps/app.xml", b"x" * filler)
        for name in names:
            archive.writestr(name, b"<x/>")
    return file.getvalue()


def suffix_of(content: bytes) -> str | None:
    found = type_of(content[:END], content[-END:])
    return None if found is None else found.suffix


@pytest.mark.parametrize(
    ("content", "suffix"),
    [
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "jpg"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "png"),
        (b"ID3\x04\x00", "mp3"),
        (b"\xff\xfb\x90\x64", "mp3"),
        (b"OggS\x00\x02", "ogg"),
        (b"#!AMR\n", "amr"),
        (b"#!AMR-WB\n", "amr"),
        (b"\xff\xf1\x50\x80\x2e\x7f\xfc\x01\x00", "aac"),
        (b"\xff\xf9\x50\x80", "aac"),
        (b"\x00\x00\x00\x1cftypM4A \x00\x00\x00\x00M4A mp42isom", "m4a"),
        (b"\x00\x00\x00\x18ftyp3gp4\x00\x00\x00\x003gp4", "3gp"),
        (b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00", "mp4"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00", "mp4"),
        (b"%PDF-1.7\n", "pdf"),
        (zipped("[Content_Types].xml", "word/document.xml"), "docx"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "xlsx"),
        ("Grüße,\n\tAnna\r\n".encode(), "txt"),
        ("Grüße".encode("latin-1"), "txt"),
    ],
)  # fmt: skip
def test_a_type_that_the_gateway_takes_is_told_by_its_content(content: bytes, suffix: str) -> None:
    assert suffix_of(content) == suffix


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a\x01\x00",
        b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00",
        b"\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00",
        "Grüße".encode("utf-16"),
        b"MZ\x90\x00\x03",
        b"\x7fELF\x02\x01\x01\x00",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",  # an old Word document
        zipped("evil.exe"),
        zipped("word/document.xml"),
        zipped("[Content_Types].xml", "ppt/presentation.xml"),
    ],
)
def test_anything_else_is_none_of_them(content: bytes) -> None:
    assert suffix_of(content) is None


def test_a_large_office_document_is_told_by_the_list_at_its_end() -> None:
    assert suffix_of(zipped("word/document.xml", "[Content_Types].xml", filler=3 * END)) == "docx"


def test_a_recording_in_a_videos_container_is_audio_where_its_sender_says_so() -> None:
    content = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"
    assert [found.name for kind in ("audio", "video") if (found := type_of(content, b"", kind))] == [
        "audio/mp4",
        "video/mp4",
    ]
    assert type_of(b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", b"", "audio") is None


def test_the_types_that_are_sent_are_those_of_the_gateways_list_each_under_its_kind() -> None:
    sent = [found for found in FILE_TYPES if found.sent]
    for found in sent:
        assert found.suffix in MEDIA_SUFFIXES[found.kind]
    assert {found.kind for found in FILE_TYPES} == set(MEDIA_KINDS)
    assert {found.suffix for found in sent} == {s for all in MEDIA_SUFFIXES.values() for s in all} - {"jpeg"}
