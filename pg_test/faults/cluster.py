"""Clusters of a test's own, to stop, crash and start again; connections go there for as long as one is entered."""

import contextlib
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import psycopg

from support.database import server

PATIENCE = 60
_ROOT = Path(__file__).resolve().parents[2]
_SCRIPT = _ROOT / "scripts" / "cluster"
CLUSTERS = Path(os.environ.get("TURNSTILE_CLUSTERS") or _ROOT / "target" / "clusters")


def _run(*arguments: str) -> str:
    done = subprocess.run([str(_SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"scripts/cluster {shlex.join(arguments)}: {done.stderr}"
    return done.stdout


class Cluster:
    """One cluster; see scripts/cluster for its commands."""

    def __init__(self, name: str, **settings):
        self.name = name
        if fault := os.environ.get("TURNSTILE_SEEDED_FAULT"):
            settings["turnstile.seeded_fault"] = fault
        _run("start", name, *[f"{setting}={value}" for setting, value in settings.items()])
        self.enter()

    def enter(self) -> None:
        """Points libpq's environment at this cluster."""
        for line in _run("env", self.name).splitlines():
            for word in shlex.split(line)[1:]:
                name, value = word.split("=", 1)
                os.environ[name] = value

    def restart(self, immediate: bool = False) -> None:
        """Stops and starts the server; what it did not get to do in an immediate stop, it does at the start."""
        _run("restart", self.name, *(["immediate"] if immediate else []))
        self.enter()

    def destroy(self) -> None:
        _run("destroy", self.name)

    @property
    def pid(self) -> int:
        return int(_run("pid", self.name))

    @property
    def log(self) -> str:
        return Path(_run("log", self.name).strip()).read_text(errors="replace")


@contextlib.contextmanager
def own_cluster(name: str, **settings):
    """A cluster that only this block uses, entered; afterwards it is gone and the environment as before."""
    before = dict(os.environ)
    cluster = Cluster(name, **settings)
    try:
        yield cluster
    finally:
        os.environ.clear()
        os.environ.update(before)
        cluster.destroy()


def crash_by_killing(pid: int) -> None:
    """Kills a process of the server. Returns when the server, which then ends all the others too, takes connections again.

    The server notices the death a moment later, and takes connections until then: that another one is lost shows that it has.
    """
    with contextlib.closing(server()) as bystander:
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(psycopg.OperationalError):
            bystander.execute("SELECT pg_sleep(60)")
            raise AssertionError("the server has not noticed that one of its processes is gone")
    wait_until_up()


def wait_until_up() -> None:
    """After a crash: until the server takes connections again."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            with contextlib.closing(server()) as admin:
                admin.execute("SELECT 1")
                return
        except psycopg.OperationalError:
            assert time.monotonic() < give_up, "the server does not come back"
            time.sleep(0.02)


def binary(conn, name: str) -> str:
    """A program that came with the server."""
    return f"{conn.execute('SELECT setting FROM pg_config WHERE name = %s', ['BINDIR']).fetchone()[0]}/{name}"


def as_server(*command: str) -> list[str]:
    """The command as the server's user: a server refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else list(command)
