-- The functions that producers and workers call. None is SECURITY DEFINER: each knows its caller, checks its permissions
-- (turnstile.permission), and then switches to the rights of its owner by itself (src/pg/rights.rs).

CREATE TYPE turnstile.claimed_job AS (
    id bigint,
    attempt int,
    queue text,
    kind text,
    payload jsonb,
    priority int,
    tenant text,
    account text,
    session text,
    max_attempts int,
    lease_expires_at timestamptz,
    created_at timestamptz,
    metadata jsonb
);
COMMENT ON TYPE turnstile.claimed_job IS 'A claimed job. (id, attempt) names the run.';
COMMENT ON COLUMN turnstile.claimed_job.id IS
    'With attempt, the run: both go to complete, fail, heartbeat and the like.';
COMMENT ON COLUMN turnstile.claimed_job.attempt IS 'Claims of the job so far. attempt = max_attempts: the last one.';
COMMENT ON COLUMN turnstile.claimed_job.queue IS 'The queue that the job was claimed from.';
COMMENT ON COLUMN turnstile.claimed_job.kind IS 'What sort of job it is.';
COMMENT ON COLUMN turnstile.claimed_job.payload IS 'What the producer passed.';
COMMENT ON COLUMN turnstile.claimed_job.priority IS 'The priority, without what aging adds.';
COMMENT ON COLUMN turnstile.claimed_job.tenant IS 'The tenant. NULL: none.';
COMMENT ON COLUMN turnstile.claimed_job.account IS 'The account. NULL: none.';
COMMENT ON COLUMN turnstile.claimed_job.session IS 'The session. NULL: none.';
COMMENT ON COLUMN turnstile.claimed_job.max_attempts IS
    'The number of the last attempt, with uncounted attempts added.';
COMMENT ON COLUMN turnstile.claimed_job.lease_expires_at IS
    'When the run is failed unless it has ended or sent a heartbeat.';
COMMENT ON COLUMN turnstile.claimed_job.created_at IS 'When the job was enqueued.';
COMMENT ON COLUMN turnstile.claimed_job.metadata IS 'What the producer passed as metadata.';

