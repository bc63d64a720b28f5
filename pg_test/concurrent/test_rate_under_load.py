"""A rate under load: 16 workers claim as fast as they can for some seconds; every window keeps to the bucket."""

import time

from support.buckets import overfull, starts_of
from support.calls import claim_next, complete, enqueue_many
from support.crew import Progress, together
from support.settings import configure

RATE, BURST, PER = 50, 10, 1_000_000
SECONDS = 20
WORKERS = 16
JOBS = 2_000


def test_no_window_has_more_starts_than_the_bucket(db, conn):
    configure(conn, "tenant", "acme", rate=RATE, burst=BURST)
    enqueue_many(conn, [{"kind": "work", "tenant": "acme"}] * JOBS)
    enqueue_many(conn, [{"kind": "work", "tenant": "globex"}] * JOBS)
    # The other tenant is not held up behind jobs that were enqueued before its own.
    progress = Progress(JOBS)
    end = time.monotonic() + SECONDS

    def worker():
        connection = db.connect()
        while time.monotonic() < end or progress.going:
            job = claim_next(connection)
            if job is None:
                progress.idle()
            else:
                complete(connection, job)
                progress.add(job.tenant == "globex")

    together([worker] * WORKERS, progress)

    starts = starts_of(conn, "acme")
    assert overfull(starts, RATE, PER, BURST) == []
    assert len(starts) > BURST
