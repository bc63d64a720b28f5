-- What becomes of those of the blocked jobs $1, which are locked, that wait for nothing any more, nor, in a session, for their
-- parent's turn: (id, new state, how the children
-- ended). The children that a long history has forgotten are those of a parent that has been brought back.
SELECT job.id,
    CASE
        WHEN batch.stops IN ('cancelled', 'discarded') THEN batch.stops
        WHEN job.cancel_requested_at IS NOT NULL THEN 'cancelled'
        WHEN job.opens_batch THEN 'available'
        WHEN batch.stops = 'failed' AND batch.on_end <> 'run' THEN 'discarded'
        WHEN batch.on_end = 'complete' THEN 'completed'
        WHEN batch.on_end = 'run_if_all_completed' AND ended.others > 0 THEN 'discarded'
        ELSE 'available'
    END,
    CASE WHEN batch.id IS NOT NULL AND job.opens_batch IS NOT TRUE OR ended.total > 0 THEN ended.children::text END
FROM ONLY turnstile.job
LEFT JOIN turnstile.batch ON batch.id = job.id AND batch.id = ANY ($1)
CROSS JOIN LATERAL (
    SELECT
        count(*) AS total,
        count(*) FILTER (WHERE last.state <> 'completed') AS others,
        jsonb_build_object(
            'completed', count(*) FILTER (WHERE last.state = 'completed'),
            'discarded', count(*) FILTER (WHERE last.state = 'discarded'),
            'cancelled', count(*) FILTER (WHERE last.state = 'cancelled')
        ) AS children
    FROM (
        SELECT DISTINCT ON (job_history.id) job_history.state
        FROM turnstile.job_history
        WHERE job_history.parent = job.id
        ORDER BY job_history.id, job_history.finished_at DESC
    ) AS last
) AS ended
WHERE job.id = ANY ($1) AND job.state = 'blocked'
    AND (batch.stops IN ('cancelled', 'discarded') OR NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = job.id OFFSET 0))
    AND (
        (job.opens_batch AND batch.stops IS NULL)
        OR NOT EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = job.id OFFSET 0)
    )
    AND NOT EXISTS (
        SELECT FROM turnstile.batch AS above
        WHERE above.id = job.parent AND above.opened_at IS NULL AND above.stops IS NULL AND job.session IS NOT NULL
        OFFSET 0
    )
