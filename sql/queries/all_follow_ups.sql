-- Up to $2 jobs from id $1 on that must be looked at, by id: followers of which no predecessor was told, those whose predecessor has
-- ended, batches whose children do not know what they should or of which some have failed, and blocked jobs that wait for nothing any more.
-- What would come after $2 others is not searched.
WITH untold AS MATERIALIZED (
    SELECT DISTINCT dependency.job AS id
    FROM turnstile.dependency
    WHERE dependency.job >= $1 AND NOT dependency.is_told
        AND EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = dependency.predecessor)
    ORDER BY dependency.job
    LIMIT $2
), met AS MATERIALIZED (
    SELECT DISTINCT dependency.job AS id
    FROM turnstile.dependency
    LEFT JOIN LATERAL (
        SELECT job_history.state
        FROM turnstile.job_history
        WHERE job_history.id = dependency.predecessor
        ORDER BY job_history.finished_at DESC
        LIMIT 1
    ) AS last ON true
    WHERE dependency.job >= $1
        AND dependency.job <= (SELECT CASE WHEN count(*) = $2 THEN max(untold.id) ELSE 9223372036854775807 END FROM untold)
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = dependency.predecessor)
        AND (dependency.any_end OR coalesce(last.state = 'completed', false) OR NOT dependency.holds)
    ORDER BY dependency.job
    LIMIT $2
), followers AS MATERIALIZED (
    SELECT untold.id FROM untold
    UNION
    SELECT met.id FROM met
    ORDER BY id
    LIMIT $2
), blocked AS MATERIALIZED (
    -- By their index: the planner would rather read all jobs in order of their ids.
    SELECT job.id, job.parent, job.session, job.opens_batch
    FROM ONLY turnstile.job
    WHERE job.waits_for = 'jobs'
)
SELECT found.id
FROM (
    SELECT followers.id
    FROM followers
    UNION
    (
        SELECT batch.id
        FROM turnstile.batch
        WHERE batch.id >= $1 AND (
            batch.stops IS NOT NULL AND EXISTS (
                SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.cancel_requested_at IS NULL
            )
            OR batch.stops IS NULL AND batch.max_failed IS NOT NULL AND EXISTS (
                SELECT FROM turnstile.job_history AS failed WHERE failed.parent = batch.id AND failed.state = 'discarded'
            )
            OR EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.priority < batch.priority)
            OR EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.priority > batch.priority)
        )
        ORDER BY batch.id
        LIMIT $2
    )
    UNION
    (
        SELECT blocked.id
        FROM blocked
        WHERE blocked.id >= $1
            AND blocked.id <= (SELECT CASE WHEN count(*) = $2 THEN max(followers.id) ELSE 9223372036854775807 END FROM followers)
            AND NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = blocked.id)
            AND NOT EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = blocked.id AND blocked.opens_batch IS NOT TRUE)
            AND NOT EXISTS (
                SELECT FROM turnstile.batch AS above
                WHERE above.id = blocked.parent AND above.opened_at IS NULL AND above.stops IS NULL AND blocked.session IS NOT NULL
            )
        ORDER BY blocked.id
        LIMIT $2
    )
) AS found
ORDER BY found.id
LIMIT $2
