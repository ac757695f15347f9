"""`python -m bot.testing.emulator --completions`: both services in one process."""

import subprocess
import sys

import requests

from bot.testing.emulator.completion import KEY


def test_one_process_serves_both() -> None:
    command = [sys.executable, "-m", "bot.testing.emulator", "--completions", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            gateway, completions = (process.stdout.readline().strip() for _ in range(2))
            headers = {"Authorization": f"Bearer {KEY}"}
            body = {"model": "acme/swift", "messages": [{"role": "user", "content": "Hello"}]}
            answer = requests.post(f"{completions}/chat/completions", json=body, headers=headers, timeout=10).json()
            assert answer["choices"][0]["message"]["content"] == "You asked: Hello"
            assert requests.get(f"{gateway}/emulator/counts", timeout=10).ok
        finally:
            process.terminate()  # a test that fails waits for nothing
    assert process.returncode == 0
