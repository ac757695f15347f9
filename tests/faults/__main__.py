"""``python -m tests.faults [WORDS]``: the table of all faults, or of those with these words in their names."""

import sys
from time import monotonic

from tests.faults.harness import PROMISES
from tests.faults.table import FAULTS


def main() -> int:
    """Print a row when it is measured. Returns 1 if a promise was broken."""
    words = " ".join(sys.argv[1:])
    print("| Fault | " + " | ".join(PROMISES) + " |", "|---" * (len(PROMISES) + 1) + "|", sep="\n", flush=True)
    broken, began = 0, monotonic()
    for fault in FAULTS:
        if words in fault.name:
            row = fault.run()
            broken += sum(cell.ok is False for cell in row.values())
            print(f"| {fault.name} | " + " | ".join(map(str, row.values())) + " |", flush=True)
    print(f"\npromises broken: {broken}; {monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if broken else 0


sys.exit(main())
