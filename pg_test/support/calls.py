"""The functions of the contract as a Python worker would call them.

A *run* is anything with `id` and `attempt`: a claimed job, or a `Run` made by hand.
"""

from collections import namedtuple

from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb

Run = namedtuple("Run", "id attempt")

_JSON = {"payload", "metadata", "result", "jobs", "headers"}


def call(conn, function: str, **arguments) -> list:
    """The rows of a function called with named arguments."""
    named = ", ".join(f"{name} => %({name})s" for name in arguments)
    given = {name: Jsonb(value) if name in _JSON and value is not None else value for name, value in arguments.items()}
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(f"SELECT * FROM turnstile.{function}({named})", given).fetchall()


def enqueue(conn, kind: str = "work", **arguments) -> int:
    return call(conn, "enqueue", kind=kind, **arguments)[0][0]


def enqueue_times(conn, times: int, **arguments) -> list[int]:
    return [enqueue(conn, **arguments) for _ in range(times)]


def enqueue_many(conn, jobs) -> list:
    return call(conn, "enqueue_many", jobs=jobs)


def claim_next(conn, queue: str = "default", **arguments):
    """The claimed job, or None where there is none to claim."""
    rows = call(conn, "claim_next", queue=queue, **arguments)
    assert len(rows) <= 1, rows
    return rows[0] if rows else None


def claim(conn, queues, max_jobs: int = 1, **arguments) -> list:
    return call(conn, "claim", queues=queues, max_jobs=max_jobs, **arguments)


def claim_all(conn, queue: str = "default") -> list:
    """Claims one by one, finishing nothing, until there is nothing more to claim."""
    claimed = []
    while (job := claim_next(conn, queue)) is not None:
        claimed.append(job)
    return claimed


def complete(conn, run, **arguments) -> bool:
    return call(conn, "complete", job_id=run.id, attempt=run.attempt, **arguments)[0][0]


def complete_many(conn, runs) -> int:
    ids, attempts = [run.id for run in runs], [run.attempt for run in runs]
    return call(conn, "complete_many", job_ids=ids, attempts=attempts)[0][0]


def many(conn, verb: str, runs, **arguments) -> list:
    """A call about many runs."""
    return call(conn, verb, job_ids=[run.id for run in runs], attempts=[run.attempt for run in runs], **arguments)


def complete_and_claim_next(conn, run, **arguments):
    rows = call(conn, "complete_and_claim_next", job_id=run.id, attempt=run.attempt, **arguments)
    assert len(rows) <= 1, rows
    return rows[0] if rows else None


def complete_and_claim(conn, runs, queues, max_jobs=1, **arguments):
    ids, attempts = [run.id for run in runs], [run.attempt for run in runs]
    return call(conn, "complete_and_claim", job_ids=ids, attempts=attempts, queues=queues, max_jobs=max_jobs, **arguments)


def fail(conn, run, **arguments) -> str:
    return call(conn, "fail", job_id=run.id, attempt=run.attempt, **arguments)[0][0]


def discard(conn, run) -> str:
    return fail(conn, run, discard=True)


def release(conn, run) -> bool:
    return call(conn, "release", job_id=run.id, attempt=run.attempt)[0][0]


def cancel(conn, job_id: int) -> str:
    return call(conn, "cancel", job_id=job_id)[0][0]


def retry(conn, job_id: int) -> str:
    return call(conn, "retry", job_id=job_id)[0][0]


def snooze(conn, run, delay: str) -> bool:
    return call(conn, "snooze", job_id=run.id, attempt=run.attempt, delay=delay)[0][0]


def ids(jobs) -> list[int]:
    return [job.id for job in jobs]
