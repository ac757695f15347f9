"""A small file of each type that contacts can send: its beginning, by which the type is told."""

import zlib
from collections.abc import Mapping


def _zipped(*names: str) -> bytes:
    """A zip archive of empty members: what an office document looks like from outside."""
    members, directory = b"", b""
    for name in names:
        fields = (
            b"\x14\0" + bytes(8) + zlib.crc32(b"").to_bytes(4, "little") + bytes(8) + len(name).to_bytes(2, "little")
        )
        directory += b"PK\x01\x02\x14\0" + fields + bytes(12) + len(members).to_bytes(4, "little") + name.encode()
        members += b"PK\x03\x04" + fields + bytes(2) + name.encode()
    counts = len(names).to_bytes(2, "little") * 2
    sizes = len(directory).to_bytes(4, "little") + len(members).to_bytes(4, "little")
    return members + directory + b"PK\x05\x06" + bytes(4) + counts + sizes + bytes(2)


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
"""By the suffix of the type's name."""
