"""The extension's scripts: those that this tree keeps, and those in the server's directory, where tests may add some."""

import contextlib
import os
import re
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from support.database import server

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "sql"
CURRENT = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


def releases() -> list[str]:
    """The versions whose install scripts are kept, the oldest first."""
    found = [path.stem.removeprefix("turnstile--") for path in KEPT.glob("turnstile--*.sql")]
    return sorted((version for version in found if "--" not in version), key=lambda version: [int(n) for n in version.split(".")])


def directory() -> Path:
    """The server's directory of extensions."""
    with server() as admin:
        return Path(admin.execute("SELECT setting FROM pg_config WHERE name = 'SHAREDIR'").fetchone()[0]) / "extension"


def installed(version: str) -> str:
    """The install script of a version, as the server has it."""
    return (directory() / f"turnstile--{version}.sql").read_text()


def made_up() -> str:
    """A version that nobody else asks for, whoever shares the installation. Its name says nothing of what is in it."""
    return f"{CURRENT}-test-{secrets.token_hex(6)}"


def _as_root(*command: str) -> None:
    subprocess.run([*(["sudo"] if os.geteuid() else []), *command], check=True)


@contextlib.contextmanager
def placed(versions: str, text: str) -> Iterator[None]:
    """Has a script for a version (V) or an upgrade (A--B) in the server's directory while the block runs."""
    script = directory() / f"turnstile--{versions}.sql"
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as made:
        made.write(text)
        made.flush()
        _as_root("install", "-m", "644", made.name, str(script))
    try:
        yield
    finally:
        _as_root("rm", str(script))
