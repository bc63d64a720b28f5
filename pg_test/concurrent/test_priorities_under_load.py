"""Priorities under load: an urgent job, once committed, is the next claim, whatever waits."""

import random
import threading
import time

from support.calls import claim_next, complete, enqueue
from support.crew import Progress, together

URGENT, LEAST, MOST = 120, 121, 360
WAITING = 10_000


def _enqueue_low(conn, chance: random.Random) -> None:
    """Jobs of all lower priorities and of several tenants: many lanes, all with work."""
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, priority, tenant)"
        " SELECT 'default', 'low', %s + (n * %s) %% %s, 't' || n %% 5 FROM generate_series(1, %s) n",
        [LEAST, chance.randrange(1, 1000), MOST - LEAST + 1, WAITING],
    )


def test_an_urgent_job_committed_by_another_connection_is_the_next_claim(db, conn, other, seed):
    chance = random.Random(seed)
    _enqueue_low(conn, chance)
    for _ in range(30):
        for _ in range(chance.randrange(4)):
            complete(conn, claim_next(conn))
        other.execute("BEGIN")
        urgent = enqueue(other, "urgent", priority=URGENT, tenant=chance.choice([None, "t1", "new"]))
        assert claim_next(conn).id != urgent
        other.execute("COMMIT")
        assert claim_next(conn).id == urgent


def test_low_jobs_go_by_priority_and_position_through_thousands(conn, seed):
    _enqueue_low(conn, random.Random(seed))
    expected = [
        row[0] for row in conn.execute("SELECT id FROM turnstile.job WHERE state = 'available' ORDER BY priority, position")
    ]
    taken = []
    while batch := conn.execute("SELECT id FROM turnstile.claim(ARRAY['default'], 97)").fetchall():
        taken += [row[0] for row in batch]
    assert taken == expected


def test_no_claim_begun_after_an_urgent_commit_passes_the_urgent_job_by(db, conn, seed):
    """Many connections claim all the time. A low job claimed from beginning to end between the commit of an urgent
    job and the beginning of that one's own claim was claimed past it."""
    chance = random.Random(seed)
    _enqueue_low(conn, chance)
    urgent_jobs = 60
    progress = Progress(urgent_jobs)
    committed: dict[int, float] = {}
    claims: list[tuple[str, int, float, float]] = []
    lock = threading.Lock()

    def produce():
        connection = db.connect()
        while progress.going and len(committed) < urgent_jobs:
            job_id = enqueue(connection, "urgent", priority=URGENT)
            committed[job_id] = time.monotonic()
            time.sleep(0.004)

    def work():
        connection = db.connect()
        while progress.going:
            sent = time.monotonic()
            job = claim_next(connection)
            got = time.monotonic()
            if job is None:
                progress.idle()
                continue
            with lock:
                claims.append((job.kind, job.id, sent, got))
            complete(connection, job)
            progress.add(job.kind == "urgent")

    together([produce, *[work] * 6], progress)

    taken = {job_id: sent for kind, job_id, sent, _ in claims if kind == "urgent"}
    assert taken.keys() == committed.keys()
    passed_by = [
        (job_id, claim)
        for job_id, since in committed.items()
        for claim in claims
        if claim[0] == "low" and claim[2] > since and claim[3] < taken[job_id]
    ]
    assert passed_by == []
    assert any(claim[0] == "low" for claim in claims), "the low jobs were gone before the urgent ones came"
