-- Up to $2 blocked jobs from job $1 on that wait for nothing any more, and must be looked at: (job, 1, true).
-- OFFSET 0: as in next_followers.
WITH blocked AS MATERIALIZED (
    -- By their index: the planner would rather read all jobs in order of their ids.
    SELECT job.id, job.parent, job.session, job.opens_batch
    FROM ONLY turnstile.job
    WHERE job.waits_for = 'jobs'
)
SELECT blocked.id, 1::bigint, true
FROM blocked
WHERE blocked.id >= $1
    AND NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = blocked.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = blocked.id AND blocked.opens_batch IS NOT TRUE OFFSET 0)
    AND NOT EXISTS (
        SELECT FROM turnstile.batch AS above
        WHERE above.id = blocked.parent AND above.opened_at IS NULL AND above.stops IS NULL AND blocked.session IS NOT NULL
        OFFSET 0
    )
ORDER BY blocked.id
LIMIT $2