CREATE FUNCTION turnstile.enqueue(
    kind text,
    payload jsonb DEFAULT '{}',
    queue text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    priority int DEFAULT 0,
    run_at timestamptz DEFAULT NULL,
    max_attempts int DEFAULT NULL,
    unique_key text DEFAULT NULL,
    unique_mode text DEFAULT 'until_executed',
    unique_for interval DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    unique_by text[] DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_enqueue';
COMMENT ON FUNCTION turnstile.enqueue(text, jsonb, text, text, text, text, text, int, timestamptz, int, text, text, interval, jsonb, text[]) IS
    'Adds a job and returns its id. The job can be claimed once the transaction commits.
kind: what sort of job it is. Workers and routes decide by it. 1 to 255 bytes, like every name.
payload: what the worker needs to know. At most turnstile.max_payload.
queue: where the job waits. NULL: the queue that a route gives the kind, else default.
tenant: the customer that the job belongs to. Limits, fair shares, permissions and unique keys go by tenant.
account: a part of the tenant with limits of its own.
session: jobs of one queue, tenant and session run one at a time, in order.
concurrency_key: jobs that share the key share its limits, over all queues and tenants.
priority: lower runs first.
run_at: not before this time. NULL: now.
max_attempts: how many attempts may fail before the job is discarded. NULL: the setting of the queue.
unique_key: while another job of the tenant holds the key, no job is added and the id of that job is returned.
unique_mode: how long a job holds its key: until_executing, until_executed, until_expired, while_executing, until_and_while_executing, or replace.
unique_for: ends the hold so long after the enqueue, at most 1000 years. until_expired needs it.
metadata: anything that the application wants to keep with the job. At most turnstile.max_payload.
unique_by: makes the key from these columns: kind, payload, queue, tenant, account, session, concurrency_key. Excludes unique_key.
Errors: 22004; 22023; 54000; 42501; 53400 the backlog of the queue or tenant is full (max_waiting); 09000 a trigger has cancelled the insertion; 25006.';

CREATE FUNCTION turnstile.enqueue_many(jobs jsonb) RETURNS TABLE (ord int, id bigint, created boolean)
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_enqueue_many';
COMMENT ON FUNCTION turnstile.enqueue_many(jsonb) IS
    'Adds the jobs of an array, all or none.
jobs: an array of objects, at most 100,000. Their keys are the arguments of enqueue.
Returns: a row for each element in order, ord from 1. created is false where id is that of the job that holds the unique key.
Errors: as enqueue, naming the element; 54000 more than 100,000 elements.';

CREATE FUNCTION turnstile.claim_next(
    queue text DEFAULT 'default',
    worker text DEFAULT NULL,
    lease interval DEFAULT NULL,
    bind_to_connection boolean DEFAULT false,
    wait interval DEFAULT NULL
) RETURNS SETOF turnstile.claimed_job
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_claim_next';
COMMENT ON FUNCTION turnstile.claim_next(text, text, interval, boolean, interval) IS
    'Claims the eligible job of a queue with the least (priority, position). Returns that job, or no row.
queue: * stands for all queues that the caller may work on.
worker: a name for the worker, kept in job.worker.
lease: how long the run counts as alive without a heartbeat. More than 0, at most 100 years. NULL: the setting of the queue.
bind_to_connection: the run fails with the error "connection lost" as soon as the backend of this connection is gone.
wait: sleeps up to this long until there is a job. The snapshot of the statement stays open meanwhile; wait_for_job avoids that.
Errors: 22004; 22023; 54000; 42501; 0A000 in a SERIALIZABLE transaction; 55000 the transaction has rewritten a table of the extension; 25006.';

CREATE FUNCTION turnstile.claim(
    queues text[],
    max_jobs int DEFAULT 1,
    worker text DEFAULT NULL,
    lease interval DEFAULT NULL,
    bind_to_connection boolean DEFAULT false,
    wait interval DEFAULT NULL
) RETURNS SETOF turnstile.claimed_job
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_claim';
COMMENT ON FUNCTION turnstile.claim(text[], int, text, interval, boolean, interval) IS
    'Claims up to max_jobs jobs: those that as many calls of claim_next would return.
queues: claimed from in the order given, at most 1,000. * stands for all queues that the caller may work on, by (priority, position).
max_jobs: 0 or more.
worker: as for claim_next.
lease: as for claim_next.
bind_to_connection: as for claim_next.
wait: sleeps up to this long until there is at least one job. At most 32 queues can be waited for.
Errors: as claim_next; 54000 too many queues.';

CREATE FUNCTION turnstile.complete(job_id bigint, attempt int, result jsonb DEFAULT NULL) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_complete';
COMMENT ON FUNCTION turnstile.complete(bigint, int, jsonb) IS
    'Ends a run with success. Returns true, or false if this run was completed before.
job_id: with attempt, the run.
attempt: as the claim returned it.
result: anything to keep with the finished job. At most turnstile.max_payload.
Errors: 22004; 54000; P0002; 55000 the run was superseded; 42501; 09000 a trigger has cancelled the deletion; 25006.';

CREATE FUNCTION turnstile.complete_many(job_ids bigint[], attempts int[]) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_complete_many';
COMMENT ON FUNCTION turnstile.complete_many(bigint[], int[]) IS
    'Ends many runs with success and returns how many took effect. Superseded and repeated ones are left alone and not counted.
job_ids: at most 100,000.
attempts: one for each job id.
Errors: 22004; 22023 the arrays differ in length; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.complete_and_claim_next(
    job_id bigint,
    attempt int,
    result jsonb DEFAULT NULL,
    queue text DEFAULT NULL,
    worker text DEFAULT NULL,
    lease interval DEFAULT NULL,
    bind_to_connection boolean DEFAULT false,
    wait interval DEFAULT NULL
) RETURNS SETOF turnstile.claimed_job
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_complete_and_claim_next';
COMMENT ON FUNCTION turnstile.complete_and_claim_next(bigint, int, jsonb, text, text, interval, boolean, interval) IS
    'Does complete and claim_next in one transaction. The next job may use the slot that the finished one frees.
job_id: as for complete.
attempt: as for complete.
result: as for complete.
queue: where to claim. NULL: the queue of the finished job.
worker: as for claim_next.
lease: as for claim_next.
bind_to_connection: as for claim_next.
wait: as for claim_next. No other session sees the completion before the call ends, so keep it short where others wait for the slot.
Errors: as complete and claim_next.';

CREATE FUNCTION turnstile.fail(
    job_id bigint,
    attempt int,
    error text DEFAULT NULL,
    retry_in interval DEFAULT NULL,
    discard boolean DEFAULT false
) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_fail';
COMMENT ON FUNCTION turnstile.fail(bigint, int, text, interval, boolean) IS
    'Ends a run with failure and returns the new state of the job: retryable if another attempt follows, discarded if not, cancelled if its cancellation was requested.
job_id: as for complete.
attempt: as for complete.
error: kept in job.errors; cut after 4,000 characters.
retry_in: when the next attempt is due, at most 100 years from now. NULL: after counted attempt n, n^4 times queue.retry_base, at most queue.retry_cap, plus up to 10 %.
discard: no other attempt follows, even if some are left.
Errors: 22004; 22023; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.release(job_id bigint, attempt int) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_release';
COMMENT ON FUNCTION turnstile.release(bigint, int) IS
    'Gives back a run that was not started, and returns true. The attempt does not count, but its number is not used again.
job_id: as for complete.
attempt: as for complete.
Errors: 22004; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.check() RETURNS TABLE (problem text, detail text)
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_check';
COMMENT ON FUNCTION turnstile.check() IS
    'Compares the memory of the scheduler with the tables (lanes, heads, counts, limits, structure).
Returns: a row for each difference. No row: all is well.
It blocks no other session and reads all live jobs. A NOTICE says why rows are not changed directly, where that is so.
Errors: 42501; 25006.';

CREATE FUNCTION turnstile.rebuild() RETURNS void
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_rebuild';
COMMENT ON FUNCTION turnstile.rebuild() IS
    'Rebuilds the memory of the scheduler from the tables. Producers and the ends of runs go on; claims wait. The first claim does it where it is needed.
Errors: 42501; 25006.';
