"""A server in a directory of its own that can be copied, killed, promoted and rewound: part of a pair, or of a move."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

PATIENCE = 120
_ROOT = Path(__file__).resolve().parents[2]
# What pg_rewind needs, and what keeps the write-ahead log for a standby that comes back.
SETTINGS = {
    "shared_preload_libraries": "turnstile",
    "max_connections": 60,
    "wal_log_hints": "on",
    "wal_keep_size": "2GB",
    "max_wal_size": "4GB",
    "wal_level": "logical",
    "synchronous_commit": "on",
    "fsync": "off",
}


def programs(pg_config: str | None = None) -> Path:
    """The directory with the programs of the server under test, or of the one that a pg_config belongs to."""
    if pg_config:
        found = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=True)
    else:
        script = f"source {_ROOT}/scripts/common.sh; need_pg; say $PG_BIN"
        found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip())


def as_server(*command) -> list[str]:
    """The command as the server's user: a server refuses to run as root."""
    words = [str(word) for word in command]
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else words


@contextlib.contextmanager
def home_of_nodes():
    """A directory that the server's user can reach. It is short, as the path of a socket may have 107 bytes only."""
    home = Path(tempfile.mkdtemp(prefix="ts.", dir="/tmp"))
    if os.geteuid() == 0:
        shutil.chown(home, "postgres", "postgres")
    home.chmod(0o755)
    try:
        yield home
    finally:
        shutil.rmtree(home)


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_true(is_so, what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < give_up, f"never: {what}"
        time.sleep(0.02)


class Node:
    """It keeps its port and its socket, whatever becomes of its data."""

    def __init__(self, home: Path, name: str, binaries: Path | None = None, **settings):
        self.name, self.programs, self.port = name, binaries or programs(), _free_port()
        self.home = home / name
        self.home.mkdir()
        self.data, self.log = self.home / "data", self.home / "log"
        address = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.home}
        lines = [f"{name} = '{value}'\n" for name, value in (SETTINGS | settings | address).items()]
        (self.home / "settings").write_text("".join(lines))
        if os.geteuid() == 0:
            shutil.chown(self.home, "postgres", "postgres")

    def run(self, program: str, *arguments, **options) -> subprocess.CompletedProcess:
        """Runs a program of this server to its end, which has to be a good one."""
        command = as_server(self.programs / program, *arguments)
        done = subprocess.run(command, cwd=self.home, capture_output=True, text=True, check=False, **options)
        assert done.returncode == 0, f"{program} ends with {done.returncode}: {done.stdout}{done.stderr}"
        return done

    @property
    def address(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres"

    def connect(self, dbname: str = "postgres", **options) -> psycopg.Connection:
        where = {"host": str(self.home), "port": self.port, "user": "postgres", "dbname": dbname}
        return psycopg.connect(**where, autocommit=True, **options)

    def value(self, query: str, *arguments, dbname: str = "postgres"):
        with self.connect(dbname) as conn:
            return conn.execute(query, arguments).fetchone()[0]

    # ---- Its data ---------------------------------------------------------------------------------

    def initialize(self, *options: str) -> None:
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C", *options)
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.write("\ninclude '../settings'\n")

    def copy(self, primary: "Node") -> None:
        """Becomes a standby of the primary, which runs."""
        self.run("pg_basebackup", "-d", primary.address, "-D", self.data, "-R", "-c", "fast", "--no-sync")

    def rewind(self, primary: "Node") -> None:
        """Becomes a standby of what was its own standby; what that had not received is gone."""
        source = f"{primary.address} dbname=postgres"
        self.run("pg_rewind", "-D", self.data, "--source-server", source, "-R", "--no-sync")

    # ---- Its processes ----------------------------------------------------------------------------

    def start(self) -> None:
        log = ["-l", self.log]
        command = as_server(self.programs / "pg_ctl", "-D", self.data, "-w", "-t", PATIENCE, "-s", *log, "start")
        done = subprocess.run(command, cwd=self.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, self.log.read_text()[-3000:]

    def stop(self, mode: str = "fast") -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-t", PATIENCE, "-s", "-m", mode, "stop")

    @property
    def pid(self) -> int | None:
        try:
            return int((self.data / "postmaster.pid").read_text().split()[0])
        except (FileNotFoundError, IndexError):
            return None

    def _processes(self) -> list[int]:
        """The server and its children: all that have its data as their directory."""
        here, found = str(self.data.resolve()), []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(process / "cwd") == here:
                    found.append(int(process.name))
        return found

    def kill(self) -> None:
        """As when the machine is gone: no process does anything more, the server itself first."""
        first = self.pid
        for process in sorted(self._processes(), key=lambda process: process != first):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        await_true(lambda: not self._processes(), "all processes of a killed server are gone")
        # Nothing reaps them in some containers, and what is not reaped is taken for a server that runs.
        for left in [self.data / "postmaster.pid", *self.home.glob(".s.PGSQL.*")]:
            left.unlink(missing_ok=True)

    def destroy(self) -> None:
        if self._processes():
            self.kill()

    def promote(self) -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-t", PATIENCE, "-s", "promote")
