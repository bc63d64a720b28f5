-- Live jobs. The trigger reads the first twelve columns by number (src/row.rs).

CREATE SEQUENCE turnstile.job_id_seq;
CREATE SEQUENCE turnstile.job_position_seq;

CREATE TABLE turnstile.job (
    id bigint NOT NULL DEFAULT nextval('turnstile.job_id_seq'),
    lane bigint NOT NULL GENERATED ALWAYS AS (
        turnstile.lane_key(queue, tenant, account, CASE WHEN NOT holds_session THEN session END, concurrency_key, priority)
    ) STORED,
    position bigint NOT NULL DEFAULT nextval('turnstile.job_position_seq'),
    priority int NOT NULL DEFAULT 0,
    run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    state text NOT NULL DEFAULT 'available',
    holds_session boolean NOT NULL DEFAULT false,
    queue text NOT NULL DEFAULT 'default',
    tenant text,
    account text,
    session text,
    concurrency_key text,
    attempt int NOT NULL DEFAULT 0,
    max_attempts int NOT NULL DEFAULT 25,
    kind text NOT NULL,
    payload jsonb NOT NULL DEFAULT '{}',
    worker text,
    claimed_at timestamptz,
    lease_expires_at timestamptz,
    cancel_requested_at timestamptz,
    progress jsonb,
    errors jsonb,
    metadata jsonb,
    unique_key text,
    unique_mode text,
    unique_until timestamptz,
    batch_id bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT job_pkey PRIMARY KEY (id),
    CONSTRAINT job_state_check CHECK (state IN ('available', 'scheduled', 'running', 'retryable')),
    CONSTRAINT job_queue_check CHECK (queue <> '' AND octet_length(queue) <= 255),
    CONSTRAINT job_kind_check CHECK (kind <> '' AND octet_length(kind) <= 255),
    CONSTRAINT job_tenant_check CHECK (tenant <> '' AND octet_length(tenant) <= 255),
    CONSTRAINT job_account_check CHECK (account <> '' AND octet_length(account) <= 255),
    CONSTRAINT job_session_check CHECK (session <> '' AND octet_length(session) <= 255),
    CONSTRAINT job_concurrency_key_check CHECK (concurrency_key <> '' AND octet_length(concurrency_key) <= 255),
    CONSTRAINT job_attempt_check CHECK (attempt >= 0),
    CONSTRAINT job_max_attempts_check CHECK (max_attempts >= 1)
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
COMMENT ON COLUMN turnstile.job.lane IS 'Jobs that share queue, tenant, account, session, concurrency key and priority.';
COMMENT ON COLUMN turnstile.job.position IS 'Order within the lane and, for equal priority, within the queue.';
COMMENT ON COLUMN turnstile.job.priority IS 'Lower runs first.';
COMMENT ON COLUMN turnstile.job.run_at IS 'Not before; a job whose time is ahead is scheduled or retryable.';
COMMENT ON COLUMN turnstile.job.state IS 'available, scheduled (run_at ahead), running, or retryable (failed, waiting to try again).';
COMMENT ON COLUMN turnstile.job.holds_session IS 'Failed under session_on_retry = hold: no other job of its session starts before it ends.';
COMMENT ON COLUMN turnstile.job.attempt IS 'Claims so far; with the id it names one run.';
COMMENT ON COLUMN turnstile.job.max_attempts IS 'After this attempt fails the job is discarded; release adds one, so that the released attempt does not count.';
COMMENT ON COLUMN turnstile.job.errors IS 'Failed attempts: array of {attempt, at, worker, error}.';

CREATE INDEX job_claim_idx ON turnstile.job (lane, position) WHERE state = 'available';
CREATE INDEX job_due_idx ON turnstile.job (run_at, position) WHERE state IN ('scheduled', 'retryable');

SELECT pg_catalog.pg_extension_config_dump('turnstile.job', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.job_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.job_position_seq', '');
