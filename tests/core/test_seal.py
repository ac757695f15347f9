"""What is sealed is read by the same secret for the same purpose only, whatever its length."""

import pytest

from bot.core.seal import Seal


@pytest.mark.parametrize("length", [0, 1, 13, 32, 33, 20_000])
def test_what_was_sealed_is_opened_and_what_was_changed_is_not(length: int) -> None:
    seal, content = Seal(b"a secret"), b"x" * length
    raw = seal.sealed(b"paid", content)
    assert seal.opened(b"paid", raw) == content
    others = [raw[:-1], raw + b"x", raw[:5] + bytes([raw[5] ^ 1]) + raw[6:], b"", b"x" * 30_000]
    assert [seal.opened(b"paid", other) for other in others] == [None] * len(others)
    assert seal.opened(b"other", raw) is None and Seal(b"another secret").opened(b"paid", raw) is None
