"""The rules of support.naive, and beyond them that of docs/decisions/001: a session's jobs run in order, even where its
next one waits for room and a later one would find some."""

from support import naive
from support.calls import claim_next

_SESSION_ORDER = """
   AND NOT EXISTS (SELECT 1 FROM turnstile.job first
                    WHERE first.queue = j.queue AND first.session = j.session
                      AND first.tenant IS NOT DISTINCT FROM j.tenant AND first.id <> j.id
                      AND (first.holds_session
                           OR first.state = 'available' AND NOT j.holds_session
                              AND (first.priority, first.position) < (j.priority, j.position)))
"""

_RULES, _ORDER, _REST = naive.NEXT.partition(" ORDER BY j.priority, j.position")
assert _ORDER, "support.naive.NEXT orders its jobs in another way"

NEXT = _RULES + _SESSION_ORDER + _ORDER + _REST


def claim_as_predicted(conn, queue: str):
    """Claims the next job, which must be the predicted one; None where none was predicted."""
    expected = conn.execute(NEXT, {"queue": queue}).fetchone()
    job = claim_next(conn, queue)
    assert (job.id if job else None) == (expected[0] if expected else None), f"{queue}: {expected} was due, not {job}"
    return job


def claim_all_as_predicted(conn, queues) -> list:
    """Claims everything that may run, each claim as predicted, finishing nothing."""
    claimed = []
    for queue in queues:
        while (job := claim_as_predicted(conn, queue)) is not None:
            claimed.append(job)
    return claimed
