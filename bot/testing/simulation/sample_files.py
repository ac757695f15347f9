"""A small file of each type that contacts can send: its beginning, from which the type is recognised."""

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZipFile, ZipInfo


def _zipped(*names: str) -> bytes:
    """A zip archive of empty members: what an office document looks like from outside."""
    content = BytesIO()
    with ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(ZipInfo(name), b"")
    return content.getvalue()


_BOX = b"\0\0\0\x18ftyp"
SAMPLE_FILES: Mapping[str, bytes] = {
    "jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\xff\xd9",
    "png": b"\x89PNG\r\n\x1a\n",
    "mp3": b"ID3\x04\0\0\0\0\0\0",
    "ogg": b"OggS\0\x02" + bytes(22),
    "amr": b"#!AMR\n",
    "aac": b"\xff\xf1\x50\x80\x01\x7f\xfc",
    "m4a": _BOX + b"M4A \0\0\0\0M4A isom",
    "mp4": _BOX + b"mp42\0\0\0\0mp42isom",
    "3gp": _BOX + b"3gp4\0\0\0\x003gp4isom",
    "pdf": b"%PDF-1.4\n%%EOF\n",
    "docx": _zipped("[Content_Types].xml", "word/document.xml"),
    "xlsx": _zipped("[Content_Types].xml", "xl/workbook.xml"),
    "txt": b"Hello\n",
}
"""A small file of each type, by the suffix of its name."""
