"""Which step, flow or file each finding belongs to."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.checker.drawing.drawing_model import BoxFinding
from bot.checker.findings import Finding
from bot.checker.rules import TITLES
from bot.flow.library import Library
from bot.lang.problems import Mark

Owner = tuple[str, str]
"""A flow and its step. Without a step it is the flow itself; without a flow the second part is a file."""


@dataclass
class FindingIndex:
    """The findings of a bot by step, flow and file."""

    _found: dict[Owner, list[BoxFinding]] = field(default_factory=dict)

    @classmethod
    def of(cls, library: Library, findings: Iterable[Finding]) -> "FindingIndex":
        """Assign each finding to the step or flow that contains its line, else to its file."""
        flags, owners = cls(), _owners(library)
        for finding in findings:
            owner = _owner(owners.get(finding.path, []), finding)
            text = f"{finding.what} ({finding.fix})" if finding.fix else finding.what
            flags._found.setdefault(owner, []).append(BoxFinding(finding.code, TITLES[finding.code], text))
        return flags

    def at_step(self, flow: str, step: str) -> tuple[BoxFinding, ...]:
        """The findings of a step."""
        return tuple(self._found.get((flow, step), ()))

    def at_flow(self, flow: str) -> tuple[BoxFinding, ...]:
        """The findings of a flow outside its steps."""
        return self.at_step(flow, "")

    def in_flow(self, flow: str) -> tuple[BoxFinding, ...]:
        """The findings of a flow and of its steps."""
        return tuple(flag for owner, flags in self._found.items() if owner[0] == flow for flag in flags)

    def elsewhere(self) -> Mapping[str, tuple[BoxFinding, ...]]:
        """The findings outside all flows, by file."""
        return {path: tuple(flags) for (flow, path), flags in self._found.items() if not flow}


Begins = tuple[Mark, Owner]


def _owners(library: Library) -> dict[str, list[Begins]]:
    """Where flows and steps begin in each file, in their order."""
    found: dict[str, list[Begins]] = {}
    for flow in library.flows.values():
        found.setdefault(flow.mark.path, []).append((flow.mark, (flow.name, "")))
        for step in flow.steps.values():
            found.setdefault(step.mark.path, []).append((step.mark, (flow.name, step.name)))
    return {path: sorted(begins, key=lambda each: _place(each[0])) for path, begins in found.items()}


def _owner(begins: list[Begins], finding: Finding) -> Owner:
    """The last flow or step that begins before the finding; a finding further left than its step belongs to the flow."""
    at = bisect_right(begins, (finding.line, finding.column), key=lambda each: _place(each[0]))
    if at == 0:
        return "", finding.path
    mark, (flow, step) = begins[at - 1]
    outside = finding.line > mark.line and finding.column < mark.column
    return flow, "" if outside else step


def _place(mark: Mark) -> tuple[int, int]:
    return mark.line, mark.column
