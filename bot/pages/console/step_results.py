"""The view of results: how contacts have gone through a flow's steps, by day, and the ways of each split beside each
other.
"""

from datetime import date, timedelta
from functools import partial

from flask import Response, render_template, request

from bot.core.engine_requests import AskFlows
from bot.core.turn import ANSWERED, ENTERED, FAILED, LEFT, TIMED_OUT, WAYS
from bot.pages.console.charts import SPANS, bar, bars_by_day, chosen_days, longest
from bot.pages.console.routes import ActionRefused, Console, Route
from bot.pages.console.users import VIEWER, User
from bot.server.local_socket import NotRunning
from bot.store.count_rows import ResultCount
from bot.store.results import CountedAs, StepResults, answered_share, results_by_flow, results_csv, splits_of

LOST = TIMED_OUT, LEFT, FAILED
"""The parts that did not lead on."""
PARTS = ANSWERED, *LOST
"""The parts of a bar, from the left or from below. The rest of the entries still waits, or began on an earlier day."""


def results(console: Console, user: User) -> str:
    """The results of one flow, and of one of its steps by day."""
    days, rows = _asked(console)
    flows = results_by_flow(_names(console), rows, console.cached("waiting_at", console.reader.sessions.waiting_at))
    flow = request.args.get("flow", "")
    if flow not in flows:
        flow = next((name for name, steps in flows.items() if any(step.ways for step in steps)), next(iter(flows), ""))
    steps = flows.get(flow, [])
    step = next((each for each in steps if each.step == request.args.get("step")), steps[0] if steps else None)
    return render_template(
        "results.html",
        spans=SPANS,
        days=len(days),
        flows=list(flows),
        flow=flow,
        steps=steps,
        is_counted=any(each.ways or each.waiting for each in steps),
        most=longest((each.ways for each in steps), PARTS, ENTERED),
        splits=splits_of(steps),
        step=step,
        by_day=[] if step is None else bars_by_day(step.days, days, PARTS, ENTERED),
        ways=WAYS,
        lost=LOST,
        worst=max(steps, key=_lost, default=None) if any(map(_lost, steps)) else None,
        parts=PARTS,
        bar=partial(bar, parts=PARTS, whole=ENTERED),
        answered_share=answered_share,
    )


def _lost(step: StepResults) -> int:
    return sum(step.ways.get(way, 0) for way in LOST)


def results_file(console: Console, user: User) -> Response:
    """All that was counted in those days, as a CSV file."""
    days, rows = _asked(console)
    named = {"Content-Disposition": f'attachment; filename="results-{len(days)}-days.csv"'}
    return Response(results_csv(rows), content_type="text/csv; charset=utf-8", headers=named)


def _asked(console: Console) -> tuple[list[date], list[ResultCount]]:
    now = console.clock.now()
    days = chosen_days(now)
    return days, console.reader.results(now - timedelta(days=len(days) - 1))


def _names(console: Console) -> CountedAs:
    """The served flows with their steps in order; none while no engine answers: then the steps come as they were
    counted.
    """
    try:
        return console.ask(AskFlows()).flows
    except (ActionRefused, NotRunning):
        return {}


ROUTES = (
    Route("/results", results, VIEWER, title="Results"),
    Route("/results.csv", results_file, VIEWER),
)
