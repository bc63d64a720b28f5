-- The end of a run with success.

CREATE FUNCTION turnstile.complete(job_id bigint, attempt int, result jsonb DEFAULT NULL) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_complete';
COMMENT ON FUNCTION turnstile.complete(bigint, int, jsonb) IS
    'Ends a run with success. Returns true, or false if this run was completed before. If its queue keeps no completed jobs (queue.keep_completed of 0), the job is gone then, and another call gets P0002.
job_id: with attempt, the run.
attempt: as the claim returned it.
result: anything to keep with the finished job, if its queue keeps completed jobs. At most turnstile.max_payload, as jsonb and with all digits of its numbers.
Errors: 22004; 54000; P0002; 55000 the run was superseded; 42501; 09000 a trigger has cancelled the deletion; 25006.';

CREATE FUNCTION turnstile.complete_many(job_ids bigint[], attempts int[], results jsonb[] DEFAULT NULL) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_complete_many';
COMMENT ON FUNCTION turnstile.complete_many(bigint[], int[], jsonb[]) IS
    'Ends many runs with success and returns how many took effect. Superseded and repeated ones are left alone and not counted.
job_ids: at most 100,000.
attempts: one for each job id.
results: one for each job id, as result of complete. NULL, and an element that is NULL: none.
Errors: 22004; 22023 arrays that differ in length; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.complete_and_claim_next(
    job_id bigint,
    attempt int,
    result jsonb DEFAULT NULL,
    queue text DEFAULT NULL,
    worker text DEFAULT NULL,
    lease interval DEFAULT NULL,
    bind_to_connection boolean DEFAULT NULL,
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
worker: as for claim_next. NULL: that of the run that ends.
lease: as for claim_next. NULL: what the claim of the run that ends asked for, else the setting of the queue.
bind_to_connection: as for claim_next. NULL: if the run that ends was bound to this connection.
wait: as for claim_next. No other session sees the completion before the call ends, so keep it short where others wait for the slot.
Errors: as complete and claim_next.';

CREATE FUNCTION turnstile.complete_and_claim(
    job_ids bigint[],
    attempts int[],
    queues text[],
    max_jobs int DEFAULT 1,
    worker text DEFAULT NULL,
    lease interval DEFAULT NULL,
    bind_to_connection boolean DEFAULT NULL,
    wait interval DEFAULT NULL,
    results jsonb[] DEFAULT NULL
) RETURNS SETOF turnstile.claimed_job
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_complete_and_claim';
COMMENT ON FUNCTION turnstile.complete_and_claim(bigint[], int[], text[], int, text, interval, boolean, interval, jsonb[]) IS
    'Does complete_many and claim in one transaction. The next jobs may use the slots that the finished ones free. A NOTICE says how many runs were left alone because they were superseded, had ended before or are not the caller''s to end.
job_ids: as for complete_many.
attempts: as for complete_many.
queues: as for claim.
max_jobs: as for claim.
worker: as for complete_and_claim_next, by the first of the runs that the call completes, in the order of their ids.
lease: likewise.
bind_to_connection: likewise.
wait: as for complete_and_claim_next.
results: as for complete_many.
Errors: as complete_many and claim.';
