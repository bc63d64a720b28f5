"""What stat_queue and stat_tenant count: what has become of jobs since the statistics were reset."""

import pytest
from psycopg.rows import dict_row

from support.calls import call, cancel, claim, claim_next, complete, discard, enqueue, enqueue_times, fail, release, snooze

EVENTS = ("enqueued", "started", "completed", "failed", "retried", "discarded", "cancelled", "rescued")
VIEWS = {"stat_queue": ("mail", {"queue": "mail"}), "stat_tenant": ("acme", {"queue": "mail", "tenant": "acme"})}
each_view = pytest.mark.parametrize("view", VIEWS)


def _row(conn, view: str = "stat_queue") -> dict | None:
    with conn.cursor(row_factory=dict_row) as cursor:
        found = f"SELECT * FROM turnstile.{view} WHERE name = %s"
        return cursor.execute(found, [VIEWS[view][0]]).fetchone()


def _events(conn, view: str = "stat_queue") -> dict:
    """Those that have happened."""
    row = _row(conn, view)
    return {name: row[name] for name in EVENTS if row[name]} if row else {}


@each_view
def test_each_end_is_counted_as_what_it_is(conn, view):
    given = VIEWS[view][1]
    enqueue_times(conn, 7, **given)
    complete(conn, claim_next(conn, "mail"))
    discard(conn, claim_next(conn, "mail"))
    fail(conn, claim_next(conn, "mail"), retry_in="1 hour")
    fail(conn, claim_next(conn, "mail"), discard=True)
    release(conn, claim_next(conn, "mail"))
    cancel(conn, enqueue(conn, **given))
    run = claim_next(conn, "mail")
    assert run
    assert _events(conn, view) == {
        "enqueued": 8, "started": 6, "completed": 1, "failed": 3, "retried": 1, "discarded": 2, "cancelled": 1,
    }  # fmt: skip
    row = _row(conn, view)
    assert [row[state] for state in ("waiting", "scheduled", "retryable", "running")] == [2, 0, 1, 1]


def test_rescues_are_no_failures(conn):
    enqueue(conn, queue="mail", max_attempts=2)
    for _ in range(2):
        conn.execute("SELECT FROM turnstile.claim_next('mail', lease => '1 microsecond')")
        call(conn, "rescue")
        conn.execute("UPDATE turnstile.job SET run_at = now() - interval '1 second' WHERE state = 'retryable'")
        call(conn, "promote")
    assert _events(conn) == {"enqueued": 1, "started": 2, "rescued": 2, "retried": 1, "discarded": 1}


def test_what_is_rolled_back_has_not_happened(conn, db):
    enqueue_times(conn, 3, queue="mail")
    other = db.connect(autocommit=False)
    enqueue(other, queue="mail")
    complete(other, claim_next(other, "mail"))
    other.rollback()
    assert _events(conn) == {"enqueued": 3}
    other.execute("SAVEPOINT s")
    claim(other, ["mail"], 2)
    other.execute("ROLLBACK TO s")
    complete(other, claim_next(other, "mail"))
    assert _events(conn) == {"enqueued": 3}
    other.commit()
    assert _events(conn) == {"enqueued": 3, "started": 1, "completed": 1}


def test_waits_and_runs_are_measured(conn):
    conn.execute("INSERT INTO turnstile.job (queue, kind, run_at) SELECT 'mail', 'work', now() - interval '90 s' FROM generate_series(1, 4)")
    runs = claim(conn, ["mail"], 4)
    conn.execute("UPDATE turnstile.job SET claimed_at = now() - interval '40 s'")
    complete(conn, runs[0])
    row = _row(conn)
    bounds = conn.execute("SELECT turnstile.histogram_bounds()").fetchone()[0]
    assert bounds == sorted(bounds)
    assert len(row["wait_ms"]) == len(row["run_ms"]) == len(bounds) + 1
    assert (sum(row["wait_ms"]), row["wait_ms"][bounds.index(100_000)]) == (4, 4)
    assert (sum(row["run_ms"]), row["run_ms"][bounds.index(50_000)]) == (1, 1)
    assert 360_000 <= row["wait_ms_sum"] < 400_000
    assert 50_000 < row["wait_ms_p50"] <= row["wait_ms_p95"] <= row["wait_ms_p99"] <= 100_000
    assert 20_000 < row["run_ms_p50"] <= 50_000


def test_runs_are_measured_whatever_ends_them(conn):
    enqueue_times(conn, 4, queue="mail")
    released, snoozed, deleted, stopped = claim(conn, ["mail"], 4)
    assert release(conn, released)
    assert snooze(conn, snoozed, "1 hour")
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [deleted.id])
    conn.execute("UPDATE turnstile.job SET state = 'available' WHERE id = %s", [stopped.id])
    assert _events(conn) == {"enqueued": 4, "started": 4}
    assert sum(_row(conn)["run_ms"]) == 4


