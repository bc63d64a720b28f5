"""What is told of a batch: the view batches, batch_results, wait_for_end, and the filter of the calls about many jobs."""

import pytest
from psycopg.rows import namedtuple_row

from support import rows
from support.batches import (
    callback_of, children_of, claim_awaited, claim_just, complete_all, ended, ends_as, enqueue_batch, nothing_comes, of, pruned,
    set_batch,
)  # fmt: skip
from support.calls import call, cancel, claim, claim_next, complete, discard, enqueue, fail, release
from support.errors import NO_SUCH_JOB, refused
from support.history import days_ago, maintain, make_day, noon
from support.plans import PLANNED, most_rows
from support.settings import configure
from support.sleepers import Sleeper, until

WAIT = "CALL turnstile.wait_for_end(%(job)s, %(timeout)s)"
MANY = 200
COUNTS = "total waiting running completed discarded cancelled".split()


def _shown(conn, batch: int):
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        [row] = cursor.execute("SELECT * FROM turnstile.batches WHERE id = %s", [batch]).fetchall()
    return row


def _counts(conn, batch: int) -> list[int]:
    row = _shown(conn, batch)
    return [getattr(row, name) for name in COUNTS]


# ---- The view -------------------------------------------------------------------------------------


def test_a_batch_is_shown_with_its_children_by_state(conn):
    batch = enqueue_batch(conn, "install", of(8), queue="mail", tenant="acme", session="admin", slots=5)
    runs = claim_just(conn, 5, "mail")
    row = _shown(conn, batch)
    assert (row.kind, row.queue, row.tenant, row.session, row.state, row.slots) == ("install", "mail", "acme", "admin", "blocked", 5)
    assert row.started_at is not None
    assert _counts(conn, batch) == [8, 3, 5, 0, 0, 0]
    complete(conn, runs[0])
    discard(conn, runs[1])
    fail(conn, runs[2], retry_in="1 hour")
    assert _counts(conn, batch) == [8, 4, 2, 1, 1, 0]
    release(conn, runs[3])
    cancel(conn, runs[3].id)
    assert _counts(conn, batch) == [8, 4, 1, 1, 1, 1]
    set_batch(conn, batch, slots=2)
    assert _shown(conn, batch).slots == 2


@pytest.mark.parametrize("which", ["WHERE id = (SELECT min(id) FROM turnstile.batch)", "ORDER BY id DESC LIMIT 3"])
def test_of_some_batches_no_others_are_looked_at(conn, which):
    for _ in range(MANY):
        enqueue_batch(conn, children=of(2), slots=1)
    conn.execute(PLANNED)
    [[explained]] = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM turnstile.batches {which}").fetchall()
    assert most_rows(explained[0]["Plan"]) < MANY / 2


@pytest.mark.parametrize("rewrite", ["SELECT", "ALTER TABLE turnstile.job ADD COLUMN mine timestamptz DEFAULT clock_timestamp()"])
def test_a_batch_of_a_transaction_that_has_rewritten_the_jobs_is_counted(conn, rewrite):
    batches = [enqueue_batch(conn, children=of(number)) for number in (3, 5)]
    claim(conn, ["default"], 2)
    conn.execute(f"BEGIN; {rewrite}")
    assert [_counts(conn, batch)[:3] for batch in batches] == [[3, 1, 2], [5, 5, 0]]
    conn.execute("ROLLBACK")


def test_a_batch_that_is_not_open_has_not_started(conn):
    enqueue(conn, session="admin")
    batch = enqueue_batch(conn, children=of(2), session="admin")
    claim_next(conn)
    row = _shown(conn, batch)
    assert (row.state, row.total, row.waiting, row.started_at, row.estimated_end) == ("available", 2, 2, None, None)


def test_an_estimate_comes_with_the_first_ends(conn):
    batch = enqueue_batch(conn, children=of(6))
    assert _shown(conn, batch).estimated_end is None, "nothing has ended yet"
    complete_all(conn, [claim_awaited(conn), claim_awaited(conn)])
    row = _shown(conn, batch)
    assert row.finished_per_minute > 0
    assert row.estimated_end >= rows.clock(conn) or row.estimated_end >= row.started_at


