-- Recurring jobs: what each enqueues. A dump carries it. pg_cron knows when.

CREATE TABLE turnstile.recurring (
    name text NOT NULL,
    cron text NOT NULL,
    kind text NOT NULL,
    payload jsonb NOT NULL DEFAULT '{}',
    queue text,
    tenant text,
    account text,
    session text,
    concurrency_key text,
    priority int NOT NULL DEFAULT 0,
    max_attempts int,
    unique_key text,
    unique_mode text NOT NULL DEFAULT 'until_executed',
    unique_for interval,
    metadata jsonb,
    last_firing timestamptz,
    last_job_id bigint,
    owner name NOT NULL DEFAULT current_user,
    cron_entry text NOT NULL GENERATED ALWAYS AS ('turnstile recurring ' || md5(name)) STORED,
    CONSTRAINT recurring_pkey PRIMARY KEY (name),
    CONSTRAINT recurring_name_check CHECK (name <> '' AND octet_length(name) <= 255)
);
COMMENT ON TABLE turnstile.recurring IS 'Recurring jobs, as schedule() has set them up.';
COMMENT ON COLUMN turnstile.recurring.name IS 'Names the recurring job.';
COMMENT ON COLUMN turnstile.recurring.cron IS
    'When, as pg_cron writes it: minute, hour, day of month, month, day of week.';
COMMENT ON COLUMN turnstile.recurring.unique_for IS 'Ends the hold of the unique key so long after the enqueue. NULL: by the mode alone.';
COMMENT ON COLUMN turnstile.recurring.last_firing IS
    'The minute of the last firing that enqueued a job. No firing enqueues twice in a minute.';
COMMENT ON COLUMN turnstile.recurring.last_job_id IS 'The job of the last firing.';
COMMENT ON COLUMN turnstile.recurring.owner IS
    'The role that has set it up. Its rights decide whether a firing may enqueue; it, its members and superusers may replace and unschedule it.';
COMMENT ON COLUMN turnstile.recurring.cron_entry IS
    'The name of its entry in cron.job, where a name has 63 bytes at most.';
SELECT pg_catalog.pg_extension_config_dump('turnstile.recurring', '');
