"""More lanes than fit: all jobs run, no limit is passed, nobody starves, and in the end the order is exact again.

TURNSTILE_SESSIONS tells how many sessions the large test has; from 1,000,000 on it has the memory that is the default.
"""

import os
import time

import pytest

from faults.cluster import own_cluster
from faults.witness import Sampler, is_sound, within
from support import naive
from support.calls import claim, claim_next, complete, complete_and_claim_next, complete_many, enqueue_times
from support.crew import Progress, together
from support.database import fresh_database
from support.settings import configure

PATIENCE = 60
SESSIONS = int(os.environ.get("TURNSTILE_SESSIONS", "100000"))
MILLION = 1_000_000
# More than fit.
MANY = 2_000
LITTLE = {"turnstile.max_memory": "256kB"}


@pytest.fixture(scope="module")
def small_cluster():
    with own_cluster("faults_overflow", fsync="off", max_connections=50, **LITTLE) as cluster:
        yield cluster


@pytest.fixture
def db(small_cluster):
    with fresh_database() as database:
        yield database


def _sessions(conn, tenant: str, sessions: int, jobs: int = 1) -> None:
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant, session)"
        " SELECT 'default', 'work', %s, 'chat-' || s FROM generate_series(1, %s) j, generate_series(1, %s) s",
        [tenant, jobs, sessions],
    )


def _left(conn, where: str = "true") -> int:
    return conn.execute(f"SELECT count(*) FROM turnstile.job WHERE {where}").fetchone()[0]


def _drain(conn, progress: Progress) -> None:
    """One worker: single claims, batches, and claims handed on."""
    while progress.going:
        runs = claim(conn, ["default"], 3)
        if not runs:
            progress.idle()
            continue
        first, *rest = runs
        following = complete_and_claim_next(conn, first)
        assert complete_many(conn, rest) == len(rest)
        if following:
            assert complete(conn, following) is True
        progress.add(len(runs) + (1 if following else 0))


def _order_is_exact(conn) -> None:
    made = [enqueue_times(conn, 1, tenant="t1", session=f"late-{n}", priority=n % 3)[0] for n in range(20)]
    while runs := naive.claim_all_as_predicted(conn, ["default"]):
        assert complete_many(conn, runs) == len(runs)
    assert conn.execute("SELECT count(*) FROM turnstile.job_history WHERE id = ANY (%s)", [made]).fetchone() == (20,)


def _history_kept_session_order(conn) -> None:
    """No two runs of a session at once, and each session in the order of its jobs."""
    overtaken = conn.execute(
        "SELECT count(*) FROM (SELECT claimed_at,"
        " lag(finished_at) OVER (PARTITION BY tenant, session ORDER BY position) AS before"
        " FROM turnstile.job_history) h WHERE claimed_at < before"
    )
    assert overtaken.fetchone() == (0,)


def test_thousands_of_sessions_in_little_memory_all_run(db, conn):
    """5,500 sessions; those of a paused tenant are in front of everybody."""
    slots = {"tenant t1": 2, "tenant t2": 3, "tenant t3": 1, "queue default": 8}
    configure(conn, "queue", "default", max_running=slots["queue default"])
    configure(conn, "tenant", "paused", paused=True)
    for tenant in ("t1", "t2", "t3"):
        configure(conn, "tenant", tenant, slots=slots[f"tenant {tenant}"])
    _sessions(conn, "paused", MANY)
    for tenant in ("t1", "t2", "t3", "free"):
        _sessions(conn, tenant, 875, jobs=2)
    is_sound(conn)
    running = Progress(7000)
    sampler = Sampler(db.connect, running, slots)
    together([*[lambda c=db.connect(): _drain(c, running) for _ in range(6)], sampler], running)

    assert _left(conn, "tenant <> 'paused'") == 0
    assert _left(conn) == MANY
    sampler.saw_no_limit_passed()
    _history_kept_session_order(conn)
    is_sound(conn)
    configure(conn, "tenant", "paused", paused=False)
    running = Progress(MANY)
    together([lambda c=db.connect(): _drain(c, running) for _ in range(2)], running)
    assert _left(conn) == 0
    is_sound(conn)
    _order_is_exact(conn)
    is_sound(conn)


def test_no_lane_starves_while_others_keep_producing(db, conn):
    """Jobs that wait in the overflow get their turn although there are always more of the others."""
    _sessions(conn, "many", MANY)
    _sessions(conn, "few", 50)
    give_up = time.monotonic() + PATIENCE
    number = 0
    while _left(conn, "tenant = 'few'"):
        assert time.monotonic() < give_up, "starved"
        runs = claim(conn, ["default"], 10)
        assert complete_many(conn, runs) == len(runs)
        enqueue_times(conn, len(runs), tenant="many", session=f"new-{number}")
        number += 1
    is_sound(conn)


