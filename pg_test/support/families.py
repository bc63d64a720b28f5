"""Jobs that wait for others and calls about them, any two of which may meet: what they are, and what must be true once all is over."""

import time

import psycopg

from support.batches import ELSEWHERE, await_children, enqueue_batch, of
from support.calls import Run, cancel, claim, claim_next, complete, complete_many, discard, enqueue
from support.errors import NO_SUCH_JOB, WRONG_STATE
from support.lapse import PATIENCE
from support.meetings import found_by

# A call may find what the other has made of its job, wait for the other in a circle, or have seen too little of it.
OVERTAKEN = tuple(psycopg.errors.lookup(state) for state in (WRONG_STATE, NO_SUCH_JOB, "40P01", "40001"))
# What a claim of another connection may take at most: far more than it does, and less than the first call stays open.
LOOK = "SET statement_timeout = '10s'"

# It is made to run whatever it came after.
ANYWAY = "retry follower"
# Children that a run does not wait for may outlive it.
STEP_ASIDE = "step aside for a child"

VERBS = {
    f"{verb} {job}": f"SELECT turnstile.{verb}(%({job})s)"
    for verb in ("cancel", "discard", "retry")
    for job in ("parent", "child", "grandchild", "before", "follower", "last", "holder", "batch", "run", "ended")
} | {
    f"{verb} the run of {job}": f"SELECT turnstile.{verb}(%({job})s, 1)"
    for verb in ("complete", "fail", "release", "discard", "await_children")
    for job in ("child", "before", "run")
} | {
    f"enqueue {what}": f"SELECT turnstile.enqueue('late', {arguments})"
    for what, arguments in {
        "under parent": "parent => %(parent)s",
        "under run": "parent => %(run)s",
        "under batch": "parent => %(batch)s",
        "under child": "parent => %(child)s",
        "after before": "after => ARRAY[%(before)s]",
        "after follower": "after => ARRAY[%(follower)s]",
        "after parent": "after => ARRAY[%(parent)s], after_any_end => true",
        "after ended": "after => ARRAY[%(ended)s], after_hold => true",
    }.items()
} | {
    STEP_ASIDE: "SELECT turnstile.enqueue('late', parent => %(run)s), turnstile.await_children(%(run)s, 1)",
    "claim": "SELECT turnstile.claim_next()",
    "complete and claim": "SELECT turnstile.complete_and_claim_next(%(before)s, 1)",
    "stop the batch for failures": "SELECT turnstile.set_batch(%(parent)s, max_failed => 0)",
    "reprioritize parent": "SELECT turnstile.reprioritize(%(parent)s, 3)",
    "delete before": "DELETE FROM turnstile.job WHERE id = %(before)s",
    "delete follower": "DELETE FROM turnstile.job WHERE id = %(follower)s",
    "delete grandchild": "DELETE FROM turnstile.job WHERE id = %(grandchild)s",
    "lock follower": "SELECT FROM turnstile.job WHERE id = %(follower)s FOR UPDATE",
    "lock dependencies": "SELECT FROM turnstile.dependency FOR UPDATE",
    "delete ended": "SELECT turnstile.delete_many(kind => 'ended')",
    "rebuild": "SELECT turnstile.rebuild()",
}  # fmt: skip

WRONG = {
    "check": "SELECT problem, detail FROM turnstile.check()",
    "end before the end of a child": """
        SELECT parent.id, child.id
          FROM turnstile.job_history AS parent
          JOIN turnstile.job_history AS child ON child.parent = parent.id
         WHERE (parent.id IN (%(parent)s, %(batch)s) OR parent.id = %(run)s AND %(steps_aside)s) AND parent.finished_at < child.finished_at
           AND NOT EXISTS (SELECT FROM turnstile.job_history AS later WHERE later.id = parent.id AND later.finished_at > child.finished_at)""",
    "not after what it comes after": """
        SELECT follower.id
          FROM turnstile.job_history AS follower
         WHERE follower.id = %(follower)s AND follower.state = 'completed' AND NOT EXISTS (
                SELECT
                  FROM turnstile.job_history AS before
                 WHERE before.id = %(before)s AND before.state = 'completed' AND before.finished_at <= follower.claimed_at)""",
}


def scene(conn) -> dict:
    """Jobs of all sorts that wait for others."""
    run = enqueue(conn, "run")
    claim_just_this(conn, run)
    parent = enqueue(conn, "parent")
    parents_run = claim_just_this(conn, parent)
    child, grandchild = enqueue(conn, "child", parent=parent, priority=-1), enqueue(conn, "grandchild", parent=parent)
    assert await_children(conn, parents_run)
    claim_just_this(conn, child)
    before, ended = enqueue(conn, "before", priority=-1), enqueue(conn, "ended", priority=-2)
    discard(conn, claim_just_this(conn, ended))
    claim_just_this(conn, before)
    follower = enqueue(conn, "follower", after=[before])
    last = enqueue(conn, "last", after=[follower, grandchild], after_any_end=True)
    holder = enqueue(conn, "holder", after=[before, ended], after_hold=True)
    batch = enqueue_batch(conn, children=of(1), after=[before], after_any_end=True)
    return {
        "run": run, "parent": parent, "child": child, "grandchild": grandchild, "before": before, "ended": ended,
        "follower": follower, "last": last, "holder": holder, "batch": batch,
    }  # fmt: skip


def claim_just_this(conn, job_id: int, queue: str = "default", **arguments):
    run = claim_next(conn, queue, **arguments)
    assert run and run.id == job_id, run
    return run


def look(conn) -> None:
    """Claims that look after others in passing."""
    conn.execute(LOOK)
    for _ in range(3):
        claim_next(conn, ELSEWHERE)
    conn.execute("RESET statement_timeout")


def run_all(conn) -> None:
    """Claims and completes until nothing is left. Who holds for a job that has failed would wait for ever."""
    give_up = time.monotonic() + PATIENCE
    live = "SELECT id, kind, state, attempt FROM turnstile.job ORDER BY id"
    held = """
        SELECT dependency.job FROM turnstile.dependency JOIN turnstile.job ON job.id = dependency.job AND job.state = 'blocked'
         WHERE holds AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = dependency.predecessor)"""
    while jobs := conn.execute(live).fetchall():
        assert time.monotonic() < give_up, f"nothing moves: {jobs}"
        conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE state = 'retryable'")
        for run in claim(conn, ["default"], 50):
            complete(conn, run)
        complete_many(conn, [Run(job_id, attempt) for job_id, _, state, attempt in jobs if state == "running"])
        for (job_id,) in conn.execute(held).fetchall():
            cancel(conn, job_id)


def what_is_wrong(conn, jobs: dict, calls) -> dict:
    """What the calls must not have led to, once all jobs have ended."""
    found = found_by(conn, WRONG, jobs | {"steps_aside": STEP_ASIDE in calls})
    if ANYWAY in calls:
        found.pop("not after what it comes after", None)
    return found
