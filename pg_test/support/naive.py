"""The rules of a claim as one slow query over the tables: the job that a scan over all jobs would return.

It knows jobs that are `available`, not those whose time comes while it looks; and fifo queues only.
Parents whose turn has come, which claims open instead, are not expected.
The jobs of a session do not overtake each other, even where the first of them finds another of its gates full.
"""

from support.calls import claim_next

NEXT = """
WITH running AS MATERIALIZED (SELECT * FROM turnstile.job WHERE state = 'running')
SELECT j.id
  FROM turnstile.job j
  LEFT JOIN LATERAL (SELECT (array_agg(paused ORDER BY name = '*'))[1] paused,
                            nullif((array_agg(max_running ORDER BY name = '*') FILTER (WHERE max_running IS NOT NULL))[1], -1) slots
                       FROM turnstile.queue WHERE name IN (j.queue, '*')) queue ON true
  LEFT JOIN LATERAL (SELECT (array_agg(paused ORDER BY name = '*'))[1] paused,
                            nullif((array_agg(slots ORDER BY name = '*') FILTER (WHERE slots IS NOT NULL))[1], -1) slots
                       FROM turnstile.tenant WHERE name IN (j.tenant, '*') AND j.tenant IS NOT NULL) tenant ON true
  LEFT JOIN LATERAL (SELECT (array_agg(paused ORDER BY name = '*', tenant = '*'))[1] paused,
                            nullif((array_agg(slots ORDER BY name = '*', tenant = '*') FILTER (WHERE slots IS NOT NULL))[1], -1) slots
                       FROM turnstile.account
                      WHERE tenant IN (j.tenant, '*') AND name IN (j.account, '*') AND j.account IS NOT NULL
                        AND (tenant = j.tenant OR name = '*')) account ON true
  LEFT JOIN LATERAL (SELECT nullif((array_agg(slots ORDER BY key = '*') FILTER (WHERE slots IS NOT NULL))[1], -1) slots
                       FROM turnstile.concurrency WHERE key IN (j.concurrency_key, '*') AND j.concurrency_key IS NOT NULL) concurrency ON true
  LEFT JOIN turnstile.batch ON batch.id = j.parent
 WHERE j.queue = %(queue)s
   AND j.state = 'available'
   AND NOT coalesce(queue.paused, false)
   AND NOT coalesce(tenant.paused, false)
   AND NOT coalesce(account.paused, false)
   AND (queue.slots IS NULL
        OR queue.slots > (SELECT count(*) FROM running r WHERE r.queue = j.queue))
   AND (tenant.slots IS NULL
        OR tenant.slots > (SELECT count(*) FROM running r WHERE r.tenant = j.tenant))
   AND (account.slots IS NULL
        OR account.slots > (SELECT count(*) FROM running r WHERE (r.tenant, r.account) = (j.tenant, j.account)))
   AND (concurrency.slots IS NULL
        OR concurrency.slots > (SELECT count(*) FROM running r WHERE r.concurrency_key = j.concurrency_key))
   AND (batch.id IS NULL OR batch.opened_at IS NOT NULL AND batch.stops IS NULL AND NOT batch.paused)
   AND (batch.slots IS NULL
        OR batch.slots > (SELECT count(*) FROM running r WHERE r.parent = j.parent))
   AND NOT EXISTS (SELECT 1 FROM running r
                    WHERE r.queue = j.queue AND r.session = j.session AND r.tenant IS NOT DISTINCT FROM j.tenant)
   AND NOT EXISTS (SELECT 1 FROM running r
                    WHERE r.unique_key = j.unique_key AND r.tenant IS NOT DISTINCT FROM j.tenant
                      AND r.unique_mode IN ('while_executing', 'until_and_while_executing')
                      AND j.unique_mode IN ('while_executing', 'until_and_while_executing'))
   AND NOT EXISTS (SELECT 1 FROM turnstile.job first
                    WHERE first.queue = j.queue AND first.session = j.session
                      AND first.tenant IS NOT DISTINCT FROM j.tenant AND first.id <> j.id
                      AND (first.holds_session
                           OR first.state = 'available' AND NOT j.holds_session
                              AND (first.priority, first.position) < (j.priority, j.position)))
 ORDER BY j.priority, j.position
 LIMIT 1
"""


def next_id(conn, queue: str) -> int | None:
    """The id of the job that must be claimed next from a queue."""
    row = conn.execute(NEXT, {"queue": queue}).fetchone()
    return row[0] if row else None


def claim_as_predicted(conn, queue: str):
    """Claims the next job, which must be the predicted one; None where none was predicted."""
    expected = next_id(conn, queue)
    job = claim_next(conn, queue)
    assert (job.id if job else None) == expected, f"queue {queue}: claimed {job}, the rules say job {expected}"
    return job


def claim_all_as_predicted(conn, queues) -> list:
    """Claims everything that may run, each claim as predicted, finishing nothing."""
    claimed = []
    for queue in queues:
        while (job := claim_as_predicted(conn, queue)) is not None:
            claimed.append(job)
    return claimed
