"""Dumps, and databases that are restored from them."""

import contextlib
import os
import subprocess

from faults.cluster import binary
from support.database import Database, fresh_database


def dump(db: Database, conn, path: str, *options: str) -> None:
    """Runs pg_dump. A plain dump has a random word in it, which one of two equal dumps must not differ by."""
    done = subprocess.run(
        [binary(conn, "pg_dump"), *options, "-f", path, db.name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"pg_dump ends with {done.returncode}: {done.stderr}"


def plain(db: Database, conn, *options: str) -> str:
    """A dump as text, without that random word."""
    command = [binary(conn, "pg_dump"), *options, db.name]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "".join(line for line in text.splitlines(True) if not line.startswith(("\\restrict", "\\unrestrict")))


def restore(copy: Database, conn, path: str, *options: str) -> None:
    """Restores a dump of any format and stops at the first error."""
    if os.path.isdir(path) or open(path, "rb").read(5) == b"PGDMP":
        command = ["pg_restore", "--exit-on-error", *options, "-d", copy.name, path]
    else:
        command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *options, "-d", copy.name, "-f", path]
    done = subprocess.run([binary(conn, command[0]), *command[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def restored(db: Database, conn, path: str, options: list[str], more: list[str] | None = None):
    """A fresh database with what a dump with these options carries."""
    dump(db, conn, path, *options)
    with fresh_database(extension=False) as copy:
        restore(copy, conn, path, *(more or []))
        yield copy
