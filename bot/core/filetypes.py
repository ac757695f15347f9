"""The type of a file by its content: the types that the gateway takes (spec: "POST send-message"), and what phones
record.

The magic numbers of ten types are written here. There are two maintained libraries: one knew neither wide-band AMR
nor half of MP4's brands, the other did not tell DOCX from XLSX, and neither recognises plain text or a large DOCX.
"""

from bot.core.immutable import immutable

END = 64 << 10
"""The number of bytes at the beginning and at the end of a file that tell its type."""

_OFFICE = b"[Content_Types].xml"
_WHITESPACE = b"\t\n\f\r"
_CONTROLS = bytes(code for code in range(32) if code not in _WHITESPACE)


@immutable
class FileType:
    """A type of file: the kind of message that carries it, its name (``image/png``) and its usual suffix.

    ``sent`` says whether the gateway takes it for sending; the others only ever come from contacts.
    """

    kind: str
    name: str
    suffix: str
    sent: bool = True


JPEG = FileType("image", "image/jpeg", "jpg")
PNG = FileType("image", "image/png", "png")
MP3 = FileType("audio", "audio/mpeg", "mp3")
OGG = FileType("audio", "audio/ogg", "ogg")
AMR = FileType("audio", "audio/amr", "amr")
AAC = FileType("audio", "audio/aac", "aac", sent=False)
M4A = FileType("audio", "audio/mp4", "m4a", sent=False)
MP4 = FileType("video", "video/mp4", "mp4")
THREE_GP = FileType("video", "video/3gpp", "3gp", sent=False)
PDF = FileType("document", "application/pdf", "pdf")
DOCX = FileType("document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx")
XLSX = FileType("document", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx")
TXT = FileType("document", "text/plain", "txt")
FILE_TYPES = (JPEG, PNG, MP3, OGG, AMR, AAC, M4A, MP4, THREE_GP, PDF, DOCX, XLSX, TXT)

_BRANDS = {
    b"iso": MP4,
    b"mp4": MP4,
    b"avc1": MP4,
    b"M4V": MP4,
    b"MSNV": MP4,
    b"dash": MP4,
    b"M4A": M4A,
    b"3gp": THREE_GP,
}
_BEGINNINGS = (
    (b"\xff\xd8\xff", JPEG),
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"ID3", MP3),
    (b"OggS", OGG),
    (b"#!AMR", AMR),
    (b"%PDF-", PDF),
)


def type_of(start: bytes, end: bytes, kind: str = "") -> FileType | None:
    """The type of a file whose first and last `END` bytes these are; None if `FILE_TYPES` has no such type.

    ``kind`` is what its sender says that it is: a recording in MPEG-4 may have the brand of a video.
    """
    for beginning, found in _BEGINNINGS:
        if start.startswith(beginning):
            return found
    if start.startswith(b"PK\x03\x04"):
        return _office_type(start + end)
    if start[4:8] == b"ftyp":
        branded = next((_BRANDS[brand] for brand in _BRANDS if start[8:].startswith(brand)), None)
        return M4A if branded is not None and kind == "audio" else branded
    if _is_mp3_frame(start):
        return MP3
    if _is_aac_frame(start):
        return AAC
    return TXT if _is_text(start + end) else None


def _office_type(ends: bytes) -> FileType | None:
    """A zip whose list of members, which stands at its end, is that of a document or of a sheet."""
    if _OFFICE not in ends:
        return None
    return DOCX if b"word/" in ends else XLSX if b"xl/" in ends else None


def _is_mp3_frame(start: bytes) -> bool:
    """The header of a frame of layer III, for a file without tags."""
    if len(start) < 2 or start[0] != 0xFF:
        return False
    return start[1] & 0xE6 == 0xE2 and start[1] & 0x18 != 0x08


def _is_aac_frame(start: bytes) -> bool:
    """The header of a frame of AAC in a stream (ADTS)."""
    return len(start) > 1 and start[0] == 0xFF and start[1] & 0xF6 == 0xF0


def _is_text(ends: bytes) -> bool:
    """True for plain text in an encoding that contains ASCII: its only control characters end lines."""
    return bool(ends) and ends.translate(None, _CONTROLS) == ends
