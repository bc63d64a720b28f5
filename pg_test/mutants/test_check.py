"""turnstile.check() names what is wrong: memory is led astray by leaving out one mechanism in one connection."""

import contextlib

import pytest

from faults.witness import differences, is_sound
from support.calls import claim_all, claim_next, complete, enqueue, enqueue_times
from support.settings import configure


@contextlib.contextmanager
def _left_out(conn, fault: str):
    conn.execute(f"SET turnstile.seeded_fault = '{fault}'")
    yield
    conn.execute("RESET turnstile.seeded_fault")


def _keeps_room_of_an_ended_run(conn) -> None:
    run = claim_next(conn)
    with _left_out(conn, "CommitWithoutRelease"):
        complete(conn, run)


def _misses_a_run_started_by_hand(conn) -> None:
    with _left_out(conn, "CommitWithoutHold"):
        conn.execute("UPDATE turnstile.job SET state = 'running' WHERE tenant = 'acme'")


def _misses_a_lane(conn) -> None:
    with _left_out(conn, "IgnoreLane"):
        conn.execute("UPDATE turnstile.job SET priority = 7 WHERE tenant = 'acme'")


def _leaves_a_head_behind_a_job(conn) -> None:
    with _left_out(conn, "ForgetGone"):
        conn.execute("BEGIN; UPDATE turnstile.job SET priority = 1 WHERE id = (SELECT min(id) FROM turnstile.job)")
        claim_next(conn)
        conn.execute("ROLLBACK")


def _keeps_an_old_limit(conn) -> None:
    claim_next(conn)
    with _left_out(conn, "IgnoreSetting"):
        configure(conn, "tenant", "acme", slots=5)


def _forgets_when_a_job_falls_due(conn) -> None:
    with _left_out(conn, "HideDueTime"):
        enqueue(conn, run_at="2100-01-01")


def _forgets_a_lease(conn) -> None:
    with _left_out(conn, "HideLease"):
        claim_next(conn)


ASTRAY = {
    "a gate holds too much": (_keeps_room_of_an_ended_run, "a gate does not hold what runs behind it"),
    "a gate holds too little": (_misses_a_run_started_by_hand, "a gate does not hold what runs behind it"),
    "a lane is missing": (_misses_a_lane, "a lane with available jobs is missing"),
    "a head is too far": (_leaves_a_head_behind_a_job, "a lane's head is behind an available job"),
    "a job that was put off is forgotten": (_forgets_when_a_job_falls_due, "the time of a job is not watched"),
    "a lease is forgotten": (_forgets_a_lease, "the lease of a run is not watched"),
    "a limit is old": (_keeps_an_old_limit, "a gate has other settings than the tables"),
}


@pytest.mark.parametrize(("lead_astray", "problem"), ASTRAY.values(), ids=ASTRAY.keys())
def test_check_names_what_is_wrong_until_a_rebuild(db, conn, other, lead_astray, problem):
    configure(conn, "tenant", "acme", slots=3)
    enqueue_times(conn, 4, tenant="acme")
    enqueue(conn, tenant="globex")
    is_sound(other)
    lead_astray(conn)
    found = differences(other)
    assert {name for name, _ in found} == {problem}
    assert all(detail for _, detail in found)
    other.execute("SELECT turnstile.rebuild()")
    is_sound(other)
    claim_all(other)
    is_sound(other)
