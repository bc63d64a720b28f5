-- Jobs that start again or sooner.

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

CREATE FUNCTION turnstile.retry_many(
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
    AS 'MODULE_PATHNAME', 'turnstile_retry_many';
COMMENT ON FUNCTION turnstile.retry_many(text, text, text, text, text, text, interval, int, bigint, text, jsonb, text, timestamptz, bigint, bigint) IS
    'Does what retry does for up to max_jobs jobs, and returns how many. Call it again until it returns 0. Jobs that another transaction has locked, and those whose unique key another job holds, are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind. * in it stands for any text, as in routes.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: scheduled, retryable, completed, cancelled or discarded. NULL: retryable, cancelled and discarded.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
parent: only children of this job.
concurrency_key: only jobs with this key.
metadata: only jobs whose metadata contain this.
error: only jobs whose last error begins with this. This and metadata need the permission see, too.
ended_before: only jobs whose last run failed before this time; finished jobs: that ended before. With the time at which a loop begins, it retries nothing twice.
first_id, last_id: only jobs with ids from the one to the other. Where few of very many match, calls for one range after the other read each job once.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 53400 a finished job has no place in a backlog with a bound (max_waiting); 09000; 25006.';
