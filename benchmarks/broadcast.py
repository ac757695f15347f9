"""An hour of replies beside an endless broadcast, simulated: ``python -m benchmarks.broadcast``.

Delivery and the emulated gateway with its limits are real, the time is not: no figure depends on this machine.
"""

import argparse
from datetime import timedelta

from tests.runtime.hours import Report, simulate

RESERVES = (10, 0)
WINDOWS = ("sliding", "fixed")


def main() -> None:
    """Run it for every kind of window, with the reserve and without."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--replies", type=int, default=30, help="a minute, at random times")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for window in WINDOWS:
        for reserve in RESERVES:
            report = simulate(
                timedelta(minutes=given.minutes), window, reserve=reserve, replies=given.replies, seed=given.seed
            )
            print(f"{window:8} window, reserve {reserve:2}: {_told(report)}")


def _told(report: Report) -> str:
    waits = (
        f"p50 {report.waits[len(report.waits) // 2]:.1f} s, p99 {report.p99:.1f} s, longest {report.waits[-1]:.1f} s"
    )
    return f"{report.used:.0%} of the limit used, {report.refused} refused; {len(report.waits)} replies waited {waits}"


if __name__ == "__main__":
    main()