def test_jobs_without_children_are_no_batches(conn):
    enqueue(conn)
    claim_next(conn)
    enqueue(conn)
    assert conn.execute("SELECT count(*) FROM turnstile.batches").fetchone() == (0,)


def test_ended_children_are_counted_only_where_they_are_asked_for(conn):
    """A list of many batches would count the history of each."""
    enqueue_batch(conn, children=of(2))
    plan = "EXPLAIN SELECT id, kind, state, waiting, running, slots, estimated_end, paused FROM turnstile.batches"
    assert not [line for (line,) in conn.execute(plan).fetchall() if "parent" in line and "job_history" in line]
    assert "Aggregate" not in str(conn.execute(plan).fetchall())
    assert "Aggregate" in str(conn.execute(plan.replace("waiting", "completed")).fetchall())


# ---- What comes after what --------------------------------------------------------------------------


def test_dependencies_are_shown_by_their_ids(conn):
    first, other = enqueue(conn), enqueue(conn)
    held = enqueue(conn, after=[first, other], after_hold=True)
    loose = enqueue(conn, after=[other], after_any_end=True)
    seen = "SELECT predecessor, job, any_end, holds FROM turnstile.dependencies ORDER BY 1, 2"
    assert conn.execute(seen).fetchall() == [(first, held, False, True), (other, held, False, True), (other, loose, True, False)]
    complete_all(conn, claim_just(conn, 2))
    assert {run.id for run in claim_just(conn, 2)} == {held, loose}
    assert conn.execute(seen).fetchall() == []


# ---- Results --------------------------------------------------------------------------------------


def test_results_of_all_children_are_told(conn):
    batch = enqueue_batch(conn, children=of(5))
    made = children_of(conn, batch)
    runs = claim_just(conn, 5)
    complete(conn, runs[0], result={"sum": 3})
    fail(conn, runs[1], error="bad address", discard=True)
    fail(conn, runs[2], error="busy", retry_in="1 hour")
    release(conn, runs[3])
    found = call(conn, "batch_results", id=batch)
    assert [row.id for row in found] == made
    assert [row.kind for row in found] == ["child"] * 5
    assert [row.payload for row in found] == [{"n": n} for n in range(5)]
    assert [row.state for row in found] == ["completed", "discarded", "retryable", "available", "running"]
    assert [row.result for row in found] == [{"sum": 3}, None, None, None, None]
    assert [row.error for row in found][:2] == [None, "bad address"]


def test_a_callback_gathers_the_results(conn):
    batch = enqueue_batch(conn, children=of(4))
    for run in claim_just(conn, 4):
        complete(conn, run, result=run.payload["n"] ** 2)
    run = callback_of(conn, batch)
    assert sum(row.result for row in call(conn, "batch_results", id=batch)) == 14
    complete(conn, run)
    assert len(call(conn, "batch_results", id=batch)) == 4, "also when it has ended"


def test_a_child_that_was_brought_back_is_told_once(conn):
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    discard(conn, run)
    complete(conn, callback_of(conn, batch))
    call(conn, "retry", job_id=batch)
    [row] = call(conn, "batch_results", id=batch)
    assert (row.id, row.state) == (run.id, "available")
    complete(conn, claim_awaited(conn), result=1)
    [row] = call(conn, "batch_results", id=batch)
    assert (row.id, row.state, row.result) == (run.id, "completed", 1)


# ---- Waiting for the end --------------------------------------------------------------------------


def _waiting(db, conn, job: int) -> Sleeper:
    """Somebody who waits for the end of the job."""
    sleeper = Sleeper(db.connect(), WAIT, job=job, timeout="60 s")
    at_it = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND query LIKE 'CALL%%' AND wait_event IS NOT NULL"
    until(lambda: conn.execute(at_it, [sleeper.pid]).fetchone() == (1,), "it waits")
    return sleeper


@pytest.mark.parametrize("end", ["completed", "discarded", "cancelled"])
def test_who_waits_for_the_end_is_woken_by_any(db, conn, end):
    job = enqueue(conn)
    run = claim_next(conn)
    sleeper = _waiting(db, conn, job)
    if end == "cancelled":
        release(conn, run)
        cancel(conn, job)
    else:
        (complete if end == "completed" else discard)(conn, run)
    assert sleeper.returned().error is None
    assert rows.state(conn, job) == end


