"""Text from outside, made fit to be kept."""

KEPT_CHARACTERS = 64 * 1024


def clean(text: str, limit: int = KEPT_CHARACTERS) -> str:
    """The text without NULs, with U+FFFD for halves of surrogate pairs, and cut at ``limit`` characters."""
    text = text[:limit].replace("\0", "")
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