def test_waits_over_all_attempts_are_measured_when_a_job_ends(conn):
    enqueue_times(conn, 4, queue="mail")
    done, retried, stopped, _ = claim(conn, ["mail"], 4)
    conn.execute("UPDATE turnstile.job SET run_at = now() - interval '400 s', claimed_at = now() - interval '300 s'")
    assert sum(_row(conn)["total_wait_ms"]) == 0
    fail(conn, retried)
    fail(conn, stopped)
    conn.execute("UPDATE turnstile.job SET run_at = now() - interval '200 s' WHERE state = 'retryable'")
    call(conn, "cancel", job_id=stopped.id)
    call(conn, "promote")
    again = claim_next(conn, "mail")
    conn.execute("UPDATE turnstile.job SET claimed_at = now() - interval '50 s' WHERE id = %s", [again.id])
    for run in (done, again):
        complete(conn, run)
    # Nothing of one that never ran, or that is deleted.
    never = enqueue(conn, queue="mail")
    call(conn, "cancel", job_id=never)
    conn.execute("DELETE FROM turnstile.job")
    row = _row(conn)
    bounds = conn.execute("SELECT turnstile.histogram_bounds()").fetchone()[0]
    assert sum(row["total_wait_ms"]) == 3
    assert [row["total_wait_ms"][bounds.index(bound)] for bound in (100_000, 500_000)] == [2, 1]
    assert row["total_wait_ms_sum"] == pytest.approx(100_000 * 2 + 250_000, abs=1_000)
    waits = conn.execute("SELECT extract(epoch FROM sum(waited)) * 1000 FROM turnstile.jobs").fetchone()[0]
    assert row["total_wait_ms_sum"] == pytest.approx(float(waits), abs=1)


def test_a_reset_sets_events_to_zero_and_no_jobs(conn):
    enqueue_times(conn, 3, queue="mail")
    complete(conn, claim_next(conn, "mail"))
    before = _row(conn)["stats_reset"]
    call(conn, "stat_reset")
    assert _row(conn) is None
    enqueue(conn, queue="mail")
    row = _row(conn)
    assert _events(conn) == {"enqueued": 1}
    assert (row["waiting"], row["wait_ms_p50"]) == (3, None)
    assert row["stats_reset"] > before


def test_rebuilds_and_counts_keep_what_has_happened(conn):
    enqueue_times(conn, 3, queue="mail")
    complete(conn, claim_next(conn, "mail"))
    before = _row(conn)
    call(conn, "rebuild")
    assert _events(conn) == {"enqueued": 3, "started": 1, "completed": 1}
    assert _row(conn)["wait_ms"] == before["wait_ms"]


@pytest.mark.parametrize("gate", [None, "", "session", "nothing"])
def test_there_are_figures_of_four_kinds(conn, gate):
    with pytest.raises(Exception) as caught:
        conn.execute("SELECT * FROM turnstile_internal.figures(%s)", [gate])
    assert caught.value.sqlstate == ("22004" if gate is None else "22023")


def test_room_held_by_open_claims_shows(conn, db):
    call(conn, "set_queue", name="mail", max_running=3)
    enqueue_times(conn, 3, queue="mail")
    other = db.connect(autocommit=False)
    claim(other, ["mail"], 2)
    shown = "SELECT waiting, running, starting, free FROM turnstile.queues WHERE name = 'mail'"
    assert conn.execute(shown).fetchone() == (3, 0, 2, 1)
    other.commit()
    assert conn.execute(shown).fetchone() == (1, 2, 0, 1)


def test_figures_of_a_transaction_that_has_rewritten_the_jobs_are_counted(conn, db):
    enqueue_times(conn, 3, queue="mail")
    other = db.connect(autocommit=False)
    other.execute("TRUNCATE turnstile.job")
    enqueue(other, queue="mail")
    shown = "SELECT waiting FROM turnstile.queues WHERE name = 'mail'"
    assert other.execute(shown).fetchone() == (1,)
    other.rollback()
    assert conn.execute(shown).fetchone() == (3,)


def test_a_serializable_reader_sees_figures(conn, db):
    enqueue_times(conn, 3, queue="mail")
    call(conn, "rebuild")
    other = db.connect(autocommit=False)
    other.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY")
    assert other.execute("SELECT waiting FROM turnstile.queues WHERE name = 'mail'").fetchone() == (3,)


def test_a_transaction_that_empties_the_table_counts_what_it_did_otherwise(conn):
    enqueue(conn, queue="mail")
    with conn.transaction():
        complete(conn, claim_next(conn, "mail"))
        enqueue(conn, queue="mail")
        conn.execute("TRUNCATE turnstile.job")
        enqueue(conn, queue="mail")
    assert _events(conn) == {"enqueued": 3, "started": 1, "completed": 1}
    assert _row(conn)["waiting"] == 1


def test_a_trigger_that_dates_jobs_anew_when_they_start_leaves_none_waiting(conn):
    conn.execute(
        """CREATE FUNCTION date_anew() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN NEW.run_at := now() - interval '1 hour'; RETURN NEW; END $$"""
    )
    conn.execute(
        """CREATE TRIGGER a BEFORE UPDATE ON turnstile.job FOR EACH ROW
           WHEN (NEW.state = 'running' AND OLD.state = 'available') EXECUTE FUNCTION date_anew()"""
    )
    enqueue_times(conn, 3, queue="mail")
    shown = "SELECT waiting, oldest_waiting IS NULL FROM turnstile.queues WHERE name = 'mail'"
    assert conn.execute(shown).fetchone() == (3, False)
    for _ in range(3):
        complete(conn, claim_next(conn, "mail"))
    assert conn.execute(shown).fetchone() == (0, True)
