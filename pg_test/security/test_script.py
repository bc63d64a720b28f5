"""The script that CREATE EXTENSION runs, as pgspot reads it: nothing that could be looked up in somebody else's schema."""

import os
import pathlib
import re
import subprocess
import sys


def test_pgspot_finds_nothing(conn):
    """The installed one; pg_config says where."""
    query = "SELECT setting FROM pg_config WHERE name = 'SHAREDIR'"
    folder = pathlib.Path(conn.execute(query).fetchone()[0]) / "extension"
    version = conn.execute("SELECT extversion FROM pg_extension WHERE extname = 'turnstile'").fetchone()[0]
    script = folder / f"turnstile--{version}.sql"
    pgspot = pathlib.Path(sys.executable).with_name("pgspot")
    done = subprocess.run([os.fspath(pgspot), os.fspath(script)], capture_output=True, text=True, check=False)
    # What it cannot read it does not count: it stops there and says so by its status.
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Errors: 0 Warnings: 0 Unknown: 0\b", done.stdout), done.stdout
