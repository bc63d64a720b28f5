"""Queues that age their jobs: a waiting job gains one step of priority for each interval."""

import time

import pytest
from psycopg.errors import CheckViolation
from support.calls import call, claim, claim_all, claim_next, complete, enqueue, enqueue_times, fail, ids, release
from support.errors import refused
from support.drawn import A_ROW
from support.settings import configure, unconfigure

MINUTE = "1 minute"


@pytest.fixture
def aging(conn):
    configure(conn, "queue", "default", aging=MINUTE)
    return conn


def _has_waited(conn, job: int, how_long: str) -> int:
    """As if the job had become available so long ago."""
    conn.execute(
        "UPDATE turnstile.job SET created_at = created_at - %(time)s::interval, run_at = run_at - %(time)s::interval"
        " WHERE id = %(job)s",
        {"job": job, "time": how_long},
    )
    conn.execute("SELECT turnstile.rebuild()")
    return job


def _old(conn, how_long: str, **job) -> int:
    return _has_waited(conn, enqueue(conn, **job), how_long)


def test_priority_decides_unless_told_otherwise(conn):
    patient = _old(conn, "30 days", priority=1)
    fresh = enqueue(conn)
    assert ids(claim_all(conn)) == [fresh, patient]


def test_a_step_is_gained_for_each_interval(aging):
    patient = _old(aging, "330 s", priority=5)
    less = _old(aging, "210 s", priority=5)
    fresh = enqueue_times(aging, 2)
    assert ids(claim_all(aging)) == [patient, *fresh, less]


def test_an_endless_stream_of_urgent_jobs_starves_no_other(conn, other):
    configure(conn, "queue", "default", aging="1 second")
    enqueue(other)
    patient = enqueue(conn, priority=2)
    overtaken_by = 0
    while True:
        enqueue(other)
        run = claim_next(conn)
        complete(conn, run)
        if run.id == patient:
            break
        overtaken_by += 1
    assert overtaken_by > 0
    assert patient not in ids(claim_all(conn))
    assert call(conn, "check") == []


def test_it_holds_from_the_next_claim_on_also_for_those_that_wait(conn):
    jobs = [_old(conn, "3 hours", priority=3) for _ in range(3)]
    urgent = enqueue_times(conn, 4)
    assert claim_next(conn).id == urgent[0]
    call(conn, "set_queue", name="default", aging="1 hour")
    assert claim_next(conn).id == jobs[0]
    conn.execute("UPDATE turnstile.queue SET aging = '2 hours' WHERE name = 'default'")
    assert claim_next(conn).id == urgent[1]
    conn.execute("UPDATE turnstile.queue SET aging = '30 minutes' WHERE name = 'default'")
    assert claim_next(conn).id == jobs[1]
    call(conn, "set_queue", name="default", clear=["aging"])
    assert ids(claim_all(conn)) == [*urgent[2:], jobs[2]]


def test_a_setting_rolled_back_never_was(conn, other):
    patient = _old(conn, "1 hour", priority=1)
    urgent = enqueue(conn)
    conn.execute("BEGIN")
    call(conn, "set_queue", name="default", aging=MINUTE)
    assert claim_next(other).id == urgent
    conn.execute("ROLLBACK")
    assert claim_next(conn).id == patient


def test_the_default_row_ages_all_queues_and_the_view_shows_it(conn):
    configure(conn, "queue", "*", aging=MINUTE)
    configure(conn, "queue", "slow", aging="1 day")
    patient = {queue: _old(conn, "5 minutes", priority=2, queue=queue) for queue in ("mail", "slow")}
    urgent = {queue: enqueue(conn, queue=queue) for queue in patient}
    assert claim_next(conn, "mail").id == patient["mail"]
    assert claim_next(conn, "slow").id == urgent["slow"]
    shown = conn.execute("SELECT name, aging::text FROM turnstile.queues ORDER BY name").fetchall()
    assert [tuple(row) for row in shown] == [("mail", "00:01:00"), ("slow", "1 day")]
    unconfigure(conn, "queue", "slow")
    assert claim_next(conn, "slow").id == patient["slow"]


def test_a_batch_is_what_single_claims_would_take(aging):
    jobs = [_old(aging, f"{minutes} minutes", priority=priority)
            for minutes, priority in ((9, 4), (8, 4), (7, 0), (5, 3), (4, 0), (3, 4), (1, 1))]  # fmt: skip
    jobs += enqueue_times(aging, 2)
    aging.execute("BEGIN")
    together = ids(claim(aging, ["default"], 20))
    aging.execute("ROLLBACK")
    assert sorted(together) == jobs
    assert [claim_next(aging).id for _ in jobs] == together
    assert together != jobs
    assert together.index(jobs[0]) < together.index(jobs[4])


