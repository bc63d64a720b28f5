-- The statement that brings those of the finished jobs $1 back that are not live, as their last end has left them, but with
-- all attempts before them: attempt never goes back, and none made so far counts. Their history must be locked. Columns of
-- users come back where both tables have them by the same name and type.
SELECT format(
    $statement$
        WITH last AS MATERIALIZED (
            SELECT DISTINCT ON (job_history.id) job_history.*
            FROM turnstile.job_history
            WHERE job_history.id = ANY ($1)
            ORDER BY job_history.id, job_history.finished_at DESC
        )
        INSERT INTO turnstile.job (uncounted, %s)
        SELECT last.attempt, %s
        FROM last
        WHERE NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = last.id OFFSET 0)
        ORDER BY last.id
        ON CONFLICT (id) DO NOTHING
        RETURNING job.id
    $statement$,
    string_agg(quote_ident(own.attname), ', ' ORDER BY own.attnum),
    string_agg(
        CASE own.attname
            -- Who came after it while it was gone could not mark it.
            WHEN 'has_followers' THEN 'CASE WHEN EXISTS (SELECT FROM turnstile.dependency WHERE dependency.predecessor = last.id OFFSET 0) THEN true ELSE last.has_followers END'
            WHEN 'first_started_at' THEN 'coalesce(last.first_started_at, CASE WHEN last.attempt = 1 THEN last.claimed_at END)'
            WHEN 'waited' THEN 'turnstile_internal.add_wait(last.waited, last.run_at, last.claimed_at)'
            ELSE 'last.' || quote_ident(own.attname)
        END,
        ', ' ORDER BY own.attnum
    )
)
FROM pg_attribute AS own
JOIN pg_attribute AS of_history ON of_history.attrelid = 'turnstile.job_history'::regclass
    AND of_history.attnum > 0 AND NOT of_history.attisdropped AND of_history.attname = own.attname
    AND of_history.atttypid = own.atttypid AND of_history.atttypmod = own.atttypmod
WHERE own.attrelid = 'turnstile.job'::regclass AND own.attnum > 0 AND NOT own.attisdropped
    AND own.attgenerated = '' AND own.attidentity <> 'a'
    AND own.attname NOT IN (
        'lane', 'lane_group', 'position', 'run_at', 'lease_expires_at', 'state', 'holds_session', 'uncounted', 'worker',
        'owner_pid', 'owner_started_at', 'claimed_at', 'cancel_requested_at', 'progress', 'lease'
    )
