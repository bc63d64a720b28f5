"""The jobs or their history attached to a partitioned table of a user, or with a CHECK of his: what such a row must be holds
for whatever writes it."""

import psycopg
import pytest

from faults.witness import is_sound
from support import rows
from support.calls import (
    call, claim, claim_next, complete, complete_and_claim_next, complete_many, enqueue, enqueue_many, enqueue_times, fail,
)  # fmt: skip

ENQUEUE = {
    "enqueue": lambda conn, **job: enqueue(conn, **job),
    "enqueue with a key": lambda conn, **job: enqueue(conn, unique_key="k", **job),
    "enqueue_many": lambda conn, **job: enqueue_many(conn, [{"kind": "work"}, {"kind": "work", **job}]),
    "enqueue_many with a key": lambda conn, **job: enqueue_many(conn, [{"kind": "work", "unique_key": "k", **job}]),
}
CLAIM = {
    "claim_next": lambda conn, run: claim_next(conn),
    "claim": lambda conn, run: claim(conn, ["default"], 2),
    "complete_and_claim_next": complete_and_claim_next,
}
FINISH = {
    "complete": complete,
    "complete_many": lambda conn, run: complete_many(conn, [run]),
    "complete_and_claim_next": complete_and_claim_next,
}


def _attach(conn, table: str, key: str, bounds: str) -> None:
    """Has the table be one partition of public.whole."""
    columns = "turnstile.job" if table == "job" else "turnstile.job_history"
    conn.execute(f"CREATE TABLE public.whole (LIKE {columns}) PARTITION BY {key}")
    conn.execute(f"ALTER TABLE public.whole ATTACH PARTITION turnstile.{table} FOR VALUES {bounds}")


def _detach(conn, table: str) -> None:
    conn.execute(f"ALTER TABLE public.whole DETACH PARTITION turnstile.{table}")


@pytest.mark.parametrize("produce", ENQUEUE.values(), ids=ENQUEUE.keys())
def test_a_job_outside_of_the_bounds_is_not_added(conn, other, produce):
    produce(conn, queue="mail", tenant="a") if produce is not ENQUEUE["enqueue_many with a key"] else None
    other.execute("DELETE FROM turnstile.job; DELETE FROM turnstile.unique_key")
    _attach(other, "job", "LIST (queue)", "IN ('default')")
    with pytest.raises(psycopg.errors.CheckViolation) as plain:
        other.execute("INSERT INTO turnstile.job (kind, queue) VALUES ('work', 'mail')")
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        produce(conn, queue="mail")
    assert caught.value.diag.message_primary == plain.value.diag.message_primary
    assert rows.counts(other) == {}
    made = enqueue(conn)
    assert claim_next(conn).id == made
    is_sound(other)


@pytest.mark.parametrize("key", ["RANGE (attempt)", "LIST (state)"])
@pytest.mark.parametrize("act", CLAIM.values(), ids=CLAIM.keys())
def test_a_job_that_would_leave_the_bounds_is_not_claimed(conn, other, act, key):
    enqueue_times(conn, 3)
    run = claim_next(conn)
    if act is not CLAIM["complete_and_claim_next"]:
        complete(conn, run)
        bounds = {"RANGE (attempt)": "FROM (0) TO (1)", "LIST (state)": "IN ('available')"}[key]
    else:
        other.execute("UPDATE turnstile.job SET attempt = 5 WHERE state = 'available'")
        bounds = {"RANGE (attempt)": "FROM (0) TO (6)", "LIST (state)": None}[key]
        if not bounds:
            other.execute("UPDATE turnstile.job SET attempt = 5")
            key, bounds = "LIST (attempt)", "IN (1, 5)"
            run = run._replace(attempt=5)
    _attach(other, "job", key, bounds)
    before = rows.everything(other)
    for _ in range(3):
        with pytest.raises(psycopg.errors.CheckViolation):
            act(conn, run)
        is_sound(other)
    assert rows.everything(other) == before
    _detach(other, "job")
    act(conn, run)
    assert claim(conn, ["default"], 5) is not None
    is_sound(other)
    assert rows.counts(other)["running"] == 2


@pytest.mark.parametrize("finish", FINISH.values(), ids=FINISH.keys())
def test_a_job_outside_of_the_bounds_of_the_history_is_not_finished(conn, other, finish):
    enqueue_times(conn, 3)
    run = claim_next(conn)
    _attach(other, "job_history", "LIST (state)", "IN ('discarded')")
    with pytest.raises(psycopg.errors.CheckViolation):
        finish(conn, run)
    assert rows.state(other, run.id) == "running"
    is_sound(other)
    assert fail(conn, run, discard=True) == "discarded"
    is_sound(other)


@pytest.mark.parametrize("attached", ["attached", "rewritten", "reached from above"])
def test_jobs_within_the_bounds_live_as_ever(conn, other, attached):
    _attach(other, "job", "LIST (queue)", "IN ('default', 'mail')")
    if attached == "rewritten":
        other.execute("VACUUM FULL turnstile.job")
    made = enqueue_times(conn, 3)
    if attached == "reached from above":
        other.execute(
            "INSERT INTO public.whole (id, lane, lane_group, position, run_at, state, holds_session, priority, queue, kind, attempt, max_attempts,"
            " uncounted, payload, created_at) SELECT 1000 + id, lane, lane_group, 1000 + position, run_at, state, holds_session, priority,"
            " queue, kind, attempt, max_attempts, uncounted, payload, created_at FROM turnstile.job"
        )
        made += [1000 + job_id for job_id in made]
    claimed = claim(conn, ["default"], 10)
    assert [run.id for run in claimed] == made
    assert complete_many(conn, claimed) == len(made)
    is_sound(other)
    call(conn, "rebuild")
    is_sound(other)


CHECKS = {
    "of claims": ("ALTER TABLE turnstile.job ADD CONSTRAINT own CHECK (attempt < 1)", lambda conn, run: claim_next(conn)),
    "of claims of many": (
        "ALTER TABLE turnstile.job ADD CONSTRAINT own CHECK (attempt < 1 OR kind = 'other')",
        lambda conn, run: claim(conn, ["default"], 5),
    ),
    "of enqueue": ("ALTER TABLE turnstile.job ADD CONSTRAINT own CHECK (kind <> 'work')", lambda conn, run: enqueue(conn)),
    "of enqueue_many": (
        "ALTER TABLE turnstile.job ADD CONSTRAINT own CHECK (kind <> 'work')",
        lambda conn, run: enqueue_many(conn, [{"kind": "a"}, {"kind": "work"}]),
    ),
}


@pytest.mark.parametrize("validated", ["", " NOT VALID"])
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_a_check_of_a_user_is_named_in_the_error(conn, other, check, validated):
    constraint, act = check
    run = None
    if "attempt" in constraint or validated:
        enqueue_times(conn, 2)
    other.execute(constraint + validated)
    before = rows.everything(other)
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        act(conn, run)
    diag = caught.value.diag
    assert (diag.schema_name, diag.table_name, diag.constraint_name) == ("turnstile", "job", "own")
    assert rows.everything(other) == before
    is_sound(other)


@pytest.mark.parametrize("finish", FINISH.values(), ids=FINISH.keys())
def test_a_check_of_the_history_is_named_in_the_error(conn, other, finish):
    enqueue(conn)
    run = claim_next(conn)
    other.execute("ALTER TABLE turnstile.job_history ADD CONSTRAINT own CHECK (state <> 'completed')")
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        finish(conn, run)
    assert caught.value.diag.constraint_name == "own"
    assert rows.state(other, run.id) == "running"
