-- The functions that producers and workers call. None is SECURITY DEFINER: each knows its caller, checks what he may do
-- (turnstile.permission), and then switches to its owner's rights by itself (src/pg/rights.rs).

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
COMMENT ON TYPE turnstile.claimed_job IS
    'A job that was handed to a worker; (id, attempt) names the run. attempt = max_attempts: the last one.';

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
    'Adds a job and returns its id; it can be claimed once the transaction commits. queue NULL, left out: the one that turnstile.route gives the kind, else default. run_at NULL: now; max_attempts NULL: the queue''s setting. unique_key, within the tenant: while another job holds the key, which unique_mode and unique_for decide, that one''s id is returned instead (see docs/unique.md). unique_by makes the key from the named columns: kind, payload, queue, tenant, account, session, concurrency_key. Errors: 22004 a NULL where a value is needed, 22023 a bad value, 54000 a name over 255 bytes or a payload or metadata over turnstile.max_payload, 09000 a trigger has cancelled the insertion, 25006 on a standby.';

CREATE FUNCTION turnstile.enqueue_many(jobs jsonb) RETURNS TABLE (ord int, id bigint, created boolean)
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_enqueue_many';
COMMENT ON FUNCTION turnstile.enqueue_many(jsonb) IS
    'Adds the jobs of an array of objects whose keys are the arguments of enqueue; all or none. Returns a row a job, in order, ord from 1; created is false where id is that of the job that holds the unique key. Errors: as enqueue, naming the element; 54000 more than 100,000 elements.';

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
    'Hands out the eligible job of the queue with the least (priority, position), or no row. queue *: of all queues. lease NULL: the queue''s setting. bind_to_connection: the run fails with error "connection lost" as soon as this connection''s backend has gone. wait: sleeps for so long until there is one; the snapshot of the statement stays open meanwhile, which wait_for_job avoids. Errors: 22004, 22023, 54000, 25006.';

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
    'Hands out up to max_jobs jobs, the queues in the order given; * stands for all queues, by (priority, position): what as many calls of claim_next would. lease and bind_to_connection as there. wait: sleeps for so long until there is at least one, with a snapshot open; 54000 for more than 32 queues, and for more than 1,000 in any case. Errors: 22004, 22023, 54000, 25006.';

CREATE FUNCTION turnstile.complete(job_id bigint, attempt int, result jsonb DEFAULT NULL) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_complete';
COMMENT ON FUNCTION turnstile.complete(bigint, int, jsonb) IS
    'Finishes a run with success. True: done; false: this run was completed before. Errors: 22004, 54000 a result over turnstile.max_payload, P0002 no such job, 55000 the run was superseded, 09000 a trigger has cancelled the deletion, 25006.';

CREATE FUNCTION turnstile.complete_many(job_ids bigint[], attempts int[]) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_complete_many';
COMMENT ON FUNCTION turnstile.complete_many(bigint[], int[]) IS
    'Finishes many runs with success and returns how many took effect: superseded and repeated ones are left alone and not counted. Errors: 22004, 22023 arrays of different length, 54000 more than 100,000 elements, 09000 as complete, 25006.';

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
    'complete and claim_next in one transaction; the next job may use the slot that the finished one frees. queue NULL: that of the finished job. wait: as claim_next; nobody sees the completion before the call ends, so keep it short where others wait for the slot. Errors: as complete and claim_next.';

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
    'Finishes a run with failure; returns the new state. retryable: another attempt follows after retry_in, or n^4 times queue.retry_base (at most queue.retry_cap) plus up to 10 % after counted attempt n; discarded: no attempts are left or discard was asked for. Errors: 22004, 22023, P0002, 55000, 25006.';

CREATE FUNCTION turnstile.release(job_id bigint, attempt int) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_release';
COMMENT ON FUNCTION turnstile.release(bigint, int) IS
    'Gives a run back that was not started after all; true. The attempt does not count, but its number is not used again: (id, attempt) never names two runs. Errors: 22004, P0002, 55000, 25006.';

CREATE FUNCTION turnstile.check() RETURNS TABLE (problem text, detail text)
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_check';
COMMENT ON FUNCTION turnstile.check() IS
    'Compares the scheduler''s memory with the tables (lanes, heads, held counts, limits, structure) and lists every difference; no row: all is well. Stops nobody; reads all live jobs. Errors: 25006 on a standby.';

CREATE FUNCTION turnstile.rebuild() RETURNS void
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_rebuild';
COMMENT ON FUNCTION turnstile.rebuild() IS
    'Rebuilds the scheduler''s memory from the tables. Producers and finishers go on, claims wait. It happens by itself where it is needed. Errors: 25006 on a standby.';
