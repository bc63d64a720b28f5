"""What the READMEs of the applications say of them is true."""

import re
import subprocess

import pytest

from support.apps import APPS

# What a worker's library is for.
TRADE = re.compile(r"heartbeat(_many)?\(|SIGTERM|SIGINT|\bsignal\.|\bclaim\w*\(|wait_for_job|while True|\bsleep\(|setTimeout|reconnect", re.IGNORECASE)
CODE = sorted(path for path in APPS.glob("*/*") if path.suffix in {".py", ".sql", ".mjs", ".sh", ""} and path.is_file())


def test_the_numbers_of_lines():
    done = subprocess.run([APPS / "lines"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", CODE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_nothing_of_the_trade_of_a_library_is_in_an_application(path):
    assert TRADE.findall(path.read_text()) == []


def test_a_readme_fits_on_a_screen():
    for readme in APPS.glob("*/README.md"):
        assert len(readme.read_text().splitlines()) <= 50, readme
