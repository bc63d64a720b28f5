-- Locks those of the runs ($1[i], $2[i]) that no other transaction has locked. For each, in order: (whether it is locked now; running,
-- cancel_requested, or lost).
WITH given AS MATERIALIZED (
    SELECT given.id, given.attempt, given.ord
    FROM unnest($1, $2) WITH ORDINALITY AS given (id, attempt, ord)
), free AS MATERIALIZED (
    SELECT job.id, job.attempt
    FROM ONLY turnstile.job
    WHERE job.state = 'running'
        AND EXISTS (SELECT FROM given WHERE given.id = job.id AND given.attempt = job.attempt)
        AND job.id = ANY ($1)
    ORDER BY job.id
    FOR NO KEY UPDATE OF job SKIP LOCKED
)
SELECT
    free.id IS NOT NULL,
    CASE
        WHEN seen.id IS NULL THEN 'lost'
        WHEN seen.cancel_requested_at IS NOT NULL THEN 'cancel_requested'
        ELSE 'running'
    END
FROM given
LEFT JOIN free ON free.id = given.id AND free.attempt = given.attempt
LEFT JOIN LATERAL (
    SELECT job.id, job.cancel_requested_at
    FROM ONLY turnstile.job
    WHERE job.id = given.id AND job.attempt = given.attempt AND job.state = 'running'
    OFFSET 0
) AS seen ON true
ORDER BY given.ord
