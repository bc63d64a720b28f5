"""Rows are changed directly on every version of the server: the log of its changes has what the direct path writes and no more."""

from support.calls import claim, claim_next, complete, complete_many, enqueue, enqueue_many, enqueue_times
from wal import written

JOBS = 40
SLOW = """
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN coalesce(NEW, OLD); END';
CREATE TRIGGER look BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION look()
"""
INDEXES = "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'turnstile.job'::regclass AND NOT indisprimary"


def test_jobs_added_together_are_written_by_the_page(conn):
    _, records = written(conn, lambda: enqueue_many(conn, [{"kind": "work"}] * JOBS))
    assert records.keys() == {"Heap2 MULTI_INSERT"}


def test_claims_write_each_job_once(conn):
    """A server with assertions takes no update that does not wait: there each row is locked first."""
    enqueue_times(conn, JOBS)
    _, records = written(conn, lambda: claim(conn, ["default"], JOBS))
    (locks_first,) = conn.execute("SELECT current_setting('debug_assertions')::bool").fetchone()
    locks = records.pop("Heap LOCK", 0)
    assert (locks >= JOBS) if locks_first else (locks == 0)
    assert records == {"Heap HOT_UPDATE": JOBS}


def test_completions_lock_nothing_first(conn):
    enqueue_times(conn, JOBS)
    runs = claim(conn, ["default"], JOBS)
    _, one = written(conn, lambda: complete(conn, runs[0]))
    assert one == {"Heap DELETE": 1, "Heap INSERT": 1}
    _, many = written(conn, lambda: complete_many(conn, runs[1:]))
    assert many == {"Heap DELETE": JOBS - 1, "Heap2 MULTI_INSERT": many["Heap2 MULTI_INSERT"]}


def test_with_a_trigger_of_a_user_the_records_are_others(conn):
    enqueue_times(conn, JOBS)
    runs = claim(conn, ["default"], JOBS)
    conn.execute(SLOW)
    _, records = written(conn, lambda: complete_many(conn, runs))
    assert records == {"Heap DELETE": JOBS, "Heap INSERT": JOBS, "Heap LOCK": JOBS}


def test_an_index_that_only_summarizes_pages_gets_its_entry(conn):
    """Without other indexes on what a claim changes, the update is HOT where the server can do that."""
    for (index,) in conn.execute(INDEXES).fetchall():
        conn.execute(f"DROP INDEX {index}")
    conn.execute("CREATE INDEX ON turnstile.job USING brin (claimed_at)")
    enqueue(conn)
    conn.execute("VACUUM turnstile.job")
    run, records = written(conn, lambda: claim_next(conn))
    assert ("Heap HOT_UPDATE" in records) == (conn.info.server_version >= 160_000)
    conn.execute("SET enable_seqscan = off")
    found = "SELECT id FROM turnstile.job WHERE claimed_at BETWEEN now() - interval '1 hour' AND now() + interval '1 hour'"
    assert conn.execute(found).fetchall() == [(run.id,)]
