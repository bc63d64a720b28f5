"""A backend that the system refuses memory raises an error: Rust's own answer would be the end of the server."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from psycopg import errors

from faults.cluster import own_cluster
from support.database import fresh_database

SESSIONS = "SELECT count(turnstile.enqueue('work', session => 's' || n)) FROM generate_series(1, %s) AS n"
MANY = 400_000


@pytest.fixture(scope="module")
def server():
    with own_cluster("faults_refused_memory", fsync="off") as server:
        yield server


def _allow(pid: int, more: int) -> None:
    """So many megabytes of addresses more than the process has."""
    [size] = re.findall(r"VmSize:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    limit = ["prlimit", "--pid", str(pid), f"--as={(int(size) << 10) + (more << 20)}"]
    # Its own user may lower its limits; root without the capability may not.
    owner = ["runuser", "-u", Path(f"/proc/{pid}").owner(), "--"] if os.geteuid() == 0 else []
    subprocess.run([*owner, *limit], check=True)


@pytest.mark.parametrize("megabytes", [20, 45, 60, 90])
def test_a_transaction_with_very_many_sessions(server, megabytes):
    with fresh_database() as db, db.connect() as conn, db.connect() as other:
        conn.execute(SESSIONS, [1])
        _allow(conn.info.backend_pid, megabytes)
        with pytest.raises(errors.OutOfMemory):
            conn.execute(SESSIONS, [MANY])
        assert other.execute("SELECT count(*) FROM turnstile.job").fetchone() == (1,)
        assert conn.execute(SESSIONS, [10]).fetchone() == (10,)
