-- Locks the runs ($1[i], $2[i]) that are running and fail with error $6[i] or $3 of the class $9[i] or $10, and tells what becomes of
-- each: (id, new state, errors as text, attempt, whether a trigger has kept it from being put off). A run is to go to history as
-- cancelled if that was asked for, as discarded if $8[i], $5 or its retry curve says so or no attempts are left; else it is put off,
-- which is done here.
-- $7[i] or $4: for how long, or null for the backoff: that of the retry curve, else n^4 times retry_base after counted attempt n, plus
-- up to 10 %, at most retry_cap. Times are kept within 30 years, and powers within 10^87: what an administrator sets must never make a
-- rescue fail. Patterns match and win as src/job/patterns.rs says.
-- Locked in order of id, so that two such calls cannot deadlock.
WITH run AS MATERIALIZED (
    SELECT
        job.id,
        job.attempt,
        CASE
            WHEN job.cancel_requested_at IS NOT NULL THEN 'cancelled'
            WHEN $5 OR given.discard OR curve.discard OR job.attempt - job.uncounted >= job.max_attempts THEN 'discarded'
            ELSE 'retryable'
        END AS state,
        coalesce(given.retry_in, $4, make_interval(secs => least(
            CASE
                WHEN curve.kind IS NULL THEN least(
                    power(job.attempt - job.uncounted, 4) * (1 + random() * 0.1) * extract(epoch FROM setting.retry_base)::float8,
                    extract(epoch FROM setting.retry_cap)::float8
                )
                ELSE (1 + curve.jitter * (random() * 2 - 1)) * least(
                    power(curve.factor, least(job.attempt - job.uncounted - 1, 200 / nullif(ln(curve.factor), 0)))
                        * extract(epoch FROM coalesce(curve.base, setting.retry_base))::float8,
                    extract(epoch FROM coalesce(curve.cap, setting.retry_cap))::float8
                )
            END,
            extract(epoch FROM interval '30 years')::float8
        ))) AS wait,
        job.session IS NOT NULL AND setting.session_on_retry = 'hold' AS holds_session,
        CASE
            WHEN jsonb_typeof(job.errors) <> 'array' THEN '[]'
            WHEN jsonb_array_length(job.errors) >= 1000 THEN job.errors - 0
            ELSE coalesce(job.errors, '[]')
        END || (jsonb_build_object('attempt', job.attempt, 'at', clock_timestamp(), 'worker', job.worker, 'error',
            CASE
                WHEN length(failed.error) > 4000 THEN left(failed.error, 4000) || ' [cut: ' || length(failed.error) || ' characters]'
                ELSE failed.error
            END
        ) || CASE WHEN failed.class IS NULL THEN '{}' ELSE jsonb_build_object('class', failed.class) END) AS errors
    FROM unnest($1, $2, $6, $7, $8, $9) AS given (id, attempt, error, retry_in, discard, class)
    CROSS JOIN LATERAL (SELECT coalesce(given.error, $3) AS error, coalesce(given.class, $10) AS class) AS failed
    -- The ids once more: where the planner has to read a table without an index, all that it does costs the same to it.
    JOIN ONLY turnstile.job ON job.id = given.id AND job.attempt = given.attempt AND job.state = 'running' AND job.id = ANY ($1)
    CROSS JOIN LATERAL (
        SELECT queue.retry_base, queue.retry_cap, queue.session_on_retry
        FROM turnstile.queue_in_force AS queue
        WHERE queue.name IN (job.queue, '*')
        ORDER BY queue.name = '*'
        LIMIT 1
    ) AS setting
    LEFT JOIN LATERAL (
        SELECT row.kind, row.base, row.factor, row.cap, row.jitter, row.discard
        FROM turnstile.retry_curve AS row
        WHERE NOT EXISTS (
            SELECT FROM (VALUES (row.kind, job.kind), (row.error_class, coalesce(failed.class, ''))) AS named (pattern, name)
            WHERE named.name NOT LIKE replace(replace(replace(replace(named.pattern, '!', '!!'), '%', '!%'), '_', '!_'), '*', '%') ESCAPE '!'
        )
        ORDER BY strpos(row.kind, '*') > 0, char_length(replace(row.kind, '*', '')) DESC, row.kind COLLATE "C",
            strpos(row.error_class, '*') > 0, char_length(replace(row.error_class, '*', '')) DESC, row.error_class COLLATE "C"
        LIMIT 1
    ) AS curve ON true
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
        lease = NULL,
        first_started_at = coalesce(job.first_started_at, CASE WHEN job.attempt = 1 THEN job.claimed_at END),
        waited = turnstile_internal.add_wait(job.waited, job.run_at, job.claimed_at),
        progress = NULL,
        errors = run.errors
    FROM run
    WHERE job.id = run.id AND run.state = 'retryable'
    RETURNING job.id
)
SELECT run.id, run.state, run.errors::text, run.attempt, run.state = 'retryable' AND retried.id IS NULL
FROM run
LEFT JOIN retried ON retried.id = run.id
