"""A build in which mechanisms can be left out, in place of the usual one while these tests run."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_BUILT = "TURNSTILE_MUTANTS_BUILT"


def _install(features: str) -> None:
    environment = os.environ | {"TURNSTILE_FEATURES": features}
    done = subprocess.run([ROOT / "scripts" / "install"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cluster = os.environ["TURNSTILE_CLUSTER"]
    subprocess.run([ROOT / "scripts" / "cluster", "restart", cluster], check=True)


@pytest.fixture(scope="session", autouse=True)
def mutants():
    """Guards run in processes of their own, which find the build installed."""
    if _BUILT in os.environ:
        yield
        return
    try:
        _install("seeded_faults,fault_injection")
        os.environ[_BUILT] = "yes"
        yield
    finally:
        os.environ.pop(_BUILT, None)
        _install("")
