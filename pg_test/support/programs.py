"""Programs of others that listen on a port, run for a test."""

import contextlib
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

# No rule is about time; this only turns a test that would hang into one that fails.
GIVE_UP = 60


def program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is not installed; run: scripts/setup monitoring"
    return found


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=GIVE_UP) as answer:
        return answer.read().decode()


def _await_answer(process: subprocess.Popen, url: str, log: Path) -> None:
    give_up = time.monotonic() + GIVE_UP
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            fetch(url)
            return
        running = process.poll() is None and time.monotonic() < give_up
        assert running, f"{process.args[0]} did not start:\n{log.read_text()[-3000:]}"
        time.sleep(0.05)


@contextlib.contextmanager
def running(command: list, url: str, log: Path, environment: dict) -> Iterator[None]:
    """Runs a program from when it answers at the URL until the block ends."""
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        _await_answer(process, url, log)
        yield
    finally:
        process.terminate()
        process.wait()


def attempt(*command, text: str = "", **environment: str) -> subprocess.CompletedProcess:
    """What a program that ends by itself says."""
    arguments = [program(str(command[0])), *map(str, command[1:])]
    return subprocess.run(arguments, input=text, env=os.environ | environment, capture_output=True, text=True, timeout=GIVE_UP)
