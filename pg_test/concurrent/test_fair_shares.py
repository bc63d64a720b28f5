"""Fair shares under load: weights hold over many claims of many workers, and for who comes late."""

import threading
from collections import Counter

from support.calls import call, claim_next, enqueue_many
from support.crew import Progress, together

WEIGHTS = {"one": 1, "two": 2, "five": 5}
CLAIMS = 30_000
WORKERS = 8
BACKLOG = 22_000
TO_WITHIN = 0.02


def test_backlogs_are_served_by_weight_and_a_newcomer_at_once(db, conn):
    call(conn, "set_queue", name="default", policy="fair")
    for tenant, weight in WEIGHTS.items():
        call(conn, "set_tenant", name=tenant, weight=weight)
        _load(conn, tenant, BACKLOG)
    left = [CLAIMS]
    lock = threading.Lock()
    progress = Progress(CLAIMS)

    def worker():
        connection = db.connect()
        claimed = Counter()
        while not progress.broken:
            with lock:
                if left[0] == 0:
                    return claimed
                left[0] -= 1
            claimed[claim_next(connection).tenant] += 1
            progress.add()
        return claimed

    starts = sum(together([worker] * WORKERS, progress), Counter())
    assert starts.total() == CLAIMS
    for tenant, weight in WEIGHTS.items():
        share = weight / sum(WEIGHTS.values())
        assert abs(starts[tenant] / CLAIMS - share) <= TO_WITHIN * share, starts

    call(conn, "set_tenant", name="late", weight=8)
    enqueue_many(conn, [{"kind": "work", "tenant": "late"}] * 200)
    starts = Counter(claim_next(conn).tenant for _ in range(100))
    assert 49 <= starts["late"] <= 51, starts
    assert call(conn, "check") == []


def _load(conn, tenant, jobs):
    conn.execute(
        "INSERT INTO turnstile.job (kind, tenant) SELECT 'work', %s FROM generate_series(1, %s)", [tenant, jobs]
    )
