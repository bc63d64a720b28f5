"""Each mechanism of the server side is left out in turn: the test that guards it must fail, and only then.

Needs a build with the feature seeded_faults: see `make test-mutants`.
"""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mutants.guards import GUARDS
from support.database import server

_ROOT = Path(__file__).resolve().parents[2]
_DRIVERS = ("isolation", "regress")
PASSED, FAILED = 0, 1
PATIENCE = 120


def _suite(guard: str) -> str:
    return guard.partition("/")[0]


def _run(guards, fault: str | None = None) -> subprocess.CompletedProcess:
    """Runs tests or one suite's specs in a process of its own."""
    environment = dict(os.environ)
    if fault:
        environment["TURNSTILE_SEEDED_FAULT"] = fault
    suite = _suite(guards[0])
    if suite in _DRIVERS:
        command = [_ROOT / "pg_test" / suite / "run", *[guard.partition("/")[2] for guard in guards]]
    else:
        tests = [f"pg_test/{guard}" for guard in guards]
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-x", "--tb=line", *tests]
    return subprocess.run(
        command, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE * len(guards), check=False
    )


@contextlib.contextmanager
def _left_out(fault: str):
    """For all new connections of the cluster."""
    with server() as admin:
        admin.execute(f"ALTER SYSTEM SET turnstile.seeded_fault = '{fault}'")
        admin.execute("SELECT pg_reload_conf()")
    _wait_until_armed(fault)
    try:
        yield
    finally:
        with server() as admin:
            admin.execute("ALTER SYSTEM RESET turnstile.seeded_fault")
            admin.execute("SELECT pg_reload_conf()")
        _wait_until_armed("")


def _wait_until_armed(fault: str) -> None:
    for _ in range(3000):
        with server() as admin:
            if admin.execute("SHOW turnstile.seeded_fault").fetchone() == (fault,):
                return
    raise AssertionError("the setting does not arrive")


def test_every_mechanism_has_a_guard():
    text = (_ROOT / "src" / "seeded.rs").read_text()
    body = re.search(r"pub enum Seeded \{(.*?)\n\}", text, re.DOTALL).group(1)
    assert re.findall(r"^    (\w+),$", body, re.MULTILINE) == list(GUARDS)


@pytest.mark.parametrize("suite", sorted({_suite(guard) for guard in GUARDS.values()}))
def test_with_nothing_left_out_the_guards_pass(suite):
    done = _run(sorted(guard for guard in set(GUARDS.values()) if _suite(guard) == suite))
    assert done.returncode == PASSED, done.stdout + done.stderr


@pytest.mark.parametrize("fault", GUARDS)
def test_a_mechanism_left_out_is_noticed(fault):
    with _left_out(fault):
        done = _run([GUARDS[fault]], fault)
    assert done.returncode == FAILED, f"{GUARDS[fault]} does not notice:\n{done.stdout}{done.stderr}"
