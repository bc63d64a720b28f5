-- The functions that change jobs and runs beside enqueue, claim and complete.

CREATE FUNCTION turnstile.rescue(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_rescue';
COMMENT ON FUNCTION turnstile.rescue(int) IS
    'Fails runs whose lease has ended (error "lease expired") and runs bound to a connection that is gone ("connection lost"). Returns how many. They are retried or discarded like any failed run. Claims do this in passing.
max_jobs: 0 or more.
Errors: 22004; 22023; 42501; 25006.';

CREATE FUNCTION turnstile.promote(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_promote';
COMMENT ON FUNCTION turnstile.promote(int) IS
    'Makes jobs available whose run_at has come, earliest first. Returns how many. Claims do this in passing.
max_jobs: 0 or more.
Errors: 22004; 22023; 42501; 25006.';

CREATE FUNCTION turnstile.heartbeat(job_id bigint, attempt int, lease interval DEFAULT NULL) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_heartbeat';
COMMENT ON FUNCTION turnstile.heartbeat(bigint, int, interval) IS
    'Extends the lease of a run. Returns true, or false if the cancellation of the run was requested: it should stop.
job_id: as for complete.
attempt: as for complete.
lease: the lease ends so long from now. More than 0, at most 100 years. NULL: the setting of the queue.
Errors: 22004; 22023; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.progress(
    job_id bigint, attempt int, done numeric, total numeric DEFAULT NULL, message text DEFAULT NULL
) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_progress';
COMMENT ON FUNCTION turnstile.progress(bigint, int, numeric, numeric, text) IS
    'Sets job.progress of a run to {done, total, message, at}. Returns true, or false if the cancellation of the run was requested: it should stop. The lease stays as it is.
job_id: as for complete.
attempt: as for complete.
done: how much is done, in any unit.
total: how much there is to do, in the same unit.
message: cut after 4,000 characters.
Errors: 22004; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.snooze(job_id bigint, attempt int, delay interval) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_snooze';
COMMENT ON FUNCTION turnstile.snooze(bigint, int, interval) IS
    'Puts a run off and returns true: the job is scheduled, and can be claimed again after the delay. The attempt does not count, and the job no longer holds its session. A run whose cancellation was requested is cancelled instead.
job_id: as for complete.
attempt: as for complete.
delay: 0 or more, at most 100 years.
Errors: 22004; 22023; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.cancel(job_id bigint) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_cancel';
COMMENT ON FUNCTION turnstile.cancel(bigint) IS
    'Cancels a job that waits, and returns "cancelled"; or asks a run to stop, and returns "running". The worker learns it from heartbeat, progress or complete. The job ends as cancelled if the run then fails, is released, snoozed or rescued, and as completed if it completes.
job_id: a live job, or one that is cancelled already.
Errors: 22004; P0002; 55000 the job is completed or discarded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.discard(job_id bigint, attempt int DEFAULT NULL, error text DEFAULT NULL) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_discard';
COMMENT ON FUNCTION turnstile.discard(bigint, int, text) IS
    'Ends a job for good as a failure, and returns its state, "discarded".
job_id: the job.
attempt: ends that run, as fail(discard => true) does. NULL: ends a job that waits.
error: kept in job.errors; cut after 4,000 characters.
Errors: 22004; P0002; 55000 the run was superseded, or the job runs or has ended otherwise; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.retry(job_id bigint) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_retry';
COMMENT ON FUNCTION turnstile.retry(bigint) IS
    'Makes a scheduled, retryable or finished job available now, and returns "available". A finished job comes back under its id with payload and errors. Its attempt numbers go on, with all of max_attempts before it; its row in history stays.
job_id: a job that does not run.
Errors: 22004; P0002; 55000 the job runs, or another job holds its unique key; 42501; 53400 a finished job has no place in a backlog with a bound (max_waiting); 09000; 25006.';

CREATE FUNCTION turnstile.reprioritize(job_id bigint, priority int) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_reprioritize';
COMMENT ON FUNCTION turnstile.reprioritize(bigint, int) IS
    'Changes the priority of a live job. Returns true, or false if the job has that priority. For a running job the priority counts from its next attempt on.
job_id: a live job.
priority: lower runs first.
Errors: 22004; P0002; 55000 the job is finished; 42501; 09000; 25006.';

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
    'Does what cancel does for up to max_jobs live jobs, and returns how many were cancelled or asked to stop. Call it again until it returns 0. Jobs that another transaction has locked are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: available, scheduled, retryable or running.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 09000; 25006.';

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
    'Does what discard does for up to max_jobs waiting jobs, and returns how many. Call it again until it returns 0. Jobs that another transaction has locked are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: available, scheduled or retryable.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 09000; 25006.';

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
    'Does what retry does for up to max_jobs jobs, and returns how many. Call it again until it returns 0. Jobs that another transaction has locked, and those whose unique key another job holds, are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: scheduled, retryable, completed, cancelled or discarded. NULL: retryable, cancelled and discarded.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 53400 a finished job has no place in a backlog with a bound (max_waiting); 09000; 25006.';
