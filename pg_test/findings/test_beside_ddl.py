"""Calls while the table changes under them: what they know of it is looked up again, not remembered too long."""

import random
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from faults.witness import is_sound
from findings.verbs import VERBS, warm
from support import rows
from support.calls import claim_next, complete, enqueue
from support.crew import Progress, together

# Connections that each of four workers makes. The first call of each looks at the table anew.
CONNECTIONS = 150


def _beside(db, change, workers: int = 4) -> None:
    """New connections that each do a job, beside changes that go on until all have ended."""
    progress = Progress(workers * CONNECTIONS)

    def work():
        for _ in range(CONNECTIONS):
            if progress.broken:
                return
            with db.connect() as conn:
                made = enqueue(conn)
                run = claim_next(conn)
                assert run is not None, f"job {made} is not claimed"
                assert complete(conn, run) is True
            progress.add()

    def meddle():
        with db.connect() as conn:
            number = 0
            while progress.going:
                number += 1
                change(conn, number)

    together([*[work] * workers, meddle], progress)


def test_new_connections_beside_a_storage_parameter_that_changes(db, conn):
    _beside(db, lambda other, number: other.execute(f"ALTER TABLE turnstile.job SET (fillfactor = {50 + number % 50})"))
    assert rows.counts(conn) == {"completed": 4 * CONNECTIONS}
    is_sound(conn)


def test_new_connections_beside_triggers_that_come_and_go(db, conn):
    conn.execute("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$")

    def change(other, number):
        if number % 2:
            other.execute("CREATE TRIGGER a_pass BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass()")
        else:
            other.execute("DROP TRIGGER a_pass ON turnstile.job")

    _beside(db, change)
    conn.execute("DROP TRIGGER IF EXISTS a_pass ON turnstile.job")
    assert rows.counts(conn) == {"completed": 4 * CONNECTIONS}
    is_sound(conn)


INDEXES = ["job_pkey", "job_claim_idx", "job_due_idx", "job_owner_idx"]
CHANGES = {
    "all indexes": ["REINDEX TABLE CONCURRENTLY turnstile.job"],
    "each index": [f"REINDEX INDEX CONCURRENTLY turnstile.{index}" for index in INDEXES],
    "locking": ["REINDEX TABLE turnstile.job"],
    "history": ["REINDEX TABLE CONCURRENTLY turnstile.job_history"],
    "rewritten": ["VACUUM FULL turnstile.job"],
    "analysed": ["ANALYZE turnstile.job"],
    "a trigger": ["CREATE TRIGGER a_pass BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass()"],
    "a column": ["ALTER TABLE turnstile.job ADD COLUMN own int DEFAULT 1"],
    "renamed index": ["ALTER INDEX turnstile.job_claim_idx RENAME TO was_claim_idx"],
    "new index": ["CREATE INDEX CONCURRENTLY own_idx ON turnstile.job (kind)"],
}


CALLS = [
    "enqueue", "enqueue with a key", "enqueue_many", "claim_next", "claim", "complete_and_claim_next", "complete_and_claim", "complete", "complete_many",
    "fail", "fail for good", "heartbeat", "cancel", "retry", "rescue", "promote",
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("verb", CALLS)
def test_what_changes_after_begin_is_noticed(db, conn, other, verb, change):
    """BEGIN hears of what has changed before it. What is committed later is heard of only with the next lock."""
    verb = VERBS[verb]
    other.execute("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$")
    warm(conn)
    subject = verb.prepare(conn)
    conn.execute("BEGIN")
    for statement in change:
        other.execute(statement)
    assert verb.call(conn, subject) == verb.answer
    conn.execute("COMMIT")
    assert rows.counts(other) == verb.counts
    assert verb.counts.get("running", 0) == other.execute("SELECT sum(running) FROM turnstile.queues").fetchone()[0]


@pytest.mark.parametrize("seed_offset", range(2))
def test_calls_within_transactions_beside_reindexing(db, conn, seed, seed_offset):
    """Many transactions of several calls, each with indexes that another session makes anew between its calls."""
    chance = random.Random(seed + seed_offset)
    other = db.connect()
    warm(conn)
    for _ in range(12):
        made = [enqueue(conn) for _ in range(2)]
        conn.execute("BEGIN")
        for act in chance.sample(["claim", "look", "enqueue"], 2):
            with ThreadPoolExecutor(1) as pool:
                done = pool.submit(other.execute, f"SET lock_timeout = '50ms'; REINDEX INDEX turnstile.{chance.choice(INDEXES)}")
                try:
                    done.result()
                except psycopg.errors.LockNotAvailable:
                    pass
            if act == "claim":
                run = claim_next(conn)
                assert complete(conn, run) is True
            elif act == "enqueue":
                made.append(enqueue(conn))
            else:
                conn.execute("SELECT count(*) FROM turnstile.jobs")
        conn.execute("COMMIT")
        while (run := claim_next(conn)) is not None:
            assert complete(conn, run) is True
        assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)
    is_sound(conn)
