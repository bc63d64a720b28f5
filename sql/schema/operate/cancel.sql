-- Jobs that end without a worker, one or many.

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

CREATE FUNCTION turnstile.cancel_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000,
    parent bigint DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    error text DEFAULT NULL,
    ended_before timestamptz DEFAULT NULL,
    first_id bigint DEFAULT NULL,
    last_id bigint DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_cancel_many';
COMMENT ON FUNCTION turnstile.cancel_many(text, text, text, text, text, text, interval, int, bigint, text, jsonb, text, timestamptz, bigint, bigint) IS
    'Does what cancel does for up to max_jobs live jobs, and returns how many were cancelled or asked to stop. Call it again until it returns 0. Jobs that another transaction has locked are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind. * in it stands for any text, as in routes.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: available, scheduled, retryable, blocked or running.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
parent: only children of this job.
concurrency_key: only jobs with this key.
metadata: only jobs whose metadata contain this.
error: only jobs whose last error begins with this. This and metadata need the permission see, too.
ended_before: only jobs whose last run failed before this time.
first_id, last_id: only jobs with ids from the one to the other. Where few of very many match, calls for one range after the other read each job once.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.discard_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000,
    parent bigint DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    error text DEFAULT NULL,
    ended_before timestamptz DEFAULT NULL,
    first_id bigint DEFAULT NULL,
    last_id bigint DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_discard_many';
COMMENT ON FUNCTION turnstile.discard_many(text, text, text, text, text, text, interval, int, bigint, text, jsonb, text, timestamptz, bigint, bigint) IS
    'Does what discard does for up to max_jobs waiting jobs, and returns how many. Call it again until it returns 0. Jobs that another transaction has locked are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind. * in it stands for any text, as in routes.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: available, scheduled, retryable or blocked.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
parent: only children of this job.
concurrency_key: only jobs with this key.
metadata: only jobs whose metadata contain this.
error: only jobs whose last error begins with this. This and metadata need the permission see, too.
ended_before: only jobs whose last run failed before this time.
first_id, last_id: only jobs with ids from the one to the other. Where few of very many match, calls for one range after the other read each job once.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 09000; 25006.';
