"""What the models used up, in the engine's file."""

from dataclasses import dataclass

from bot.core.values import LEAST_COUNTED

ADD = """
    INSERT INTO usage (at, contact, flow, model, prompt_tokens, completion_tokens, estimated) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
TOKENS = f"SELECT coalesce(sum(max(prompt_tokens + completion_tokens, {LEAST_COUNTED})), 0) FROM usage WHERE at >= ?"
TOKENS_OF = TOKENS + " AND contact = ?"
_SUMS = """
    SELECT {of} AS name, count(*), sum(prompt_tokens), sum(completion_tokens), sum(estimated) FROM usage
    WHERE at >= ? GROUP BY name ORDER BY {order}, name
"""
_MOST_FIRST = "sum(prompt_tokens + completion_tokens) DESC"
SUMS_BY = {
    "contact": _SUMS.format(of="iif(contact = '', 'erased', contact)", order=_MOST_FIRST),
    "flow": _SUMS.format(of="flow", order=_MOST_FIRST),
    "model": _SUMS.format(of="model", order=_MOST_FIRST),
    "day": _SUMS.format(of="substr(at, 1, 10)", order="name"),
}
USAGE_BY = tuple(SUMS_BY)
"""What usage can be summed up by."""


@dataclass(frozen=True, slots=True)
class UsageSum:
    """The tokens that one contact, flow, model or day (UTC) used up; for ``estimated`` of the answers nobody counted."""

    name: str
    answers: int
    prompt_tokens: int
    completion_tokens: int
    estimated: int
