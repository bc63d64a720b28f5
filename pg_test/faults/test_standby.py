"""A standby refuses whatever would write; once promoted it schedules like any other server."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

from faults.cluster import PATIENCE, as_server, binary, own_cluster
from faults.mixture import admits_what_may_run, fill
from support.batches import enqueue_batch, of
from support.calls import claim, enqueue_many, enqueue_times, ids
from support.database import fresh_database
from support.errors import refused
from support.drawn import draw_ahead, grows, places
from support.recurring import recur
from support.untold import untold

ON_A_STANDBY = "25006"
MORE_THAN_ARE_DRAWN = 1_200

WRITES = [
    "turnstile.enqueue('work')",
    "turnstile.enqueue_many('[{\"kind\": \"work\"}]')",
    "turnstile.claim_next()",
    "turnstile.claim(ARRAY['default'])",
    "turnstile.complete(1, 1)",
    "turnstile.complete_many(ARRAY[1]::bigint[], ARRAY[1])",
    "turnstile.complete_and_claim_next(1, 1)",
    "turnstile.complete_and_claim(ARRAY[1]::bigint[], ARRAY[1], ARRAY['default'])",
    "turnstile.fail(1, 1)",
    "turnstile.release(1, 1)",
    "turnstile.listen_channel('default')",
    "turnstile.recent()",
    "turnstile.recent_failures()",
    "turnstile.running_jobs()",
    "turnstile.endpoint_of('work')",
    "turnstile.report_endpoint(1, 1, 'works')",
    "turnstile.claim_own()",
    "turnstile.heartbeat(1, 1, unbind => true)",
    "turnstile.heartbeat_many(ARRAY[1]::bigint[], ARRAY[1])",
    "turnstile.fail_many(ARRAY[1]::bigint[], ARRAY[1])",
    "turnstile.check()",
    "turnstile.rebuild()",
    "turnstile.stat_reset()",
]

# Figures are counted there.
SCRAPED = r"SELECT sum(value) FROM turnstile.metrics WHERE name ~ '^turnstile_queue_(waiting|scheduled|retryable|running)$'"

# Whoever waits for work on a standby would wait for ever.
WAITS = [
    "CALL turnstile.wait_for_job(ARRAY['default'], '1 minute')",
    "SELECT turnstile.claim_next(wait => '1 minute')",
]


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_standby", fsync="off", max_connections=50) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _standby(conn):
    """A running copy of the server that follows it; yields its address and a function that stops it."""
    home = Path(tempfile.mkdtemp(prefix="turnstile-standby.", dir="/tmp"))
    if os.geteuid() == 0:
        shutil.chown(home, "postgres", "postgres")
    home.chmod(0o755)
    port, data = _free_port(), str(home / "data")
    primary = f"host={os.environ['PGHOST']} port={os.environ['PGPORT']} user=postgres"
    own = Path(conn.execute("SHOW data_directory").fetchone()[0]).parent
    shutil.copy(own / "settings", home / "settings")
    address = f"listen_addresses = '127.0.0.1'\nport = '{port}'\nunix_socket_directories = '{home}'\n"
    (home / "address").write_text(address)
    pg_ctl = as_server(binary(conn, "pg_ctl"), "--silent", "--wait", "-D", data)
    copy = as_server(binary(conn, "pg_basebackup"), "-d", primary, "-R", "-D", data, "-c", "fast", "--no-sync")
    subprocess.run(copy, check=True, cwd="/")
    subprocess.run([*pg_ctl, "-l", str(home / "log"), "start"], check=True, cwd="/", stdout=subprocess.DEVNULL)
    try:
        yield {"host": str(home), "port": port}
    finally:
        subprocess.run([*pg_ctl, "-m", "immediate", "stop"], check=False, cwd="/")
        shutil.rmtree(home)


def _wait_for(conn, query: str, *arguments) -> None:
    give_up = time.monotonic() + PATIENCE
    while not conn.execute(query, arguments).fetchone()[0]:
        assert time.monotonic() < give_up, f"never true: {query}"
        time.sleep(0.02)


def test_a_standby_refuses_writes_and_schedules_once_promoted(db, conn, seed):
    slots, made = fill(conn, seed)
    # What the primary has not noticed, the standby fires once it is promoted.
    with untold(conn, "recurring"):
        recur(conn, kind="recurring", queue="other")
    with _standby(conn) as address:
        standby = psycopg.connect(**address, user="postgres", dbname=db.name, autocommit=True)
        written = conn.execute("SELECT pg_current_wal_lsn()").fetchone()[0]
        _wait_for(standby, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written)
        for write in [f"SELECT {write}" for write in WRITES] + WAITS:
            with refused(ON_A_STANDBY) as caught:
                standby.execute(write)
            said = caught.value.diag
            assert "standby" in f"{said.message_primary} {said.message_detail} {said.message_hint}", write
        assert standby.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (len(made),)
        assert standby.execute(SCRAPED).fetchone() == standby.execute("SELECT count(*) FROM turnstile.job").fetchone()
        assert standby.execute("SELECT pg_promote()").fetchone() == (True,)
        _wait_for(standby, "SELECT NOT pg_is_in_recovery()")
        _wait_for(standby, "SELECT count(*) = 1 FROM turnstile.jobs WHERE kind = 'recurring'")
        standby.execute("DELETE FROM turnstile.job WHERE kind = 'recurring'")
        admits_what_may_run(standby, slots, made)
        standby.close()


def test_a_standby_counts_the_children_of_a_batch(db, conn):
    for number in (3, 5):
        enqueue_batch(conn, children=of(number), slots=10)
    claim(conn, ["default"], 4)
    with _standby(conn) as address, psycopg.connect(**address, user="postgres", dbname=db.name, autocommit=True) as standby:
        _wait_for(standby, "SELECT count(*) = 4 FROM turnstile.job WHERE state = 'running'")
        shown = "SELECT total, waiting, running, finished_per_minute FROM turnstile.batches ORDER BY id"
        assert standby.execute(shown).fetchall() == [(3, 0, 3, 0), (5, 4, 1, 0)]


def test_a_promoted_standby_gives_no_number_again(db, conn):
    """The primary has drawn ahead before the standby was made, and again since."""
    draw_ahead(conn)
    with _standby(conn) as address:
        made = ids(enqueue_many(conn, [{"kind": "work"}] * MORE_THAN_ARE_DRAWN)) + enqueue_times(conn, 5)
        given = places(conn, made)
        standby = psycopg.connect(**address, user="postgres", dbname=db.name, autocommit=True)
        written = conn.execute("SELECT pg_current_wal_lsn()").fetchone()[0]
        _wait_for(standby, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written)
        assert standby.execute("SELECT pg_promote()").fetchone() == (True,)
        _wait_for(standby, "SELECT NOT pg_is_in_recovery()")
        assert places(standby, made) == given
        again = ids(enqueue_many(standby, [{"kind": "work"}] * MORE_THAN_ARE_DRAWN))
        assert grows([*given, *places(standby, again)])
        standby.close()
