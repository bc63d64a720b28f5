-- What makes up a lane, and the trigger that fires where it changes.

CREATE VIEW turnstile.job_lane AS
    SELECT
        job.id, job.state, job.attempt, job.uncounted, job.lane, job.lane_group, job.position, job.priority,
        ARRAY[
            job.queue, job.tenant, job.account,
            CASE WHEN NOT job.holds_session THEN job.session END,
            job.concurrency_key,
            CASE WHEN job.unique_mode IN ('while_executing', 'until_and_while_executing') THEN job.unique_key END,
            job.parent::text
        ] AS names,
        job.waits_for
    FROM ONLY turnstile.job;
COMMENT ON VIEW turnstile.job_lane IS
    'Internal. Live jobs with the names that make up their lane, in the order of the kinds of gates: a job that holds its session does not wait for it, and only some modes of a unique key let one job with it run at a time.';

CREATE FUNCTION turnstile_internal.place_job() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_place_job';
COMMENT ON FUNCTION turnstile_internal.place_job() IS
    'Puts a job into its lane, and says what it waits for. A job that is available with run_at ahead becomes scheduled.';

-- Not on every UPDATE: a heartbeat changes none of these.
CREATE TRIGGER place_job BEFORE INSERT OR UPDATE OF
    lane, lane_group, priority, run_at, holds_session, queue, tenant, account, session, concurrency_key, unique_key, unique_mode,
    parent, state, waits_for
    ON turnstile.job
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.place_job();

-- The triggers that tell the scheduler of changes. ALWAYS: also under session_replication_role = replica.

CREATE FUNCTION turnstile_internal.job_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_job_changed';
COMMENT ON FUNCTION turnstile_internal.job_changed() IS
    'Notes a changed job for the scheduler, which is told after the commit.';
CREATE FUNCTION turnstile_internal.job_truncated() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_job_truncated';
COMMENT ON FUNCTION turnstile_internal.job_truncated() IS
    'Makes the scheduler rebuild its memory after TRUNCATE.';
CREATE TRIGGER publish_change AFTER INSERT OR UPDATE OR DELETE ON turnstile.job
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.job_changed();
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.job
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.job_truncated();
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER place_job;
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER publish_change;
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER publish_truncate;
