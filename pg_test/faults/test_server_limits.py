"""What a server runs out of: disk, numbers, savepoints, memory. Nothing acknowledged is lost, and work goes on afterwards."""

import contextlib
import os
import secrets
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from faults.cluster import CLUSTERS, own_cluster
from faults.witness import has_each_once, is_sound, run_to_the_end
from support import rows
from support.calls import claim, claim_all, claim_next, complete, enqueue, enqueue_times, ids, release
from support.database import fresh_database
from support.settings import configure

ROUNDS = int(os.environ.get("TURNSTILE_CALLS", "60000")) // 3
LAST = 2**63 - 1
EXHAUSTED = "2200H"
# What a backend may need more after thousands of calls than after the first ones: caches of a fixed size.
MORE_MEMORY = 512 * 1024


@contextlib.contextmanager
def small_disk(cluster: str, megabytes: int):
    """A file system of this size, on which the cluster of this name will be made."""
    disk = CLUSTERS / f"{cluster}.disk"
    disk.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can only be mounted as root")
    try:
        (CLUSTERS / f"{cluster}.path").write_text(f"{disk}/home\n")
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
        disk.rmdir()


def _fill(disk: Path) -> Path:
    """A file that leaves nothing."""
    ballast = disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 65536)
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    return ballast


def _work_until_it_fails(db, enough: int) -> tuple[list[int], list[int], set]:
    """Enqueues and completes until that has failed often enough: what was acknowledged, and the errors."""
    made, done, errors, conn = [], [], [], None
    give_up = time.monotonic() + 60
    while len(errors) < enough and time.monotonic() < give_up:
        try:
            conn = conn or db.connect()
            made.append(enqueue(conn, payload={"bytes": secrets.token_hex(3000)}))
            if run := claim_next(conn):
                complete(conn, run)
                done.append(run.id)
        except psycopg.Error as error:
            errors.append(error.sqlstate)
            if conn is None or conn.closed:
                conn = None
                time.sleep(0.05)
    return made, done, set(errors)


def test_a_full_disk_loses_nothing_and_work_goes_on_once_there_is_room():
    name = "faults_disk"
    settings = {"fsync": "off", "max_connections": 20, "min_wal_size": "32MB", "max_wal_size": "48MB", "shared_buffers": "16MB"}
    with small_disk(name, 320) as disk, own_cluster(name, **settings) as cluster, fresh_database() as db:
        conn = db.connect()
        configure(conn, "queue", "default", max_running=3)
        made = enqueue_times(conn, 50)
        claim(conn, ["default"], 2)
        ballast = _fill(disk)
        more, done, errors = _work_until_it_fails(db, 30)
        assert errors, "the disk was not full"
        ballast.unlink()
        cluster.restart(immediate=True)
        after = db.connect()
        is_sound(after)
        assert {*made, *more} <= {row[0] for row in after.execute("SELECT id FROM turnstile.jobs")}
        assert all(rows.state(after, job_id) == "completed" for job_id in done)
        run_to_the_end(after, ["default"], {"queue default": 3})
        is_sound(after)


def test_the_last_ids_and_positions_are_used_and_then_refused(conn, other):
    """A queue that has run out of numbers still hands out and finishes what it has."""
    conn.execute("SELECT setval('turnstile.job_position_seq', %s)", [LAST - 4])
    made = enqueue_times(conn, 3)
    with pytest.raises(psycopg.Error) as caught:
        enqueue(conn)
    assert caught.value.sqlstate == EXHAUSTED
    is_sound(other)
    runs = claim_all(conn)
    assert ids(runs) == made
    with pytest.raises(psycopg.Error) as caught:
        release(conn, runs[2])
    assert caught.value.sqlstate == EXHAUSTED
    assert [complete(conn, run) for run in runs] == [True] * 3
    is_sound(other)
    conn.execute("SELECT setval('turnstile.job_position_seq', 1000), setval('turnstile.job_id_seq', %s)", [LAST - 1])
    assert enqueue(conn) == LAST
    with pytest.raises(psycopg.Error) as caught:
        enqueue(conn)
    assert caught.value.sqlstate == EXHAUSTED
    assert complete(conn, claim_next(conn)) is True
    is_sound(other)


def test_ten_thousand_savepoints(conn, other):
    """Each with a claim or an enqueue of its own, nested, the later half undone at once."""
    configure(conn, "queue", "default", max_running=40)
    made = enqueue_times(conn, 100)
    conn.execute("BEGIN")
    for number in range(10_000):
        conn.execute(f"SAVEPOINT s{number}")
        if number % 200 == 0:
            claim_next(conn)
        elif number % 200 == 100:
            made.append(enqueue(conn))
    conn.execute("ROLLBACK TO SAVEPOINT s5000")
    is_sound(other)
    conn.execute("COMMIT")
    is_sound(other)
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE state = 'running'").fetchone() == (25,)
    run_to_the_end(conn, ["default"], {"queue default": 40})
    has_each_once(conn, [*made[:100], *made[100:125]])


def _memory(conn) -> int:
    return conn.execute("SELECT sum(total_bytes) FROM pg_backend_memory_contexts").fetchone()[0]


def test_a_session_of_many_calls_does_not_grow(conn):
    """Enqueue, claim, complete, again and again in one session, each committed. TURNSTILE_CALLS tells how many calls."""
    work = f"""
        DO $$
        DECLARE run turnstile.claimed_job;
        BEGIN
            FOR i IN 1..{ROUNDS // 4} LOOP
                PERFORM turnstile.enqueue('work', session => 's' || i % 7);
                COMMIT;
                SELECT * INTO run FROM turnstile.claim_next();
                PERFORM turnstile.complete(run.id, run.attempt);
                COMMIT;
            END LOOP;
        END $$
    """
    conn.execute("SET statement_timeout = 0")
    used = []
    for _ in range(4):
        conn.execute(work)
        used.append(_memory(conn))
    assert used[-1] - used[0] < MORE_MEMORY, f"bytes in use after each quarter: {used}"
    assert conn.execute("SELECT count(*) FROM turnstile.job_history").fetchone() == (ROUNDS // 4 * 4,)
