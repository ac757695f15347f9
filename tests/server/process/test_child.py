"""What a child of the supervisor's does with the pipes that it was given."""

import os

from bot.server.process.child import tell


def test_news_that_finds_a_full_pipe_is_known_already() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    tell(write, b"x")
    while True:
        try:
            os.write(write, bytes(4096))
        except BlockingIOError:
            break
    tell(write, b"x")
    assert os.read(read, 1) == b"x"
    os.close(read)
    os.close(write)


def test_a_pipe_whose_other_end_is_gone_ends_nobody() -> None:
    read, write = os.pipe()
    os.close(read)
    tell(write, b"x")
    os.close(write)
