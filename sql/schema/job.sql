-- Live jobs. The trigger reads the first nineteen columns by number (src/job/row.rs).
--
-- The trigger also refuses nonsense, with 23514 as a CHECK would: the server parses the text of every
-- CHECK and of every trigger's WHEN anew for each statement, which cost more than the rest of a claim.

CREATE SEQUENCE turnstile.job_id_seq;
-- A claim looks for positions below a bound, so the last of all numbers is none.
CREATE SEQUENCE turnstile.job_position_seq MAXVALUE 9223372036854775806;

CREATE TABLE turnstile.job (
    id bigint NOT NULL DEFAULT nextval('turnstile.job_id_seq'),
    lane bigint NOT NULL,
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
    -- Room for the entry of a claim beside that of its job.
    CONSTRAINT job_pkey PRIMARY KEY (id) WITH (fillfactor = 50)
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_vacuum_cost_delay = 0
);
ALTER SEQUENCE turnstile.job_id_seq OWNED BY turnstile.job.id;
ALTER SEQUENCE turnstile.job_position_seq OWNED BY turnstile.job.position;

COMMENT ON TABLE turnstile.job IS
    'Live jobs. Any DML is safe: INSERT and COPY enqueue, UPDATE re-ranks, DELETE frees the slot.';
COMMENT ON COLUMN turnstile.job.lane IS
    'Jobs that share queue, tenant, account, session, concurrency key, unique key (where its mode lets one run at a time) and priority: a stable 64-bit hash, set by a trigger. A job that holds its session waits for it no more.';
COMMENT ON COLUMN turnstile.job.position IS 'Order within the lane and, for equal priority, within the queue.';
COMMENT ON COLUMN turnstile.job.priority IS 'Lower runs first.';
COMMENT ON COLUMN turnstile.job.run_at IS 'Not before; a job whose time is ahead is scheduled or retryable.';
COMMENT ON COLUMN turnstile.job.state IS 'available, scheduled (run_at ahead), running, or retryable (failed, waiting to try again).';
COMMENT ON COLUMN turnstile.job.holds_session IS 'Failed under session_on_retry = hold: no other job of its session starts before it ends. A job that is moved to another session holds that one not.';
COMMENT ON COLUMN turnstile.job.unique_key IS 'Within the tenant; enqueue keeps duplicates out, an INSERT does not.';
COMMENT ON COLUMN turnstile.job.unique_mode IS 'How long the job holds its key; see docs/unique.md.';
COMMENT ON COLUMN turnstile.job.unique_until IS 'When the job ceases to hold its key, whatever its state.';
COMMENT ON COLUMN turnstile.job.attempt IS 'Claims so far; with the id it names one run.';
COMMENT ON COLUMN turnstile.job.max_attempts IS 'Attempts that may fail, the uncounted ones aside; after the last the job is discarded.';
COMMENT ON COLUMN turnstile.job.uncounted IS 'Attempts that were released: attempt never goes back, so that (id, attempt) never names two runs.';
COMMENT ON COLUMN turnstile.job.owner_pid IS 'The backend that a run is bound to: with its start time, as a pid is used again. NULL: bound to none.';
COMMENT ON COLUMN turnstile.job.lease_expires_at IS 'Until when a run counts as alive without another heartbeat. NULL: for ever.';
COMMENT ON COLUMN turnstile.job.errors IS
    'Failed attempts: array of {attempt, at, worker, error}, the last 1,000; an error is cut after 4,000 characters.';

CREATE INDEX job_claim_idx ON turnstile.job (lane, position) WHERE state = 'available';
CREATE INDEX job_due_idx ON turnstile.job (run_at, position) WHERE state IN ('scheduled', 'retryable');
CREATE INDEX job_lease_idx ON turnstile.job (lease_expires_at) WHERE state = 'running';
CREATE INDEX job_owner_idx ON turnstile.job (owner_pid) WHERE state = 'running' AND owner_pid IS NOT NULL;

SELECT pg_catalog.pg_extension_config_dump('turnstile.job', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.job_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.job_position_seq', '');
