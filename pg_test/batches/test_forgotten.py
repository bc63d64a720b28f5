"""What memory could not list, or has lost, is found in the tables, whatever else fails and however much there is."""

import contextlib
import time

import psycopg
import pytest

from support import rows
from support.batches import ELSEWHERE, awaited, enqueue_batch, of
from support.calls import claim, claim_next, complete, complete_many, discard, enqueue_many, ids
from support.lapse import PATIENCE, WORKERS

# More than memory lists, and more than are looked at together.
MANY = 300
BLOCKED = "SELECT count(*)::int FROM turnstile.job WHERE state = 'blocked' AND kind = 'follower'"
# The parent can never end.
BROKEN = """
    CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'broken' USING ERRCODE = 'ZX001'; END$$;
    CREATE TRIGGER refuse BEFORE UPDATE ON turnstile.job FOR EACH ROW
        WHEN (OLD.kind = 'broken' AND NEW.state = 'available') EXECUTE FUNCTION public.refuse();
"""


@pytest.mark.parametrize("is_lost", [False, True], ids=["too many", "lost"])
def test_a_job_whose_end_fails_keeps_none_of_them_waiting(conn, is_lost):
    conn.execute(BROKEN)
    enqueue_batch(conn, "broken", children=of(1))
    complete(conn, claim_next(conn))
    before = ids(enqueue_many(conn, [{"kind": "before", "queue": "before"}] * MANY))
    enqueue_many(conn, [{"kind": "follower", "after": [job]} for job in before])
    if is_lost:
        conn.execute("SELECT turnstile.rebuild()")
    runs = []
    while len(runs) < MANY:
        with contextlib.suppress(psycopg.Error):
            runs += claim(conn, ["before"], MANY)
    complete_many(conn, runs)
    give_up = time.monotonic() + PATIENCE
    while conn.execute(BLOCKED).fetchone() != (0,):
        assert time.monotonic() < give_up, conn.execute(BLOCKED).fetchone()
        with contextlib.suppress(psycopg.Error):
            claim_next(conn, ELSEWHERE)
    assert rows.counts(conn)["blocked"] == 1


def test_nothing_starts_of_a_batch_that_had_failed_when_memory_was_lost(conn):
    """Many batches that tolerate their failures are found before it."""
    for _ in range(MANY // 2):
        enqueue_batch(conn, children=of(2, queue="others"), max_failed=5)
    for run in claim(conn, ["others"], MANY // 2):
        discard(conn, run)
    failed = enqueue_batch(conn, children=of(5), max_failed=100)
    for run in claim(conn, ["default"], 2):
        discard(conn, run)
    # One that is looking after them would look after this one, too, just when it is claimed from.
    awaited(conn, WORKERS, 0)
    # As if the server had crashed before anybody heard of it.
    conn.execute("ALTER TABLE turnstile.batch DISABLE TRIGGER USER")
    conn.execute("UPDATE turnstile.batch SET max_failed = 1 WHERE id = %s", [failed])
    conn.execute("ALTER TABLE turnstile.batch ENABLE TRIGGER USER")
    conn.execute("SELECT turnstile.rebuild()")
    assert claim_next(conn) is None
    awaited(conn, "SELECT stops FROM turnstile.batch WHERE id = %s", "failed", failed)
