"""The report of `bot check` for programs: as JSON, and as SARIF 2.1.0, which code reviews take."""

import hashlib
from collections import Counter
from typing import Any
from urllib.parse import quote

from bot import __version__
from bot.cli.report import Entry, Report
from bot.cli.report_pages import TITLES, page
from bot.lang.problems import CODES

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def objects(report: Report) -> list[dict[str, Any]]:
    """An object for each problem and finding.

    ``confirmed``: that it goes wrong was seen, as it is of each problem and of a finding with a talk.
    """
    return [_object(entry, report.talk(entry)) for entry in report.entries]


def _object(entry: Entry, talk: tuple[str, ...]) -> dict[str, Any]:
    return {
        "path": entry.path,
        "line": entry.line,
        "column": entry.column,
        "code": entry.code,
        "what": entry.what,
        "fix": entry.fix,
        "talk": talk,
        "confirmed": entry.code in CODES or bool(talk),
    }


def sarif(report: Report) -> dict[str, Any]:
    """A SARIF log with one run. Paths are relative to where the command was called: to a repository's top, there."""
    codes = sorted({entry.code for entry in report.entries})
    driver = {"name": "bot check", "semanticVersion": __version__, "rules": [_rule(code) for code in codes]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": _results(report, codes)}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    explained = page(code)
    return {
        "id": code,
        "shortDescription": {"text": TITLES[code]},
        "help": {"text": explained, "markdown": explained},
        "defaultConfiguration": {"level": _level(code)},
    }


def _level(code: str) -> str:
    return "error" if code in CODES else "warning"


def _results(report: Report, codes: list[str]) -> list[dict[str, Any]]:
    known: Counter[str] = Counter()
    results = []
    for entry in report.entries:
        mark = _fingerprint(entry)
        known[mark] += 1
        results.append(_result(entry, codes.index(entry.code), f"{mark}:{known[mark]}"))
    return results


def _result(entry: Entry, rule: int, fingerprint: str) -> dict[str, Any]:
    region = {"startLine": entry.line, "startColumn": entry.column, "endColumn": entry.column + entry.width}
    place = {"artifactLocation": {"uri": quote(entry.path)}, "region": region}
    return {
        "ruleId": entry.code,
        "ruleIndex": rule,
        "level": _level(entry.code),
        "message": {"text": f"{entry.what}: {entry.fix}" if entry.fix else entry.what},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"botCheck/v1": fingerprint},
    }


def _fingerprint(entry: Entry) -> str:
    """By what a result is known again when lines have come or gone above it."""
    known_by = "\0".join((entry.path, entry.code, entry.what, entry.text.strip()))
    return hashlib.sha256(known_by.encode("utf-8", "replace")).hexdigest()[:16]
