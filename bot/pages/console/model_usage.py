"""The view of model usage: the tokens that models have used, by day, flow, model or contact, and how judges find their
answers.
"""

from collections import Counter
from datetime import UTC, datetime, time
from functools import partial

from flask import render_template, request

from bot.language.steps.judging import VERDICTS
from bot.pages.console.charts import SPANS, bar, bars_by_day, chosen_days, longest
from bot.pages.console.page_formats import reads, sealed
from bot.pages.console.routes import Console, Route
from bot.pages.console.users import VIEWER, User
from bot.store.count_rows import USAGE_BY
from bot.store.results import judged_answers

MOST = 100
"""The most rows that are shown."""
MOST_WRONG = 10
"""The most examples of answers that judges have found wrong."""
COUNTED = ("answers", "prompt_tokens", "completion_tokens", "estimated")
PARTS = PROMPT, COMPLETION = "prompt", "completion"


def usage(console: Console, user: User) -> str:
    """The page with the numbers of `bot usage`."""
    days = chosen_days(console.clock.now())
    by = request.args.get("by", "day")
    by = by if by in USAGE_BY else "day"
    since = datetime.combine(days[0], time(), UTC)
    sums = console.cached(("usage", since, by), lambda: console.reader.usage.sums(since, by))
    if by == "contact" and not reads():  # the order of equal sums would tell of the numbers
        sums = sorted(sums, key=lambda each: (-each.prompt_tokens - each.completion_tokens, sealed(each.name)))
    shown = sums if by == "day" else sums[:MOST]
    tokens = {each.name: {PROMPT: each.prompt_tokens, COMPLETION: each.completion_tokens} for each in shown}
    judged = judged_answers(console.cached(("results", since), lambda: console.reader.results(since)))
    verdicts: dict[str, Counter[str]] = {}
    for each in judged:
        for day, found in each.days.items():
            verdicts.setdefault(day, Counter()).update(found)
    return render_template(
        "usage.html",
        judged=judged,
        verdicts=VERDICTS,
        judged_by_day=bars_by_day(verdicts, days, VERDICTS),
        wrong=console.cached("judged_wrong", lambda: console.reader.trace.judged_wrong(MOST_WRONG)) if judged else (),
        spans=SPANS,
        days=len(days),
        all_by=USAGE_BY,
        by=by,
        sums=shown,
        left_out=len(sums) - len(shown),
        total=[sum(getattr(each, of) for each in sums) for of in COUNTED],
        by_day=bars_by_day(tokens, days, PARTS) if by == "day" else [],
        tokens=tokens,
        bar=partial(bar, parts=PARTS, most=longest(tokens.values(), PARTS)),
        parts=PARTS,
    )


ROUTES = (Route("/usage", usage, VIEWER, title="Usage"),)