def _claims_nothing(conn) -> None:
    for _ in range(3):
        assert claim_next(conn) is None
    is_sound(conn)


def test_a_claim_finds_what_may_run_wherever_its_lane_is(db, conn):
    """The lanes that memory takes in first may not run; what may is far behind them in whatever order."""
    configure(conn, "tenant", "paused", paused=True)
    _sessions(conn, "paused", MANY)
    made = [enqueue_times(conn, 1, queue="other", session=f"s-{n}", priority=n % 5)[0] for n in range(20)]
    found = [claim_next(conn, "other") for _ in made]
    assert all(found)
    assert sorted(run.id for run in found) == made
    _claims_nothing(conn)


def test_a_claim_finds_what_may_run_although_memory_has_only_what_may_not(db, conn):
    """All of one tenant, so that none leaves for another: the first are held up by a key, what may run is in the tables."""
    configure(conn, "concurrency", "closed", slots=0)
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant, account, concurrency_key)"
        " SELECT 'default', 'work', 'acme', 'a' || n, 'closed' FROM generate_series(1, %s) n",
        [MANY],
    )
    made = [enqueue_times(conn, 1, tenant="acme", account=f"b{n}")[0] for n in range(20)]
    assert sorted(run.id for run in (claim_next(conn) for _ in made)) == made
    _claims_nothing(conn)


def test_lanes_that_have_nothing_in_common_make_room_for_others(db, conn):
    """What they need beside their own slots is used up before those are."""
    configure(conn, "concurrency", "*", slots=0)
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant, account, session, concurrency_key)"
        " SELECT 'default', 'work', 't' || n, 'a' || n, 's' || n, 'c' || n FROM generate_series(1, 600) n"
    )
    made = [enqueue_times(conn, 1, tenant=f"other-{n}", account="a", session="s")[0] for n in range(30)]
    found = [claim_next(conn) for _ in made]
    assert all(found)
    assert sorted(run.id for run in found) == made
    _claims_nothing(conn)


CHANCES = {
    "resumed": lambda conn, run: configure(conn, "tenant", "paused", paused=False),
    "limit raised": lambda conn, run: configure(conn, "tenant", "t1", slots=2),
    "run completed": lambda conn, run: complete(conn, run),
    "run deleted": lambda conn, run: conn.execute("DELETE FROM turnstile.job WHERE id = %s", [run.id]),
    "row of settings deleted": lambda conn, run: conn.execute("DELETE FROM turnstile.tenant WHERE name = 't1'"),
    "new job": lambda conn, run: enqueue_times(conn, 1, tenant="free", session="new"),
    "job moved": lambda conn, run: conn.execute(
        "UPDATE turnstile.job SET tenant = 'free' WHERE id = (SELECT max(id) FROM turnstile.job WHERE state = 'available')"
    ),
    "rebuild": lambda conn, run: (conn.execute("SELECT turnstile.rebuild()"), complete(conn, run)),
}


@pytest.mark.parametrize("chance", CHANCES)
def test_a_queue_that_was_searched_in_vain_is_searched_again_once_something_may_run(db, conn, chance):
    configure(conn, "tenant", "paused", paused=True)
    configure(conn, "tenant", "t1", slots=1)
    _sessions(conn, "paused", MANY)
    _sessions(conn, "t1", MANY)
    run = claim_next(conn)
    _claims_nothing(conn)
    CHANCES[chance](conn, run)
    assert claim_next(conn)
    is_sound(conn)


def test_a_claim_rolled_back_is_a_chance_for_others(db, conn, other):
    configure(conn, "tenant", "t1", slots=1)
    _sessions(conn, "t1", MANY)
    conn.execute("BEGIN")
    assert claim_next(conn)
    _claims_nothing(other)
    conn.execute("ROLLBACK")
    assert claim_next(other)


def test_room_that_a_transaction_frees_is_a_chance_for_its_own_claims(db, conn, other):
    configure(conn, "tenant", "t1", slots=1)
    _sessions(conn, "t1", MANY)
    run = claim_next(conn)
    _claims_nothing(other)
    conn.execute("BEGIN")
    assert complete(conn, run) is True
    assert claim_next(conn)
    assert claim_next(other) is None
    conn.execute("COMMIT")
    is_sound(other)


