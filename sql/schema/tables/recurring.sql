-- Recurring jobs: what each enqueues, and when. A dump carries it.

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
    unique_mode text,
    unique_for interval,
    metadata jsonb,
    last_firing timestamptz,
    last_job_id bigint,
    owner name NOT NULL DEFAULT current_user,
    unique_by text[],
    time_zone text,
    catch_up text NOT NULL DEFAULT 'once',
    next_firing timestamptz,
    paused_until timestamptz,
    retry_at timestamptz,
    last_error text,
    last_error_at timestamptz,
    unique_states text[],
    CONSTRAINT recurring_pkey PRIMARY KEY (name),
    CONSTRAINT recurring_name_check CHECK (name <> '' AND octet_length(name) <= 255),
    CONSTRAINT recurring_catch_up_check CHECK (catch_up IN ('skip', 'once', 'all'))
);
CREATE INDEX recurring_due_idx ON turnstile.recurring (greatest(coalesce(next_firing, '-infinity'), paused_until, retry_at), name);
COMMENT ON TABLE turnstile.recurring IS 'Recurring jobs, as schedule() has set them up.';
COMMENT ON COLUMN turnstile.recurring.name IS 'Names the recurring job.';
COMMENT ON COLUMN turnstile.recurring.cron IS
    'When: minute, hour, day of month, month, day of week; or @hourly, @daily, @weekly, @monthly, @yearly.';
COMMENT ON COLUMN turnstile.recurring.unique_for IS 'Ends the hold of the unique key so long after the enqueue. NULL: by the mode alone.';
COMMENT ON COLUMN turnstile.recurring.last_firing IS 'The last firing that enqueued a job: the time at which it was due.';
COMMENT ON COLUMN turnstile.recurring.last_job_id IS 'The job of the last firing.';
COMMENT ON COLUMN turnstile.recurring.owner IS
    'The role that has set it up. Its rights decide whether a firing may enqueue; it, its members and superusers may replace and unschedule it.';
COMMENT ON COLUMN turnstile.recurring.unique_by IS 'Makes the unique key from these columns.';
COMMENT ON COLUMN turnstile.recurring.time_zone IS 'The time zone of the schedule, by its name. NULL: UTC.';
COMMENT ON COLUMN turnstile.recurring.catch_up IS
    'What becomes of firings that were missed: skip, once (one for all of them), all.';
COMMENT ON COLUMN turnstile.recurring.next_firing IS
    'The first firing that was not made yet. NULL: the server has not looked at it yet. infinity: the schedule cannot be read.';
COMMENT ON COLUMN turnstile.recurring.paused_until IS 'It does not fire before this time. infinity: before resume_recurring().';
COMMENT ON COLUMN turnstile.recurring.retry_at IS 'It does not fire before this time: a firing met a lock or the like, or there were so many that others come first.';
COMMENT ON COLUMN turnstile.recurring.last_error IS 'Why the last firing failed. NULL: it did not.';
COMMENT ON COLUMN turnstile.recurring.last_error_at IS 'When the last firing failed.';
COMMENT ON COLUMN turnstile.recurring.unique_states IS 'The states in which a job holds the unique key. NULL: as unique_mode says.';
SELECT pg_catalog.pg_extension_config_dump('turnstile.recurring', '');

-- Tells the process that fires them when the rows have changed.
CREATE FUNCTION turnstile_internal.recurring_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_recurring_changed';
COMMENT ON FUNCTION turnstile_internal.recurring_changed() IS
    'Trigger on turnstile.recurring: has the server look at it once the change is committed.';

CREATE TRIGGER publish_recurring AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.recurring
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.recurring_changed();
ALTER TABLE turnstile.recurring ENABLE ALWAYS TRIGGER publish_recurring;
