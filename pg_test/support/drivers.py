"""The drivers of the client libraries, as processes: clients/README.md says what a driver is."""

import contextlib
import functools
import json
import os
import signal
import subprocess

from support.calls import call
from support.examples import ROOT, environment
from support.pgbouncer import pgbouncer
from support.sleepers import until
from support.work import Started

CLIENTS = ROOT / "clients"
PYTHON = [ROOT / "target/clients/venv/bin/python", CLIENTS / "python/conformance_driver.py"]
COMMANDS = {
    "python-sync": [*PYTHON, "--mode", "sync"],
    "python-async": [*PYTHON, "--mode", "async"],
    "node": ["node", CLIENTS / "node/conformance-driver.js"],
    "rust": [ROOT / "target/debug/examples/conformance"],
    "bash": [ROOT / "examples/psql/conformance.sh"],
}
# TURNSTILE_LANGUAGES: only some of them.
LANGUAGES = [name for name in COMMANDS if name in os.environ.get("TURNSTILE_LANGUAGES", " ".join(COMMANDS)).split()]

# What clients may lack; clients/README.md says which does.
CAPABILITIES = {
    "children", "concurrency", "discard", "error_class", "exact_numbers", "heartbeats", "hard_stop", "progress", "reconnects", "results",
    "retry", "rules", "snooze", "told", "transactions",
}  # fmt: skip

WAYS = ["direct", "pgbouncer"]
# Ids that a JavaScript number or a double cannot hold.
PAST_DOUBLES = 2**53 + 1

LOSE_CONNECTIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


def url(database: str, port: int | str) -> str:
    return f"postgresql://{os.environ['PGUSER']}@127.0.0.1:{port}/{database}"


@contextlib.contextmanager
def reached(way: str, database: str):
    """The URL of the database by that way."""
    if way == "direct":
        yield url(database, os.environ["PGPORT"])
    else:
        with pgbouncer(database) as pooler:
            yield url(database, pooler.port)


def settle(conn) -> None:
    """What fails waits for long, except in the queue `quick`."""
    call(conn, "set_queue", name="*", retry_base="1 hour", retry_cap="1 hour")
    call(conn, "set_queue", name="quick", retry_base="10 milliseconds", retry_cap="10 milliseconds")
    conn.execute("SELECT setval('turnstile.job_id_seq', %s)", [PAST_DOUBLES])


@functools.cache
def capabilities(language: str) -> frozenset[str]:
    said = subprocess.run([*map(str, COMMANDS[language]), "--capabilities"], capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said
    found = frozenset(json.loads(said.stdout))
    assert found <= CAPABILITIES, found - CAPABILITIES
    return found


class Driver(Started):
    """A worker that says what happens in it."""

    def __init__(self, language: str, url: str, **options):
        self.can = capabilities(language)
        given = {"queues": "default", "concurrency": 4 if "concurrency" in self.can else 1} | options
        words = [word for name, value in given.items() for word in (f"--{name}", value)]
        super().__init__([*COMMANDS[language], *words], replaced=environment(url))
        self.concurrency = given["concurrency"]

    def events(self, event: str, job: int | None = None) -> list[dict]:
        """A line may be half written yet."""
        lines = self.stdout().split("\n")[:-1]
        found = [said for said in map(json.loads, lines) if said["event"] == event]
        return [said for said in found if job is None or said["id"] == str(job)]

    def says(self, event: str, job: int | None = None, **wanted) -> dict:
        """Waits until it has said so."""

        def found() -> list[dict]:
            assert self.is_running() or self.events(event, job), f"it has ended: {self.stdout()[-3000:]}{self.stderr()[-3000:]}"
            return [said for said in self.events(event, job) if wanted.items() <= said.items()]

        until(found, f"{event} {job} {wanted}", lambda: f"{self.stdout()[-3000:]}{self.stderr()[-3000:]}")
        return found()[0]

    def ready(self) -> "Driver":
        self.says("ready")
        return self

    def is_running(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """With all that it has started, as when a container or a unit of systemd is killed."""
        super().kill()
        while family := self.family():
            for process in family:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def leaves(self) -> None:
        """It ends by itself, and all was well."""
        status, said = self.ended()
        assert status == 0, said[-3000:]

    def most_at_once(self) -> int:
        """Runs that were under way together, by the order of what it has said."""
        most = now = 0
        for line in self.stdout().split("\n")[:-1]:
            now += {"started": 1, "ended": -1}.get(json.loads(line)["event"], 0)
            most = max(most, now)
        return most
