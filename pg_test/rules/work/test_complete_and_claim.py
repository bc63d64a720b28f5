"""complete_and_claim: complete_many and claim in one transaction, so that what the ended runs leave is there for the next."""

import psycopg
import pytest

from support import rows
from support.calls import claim, complete, complete_and_claim, enqueue, enqueue_times, ids
from support.settings import configure
from support.sleepers import Sleeper, await_asleep


@pytest.fixture
def notices(conn):
    heard = []
    conn.execute("SET client_min_messages = notice")
    conn.add_notice_handler(lambda notice: heard.append(notice.message_primary))
    return heard


def test_the_next_jobs_have_the_slots_and_the_session_of_those_that_end(conn, other):
    configure(conn, "tenant", "acme", slots=3)
    made = [enqueue(conn, tenant="acme", session=session) for session in ["a", None, None, "a", None, None, None]]
    runs = claim(conn, ["default"], 9)
    assert ids(runs) == made[:3]
    conn.execute("BEGIN")
    following = complete_and_claim(conn, runs, ["default"], 9, worker="me", lease="1 hour")
    assert claim(other, ["default"], 9) == []
    conn.execute("COMMIT")
    assert ids(following) == made[3:6]
    assert claim(other, ["default"], 9) == []
    assert {run.id: rows.state(conn, run.id) for run in runs} == dict.fromkeys(made[:3], "completed")
    workers = conn.execute("SELECT DISTINCT worker FROM turnstile.job WHERE state = 'running'").fetchall()
    assert workers == [("me",)]


def test_it_claims_from_the_queues_in_order_and_no_more_than_asked_for(conn):
    later = enqueue(conn, queue="later")
    first = [enqueue(conn, queue="first") for _ in range(3)]
    assert ids(complete_and_claim(conn, [], ["first", "later"], 2)) == first[:2]
    assert ids(complete_and_claim(conn, [], ["first", "later"], 2)) == [first[2], later]


def test_it_may_only_complete_or_only_claim(conn, notices):
    made = enqueue_times(conn, 2)
    runs = complete_and_claim(conn, [], ["default"], 2)
    assert ids(runs) == made
    assert complete_and_claim(conn, runs, ["default"], 0) == []
    assert rows.counts(conn) == {"completed": 2}
    assert notices == []


def test_runs_that_are_over_are_left_alone_and_a_notice_says_so(conn, notices):
    enqueue_times(conn, 4)
    first, second, third = claim(conn, ["default"], 3)
    complete(conn, first)
    stale = third._replace(attempt=7)
    assert len(complete_and_claim(conn, [first, second, second, stale], ["default"], 9)) == 1
    assert notices == ["2 of 3 runs were not completed: they were superseded, had ended before, or are not the caller's to end"]
    assert rows.counts(conn) == {"completed": 2, "running": 2}


@pytest.mark.parametrize("end", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
def test_what_is_undone_leaves_the_runs_as_they_were(conn, other, end):
    made = enqueue_times(conn, 4)
    runs = claim(conn, ["default"], 2)
    conn.execute("BEGIN; SAVEPOINT s")
    assert ids(complete_and_claim(conn, runs, ["default"], 2)) == made[2:]
    conn.execute(end)
    assert ids(complete_and_claim(other, runs, ["default"], 2)) == made[2:]


def test_a_trigger_that_refuses_an_end_refuses_the_claim(conn):
    enqueue_times(conn, 3)
    runs = claim(conn, ["default"], 2)
    conn.execute("ALTER TABLE turnstile.job_history ADD CONSTRAINT odd CHECK (id % 2 = 0)")
    with pytest.raises(psycopg.errors.CheckViolation):
        complete_and_claim(conn, runs, ["default"], 2)
    assert rows.counts(conn) == {"running": 2, "available": 1}
    conn.execute("ALTER TABLE turnstile.job_history DROP CONSTRAINT odd")
    assert len(complete_and_claim(conn, runs, ["default"], 2)) == 1


def test_it_waits_for_the_next_jobs(db, conn):
    enqueue(conn)
    [run] = claim(conn, ["default"], 1)
    call = "SELECT id FROM turnstile.complete_and_claim(%(ids)s, %(attempts)s, '{default}', 2, wait => '60 s')"
    sleeper = Sleeper(db.connect(), call, ids=[run.id], attempts=[run.attempt])
    await_asleep(conn, 1)
    job = enqueue(conn)
    assert sleeper.returned().rows == [(job,)]
    assert rows.state(conn, run.id) == "completed"


def test_two_that_complete_the_same_runs_count_them_once(conn, other, notices):
    made = enqueue_times(conn, 4)
    runs = claim(conn, ["default"], 2)
    conn.execute("SET lock_timeout = '10 s'; BEGIN")
    assert ids(complete_and_claim(conn, runs, ["default"], 1)) == [made[2]]
    second = Sleeper(
        other,
        "SELECT id FROM turnstile.complete_and_claim(%(ids)s, %(attempts)s, '{default}', 1)",
        ids=ids(runs),
        attempts=[run.attempt for run in runs],
    )
    conn.execute("COMMIT")
    assert second.returned().rows == [(made[3],)]
    assert rows.counts(conn) == {"completed": 2, "running": 2}
