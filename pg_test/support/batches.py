"""Batches as a producer, a worker and an operator would use them.

What becomes of a parent is looked after in passing, by claims and by the background worker. So what must come is awaited, and
what must not come is looked for several times.
"""

import time

from psycopg.types.json import Jsonb

from support import rows
from support.calls import call, claim_next, complete
from support.lapse import PATIENCE, until

LOOKS = 5
ELSEWHERE = "a queue without jobs"


def of(number: int, **keys) -> list[dict]:
    """So many children for enqueue_batch."""
    return [{"kind": "child", "payload": {"n": n}, **keys} for n in range(number)]


def enqueue_batch(conn, kind: str = "batch", children=(), **arguments) -> int:
    return call(conn, "enqueue_batch", kind=kind, children=Jsonb(list(children)), **arguments)[0][0]


def await_children(conn, run) -> bool:
    return call(conn, "await_children", job_id=run.id, attempt=run.attempt)[0][0]


def set_batch(conn, parent: int, **settings):
    return call(conn, "set_batch", id=parent, **settings)[0]


def ended(completed: int = 0, discarded: int = 0, cancelled: int = 0) -> dict:
    """What a callback is told of its children."""
    return {"completed": completed, "discarded": discarded, "cancelled": cancelled}


# ---- Claims ---------------------------------------------------------------------------------------


def claim_awaited(conn, queue: str = "default"):
    """The next job, which has to come."""
    give_up = time.monotonic() + PATIENCE
    while (job := claim_next(conn, queue)) is None:
        assert time.monotonic() < give_up, f"nothing comes from queue {queue}: {rows.counts(conn)}"
        time.sleep(0.005)
    return job


def nothing_comes(conn, queue: str = "default") -> None:
    for _ in range(LOOKS):
        job = claim_next(conn, queue)
        assert job is None, f"not to be claimed now: {job}"
        time.sleep(0.005)


def claim_just(conn, number: int, queue: str = "default") -> list:
    """So many jobs, and no more."""
    jobs = [claim_awaited(conn, queue) for _ in range(number)]
    nothing_comes(conn, queue)
    return jobs


def complete_all(conn, runs) -> None:
    for run in runs:
        assert complete(conn, run) is True


def callback_of(conn, parent: int, attempt: int = 1, queue: str = "default"):
    """The callback's run, which has to be the next to come."""
    run = claim_awaited(conn, queue)
    assert (run.id, run.attempt) == (parent, attempt), f"not the callback of {parent}: {run}"
    nothing_comes(conn, queue)
    return run


# ---- What there is --------------------------------------------------------------------------------


def ends_as(conn, job_id: int, state: str) -> None:
    """Waits for that end, with claims that take nothing meanwhile."""
    until(conn, job_id, state, lambda: claim_next(conn, ELSEWHERE))


def awaited(conn, query: str, expected, *arguments) -> None:
    """Waits until a query says so, with claims that take nothing meanwhile."""
    give_up = time.monotonic() + PATIENCE
    while (found := conn.execute(query, arguments).fetchone()[0]) != expected:
        assert time.monotonic() < give_up, f"still {found} instead of {expected}: {query} {arguments}"
        claim_next(conn, ELSEWHERE)
        time.sleep(0.01)


def children_of(conn, parent: int) -> list:
    """The ids of the live children."""
    return [row[0] for row in conn.execute("SELECT id FROM turnstile.job WHERE parent = %s ORDER BY id", [parent])]


def running(conn, parent: int) -> int:
    return conn.execute(
        "SELECT count(*) FROM turnstile.job WHERE parent = %s AND state = 'running'", [parent]
    ).fetchone()[0]


def is_open(conn, parent: int) -> bool:
    return conn.execute("SELECT opened_at IS NOT NULL FROM turnstile.batch WHERE id = %s", [parent]).fetchone()[0]


def ends_of(conn, job_id: int) -> list[tuple[str, int]]:
    """How often, as what, and at which attempt a job has ended."""
    query = "SELECT state::text, attempt FROM turnstile.job_history WHERE id = %s ORDER BY finished_at"
    return conn.execute(query, [job_id]).fetchall()


def pruned(conn) -> None:
    """Looks for what ended batches have left until nothing more is found; each pass begins at random."""
    for _ in range(20):
        call(conn, "maintain")
