"""How a changed priority gets to ten thousand children: soon, in chunks, whoever is there, and whatever fails on the way."""

import threading
import time
from contextlib import contextmanager

import pytest

from support.batches import ELSEWHERE, awaited, children_of, enqueue_batch, of, set_batch
from support.calls import claim_next, enqueue
from support.lapse import PATIENCE

CHUNK = 500
OTHERWISE = "SELECT count(*)::int FROM turnstile.job WHERE parent = %s AND state = 'available' AND priority <> %s"
LARGEST = "SELECT max(n)::int FROM (SELECT count(*) AS n FROM turnstile.job WHERE parent = %s GROUP BY xmin::text) AS by_one"


def _otherwise(conn, batch: int, priority: int) -> int:
    return conn.execute(OTHERWISE, [batch, priority]).fetchone()[0]


def _until(condition) -> None:
    """Without a claim."""
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.01)


@contextmanager
def _repeatedly(db, sql: str):
    """Another connection makes a call, over and over."""
    conn, is_over = db.connect(), threading.Event()

    def work() -> None:
        while not is_over.is_set():
            conn.execute(sql)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("beside", [
    None,
    f"SELECT * FROM turnstile.claim_next('{ELSEWHERE}', wait => '1 second')",
    f"CALL turnstile.wait_for_job('{{{ELSEWHERE}}}', '1 second')",
])  # fmt: skip
def test_nobody_has_to_claim(db, conn, beside):
    """Nor has anybody ever claimed here."""
    batch = enqueue_batch(conn, children=of(10_000))
    set_batch(conn, batch, priority=-5)
    with _repeatedly(db, beside or "SELECT pg_sleep(0.01)"):
        _until(lambda: _otherwise(conn, batch, -5) == 0)
    assert conn.execute(LARGEST, [batch]).fetchone()[0] <= CHUNK
    assert len(children_of(conn, batch)) == 10_000


def test_children_that_others_have_locked_hold_up_no_others(conn, other):
    batch = enqueue_batch(conn, children=of(2_000))
    locked = children_of(conn, batch)[:700]
    other.execute("BEGIN")
    other.execute("SELECT FROM turnstile.job WHERE id = ANY (%s) FOR UPDATE", [locked])
    set_batch(conn, batch, priority=-5)
    awaited(conn, OTHERWISE, 700, batch, -5)
    other.execute("COMMIT")
    awaited(conn, OTHERWISE, 0, batch, -5)


def test_a_chunk_that_is_rolled_back_is_done_again(conn):
    """It fails as often as this sequence says, which no rollback turns back."""
    batch = enqueue_batch(conn, children=of(2_000))
    conn.execute("CREATE SEQUENCE failures")
    conn.execute("""
        CREATE FUNCTION fail_twice() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('public.failures') <= 2 THEN RAISE 'not yet'; END IF;
            RETURN NEW;
        END $$
    """)
    last = children_of(conn, batch)[1_200]
    conn.execute(f"""
        CREATE TRIGGER fail_twice BEFORE UPDATE ON turnstile.job FOR EACH ROW
        WHEN (NEW.id = {last} AND NEW.priority = -5) EXECUTE FUNCTION fail_twice()
    """)
    set_batch(conn, batch, priority=-5)
    _until(lambda: _otherwise(conn, batch, -5) == 0)
    assert conn.execute("SELECT last_value FROM failures").fetchone() == (3,)
    assert conn.execute(LARGEST, [batch]).fetchone()[0] <= CHUNK


@pytest.fixture
def slow_commits(conn):
    """What gives a child the priority -5 commits only when nobody holds the advisory lock 1."""
    conn.execute("""
        CREATE FUNCTION commit_later() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock_shared(1);
            RETURN NULL;
        END $$
    """)
    conn.execute("""
        CREATE CONSTRAINT TRIGGER commit_later AFTER UPDATE ON turnstile.job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        WHEN (NEW.priority = -5) EXECUTE FUNCTION commit_later()
    """)


WAITING = """
    SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND NOT granted AND backend_type = 'client backend'
"""


@pytest.mark.usefixtures("slow_commits")
@pytest.mark.parametrize("final", [0, 7])
def test_the_last_of_two_changes_wins(db, conn, other, final):
    """Also where it is made, and seen to, while the first one has moved a chunk of the children and not committed yet. Who looks at a
    batch locks its parent if that is blocked; this one waits for its turn."""
    enqueue(conn, session="s")
    batch = enqueue_batch(conn, children=of(CHUNK + 3), session="s")
    for _ in range(3):
        claim_next(conn, ELSEWHERE)
    other.execute("SELECT pg_advisory_lock(1)")
    with _repeatedly(db, f"SELECT * FROM turnstile.claim_next('{ELSEWHERE}')"):
        set_batch(conn, batch, priority=-5)
        _until(lambda: conn.execute(WAITING).fetchone() == (1,))
        set_batch(conn, batch, priority=final)
        for _ in range(3):
            claim_next(conn, ELSEWHERE)
        other.execute("SELECT pg_advisory_unlock(1)")
    _until(lambda: _otherwise(conn, batch, final) == 0)
    assert len(children_of(conn, batch)) == CHUNK + 3
