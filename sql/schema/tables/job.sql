-- Live jobs. The trigger reads the first twenty columns by number (src/job/column.rs), and later ones by name (src/job/later.rs).
--
-- The trigger also checks the values, with 23514 like a CHECK: the server parses the text of every CHECK and of
-- every trigger's WHEN anew for each statement, which cost more than the rest of a claim.

CREATE SEQUENCE turnstile.job_id_seq;
-- A claim looks for positions below a bound, so the largest number cannot be a position.
CREATE SEQUENCE turnstile.job_position_seq MAXVALUE 9223372036854775806;

CREATE TABLE turnstile.job (
    id bigint NOT NULL DEFAULT nextval('turnstile.job_id_seq'),
    lane bigint NOT NULL,
    lane_group bigint NOT NULL,
    position bigint NOT NULL DEFAULT nextval('turnstile.job_position_seq'),
    priority int NOT NULL DEFAULT 0,
    run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_expires_at timestamptz,
    state text NOT NULL DEFAULT 'available',
    holds_session boolean NOT NULL DEFAULT false,
    queue text NOT NULL DEFAULT 'default',
    tenant text,
    account text,
    session text,
    concurrency_key text,
    unique_key text,
    unique_mode text,
    kind text NOT NULL,
    attempt int NOT NULL DEFAULT 0,
    max_attempts int NOT NULL DEFAULT 25,
    uncounted int NOT NULL DEFAULT 0,
    payload jsonb NOT NULL DEFAULT '{}',
    worker text,
    owner_pid int,
    owner_started_at timestamptz,
    claimed_at timestamptz,
    cancel_requested_at timestamptz,
    progress jsonb,
    errors jsonb,
    metadata jsonb,
    unique_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT job_pkey PRIMARY KEY (id)
) WITH (
    -- Leaves room beside each job for the version of its claim, which is longer: so no index gets an entry.
    fillfactor = 45,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_vacuum_cost_delay = 0
);
ALTER SEQUENCE turnstile.job_id_seq OWNED BY turnstile.job.id;
ALTER SEQUENCE turnstile.job_position_seq OWNED BY turnstile.job.position;

COMMENT ON TABLE turnstile.job IS
    'Live jobs. INSERT and COPY enqueue, UPDATE changes the order or moves a job, DELETE frees the slot; the row triggers tell the scheduler. Finished jobs are in job_history.';
COMMENT ON COLUMN turnstile.job.id IS 'Names the job, in history too.';
COMMENT ON COLUMN turnstile.job.lane IS
    'The jobs that share queue, tenant, account, session, concurrency key, unique key (where its mode lets one run at a time) and priority: a stable 64-bit hash, set by a trigger. A job that holds its session is in a lane without the session.';
COMMENT ON COLUMN turnstile.job.lane_group IS
    'The upper half of a stable hash of the queue, and the lower half of one of the tenant (0: none), set by a trigger. Jobs of one queue have one range of numbers, those of one queue and tenant one number. Others may have it, too.';
COMMENT ON COLUMN turnstile.job.position IS
    'Order within the lane and, at equal priority, within the queue. From a sequence.';
COMMENT ON COLUMN turnstile.job.priority IS 'Lower runs first.';
COMMENT ON COLUMN turnstile.job.run_at IS 'Not before this time. A job with run_at ahead is scheduled or retryable.';
COMMENT ON COLUMN turnstile.job.lease_expires_at IS
    'Until when a run counts as alive without another heartbeat. NULL: forever.';
COMMENT ON COLUMN turnstile.job.state IS
    'available, scheduled (run_at ahead), running, retryable (failed, waits for another attempt), or blocked (waits for its children, or for the jobs that it comes after). In job_history: completed, cancelled or discarded.';
COMMENT ON COLUMN turnstile.job.holds_session IS
    'The job failed under session_on_retry = hold: no other job of its session starts before it ends. A job that is moved to another session does not hold that one.';
COMMENT ON COLUMN turnstile.job.queue IS 'The queue that the job waits in.';
COMMENT ON COLUMN turnstile.job.tenant IS 'The tenant. NULL: none.';
COMMENT ON COLUMN turnstile.job.account IS 'The account within the tenant. NULL: none.';
COMMENT ON COLUMN turnstile.job.session IS
    'Jobs of one queue, tenant and session run one at a time, in order. NULL: no session.';
COMMENT ON COLUMN turnstile.job.concurrency_key IS 'Jobs with the same key share its limits. NULL: none.';
COMMENT ON COLUMN turnstile.job.unique_key IS
    'The unique key within the tenant. enqueue refuses duplicates; INSERT does not. NULL: none.';
COMMENT ON COLUMN turnstile.job.unique_mode IS
    'How long the job holds its unique key: until_executing, until_executed, until_expired, while_executing, until_and_while_executing or replace. NULL: it has none, or unique_states says it.';
COMMENT ON COLUMN turnstile.job.kind IS 'What sort of job it is.';
COMMENT ON COLUMN turnstile.job.attempt IS 'Claims so far. With the id it names one run.';
COMMENT ON COLUMN turnstile.job.max_attempts IS
    'How many attempts may fail, without the uncounted ones. After the last the job is discarded.';
COMMENT ON COLUMN turnstile.job.uncounted IS
    'Attempts that do not count: released, snoozed, or made before the job was brought back. attempt never goes back, so that (id, attempt) never names two runs.';
COMMENT ON COLUMN turnstile.job.payload IS 'What the producer passed.';
COMMENT ON COLUMN turnstile.job.worker IS 'The name that the worker gave with its last claim.';
COMMENT ON COLUMN turnstile.job.owner_pid IS 'The process id of the backend that the run is bound to. NULL: none.';
COMMENT ON COLUMN turnstile.job.owner_started_at IS 'When that backend started, as process ids are used again.';
COMMENT ON COLUMN turnstile.job.claimed_at IS 'When the last run was claimed.';
COMMENT ON COLUMN turnstile.job.cancel_requested_at IS 'When the cancellation of the run was requested.';
COMMENT ON COLUMN turnstile.job.progress IS 'What the run last passed to progress: {done, total, message, at}.';
COMMENT ON COLUMN turnstile.job.errors IS 'Failed attempts: an array of {attempt, at, worker, error}, with class where the worker named one; the last 1,000.';
COMMENT ON COLUMN turnstile.job.metadata IS 'What the producer passed as metadata.';
COMMENT ON COLUMN turnstile.job.unique_until IS
    'When the job ceases to hold its unique key, whatever its state. NULL: by its mode alone.';
COMMENT ON COLUMN turnstile.job.created_at IS 'When the job was enqueued.';

CREATE INDEX job_owner_idx ON turnstile.job (owner_pid) WHERE owner_pid IS NOT NULL;

SELECT pg_catalog.pg_extension_config_dump('turnstile.job', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.job_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.job_position_seq', '');
