-- What a worker calls to get jobs.

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
    metadata jsonb,
    children jsonb,
    attempts_left int,
    first_started_at timestamptz
);
COMMENT ON TYPE turnstile.claimed_job IS 'A claimed job. (id, attempt) names the run.';
COMMENT ON COLUMN turnstile.claimed_job.id IS
    'With attempt, the run: both go to complete, fail, heartbeat and the like.';
COMMENT ON COLUMN turnstile.claimed_job.attempt IS 'Claims of the job so far.';
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
COMMENT ON COLUMN turnstile.claimed_job.children IS
    'How the children of the job ended: {completed, discarded, cancelled}. NULL: it had none.';
COMMENT ON COLUMN turnstile.claimed_job.attempts_left IS
    'How many attempts may follow if this one fails. 0: the last one.';
COMMENT ON COLUMN turnstile.claimed_job.first_started_at IS
    'When the job was first claimed, over all attempts. NULL: before 0.2.0.';

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
wait: sleeps up to this long until there is a job. A call that has looked after other jobs in passing may return no row sooner: commit and claim again. The snapshot of the statement stays open meanwhile; wait_for_job avoids that.
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

CREATE FUNCTION turnstile.claim_own(queues text[] DEFAULT '{*}', max_jobs int DEFAULT 1, worker text DEFAULT NULL)
    RETURNS SETOF turnstile.claimed_job
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_claim_own';
COMMENT ON FUNCTION turnstile.claim_own(text[], int, text) IS
    'For tests: claims up to max_jobs jobs that the open transaction itself has made available and not committed, by (priority, position), past all limits, rates, pauses and sessions that are busy. Jobs that waited for others which have ended in the transaction are among them. Other transactions notice nothing. The runs have no lease. Roll back in the end; a commit is refused (55000) while one of them runs.
queues: only jobs of these queues. * stands for all queues that the caller may work on.
max_jobs: 0 or more.
worker: a name for the worker, kept in job.worker.
Errors: 22004; 22023; 54000; 42501; 55000 the transaction has claimed committed jobs; after claim_own it cannot; 25006.';
