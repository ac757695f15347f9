"""A lazy pattern is compiled at its first use, and is as the compiled one then."""

import re
import subprocess
import sys

import pytest

from bot.core.lazy_patterns import lazy_pattern, unicode_pattern


def test_it_finds_what_the_compiled_pattern_finds() -> None:
    lazy, compiled = (
        lazy_pattern("(?P<cups>[0-9]+) CUPS", re.IGNORECASE),
        re.compile("(?P<cups>[0-9]+) CUPS", re.IGNORECASE),
    )
    text = "12 cups, then 3 cups"
    assert lazy.findall(text) == compiled.findall(text) == ["12", "3"]
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)
    assert lazy.sub("tea", text) == "tea, then tea"


def test_it_reads_bytes_and_what_only_regex_knows() -> None:
    assert lazy_pattern(rb"[0-9]+").findall(b"12 cups") == [b"12"]
    assert unicode_pattern(r"\p{Lu}\p{Ll}+").findall("Ärger mit Ann") == ["Ärger", "Ann"]


def test_it_is_compiled_at_the_first_use_and_once() -> None:
    wrong = lazy_pattern("(")
    with pytest.raises(re.error):
        wrong.match("")
    right = lazy_pattern("[0-9]")
    assert right.match("1") and right.match is right.match


def test_importing_the_language_imports_no_regex() -> None:
    code = "import sys, bot.language.flow.library; sys.exit('regex' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
