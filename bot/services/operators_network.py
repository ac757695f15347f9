"""The operator's network: the certificates and proxies that the environment names (docs/going-live.md), and why there
is no connection.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import certifi
import pycurl

from bot.core.networks import is_this_machine

HOW_TO_NAME_A_PROXY = "write HTTPS_PROXY (HTTP_PROXY, ALL_PROXY) like http://proxy.example:3128"
_CERTIFICATES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")


def trusted(environment: Mapping[str, str]) -> dict[int, Any]:
    """The trusted certificates: REQUESTS_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR together, else certifi's.

    The system may have none.
    """
    places = list(dict.fromkeys(place for name in _CERTIFICATES if (place := environment.get(name))))
    folders = [place for place in places if Path(place).is_dir()]
    files = [place for place in places if place not in folders] or ([] if folders else [certifi.where()])
    options: dict[int, Any] = {}
    if folders:
        options |= dict.fromkeys((pycurl.CAPATH, pycurl.PROXY_CAPATH), os.pathsep.join(folders))
    unread = [file for file in files if not os.access(file, os.R_OK)]
    if len(files) == 1 or unread:  # libcurl says what is wrong with it
        options |= dict.fromkeys((pycurl.CAINFO, pycurl.PROXY_CAINFO), [*unread, *files][0])
    elif files:
        together = b"\n".join(Path(file).read_bytes() for file in files)
        options |= dict.fromkeys((pycurl.CAINFO_BLOB, pycurl.PROXY_CAINFO_BLOB), together)
    return options


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for an address, if any; this machine itself is never behind one."""
    if is_this_machine(urlsplit(url).hostname or ""):
        return None
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from requests.utils import get_environ_proxies, select_proxy  # 100 ms, which few need to spend

    proxy = select_proxy(url, get_environ_proxies(url))
    return (proxy if "://" in proxy else f"http://{proxy}") if proxy else None


def is_proxy(url: str) -> bool:
    """True if this can be the address of a proxy."""
    try:
        parts = urlsplit(url)
        return parts.scheme in _PROXIES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


# -- what libcurl's errors mean --------------------------------------------------------------------

CERTIFICATE_REFUSED = "its certificate is refused"
_UNKNOWN_AUTHORITY = (
    "it is signed by an authority that is not known here",
    "if the authority is your own, or your network's: set SSL_CERT_FILE to a file with its certificate (PEM)",
)
_SELF_SIGNED = (
    "it is self-signed",
    "if it is meant so: set SSL_CERT_FILE to a file with this certificate, or its authority's (PEM)",
)
_OTHER_NAME = ("it is for another name", "use the name that the certificate is for, or have it renewed for this one")
_CERTIFICATE_FAULTS = {
    9: ("it is not valid yet", "set this machine's clock, or wait until it is"),
    10: ("it has expired", "have it renewed; if it has been, set this machine's clock"),
    18: _SELF_SIGNED,
    19: _SELF_SIGNED,
    20: _UNKNOWN_AUTHORITY,
    21: _UNKNOWN_AUTHORITY,
    62: _OTHER_NAME,
    64: _OTHER_NAME,
}
"""The reasons why a certificate is refused, and what to do, by OpenSSL's number for it (X509_V_ERR_...)."""

_WORDS = {
    pycurl.E_OPERATION_TIMEDOUT: "timed out",
    pycurl.E_GOT_NOTHING: "the connection was closed before an answer",
    pycurl.E_PARTIAL_FILE: "the answer was cut off",
    pycurl.E_SEND_FAIL_REWIND: "the connection was closed before an answer",
    pycurl.E_UNSUPPORTED_PROTOCOL: "the answer is no HTTP",
    pycurl.E_BAD_CONTENT_ENCODING: "the answer is compressed in a way that cannot be read",
    8: "the answer is no HTTP",
    100: "the answer's headers are too large",
}
_MORE_THREADS = "give it more memory, or raise the limit of threads (TasksMax, ulimit -u)"
_NOT_TLS = ("wrong version number", "http request", "unknown protocol", "packet length too long")


def in_words(curl: Any, code: int) -> str:
    """An error of libcurl in words of our own, because its texts quote addresses."""
    number = curl.getinfo(pycurl.OS_ERRNO)
    if code in _WORDS:
        return _WORDS[code]
    return os.strerror(number) if number else f"libcurl's error {code}"


def why_no_connection(curl: Any, code: int, text: str, peer: str, proxy: str | None) -> tuple[str, str]:
    """The reason why there was no connection, and what the operator can do; empty where that depends on the address
    alone.
    """
    refused = curl.getinfo(pycurl.HTTP_CONNECTCODE)
    if proxy is not None:
        place = urlsplit(proxy).netloc.rpartition("@")[2]
        if refused and refused // 100 != 2:
            return _of_proxy(place, peer.partition(":")[0], refused)
        if code == pycurl.E_COULDNT_RESOLVE_PROXY or (code == pycurl.E_COULDNT_CONNECT and not refused):
            why = "its name is not found" if code == pycurl.E_COULDNT_RESOLVE_PROXY else in_words(curl, code)
            return f"the proxy {place} is not reached: {why}", "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
    host = urlsplit(f"//{peer}").hostname
    if code == pycurl.E_COULDNT_RESOLVE_HOST and "thread failed to start" in text:
        return f"{host} is not looked up: this machine can start no more threads now", _MORE_THREADS
    if code == pycurl.E_COULDNT_RESOLVE_HOST:
        return f"{host} is not found", ""
    if code == pycurl.E_OPERATION_TIMEDOUT and not curl.getinfo(pycurl.NAMELOOKUP_TIME):
        return f"no name server has answered for {host} in time", ""
    if code == pycurl.E_PEER_FAILED_VERIFICATION:
        number = curl.getinfo(pycurl.SSL_VERIFYRESULT) or curl.getinfo(pycurl.PROXY_SSL_VERIFYRESULT)
        other = (f"OpenSSL's error {number}", "have it replaced")
        why, advice = _OTHER_NAME if "subject name" in text else _CERTIFICATE_FAULTS.get(number, other)
        return f"{CERTIFICATE_REFUSED}: {why}", advice
    if code in (pycurl.E_SSL_CACERT_BADFILE, pycurl.E_SSL_CERTPROBLEM):
        words = "the file with the certificates that are trusted cannot be read, or has none"
        return words, "correct REQUESTS_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR"
    if code == pycurl.E_SSL_CONNECT_ERROR:
        if any(words in text for words in _NOT_TLS):
            return "it does not speak TLS", "check the port, and whether the address begins with http://"
        return f"TLS fails: {text.rpartition(':')[2].strip()}", ""
    return in_words(curl, code), ""


def _of_proxy(proxy: str, host: str, status: int) -> tuple[str, str]:
    if status == 407:
        return (
            f"the proxy {proxy} wants a name and a password (407)",
            "write them into HTTPS_PROXY: http://name:password@proxy.example:3128",
        )
    return (
        f"the proxy {proxy} refuses to connect to it ({status})",
        f"have {host} allowed there; or, where it is reached without a proxy, add it to NO_PROXY",
    )
