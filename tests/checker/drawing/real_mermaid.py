"""The real Mermaid, which reads what is written for it."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.tools import MERMAID, NODE_MODULES

_ESCAPED = re.compile(r"ﬂ°°(\d+)¶ß")


@dataclass(frozen=True)
class Read:
    """A chart as Mermaid has read it: the text and the classes of each box, and each line."""

    boxes: dict[str, tuple[str, list[str]]]
    lines: list[tuple[str, str, str]]


def read_by_mermaid(texts: Sequence[str]) -> list[Read]:
    """The result of Mermaid for each text. It must be able to read them all."""
    MERMAID.require()
    program = Path(__file__).with_name("mermaid.cjs")
    environment = {**os.environ, "NODE_PATH": str(NODE_MODULES)}
    run = subprocess.run(
        ["node", program], input=json.dumps(texts), capture_output=True, text=True, env=environment, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return [_read(found, text) for found, text in zip(json.loads(run.stdout), texts, strict=True)]


def _read(found: dict[str, list[list[str]]], text: str) -> Read:
    assert "error" not in found, f"{found}\n{text}"
    boxes = {name: (_plain(label), list(classes)) for name, label, classes in found["boxes"]}
    return Read(boxes, [(start, end, _plain(label)) for start, end, label in found["lines"]])


def _plain(label: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1])), label)
