"""Addresses below the bot's own: what was sealed is read again, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.own_addresses import FILES_VALID, FileAddress, OwnAddresses

AT = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
OURS = OwnAddresses("https://bot.example/", "a-key")


@pytest.mark.parametrize(
    "file",
    [
        FileAddress("menu.pdf", AT),
        FileAddress("photos/Käse & Brot.jpg", AT),
        FileAddress("bill.txt", AT, "6281234567890"),
        FileAddress("a.txt", AT, "user.name"),
    ],
)
def test_an_address_of_a_file_says_what_it_is_about_and_to_nobody_else(file: FileAddress) -> None:
    address = OURS.file(file, b"content") or ""
    assert address.startswith("https://bot.example/files/") and OURS.file_at(address) == file
    assert not file.made_for or file.made_for not in address
    assert OwnAddresses("https://bot.example", "another-key").file_at(address) is None
    assert OwnAddresses("https://other.example", "a-key").file_at(address) is None


def test_no_part_of_an_address_can_be_changed() -> None:
    address = OURS.file(FileAddress("menu.pdf", AT), b"content") or ""
    token, name = address.split("/")[-2:]
    assert OURS.read_file(token, name) is not None
    for other in (f"{token}=", token[:-1], "x" + token[1:], "", "é"):
        assert OURS.read_file(other, name) is None
    for other in ("menu.exe", "MENU.PDF", "", "../menu.pdf"):
        assert OURS.read_file(token, other) is None


def test_other_content_has_another_address_and_the_same_content_the_same() -> None:
    file = FileAddress("menu.pdf", AT)
    assert OURS.file(file, b"a") == OURS.file(file, b"a") != OURS.file(file, b"b")


def test_the_address_of_a_signal_is_none_of_a_file() -> None:
    token = (OURS.signal("files", "6281234567890", 1, 2) or "").rpartition("/")[2]
    assert OURS.read_signal("files", token) is not None and OURS.read_file(token, "x") is None


def test_it_expires() -> None:
    file = FileAddress("menu.pdf", AT)
    assert file.is_valid(AT + FILES_VALID) and not file.is_valid(AT + FILES_VALID + timedelta(seconds=1))


def test_without_a_public_address_there_is_none() -> None:
    assert OwnAddresses(None, "a-key").file(FileAddress("menu.pdf", AT), b"") is None
