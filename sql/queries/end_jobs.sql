-- The statement that moves jobs to history, each with the columns that both tables have by the same name and type; those
-- that only the history has get their defaults. Its parameters: ids, attempts (null: a job that waits), states, errors as
-- text (null: those of the job), whether the cancellation is asked for just now, and results, as arrays; the time; queues that keep
-- no completed jobs, unless others have to know how they ended.
-- It gives (id, queue, whether the cancellation had been asked for, whether the job was deleted, whether it is in history if it
-- should, worker, lease, owner_pid, owner_started_at) and locks in order of id, so that two such calls cannot deadlock.
SELECT format(
    $statement$
        WITH target AS MATERIALIZED (
            SELECT job.id, job.queue, job.worker, job.lease, job.owner_pid, job.owner_started_at, job.cancel_requested_at IS NOT NULL AS was_to_be_cancelled,
                given.state, given.errors, given.is_cancelled_now, given.result,
                given.state <> 'completed' OR job.queue <> ALL ($8) OR job.parent IS NOT NULL OR job.children IS NOT NULL
                    OR job.has_followers IS TRUE OR coalesce('completed' = ANY (job.unique_states), false) AS leaves_row
            FROM unnest($1, $2, $3, $4, $5, $6) AS given (id, attempt, state, errors, is_cancelled_now, result)
            JOIN ONLY turnstile.job ON job.id = given.id
                AND CASE
                    WHEN given.attempt IS NULL THEN job.state <> 'running'
                    ELSE job.state = 'running' AND job.attempt = given.attempt
                END
            ORDER BY job.id
            FOR UPDATE OF job
        ), ended AS (
            DELETE FROM ONLY turnstile.job
            USING target
            WHERE job.id = target.id
            RETURNING job AS job, target.state, target.errors, target.is_cancelled_now, target.result, target.leaves_row
        ), kept AS (
            INSERT INTO turnstile.job_history (%s)
            SELECT %s
            FROM ended
            WHERE ended.leaves_row
            RETURNING job_history.id
        )
        SELECT target.id, target.queue, target.was_to_be_cancelled, ended.state IS NOT NULL,
            kept.id IS NOT NULL OR NOT target.leaves_row,
            target.worker, target.lease, target.owner_pid, target.owner_started_at
        FROM target
        LEFT JOIN ended ON (ended.job).id = target.id
        LEFT JOIN kept ON kept.id = target.id
        ORDER BY target.id
    $statement$,
    string_agg(quote_ident(own.attname), ', ' ORDER BY own.attnum),
    string_agg(
        CASE own.attname
            WHEN 'state' THEN 'ended.state'
            WHEN 'finished_at' THEN '$7'
            WHEN 'result' THEN 'ended.result'
            WHEN 'errors' THEN 'coalesce(ended.errors::jsonb, (ended.job).errors)'
            WHEN 'cancel_requested_at' THEN
                'CASE WHEN ended.is_cancelled_now THEN $7 ELSE (ended.job).cancel_requested_at END'
            ELSE '(ended.job).' || quote_ident(own.attname)
        END,
        ', ' ORDER BY own.attnum
    )
)
FROM pg_attribute AS own
LEFT JOIN pg_attribute AS of_job ON of_job.attrelid = 'turnstile.job'::regclass
    AND of_job.attnum > 0 AND NOT of_job.attisdropped AND of_job.attname = own.attname
    AND of_job.atttypid = own.atttypid AND of_job.atttypmod = own.atttypmod
WHERE own.attrelid = 'turnstile.job_history'::regclass AND own.attnum > 0 AND NOT own.attisdropped
    AND own.attgenerated = '' AND own.attidentity <> 'a'
    AND (of_job.attname IS NOT NULL OR own.attname IN ('finished_at', 'result'))