def test_who_waits_for_a_batch_waits_for_its_callback(db, conn):
    batch = enqueue_batch(conn, children=of(1))
    sleeper = _waiting(db, conn, batch)
    complete_all(conn, claim_just(conn, 1))
    run = callback_of(conn, batch)
    assert sleeper.is_alive()
    complete(conn, run)
    assert sleeper.returned().error is None
    assert rows.state(conn, batch) == "completed"


def test_who_waits_gives_up_at_the_end_of_its_time(conn):
    batch = enqueue_batch(conn, children=of(1))
    for timeout in ("0", "20 milliseconds"):
        conn.execute(WAIT, {"job": batch, "timeout": timeout})
    assert rows.state(conn, batch) == "blocked"


def test_what_has_ended_is_not_waited_for(conn):
    job = enqueue(conn)
    complete(conn, claim_next(conn))
    conn.execute("SET statement_timeout = '20 s'")
    conn.execute(WAIT, {"job": job, "timeout": "60 s"})


def test_the_end_of_an_unknown_job_never_comes(conn):
    with refused(NO_SUCH_JOB):
        conn.execute(WAIT, {"job": 10**9, "timeout": "60 s"})


# ---- Many -----------------------------------------------------------------------------------------


def test_the_children_of_a_batch_are_cancelled_discarded_and_retried_together(conn):
    batch, other = (enqueue_batch(conn, children=of(4), on_end="complete") for _ in range(2))
    enqueue(conn, queue="mail")
    assert call(conn, "cancel_many", parent=batch, max_jobs=2)[0][0] == 2
    assert call(conn, "discard_many", parent=batch, max_jobs=1)[0][0] == 1
    assert call(conn, "retry_many", parent=batch)[0][0] == 3
    assert (len(children_of(conn, batch)), len(children_of(conn, other))) == (4, 4)
    assert call(conn, "cancel_many", parent=batch)[0][0] == 4
    ends_as(conn, batch, "completed")
    assert rows.finished(conn, batch).children == ended(cancelled=4)
    assert len(children_of(conn, other)) == 4


def test_failed_children_of_a_live_batch_are_retried_together(conn):
    batch = enqueue_batch(conn, children=of(4))
    runs = claim_just(conn, 4)
    for run in runs[:3]:
        discard(conn, run)
    assert call(conn, "retry_many", parent=batch, state="discarded")[0][0] == 3
    complete(conn, runs[3])
    complete_all(conn, claim_just(conn, 3))
    assert callback_of(conn, batch).children == ended(completed=4)


# ---- Retention ------------------------------------------------------------------------------------


def test_a_day_of_the_history_does_not_go_before_its_children_are_counted(conn):
    configure(conn, "queue", "default", keep_completed="1 day", keep_discarded="1 day")
    make_day(conn, 10)
    batch = enqueue_batch(conn, children=of(3))
    runs = claim_just(conn, 3)
    complete(conn, runs[0])
    discard(conn, runs[1])
    conn.execute("UPDATE turnstile.job_history SET finished_at = %s", [noon(days_ago(conn, 10))])
    maintain(conn)
    nothing_comes(conn)
    complete(conn, runs[2])
    assert callback_of(conn, batch).children == ended(2, 1)


def test_an_old_day_of_an_ended_batch_goes(conn):
    configure(conn, "queue", "default", keep_completed="1 day", keep_discarded="1 day")
    make_day(conn, 10)
    batch = enqueue_batch(conn, children=of(1))
    complete_all(conn, claim_just(conn, 1))
    complete(conn, callback_of(conn, batch))
    conn.execute("UPDATE turnstile.job_history SET finished_at = %s", [noon(days_ago(conn, 10))])
    maintain(conn)
    assert conn.execute("SELECT count(*) FROM turnstile.job_history").fetchone() == (0,)
    pruned(conn)
    assert conn.execute("SELECT count(*) FROM turnstile.batch").fetchone() == (0,)
