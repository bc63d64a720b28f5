-- Up to $1 jobs of each kind that must be looked at: blocked jobs that wait for nothing any more, batches whose children do not
-- know what they should, dependencies of which no predecessor was told, and those whose predecessor has ended.
(
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.waits_for = 'jobs'
        AND NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = job.id)
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = job.id AND job.opens_batch IS NOT TRUE)
        AND NOT EXISTS (
            SELECT FROM turnstile.batch AS above
            WHERE above.id = job.parent AND above.opened_at IS NULL AND above.stops IS NULL AND job.session IS NOT NULL
        )
    LIMIT $1
)
UNION
(
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.stops IS NOT NULL AND EXISTS (
            SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.cancel_requested_at IS NULL
        )
        OR EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.priority < batch.priority)
        OR EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.priority > batch.priority)
    LIMIT $1
)
UNION
(
    SELECT dependency.job
    FROM turnstile.dependency
    WHERE NOT dependency.is_told AND EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = dependency.predecessor)
    LIMIT $1
)
UNION
(
    SELECT dependency.job
    FROM turnstile.dependency
    LEFT JOIN LATERAL (
        SELECT job_history.state
        FROM turnstile.job_history
        WHERE job_history.id = dependency.predecessor
        ORDER BY job_history.finished_at DESC
        LIMIT 1
    ) AS last ON true
    WHERE NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = dependency.predecessor)
        AND (dependency.any_end OR coalesce(last.state = 'completed', false) OR NOT dependency.holds)
    LIMIT $1
)
