"""A PgBouncer of the tests' own, in transaction mode, in front of the server that the environment names."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

# Connections to the server that an entry of [databases] has: fewer than the workers of some tests.
POOL_SIZE = 4
# Another entry for the same database, with connections of its own.
SECOND_ENTRY = "second_entry"

CONFIGURATION = """
[databases]
{second_entry} = host={host} port={server_port} user={user} dbname={database}
* = host={host} port={server_port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 200
server_login_retry = 1
"""


class PgBouncer:
    def __init__(self, port: int):
        self.port = port

    def connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, dbname=database, autocommit=True, prepare_threshold=None
        )

    def clients(self, database: str) -> list[str]:
        """The state of each client that it has for the database: active, or waiting for a connection to the server."""
        with self.connect("pgbouncer") as console:
            rows = console.execute("SHOW CLIENTS")
            names = [column.name for column in rows.description]
            clients = [dict(zip(names, row)) for row in rows]
        return [client["state"] for client in clients if client["database"] == database]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _program() -> str:
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "pgbouncer is not installed; run: scripts/setup examples"
    return program


def _await_open(process: subprocess.Popen, port: int, log: Path) -> None:
    give_up = time.monotonic() + 15
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert process.poll() is None and time.monotonic() < give_up, f"pgbouncer did not start:\n{log.read_text()}"
        time.sleep(0.02)


@contextlib.contextmanager
def pgbouncer(database: str):
    """Runs one; the database has two entries."""
    port = free_port()
    server = {"host": os.environ["PGHOST"], "server_port": os.environ["PGPORT"], "user": os.environ["PGUSER"]}
    entries = {"database": database, "second_entry": SECOND_ENTRY}
    with tempfile.TemporaryDirectory() as folder:
        configuration, log = Path(folder, "pgbouncer.ini"), Path(folder, "log")
        configuration.write_text(CONFIGURATION.format(port=port, pool_size=POOL_SIZE, **server, **entries))
        # It refuses to run as root.
        Path(folder).chmod(0o755)
        user = ["--user", "postgres"] if os.geteuid() == 0 else []
        with log.open("w") as output:
            process = subprocess.Popen([_program(), *user, str(configuration)], stdout=output, stderr=output)
        try:
            _await_open(process, port, log)
            yield PgBouncer(port)
        finally:
            process.terminate()
            process.wait()
