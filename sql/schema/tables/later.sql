-- Columns that came with a later release, in the order in which an upgrade adds them: behind all others. They have other numbers
-- where users have added columns before.

ALTER TABLE turnstile.job
    ADD COLUMN parent bigint,
    ADD COLUMN opens_batch boolean,
    ADD COLUMN children jsonb,
    ADD COLUMN has_followers boolean,
    ADD COLUMN lease interval,
    ADD COLUMN unique_states text[],
    ADD COLUMN first_started_at timestamptz,
    ADD COLUMN waited interval,
    ADD COLUMN claim_epoch int,
    ADD COLUMN waits_for text;
ALTER TABLE turnstile.job_history
    ADD COLUMN parent bigint,
    ADD COLUMN opens_batch boolean,
    ADD COLUMN children jsonb,
    ADD COLUMN has_followers boolean,
    ADD COLUMN lease interval,
    ADD COLUMN unique_states text[],
    ADD COLUMN first_started_at timestamptz,
    ADD COLUMN waited interval,
    ADD COLUMN claim_epoch int;
COMMENT ON COLUMN turnstile.job.parent IS
    'The job that waits for this one. It names the batch whose limits the job shares. NULL: none.';
COMMENT ON COLUMN turnstile.job.opens_batch IS
    'Its children wait for its turn: when it is claimed it becomes blocked, and they may start. NULL: no.';
COMMENT ON COLUMN turnstile.job.children IS
    'How its children ended, once none was live: {completed, discarded, cancelled}. {}: others were added since, and all are counted when it starts again. NULL: it had none, or they live.';
COMMENT ON COLUMN turnstile.job.has_followers IS 'Jobs come after it (turnstile.dependency). NULL: none that is known.';
COMMENT ON COLUMN turnstile.job.lease IS 'The lease that the last claim asked for. NULL: the setting of the queue.';
COMMENT ON COLUMN turnstile.job.unique_states IS
    'The states in which the job holds its unique key. NULL: as unique_mode says.';
COMMENT ON COLUMN turnstile.job.first_started_at IS
    'When the job was first claimed, if that run is not its last: then it was at claimed_at. jobs has it in both cases. NULL also: the first claim was before 0.2.0.';
COMMENT ON COLUMN turnstile.job.waited IS
    'How long the job had waited before its last run began to wait: from when it was due until it was claimed, over the runs that were put back. jobs has the sum of all waits.';
COMMENT ON COLUMN turnstile.job.claim_epoch IS
    'The claim epoch in which the job was enqueued or claimed last: one ends where a crash or a promotion may have taken claims back. The next claim skips an attempt for each that has ended since. NULL: no claim of the job is ever taken back (durable_claims).';
COMMENT ON COLUMN turnstile.job.waits_for IS
    'What keeps the job waiting other than its turn, by which indexes find it: time (it is scheduled or retryable) or jobs (it is blocked). NULL: nothing. It follows from the state, and is set by a trigger.';
COMMENT ON COLUMN turnstile.job_history.parent IS
    'The job that waits for this one. It names the batch whose limits the job shares. NULL: none.';
COMMENT ON COLUMN turnstile.job_history.opens_batch IS
    'Its children wait for its turn: when it is claimed it becomes blocked, and they may start. NULL: no.';
COMMENT ON COLUMN turnstile.job_history.children IS
    'How its children ended, once none was live: {completed, discarded, cancelled}. {}: others were added since, and all are counted when it starts again. NULL: it had none, or they live.';
COMMENT ON COLUMN turnstile.job_history.has_followers IS 'Jobs come after it (turnstile.dependency). NULL: none that is known.';
COMMENT ON COLUMN turnstile.job_history.lease IS 'The lease that the last claim asked for. NULL: the setting of the queue.';
COMMENT ON COLUMN turnstile.job_history.unique_states IS
    'The states in which the job holds its unique key. NULL: as unique_mode says.';
COMMENT ON COLUMN turnstile.job_history.first_started_at IS
    'When the job was first claimed, if that run is not its last: then it was at claimed_at. jobs has it in both cases. NULL also: the first claim was before 0.2.0.';
COMMENT ON COLUMN turnstile.job_history.waited IS
    'How long the job had waited before its last run began to wait: from when it was due until it was claimed, over the runs that were put back. jobs has the sum of all waits.';
COMMENT ON COLUMN turnstile.job_history.claim_epoch IS
    'The claim epoch in which the job was enqueued or claimed last: a job that is brought back skips an attempt for each that has ended since, as one that waited. NULL: no claim of the job was ever taken back (durable_claims).';

-- Numbers the claim epochs (src/job/claim_epoch.rs).
CREATE SEQUENCE turnstile.claim_epoch_seq;
SELECT pg_catalog.pg_extension_config_dump('turnstile.claim_epoch_seq', '');

CREATE INDEX job_parent_idx ON turnstile.job (parent, priority) WHERE parent IS NOT NULL;
CREATE INDEX job_blocked_idx ON turnstile.job (parent) WHERE waits_for = 'jobs';
CREATE INDEX job_blocked_by_id_idx ON turnstile.job (id) WHERE waits_for = 'jobs';
-- No index has the state, nor anything else that a claim changes: so a claim is a HOT update.
CREATE INDEX job_claim_idx ON turnstile.job (lane_group, lane, position) WHERE waits_for IS NULL;
CREATE INDEX job_due_idx ON turnstile.job (queue COLLATE "C", run_at, position) WHERE waits_for = 'time';

CREATE FUNCTION turnstile_internal.add_wait(waited interval, due timestamptz, claimed timestamptz) RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT CASE
        WHEN isfinite(due) AND isfinite(claimed) THEN least(coalesce(waited, '0'), '1000 years') + greatest(claimed - due, '0')
        ELSE waited
    END
$function$;
COMMENT ON FUNCTION turnstile_internal.add_wait(interval, timestamptz, timestamptz) IS
    'What a job waited before a run, and for that run. Where a time is infinite, the run adds nothing.';
