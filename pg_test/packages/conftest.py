"""Packages, built by the project's own scripts, and fresh systems to try them in."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.system import ROOT, System

# The suite of Debian that has this version of PostgreSQL.
SUITES = {"15": "bookworm", "17": "trixie", "18": "sid"}


def _output(*command, **environment) -> str:
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


class Packages:
    """What scripts/package has built, the extension and the program: the same files under two numbers."""

    def __init__(self, folder: Path):
        self.folder = folder
        for revision in ("1", "2"):
            _output(ROOT / "scripts" / "package", TURNSTILE_PACKAGES=str(folder), TURNSTILE_REVISION=revision)
        self.major = self.of("1").name.split("-")[1]
        self.name = f"postgresql-{self.major}-turnstile"
        self.suite = SUITES[self.major]

    def of(self, revision: str, symbols: bool = False) -> Path:
        (found,) = self.folder.glob(f"*-turnstile{'-dbgsym' * symbols}_*-{revision}_*.deb")
        return found

    def program(self, revision: str) -> Path:
        (found,) = self.folder.glob(f"turnstile-cli_*-{revision}_*.deb")
        return found

    def both(self, revision: str) -> list[Path]:
        return [self.of(revision), self.program(revision)]

    def files(self, **of) -> dict[str, int]:
        return self.contents(self.of(**of))

    @staticmethod
    def contents(package: Path) -> dict[str, int]:
        """The size of each file in a package, by its path."""
        listed = [line.split(None, 5) for line in _output("dpkg-deb", "--contents", package).splitlines()]
        return {line[5].lstrip("."): int(line[2]) for line in listed if line[0].startswith("-")}


@pytest.fixture(scope="session")
def packages():
    with tempfile.TemporaryDirectory(prefix="turnstile-packages.") as folder:
        yield Packages(Path(folder))


@contextlib.contextmanager
def _fresh(suite: str):
    """Where a server may have its socket: the path of one has no more than 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="turnstile-system.") as folder:
        os.chmod(folder, 0o755)
        system = System(suite, Path(folder) / "root")
        try:
            yield system
        finally:
            system.remove()


@pytest.fixture
def system(packages):
    with _fresh(packages.suite) as fresh:
        yield fresh
