"""A backend remembers where the rows of its runs are. What is there when they end may be another row, or nothing."""

import random

import pytest
from psycopg import errors

from support import rows
from support.calls import call, claim, claim_next, complete, complete_many, enqueue, enqueue_times, ids, release
from support.ended import history
from support.sleepers import until


def _place(conn, job: int) -> str:
    return conn.execute("SELECT ctid::text FROM turnstile.job WHERE id = %s", [job]).fetchone()[0]


def _vacuum(conn) -> None:
    conn.execute("VACUUM turnstile.job")


def test_another_job_has_its_place(conn, other):
    enqueue(conn)
    run = claim_next(conn)
    place = _place(conn, run.id)
    # An index has it, so that no other version of the row leads to the new one.
    other.execute("UPDATE turnstile.job SET run_at = run_at - interval '1 second'")
    assert _place(conn, run.id) != place

    def is_taken() -> bool:
        _vacuum(other)
        return _place(conn, enqueue(other)) == place

    until(is_taken, "another job gets the place")
    others = conn.execute("SELECT count(*) FROM turnstile.job WHERE id <> %s", [run.id]).fetchone()
    assert complete(conn, run) is True
    assert history(conn) == [run.id]
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == others
    assert call(conn, "check") == []


def test_it_is_elsewhere_in_its_page(conn, other):
    run, *others = claim_some(conn)
    place = _place(conn, run.id)
    for lease in ("1 hour", "2 hours", "3 hours"):
        call(other, "heartbeat", job_id=run.id, attempt=1, lease=lease)
        _vacuum(other)
    assert _place(conn, run.id) != place
    assert complete_many(conn, [run, *others]) == 3
    assert history(conn) == [run.id, *ids(others)]


def claim_some(conn) -> list:
    enqueue_times(conn, 3)
    return claim(conn, ["default"], 3)


def test_its_page_is_gone(conn, other):
    enqueue(conn)
    run = claim_next(conn)
    other.execute("DELETE FROM turnstile.job")

    def is_empty() -> bool:
        _vacuum(other)
        return other.execute("SELECT pg_relation_size('turnstile.job')").fetchone() == (0,)

    until(is_empty, "the table has no pages")
    with pytest.raises(errors.NoDataFound):
        complete(conn, run)


@pytest.mark.parametrize("rewrite", ["VACUUM FULL turnstile.job", "CLUSTER turnstile.job USING job_pkey"])
def test_the_table_is_written_anew(conn, other, rewrite):
    enqueue_times(conn, 20)
    runs = claim(conn, ["default"], 20)
    random.Random(1).shuffle(runs)
    complete_many(other, runs[:10])
    other.execute(rewrite)
    assert complete_many(conn, runs) == 10
    assert rows.counts(conn) == {"completed": 20}


def test_a_later_run_has_its_place_elsewhere(conn, other):
    enqueue(conn)
    run = claim_next(conn)
    release(other, run)
    later = claim_next(other)
    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        complete(conn, run)
    assert complete(conn, later) is True


def test_both_runs_of_a_job_in_one_call(conn, other):
    enqueue(conn)
    run = claim_next(conn)
    release(other, run)
    later = claim_next(conn)
    assert complete_many(conn, [run, later]) == 1
    assert rows.finished(conn, run.id).attempt == later.attempt == 2


def test_an_end_that_is_undone(conn):
    enqueue(conn)
    run = claim_next(conn)
    with conn.transaction(force_rollback=True):
        complete(conn, run)
    assert complete(conn, run) is True


def test_a_claim_that_is_undone(conn, other):
    enqueue(conn)
    with conn.transaction(force_rollback=True):
        run = claim_next(conn)
    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        complete(conn, run)
    assert complete(conn, claim_next(other)) is True


def test_in_one_transaction(conn):
    enqueue(conn)
    with conn.transaction():
        run = claim_next(conn)
        call(conn, "progress", job_id=run.id, attempt=1, done=1)
        assert complete(conn, run) is True
    assert rows.counts(conn) == {"completed": 1}


def test_runs_of_several_connections_end_in_one_call(conn, other):
    jobs = enqueue_times(conn, 60)
    dice = random.Random(2)
    runs = [claim_next(dice.choice([conn, other])) for _ in jobs]
    for run in dice.sample(runs, 10):
        call(other, "heartbeat", job_id=run.id, attempt=1, lease="1 hour")
    assert complete_many(conn, runs[::2]) == 30
    assert complete_many(other, runs) == 30
    assert history(conn) == jobs == sorted(ids(runs))
    assert call(conn, "check") == []