def test_limits_hold_and_rolled_back_claims_come_back_in_the_overflow(db, conn, other):
    configure(conn, "tenant", "t1", slots=2)
    _sessions(conn, "t1", MANY)
    conn.execute("BEGIN")
    held = [claim_next(conn), claim_next(conn)]
    assert all(held)
    assert claim_next(other) is None
    conn.execute("ROLLBACK")
    assert len(claim(other, ["default"], 5)) == 2
    within(other, {"tenant t1": 2})
    is_sound(other)
    conn.execute("SELECT turnstile.rebuild()")
    assert claim_next(other) is None
    conn.execute("DELETE FROM turnstile.job WHERE state = 'running'")
    is_sound(other)
    assert len(claim(other, ["default"], 5)) == 2
    is_sound(other)


def test_a_session_whose_lane_is_made_again_by_a_new_job_keeps_its_order(db, conn):
    """The lanes take turns; one that comes back because of a new job must not forget the older ones."""
    _sessions(conn, "t1", MANY)
    runs = claim(conn, ["default"], 100)
    assert complete_many(conn, runs) == len(runs)
    _sessions(conn, "t1", MANY)
    is_sound(conn)
    while runs := claim(conn, ["default"], 500):
        is_sound(conn)
        assert complete_many(conn, runs) == len(runs)
    assert _left(conn) == 0
    _history_kept_session_order(conn)
    is_sound(conn)


def test_a_few_jobs_beside_very_many_of_another_tenant_stay_in_order(db, conn):
    """Lanes leave by who has the most, so nothing of those who have few is outside."""
    _sessions(conn, "many", MANY)
    configure(conn, "tenant", "many", slots=0)
    made = [enqueue_times(conn, 1, tenant="few", session=f"s-{n}", priority=n % 3)[0] for n in range(30)]
    _sessions(conn, "more", MANY)
    configure(conn, "tenant", "more", slots=0)
    order = [claim_next(conn).id for _ in made]
    assert order == made[0::3] + made[1::3] + made[2::3]
    _claims_nothing(conn)


def _most_at_once(conn, tenant: str) -> int:
    """By the history: from its claim until it was said to be done, a job certainly ran."""
    return conn.execute(
        "SELECT max(running) FROM (SELECT sum(step) OVER (ORDER BY at, step) AS running FROM turnstile.job_history,"
        " LATERAL (VALUES (claimed_at, 1), (finished_at, -1)) change (at, step) WHERE tenant = %s) r",
        [tenant],
    ).fetchone()[0]


def test_very_many_sessions_all_run_once_within_their_limits():
    lanes = {} if SESSIONS >= MILLION else {"turnstile.max_memory": "600kB"}
    settings = {"shared_buffers": "256MB", "max_wal_size": "4GB"} | lanes
    with own_cluster("faults_overflow_big", fsync="off", max_connections=20, **settings), fresh_database() as db:
        conn = db.connect()
        conn.execute("SET statement_timeout = 0")
        configure(conn, "tenant", "t1", slots=150)
        for tenant in ("t1", "t2", "t3", "t4"):
            _sessions(conn, tenant, SESSIONS // 4)
        conn.execute("VACUUM ANALYZE turnstile.job")
        progress = Progress(SESSIONS)

        def work(worker) -> None:
            while progress.going:
                runs = claim(worker, ["default"], 100)
                if runs:
                    assert complete_many(worker, runs) == len(runs)
                    progress.add(len(runs))
                else:
                    progress.idle()

        started = time.monotonic()
        together([lambda c=db.connect(): work(c) for _ in range(3)], progress)
        print(f"{SESSIONS} sessions in {time.monotonic() - started:.0f} s")
        assert _left(conn) == 0
        assert conn.execute("SELECT count(*), count(DISTINCT id) FROM turnstile.job_history").fetchone() == (
            SESSIONS,
            SESSIONS,
        )
        assert 100 < _most_at_once(conn, "t1") <= 150
        is_sound(conn)
        _order_is_exact(conn)
        is_sound(conn)


def test_a_job_says_that_its_lane_is_outside(db):
    conn = db.connect()
    configure(conn, "tenant", "full", slots=0)
    claim(conn, ["default"], 1)
    _sessions(conn, "full", MANY)
    found = dict(
        conn.execute(
            "SELECT coalesce(why.reason, 'none'), count(*) FROM turnstile.job"
            " LEFT JOIN LATERAL turnstile.why_waiting(job.id) AS why ON why.reason = 'outside_memory' GROUP BY 1"
        ).fetchall()
    )
    assert found["outside_memory"] > MANY / 4
    outside = conn.execute("SELECT lanes FROM turnstile.why_waiting_summary('default', 'full') WHERE reason = 'outside_memory'").fetchone()
    assert outside[0] > MANY / 4
    configure(conn, "tenant", "full", slots=None)
    while runs := claim(conn, ["default"], 500):
        assert complete_many(conn, runs) == len(runs)
    assert _left(conn) == 0
    assert conn.execute("SELECT * FROM turnstile.why_waiting_summary('default')").fetchall() == []
