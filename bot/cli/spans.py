"""Spans of time, as people write them on a command line."""

from datetime import timedelta

import click

from bot.lang import wall_clock


def span(ctx: click.Context, option: click.Parameter, value: str | None) -> timedelta | None:
    """The callback of an option that takes a duration; None where it is not given."""
    if value is None:
        return None
    found = wall_clock.parse_duration(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no duration: write one such as 12h, 7d or 4w")
    return found
