"""Finished jobs brought back by retry, and who holds their unique key by then."""

import pytest

from support import holders, rows
from support.calls import call, cancel, claim_next, complete, discard, enqueue, retry
from support.errors import WRONG_STATE, refused
from support.holders import MODES, ask

FINISHED = [holders.completed, holders.cancelled, holders.discarded]
TAKING = [mode for mode in MODES if mode != "while_executing"]


@pytest.mark.parametrize("finished", FINISHED)
@pytest.mark.parametrize("mode", TAKING)
def test_a_job_brought_back_holds_its_key_again(conn, mode, finished):
    job_id = finished(conn, mode)
    assert retry(conn, job_id) == "available"
    assert ask(conn, mode) == job_id
    assert claim_next(conn, "k").id == job_id


@pytest.mark.parametrize("finished", FINISHED)
@pytest.mark.parametrize("mode", [mode for mode in TAKING if mode != "until_expired"])
def test_it_stays_finished_while_another_holds_its_key(conn, mode, finished):
    job_id = finished(conn, mode)
    second = ask(conn, mode)
    before = rows.everything(conn)
    with refused(WRONG_STATE):
        retry(conn, job_id)
    assert rows.everything(conn) == before
    assert complete(conn, claim_next(conn, "k"))
    assert retry(conn, job_id) == "available"
    assert ask(conn, mode) == job_id != second


def test_an_expired_key_is_free_for_a_job_brought_back(conn):
    job_id = holders.completed(conn, "until_expired")
    conn.execute("UPDATE turnstile.unique_key SET expires_at = now()")
    second = ask(conn, "until_expired")
    with refused(WRONG_STATE):
        retry(conn, job_id)
    assert complete(conn, claim_next(conn, "k"))
    with refused(WRONG_STATE):
        retry(conn, job_id)
    assert retry(conn, second) == "available"


def test_jobs_that_only_run_alone_come_back_whoever_waits(conn):
    job_id = holders.completed(conn, "while_executing")
    second = ask(conn, "while_executing")
    assert retry(conn, job_id) == "available"
    assert claim_next(conn, "k").id in (job_id, second)
    assert claim_next(conn, "k") is None


def test_a_job_whose_key_was_forgotten_takes_it_again(conn):
    job_id = holders.discarded(conn, "until_executed")
    conn.execute("DELETE FROM turnstile.unique_key")
    assert retry(conn, job_id) == "available"
    assert ask(conn, "until_executed") == job_id


def test_the_window_stays_that_of_the_first_enqueue(conn):
    job_id = ask(conn, "until_executed", unique_for="1 hour")
    ends = "SELECT expires_at FROM turnstile.unique_key"
    [before] = conn.execute(ends).fetchone()
    discard(conn, claim_next(conn, "k"))
    retry(conn, job_id)
    [after] = conn.execute(ends).fetchone()
    assert abs((after - before).total_seconds()) < 1


def test_many_are_brought_back_but_those_whose_key_another_holds(conn):
    jobs = {key: enqueue(conn, unique_key=key) for key in "abc"}
    plain = enqueue(conn)
    for job_id in [*jobs.values(), plain]:
        assert cancel(conn, job_id) == "cancelled"
    second = enqueue(conn, unique_key="b")
    assert call(conn, "retry_many", queue="default")[0][0] == 3
    live = {row[0] for row in conn.execute("SELECT id FROM turnstile.job").fetchall()}
    assert live == {jobs["a"], second, jobs["c"], plain}


def test_those_whose_key_another_holds_take_no_place_of_others(conn):
    """They are found first, by each call, and a call that brings nothing back says that nothing is left."""
    jobs = [enqueue(conn, unique_key=key) for key in "abcde"] + [enqueue(conn) for _ in range(3)]
    for job_id in jobs:
        assert cancel(conn, job_id) == "cancelled"
    for key in "abde":
        enqueue(conn, unique_key=key)
    retried = [call(conn, "retry_many", queue="default", max_jobs=2)[0][0] for _ in range(3)]
    assert retried == [2, 2, 0]


def test_of_two_finished_jobs_with_one_key_one_comes_back(conn):
    first = enqueue(conn, unique_key="k")
    cancel(conn, first)
    second = enqueue(conn, unique_key="k")
    cancel(conn, second)
    assert call(conn, "retry_many", queue="default")[0][0] == 1
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (1,)


def test_a_retry_rolled_back_gives_the_key_back(conn):
    job_id = holders.completed(conn, "until_executed")
    conn.execute("BEGIN")
    retry(conn, job_id)
    conn.execute("ROLLBACK")
    assert ask(conn, "until_executed") != job_id
