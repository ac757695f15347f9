"""How many changes of the product's code the tests notice: ``python -m tests.mutation --seed 1 --sample 300``.

Works in a copy of the tree, in a folder outside of it; what has been tried there is not tried again.
"""

import argparse
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.mutation.mutants import PACKAGES, Mutant, sample

ROOT = Path(__file__).parent.parent.parent
LARGE = (
    "pytest",
    "hypothesis",
    "flask",
    "pydantic",
    "jinja2",
    "requests",
    "regex",
    "yaml",
    "httptools",
    "sqlite_utils",
)
SLOW = re.compile("killed|hours|random|kill|trouble|hostile")  # files that take many seconds: they come last
BESIDE = {"engine": ["language/steps"], "store": ["runtime", "server/web"], "server/web": ["server/process"]}
"""Folders whose tests see a package, too."""
SECONDS = (60, 180, 300, 300)  # that each batch of tests may take; a mutant that hangs is killed by that


def main() -> None:
    """Draw the sample, try each mutant, print the survivors and the rate."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=300, metavar="MUTANTS")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bot-mutation")
    parser.add_argument("--again", action="store_true", help="try those again that have survived or timed out")
    parser.add_argument("--nice", type=int, default=10, help="how far the tests stand back behind other work")
    parser.add_argument("--quick", action="store_true", help="leave the slow tests out, and those of the whole path")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    trees = [options.folder / f"tree-{number}" for number in range(options.workers)]
    for tree in trees:
        _copy(tree)
    if _run(trees[0], ["tests/core/test_clock.py"], SECONDS[0])[0] != "survived":
        sys.exit((trees[0] / "output").read_text())
    results = options.folder / "results.jsonl"
    known = _known(results)
    drawn = sample(trees[0], options.sample, options.seed)
    not_killed = {key for key, result in known.items() if result["end"] != "killed"}
    left = [mutant for mutant in drawn if mutant.key not in known or (options.again and mutant.key in not_killed)]
    for number, tree in enumerate(trees):
        if not os.fork():
            os.nice(options.nice)
            for mutant in left[number :: len(trees)]:
                _note(_try(mutant, tree, SECONDS[:2] if options.quick else SECONDS), results)
            os._exit(0)
    for _ in trees:
        os.wait()
    known = _known(results)
    ends = Counter(known[mutant.key]["end"] for mutant in drawn)
    for mutant in drawn:
        if known[mutant.key]["end"] != "killed":  # on a busy machine the time may have been too short, too
            print(f"\n{known[mutant.key]['end']}\n{mutant.diff}")
    print(f"{len(drawn)} tried: {dict(ends)}; {1 - ends['survived'] / len(drawn):.1%} killed")


def _known(results: Path) -> dict[str, dict[str, Any]]:
    lines = results.read_text().splitlines() if results.exists() else []
    return {result["key"]: result for result in map(json.loads, lines)}


def _note(result: dict[str, Any], results: Path) -> None:
    with results.open("a") as file:
        file.write(json.dumps(result) + "\n")
    print(
        f"{result['end']:9} {result['seconds']:4.0f} s  {result['path']}:{result['line']}  {result['by']}", flush=True
    )


def _copy(tree: Path) -> None:
    """Make ``tree`` what the work tree is now, with what is not committed."""
    listed = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True)
    kept = {tree / name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for path in tree.rglob("*.py"):
        if path not in kept:
            path.unlink()
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        original = ROOT / path.relative_to(tree)
        if not path.exists() or path.stat().st_mtime_ns != original.stat().st_mtime_ns:
            shutil.copy2(original, path)


def _try(mutant: Mutant, tree: Path, limits: Sequence[float]) -> dict[str, Any]:
    """Run the tests that can see the mutant, until one fails or none is left."""
    began = time.monotonic()
    path = tree / mutant.path
    original, stat = path.read_bytes(), path.stat()
    path.write_text(mutant.source)
    try:
        for tests, limit in zip(tests_of(mutant, tree), limits, strict=False):
            end, by = _run(tree, tests, limit) if tests else ("survived", "")
            if end != "survived":
                break
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    seconds = time.monotonic() - began
    return {
        "key": mutant.key,
        "end": end,
        "by": by,
        "seconds": seconds,
        "path": mutant.path,
        "line": mutant.line,
        "diff": mutant.diff,
    }


def tests_of(mutant: Mutant, tree: Path) -> tuple[list[str], list[str], list[str], list[str]]:
    """Files in four batches: three that speak most of the mutant, the package's own, its slow ones, the whole path's."""
    package = next(package for package in PACKAGES if mutant.path.startswith(f"bot/{package}/"))
    module = Path(mutant.path).stem
    tests = tree / "tests"
    own = [*(tests / package).glob("test_*.py")]
    for beside in BESIDE.get(package, []):
        own += (tests / beside).glob("test_*.py")
    whole = [*(tests / "paths").glob("test_*.py"), tests / "server" / "test_app.py"]
    words = re.compile(
        "|".join(
            rf"\b{word}\b" for word in [f"{package.replace('/', '.')}.{module}", *filter(None, mutant.name.split("."))]
        )
    )

    def rank(path: Path) -> tuple[bool, int, int]:
        text = path.read_text()
        return path.stem != f"test_{module}", -len(words.findall(text)), len(text)

    quick = sorted((path for path in set(own) if not SLOW.search(path.stem)), key=rank)
    slow = sorted(path for path in set(own) if SLOW.search(path.stem))
    return (
        _names(quick[:3], tree),
        _names(quick[3:], tree),
        _names(slow, tree),
        _names(whole, tree),
    )


def _names(paths: list[Path], tree: Path) -> list[str]:
    return [path.relative_to(tree).as_posix() for path in paths]


def _run(tree: Path, tests: list[str], limit: float) -> tuple[str, str]:
    """How it ended, and by which test. The process is forked: so the large libraries are imported once for all mutants."""
    for name in LARGE:
        importlib.import_module(name)
    output = tree / "output"
    child = os.fork()
    if not child:
        _be_tested(tree, tests, output)
    until = time.monotonic() + limit
    ended, status = 0, 0
    while not ended and time.monotonic() < until:
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "timed out", tests[0]
    if status == 0:
        return "survived", ""
    failed = [
        line
        for line in output.read_text(errors="replace").splitlines()
        if line.startswith(("FAILED tests", "ERROR tests"))
    ]
    return "killed", failed[0][:150] if failed else "what the tests import"


def _be_tested(tree: Path, tests: list[str], output: Path) -> NoReturn:
    os.setsid()
    os.chdir(tree)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ |= {"PYTHONPATH": str(tree), "PATIENCE": "20"}
    sys.path[:] = [str(tree), *(path for path in sys.path if path and Path(path) != ROOT)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "bot")]:
        del sys.modules[name]
    import pytest

    code: int = pytest.ExitCode.INTERNAL_ERROR
    try:
        code = pytest.main(["-x", "-q", "--tb=line", "-p", "no:cacheprovider", *tests])
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
