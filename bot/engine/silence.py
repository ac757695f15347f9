"""Time: reminders, time-outs and waits. Only the active frame's clock runs (LANGUAGE, Time)."""

from datetime import datetime

from bot.engine.walk import Walk
from bot.engine.work import Work


def wake_at(work: Work) -> datetime | None:
    """When time will next mean something to the active step."""
    frame = work.session.frame
    if frame is None or frame.awaits is not None or work.session.agent is not None:
        return None
    times = (_reminder_at(work), _timeout_at(work), work.step.kind.wakes_at(frame.entered_at))
    return min((time for time in times if time is not None), default=None)


def take_time(walk: Walk) -> None:
    """Do what is due. A reminder wins a tie with the time-out, which counts from it, unless it is fixed."""
    work = walk.work
    frame, now = work.session.frame, work.event.at
    work.trace.rule = "nothing was due"
    if frame is None or frame.awaits is not None or work.session.agent is not None:
        return
    over, reminder = work.step.kind.wakes_at(frame.entered_at), _reminder_at(work)
    if over is not None and over <= now:
        work.trace.rule = "the wait is over"
        frame.entered_at = now  # one that leads to `again` counts from here
        walk.follow("then")
        return
    if reminder is not None and reminder <= now:
        visit = frame.visit
        frame.reminders += 1
        frame.silent_since = now
        work.trace.rule = f"reminder {frame.reminders}"
        walk.follow("remind")
        if work.session.frame is not frame or frame.visit != visit:
            return
    timeout = _timeout_at(work)
    if timeout is not None and timeout <= now:
        work.trace.rule = "time-out"
        frame.entered_at = frame.silent_since = now  # one that leads to `again` counts from here, fixed or not
        walk.follow("timeout", expired=True)


def _reminder_at(work: Work) -> datetime | None:
    frame, step = work.frame, work.step
    remind = step.defaults.remind if step.kind.waits else None
    if remind is None or remind.after is None or frame.reminders >= (remind.most or 1):
        return None
    return frame.silent_since + remind.after


def _timeout_at(work: Work) -> datetime | None:
    frame, step = work.frame, work.step
    timeout = step.defaults.timeout if step.kind.waits else step.riders.defaults.timeout
    if timeout is None or timeout.after is None:
        return None
    return (frame.entered_at if timeout.fixed else frame.silent_since) + timeout.after
