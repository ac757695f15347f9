"""Getting files from addresses that somebody else gave: each is looked at by `bot.guard`, redirects too."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import monotonic

from bot.core.errors import BotError
from bot.guard import MOST_REDIRECTS, REDIRECTS, HostUnknown, Misled, Place, led_to
from bot.http import Http, HttpError, Oversized, Streamed

IDLE_SECONDS = 15.0
_PASSING = (408, 425, 429)


class NotFetched(BotError):
    """The file could not be got. ``again``: another try may help."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


class TooLarge(BotError):
    """The file has more bytes than are taken."""


class Downloads:
    """Gets files by http and https. Safe to use from many threads.

    What the gateway's own host serves is got wherever that is, inside our network too, and as the gateway is reached:
    the operator named it. Everything else is asked directly, and never with the environment's proxies or certificates.
    """

    def __init__(self, gateway_url: str) -> None:
        self._gateway = Place.of(gateway_url).server

    @contextmanager
    def open(self, url: str, *, most: int, seconds: float) -> Iterator[Iterator[bytes]]:
        """A file's bytes while they come, ``most`` of them at most and in ``seconds`` at most, redirects included.

        Raises `NotFetched` and `ValueTooLarge`, first of all itself, then from the bytes.
        """
        deadline = monotonic() + seconds
        inside = True
        try:
            for _ in range(MOST_REDIRECTS + 1):
                place = Place.of(url)
                inside = inside and place.server == self._gateway  # nobody leads back in from outside
                with _answer(place, inside, most, deadline) as answer:
                    if answer.status not in REDIRECTS:
                        yield _checked(answer, place, most)
                        return
                    url = led_to(url, answer.headers.get("location", ""))
        except Oversized as error:
            raise TooLarge(f"it has more than {most} bytes") from error
        except (HttpError, HostUnknown) as error:
            raise NotFetched(str(error), again=True) from error
        except Misled as error:
            raise NotFetched(str(error)) from error
        raise NotFetched(f"more than {MOST_REDIRECTS} redirects")


@contextmanager
def _answer(place: Place, inside: bool, most: int, deadline: float) -> Iterator[Streamed]:
    """The answer of the gateway's own host, if ``inside``, which is reached as the gateway is; else of a public one."""
    address = None if inside else place.public_address(_left(deadline))
    left = _left(deadline)
    with closing(Http(place.origin, seconds=left, connections=1, body_limit=most, address=address, own=inside)) as http:
        accepting = {"Accept": "*/*"}
        with http.stream("GET", place.target, None, accepting, idle_seconds=IDLE_SECONDS, seconds=left) as answer:
            yield answer


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise NotFetched("it was not there in time", again=True)
    return left


def _checked(answer: Streamed, place: Place, most: int) -> Iterator[bytes]:
    if answer.status != 200:
        again = answer.status in _PASSING or answer.status >= 500
        raise NotFetched(f"{place.host} answered {answer.status}", again=again)
    length = answer.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:18]) > most:
        raise TooLarge(f"it has more than {most} bytes")
    return answer.chunks
