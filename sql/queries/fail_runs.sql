-- Locks the runs ($1[i], $2[i]) that are running and fail with error $6[i] or $3, and tells what becomes of each: (id, new state,
-- errors as text, attempt, whether a trigger has kept it from being put off). A run is to go to history as cancelled if that was asked
-- for, as discarded if $8[i] or $5 says so or no attempts are left; else it is put off, which is done here.
-- $7[i] or $4: for how long, or null for the backoff: n^4 times retry_base after counted attempt n, plus up to 10 %, at
-- most retry_cap. Times are kept within 30 years: what an administrator sets must never make a rescue fail.
-- Locked in order of id, so that two such calls cannot deadlock.
WITH run AS MATERIALIZED (
    SELECT
        job.id,
        job.attempt,
        CASE
            WHEN job.cancel_requested_at IS NOT NULL THEN 'cancelled'
            WHEN $5 OR given.discard OR job.attempt - job.uncounted >= job.max_attempts THEN 'discarded'
            ELSE 'retryable'
        END AS state,
        coalesce(given.retry_in, $4, make_interval(secs => least(
            power(job.attempt - job.uncounted, 4) * (1 + random() * 0.1)
                * extract(epoch FROM setting.retry_base)::float8,
            extract(epoch FROM setting.retry_cap)::float8,
            extract(epoch FROM interval '30 years')::float8
        ))) AS wait,
        job.session IS NOT NULL AND setting.session_on_retry = 'hold' AS holds_session,
        CASE
            WHEN jsonb_typeof(job.errors) <> 'array' THEN '[]'
            WHEN jsonb_array_length(job.errors) >= 1000 THEN job.errors - 0
            ELSE coalesce(job.errors, '[]')
        END || jsonb_build_object('attempt', job.attempt, 'at', clock_timestamp(), 'worker', job.worker, 'error',
            CASE
                WHEN length(failed.error) > 4000 THEN left(failed.error, 4000) || ' [cut: ' || length(failed.error) || ' characters]'
                ELSE failed.error
            END
        ) AS errors
    FROM unnest($1, $2, $6, $7, $8) AS given (id, attempt, error, retry_in, discard)
    CROSS JOIN LATERAL (SELECT coalesce(given.error, $3) AS error) AS failed
    JOIN ONLY turnstile.job ON job.id = given.id AND job.attempt = given.attempt AND job.state = 'running'
    CROSS JOIN LATERAL (
        SELECT queue.retry_base, queue.retry_cap, queue.session_on_retry
        FROM turnstile.queue_in_force AS queue
        WHERE queue.name IN (job.queue, '*')
        ORDER BY queue.name = '*'
        LIMIT 1
    ) AS setting
    ORDER BY job.id
    FOR UPDATE OF job
), retried AS (
    UPDATE ONLY turnstile.job
    SET state = 'retryable',
        run_at = clock_timestamp() + run.wait,
        holds_session = run.holds_session,
        worker = NULL,
        owner_pid = NULL,
        owner_started_at = NULL,
        claimed_at = NULL,
        lease_expires_at = NULL,
        progress = NULL,
        errors = run.errors
    FROM run
    WHERE job.id = run.id AND run.state = 'retryable'
    RETURNING job.id
)
SELECT run.id, run.state, run.errors::text, run.attempt, run.state = 'retryable' AND retried.id IS NULL
FROM run
LEFT JOIN retried ON retried.id = run.id
