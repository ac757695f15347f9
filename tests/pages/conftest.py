"""A browser for the tests of pages, whose templates are compiled once, not once more for each test."""

from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from tests.browsing import browser, opens_page  # noqa: F401


class _Compiled(BytecodeCache):
    """Compiled templates, by name and text."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if kept := self._kept.get((bucket.key, bucket.checksum)):
            bucket.bytecode_from_string(kept)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key, bucket.checksum] = bucket.bytecode_to_string()


Flask.jinja_options = {"bytecode_cache": _Compiled()}