def test_within_a_session_the_order_is_the_same(aging):
    patient = _old(aging, "330 s", priority=5, session="s")
    fresh = enqueue(aging, session="s")
    for job in (patient, fresh):
        run = claim_next(aging)
        assert run.id == job
        assert claim_next(aging) is None
        complete(aging, run)


def test_in_a_fair_queue_waiting_goes_before_shares(conn):
    configure(conn, "queue", "default", policy="fair", aging=MINUTE)
    patient = _old(conn, "330 s", tenant="acme", priority=5)
    of_acme, of_globex = enqueue_times(conn, 2, tenant="acme"), enqueue_times(conn, 2, tenant="globex")
    assert claim_next(conn).id == patient
    assert sorted(ids(claim(conn, ["default"], 2))) == [of_acme[0], of_globex[0]]
    assert call(conn, "check") == []


def test_queues_compare_by_what_their_own_jobs_have_gained(conn):
    configure(conn, "queue", "aging", aging=MINUTE)
    configure(conn, "queue", "slower", aging="3 minutes")
    quick = _old(conn, "400 s", queue="aging", priority=6)
    slow = _old(conn, "400 s", queue="slower", priority=4)
    plain = [enqueue(conn, queue="plain", priority=priority) for priority in (0, 1, 2)]
    assert ids(claim(conn, ["*"], 5)) == [quick, plain[0], slow, *plain[1:]]


def test_a_job_that_is_scheduled_waits_from_when_it_is_due(aging):
    later = enqueue(aging, priority=1, run_at="2100-01-01")
    aging.execute("UPDATE turnstile.job SET created_at = created_at - interval '1 hour'")
    urgent = enqueue(aging)
    aging.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE id = %s", [later])
    assert ids(claim_all(aging)) == [urgent, later]


@pytest.mark.parametrize("back", [release, lambda conn, run: fail(conn, run, retry_in="0 s")], ids=["release", "fail"])
def test_a_job_that_becomes_available_again_waits_anew(aging, back):
    patient = _old(aging, "1 hour", priority=5)
    run = claim_next(aging)
    back(aging, run)
    urgent = enqueue(aging)
    assert ids(claim_all(aging)) == [urgent, patient]


def test_what_comes_after_the_first_claim_is_dated_too(conn):
    configure(conn, "queue", "default", aging="1 second")
    enqueue(conn)
    claim_next(conn)
    patient = enqueue(conn, priority=1)
    time.sleep(2.5)
    urgent = enqueue(conn)
    assert ids(claim_all(conn)) == [patient, urgent]


@pytest.mark.parametrize("drawn", [1, A_ROW], ids=["one by one", "ahead"])
def test_a_position_set_by_hand_dates_no_other_job(conn, drawn):
    enqueue_times(conn, drawn, queue="other")
    configure(conn, "queue", "default", aging="1 second")
    last = enqueue(conn, priority=9)
    claim_next(conn)
    far = enqueue(conn, priority=9)
    conn.execute("UPDATE turnstile.job SET position = 1000000000000 WHERE id = %s", [far])
    time.sleep(1.2)
    assert claim_next(conn).id == far
    patient = enqueue(conn, priority=1)
    time.sleep(2.5)
    urgent = enqueue(conn)
    assert ids(claim_all(conn)) == [patient, urgent]
    assert last != far
    assert call(conn, "check") == []


def test_a_rebuild_knows_how_long_jobs_have_waited(aging):
    patient = _old(aging, "330 s", priority=5)
    others = [enqueue(aging, priority=9), *enqueue_times(aging, 2)]
    assert claim_next(aging).id == patient
    aging.execute("SELECT turnstile.rebuild()")
    assert ids(claim_all(aging)) == [*others[1:], others[0]]
    assert call(aging, "check") == []


@pytest.mark.parametrize("aging", ["-1 minute", "999 milliseconds", "31 days"])
def test_an_interval_that_makes_no_sense_is_refused(conn, aging):
    with refused("22023") as caught:
        call(conn, "set_queue", name="default", aging=aging)
    assert "queue_aging_check" in caught.value.diag.message_primary
    with pytest.raises(CheckViolation, match="queue_aging_check"):
        configure(conn, "queue", "default", aging=aging)
