-- The next $2 blocked jobs from job $1 on: (job, whether it must be looked at). It must if it waits for nothing any more.
-- OFFSET 0: as in next_followers.
WITH next AS MATERIALIZED (
    SELECT job.id, job.parent, job.session, job.opens_batch
    FROM ONLY turnstile.job
    WHERE job.waits_for = 'jobs' AND job.id >= $1
    ORDER BY job.id
    LIMIT $2
)
SELECT
    next.id,
    NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = next.id OFFSET 0)
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = next.id AND next.opens_batch IS NOT TRUE OFFSET 0)
        AND NOT EXISTS (
            SELECT FROM turnstile.batch AS above
            WHERE above.id = next.parent AND above.opened_at IS NULL AND above.stops IS NULL AND next.session IS NOT NULL
            OFFSET 0
        )
FROM next
ORDER BY next.id
