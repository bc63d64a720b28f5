-- A job's life beside the main path.

CREATE FUNCTION turnstile.rescue(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_rescue';
COMMENT ON FUNCTION turnstile.rescue(int) IS
    'Fails up to max_jobs runs whose lease has ended (error "lease expired") or that were bound to a connection that is gone ("connection lost"), and returns how many; they are retried or discarded like any other. The claims of a live queue do it in passing. Errors: 22004, 22023 max_jobs is negative, 25006.';

CREATE FUNCTION turnstile.promote(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_promote';
COMMENT ON FUNCTION turnstile.promote(int) IS
    'Makes up to max_jobs jobs available whose run_at has come, earliest first, and returns how many. The claims of a live queue do it in passing. Errors: 22004, 22023 max_jobs is negative, 25006.';

CREATE FUNCTION turnstile.heartbeat(job_id bigint, attempt int, lease interval DEFAULT NULL) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_heartbeat';
COMMENT ON FUNCTION turnstile.heartbeat(bigint, int, interval) IS
    'Has the lease of a run end after this time from now on; lease NULL: the queue''s setting. False: the cancellation of the run was asked for, it should stop. Errors: 22004, 22023 a lease that is not positive or over 100 years, P0002, 55000 the run was superseded, 25006.';

CREATE FUNCTION turnstile.progress(
    job_id bigint, attempt int, done numeric, total numeric DEFAULT NULL, message text DEFAULT NULL
) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_progress';
COMMENT ON FUNCTION turnstile.progress(bigint, int, numeric, numeric, text) IS
    'Sets job.progress of a run to {done, total, message, at}, for anybody to read at once; a message is cut after 4,000 characters. The lease stays as it is. False: the cancellation of the run was asked for, it should stop. Errors: 22004, P0002, 55000 the run was superseded, 25006.';

CREATE FUNCTION turnstile.snooze(job_id bigint, attempt int, delay interval) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_snooze';
COMMENT ON FUNCTION turnstile.snooze(bigint, int, interval) IS
    'Puts a run off: the job is scheduled and can be claimed again after the delay; true. The attempt does not count, and the job holds its session no more. A run whose cancellation was asked for is cancelled instead. Errors: 22004, 22023 a delay that is negative or over 100 years, P0002, 55000 the run was superseded, 25006.';

CREATE FUNCTION turnstile.cancel(job_id bigint) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_cancel';
COMMENT ON FUNCTION turnstile.cancel(bigint) IS
    'Ends a job that waits at once: "cancelled". A job that runs is asked to stop: "running"; its worker learns it by heartbeat, progress or complete. It ends as cancelled if it then fails, is released, snoozed or rescued, and as completed if it completes anyway. Errors: 22004, P0002, 55000 the job is completed or discarded, 25006.';

CREATE FUNCTION turnstile.discard(job_id bigint, attempt int DEFAULT NULL, error text DEFAULT NULL) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_discard';
COMMENT ON FUNCTION turnstile.discard(bigint, int, text) IS
    'Ends a job for good as a failure and returns its state, "discarded". With an attempt: that run, as fail(discard => true) does. Without: a job that waits. Errors: 22004, P0002, 55000 the run was superseded, or the job runs or has ended otherwise, 25006.';

CREATE FUNCTION turnstile.retry(job_id bigint) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_retry';
COMMENT ON FUNCTION turnstile.retry(bigint) IS
    'Makes a job available now, whether it is finished, scheduled or retryable: "available". A finished one comes back under its id with payload and errors, attempts counted on but all of max_attempts before it; its history is kept. Errors: 22004, P0002, 55000 the job runs or another holds its unique key, 53400 a finished one has no place in a backlog with a bound (max_waiting), 25006.';

CREATE FUNCTION turnstile.reprioritize(job_id bigint, priority int) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_reprioritize';
COMMENT ON FUNCTION turnstile.reprioritize(bigint, int) IS
    'Gives a live job another priority (lower runs first); of a running one it counts from its next attempt on. False: it has that priority. Errors: 22004, P0002, 55000 the job is finished, 25006.';

CREATE FUNCTION turnstile.cancel_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_cancel_many';
COMMENT ON FUNCTION turnstile.cancel_many(text, text, text, text, text, text, interval, int) IS
    'cancel for up to max_jobs live jobs that the filters choose; returns how many were cancelled or asked to stop. Repeat until 0. At least one of the filters must be given; NULL: any. older_than: enqueued (finished jobs: ended) longer ago. Jobs that somebody has locked are passed over. Errors: 22004, 22023 no filter or a bad value, 54000, 25006.';

CREATE FUNCTION turnstile.discard_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_discard_many';
COMMENT ON FUNCTION turnstile.discard_many(text, text, text, text, text, text, interval, int) IS
    'discard for up to max_jobs waiting jobs that the filters choose; returns how many. Repeat until 0. At least one of the filters must be given; NULL: any. older_than: enqueued (finished jobs: ended) longer ago. Jobs that somebody has locked are passed over. Errors: 22004, 22023 no filter or a bad value, 54000, 25006.';

CREATE FUNCTION turnstile.retry_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_retry_many';
COMMENT ON FUNCTION turnstile.retry_many(text, text, text, text, text, text, interval, int) IS
    'retry for up to max_jobs jobs that the filters choose; returns how many. Repeat until 0. state NULL: retryable, cancelled and discarded ones; scheduled and completed ones only if asked for. At least one of the filters must be given; NULL: any. older_than: enqueued (finished jobs: ended) longer ago. Jobs that somebody has locked, and those whose unique key another job holds, are passed over. Errors: 22004, 22023 no filter or a bad value, 53400 as retry, 54000, 25006.';
