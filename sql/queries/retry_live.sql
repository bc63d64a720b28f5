-- Makes those of the jobs $1 available that wait for their time.
UPDATE ONLY turnstile.job
SET state = 'available',
    run_at = clock_timestamp(),
    position = CASE WHEN job.session IS NULL THEN nextval('turnstile.job_position_seq') ELSE job.position END
WHERE job.id = ANY ($1) AND job.state IN ('scheduled', 'retryable')
RETURNING job.id
