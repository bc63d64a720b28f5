"""A job that holds its session while it waits: a pause of the session holds it up as well, and nothing else."""

import pytest

from support import rows
from support.batches import await_children, enqueue_batch, of
from support.calls import call, claim, claim_next, complete, complete_and_claim_next, enqueue, fail, ids
from support.sleepers import Sleeper, await_asleep

OWN = {"queue": "q", "session": "s"}
# With a trigger of a user's, claims are made by statements.
TRIGGER = """
CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER pass BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass();
"""


def _retry(conn) -> int:
    job = enqueue(conn, **OWN)
    fail(conn, claim_next(conn, "q"), error="x", retry_in="0")
    return job


def _callback(conn) -> int:
    parent = enqueue_batch(conn, children=of(1), **OWN)
    assert claim_next(conn, "q") is None
    complete(conn, claim_next(conn, "q"))
    return parent


def _after_children(conn) -> int:
    job = enqueue(conn, **OWN)
    run = claim_next(conn, "q")
    enqueue(conn, parent=job)
    await_children(conn, run)
    complete(conn, claim_next(conn, "q"))
    return job


HOLDERS = {"retry": _retry, "callback": _callback, "after children": _after_children}


@pytest.fixture(params=["directly", "by statements"])
def way(request, conn):
    if request.param == "by statements":
        conn.execute(TRIGGER)


@pytest.fixture(params=HOLDERS)
def holder(request, conn, way):
    return HOLDERS[request.param](conn)


def _pause(conn, until=None, queue="q", tenant=None, session="s"):
    call(conn, "pause_session", queue=queue, tenant=tenant, session=session, until=until)


def _resume(conn):
    call(conn, "resume_session", queue="q", tenant=None, session="s")


def _nothing_but(conn, *jobs):
    """Claims of all kinds find these, in order, and then nothing."""
    for job in jobs:
        assert claim_next(conn, "q").id == job
    assert claim_next(conn, "q") is None
    assert claim_next(conn, "*") is None
    assert claim(conn, ["other", "q"], 10) == []


def test_no_job_of_a_paused_session_starts(conn, holder):
    _pause(conn)
    _nothing_but(conn)
    _resume(conn)
    run = claim_next(conn, "q")
    assert run.id == holder
    assert complete(conn, run)


def test_one_that_falls_due_while_it_is_paused(conn, way):
    job = enqueue(conn, **OWN)
    fail(conn, claim_next(conn, "q"), error="x", retry_in="1 hour")
    _pause(conn)
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE id = %s", [job])
    _nothing_but(conn)
    assert rows.state(conn, job) == "available"
    _resume(conn)
    _nothing_but(conn, job)


def test_children_that_end_while_it_is_paused(conn, way):
    parent = enqueue_batch(conn, children=of(1), **OWN)
    assert claim_next(conn, "q") is None
    child = claim_next(conn, "q")
    _pause(conn)
    complete(conn, child)
    _nothing_but(conn)
    _resume(conn)
    _nothing_but(conn, parent)


def test_who_follows_a_run_finds_nothing_either(conn, holder):
    run = claim_next(conn, "q", worker="w")
    before = enqueue(conn, queue="q", priority=-1)
    fail(conn, run, error="x", retry_in="0")
    _pause(conn)
    run = claim_next(conn, "q")
    assert run.id == before
    assert complete_and_claim_next(conn, run, queue="q") is None
    _resume(conn)
    assert claim_next(conn, "q").id == holder


def test_other_jobs_of_its_lane_go_on(conn, holder):
    _pause(conn)
    others = [enqueue(conn, queue="q") for _ in range(3)]
    later = enqueue(conn, **OWN)
    late = enqueue(conn, queue="q", priority=1)
    _nothing_but(conn, *others, late)
    _resume(conn)
    run = claim_next(conn, "q")
    assert run.id == holder
    complete(conn, run)
    assert claim_next(conn, "q").id == later


def test_many_of_them_in_a_lane(conn, way):
    sessions = [f"s{number}" for number in range(100)]
    held = [enqueue(conn, queue="q", session=session) for session in sessions]
    for run in claim(conn, ["q"], 100):
        fail(conn, run, error="x", retry_in="0")
    for session in sessions[:-1]:
        _pause(conn, session=session)
    free = enqueue(conn, queue="q")
    assert sorted(ids(claim(conn, ["q"], 10))) == sorted([held[-1], free])
    call(conn, "resume_session", queue="q", tenant=None, session=sessions[0])
    assert ids(claim(conn, ["q"], 10)) == [held[0]]


def test_a_pause_of_another_session_is_none(conn, holder):
    _pause(conn, session="other")
    _pause(conn, queue="other")
    _pause(conn, tenant="acme")
    _nothing_but(conn, holder)


def test_a_pause_that_is_over_is_none(conn, holder):
    _pause(conn, until="2020-01-01")
    _nothing_but(conn, holder)


def test_a_sleeper_goes_on_when_the_session_is_resumed(db, conn, holder):
    _pause(conn)
    _nothing_but(conn)
    sleeper = Sleeper(db.connect(), "SELECT id FROM turnstile.claim_next('q', wait => '60 s')")
    await_asleep(conn, 1)
    _resume(conn)
    assert sleeper.returned().rows == [(holder,)]


def test_after_a_rebuild_it_is_the_same(conn, holder):
    _pause(conn)
    call(conn, "rebuild")
    _nothing_but(conn)
    _resume(conn)
    _nothing_but(conn, holder)


# ---- Why it waits ---------------------------------------------------------------------------------


def _reasons(conn, job) -> list:
    return [(row.reason, row.gate, row.name) for row in call(conn, "why_waiting", job_id=job)]


def test_it_is_said_to_be_paused(conn, holder):
    _pause(conn)
    _nothing_but(conn)
    assert _reasons(conn, holder) == [("paused", "session", "s")]
    free = enqueue(conn, queue="q")
    assert _reasons(conn, free) == []
    assert _reasons(conn, holder) == [("paused", "session", "s")]
    _resume(conn)
    assert _reasons(conn, holder) == []
    assert _reasons(conn, free) == [("behind", "queue", "q")]


def test_one_that_waits_for_its_children_is_said_to_be_paused_too(conn, way):
    parent = enqueue_batch(conn, children=of(1), **OWN)
    assert claim_next(conn, "q") is None
    _pause(conn)
    assert [reason for reason, _, _ in _reasons(conn, parent)] == ["blocked", "paused"]


def test_its_lane_counts_as_paused(conn):
    _retry(conn)
    _pause(conn)
    assert claim_next(conn, "q") is None
    found = {(row.reason, row.gate): row.lanes for row in call(conn, "why_waiting_summary", queue="q")}
    assert found == {("paused", "session"): 1}
    enqueue(conn, queue="q")
    found = {(row.reason, row.gate): row.lanes for row in call(conn, "why_waiting_summary", queue="q")}
    assert found == {("behind", "queue"): 1}


def test_it_starts_at_the_end_of_the_pause_or_nobody_knows(conn):
    job = _retry(conn)
    _pause(conn)
    [row] = call(conn, "wait_estimate", job_id=job)
    assert (row.bottleneck, row.starts_at) == ("session", None)
    _pause(conn, until="2100-01-01 00:00+00")
    [row] = call(conn, "wait_estimate", job_id=job)
    assert (row.bottleneck, row.starts_at.year) == ("session", 2100)
