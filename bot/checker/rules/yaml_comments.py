"""W001, W002: comments that allow nothing or give no reason.

W003, W004: texts that a customer gets otherwise than their author meant, because of a comment or of single braces.
"""

from collections.abc import Iterable, Iterator

from bot.checker.findings import TITLES, Finding, declare, rule
from bot.checker.graph import Graph
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.templates import Template
from bot.language.flow.definition import Flow, uses_of_bot, uses_of_flow
from bot.language.flow.documents import Source
from bot.language.flow.library import Library
from bot.language.source.problems import Mark
from bot.language.source.yaml_tree import Comment, comments

_PERHAPS_CUT = lazy_pattern(rb"[ \t]#(?:[^\s#]| ?\d)")  # most files have no such line, and are not parsed again
# #5, #offer, # 5; other comments have a space and then words:
_LIKE_TEXT = lazy_pattern(r"#(?!allow\s)[^\s#!]|# \d+\W*$")
_Line = tuple[str, int]


@rule(W003="a comment that may be a part of the text before it")
def find_cut_texts(graph: Graph) -> Iterator[Finding]:
    """Find texts without quotes that are followed by a comment which begins like a number or a hashtag."""
    texts: dict[_Line, list[Template]] = {}
    for _, text in _texts(graph.library):
        texts.setdefault((text.mark.path, text.mark.line), []).append(text)
    for source in graph.sources:
        if _PERHAPS_CUT.search(source.text):
            written = source.text.decode("utf-8-sig")
            lines = written.splitlines()
            for comment in comments(source.path, written):
                before = lines[comment.mark.line - 1][: comment.mark.column - 1]
                if _LIKE_TEXT.match(comment.text):
                    yield from _cut(comment, before, texts.get((source.path, comment.mark.line), ()))


def _cut(comment: Comment, before: str, texts: Iterable[Template]) -> Iterator[Finding]:
    for text in texts:
        if before[text.mark.column - 1 :].rstrip() == text.source:
            what = f'"{text.source}" ends here: "{comment.text}" is a comment to YAML'
            fix = "put the whole text in quotes; if it is a comment, begin it with # and a space"
            yield Finding.at("W003", comment.mark, what, fix)
            return


_SINGLE_BRACES = lazy_pattern(r"\$?(?<!\{)\{ *([a-z]\w*)((?:\.\w+)*) *\}{1,2}(?!\})")  # {name}, ${name}, {order.number}


@rule(W004="a value in single braces")
def find_single_braces(graph: Graph) -> Iterator[Finding]:
    """Find texts with the name of a variable in single braces, as other tools write values."""
    for flow, text in _texts(graph.library):
        known = {"contact"} if flow is None else {"contact", *flow.variables}
        for found in _SINGLE_BRACES.finditer(text.source):
            if found[1] in known:
                what = f'"{found[0]}" is sent as it stands here, and not the value of "{found[1]}"'
                yield Finding.at("W004", text.mark, what, f'write "{{{{ {found[1]}{found[2]} }}}}"')


def _texts(library: Library) -> Iterator[tuple[Flow | None, Template]]:
    """All texts that are sent, in every language, each with its flow; None for a text of ``bot.yml``."""
    for spoken in (library, *library.translations.values()):
        of_flows = ((flow, used) for flow in spoken.flows.values() for used in uses_of_flow(flow))
        for owner, used in (*((None, used) for used in uses_of_bot(spoken.bot)), *of_flows):
            if isinstance(used.text, Template):
                yield from ((owner, text) for text in used.text.wordings)


NEEDLESS, UNREASONED = "W001", "W002"
declare(W001="an allowance that allows nothing", W002="an allowance without a reason")
_PERHAPS_ALLOWED = lazy_pattern(rb"#[ \t]*allow[ \t]")  # most files have no such comment, and are not parsed again
_ALLOWANCE = lazy_pattern(r"#\s*allow\s+(?P<codes>[A-Z]\d{3}(?:\s*,\s*[A-Z]\d{3})*)\b\s*(?P<colon>:?)\s*(?P<reason>.*)")
_CODE = lazy_pattern(r"[A-Z]\d{3}")

_Key = tuple[str, int, str]


@immutable
class _Allowance:
    """A comment that allows findings of some codes in one line."""

    mark: Mark
    line: int
    codes: tuple[tuple[str, Mark], ...]
    reasoned: bool

    def keys(self) -> set[_Key]:
        """The keys of the findings that it allows."""
        return {(self.mark.path, self.line, code) for code, _ in self.codes}


def without_allowed(findings: Iterable[Finding], sources: Iterable[Source]) -> list[Finding]:
    """The findings that no comment allows, and findings about the comments themselves."""
    found = list(findings)
    there = {_key(finding) for finding in found}
    allowances = [allowance for source in sources for allowance in _allowances(source)]
    allowed: set[_Key] = set().union(*(allowance.keys() for allowance in allowances))
    left = [finding for finding in found if _key(finding) not in allowed]
    return left + [finding for allowance in allowances for finding in _amiss(allowance, there)]


def _key(finding: Finding) -> _Key:
    return finding.path, finding.line, finding.code


def _allowances(source: Source) -> Iterator[_Allowance]:
    if not _PERHAPS_ALLOWED.search(source.text):
        return
    every = list(comments(source.path, source.text.decode("utf-8-sig")))
    alone = {comment.mark.line for comment in every if comment.alone}
    for comment in every:
        if (written := _ALLOWANCE.match(comment.text)) is not None:
            line = comment.mark.line
            while line in alone:  # several comments may stand above a line, and a reason may continue below
                line += 1
            reasoned = bool(written["colon"] and written["reason"])
            yield _Allowance(comment.mark, line, tuple(_codes(comment, written.end("codes"))), reasoned)


def _codes(comment: Comment, end: int) -> Iterator[tuple[str, Mark]]:
    path, line, column = comment.mark.position
    for code in _CODE.finditer(comment.text, 0, end):
        yield code[0], Mark(path, line, column + code.start())


def _amiss(allowance: _Allowance, there: set[_Key]) -> Iterator[Finding]:
    """The findings about an allowance: it has no reason, or allows nothing."""
    for code, mark in allowance.codes:
        if code not in TITLES or code in (NEEDLESS, UNREASONED):
            yield Finding.at(NEEDLESS, mark, f"{code} cannot be allowed", "docs/checks lists the codes")
        elif (mark.path, allowance.line, code) not in there:
            what = f"{code} is allowed, but line {allowance.line} has no such finding"
            yield Finding.at(NEEDLESS, mark, what, "remove the comment, or move it to the line of the finding")
    if not allowance.reasoned:
        codes = ", ".join(code for code, _ in allowance.codes)
        fix = f"write the reason after a colon: # allow {codes}: the reason"
        yield Finding.at(UNREASONED, allowance.mark, f"{codes} is allowed without a reason", fix)
