-- Before anything else, and with nothing that is looked up by the search path.
SET LOCAL search_path = pg_catalog, pg_temp;
-- Claims find rows in heaps only.
SET LOCAL default_table_access_method = heap;

-- Which catalog this is. The library reads the body and serves only the versions that it knows (src/pg/served.rs). An upgrade
-- script begins with the same; scripts/upgrade-script writes that.
CREATE OR REPLACE FUNCTION turnstile.catalog_version() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$SELECT '0.2.0'$$;
COMMENT ON FUNCTION turnstile.catalog_version() IS
    'Returns the version of the extension''s objects in this database. version() has that of the library.';

-- A server that was not restarted since the library was replaced still has the one before.
DO $block$
BEGIN
    IF pg_catalog.string_to_array(pg_catalog.split_part(turnstile.version(), '-', 1), '.')::pg_catalog.int4[]
        < pg_catalog.string_to_array(pg_catalog.split_part(turnstile.catalog_version(), '-', 1), '.')::pg_catalog.int4[]
    THEN
        RAISE EXCEPTION 'the library of turnstile that is loaded is too old for this script' USING ERRCODE = '55000',
            DETAIL = pg_catalog.format('The library is version %s, the script is of version %s.',
                turnstile.version(), turnstile.catalog_version()),
            HINT = 'Restart the server, which then loads the library that is installed.';
    END IF;
END
$block$;

-- What users have granted, by name: a function whose arguments change, or a table that is built anew, is dropped with its grants.
-- In a setting of this transaction, since an object that a script makes belongs to the extension.
SELECT pg_catalog.set_config('turnstile_upgrade.grants', coalesce((
    SELECT pg_catalog.jsonb_agg(DISTINCT pg_catalog.jsonb_build_object(
        'kind', made.kind, 'object', made.object, 'name', made.name, 'part', made.part, 'privilege', acl.privilege_type,
        'grantee', acl.grantee, 'grantable', acl.is_grantable
    ))::text
    FROM (
        SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, rel.relname AS name, NULL::name AS part,
            rel.oid AS object, rel.relowner AS owner, rel.relacl AS acl
        FROM pg_catalog.pg_class AS rel WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace
        UNION ALL
        SELECT 'TABLE', rel.relname, att.attname, rel.oid, rel.relowner, att.attacl
        FROM pg_catalog.pg_attribute AS att JOIN pg_catalog.pg_class AS rel ON rel.oid = att.attrelid
        WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace AND NOT att.attisdropped
        UNION ALL
        SELECT 'ROUTINE', proc.proname, NULL, proc.oid, proc.proowner, proc.proacl
        FROM pg_catalog.pg_proc AS proc WHERE proc.pronamespace IN (SELECT nsp.oid FROM pg_catalog.pg_namespace AS nsp WHERE nsp.nspname IN ('turnstile', 'turnstile_internal'))
    ) AS made, pg_catalog.aclexplode(made.acl) AS acl
    WHERE acl.grantee <> made.owner
), '[]'), true);

-- ---- What changes --------------------------------------------------------------------------------

-- The schemas are part of the extension, and go with it: one for users, and one for what only the extension calls. One that exists already is
-- taken if it is empty, and if only roles that could change the extension anyway can create objects in it: another role may have
-- filled it with operators and functions.
DO $block$
DECLARE
    home text;
    schema oid;
    owner name;
    is_safe boolean;
    found text;
BEGIN
    FOREACH home IN ARRAY ARRAY['turnstile_internal'] LOOP
        SELECT nsp.oid, role.rolname,
            (nsp.nspowner = (SELECT me.oid FROM pg_catalog.pg_roles AS me WHERE me.rolname = current_user) OR role.rolsuper)
            AND NOT EXISTS (
                SELECT FROM pg_catalog.aclexplode(nsp.nspacl) AS acl
                LEFT JOIN pg_catalog.pg_roles AS other ON other.oid = acl.grantee
                WHERE acl.privilege_type = 'CREATE' AND acl.grantee <> nsp.nspowner AND other.rolsuper IS NOT TRUE
            )
        INTO schema, owner, is_safe
        FROM pg_catalog.pg_namespace AS nsp
        LEFT JOIN pg_catalog.pg_roles AS role ON role.oid = nsp.nspowner
        WHERE nsp.nspname = home;
        IF schema IS NULL THEN
            EXECUTE pg_catalog.format('CREATE SCHEMA %I', home);
            CONTINUE;
        END IF;
        IF is_safe IS NOT TRUE THEN
            RAISE EXCEPTION 'schema "%" is not safe to install into', home USING ERRCODE = '42501',
                DETAIL = pg_catalog.format('It belongs to "%s", or others may create objects in it.', owner),
                HINT = 'Look at what is in it. Then drop the schema, or change its owner and revoke CREATE on it.';
        END IF;
        SELECT pg_catalog.string_agg(thing.name, ', ') INTO found
        FROM (
            SELECT pg_catalog.pg_describe_object(dep.classid, dep.objid, dep.objsubid) AS name
            FROM pg_catalog.pg_depend AS dep
            WHERE dep.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND dep.refobjid = schema
            LIMIT 10
        ) AS thing;
        IF found IS NOT NULL THEN
            RAISE EXCEPTION 'schema "%" is not empty', home USING ERRCODE = '55000',
                DETAIL = pg_catalog.format('It contains: %s.', found),
                HINT = 'The extension needs schemas of its own. Move or drop these objects.';
        END IF;
        EXECUTE pg_catalog.format('ALTER EXTENSION turnstile ADD SCHEMA %I', home);
    END LOOP;
END
$block$;

-- What only the extension calls is not among what users see.

ALTER FUNCTION turnstile.allow(regrole, text, text[], text[], text[]) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.attach_as_dumped() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.changed_setting(text, text[], anyelement, anyelement) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.check_clear(text[], text[]) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.check_name(text, text, boolean) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.check_names(text, text[]) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.check_recurring_owner(text, name) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.drop_history() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.end_recurring(text, name) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.finish_partition(regclass) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.forget_unique_keys() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.gate_key(text, text, text) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.history_policy(timestamptz) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.job_changed() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.job_truncated() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.lock_history(regclass) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile_internal.lock_history(regclass) SET work_mem = '4MB';
ALTER FUNCTION turnstile.memory_use() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.missing_history_days(int) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.move_strays(regclass, timestamptz, timestamptz) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.permissions_changed() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.place_job() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.read_history(regclass, bigint, int, boolean) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.refuse_setting(text) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.remove_cron_entry(text) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.require_cron() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.rights_of(text) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.routes_changed() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.run_task(text) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.session_gate(text, text, text) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.set_cron_entry(text, text, text) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.set_gate() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.set_recurring(text, text, text, jsonb, text, text, text, text, text, int, int, text, text, interval, jsonb, name) SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.setting_changed() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.settings_truncated() SET SCHEMA turnstile_internal;
ALTER FUNCTION turnstile.thin_history() SET SCHEMA turnstile_internal;

-- Jobs that wait for others: for their children, or for those that they come after.

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
-- The table is written anew, with room beside each job. An UPDATE would fire the triggers of users.
ALTER TABLE turnstile.job SET (fillfactor = 45);
ALTER INDEX IF EXISTS turnstile.job_pkey RESET (fillfactor);
DROP INDEX IF EXISTS turnstile.job_claim_idx, turnstile.job_due_idx, turnstile.job_lease_idx, turnstile.job_owner_idx;
ALTER TABLE turnstile.job ALTER COLUMN waits_for TYPE text USING CASE WHEN state IN ('scheduled', 'retryable') THEN 'time' END;
CREATE INDEX job_blocked_idx ON turnstile.job (parent) WHERE waits_for = 'jobs';
CREATE INDEX job_blocked_by_id_idx ON turnstile.job (id) WHERE waits_for = 'jobs';
-- No index has the state, nor anything else that a claim changes: so a claim is a HOT update.
CREATE INDEX job_claim_idx ON turnstile.job (lane_group, lane, position) WHERE waits_for IS NULL;
CREATE INDEX job_due_idx ON turnstile.job (queue COLLATE "C", run_at, position) WHERE waits_for = 'time';
CREATE INDEX job_owner_idx ON turnstile.job (owner_pid) WHERE owner_pid IS NOT NULL;

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

DO $block$
DECLARE
    day regclass;
BEGIN
    FOR day IN
        SELECT inhrelid::pg_catalog.regclass
        FROM pg_catalog.pg_inherits
        JOIN pg_catalog.pg_class ON pg_class.oid = inhrelid AND pg_class.relkind <> 'f'
        WHERE inhparent = 'turnstile.job_history'::pg_catalog.regclass
    LOOP
        EXECUTE pg_catalog.format('CREATE INDEX ON %s (parent, state) WHERE parent IS NOT NULL', day);
    END LOOP;
END
$block$;

COMMENT ON COLUMN turnstile.job.state IS
    'available, scheduled (run_at ahead), running, retryable (failed, waits for another attempt), or blocked (waits for its children, or for the jobs that it comes after). In job_history: completed, cancelled or discarded.';
COMMENT ON COLUMN turnstile.job_history.state IS
    'available, scheduled (run_at ahead), running, retryable (failed, waits for another attempt), or blocked (waits for its children, or for the jobs that it comes after). In job_history: completed, cancelled or discarded.';

ALTER TABLE turnstile.unique_key
    ADD COLUMN states text[],
    ALTER COLUMN mode DROP NOT NULL;
COMMENT ON COLUMN turnstile.unique_key.job_id IS
    'The job that holds the key, or held it. Mode or states, its state and expires_at decide whether it still does.';
COMMENT ON COLUMN turnstile.unique_key.mode IS 'The unique_mode with which the holder was enqueued. NULL: states says it.';
COMMENT ON COLUMN turnstile.unique_key.expires_at IS
    'From this time on the key is free, whatever the job does. NULL: by the mode or the states alone.';
COMMENT ON COLUMN turnstile.unique_key.states IS 'The unique_states with which the holder was enqueued. NULL: mode says it.';
COMMENT ON COLUMN turnstile.job.unique_mode IS
    'How long the job holds its unique key: until_executing, until_executed, until_expired, while_executing, until_and_while_executing or replace. NULL: it has none, or unique_states says it.';
COMMENT ON COLUMN turnstile.job_history.unique_mode IS
    'How long the job holds its unique key: until_executing, until_executed, until_expired, while_executing, until_and_while_executing or replace. NULL: it has none, or unique_states says it.';

CREATE OR REPLACE VIEW turnstile.job_lane AS
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

DROP TRIGGER place_job ON turnstile.job;
CREATE TRIGGER place_job BEFORE INSERT OR UPDATE OF
    lane, lane_group, priority, run_at, holds_session, queue, tenant, account, session, concurrency_key, unique_key, unique_mode,
    parent, state, waits_for
    ON turnstile.job
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.place_job();
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER place_job;
COMMENT ON FUNCTION turnstile_internal.place_job() IS
    'Puts a job into its lane, and says what it waits for. A job that is available with run_at ahead becomes scheduled.';

CREATE OR REPLACE VIEW turnstile.jobs AS
    SELECT
        job.id, job.lane, job.lane_group, job.position, job.priority, job.run_at, job.lease_expires_at, job.state,
        job.holds_session, job.queue, job.tenant, job.account, job.session, job.concurrency_key, job.unique_key,
        job.unique_mode, job.kind, job.attempt, job.max_attempts, job.uncounted, job.payload, job.worker,
        job.owner_pid, job.owner_started_at, job.claimed_at, job.cancel_requested_at, job.progress, job.errors,
        job.metadata, job.unique_until, job.created_at,
        job.finished_at, job.result,
        job.created_at AS queued_at,
        job.claimed_at AS started_at,
        CASE WHEN isfinite(job.run_at) AND isfinite(coalesce(job.claimed_at, job.finished_at, now()))
            THEN greatest(coalesce(job.claimed_at, job.finished_at, statement_timestamp()) - job.run_at, '0')
        END AS waiting,
        CASE WHEN isfinite(job.claimed_at) AND isfinite(coalesce(job.finished_at, now()))
            THEN greatest(coalesce(job.finished_at, statement_timestamp()) - job.claimed_at, '0')
        END AS running,
        job.parent, job.opens_batch, job.children, job.has_followers, job.lease, job.unique_states,
        coalesce(job.first_started_at, CASE WHEN job.attempt = 1 THEN job.claimed_at END) AS first_started_at,
        CASE
            WHEN isfinite(job.run_at) AND isfinite(job.claimed_at)
                THEN least(coalesce(job.waited, '0'), '1000 years') + greatest(job.claimed_at - job.run_at, '0')
            ELSE job.waited
        END AS waited,
        job.waits_for
    FROM (
        SELECT
            id, lane, lane_group, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant,
            account, session, concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted,
            payload, worker, owner_pid, owner_started_at, claimed_at, cancel_requested_at, progress, errors,
            metadata, unique_until, created_at,
            NULL::timestamptz AS finished_at, NULL::jsonb AS result, parent, opens_batch, children, has_followers, lease, unique_states,
            first_started_at, waited, waits_for
        FROM turnstile.job
        UNION ALL
        SELECT
            id, lane, lane_group, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant,
            account, session, concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted,
            payload, worker, owner_pid, owner_started_at, claimed_at, cancel_requested_at, progress, errors,
            metadata, unique_until, created_at,
            finished_at, result, parent, opens_batch, children, has_followers, lease, unique_states,
            first_started_at, waited, NULL::text AS waits_for
        FROM turnstile.job_history
    ) AS job;
COMMENT ON VIEW turnstile.jobs IS
    'Live and finished jobs together. A finished job that was brought back is there as both.';
COMMENT ON COLUMN turnstile.jobs.queued_at IS 'When the job was enqueued.';
COMMENT ON COLUMN turnstile.jobs.started_at IS 'When its last run was claimed. NULL: it waits, or never ran.';
COMMENT ON COLUMN turnstile.jobs.first_started_at IS
    'When the job was first claimed, over all attempts. NULL: it was not, or before 0.2.0 and more than once.';
COMMENT ON COLUMN turnstile.jobs.waited IS
    'How long it has waited in all, over all attempts: from when it was due, or given back, until it was claimed each time. The wait of a job that waits now is not in it. NULL: it was never claimed.';
COMMENT ON COLUMN turnstile.jobs.waiting IS
    'How long it waited from run_at until its last run was claimed, or until the statement began. NULL: one of the times is infinite.';
COMMENT ON COLUMN turnstile.jobs.running IS
    'How long its last run took, or had taken when the statement began. NULL: it waits, or never ran.';

CREATE TABLE turnstile.dependency (
    predecessor bigint NOT NULL,
    job bigint NOT NULL,
    any_end boolean NOT NULL DEFAULT false,
    holds boolean NOT NULL DEFAULT false,
    is_told boolean NOT NULL DEFAULT false,
    CONSTRAINT dependency_pkey PRIMARY KEY (predecessor, job)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX dependency_job_idx ON turnstile.dependency (job);
CREATE INDEX dependency_untold_idx ON turnstile.dependency (job) WHERE NOT is_told;
CREATE INDEX dependency_untold_predecessor_idx ON turnstile.dependency (predecessor) WHERE NOT is_told;
COMMENT ON TABLE turnstile.dependency IS
    'What blocked jobs come after. A row goes when its predecessor has ended as it should; without any a job is blocked no more.';
COMMENT ON COLUMN turnstile.dependency.predecessor IS 'The job that must end first.';
COMMENT ON COLUMN turnstile.dependency.job IS 'The job that comes after it.';
COMMENT ON COLUMN turnstile.dependency.any_end IS
    'Any end of the predecessor will do. Otherwise it must complete, and another end discards the job.';
COMMENT ON COLUMN turnstile.dependency.holds IS
    'Where the predecessor ends otherwise than it should, the job stays blocked until it is brought back and completes.';
COMMENT ON COLUMN turnstile.dependency.is_told IS 'The predecessor was marked: its end leads to this row.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.dependency', '');

CREATE TABLE turnstile.batch (
    id bigint NOT NULL,
    slots int,
    rate int,
    rate_per interval NOT NULL DEFAULT '1 second',
    burst int,
    paused boolean NOT NULL DEFAULT false,
    paused_until timestamptz,
    priority int,
    max_failed int,
    on_end text NOT NULL DEFAULT 'run',
    opened_at timestamptz DEFAULT clock_timestamp(),
    stops text,
    gate bigint NOT NULL,
    rate_since timestamptz,
    CONSTRAINT batch_pkey PRIMARY KEY (id),
    CONSTRAINT batch_id_check CHECK (id >= 1),
    CONSTRAINT batch_slots_check CHECK (slots >= 0),
    CONSTRAINT batch_rate_check CHECK (rate >= 1),
    CONSTRAINT batch_rate_per_check CHECK (rate_per > '0' AND rate_per <= '100 years'),
    CONSTRAINT batch_burst_check CHECK (burst >= 1),
    CONSTRAINT batch_max_failed_check CHECK (max_failed >= 0),
    CONSTRAINT batch_on_end_check CHECK (on_end IN ('run', 'run_if_all_completed', 'complete')),
    CONSTRAINT batch_stops_check CHECK (stops IN ('cancelled', 'discarded', 'failed'))
);
CREATE INDEX batch_gate_idx ON turnstile.batch (gate);
COMMENT ON TABLE turnstile.batch IS
    'Batches: settings of the children of a job. A parent whose children have no limits needs no row.';
COMMENT ON COLUMN turnstile.batch.id IS 'The parent.';
COMMENT ON COLUMN turnstile.batch.slots IS 'How many of its children may run at once. NULL: no limit; 0: none.';
COMMENT ON COLUMN turnstile.batch.rate IS
    'How many children may start within rate_per: a token bucket over all workers. NULL: no limit.';
COMMENT ON COLUMN turnstile.batch.rate_per IS 'The interval that rate is for. More than 0, at most 100 years.';
COMMENT ON COLUMN turnstile.batch.burst IS
    'How many children may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: 1.';
COMMENT ON COLUMN turnstile.batch.paused IS 'No child starts.';
COMMENT ON COLUMN turnstile.batch.paused_until IS 'No child starts before this time.';
COMMENT ON COLUMN turnstile.batch.priority IS
    'The priority of the children: those that are live get it, in short transactions, and those that come later. NULL: each has its own.';
COMMENT ON COLUMN turnstile.batch.max_failed IS
    'When more children are discarded, no other starts, and the rest is cancelled. NULL: any number.';
COMMENT ON COLUMN turnstile.batch.on_end IS
    'What becomes of the parent when no child is live. run: it becomes available and runs. run_if_all_completed: the same, but it is discarded unless all children completed. complete: it completes without a run.';
COMMENT ON COLUMN turnstile.batch.opened_at IS 'Since when children may start. NULL: the parent waits for its turn.';
COMMENT ON COLUMN turnstile.batch.stops IS
    'Why no child starts any more and the rest is cancelled: the parent is to end as cancelled or discarded, or max_failed was passed (failed). NULL: it goes on.';
COMMENT ON COLUMN turnstile.batch.gate IS 'The key by which the scheduler knows the batch. Set by a trigger.';
COMMENT ON COLUMN turnstile.batch.rate_since IS
    'Since when a rate is in force for it: its bucket was full then. NULL: not known, or none. Set by a trigger.';

CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.batch
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('batch');
ALTER TABLE turnstile.batch ENABLE ALWAYS TRIGGER set_gate;
SELECT pg_catalog.pg_extension_config_dump('turnstile.batch', '');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.batch
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('batch');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.batch
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('batch');
ALTER TABLE turnstile.batch ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.batch ENABLE ALWAYS TRIGGER publish_truncate;

CREATE OR REPLACE VIEW turnstile.setting_of_batch AS
    SELECT
        batch.gate,
        CASE WHEN batch.paused OR batch.opened_at IS NULL OR batch.stops IS NOT NULL THEN 0 ELSE batch.slots END AS slots,
        batch.rate, (extract(epoch FROM batch.rate_per) * 1000000)::bigint AS rate_per, batch.burst, batch.paused_until,
        NULL::int AS weight, NULL::boolean AS is_fair, NULL::bigint AS aging, NULL::int AS max_waiting,
        batch.rate_since
    FROM turnstile.batch;
COMMENT ON VIEW turnstile.setting_of_batch IS 'Internal. Settings of batches, with the columns of gate_setting.';

-- Endpoints: where the jobs of a kind are sent, changed while everything runs; and what slows their hosts.

CREATE TABLE turnstile.endpoint (
    pattern text NOT NULL,
    url text NOT NULL,
    method text NOT NULL DEFAULT 'POST',
    headers jsonb NOT NULL DEFAULT '{}',
    timeout interval,
    mode text NOT NULL DEFAULT 'sync',
    permanent_status int[] NOT NULL DEFAULT '{}',
    key_by_host boolean NOT NULL DEFAULT true,
    -- Functions of pg_catalog only: they run with the rights of the role that inserts.
    concurrency_key text GENERATED ALWAYS AS (
        CASE WHEN key_by_host THEN 'host:' || lower(regexp_replace(
            substring(url FROM '^https?://([^/?]+)'), CASE WHEN url LIKE 'https:%' THEN ':443$' ELSE ':80$' END, ''
        ) COLLATE "C") END
    ) STORED,
    secret text,
    allow_private boolean NOT NULL DEFAULT false,
    keep_response boolean NOT NULL DEFAULT false,
    cloudevents boolean NOT NULL DEFAULT false,
    trial_after int NOT NULL DEFAULT 5,
    paused boolean NOT NULL DEFAULT false,
    gate bigint,
    CONSTRAINT endpoint_pkey PRIMARY KEY (pattern),
    CONSTRAINT endpoint_pattern_check CHECK (pattern <> '' AND octet_length(pattern) <= 255),
    -- Scheme, host and port are fixed, so that no payload decides where a request goes.
    CONSTRAINT endpoint_url_check CHECK (
        url ~ ('^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])'
            '(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?([/?][^#\\[:space:][:cntrl:]]*)?$')
        AND regexp_replace(url, '\{payload(\.[^{}./?]+)+\}', '', 'g') !~ '[{}]' AND octet_length(url) <= 2000
    ),
    CONSTRAINT endpoint_concurrency_key_check CHECK (octet_length(concurrency_key) <= 255),
    CONSTRAINT endpoint_method_check CHECK (method IN ('POST', 'PUT', 'PATCH', 'GET', 'DELETE')),
    -- A value without control characters cannot begin another header.
    CONSTRAINT endpoint_headers_check CHECK (
        jsonb_typeof(headers) = 'object' AND octet_length(headers::text) <= 16384
        AND NOT jsonb_path_exists(headers, 'strict $.keyvalue() ? (
            @.value.type() != "string"
            || !(@.key like_regex "^[-!#$%&\u0027*+.^_`|~0-9A-Za-z]+$")
            || @.key like_regex
                "^(host|content-length|transfer-encoding|connection|upgrade|te|trailer|keep-alive|proxy-.*|expect)$" flag "i"
        )')
        AND NOT jsonb_path_exists(headers, 'strict $.* ? (@ like_regex "[[:cntrl:]]")')
        -- No two names differ only in case: in lower case there are as many.
        AND jsonb_array_length(jsonb_path_query_array(headers, '$.*'))
            = jsonb_array_length(jsonb_path_query_array(lower(headers::text COLLATE "C")::jsonb, '$.*'))
    ),
    CONSTRAINT endpoint_timeout_check CHECK (timeout > '0' AND timeout <= '100 years'),
    CONSTRAINT endpoint_mode_check CHECK (mode IN ('sync', 'async', 'fireworq')),
    CONSTRAINT endpoint_permanent_status_check CHECK (
        coalesce(array_ndims(permanent_status), 1) = 1 AND array_position(permanent_status, NULL) IS NULL AND 300 <= ALL (permanent_status) AND 599 >= ALL (permanent_status)
        AND cardinality(permanent_status) <= 300
    ),
    CONSTRAINT endpoint_secret_check CHECK (
        (secret ~ '^env:TURNSTILE_SECRET_[A-Za-z0-9_]+$'
            OR secret ~ '^file:[^/\\[:cntrl:]][^\\[:cntrl:]]*$' AND secret !~ '[:/]\.\.(/|$)')
        AND octet_length(secret) <= 255
    ),
    CONSTRAINT endpoint_trial_after_check CHECK (trial_after >= 0)
);
CREATE INDEX endpoint_concurrency_key_idx ON turnstile.endpoint (concurrency_key);
-- Who reads the settings of a key must not pay for all endpoints that are paused.
CREATE INDEX endpoint_paused_idx ON turnstile.endpoint (gate) WHERE paused AND concurrency_key IS NOT NULL;
COMMENT ON TABLE turnstile.endpoint IS
    'Where turnstile dispatch sends the jobs of a kind. Of the patterns that match, the one with the most characters other than * applies, alone.';
COMMENT ON COLUMN turnstile.endpoint.pattern IS
    'A kind. * stands for any number of characters, everything else for itself.';
COMMENT ON COLUMN turnstile.endpoint.url IS
    'An address with http or https. {payload.a.b} in its path or query stands for that value of the payload, percent-encoded; its names are without / and ?. The host is of letters, digits, dots, hyphens and underscores, or an IPv6 address in brackets. At most 2,000 bytes.';
COMMENT ON COLUMN turnstile.endpoint.method IS 'POST, PUT, PATCH, GET or DELETE.';
COMMENT ON COLUMN turnstile.endpoint.headers IS
    'More headers of each request: an object of strings, of at most 16 kB. No two names differ only in case. Not a place for secrets: see secret.';
COMMENT ON COLUMN turnstile.endpoint.timeout IS
    'The longest time for a request. More than 0, at most 100 years. NULL: the lease of the run, which no request outlasts.';
COMMENT ON COLUMN turnstile.endpoint.mode IS
    'sync: the response ends the run. async: the same, but after 202 the endpoint ends the run by a later call. fireworq: the status in the body decides.';
COMMENT ON COLUMN turnstile.endpoint.permanent_status IS
    'Statuses, from 300 to 599, that discard the job at once. 410 always does.';
COMMENT ON COLUMN turnstile.endpoint.key_by_host IS
    'Jobs get the concurrency key of the host when they are enqueued, unless the producer or a route names one.';
COMMENT ON COLUMN turnstile.endpoint.concurrency_key IS
    'The concurrency key of the host: host: and the host with the port, in lower case, without the default port. NULL: key_by_host is false.';
COMMENT ON COLUMN turnstile.endpoint.secret IS
    'Where the dispatcher finds the secrets that sign requests: env:TURNSTILE_SECRET_... names a variable, file:... a path below its folder of secrets. Never the value. NULL: requests are not signed.';
COMMENT ON COLUMN turnstile.endpoint.allow_private IS 'Whether the host may have private addresses.';
COMMENT ON COLUMN turnstile.endpoint.keep_response IS
    'Whether a JSON body of a 2xx, up to 1 MB, becomes the result of the job, and the first 1,000 characters of other bodies go into its error.';
COMMENT ON COLUMN turnstile.endpoint.cloudevents IS 'Whether requests are CloudEvents in binary mode.';
COMMENT ON COLUMN turnstile.endpoint.trial_after IS
    'After so many failures in a row that one dispatcher sees, jobs of the host run one at a time until one succeeds. 0: never.';
COMMENT ON COLUMN turnstile.endpoint.paused IS
    'Nothing is sent. If all endpoints of a concurrency key are paused, no job of the key starts. A 410 sets it.';
COMMENT ON COLUMN turnstile.endpoint.gate IS
    'The key by which the scheduler knows the concurrency key of the host. Set by a trigger.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.endpoint', '');

CREATE TABLE turnstile.slowed_key (
    key text NOT NULL,
    paused_until timestamptz,
    one_at_a_time boolean NOT NULL DEFAULT false,
    gate bigint NOT NULL,
    CONSTRAINT slowed_key_pkey PRIMARY KEY (key),
    CONSTRAINT slowed_key_key_check CHECK (key <> '' AND key <> '*' AND octet_length(key) <= 255)
);
CREATE INDEX slowed_key_gate_idx ON turnstile.slowed_key (gate);
CREATE INDEX slowed_key_ended_idx ON turnstile.slowed_key (coalesce(paused_until, '-infinity')) WHERE NOT one_at_a_time;
COMMENT ON TABLE turnstile.slowed_key IS
    'Concurrency keys that are paused or on trial, beside their limits in turnstile.concurrency. A row whose pause is over, without a trial, means nothing.';
COMMENT ON COLUMN turnstile.slowed_key.key IS 'The concurrency key.';
COMMENT ON COLUMN turnstile.slowed_key.paused_until IS 'No job of the key starts before this time. NULL: it is not paused.';
COMMENT ON COLUMN turnstile.slowed_key.one_at_a_time IS
    'The key is on trial: one job of it runs at a time, or none where the limit is 0.';
COMMENT ON COLUMN turnstile.slowed_key.gate IS
    'The key by which the scheduler knows the concurrency key. Set by a trigger.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.slowed_key', '');

CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.endpoint
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('endpoint');
ALTER TABLE turnstile.endpoint ENABLE ALWAYS TRIGGER set_gate;
CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.slowed_key
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('slowed_key');
ALTER TABLE turnstile.slowed_key ENABLE ALWAYS TRIGGER set_gate;

CREATE FUNCTION turnstile_internal.endpoints_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_endpoints_changed';
COMMENT ON FUNCTION turnstile_internal.endpoints_changed() IS
    'Makes every backend read the endpoints again.';
CREATE TRIGGER publish_endpoints AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.endpoint
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.endpoints_changed();
ALTER TABLE turnstile.endpoint ENABLE ALWAYS TRIGGER publish_endpoints;

CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.endpoint
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('endpoint');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.slowed_key
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('slowed_key');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.endpoint
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('endpoint');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.slowed_key
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('slowed_key');
ALTER TABLE turnstile.endpoint ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.slowed_key ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.endpoint ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.slowed_key ENABLE ALWAYS TRIGGER publish_truncate;

-- A column of settings that is NULL is inherited from the row *, and "no limit" is a value of its own. What a row has means what it meant.

ALTER TABLE turnstile.queue
    ADD COLUMN rate_since timestamptz,
    ADD COLUMN durable_claims boolean,
    ALTER COLUMN rate_per DROP NOT NULL,
    ALTER COLUMN rate_per DROP DEFAULT,
    ALTER COLUMN policy DROP NOT NULL,
    ALTER COLUMN policy DROP DEFAULT,
    ALTER COLUMN lease DROP NOT NULL,
    ALTER COLUMN lease DROP DEFAULT,
    ALTER COLUMN max_attempts DROP NOT NULL,
    ALTER COLUMN max_attempts DROP DEFAULT,
    ALTER COLUMN retry_base DROP NOT NULL,
    ALTER COLUMN retry_base DROP DEFAULT,
    ALTER COLUMN retry_cap DROP NOT NULL,
    ALTER COLUMN retry_cap DROP DEFAULT,
    ALTER COLUMN session_on_retry DROP NOT NULL,
    ALTER COLUMN session_on_retry DROP DEFAULT,
    ALTER COLUMN notify DROP NOT NULL,
    ALTER COLUMN notify DROP DEFAULT,
    ALTER COLUMN keep_completed DROP DEFAULT,
    ALTER COLUMN keep_discarded DROP DEFAULT,
    DROP CONSTRAINT queue_max_running_check,
    DROP CONSTRAINT queue_max_waiting_check,
    DROP CONSTRAINT queue_rate_check,
    DROP CONSTRAINT queue_aging_check,
    DROP CONSTRAINT queue_keep_completed_check,
    DROP CONSTRAINT queue_keep_discarded_check,
    ADD CONSTRAINT queue_max_running_check CHECK (max_running >= -1),
    ADD CONSTRAINT queue_max_waiting_check CHECK (max_waiting >= 1 OR max_waiting = -1),
    ADD CONSTRAINT queue_rate_check CHECK (rate >= 1 OR rate = -1),
    ADD CONSTRAINT queue_aging_check CHECK (aging = '0' OR aging >= '1 second' AND aging <= '30 days'),
    ADD CONSTRAINT queue_keep_completed_check CHECK (keep_completed >= '0' OR keep_completed = '-1 second'),
    ADD CONSTRAINT queue_keep_discarded_check CHECK (keep_discarded >= '0' OR keep_discarded = '-1 second');
ALTER TABLE turnstile.tenant
    ADD COLUMN rate_since timestamptz,
    ALTER COLUMN weight DROP NOT NULL,
    ALTER COLUMN weight DROP DEFAULT,
    ALTER COLUMN rate_per DROP NOT NULL,
    ALTER COLUMN rate_per DROP DEFAULT,
    DROP CONSTRAINT tenant_slots_check,
    DROP CONSTRAINT tenant_max_waiting_check,
    DROP CONSTRAINT tenant_rate_check,
    ADD CONSTRAINT tenant_slots_check CHECK (slots >= -1),
    ADD CONSTRAINT tenant_max_waiting_check CHECK (max_waiting >= 1 OR max_waiting = -1),
    ADD CONSTRAINT tenant_rate_check CHECK (rate >= 1 OR rate = -1);
CREATE INDEX queue_max_waiting_idx ON turnstile.queue (max_waiting) WHERE max_waiting > 0;
CREATE INDEX tenant_max_waiting_idx ON turnstile.tenant (max_waiting) WHERE max_waiting > 0;
ALTER TABLE turnstile.account
    ADD COLUMN rate_since timestamptz,
    ALTER COLUMN rate_per DROP NOT NULL,
    ALTER COLUMN rate_per DROP DEFAULT,
    DROP CONSTRAINT account_slots_check,
    DROP CONSTRAINT account_rate_check,
    ADD CONSTRAINT account_slots_check CHECK (slots >= -1),
    ADD CONSTRAINT account_rate_check CHECK (rate >= 1 OR rate = -1);
ALTER TABLE turnstile.concurrency
    ADD COLUMN rate_since timestamptz,
    ALTER COLUMN rate_per DROP NOT NULL,
    ALTER COLUMN rate_per DROP DEFAULT,
    DROP CONSTRAINT concurrency_slots_check,
    DROP CONSTRAINT concurrency_rate_check,
    ADD CONSTRAINT concurrency_slots_check CHECK (slots >= -1),
    ADD CONSTRAINT concurrency_rate_check CHECK (rate >= 1 OR rate = -1);

COMMENT ON TABLE turnstile.queue IS
    'Settings of queues. A queue needs no row. A column that is NULL is inherited from the row *, and there from the default that is built in; pauses are not inherited. queue_in_force has what holds.';
COMMENT ON COLUMN turnstile.queue.max_running IS 'How many jobs of the queue may run at once. 0: none; -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.queue.max_waiting IS
    'How many live jobs of the queue may wait (available, scheduled or retryable). An enqueue past the bound fails with 53400; from 80 % on it gets a NOTICE. Jobs that come back count, and may pass the bound. -1: no bound. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.queue.policy IS
    'Order at equal priority. fifo: by position. fair: tenants that have work and room share the starts by weight, and each has its own jobs by position. NULL: inherited; built in: fifo.';
COMMENT ON COLUMN turnstile.queue.aging IS
    'A waiting job gains one step of priority for each such interval. All jobs of the queue gain their steps at the same times, multiples of it. From 1 second to 30 days. 0: none. NULL: inherited; built in: 0.';
COMMENT ON COLUMN turnstile.queue.lease IS 'How long a claim holds a job, unless the claim says otherwise. NULL: inherited; built in: 5 minutes.';
COMMENT ON COLUMN turnstile.queue.max_attempts IS 'Counted attempts of a job that is enqueued without max_attempts. NULL: inherited; built in: 25.';
COMMENT ON COLUMN turnstile.queue.retry_base IS 'The wait after counted attempt n is n^4 times this, plus up to 10 %. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.queue.retry_cap IS 'The longest wait for another attempt; 30 years in any case. NULL: inherited; built in: 1 day.';
COMMENT ON COLUMN turnstile.queue.session_on_retry IS
    'hold: while a job of a session waits for another attempt, no other job of the session starts, and it is the next. pass: others may start. NULL: inherited; built in: hold.';
COMMENT ON COLUMN turnstile.queue.notify IS
    'Whether listeners of the channel of the queue are notified. The row * also speaks for the channel of all queues. NULL: inherited; built in: true.';
COMMENT ON COLUMN turnstile.queue.keep_completed IS
    'How long completed jobs stay in history, from the end of their day (UTC). 0: a completion leaves nothing there, unless others have to know of it (children, parents, jobs that others come after, unique keys that are still held). -1 (a second less than none): forever. NULL: inherited; built in: 7 days.';
COMMENT ON COLUMN turnstile.queue.keep_discarded IS
    'How long discarded and cancelled jobs stay in history, from the end of their day (UTC). -1 (a second less than none): forever. NULL: inherited; built in: 7 days.';
COMMENT ON COLUMN turnstile.queue.durable_claims IS
    'Whether a claim waits until it is on disk. false: a claim in a transaction that does nothing else does not, for jobs that were enqueued since; if the server crashes in the next moments, the job is available again, and may run once more beside the worker that still has it, whose end is refused then (55000). NULL: inherited; built in: true.';
COMMENT ON COLUMN turnstile.queue.rate_since IS
    'Since when a rate is in force for it, by any row, as of when this row got one or inherited again: its bucket was full then. NULL: not known, or none. Set by a trigger.';
COMMENT ON COLUMN turnstile.queue.rate IS
    'How many jobs may start within rate_per: a token bucket over all workers. -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.queue.rate_per IS 'The interval that rate is for. More than 0, at most 100 years. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.queue.burst IS
    'How many jobs may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.queue.paused IS 'Nothing of it starts. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.queue.paused_until IS 'Nothing of it starts before this time. The row * pauses the names without a row.';
COMMENT ON TABLE turnstile.tenant IS
    'Limits of tenants, over all queues. A column that is NULL is inherited from the row *; pauses are not. tenant_in_force has what holds.';
COMMENT ON COLUMN turnstile.tenant.max_waiting IS
    'How many live jobs of the tenant may wait (available, scheduled or retryable), in all queues. An enqueue past the bound fails with 53400; from 80 % on it gets a NOTICE. Jobs that come back count, and may pass the bound. -1: no bound. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.tenant.weight IS
    'Starts in fair queues for each start of a tenant of weight 1. From 1 to 10,000. Jobs without a tenant weigh 1 together. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.tenant.rate_since IS
    'Since when a rate is in force for it, by any row, as of when this row got one or inherited again: its bucket was full then. NULL: not known, or none. Set by a trigger.';
COMMENT ON COLUMN turnstile.tenant.rate IS
    'How many jobs may start within rate_per: a token bucket over all workers. -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.tenant.rate_per IS 'The interval that rate is for. More than 0, at most 100 years. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.tenant.burst IS
    'How many jobs may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.tenant.paused IS 'Nothing of it starts. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.tenant.paused_until IS 'Nothing of it starts before this time. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.tenant.slots IS 'How many of its jobs may run at once. 0: none; -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON TABLE turnstile.account IS
    'Limits of accounts within a tenant. A column that is NULL is inherited from the row (tenant, *), and there from the row (*, *); pauses are not. account_in_force has what holds.';
COMMENT ON COLUMN turnstile.account.rate_since IS
    'Since when a rate is in force for it, by any row, as of when this row got one or inherited again: its bucket was full then. NULL: not known, or none. Set by a trigger.';
COMMENT ON COLUMN turnstile.account.rate IS
    'How many jobs may start within rate_per: a token bucket over all workers. -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.account.rate_per IS 'The interval that rate is for. More than 0, at most 100 years. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.account.burst IS
    'How many jobs may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.account.paused IS 'Nothing of it starts. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.account.paused_until IS 'Nothing of it starts before this time. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.account.slots IS 'How many of its jobs may run at once. 0: none; -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON TABLE turnstile.concurrency IS
    'Limits of concurrency keys, over all queues and tenants. A column that is NULL is inherited from the row *. concurrency_in_force has what holds.';
COMMENT ON COLUMN turnstile.concurrency.rate_since IS
    'Since when a rate is in force for it, by any row, as of when this row got one or inherited again: its bucket was full then. NULL: not known, or none. Set by a trigger.';
COMMENT ON COLUMN turnstile.concurrency.rate IS
    'How many jobs may start within rate_per: a token bucket over all workers. -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.concurrency.rate_per IS 'The interval that rate is for. More than 0, at most 100 years. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.concurrency.burst IS
    'How many jobs may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.concurrency.slots IS 'How many of its jobs may run at once. 0: none; -1: no limit. NULL: inherited; built in: -1.';

UPDATE turnstile.queue
SET max_running = coalesce(max_running, -1), max_waiting = coalesce(max_waiting, -1), rate = coalesce(rate, -1), burst = coalesce(burst, 1),
    aging = coalesce(aging, '0'), keep_completed = coalesce(keep_completed, '-1 second'), keep_discarded = coalesce(keep_discarded, '-1 second')
WHERE name <> '*';
-- What nobody has changed is not set.
UPDATE turnstile.queue
SET rate_per = nullif(rate_per, '1 second'), policy = nullif(policy, 'fifo'), lease = nullif(lease, '5 minutes'),
    max_attempts = nullif(max_attempts, 25), retry_base = nullif(retry_base, '1 second'), retry_cap = nullif(retry_cap, '1 day'),
    session_on_retry = nullif(session_on_retry, 'hold'), notify = nullif(notify, true),
    keep_completed = coalesce(nullif(keep_completed, '7 days'), CASE WHEN keep_completed IS NULL THEN interval '-1 second' END),
    keep_discarded = coalesce(nullif(keep_discarded, '7 days'), CASE WHEN keep_discarded IS NULL THEN interval '-1 second' END)
WHERE name = '*';
-- By 0 they stayed until the end of their day.
UPDATE turnstile.queue SET keep_completed = '1 second' WHERE keep_completed = '0';
UPDATE turnstile.tenant
SET slots = coalesce(slots, -1), max_waiting = coalesce(max_waiting, -1), rate = coalesce(rate, -1), burst = coalesce(burst, 1)
WHERE name <> '*';
UPDATE turnstile.account
SET slots = coalesce(slots, -1), rate = coalesce(rate, -1), burst = coalesce(burst, 1)
WHERE (tenant, name) <> ('*', '*');
UPDATE turnstile.concurrency
SET slots = coalesce(slots, -1), rate = coalesce(rate, -1), burst = coalesce(burst, 1)
WHERE key <> '*';

-- What holds for the names of settings: a column that is NULL is inherited from the row *, and there from what is built in. All that
-- reads settings reads them here. For a name without a row the row * holds, which these views have even where the table has lost it.
--
-- A row * that is missing stands beside those of the table, not in a join, so that a gate, or a name, finds its row by an index, and once.

CREATE VIEW turnstile.queue_in_force AS
    SELECT
        own.name, own.gate, coalesce(own.paused, false) AS paused, own.paused_until,
        nullif(coalesce(own.max_running, star.max_running), -1) AS max_running,
        nullif(coalesce(own.max_waiting, star.max_waiting), -1) AS max_waiting,
        nullif(coalesce(own.rate, star.rate), -1) AS rate,
        coalesce(own.rate_per, star.rate_per, '1 second') AS rate_per,
        coalesce(own.burst, star.burst, 1) AS burst,
        coalesce(own.policy, star.policy, 'fifo') AS policy,
        nullif(coalesce(own.aging, star.aging), '0') AS aging,
        coalesce(own.lease, star.lease, '5 minutes') AS lease,
        coalesce(own.max_attempts, star.max_attempts, 25) AS max_attempts,
        coalesce(own.retry_base, star.retry_base, '1 second') AS retry_base,
        coalesce(own.retry_cap, star.retry_cap, '1 day') AS retry_cap,
        coalesce(own.session_on_retry, star.session_on_retry, 'hold') AS session_on_retry,
        coalesce(own.notify, star.notify, true) AS notify,
        -- Without the row * nothing is let go: a restore brings that row after the history.
        nullif(coalesce(own.keep_completed, star.keep_completed, CASE WHEN star.name IS NOT NULL THEN interval '7 days' END), '-1 second')
            AS keep_completed,
        nullif(coalesce(own.keep_discarded, star.keep_discarded, CASE WHEN star.name IS NOT NULL THEN interval '7 days' END), '-1 second')
            AS keep_discarded,
        coalesce(own.durable_claims, star.durable_claims, true) AS durable_claims,
        greatest(own.rate_since, CASE WHEN own.rate IS NULL THEN star.rate_since END) AS rate_since
    FROM (
        SELECT
            queue.name, queue.gate, queue.paused, queue.paused_until, queue.max_running, queue.max_waiting, queue.rate,
            queue.rate_per, queue.burst, queue.policy, queue.aging, queue.lease, queue.max_attempts, queue.retry_base,
            queue.retry_cap, queue.session_on_retry, queue.notify, queue.keep_completed, queue.keep_discarded, queue.durable_claims,
            queue.rate_since
        FROM turnstile.queue
        UNION ALL
        SELECT '*', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT FROM turnstile.queue WHERE queue.name = '*')
    ) AS own
    LEFT JOIN turnstile.queue AS star ON star.name = '*';
COMMENT ON VIEW turnstile.queue_in_force IS
    'What holds for each queue with a row, and by the row * for those without one: columns as in turnstile.queue, with what is inherited. NULL: no limit, none, or forever. Without a row * nothing leaves the history.';

CREATE VIEW turnstile.tenant_in_force AS
    SELECT
        own.name, own.gate, coalesce(own.paused, false) AS paused, own.paused_until,
        nullif(coalesce(own.slots, star.slots), -1) AS slots,
        nullif(coalesce(own.max_waiting, star.max_waiting), -1) AS max_waiting,
        coalesce(own.weight, star.weight, 1) AS weight,
        nullif(coalesce(own.rate, star.rate), -1) AS rate,
        coalesce(own.rate_per, star.rate_per, '1 second') AS rate_per,
        coalesce(own.burst, star.burst, 1) AS burst,
        greatest(own.rate_since, CASE WHEN own.rate IS NULL THEN star.rate_since END) AS rate_since
    FROM (
        SELECT
            tenant.name, tenant.gate, tenant.paused, tenant.paused_until, tenant.slots, tenant.max_waiting, tenant.weight,
            tenant.rate, tenant.rate_per, tenant.burst, tenant.rate_since
        FROM turnstile.tenant
        UNION ALL
        SELECT '*', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT FROM turnstile.tenant WHERE tenant.name = '*')
    ) AS own
    LEFT JOIN turnstile.tenant AS star ON star.name = '*';
COMMENT ON VIEW turnstile.tenant_in_force IS
    'What holds for each tenant with a row, and by the row * for those without one: columns as in turnstile.tenant, with what is inherited. NULL: no limit.';

CREATE VIEW turnstile.account_in_force AS
    SELECT
        own.tenant, own.name, own.gate, coalesce(own.paused, false) AS paused, own.paused_until,
        nullif(coalesce(own.slots, of_tenant.slots, star.slots), -1) AS slots,
        nullif(coalesce(own.rate, of_tenant.rate, star.rate), -1) AS rate,
        coalesce(own.rate_per, of_tenant.rate_per, star.rate_per, '1 second') AS rate_per,
        coalesce(own.burst, of_tenant.burst, star.burst, 1) AS burst,
        greatest(
            own.rate_since, CASE WHEN own.rate IS NULL THEN of_tenant.rate_since END,
            CASE WHEN own.rate IS NULL AND of_tenant.rate IS NULL THEN star.rate_since END
        ) AS rate_since
    FROM (
        SELECT
            account.tenant, account.name, account.gate, account.paused, account.paused_until, account.slots, account.rate,
            account.rate_per, account.burst, account.rate_since
        FROM turnstile.account
        UNION ALL
        SELECT '*', '*', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT FROM turnstile.account WHERE account.tenant = '*' AND account.name = '*')
    ) AS own
    LEFT JOIN turnstile.account AS of_tenant ON of_tenant.tenant = own.tenant AND of_tenant.name = '*'
    LEFT JOIN turnstile.account AS star ON star.tenant = '*' AND star.name = '*';
COMMENT ON VIEW turnstile.account_in_force IS
    'What holds for each account with a row, and for those without one by the row (tenant, *), else by (*, *): columns as in turnstile.account, with what is inherited. NULL: no limit.';

CREATE VIEW turnstile.concurrency_in_force AS
    SELECT
        own.key, own.gate,
        nullif(coalesce(own.slots, star.slots), -1) AS slots,
        nullif(coalesce(own.rate, star.rate), -1) AS rate,
        coalesce(own.rate_per, star.rate_per, '1 second') AS rate_per,
        coalesce(own.burst, star.burst, 1) AS burst,
        greatest(own.rate_since, CASE WHEN own.rate IS NULL THEN star.rate_since END) AS rate_since
    FROM (
        SELECT
            concurrency.key, concurrency.gate, concurrency.slots, concurrency.rate, concurrency.rate_per, concurrency.burst,
            concurrency.rate_since
        FROM turnstile.concurrency
        UNION ALL
        SELECT '*', NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT FROM turnstile.concurrency WHERE concurrency.key = '*')
    ) AS own
    LEFT JOIN turnstile.concurrency AS star ON star.key = '*';
COMMENT ON VIEW turnstile.concurrency_in_force IS
    'What is set for each concurrency key with a row, and by the row * for those without one: columns as in turnstile.concurrency, with what is inherited. NULL: no limit. What slows a key comes on top, as in concurrency_keys.';

CREATE OR REPLACE VIEW turnstile.setting_of_queue AS
    SELECT
        own.gate, CASE WHEN own.paused THEN 0 ELSE own.max_running END AS slots, own.rate,
        (extract(epoch FROM own.rate_per) * 1000000)::bigint AS rate_per, own.burst, own.paused_until,
        NULL::int AS weight, own.policy = 'fair' AS is_fair, (extract(epoch FROM own.aging) * 1000)::bigint AS aging,
        own.max_waiting, own.rate_since
    FROM turnstile.queue_in_force AS own
    WHERE own.gate IS NOT NULL;
COMMENT ON VIEW turnstile.setting_of_queue IS 'Internal. Settings of queues, with the columns of gate_setting.';

CREATE OR REPLACE VIEW turnstile.setting_of_tenant AS
    SELECT
        own.gate, CASE WHEN own.paused THEN 0 ELSE own.slots END AS slots, own.rate,
        (extract(epoch FROM own.rate_per) * 1000000)::bigint AS rate_per, own.burst, own.paused_until,
        own.weight, NULL::boolean AS is_fair, NULL::bigint AS aging, own.max_waiting, own.rate_since
    FROM turnstile.tenant_in_force AS own
    WHERE own.gate IS NOT NULL;
COMMENT ON VIEW turnstile.setting_of_tenant IS 'Internal. Settings of tenants, with the columns of gate_setting.';

CREATE OR REPLACE VIEW turnstile.setting_of_account AS
    SELECT
        own.gate, CASE WHEN own.paused THEN 0 ELSE own.slots END AS slots, own.rate,
        (extract(epoch FROM own.rate_per) * 1000000)::bigint AS rate_per, own.burst, own.paused_until,
        NULL::int AS weight, NULL::boolean AS is_fair, NULL::bigint AS aging, NULL::int AS max_waiting,
        own.rate_since
    FROM turnstile.account_in_force AS own
    WHERE own.gate IS NOT NULL;
COMMENT ON VIEW turnstile.setting_of_account IS 'Internal. Settings of accounts, with the columns of gate_setting.';

CREATE OR REPLACE VIEW turnstile.setting_of_session AS
    SELECT
        paused_session.gate, 1 AS slots, NULL::int AS rate, NULL::bigint AS rate_per, NULL::int AS burst,
        paused_session.until AS paused_until, NULL::int AS weight, NULL::boolean AS is_fair, NULL::bigint AS aging,
        NULL::int AS max_waiting, NULL::timestamptz AS rate_since
    FROM turnstile.paused_session;
COMMENT ON VIEW turnstile.setting_of_session IS 'Internal. Pauses of sessions, with the columns of gate_setting.';

COMMENT ON FUNCTION turnstile_internal.set_gate() IS
    'Sets the key of the gate of a row of settings, whatever was written there, and since when there is a rate.';

-- A row of slowed_key, or an endpoint that is paused, bends what holds for its key, and copies none of it: a key without a row of its
-- own goes on following the row *. A key whose endpoints are all paused is closed.
-- OFFSET 0: one look for each key, as of those that a gate names there are few, which the planner does not know.
CREATE OR REPLACE VIEW turnstile.setting_of_concurrency AS
    SELECT
        own.gate,
        CASE
            WHEN (SELECT bool_and(endpoint.paused) FROM turnstile.endpoint WHERE endpoint.concurrency_key = own.key) THEN 0
            WHEN slowed.one_at_a_time THEN least(own.slots, 1)
            ELSE own.slots
        END AS slots,
        own.rate, (extract(epoch FROM own.rate_per) * 1000000)::bigint AS rate_per, own.burst,
        slowed.paused_until, NULL::int AS weight, NULL::boolean AS is_fair, NULL::bigint AS aging, NULL::int AS max_waiting,
        own.rate_since
    FROM turnstile.concurrency_in_force AS own
    LEFT JOIN LATERAL (SELECT slowed_key.* FROM turnstile.slowed_key WHERE slowed_key.key = own.key OFFSET 0) AS slowed ON true
    WHERE own.gate IS NOT NULL
    UNION ALL
    SELECT
        bent.gate,
        CASE
            WHEN (SELECT bool_and(endpoint.paused) FROM turnstile.endpoint WHERE endpoint.concurrency_key = bent.key) THEN 0
            WHEN slowed.one_at_a_time THEN least(star.slots, 1)
            ELSE star.slots
        END,
        star.rate, (extract(epoch FROM star.rate_per) * 1000000)::bigint, star.burst, slowed.paused_until, NULL, NULL, NULL, NULL, star.rate_since
    FROM (
        SELECT slowed_key.key, slowed_key.gate FROM turnstile.slowed_key
        UNION
        SELECT endpoint.concurrency_key, endpoint.gate
        FROM turnstile.endpoint
        WHERE endpoint.paused AND endpoint.concurrency_key IS NOT NULL
    ) AS bent
    LEFT JOIN LATERAL (SELECT slowed_key.* FROM turnstile.slowed_key WHERE slowed_key.key = bent.key OFFSET 0) AS slowed ON true
    JOIN turnstile.concurrency_in_force AS star ON star.key = '*'
    WHERE NOT EXISTS (SELECT FROM turnstile.concurrency AS own WHERE own.key = bent.key OFFSET 0);
COMMENT ON VIEW turnstile.setting_of_concurrency IS
    'Internal. Settings of concurrency keys with what slows them, with the columns of gate_setting.';

CREATE OR REPLACE VIEW turnstile.gate_setting AS
    SELECT 0 AS kind, setting.* FROM turnstile.setting_of_queue AS setting
    UNION ALL
    SELECT 1, setting.* FROM turnstile.setting_of_tenant AS setting
    UNION ALL
    SELECT 2, setting.* FROM turnstile.setting_of_account AS setting
    UNION ALL
    SELECT 3, setting.* FROM turnstile.setting_of_session AS setting
    UNION ALL
    SELECT 4, setting.* FROM turnstile.setting_of_concurrency AS setting
    UNION ALL
    SELECT 6, setting.* FROM turnstile.setting_of_batch AS setting;
COMMENT ON VIEW turnstile.gate_setting IS
    'Internal. Rows of settings as the scheduler reads them: the number of the kind of gate (as in stored keys), the gate, how many may run at once, starts per rate_per (microseconds) and their burst, the end of a pause, the weight of a tenant, whether tenants share a queue fairly, the interval of aging in milliseconds, how many may wait, and since when there is a rate. NULL: no limit, or the default.';

ALTER TYPE turnstile.claimed_job ADD ATTRIBUTE children jsonb, ADD ATTRIBUTE attempts_left int, ADD ATTRIBUTE first_started_at timestamptz;
COMMENT ON COLUMN turnstile.claimed_job.attempt IS 'Claims of the job so far.';
COMMENT ON COLUMN turnstile.claimed_job.attempts_left IS
    'How many attempts may follow if this one fails. 0: the last one.';
COMMENT ON COLUMN turnstile.claimed_job.first_started_at IS
    'When the job was first claimed, over all attempts. NULL: before 0.2.0.';
COMMENT ON COLUMN turnstile.claimed_job.children IS
    'How the children of the job ended: {completed, discarded, cancelled}. NULL: it had none.';

DROP FUNCTION turnstile.enqueue(text, jsonb, text, text, text, text, text, int, timestamptz, int, text, text, interval, jsonb, text[]);
CREATE FUNCTION turnstile.enqueue(
    kind text,
    payload jsonb DEFAULT '{}',
    queue text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    max_attempts int DEFAULT NULL,
    unique_key text DEFAULT NULL,
    unique_mode text DEFAULT NULL,
    unique_for interval DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    unique_by text[] DEFAULT NULL,
    parent bigint DEFAULT NULL,
    after bigint[] DEFAULT NULL,
    after_any_end boolean DEFAULT false,
    after_hold boolean DEFAULT false,
    unique_states text[] DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_enqueue';
COMMENT ON FUNCTION turnstile.enqueue(text, jsonb, text, text, text, text, text, int, timestamptz, int, text, text, interval, jsonb, text[], bigint, bigint[], boolean, boolean, text[]) IS
    'Adds a job and returns its id. The job can be claimed once the transaction commits.
kind: what sort of job it is. Workers and routes decide by it. 1 to 255 bytes, like every name.
payload: what the worker needs to know. At most turnstile.max_payload, as jsonb and with all digits of its numbers.
queue: where the job waits. NULL: the queue of the parent, else that which a route gives the kind, else default.
tenant: the customer that the job belongs to. Limits, fair shares, permissions and unique keys go by tenant. NULL: that of the parent, else none.
account: a part of the tenant, which it needs, with limits of its own. NULL: that of the parent, if it is of the same tenant.
session: jobs of one queue, tenant and session run one at a time, in order.
concurrency_key: jobs that share the key share its limits, over all queues and tenants.
priority: lower runs first. NULL: that of the batch or the parent, else 0.
run_at: not before this time. NULL: now.
max_attempts: how many attempts may fail before the job is discarded. NULL: the setting of the queue.
unique_key: while another job of the tenant holds the key, no job is added and the id of that job is returned.
unique_mode: how long a job holds its key: until_executing, until_executed, until_expired, while_executing, until_and_while_executing, or replace. NULL: until_executed. Needs a unique key.
unique_for: ends the hold so long after the enqueue, at most 1000 years. Needs a unique key. until_expired needs it, and so does unique_states with a finished state.
metadata: anything that the application wants to keep with the job. At most turnstile.max_payload, as jsonb and with all digits of its numbers.
unique_by: makes the key from these columns: kind, payload, queue, tenant, account, session, concurrency_key. Excludes unique_key.
parent: the job that waits for this one: one that runs, that waits for its children, or whose batch is not open yet. Its settings in turnstile.batch hold for the job.
after: jobs that must complete first, live or in the history. If one ends otherwise, the job is discarded. One whose queue keeps no completed jobs is locked until the transaction ends: its own end waits.
after_any_end: any end of those will do. Needs after.
after_hold: where one of those ends otherwise than it should, the job stays blocked until that is retried and completes. Needs after.
unique_states: the states in which a job holds its key, available among them, instead of a mode. With finished ones it holds the key as long as job_history has it.
Errors: 22004; 22023 also a child in the session of a job that waits for it, or a job that would wait for itself; P0002 no such parent or predecessor; 55000 the parent has ended or takes no children; 54000 also more than 100 jobs that wait for each other; 42501; 53400 the backlog of the queue or tenant is full (max_waiting); 09000 a trigger has cancelled the insertion; 25006.';

COMMENT ON FUNCTION turnstile.enqueue_many(jsonb) IS
    'Adds the jobs of an array, all or none.
jobs: an array of objects, at most 100,000. Their keys are the arguments of enqueue, and ref: a name by which others of the array refer to the job in after_refs, an array of such names.
Returns: a row for each element in order, ord from 1. created is false where id is that of the job that holds the unique key.
Errors: as enqueue, naming the element; 54000 more than 100,000 elements.';

CREATE FUNCTION turnstile.enqueue_if_new(
    kind text,
    payload jsonb DEFAULT '{}',
    queue text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    max_attempts int DEFAULT NULL,
    unique_key text DEFAULT NULL,
    unique_mode text DEFAULT NULL,
    unique_for interval DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    unique_by text[] DEFAULT NULL,
    parent bigint DEFAULT NULL,
    after bigint[] DEFAULT NULL,
    after_any_end boolean DEFAULT false,
    after_hold boolean DEFAULT false,
    unique_states text[] DEFAULT NULL
) RETURNS TABLE (id bigint, created boolean)
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_enqueue_if_new';
COMMENT ON FUNCTION turnstile.enqueue_if_new(text, jsonb, text, text, text, text, text, int, timestamptz, int, text, text, interval, jsonb, text[], bigint, bigint[], boolean, boolean, text[]) IS
    'Does what enqueue does, and tells whether the job was added. created is false where id is that of the job that holds the unique key.
The arguments are those of enqueue.
Errors: as enqueue.';

CREATE FUNCTION turnstile.enqueue_batch(
    kind text,
    payload jsonb DEFAULT '{}',
    children jsonb DEFAULT '[]',
    slots int DEFAULT NULL,
    rate int DEFAULT NULL,
    rate_per interval DEFAULT NULL,
    burst int DEFAULT NULL,
    max_failed int DEFAULT NULL,
    on_end text DEFAULT 'run',
    queue text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    max_attempts int DEFAULT NULL,
    unique_key text DEFAULT NULL,
    unique_mode text DEFAULT NULL,
    unique_for interval DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    unique_by text[] DEFAULT NULL,
    parent bigint DEFAULT NULL,
    after bigint[] DEFAULT NULL,
    after_any_end boolean DEFAULT false,
    after_hold boolean DEFAULT false,
    unique_states text[] DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_enqueue_batch';
COMMENT ON FUNCTION turnstile.enqueue_batch(text, jsonb, jsonb, int, int, interval, int, int, text, text, text, text, text, text, int, timestamptz, int, text, text, interval, jsonb, text[], bigint, bigint[], boolean, boolean, text[]) IS
    'Adds a job with children, all or none, and returns its id. The children start when the turn of the job has come in its session; the job itself goes on when no child is live any more. More children can be added meanwhile.
kind: that of the job, which runs as the callback of its children.
payload: that of the job.
children: an array as for enqueue_many, without parent. They take queue, tenant, account and priority from the job unless they name their own.
slots: how many children may run at once. NULL: no limit.
rate: how many children may start within rate_per. NULL: no limit.
rate_per: the interval that rate, which it needs, is for. NULL: 1 second.
burst: how many may start at once after a quiet time. Needs rate. NULL: 1.
max_failed: when more children are discarded, no other starts, and the rest is cancelled. NULL: any number.
on_end: run: the job runs when its children have ended, and claimed_job.children says how. run_if_all_completed: the same, but it is discarded unless all completed. complete: it completes without a run.
The other arguments are those of enqueue, for the job itself. Where another job holds its unique key, the id of that is returned, and no child is added.
Errors: as enqueue and enqueue_many.';

CREATE FUNCTION turnstile.await_children(job_id bigint, attempt int) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_await_children';
COMMENT ON FUNCTION turnstile.await_children(bigint, int) IS
    'Ends a run whose job waits for its children from now on, and returns true: the job is blocked, and can be claimed again when no child is live any more. The attempt does not count. Returns false if no child is live, and the run goes on.
job_id: as for complete. Children were added with it as their parent.
attempt: as for complete.
Errors: 22004; P0002; 55000 the run was superseded; 42501; 25006.';

CREATE PROCEDURE turnstile.wait_for_end(job_id bigint, timeout interval)
    LANGUAGE c
    AS 'MODULE_PATHNAME', 'turnstile_wait_for_end';
COMMENT ON PROCEDURE turnstile.wait_for_end(bigint, interval) IS
    'Sleeps until a job has ended, or until the timeout. It looks ten times a second. A job that is no more, because it was deleted or its queue keeps no completed jobs, has ended. Meanwhile the session holds no snapshot and no transaction id. CALL it by itself, with autocommit on.
job_id: a job, live or finished.
timeout: 0 or more, at most 100 years.
Errors: 22004; 22023; P0002; 25001 inside a transaction block or a function; 42501.';

DROP FUNCTION turnstile.cancel_many(text, text, text, text, text, text, interval, int);
CREATE FUNCTION turnstile.cancel_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000,
    parent bigint DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    error text DEFAULT NULL,
    ended_before timestamptz DEFAULT NULL,
    first_id bigint DEFAULT NULL,
    last_id bigint DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_cancel_many';
COMMENT ON FUNCTION turnstile.cancel_many(text, text, text, text, text, text, interval, int, bigint, text, jsonb, text, timestamptz, bigint, bigint) IS
    'Does what cancel does for up to max_jobs live jobs, and returns how many were cancelled or asked to stop. Call it again until it returns 0. Jobs that another transaction has locked are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind. * in it stands for any text, as in routes.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: available, scheduled, retryable, blocked or running.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
parent: only children of this job.
concurrency_key: only jobs with this key.
metadata: only jobs whose metadata contain this.
error: only jobs whose last error begins with this. This and metadata need the permission see, too.
ended_before: only jobs whose last run failed before this time.
first_id, last_id: only jobs with ids from the one to the other. Where few of very many match, calls for one range after the other read each job once.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 09000; 25006.';

DROP FUNCTION turnstile.discard_many(text, text, text, text, text, text, interval, int);
CREATE FUNCTION turnstile.discard_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000,
    parent bigint DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    error text DEFAULT NULL,
    ended_before timestamptz DEFAULT NULL,
    first_id bigint DEFAULT NULL,
    last_id bigint DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_discard_many';
COMMENT ON FUNCTION turnstile.discard_many(text, text, text, text, text, text, interval, int, bigint, text, jsonb, text, timestamptz, bigint, bigint) IS
    'Does what discard does for up to max_jobs waiting jobs, and returns how many. Call it again until it returns 0. Jobs that another transaction has locked are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind. * in it stands for any text, as in routes.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: available, scheduled, retryable or blocked.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
parent: only children of this job.
concurrency_key: only jobs with this key.
metadata: only jobs whose metadata contain this.
error: only jobs whose last error begins with this. This and metadata need the permission see, too.
ended_before: only jobs whose last run failed before this time.
first_id, last_id: only jobs with ids from the one to the other. Where few of very many match, calls for one range after the other read each job once.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.delete_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000,
    parent bigint DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    error text DEFAULT NULL,
    ended_before timestamptz DEFAULT NULL,
    first_id bigint DEFAULT NULL,
    last_id bigint DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_delete_many';
COMMENT ON FUNCTION turnstile.delete_many(text, text, text, text, text, text, interval, int, bigint, text, jsonb, text, timestamptz, bigint, bigint) IS
    'Deletes up to max_jobs finished jobs from the history, with all that it has of them, and returns how many. Call it again until it returns 0. Passes over jobs that another transaction has locked, children of a live parent, jobs that a live one comes after, and days that are foreign tables. A unique key stays held until its window is over.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind. * in it stands for any text, as in routes.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: completed, cancelled or discarded.
older_than: only jobs that ended longer ago than this.
max_jobs: 0 or more.
parent: only children of this job.
concurrency_key: only jobs with this key.
metadata: only jobs whose metadata contain this.
error: only jobs whose last error begins with this. This and metadata need the permission see, too.
ended_before: only jobs that ended before this time.
first_id, last_id: only jobs with ids from the one to the other. Where few of very many match, calls for one range after the other read each job once.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 25006.';

DROP FUNCTION turnstile.retry_many(text, text, text, text, text, text, interval, int);
CREATE FUNCTION turnstile.retry_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000,
    parent bigint DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    error text DEFAULT NULL,
    ended_before timestamptz DEFAULT NULL,
    first_id bigint DEFAULT NULL,
    last_id bigint DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_retry_many';
COMMENT ON FUNCTION turnstile.retry_many(text, text, text, text, text, text, interval, int, bigint, text, jsonb, text, timestamptz, bigint, bigint) IS
    'Does what retry does for up to max_jobs jobs, and returns how many. Call it again until it returns 0. Jobs that another transaction has locked, and those whose unique key another job holds, are skipped.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind. * in it stands for any text, as in routes.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: scheduled, retryable, completed, cancelled or discarded. NULL: retryable, cancelled and discarded.
older_than: only jobs that were enqueued longer ago than this; finished jobs: that ended longer ago.
max_jobs: 0 or more.
parent: only children of this job.
concurrency_key: only jobs with this key.
metadata: only jobs whose metadata contain this.
error: only jobs whose last error begins with this. This and metadata need the permission see, too.
ended_before: only jobs whose last run failed before this time; finished jobs: that ended before. With the time at which a loop begins, it retries nothing twice.
first_id, last_id: only jobs with ids from the one to the other. Where few of very many match, calls for one range after the other read each job once.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 53400 a finished job has no place in a backlog with a bound (max_waiting); 09000; 25006.';

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

CREATE OR REPLACE FUNCTION turnstile.complete_and_claim_next(
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

COMMENT ON FUNCTION turnstile.complete(bigint, int, jsonb) IS
    'Ends a run with success. Returns true, or false if this run was completed before. If its queue keeps no completed jobs (queue.keep_completed of 0), the job is gone then, and another call gets P0002.
job_id: with attempt, the run.
attempt: as the claim returned it.
result: anything to keep with the finished job, if its queue keeps completed jobs. At most turnstile.max_payload, as jsonb and with all digits of its numbers.
Errors: 22004; 54000; P0002; 55000 the run was superseded; 42501; 09000 a trigger has cancelled the deletion; 25006.';
COMMENT ON FUNCTION turnstile.claim_next(text, text, interval, boolean, interval) IS
    'Claims the eligible job of a queue with the least (priority, position). Returns that job, or no row.
queue: * stands for all queues that the caller may work on.
worker: a name for the worker, kept in job.worker.
lease: how long the run counts as alive without a heartbeat. More than 0, at most 100 years. NULL: the setting of the queue.
bind_to_connection: the run fails with the error "connection lost" as soon as the backend of this connection is gone.
wait: sleeps up to this long until there is a job. A call that has looked after other jobs in passing may return no row sooner: commit and claim again. The snapshot of the statement stays open meanwhile; wait_for_job avoids that.
Errors: 22004; 22023; 54000; 42501; 0A000 in a SERIALIZABLE transaction; 55000 the transaction has rewritten a table of the extension; 25006.';

COMMENT ON FUNCTION turnstile.cancel(bigint) IS
    'Cancels a job that waits, and returns "cancelled"; or asks a run to stop, and returns "running". The worker learns it from heartbeat, progress or complete. The job ends as cancelled if the run then fails, is released, snoozed or rescued, and as completed if it completes.
job_id: a live job, or one that is cancelled already.
Errors: 22004; P0002; 55000 the job is completed or discarded; 42501; 09000; 25006.';

COMMENT ON FUNCTION turnstile.discard(bigint, int, text) IS
    'Ends a job for good as a failure, and returns its state, "discarded".
job_id: the job.
attempt: ends that run, as fail(discard => true) does. NULL: ends a job that waits.
error: kept in job.errors; cut after 4,000 characters.
Errors: 22004; P0002; 55000 the run was superseded, or the job runs or has ended otherwise; 42501; 09000; 25006.';

COMMENT ON FUNCTION turnstile.retry(bigint) IS
    'Makes a scheduled, retryable or finished job available now, and returns "available". A finished job comes back under its id with payload and errors. Its attempt numbers go on, with all of max_attempts before it; its row in history stays.
job_id: a job that does not run.
Errors: 22004; P0002; 55000 the job runs, or another job holds its unique key; 42501; 53400 a finished job has no place in a backlog with a bound (max_waiting); 09000; 25006.';

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

DROP FUNCTION turnstile.complete_many(bigint[], int[]);
CREATE FUNCTION turnstile.complete_many(job_ids bigint[], attempts int[], results jsonb[] DEFAULT NULL) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_complete_many';
COMMENT ON FUNCTION turnstile.complete_many(bigint[], int[], jsonb[]) IS
    'Ends many runs with success and returns how many took effect. Superseded and repeated ones are left alone and not counted.
job_ids: at most 100,000.
attempts: one for each job id.
results: one for each job id, as result of complete. NULL, and an element that is NULL: none.
Errors: 22004; 22023 arrays that differ in length; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.fail_many(
    job_ids bigint[],
    attempts int[],
    errors text[] DEFAULT NULL,
    retry_in interval[] DEFAULT NULL,
    discard boolean[] DEFAULT NULL,
    error_classes text[] DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_fail_many';
COMMENT ON FUNCTION turnstile.fail_many(bigint[], int[], text[], interval[], boolean[], text[]) IS
    'Ends many runs with failure, each as fail does, and returns how many took effect. Superseded ones, those that have ended, and those that are not the caller''s to end are left alone and not counted.
job_ids: at most 100,000.
attempts: one for each job id.
errors: one for each job id. NULL, and an element that is NULL: none.
retry_in: one for each job id, as for fail. NULL, and an element that is NULL: the backoff of the queue.
discard: one for each job id: no other attempt follows. NULL, and an element that is NULL: false.
error_classes: one for each job id, as error_class for fail. NULL, and an element that is NULL: none.
Errors: 22004; 22023 also arrays that differ in length; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.heartbeat_many(
    job_ids bigint[], attempts int[], lease interval DEFAULT NULL, unbind boolean DEFAULT false
) RETURNS TABLE (ord int, job_id bigint, status text)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_heartbeat_many';
COMMENT ON FUNCTION turnstile.heartbeat_many(bigint[], int[], interval, boolean) IS
    'Does heartbeat for many runs. Returns a row for each in the order given, ord from 1. status is running: the lease was extended, or another transaction has locked the job, which is not rescued meanwhile; cancel_requested: that too, and the run should stop; lost: the run was superseded or has ended, there is no such job, or the caller may not work on its queue.
job_ids: at most 100,000.
attempts: one for each job id.
lease: as for heartbeat, for all of them.
unbind: as for heartbeat, for all of them.
Errors: 22004; 22023 also arrays that differ in length; 54000; 09000; 25006.';

DROP FUNCTION turnstile.heartbeat(bigint, int, interval);
CREATE FUNCTION turnstile.heartbeat(job_id bigint, attempt int, lease interval DEFAULT NULL, unbind boolean DEFAULT false)
    RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_heartbeat';
COMMENT ON FUNCTION turnstile.heartbeat(bigint, int, interval, boolean) IS
    'Extends the lease of a run. Returns true, or false if the cancellation of the run was requested: it should stop.
job_id: as for complete.
attempt: as for complete.
lease: the lease ends so long from now. More than 0, at most 100 years. NULL: what the claim asked for, else the setting of the queue.
unbind: the run is no longer bound to a connection: when that ends, the run goes on until its lease does.
Errors: 22004; 22023; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.pause_concurrency(key text, until timestamptz DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('key', pause_concurrency.key);
    PERFORM turnstile.check_permission('manage');
    -- Pauses that ended by themselves have left their rows. A row that another transaction has locked stays.
    DELETE FROM turnstile.slowed_key AS ended
    WHERE ended.key = ANY (ARRAY(
        SELECT slowed.key
        FROM turnstile.slowed_key AS slowed
        WHERE NOT slowed.one_at_a_time AND coalesce(slowed.paused_until, '-infinity') < statement_timestamp()
        ORDER BY coalesce(slowed.paused_until, '-infinity')
        LIMIT 100
        FOR UPDATE SKIP LOCKED
    ));
    INSERT INTO turnstile.slowed_key AS slowed (key, paused_until)
    VALUES (pause_concurrency.key, coalesce(pause_concurrency.until, 'infinity'))
    ON CONFLICT ON CONSTRAINT slowed_key_pkey DO UPDATE SET paused_until = excluded.paused_until;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.pause_concurrency(text, timestamptz) IS
    'No job of the concurrency key starts, from the next claim after the commit on. Runs go on.
key: the concurrency key, not *.
until: the pause ends at this time by itself. NULL: when it is resumed.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.resume_concurrency(key text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
BEGIN
    PERFORM turnstile_internal.check_name('key', resume_concurrency.key);
    PERFORM turnstile.check_permission('manage');
    DELETE FROM turnstile.slowed_key AS slowed WHERE slowed.key = resume_concurrency.key COLLATE "default";
END
$function$;
COMMENT ON FUNCTION turnstile.resume_concurrency(text) IS
    'Ends a pause and a trial of the concurrency key. An endpoint that is paused stays so.
key: the concurrency key.
Errors: 22004; 22023; 54000; 42501.';

-- Endpoints, changed while everything runs.

CREATE FUNCTION turnstile.endpoint_of(kind text)
    RETURNS TABLE (
        pattern text, url text, method text, headers jsonb, timeout interval, mode text, permanent_status int[], concurrency_key text,
        secret text, allow_private boolean, keep_response boolean, cloudevents boolean, trial_after int, paused boolean, on_trial boolean
    )
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_endpoint_of';
COMMENT ON FUNCTION turnstile.endpoint_of(text) IS
    'Returns the endpoint that applies to a kind, with the columns of turnstile.endpoint; on_trial: jobs of its host run one at a time. No row: there is none. For who may work on some queue, or manage some jobs: these see the endpoint of any kind.
kind: as for enqueue.
Errors: 22004; 22023; 54000; 42501; 25006.';

CREATE FUNCTION turnstile.report_endpoint(job_id bigint, attempt int, answer text, pause interval DEFAULT NULL) RETURNS void
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_report_endpoint';
COMMENT ON FUNCTION turnstile.report_endpoint(bigint, int, text, interval) IS
    'Says how the endpoint of a run fares, for all dispatchers, from the next claim after the commit on. Nothing happens where the kind has no endpoint any more or, but for gone, where the endpoint has no concurrency key. The run goes on. The kind is the producer''s word: who may add and work jobs of any one queue can report on the endpoint of any kind, and so on its host.
job_id: as for complete.
attempt: as for complete.
answer: works: jobs of the host are no longer on trial. failing: they run one at a time until it works, unless trial_after is 0. busy: none starts for the time of pause. gone: the endpoint is paused.
pause: for busy, which it needs, more than 0, at most 24 hours. A longer pause is not shortened.
Errors: 22004; 22023; P0002; 55000 the run was superseded; 42501; 25006.';

COMMENT ON FUNCTION turnstile.reroute(text, int, text) IS
    'Moves waiting jobs to the queue and concurrency key that the routes now give their kinds, oldest first, and returns how many. Call it again until it returns 0. Position and priority stay. Running jobs, jobs that hold their session while they wait for their children, and jobs that another transaction has locked are not moved; nor, with a WARNING, those that would come into the session of a job that waits for them, or for which they wait. A call reads all live jobs.
pattern: moves the jobs of kinds that match. * stands for any number of characters.
max_jobs: 0 or more.
from_queue: moves only jobs of this queue. NULL: of all queues.
Errors: 22004; 22023; 54000; 42501; 25006.';

CREATE FUNCTION turnstile.set_endpoint(
    pattern text,
    url text DEFAULT NULL,
    method text DEFAULT NULL,
    headers jsonb DEFAULT NULL,
    timeout interval DEFAULT NULL,
    mode text DEFAULT NULL,
    permanent_status int[] DEFAULT NULL,
    key_by_host boolean DEFAULT NULL,
    secret text DEFAULT NULL,
    allow_private boolean DEFAULT NULL,
    keep_response boolean DEFAULT NULL,
    cloudevents boolean DEFAULT NULL,
    trial_after int DEFAULT NULL,
    paused boolean DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.endpoint
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.endpoint;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('pattern', set_endpoint.pattern);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_clear(set_endpoint.clear, 'timeout', 'secret');
    INSERT INTO turnstile.endpoint (pattern, url)
    SELECT set_endpoint.pattern, set_endpoint.url
    WHERE set_endpoint.url IS NOT NULL
    ON CONFLICT DO NOTHING;
    UPDATE turnstile.endpoint
    SET url = coalesce(set_endpoint.url, url),
        method = coalesce(set_endpoint.method, method),
        headers = coalesce(set_endpoint.headers, headers),
        timeout = turnstile_internal.changed_setting('timeout', set_endpoint.clear, set_endpoint.timeout, timeout),
        mode = coalesce(set_endpoint.mode, mode),
        permanent_status = coalesce(set_endpoint.permanent_status, permanent_status),
        key_by_host = coalesce(set_endpoint.key_by_host, key_by_host),
        secret = turnstile_internal.changed_setting('secret', set_endpoint.clear, set_endpoint.secret, secret),
        allow_private = coalesce(set_endpoint.allow_private, allow_private),
        keep_response = coalesce(set_endpoint.keep_response, keep_response),
        cloudevents = coalesce(set_endpoint.cloudevents, cloudevents),
        trial_after = coalesce(set_endpoint.trial_after, trial_after),
        paused = coalesce(set_endpoint.paused, paused)
    WHERE pattern = set_endpoint.pattern COLLATE "default"
    RETURNING * INTO made;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'url must not be null' USING ERRCODE = '22004',
            DETAIL = format('There is no endpoint "%s" yet.', set_endpoint.pattern), HINT = 'Say where its jobs are sent.';
    END IF;
    -- No success will end a trial of a key that no endpoint has any more.
    UPDATE turnstile.slowed_key
    SET one_at_a_time = false
    WHERE one_at_a_time AND NOT EXISTS (
        SELECT FROM turnstile.endpoint WHERE endpoint.concurrency_key = slowed_key.key AND endpoint.trial_after > 0
    );
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_endpoint(text, text, text, jsonb, interval, text, int[], boolean, text, boolean, boolean, boolean, int, boolean, text[]) IS
    'Makes or changes an endpoint. Returns its row. NULL leaves a column as it is. Jobs that are enqueued after the commit get the key of its host; reroute() gives it to those that wait.
pattern: the kinds that the endpoint is for. * stands for any number of characters.
url: needed for a new endpoint.
clear: columns to set to NULL: timeout, secret.
The other arguments are the columns of turnstile.endpoint.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.drop_endpoint(pattern text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile_internal.check_name('pattern', drop_endpoint.pattern);
    PERFORM turnstile.check_permission('manage');
    DELETE FROM turnstile.endpoint WHERE endpoint.pattern = drop_endpoint.pattern COLLATE "default";
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- As set_endpoint().
    UPDATE turnstile.slowed_key
    SET one_at_a_time = false
    WHERE one_at_a_time AND NOT EXISTS (
        SELECT FROM turnstile.endpoint WHERE endpoint.concurrency_key = slowed_key.key AND endpoint.trial_after > 0
    );
    RETURN true;
END
$function$;
COMMENT ON FUNCTION turnstile.drop_endpoint(text) IS
    'Drops an endpoint. Returns false if there is none. Jobs that wait keep their concurrency key.
pattern: as for set_endpoint.
Errors: 22004; 22023; 54000; 42501.';

CREATE OR REPLACE FUNCTION turnstile_internal.check_clear(clear text[], VARIADIC columns text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF NOT clear <@ columns OR EXISTS (SELECT FROM unnest(clear) AS name WHERE name IS NULL) THEN
        RAISE EXCEPTION 'clear names a column that cannot be NULL' USING ERRCODE = '22023',
            DETAIL = format('It is %s.', clear), HINT = format('Columns that can: %s.', array_to_string(columns, ', '));
    END IF;
END
$function$;

CREATE FUNCTION turnstile_internal.check_rate(rate int, rate_per interval, burst int) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF rate IS NULL AND (rate_per IS NOT NULL OR burst IS NOT NULL) THEN
        RAISE EXCEPTION '% needs a rate', CASE WHEN rate_per IS NULL THEN 'burst' ELSE 'rate_per' END USING ERRCODE = '22023',
            DETAIL = 'There is no rate, and none is given or inherited.', HINT = 'Say how many may start, or leave it out.';
    END IF;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.check_rate(int, interval, int) IS
    'For the setters: refuses rate_per and burst, as they were given, where the rate that will hold is NULL: 22023.';

CREATE FUNCTION turnstile.set_batch(
    id bigint,
    slots int DEFAULT NULL,
    rate int DEFAULT NULL,
    rate_per interval DEFAULT NULL,
    burst int DEFAULT NULL,
    paused boolean DEFAULT NULL,
    priority int DEFAULT NULL,
    max_failed int DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.batch
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.batch;
    broken text;
BEGIN
    IF set_batch.id IS NULL THEN
        RAISE EXCEPTION 'id must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "id" is NULL.', HINT = 'Pass the id of the parent.';
    END IF;
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_clear(set_batch.clear, 'slots', 'rate', 'burst', 'paused_until', 'priority', 'max_failed');
    -- A live job that waits for children of an ordinary run has no row yet.
    INSERT INTO turnstile.batch (id, opened_at)
    SELECT live.id, clock_timestamp()
    FROM turnstile.job_status AS live
    WHERE live.id = set_batch.id AND live.finished_at IS NULL AND live.state IN ('running', 'blocked') AND live.opens_batch IS NOT TRUE
    ON CONFLICT ON CONSTRAINT batch_pkey DO NOTHING;
    UPDATE turnstile.batch
    SET slots = turnstile_internal.changed_setting('slots', set_batch.clear, set_batch.slots, slots),
        rate = turnstile_internal.changed_setting('rate', set_batch.clear, set_batch.rate, rate),
        rate_per = coalesce(set_batch.rate_per, rate_per),
        burst = turnstile_internal.changed_setting('burst', set_batch.clear, set_batch.burst, burst),
        paused = coalesce(set_batch.paused, paused),
        paused_until = turnstile_internal.changed_setting('paused_until', set_batch.clear, NULL, paused_until),
        priority = turnstile_internal.changed_setting('priority', set_batch.clear, set_batch.priority, priority),
        max_failed = turnstile_internal.changed_setting('max_failed', set_batch.clear, set_batch.max_failed, max_failed)
    WHERE id = set_batch.id AND EXISTS (
        SELECT FROM turnstile.job_status
        WHERE job_status.id = set_batch.id AND job_status.finished_at IS NULL
    )
    RETURNING * INTO made;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no live batch %', set_batch.id USING ERRCODE = 'P0002',
            DETAIL = 'No live job with a row of turnstile.batch has this id.',
            HINT = 'A batch is named by the id that enqueue_batch returned, or by that of a job that has called await_children.';
    END IF;
    IF num_nonnulls(set_batch.rate_per, set_batch.burst) > 0 THEN
        PERFORM turnstile_internal.check_rate(made.rate, set_batch.rate_per, set_batch.burst);
    END IF;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_batch(bigint, int, int, interval, int, boolean, int, int, text[]) IS
    'Changes settings of a batch, from the next claim after the commit on, and returns its row. NULL leaves a column as it is.
id: the parent.
priority: that of all its live children and of those that come. Children that are waiting get it in short transactions, by claims and a background worker.
clear: columns to set to NULL: slots, rate, burst, paused_until, priority, max_failed.
rate_per, burst: they need a rate.
The other arguments are the columns of turnstile.batch.
Errors: 22004; 22023; P0002 no such batch, or it has ended; 42501.';

CREATE FUNCTION turnstile.batch_results(id bigint)
    RETURNS TABLE (id bigint, kind text, payload jsonb, state text, result jsonb, error text)
    LANGUAGE c STABLE ROWS 1000
    AS 'MODULE_PATHNAME', 'turnstile_batch_results';
COMMENT ON FUNCTION turnstile.batch_results(bigint) IS
    'Gives the children of a job, live and ended, by id. Ended ones are there as long as their day is in history.
id: the parent. The caller must be one that may work on it or see it.
Returns: the child; result: what its worker passed to complete; error: what its last failed attempt said, unless it completed.
Errors: 22004; P0002 no such job; 42501.';

CREATE OR REPLACE VIEW turnstile.my_jobs WITH (security_barrier) AS
    WITH mine AS MATERIALIZED (
        SELECT permission.queue, permission.tenant
        FROM turnstile.permission
        WHERE permission.verb IN ('see', '*') AND pg_catalog.pg_has_role(permission.role, 'USAGE')
        UNION ALL
        SELECT '*', '*'
        FROM pg_catalog.pg_class
        WHERE pg_class.oid = 'turnstile.job'::pg_catalog.regclass AND pg_catalog.pg_has_role(pg_class.relowner, 'USAGE')
    )
    SELECT jobs.*
    FROM turnstile.jobs
    WHERE EXISTS (
        SELECT
        FROM mine
        WHERE mine.queue IN (jobs.queue, '*') AND (mine.tenant = '*' OR mine.tenant = jobs.tenant)
    );
COMMENT ON VIEW turnstile.my_jobs IS
    'The jobs, live and finished, that the caller may see: those of queues and tenants for which it has the permission see. A security barrier.';

CREATE VIEW turnstile.dead_jobs WITH (security_barrier) AS
    SELECT dead.*
    FROM turnstile.my_jobs AS dead
    WHERE dead.state = 'discarded'
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job AS live WHERE live.id = dead.id)
        AND NOT EXISTS (
            SELECT
            FROM turnstile.job_history AS later
            WHERE later.id = dead.id AND later.finished_at > dead.finished_at
        );
COMMENT ON VIEW turnstile.dead_jobs IS
    'The jobs that were discarded and not brought back since, of those that the caller may see (my_jobs): the dead letters. A security barrier.';

CREATE OR REPLACE VIEW turnstile.job_status AS
    SELECT
        jobs.id, jobs.state, jobs.queue, jobs.kind, jobs.tenant, jobs.account, jobs.session, jobs.concurrency_key,
        jobs.priority, jobs.run_at, jobs.attempt, jobs.max_attempts, jobs.uncounted, jobs.worker, jobs.claimed_at,
        jobs.lease_expires_at, jobs.cancel_requested_at, jobs.unique_key, jobs.unique_mode, jobs.unique_until,
        jobs.holds_session, jobs.lane, jobs.lane_group, jobs.position, jobs.owner_pid, jobs.created_at, jobs.finished_at,
        jobs.queued_at, jobs.started_at, jobs.waiting, jobs.running, jobs.parent, jobs.opens_batch, jobs.children,
        jobs.has_followers, jobs.lease, jobs.unique_states, jobs.first_started_at, jobs.waited, jobs.waits_for
    FROM turnstile.jobs;
COMMENT ON VIEW turnstile.job_status IS
    'All jobs, live and finished, without payload, result, metadata, progress and errors.';

CREATE VIEW turnstile.dependencies AS
    SELECT dependency.predecessor, dependency.job, dependency.any_end, dependency.holds
    FROM turnstile.dependency;
COMMENT ON VIEW turnstile.dependencies IS
    'What blocked jobs come after, by ids alone. A row goes when its predecessor has ended as it should.';
COMMENT ON COLUMN turnstile.dependencies.predecessor IS 'The job that must end first.';
COMMENT ON COLUMN turnstile.dependencies.job IS 'The job that comes after it.';
COMMENT ON COLUMN turnstile.dependencies.any_end IS
    'Any end of the predecessor will do. Otherwise it must complete, and another end discards the job.';
COMMENT ON COLUMN turnstile.dependencies.holds IS
    'Where the predecessor ends otherwise than it should, the job stays blocked until it is brought back and completes.';

CREATE OR REPLACE FUNCTION turnstile_internal.finish_partition(partition regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET default_tablespace = ''
AS $function$
DECLARE
    grantee text;
BEGIN
    -- DDL takes no parameters.
    EXECUTE pg_catalog.format(
        'CREATE INDEX ON %1$s (id);
         CREATE INDEX ON %1$s USING brin (finished_at) WITH (autosummarize = on);
         CREATE INDEX ON %1$s (parent, state) WHERE parent IS NOT NULL;
         ALTER TABLE %1$s REPLICA IDENTITY FULL;
         REVOKE ALL ON TYPE %1$s FROM PUBLIC',
        partition
    );
    PERFORM pg_catalog.brin_desummarize_range(indexrelid, 0)
    FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = partition AND relam = (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'brin');
    FOR grantee IN
        SELECT DISTINCT CASE WHEN given.grantee = 0 THEN 'PUBLIC' ELSE given.grantee::regrole::text END
        FROM pg_catalog.pg_class, pg_catalog.aclexplode(relacl) AS given
        WHERE pg_class.oid = partition AND given.grantee <> relowner
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON TABLE %s FROM %s CASCADE', partition, grantee);
    END LOOP;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.finish_partition(regclass) IS
    'For make_history_partitions(): gives a new partition its indexes and its replica identity, and revokes what default privileges granted.';

CREATE OR REPLACE FUNCTION turnstile_internal.read_history(partition regclass, first_block bigint, blocks int, looking boolean) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
AS $function$
DECLARE
    -- A partition's name cannot be a parameter.
    found_rows constant text := pg_catalog.format(
        'SELECT history.ctid
         FROM %s AS history
         LEFT JOIN turnstile.queue_in_force AS own ON own.name = history.queue
         LEFT JOIN turnstile.queue_in_force AS rest ON rest.name = ''*''
         CROSS JOIN LATERAL (SELECT CASE
             WHEN own.name IS NULL AND history.state = ''completed'' THEN rest.keep_completed
             WHEN own.name IS NULL THEN rest.keep_discarded
             WHEN history.state = ''completed'' THEN own.keep_completed
             ELSE own.keep_discarded
         END) AS setting (keep)
         WHERE history.ctid >= $1 AND history.ctid < $2
             AND (
                 coalesce(now() - (date_trunc(''day'', history.finished_at) + interval ''1 day'') >= keep, false)
                 AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = history.parent AND job.waits_for = ''jobs'')
             ) = $3',
        partition
    );
    first_row constant tid := pg_catalog.format('(%s,0)', first_block);
    end_row constant tid := pg_catalog.format('(%s,0)', first_block + blocks);
    affected bigint;
BEGIN
    IF looking THEN
        EXECUTE pg_catalog.format('SELECT count(*) FROM (%s LIMIT 1) AS stays', found_rows)
        INTO affected USING first_row, end_row, false;
    ELSE
        EXECUTE pg_catalog.format('DELETE FROM %s WHERE ctid = ANY (ARRAY (%s))', partition, found_rows)
        USING first_row, end_row, true;
        GET DIAGNOSTICS affected = ROW_COUNT;
    END IF;
    RETURN affected;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.read_history(regclass, bigint, int, boolean) IS
    'For maintain(): with looking, 1 if a row in these blocks stays, else 0; without, deletes the rows that are over and returns how many.';

CREATE FUNCTION turnstile_internal.has_awaited_children(partition regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    found boolean;
BEGIN
    -- A partition's name cannot be a parameter.
    EXECUTE pg_catalog.format(
        'SELECT EXISTS (
             SELECT FROM turnstile.job
             WHERE job.waits_for = ''jobs'' AND EXISTS (SELECT FROM %s AS ended WHERE ended.parent = job.id)
         )',
        partition
    ) INTO found;
    RETURN found;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.has_awaited_children(regclass) IS
    'For maintain(): whether a day of the history has children of a job that still waits for others.';

CREATE FUNCTION turnstile_internal.prune_batches() RETURNS bigint
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    WITH some_batches AS MATERIALIZED (
        SELECT batch.id
        FROM turnstile.batch
        WHERE batch.id >= (SELECT (random() * max(last.id))::bigint FROM turnstile.batch AS last)
        ORDER BY batch.id
        LIMIT 1000
    ), some_dependencies AS MATERIALIZED (
        SELECT dependency.predecessor, dependency.job
        FROM turnstile.dependency
        WHERE dependency.predecessor >= (SELECT (random() * max(last.predecessor))::bigint FROM turnstile.dependency AS last)
        ORDER BY dependency.predecessor
        LIMIT 1000
    ), pruned_batches AS (
        DELETE FROM turnstile.batch
        USING some_batches
        WHERE batch.id = some_batches.id
            AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = batch.id)
            AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.parent = batch.id)
            AND NOT EXISTS (SELECT FROM turnstile.job_history WHERE job_history.id = batch.id)
        RETURNING batch.id
    ), pruned_dependencies AS (
        DELETE FROM turnstile.dependency
        USING some_dependencies
        WHERE dependency.predecessor = some_dependencies.predecessor AND dependency.job = some_dependencies.job
            AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = dependency.job)
        RETURNING dependency.job
    )
    SELECT (SELECT count(*) FROM pruned_batches) + (SELECT count(*) FROM pruned_dependencies)
$function$;
COMMENT ON FUNCTION turnstile_internal.prune_batches() IS
    'For maintain(): deletes settings of batches whose parent is in history no more, and dependencies of jobs that have ended. Returns how many rows.';

CREATE OR REPLACE FUNCTION turnstile_internal.run_task(task text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    attachable constant bigint := 64 * 1024 * 1024;
BEGIN
    CASE task
        WHEN 'rescue' THEN
            RETURN turnstile.rescue();
        WHEN 'promote' THEN
            RETURN turnstile.promote();
        WHEN 'fire recurring' THEN
            RETURN turnstile.fire_recurring();
        WHEN 'thin history' THEN
            RETURN turnstile_internal.thin_history();
        WHEN 'prune unique keys' THEN
            RETURN turnstile.prune_unique_keys();
        WHEN 'prune batches' THEN
            RETURN turnstile_internal.prune_batches();
        WHEN 'make partitions' THEN
            -- A dump restores it last of all partitions. One that exists before would be in the way of the others.
            IF pg_catalog.to_regclass('turnstile.job_history_default') IS NULL THEN
                RAISE EXCEPTION 'history has no default partition' USING ERRCODE = '55000',
                    DETAIL = 'There is no turnstile.job_history_default.',
                    HINT = 'If a dump is being restored, wait for the end. Otherwise run SELECT turnstile.make_history_partitions().';
            END IF;
            IF turnstile_internal.missing_history_days(7) IS NOT NULL
                AND pg_catalog.pg_relation_size('turnstile.job_history_default') > attachable
            THEN
                RAISE EXCEPTION 'default partition of the history is too large'
                    USING ERRCODE = '55000',
                    DETAIL = pg_catalog.format('It has %s. Attaching a partition reads all of it.', pg_catalog.pg_size_pretty(
                        pg_catalog.pg_relation_size('turnstile.job_history_default')
                    )),
                    HINT = 'Run SELECT turnstile.make_history_partitions() at a quiet time: ends of runs wait while it reads the default partition, once for each missing day.';
            END IF;
            RETURN turnstile.make_history_partitions(7);
        WHEN 'drop partitions' THEN
            RETURN turnstile_internal.drop_history();
    END CASE;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.run_task(text) IS
    'For maintain(): runs one task and returns how much it did.';

INSERT INTO turnstile.maintain_task (name) VALUES ('prune batches') ON CONFLICT DO NOTHING;

CREATE OR REPLACE FUNCTION turnstile.maintain() RETURNS TABLE (task text, affected bigint)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 10
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '50ms'
AS $function$
DECLARE
    why text;
    hint text;
BEGIN
    IF pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'cannot run maintain() in a read-only transaction' USING ERRCODE = '25006',
            DETAIL = 'The server is in recovery or the transaction is read-only.', HINT = 'Run it on the primary.';
    END IF;
    FOREACH task IN ARRAY ARRAY['thin history', 'prune unique keys', 'prune batches', 'rescue', 'promote', 'fire recurring', 'make partitions', 'drop partitions'] LOOP
        affected := 0;
        BEGIN
            PERFORM FROM turnstile.maintain_task WHERE maintain_task.name = task FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                affected := turnstile_internal.run_task(task);
            END IF;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                affected := NULL;
                RAISE NOTICE 'maintain() skipped task "%"', task
                    USING DETAIL = SQLERRM, HINT = 'The next run tries again.';
            WHEN OTHERS OR assert_failure THEN
                GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
                affected := NULL;
                RAISE WARNING 'maintain() could not run task "%": %', task, SQLERRM
                    USING ERRCODE = SQLSTATE, DETAIL = why, HINT = hint;
        END;
        RETURN NEXT;
    END LOOP;
END
$function$;
COMMENT ON FUNCTION turnstile.maintain() IS
    'Runs each task of upkeep, a bounded amount in a call: thin history, prune unique keys, prune batches, rescue, promote, fire recurring, make partitions, drop partitions. Call it by itself about once a minute, from any number of places.
Returns: a row for each task. affected is how much was done; 0 also where another session runs the task; NULL where the task failed (with a WARNING) or would have had to wait for locks (with a NOTICE).
Errors: 25006.';

-- Retry curves: how long a job waits for another attempt, by its kind and by the class of the error, changed while everything runs.

CREATE TABLE turnstile.retry_curve (
    kind text NOT NULL,
    error_class text NOT NULL,
    base interval,
    factor float8 NOT NULL DEFAULT 2,
    cap interval,
    jitter float8 NOT NULL DEFAULT 0.1,
    discard boolean NOT NULL DEFAULT false,
    CONSTRAINT retry_curve_pkey PRIMARY KEY (kind, error_class),
    CONSTRAINT retry_curve_kind_check CHECK (kind <> '' AND octet_length(kind) <= 255),
    CONSTRAINT retry_curve_error_class_check CHECK (error_class <> '' AND octet_length(error_class) <= 255),
    CONSTRAINT retry_curve_base_check CHECK (base >= '0' AND base <= '100 years'),
    CONSTRAINT retry_curve_factor_check CHECK (factor >= 1 AND factor <= 1000),
    CONSTRAINT retry_curve_cap_check CHECK (cap >= '0' AND cap <= '100 years'),
    CONSTRAINT retry_curve_jitter_check CHECK (jitter >= 0 AND jitter <= 1)
);
COMMENT ON TABLE turnstile.retry_curve IS
    'How long a failed job waits for another attempt, by its kind and the class of the error. Of the rows whose patterns match, one applies: that with the kind itself, else with the most characters other than * in its kind; of several, the same by the class. An error without a class matches * alone. After counted attempt n the wait is least(cap, base * factor^(n-1)), times a random number from 1 - jitter to 1 + jitter; 30 years at most. Without a row: retry_base and retry_cap of the queue.';
COMMENT ON COLUMN turnstile.retry_curve.kind IS
    'Kinds of jobs. * stands for any number of characters, everything else for itself.';
COMMENT ON COLUMN turnstile.retry_curve.error_class IS
    'Classes of errors, as fail names them. * stands for any number of characters, everything else for itself.';
COMMENT ON COLUMN turnstile.retry_curve.base IS
    'The wait after the first counted attempt. At most 100 years. NULL: retry_base of the queue.';
COMMENT ON COLUMN turnstile.retry_curve.factor IS 'How many times as long the next wait is. From 1 to 1,000.';
COMMENT ON COLUMN turnstile.retry_curve.cap IS 'The longest wait, before jitter. At most 100 years. NULL: retry_cap of the queue.';
COMMENT ON COLUMN turnstile.retry_curve.jitter IS
    'By which part of itself a wait is shorter or longer, at random: jobs that failed together come back one by one. From 0 to 1.';
COMMENT ON COLUMN turnstile.retry_curve.discard IS
    'No other attempt follows such an error, even if some are left and the worker says when.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.retry_curve', '');

CREATE FUNCTION turnstile_internal.retry_curves_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_retry_curves_changed';
COMMENT ON FUNCTION turnstile_internal.retry_curves_changed() IS
    'Refuses changes of retry curves by roles that may not manage.';
CREATE TRIGGER check_retry_curves AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.retry_curve
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.retry_curves_changed();
ALTER TABLE turnstile.retry_curve ENABLE ALWAYS TRIGGER check_retry_curves;

-- Retry curves, changed while everything runs.

CREATE FUNCTION turnstile.set_retry_curve(
    kind text DEFAULT '*',
    error_class text DEFAULT '*',
    base interval DEFAULT NULL,
    factor float8 DEFAULT NULL,
    cap interval DEFAULT NULL,
    jitter float8 DEFAULT NULL,
    discard boolean DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.retry_curve
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.retry_curve;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('kind', set_retry_curve.kind);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_name('error_class', set_retry_curve.error_class);
    PERFORM turnstile_internal.check_clear(set_retry_curve.clear, 'base', 'cap');
    INSERT INTO turnstile.retry_curve (kind, error_class)
    VALUES (set_retry_curve.kind, set_retry_curve.error_class)
    ON CONFLICT DO NOTHING;
    UPDATE turnstile.retry_curve
    SET base = turnstile_internal.changed_setting('base', set_retry_curve.clear, set_retry_curve.base, base),
        factor = coalesce(set_retry_curve.factor, factor),
        cap = turnstile_internal.changed_setting('cap', set_retry_curve.clear, set_retry_curve.cap, cap),
        jitter = coalesce(set_retry_curve.jitter, jitter),
        discard = coalesce(set_retry_curve.discard, discard)
    WHERE kind = set_retry_curve.kind COLLATE "default" AND error_class = set_retry_curve.error_class COLLATE "default"
    RETURNING * INTO made;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_retry_curve(text, text, interval, float8, interval, float8, boolean, text[]) IS
    'Makes or changes a retry curve, for runs that fail after the commit. Returns its row. NULL leaves a column as it is. A new row has factor 2 and jitter 0.1, and base and cap of the queue.
kind: the kinds of jobs that it is for. * stands for any number of characters.
error_class: the classes of errors that it is for. * stands for any number of characters, and matches errors without a class.
base: the wait after the first counted attempt.
factor: how many times as long the next wait is.
cap: the longest wait, before jitter.
jitter: by which part of itself a wait is shorter or longer, at random.
discard: no other attempt follows.
clear: columns to set to NULL: base, cap.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.drop_retry_curve(kind text, error_class text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile_internal.check_name('kind', drop_retry_curve.kind);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_name('error_class', drop_retry_curve.error_class);
    DELETE FROM turnstile.retry_curve AS curve
    WHERE curve.kind = drop_retry_curve.kind COLLATE "default" AND curve.error_class = drop_retry_curve.error_class COLLATE "default";
    RETURN FOUND;
END
$function$;
COMMENT ON FUNCTION turnstile.drop_retry_curve(text, text) IS
    'Drops a retry curve. Returns false if there is none. Jobs that wait for another attempt stay as they are.
kind: as for set_retry_curve.
error_class: as for set_retry_curve.
Errors: 22004; 22023; 54000; 42501.';

DROP FUNCTION turnstile.fail(bigint, int, text, interval, boolean);
CREATE FUNCTION turnstile.fail(
    job_id bigint,
    attempt int,
    error text DEFAULT NULL,
    retry_in interval DEFAULT NULL,
    discard boolean DEFAULT false,
    error_class text DEFAULT NULL
) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_fail';
COMMENT ON FUNCTION turnstile.fail(bigint, int, text, interval, boolean, text) IS
    'Ends a run with failure and returns the new state of the job: retryable if another attempt follows, discarded if not, cancelled if its cancellation was requested.
job_id: as for complete.
attempt: as for complete.
error: kept in job.errors; cut after 4,000 characters.
retry_in: when the next attempt is due, at most 100 years from now. NULL: what the retry curve for the kind and the class says; without one, after counted attempt n, n^4 times queue.retry_base, plus up to 10 %, at most queue.retry_cap.
discard: no other attempt follows, even if some are left.
error_class: a word for the sort of the error, as timeout or http.429, kept with it in job.errors. turnstile.retry_curve says what follows. At most 255 bytes. NULL: none.
Errors: 22004; 22023; 54000; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

COMMENT ON COLUMN turnstile.job.errors IS 'Failed attempts: an array of {attempt, at, worker, error}, with class where the worker named one; the last 1,000.';
COMMENT ON COLUMN turnstile.job_history.errors IS 'Failed attempts: an array of {attempt, at, worker, error}, with class where the worker named one; the last 1,000.';

-- Settings that are inherited: what reads and writes them.

CREATE OR REPLACE FUNCTION turnstile_internal.history_policy(
    day_ends timestamptz, OUT all_over boolean, OUT some_over boolean, OUT policy text
)
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET intervalstyle = 'postgres'
AS $function$
    WITH is_over AS (
        SELECT
            name,
            coalesce(now() - day_ends >= keep_completed, day_ends IS NULL AND keep_completed IS NOT NULL) AS completed,
            coalesce(now() - day_ends >= keep_discarded, day_ends IS NULL AND keep_discarded IS NOT NULL) AS discarded,
            CASE WHEN day_ends IS NULL THEN concat(now()::date, ' ', keep_completed, ' ', keep_discarded) END AS keeps
        FROM turnstile.queue_in_force
    ), rest AS MATERIALIZED (
        -- One row, looked for once and not for each queue.
        SELECT is_over.* FROM is_over WHERE is_over.name = '*'
    )
    SELECT
        day_ends IS NOT NULL AND coalesce(bool_and(own.completed AND own.discarded) AND bool_or(own.name = '*'), false),
        coalesce(bool_or(own.completed OR own.discarded), false),
        md5(string_agg(format('%L %s %s %s', own.name, own.completed, own.discarded, own.keeps), ' ' ORDER BY own.name)
            FILTER (WHERE own.name = '*' OR (own.completed, own.discarded, own.keeps)
                IS DISTINCT FROM (rest.completed, rest.discarded, rest.keeps)))
    FROM is_over AS own
    LEFT JOIN rest ON true
$function$;

DROP FUNCTION turnstile.set_queue(text, int, boolean, timestamptz, int, interval, int, text, interval, interval, int, interval, interval, text, boolean, interval, interval, int, text[]);
CREATE FUNCTION turnstile.set_queue(
    name text,
    max_running int DEFAULT NULL,
    paused boolean DEFAULT NULL,
    paused_until timestamptz DEFAULT NULL,
    rate int DEFAULT NULL,
    rate_per interval DEFAULT NULL,
    burst int DEFAULT NULL,
    policy text DEFAULT NULL,
    aging interval DEFAULT NULL,
    lease interval DEFAULT NULL,
    max_attempts int DEFAULT NULL,
    retry_base interval DEFAULT NULL,
    retry_cap interval DEFAULT NULL,
    session_on_retry text DEFAULT NULL,
    notify boolean DEFAULT NULL,
    keep_completed interval DEFAULT NULL,
    keep_discarded interval DEFAULT NULL,
    max_waiting int DEFAULT NULL,
    clear text[] DEFAULT NULL,
    durable_claims boolean DEFAULT NULL
) RETURNS turnstile.queue
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.queue;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('name', set_queue.name);
    PERFORM turnstile.check_permission('manage', set_queue.name);
    PERFORM turnstile_internal.check_clear(
        set_queue.clear, 'max_running', 'max_waiting', 'paused_until', 'rate', 'rate_per', 'burst', 'policy', 'aging',
        'lease', 'max_attempts', 'retry_base', 'retry_cap', 'session_on_retry', 'notify', 'keep_completed', 'keep_discarded',
        'durable_claims'
    );
    INSERT INTO turnstile.queue (name, paused, paused_until)
    SELECT set_queue.name, star.paused, star.paused_until
    FROM turnstile.queue AS star
    WHERE star.name = '*'
    ON CONFLICT DO NOTHING;
    INSERT INTO turnstile.queue (name) VALUES (set_queue.name) ON CONFLICT DO NOTHING;
    UPDATE turnstile.queue
    SET max_running = turnstile_internal.changed_setting('max_running', set_queue.clear, set_queue.max_running, max_running),
        max_waiting = turnstile_internal.changed_setting('max_waiting', set_queue.clear, set_queue.max_waiting, max_waiting),
        paused = coalesce(set_queue.paused, paused),
        paused_until = turnstile_internal.changed_setting('paused_until', set_queue.clear, set_queue.paused_until, paused_until),
        rate = turnstile_internal.changed_setting('rate', set_queue.clear, set_queue.rate, rate),
        rate_per = turnstile_internal.changed_setting('rate_per', set_queue.clear, set_queue.rate_per, rate_per),
        burst = turnstile_internal.changed_setting('burst', set_queue.clear, set_queue.burst, burst),
        policy = turnstile_internal.changed_setting('policy', set_queue.clear, set_queue.policy, policy),
        aging = turnstile_internal.changed_setting('aging', set_queue.clear, set_queue.aging, aging),
        lease = turnstile_internal.changed_setting('lease', set_queue.clear, set_queue.lease, lease),
        max_attempts = turnstile_internal.changed_setting('max_attempts', set_queue.clear, set_queue.max_attempts, max_attempts),
        retry_base = turnstile_internal.changed_setting('retry_base', set_queue.clear, set_queue.retry_base, retry_base),
        retry_cap = turnstile_internal.changed_setting('retry_cap', set_queue.clear, set_queue.retry_cap, retry_cap),
        session_on_retry = turnstile_internal.changed_setting('session_on_retry', set_queue.clear, set_queue.session_on_retry, session_on_retry),
        notify = turnstile_internal.changed_setting('notify', set_queue.clear, set_queue.notify, notify),
        keep_completed = turnstile_internal.changed_setting('keep_completed', set_queue.clear, set_queue.keep_completed, keep_completed),
        keep_discarded = turnstile_internal.changed_setting('keep_discarded', set_queue.clear, set_queue.keep_discarded, keep_discarded),
        durable_claims = turnstile_internal.changed_setting('durable_claims', set_queue.clear, set_queue.durable_claims, durable_claims)
    WHERE name = set_queue.name COLLATE "default"
    RETURNING * INTO made;
    IF num_nonnulls(set_queue.rate_per, set_queue.burst) > 0 THEN
        PERFORM turnstile_internal.check_rate(setting.rate, set_queue.rate_per, set_queue.burst)
        FROM turnstile.queue_in_force AS setting
        WHERE setting.name = set_queue.name COLLATE "default" AND setting.name <> '*';
    END IF;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_queue(text, int, boolean, timestamptz, int, interval, int, text, interval, interval, int, interval, interval, text, boolean, interval, interval, int, text[], boolean) IS
    'Changes settings of a queue, from the next claim after the commit on, and returns its row. NULL leaves a column as it is; -1 is no limit. A new row inherits what is not given, and begins with a pause of the row * that was in force.
name: the queue.
clear: columns to set to NULL: max_running, max_waiting, paused_until, rate, rate_per, burst, policy, aging, lease, max_attempts, retry_base, retry_cap, session_on_retry, notify, keep_completed, keep_discarded, durable_claims. Such a setting is inherited again; paused_until is over.
rate_per, burst: they need a rate, set or inherited. Those of the row * are inherited and may stand alone.
The other arguments are the columns of turnstile.queue.
Errors: 22004; 22023; 54000; 42501.';

CREATE OR REPLACE FUNCTION turnstile.set_tenant(
    name text,
    slots int DEFAULT NULL,
    weight int DEFAULT NULL,
    paused boolean DEFAULT NULL,
    paused_until timestamptz DEFAULT NULL,
    rate int DEFAULT NULL,
    rate_per interval DEFAULT NULL,
    burst int DEFAULT NULL,
    max_waiting int DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.tenant
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.tenant;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('name', set_tenant.name);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_clear(set_tenant.clear, 'slots', 'max_waiting', 'weight', 'paused_until', 'rate', 'rate_per', 'burst');
    INSERT INTO turnstile.tenant (name, paused, paused_until)
    SELECT set_tenant.name, star.paused, star.paused_until
    FROM turnstile.tenant AS star
    WHERE star.name = '*'
    ON CONFLICT DO NOTHING;
    INSERT INTO turnstile.tenant (name) VALUES (set_tenant.name) ON CONFLICT DO NOTHING;
    UPDATE turnstile.tenant
    SET slots = turnstile_internal.changed_setting('slots', set_tenant.clear, set_tenant.slots, slots),
        max_waiting = turnstile_internal.changed_setting('max_waiting', set_tenant.clear, set_tenant.max_waiting, max_waiting),
        weight = turnstile_internal.changed_setting('weight', set_tenant.clear, set_tenant.weight, weight),
        paused = coalesce(set_tenant.paused, paused),
        paused_until = turnstile_internal.changed_setting('paused_until', set_tenant.clear, set_tenant.paused_until, paused_until),
        rate = turnstile_internal.changed_setting('rate', set_tenant.clear, set_tenant.rate, rate),
        rate_per = turnstile_internal.changed_setting('rate_per', set_tenant.clear, set_tenant.rate_per, rate_per),
        burst = turnstile_internal.changed_setting('burst', set_tenant.clear, set_tenant.burst, burst)
    WHERE name = set_tenant.name COLLATE "default"
    RETURNING * INTO made;
    IF num_nonnulls(set_tenant.rate_per, set_tenant.burst) > 0 THEN
        PERFORM turnstile_internal.check_rate(setting.rate, set_tenant.rate_per, set_tenant.burst)
        FROM turnstile.tenant_in_force AS setting
        WHERE setting.name = set_tenant.name COLLATE "default" AND setting.name <> '*';
    END IF;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_tenant(text, int, int, boolean, timestamptz, int, interval, int, int, text[]) IS
    'Changes settings of a tenant, from the next claim after the commit on, and returns its row. NULL leaves a column as it is; -1 is no limit. A new row inherits what is not given, and begins with a pause of the row * that was in force.
name: the tenant.
clear: columns to set to NULL: slots, max_waiting, weight, paused_until, rate, rate_per, burst. Such a setting is inherited again; paused_until is over.
rate_per, burst: they need a rate, set or inherited. Those of the row * are inherited and may stand alone.
The other arguments are the columns of turnstile.tenant.
Errors: 22004; 22023; 54000; 42501.';

CREATE OR REPLACE FUNCTION turnstile.set_account(
    tenant text,
    name text,
    slots int DEFAULT NULL,
    paused boolean DEFAULT NULL,
    paused_until timestamptz DEFAULT NULL,
    rate int DEFAULT NULL,
    rate_per interval DEFAULT NULL,
    burst int DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.account
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.account;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('tenant', set_account.tenant);
    PERFORM turnstile_internal.check_name('name', set_account.name);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_clear(set_account.clear, 'slots', 'paused_until', 'rate', 'rate_per', 'burst');
    INSERT INTO turnstile.account (tenant, name, paused, paused_until)
    SELECT set_account.tenant, set_account.name, star.paused, star.paused_until
    FROM turnstile.account AS star
    WHERE star.tenant IN (set_account.tenant, '*') AND star.name = '*'
    ORDER BY star.tenant = '*'
    LIMIT 1
    ON CONFLICT DO NOTHING;
    INSERT INTO turnstile.account (tenant, name) VALUES (set_account.tenant, set_account.name) ON CONFLICT DO NOTHING;
    UPDATE turnstile.account
    SET slots = turnstile_internal.changed_setting('slots', set_account.clear, set_account.slots, slots),
        paused = coalesce(set_account.paused, paused),
        paused_until = turnstile_internal.changed_setting('paused_until', set_account.clear, set_account.paused_until, paused_until),
        rate = turnstile_internal.changed_setting('rate', set_account.clear, set_account.rate, rate),
        rate_per = turnstile_internal.changed_setting('rate_per', set_account.clear, set_account.rate_per, rate_per),
        burst = turnstile_internal.changed_setting('burst', set_account.clear, set_account.burst, burst)
    WHERE tenant = set_account.tenant COLLATE "default" AND name = set_account.name COLLATE "default"
    RETURNING * INTO made;
    IF num_nonnulls(set_account.rate_per, set_account.burst) > 0 THEN
        PERFORM turnstile_internal.check_rate(setting.rate, set_account.rate_per, set_account.burst)
        FROM turnstile.account_in_force AS setting
        WHERE setting.tenant = set_account.tenant COLLATE "default" AND setting.name = set_account.name COLLATE "default" AND setting.name <> '*';
    END IF;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_account(text, text, int, boolean, timestamptz, int, interval, int, text[]) IS
    'Changes settings of an account, from the next claim after the commit on, and returns its row. NULL leaves a column as it is; -1 is no limit. A new row inherits what is not given, and begins with a pause of the row * that was in force.
tenant: the tenant of the account.
name: the account.
clear: columns to set to NULL: slots, paused_until, rate, rate_per, burst. Such a setting is inherited again; paused_until is over.
rate_per, burst: they need a rate, set or inherited. Those of the row * are inherited and may stand alone.
The other arguments are the columns of turnstile.account.
Errors: 22004; 22023; 54000; 42501.';

CREATE OR REPLACE FUNCTION turnstile.set_concurrency(
    key text,
    slots int DEFAULT NULL,
    rate int DEFAULT NULL,
    rate_per interval DEFAULT NULL,
    burst int DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.concurrency
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.concurrency;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('key', set_concurrency.key);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_clear(set_concurrency.clear, 'slots', 'rate', 'rate_per', 'burst');
    INSERT INTO turnstile.concurrency (key) VALUES (set_concurrency.key) ON CONFLICT DO NOTHING;
    UPDATE turnstile.concurrency
    SET slots = turnstile_internal.changed_setting('slots', set_concurrency.clear, set_concurrency.slots, slots),
        rate = turnstile_internal.changed_setting('rate', set_concurrency.clear, set_concurrency.rate, rate),
        rate_per = turnstile_internal.changed_setting('rate_per', set_concurrency.clear, set_concurrency.rate_per, rate_per),
        burst = turnstile_internal.changed_setting('burst', set_concurrency.clear, set_concurrency.burst, burst)
    WHERE key = set_concurrency.key COLLATE "default"
    RETURNING * INTO made;
    IF num_nonnulls(set_concurrency.rate_per, set_concurrency.burst) > 0 THEN
        PERFORM turnstile_internal.check_rate(setting.rate, set_concurrency.rate_per, set_concurrency.burst)
        FROM turnstile.concurrency_in_force AS setting
        WHERE setting.key = set_concurrency.key COLLATE "default" AND setting.key <> '*';
    END IF;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_concurrency(text, int, int, interval, int, text[]) IS
    'Changes settings of a concurrency key, from the next claim after the commit on, and returns its row. NULL leaves a column as it is; -1 is no limit. A new row inherits what is not given, from the row *.
key: the concurrency key.
clear: columns to set to NULL: slots, rate, rate_per, burst. Such a setting is inherited again.
rate_per, burst: they need a rate, set or inherited. Those of the row * are inherited and may stand alone.
The other arguments are the columns of turnstile.concurrency.
Errors: 22004; 22023; 54000; 42501.';

-- Why a job waits, and when it will start. Said by what the next claim would do, at a cost that does not grow with the jobs.

CREATE FUNCTION turnstile.why_waiting(job_id bigint)
    RETURNS TABLE (
        ord int, reason text, gate text, name text, running int, slots int, opens_at timestamptz, holder bigint, detail text
    )
    LANGUAGE c VOLATILE ROWS 5
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting';
COMMENT ON FUNCTION turnstile.why_waiting(bigint) IS
    'Says why a waiting job does not start: every reason, one row each. No row: the next claim of one job from its queue takes it. Reasons: scheduled, retry (run_at is ahead); paused, full, rate (its gate is closed); session_busy, session_order; unique_running; behind (the next claim takes another job); locked (an open transaction has claimed, changed or locked it); no_worker (no claim from the queue in the last minute, and nobody sleeps on it); outside_memory (its lane is left to the tables, and gets its turn). The figures are those of this moment. The caller needs the permission see or manage on the queue and tenant of the job.
job_id: a job that is available, scheduled or retryable.
Returns: ord; reason; gate: queue, tenant, account, session, concurrency or unique, with its name; running and slots of a full gate; opens_at: when time alone opens it (NULL: it does not); holder: the job that is in the way, if one is: it runs in the session, has the unique key, takes up the gate and is an ancestor, or comes before (NULL where it is not found, or the caller may not know of it); detail: a sentence, and which jobs wait for each other if it waits for such.
Errors: 22004; P0002; 55000 the job runs or has ended, with its state in DETAIL; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.why_waiting_many(job_ids bigint[])
    RETURNS TABLE (
        job_id bigint, ord int, reason text, gate text, name text, running int, slots int, opens_at timestamptz, holder bigint,
        detail text
    )
    LANGUAGE c VOLATILE ROWS 100
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting_many';
COMMENT ON FUNCTION turnstile.why_waiting_many(bigint[]) IS
    'Does what why_waiting does, for many jobs: those of a list, some of which may have started or ended since it was read. Of such jobs, and of those on which the caller has neither the permission see nor manage, there are no rows.
job_ids: at most 100,000.
Returns: the job, and the columns of why_waiting, in order of the array.
Errors: 22004; 42501; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.why_waiting_summary(queue text DEFAULT NULL, tenant text DEFAULT NULL)
    RETURNS TABLE (reason text, gate text, lanes bigint, is_estimate boolean)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting_summary';
COMMENT ON FUNCTION turnstile.why_waiting_summary(text, text) IS
    'Counts the lanes that wait, by reason: a lane is the jobs that share queue, tenant, account, session, keys and priority. A lane that several gates hold up counts at each; one that could start counts as behind, and so does one whose last job has started, until a claim finds it empty. Jobs that are scheduled or retryable are in no lane. It looks at 10,000 lanes at most; of more, each stands for several.
queue: NULL or * stands for all.
tenant: NULL stands for all, and for jobs without a tenant.
Returns: the reason as in why_waiting (a gate without slots counts as paused), the gate, the number of lanes, and whether that is an estimate.
Errors: 22023; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.wait_estimate(job_id bigint)
    RETURNS TABLE (ahead bigint, is_capped boolean, starts_per_minute numeric, bottleneck text, starts_at timestamptz)
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_wait_estimate';
COMMENT ON FUNCTION turnstile.wait_estimate(bigint) IS
    'Estimates when a waiting job starts: at the gate that takes longest to let through what comes before it, at its pace of the last minutes. It supposes that what comes later takes no place in front of it, and that the pace stays. The caller needs the permission see or manage on the queue and tenant of the job.
job_id: a job that is available, scheduled or retryable.
Returns: ahead: jobs that start before it at that gate, exact in its lane, an estimate across lanes, at most 10,000; is_capped: there are more; starts_per_minute: how many start behind the gate (NULL: none); bottleneck: that gate, as gate in why_waiting; starts_at: NULL where nothing moves.
Errors: 22004; P0002; 55000 the job runs or has ended, with its state in DETAIL; 42501; 09000; 25006.';

COMMENT ON FUNCTION turnstile.check() IS
    'Compares the memory of the scheduler with the tables (lanes, heads, counts, limits, structure), and names jobs that no claim can find, as those that were loaded while triggers were disabled.
Returns: a row for each difference. No row: all is well.
It reads all live jobs. Others wait only while memory is copied. A NOTICE says why rows are not changed directly, where that is so.
Errors: 42501; 25006.';

-- Ended jobs, for who follows them.

CREATE FUNCTION turnstile.recent(since text DEFAULT NULL, max_rows int DEFAULT 1000)
    RETURNS TABLE (
        id bigint, queue text, kind text, tenant text, state text, attempt int, worker text,
        created_at timestamptz, claimed_at timestamptz, finished_at timestamptz, error text, cursor text
    )
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_recent';
COMMENT ON FUNCTION turnstile.recent(text, int) IS
    'Gives jobs that ended, as tail -f does: call it again and again, each time with the cursor of the last row that was given. Each ended job comes once, soon after the commit of the transaction that ended it, whatever the order of commits; what the transaction of the caller has ended comes after its commit. No row: nothing has ended since; keep the cursor. The caller needs the permission manage or see on all queues and tenants.
since: the cursor of a row: what comes after it. NULL: the last ten jobs that ended. oldest: all that the history has. Where NULL gives no row, the history is empty: go on with oldest.
max_rows: 1 to 100,000. The next call goes on where it ends.
Returns: the job as it is in job_history; error: what the last failed attempt said, unless the job was completed (NULL for a caller that may only manage); cursor: the place behind the row, for the next call. The jobs of one reading come in order of finished_at and id; one whose transaction was committed later comes with a later reading.
Errors: 22004; 22023 a bad value, or a cursor of another database, or of transactions that this server has lost; 42501; 25006.';

CREATE FUNCTION turnstile.recent_failures(since bigint DEFAULT NULL)
    RETURNS TABLE (
        id bigint, queue text, kind text, tenant text, attempt int, worker text,
        failed_at timestamptz, retry_at timestamptz, error text, cursor bigint
    )
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_recent_failures';
COMMENT ON FUNCTION turnstile.recent_failures(bigint) IS
    'Gives runs that failed, were lost or rescued and will be repeated, each once and soon after its commit; recent gives those after which the job ended. Memory has the last 512 of the database, none from before a restart of the server. The caller needs the permission manage or see on all queues and tenants.
since: the cursor of a row: what comes after it. NULL: all that memory has.
Returns: attempt: the run; retry_at: when the job falls due again, NULL if it has gone on since; error: what the run said (NULL for a caller that may only manage); cursor: the place of the row. Where the first row''s cursor is not the next after since, those between are no longer known. Nor are they after a restart of the server, from which on cursors are higher. failed_at: when the failure was committed. queue, kind, tenant, worker and error are NULL where the job is gone.
Errors: 42501; 25006.';

CREATE FUNCTION turnstile.running_jobs(queue text DEFAULT NULL, max_jobs int DEFAULT 1000)
    RETURNS TABLE (id bigint, attempt int)
    LANGUAGE c VOLATILE ROWS 100
    AS 'MODULE_PATHNAME', 'turnstile_running_jobs';
COMMENT ON FUNCTION turnstile.running_jobs(text, int) IS
    'Gives jobs that run, in no order, however many jobs there are: from memory, as no index has the state running. A run that has just ended may be among them, and one for which memory had no room is not. Who may call it sees them all. Join it with jobs or job_status for more.
queue: NULL: all queues.
max_jobs: 100,000 at most.
Returns: the id of the job, and the attempt.
Errors: 22004; 22023; 42501; 54000; 25006.';

-- Views for operators: the settings in force for every name that has a row, jobs or statistics, next to live figures.
--
-- Figures are in memory, and change with each commit: a query reads as many of them as it shows, however many jobs there are. The
-- first query after the memory was lost counts the jobs.

CREATE FUNCTION turnstile_internal.figures(gate text)
    RETURNS TABLE (
        tenant text, name text, waiting bigint, scheduled bigint, retryable bigint, running bigint, blocked bigint,
        starting bigint,
        waiting_since timestamptz, claimed_per_minute bigint, finished_per_minute bigint, stats_reset timestamptz,
        enqueued bigint, started bigint, completed bigint, failed bigint, retried bigint, discarded bigint, cancelled bigint,
        rescued bigint,
        wait_ms bigint[], wait_ms_sum float8, wait_ms_p50 float8, wait_ms_p95 float8, wait_ms_p99 float8,
        run_ms bigint[], run_ms_sum float8, run_ms_p50 float8, run_ms_p95 float8, run_ms_p99 float8,
        total_wait_ms bigint[], total_wait_ms_sum float8, total_wait_ms_p50 float8, total_wait_ms_p95 float8, total_wait_ms_p99 float8
    )
    LANGUAGE c STABLE ROWS 1000
    AS 'MODULE_PATHNAME', 'turnstile_figures';
COMMENT ON FUNCTION turnstile_internal.figures(text) IS
    'For the views of figures: what is in memory of the queues, tenants, accounts or concurrency keys with jobs or statistics. Where memory cannot be used (on a standby, where this transaction has rewritten turnstile.job, or where turnstile.max_memory leaves no room for all names) the jobs are counted.
gate: queue, tenant, account or concurrency.
Errors: 22004; 22023; 42501.';

CREATE FUNCTION turnstile.histogram_bounds() RETURNS bigint[]
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_histogram_bounds';
COMMENT ON FUNCTION turnstile.histogram_bounds() IS
    'Returns the upper bounds of the buckets of wait_ms, run_ms and total_wait_ms, in milliseconds. The last bucket has none.';

CREATE OR REPLACE VIEW turnstile.queues AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile_internal.figures('queue')
), known AS (
    SELECT live.name FROM live
    UNION
    SELECT queue.name FROM turnstile.queue WHERE queue.name <> '*'
)
SELECT
    known.name, setting.max_running, setting.max_waiting, setting.paused, setting.paused_until, setting.rate,
    setting.rate_per, setting.burst, setting.policy, setting.aging, setting.lease, setting.max_attempts,
    setting.retry_base, setting.retry_cap, setting.session_on_retry, setting.notify, setting.keep_completed, setting.keep_discarded,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.max_running - least(coalesce(live.running + live.starting, 0), setting.max_running)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting,
    coalesce(live.blocked, 0) AS blocked,
    setting.durable_claims
FROM known
LEFT JOIN LATERAL (
    SELECT force.*
    FROM turnstile.queue_in_force AS force
    WHERE force.name IN (known.name, '*')
    ORDER BY force.name = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name;
COMMENT ON VIEW turnstile.queues IS
    'The settings in force and live figures of every queue that has a row, live jobs or statistics. Figures are in memory: a query does not depend on how many jobs there are.';
COMMENT ON COLUMN turnstile.queues.waiting IS 'Available jobs: they start when there is room.';
COMMENT ON COLUMN turnstile.queues.scheduled IS 'Jobs with run_at ahead.';
COMMENT ON COLUMN turnstile.queues.retryable IS 'Failed jobs that wait for another attempt.';
COMMENT ON COLUMN turnstile.queues.running IS 'Jobs that run.';
COMMENT ON COLUMN turnstile.queues.free IS 'How many more may run at once, with those of open claims. NULL: no limit; 0 while paused.';
COMMENT ON COLUMN turnstile.queues.oldest_waiting IS
    'How long the first of the waiting jobs has been due: never less, and at most a quarter more where many wait.';
COMMENT ON COLUMN turnstile.queues.claimed_per_minute IS 'Jobs claimed in the last 60 to 70 seconds.';
COMMENT ON COLUMN turnstile.queues.finished_per_minute IS 'Jobs that ended in the last 60 to 70 seconds, in any way.';
COMMENT ON COLUMN turnstile.queues.starting IS 'Jobs for which open claims hold room.';
COMMENT ON COLUMN turnstile.queues.blocked IS 'Jobs that wait for others: for their children, or for those that they come after.';

CREATE OR REPLACE VIEW turnstile.tenants AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile_internal.figures('tenant')
), known AS (
    SELECT live.name FROM live
    UNION
    SELECT tenant.name FROM turnstile.tenant WHERE tenant.name <> '*'
)
SELECT
    known.name, setting.slots, setting.max_waiting, setting.weight,
    setting.paused, setting.paused_until, setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.slots - least(coalesce(live.running + live.starting, 0), setting.slots)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting,
    coalesce(live.blocked, 0) AS blocked
FROM known
LEFT JOIN LATERAL (
    SELECT force.*
    FROM turnstile.tenant_in_force AS force
    WHERE force.name IN (known.name, '*')
    ORDER BY force.name = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name;
COMMENT ON VIEW turnstile.tenants IS
    'The settings in force and live figures of every tenant that has a row, live jobs or statistics; columns as in queues. Figures are in memory: a query does not depend on how many jobs there are.';

CREATE OR REPLACE VIEW turnstile.accounts AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile_internal.figures('account')
), known AS (
    SELECT live.tenant, live.name FROM live
    UNION
    SELECT account.tenant, account.name FROM turnstile.account WHERE account.tenant <> '*' AND account.name <> '*'
)
SELECT
    known.tenant, known.name, setting.slots, setting.paused, setting.paused_until,
    setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.slots - least(coalesce(live.running + live.starting, 0), setting.slots)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting,
    coalesce(live.blocked, 0) AS blocked
FROM known
LEFT JOIN LATERAL (
    SELECT force.*
    FROM turnstile.account_in_force AS force
    WHERE force.tenant IN (known.tenant, '*') AND force.name IN (known.name, '*')
        AND (force.tenant = known.tenant OR force.name = '*')
    ORDER BY force.name = '*', force.tenant = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name AND live.tenant = known.tenant;
COMMENT ON VIEW turnstile.accounts IS
    'The settings in force and live figures of every account that has a row or live jobs, or had some in the last minute; columns as in queues. Figures are in memory: a query does not depend on how many jobs there are.';

CREATE OR REPLACE VIEW turnstile.concurrency_keys AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile_internal.figures('concurrency')
), known AS (
    SELECT live.name AS key FROM live
    UNION
    SELECT concurrency.key FROM turnstile.concurrency WHERE concurrency.key <> '*'
    UNION
    SELECT slowed_key.key FROM turnstile.slowed_key
)
SELECT
    known.key, force.slots, setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE
        WHEN slowed.paused_until > clock_timestamp() THEN 0
        ELSE force.slots - least(coalesce(live.running + live.starting, 0), force.slots)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting,
    coalesce(live.blocked, 0) AS blocked,
    slowed.paused_until, coalesce(slowed.one_at_a_time, false) AS one_at_a_time
FROM known
LEFT JOIN LATERAL (
    SELECT stated.*
    FROM turnstile.concurrency_in_force AS stated
    WHERE stated.key IN (known.key, '*')
    ORDER BY stated.key = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN turnstile.slowed_key AS slowed ON slowed.key = known.key
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN (SELECT bool_and(endpoint.paused) FROM turnstile.endpoint WHERE endpoint.concurrency_key = known.key) THEN 0
        WHEN slowed.one_at_a_time THEN least(setting.slots, 1)
        ELSE setting.slots
    END AS slots
) AS force
LEFT JOIN live ON live.name = known.key;
COMMENT ON VIEW turnstile.concurrency_keys IS
    'The settings in force and live figures of every concurrency key that has a row or live jobs, or had some in the last minute; columns as in queues. slots: 1 at most while one_at_a_time, and 0 while all endpoints of the key are paused. Figures are in memory: a query does not depend on how many jobs there are.';

-- An outer join at the end, so that nothing is counted for who does not ask how many have ended.
CREATE FUNCTION turnstile_internal.batch_figures(id bigint)
    RETURNS TABLE (waiting bigint, running bigint, finished_per_minute bigint)
    LANGUAGE c STABLE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_batch_figures';
COMMENT ON FUNCTION turnstile_internal.batch_figures(bigint) IS
    'For the view batches: how many live children a batch has, and how many have ended in the last minute. They are in memory. Where it cannot be used (on a standby, where this transaction has rewritten turnstile.job, or where turnstile.max_memory leaves no room for all batches) the live children are counted, and none has ended.
Errors: 22004.';

CREATE VIEW turnstile.batches AS
SELECT
    batch.id, parent.kind, parent.queue, parent.tenant, parent.session, parent.state,
    live.waiting + live.running + CASE
        WHEN parent.children IS NULL THEN ended.completed + ended.discarded + ended.cancelled
        ELSE (parent.children ->> 'completed')::bigint + (parent.children ->> 'discarded')::bigint + (parent.children ->> 'cancelled')::bigint
    END AS total,
    live.waiting,
    live.running,
    CASE WHEN parent.children IS NULL THEN ended.completed ELSE (parent.children ->> 'completed')::bigint END AS completed,
    CASE WHEN parent.children IS NULL THEN ended.discarded ELSE (parent.children ->> 'discarded')::bigint END AS discarded,
    CASE WHEN parent.children IS NULL THEN ended.cancelled ELSE (parent.children ->> 'cancelled')::bigint END AS cancelled,
    batch.slots,
    batch.opened_at AS started_at,
    live.finished_per_minute,
    CASE WHEN live.finished_per_minute > 0 THEN
        statement_timestamp() + make_interval(secs => 60.0 * (live.waiting + live.running) / live.finished_per_minute)
    END AS estimated_end,
    batch.paused, batch.paused_until
FROM turnstile.batch
CROSS JOIN LATERAL (
    (
        SELECT job.kind, job.queue, job.tenant, job.session, job.state, nullif(job.children, '{}') AS children
        FROM ONLY turnstile.job
        WHERE job.id = batch.id
    )
    UNION ALL
    (
        SELECT job_history.kind, job_history.queue, job_history.tenant, job_history.session, job_history.state, nullif(job_history.children, '{}')
        FROM turnstile.job_history
        WHERE job_history.id = batch.id
        ORDER BY job_history.finished_at DESC
        LIMIT 1
    )
    LIMIT 1
) AS parent
CROSS JOIN LATERAL turnstile_internal.batch_figures(batch.id) AS live
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE last.state = 'completed') AS completed, count(*) FILTER (WHERE last.state = 'discarded') AS discarded,
        count(*) FILTER (WHERE last.state = 'cancelled') AS cancelled
    FROM (
        SELECT DISTINCT ON (job_history.id) job_history.id, job_history.state
        FROM turnstile.job_history
        WHERE job_history.parent = batch.id
        ORDER BY job_history.id, job_history.finished_at DESC
    ) AS last
    WHERE parent.children IS NULL AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = last.id)
) AS ended ON true;
COMMENT ON VIEW turnstile.batches IS
    'Batches and how far they are. Live children are counted in memory. Ended ones are counted in history while the batch is live, and only where total, completed, discarded or cancelled is asked for. A query by id, or of the newest ones with a limit, looks at those alone.';
COMMENT ON COLUMN turnstile.batches.id IS 'The parent.';
COMMENT ON COLUMN turnstile.batches.kind IS 'Its kind.';
COMMENT ON COLUMN turnstile.batches.queue IS 'Its queue.';
COMMENT ON COLUMN turnstile.batches.tenant IS 'Its tenant.';
COMMENT ON COLUMN turnstile.batches.session IS 'Its session.';
COMMENT ON COLUMN turnstile.batches.state IS 'Its state: blocked while children are live.';
COMMENT ON COLUMN turnstile.batches.total IS 'Children, live and ended.';
COMMENT ON COLUMN turnstile.batches.waiting IS 'Children that are live and do not run.';
COMMENT ON COLUMN turnstile.batches.running IS 'Children that run.';
COMMENT ON COLUMN turnstile.batches.completed IS 'Children that completed.';
COMMENT ON COLUMN turnstile.batches.discarded IS 'Children that were discarded and have not come back.';
COMMENT ON COLUMN turnstile.batches.cancelled IS 'Children that were cancelled and have not come back.';
COMMENT ON COLUMN turnstile.batches.slots IS 'How many children may run at once. NULL: no limit.';
COMMENT ON COLUMN turnstile.batches.started_at IS 'Since when children may start. NULL: the parent waits for its turn.';
COMMENT ON COLUMN turnstile.batches.finished_per_minute IS 'Children that have ended in the last minute.';
COMMENT ON COLUMN turnstile.batches.estimated_end IS
    'When the last child will have ended if they end as fast as in the last minute. NULL: none has ended in it, or none is live.';
COMMENT ON COLUMN turnstile.batches.paused IS 'No child starts.';
COMMENT ON COLUMN turnstile.batches.paused_until IS 'No child starts before this time.';

-- Statistics since they were last reset.

CREATE FUNCTION turnstile.stat_reset() RETURNS void
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_stat_reset';
COMMENT ON FUNCTION turnstile.stat_reset() IS
    'Sets the statistics of all queues and tenants to zero, at once: a rollback does not bring them back. Numbers of jobs stay.
Errors: 42501; 25006.';

CREATE VIEW turnstile.stat_queue AS
SELECT
    live.name, live.enqueued, live.started, live.completed, live.failed, live.retried, live.discarded, live.cancelled, live.rescued,
    live.waiting, live.scheduled, live.retryable, live.running,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    live.wait_ms, live.wait_ms_sum, live.wait_ms_p50, live.wait_ms_p95, live.wait_ms_p99,
    live.run_ms, live.run_ms_sum, live.run_ms_p50, live.run_ms_p95, live.run_ms_p99,
    live.stats_reset,
    live.blocked,
    live.total_wait_ms, live.total_wait_ms_sum, live.total_wait_ms_p50, live.total_wait_ms_p95, live.total_wait_ms_p99
FROM turnstile_internal.figures('queue') AS live
WHERE live.enqueued IS NOT NULL;
COMMENT ON VIEW turnstile.stat_queue IS
    'What has become of the jobs of each queue since stats_reset, counted when transactions commit, and how long they have waited and run. It is in memory, and kept over a clean restart of the server: a crash or a failover sets it to zero. Up to 1,000 queues have statistics; where there are more, those that are less active and have no row lose theirs.';
COMMENT ON COLUMN turnstile.stat_queue.enqueued IS 'Jobs added, also by a retry of one that had ended.';
COMMENT ON COLUMN turnstile.stat_queue.started IS 'Runs that started.';
COMMENT ON COLUMN turnstile.stat_queue.completed IS 'Jobs that were completed.';
COMMENT ON COLUMN turnstile.stat_queue.failed IS 'Runs that failed, as their workers said, whatever followed.';
COMMENT ON COLUMN turnstile.stat_queue.retried IS 'Runs that failed or were rescued, and after which the job waits for another attempt.';
COMMENT ON COLUMN turnstile.stat_queue.discarded IS 'Jobs that were discarded: no attempt was left, or a call has said so.';
COMMENT ON COLUMN turnstile.stat_queue.cancelled IS 'Jobs that were cancelled.';
COMMENT ON COLUMN turnstile.stat_queue.rescued IS 'Runs that were ended because their lease or their connection had.';
COMMENT ON COLUMN turnstile.stat_queue.oldest_waiting IS 'As in queues.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms IS
    'How long jobs were due before they started: how many per bucket of histogram_bounds().';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_sum IS 'The sum, in milliseconds.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p50 IS 'The median in milliseconds, as if the values of a bucket were spread evenly.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p95 IS 'What 95 of 100 have not passed, likewise.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p99 IS 'What 99 of 100 have not passed, likewise.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms IS 'How long runs lasted, whatever ended them, as wait_ms.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_sum IS 'The sum, in milliseconds.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p50 IS 'The median, as wait_ms_p50.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p95 IS 'As wait_ms_p95.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p99 IS 'As wait_ms_p99.';
COMMENT ON COLUMN turnstile.stat_queue.blocked IS 'As in queues.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms IS
    'How long jobs that ended had waited over all their attempts, as waited of jobs, by bucket as wait_ms. Jobs that never started are not in it.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms_sum IS 'The sum, in milliseconds.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms_p50 IS 'The median, as wait_ms_p50.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms_p95 IS 'As wait_ms_p95.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms_p99 IS 'As wait_ms_p99.';
COMMENT ON COLUMN turnstile.stat_queue.stats_reset IS 'When counting began: with the first change of a job after memory was lost or the extension made, or by stat_reset().';

CREATE VIEW turnstile.stat_tenant AS
SELECT
    live.name, live.enqueued, live.started, live.completed, live.failed, live.retried, live.discarded, live.cancelled, live.rescued,
    live.waiting, live.scheduled, live.retryable, live.running,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    live.wait_ms, live.wait_ms_sum, live.wait_ms_p50, live.wait_ms_p95, live.wait_ms_p99,
    live.run_ms, live.run_ms_sum, live.run_ms_p50, live.run_ms_p95, live.run_ms_p99,
    live.stats_reset,
    live.blocked,
    live.total_wait_ms, live.total_wait_ms_sum, live.total_wait_ms_p50, live.total_wait_ms_p95, live.total_wait_ms_p99
FROM turnstile_internal.figures('tenant') AS live
WHERE live.enqueued IS NOT NULL;
COMMENT ON VIEW turnstile.stat_tenant IS
    'As stat_queue, by tenant. Up to 1,000 tenants have statistics; where there are more, those that are less active and have no row lose theirs.';

-- Who claims.

CREATE FUNCTION turnstile_internal.workers_seen()
    RETURNS TABLE (
        worker text, queue text, first_seen timestamptz, last_seen timestamptz, claims bigint, jobs bigint
    )
    LANGUAGE c STABLE ROWS 100
    AS 'MODULE_PATHNAME', 'turnstile_workers_seen';
COMMENT ON FUNCTION turnstile_internal.workers_seen() IS
    'For the view workers: the workers that memory knows, the one seen last first.
Errors: 42501.';

CREATE VIEW turnstile.workers AS
SELECT seen.worker, seen.queue, seen.first_seen, seen.last_seen, seen.claims, seen.jobs
FROM turnstile_internal.workers_seen() AS seen;
COMMENT ON VIEW turnstile.workers IS
    'Who claims: the workers that claims have named, the 1,000 that were seen last. It is in memory: a restart and a crash empty it. Claims count whether they find something or not, and whether they are committed or not.';
COMMENT ON COLUMN turnstile.workers.worker IS
    'The name that claims gave as worker, its first 127 bytes. NULL stands for all claims that gave none.';
COMMENT ON COLUMN turnstile.workers.queue IS
    'The queue in which the last claim looked last, of those that it named; * stands for all. NULL: not known any more.';
COMMENT ON COLUMN turnstile.workers.first_seen IS 'When a claim first gave the name, since memory knows it.';
COMMENT ON COLUMN turnstile.workers.last_seen IS
    'When a claim last gave the name. A claim that waits counts when it begins, and each time it looks again.';
COMMENT ON COLUMN turnstile.workers.claims IS 'Calls that claimed, also those that found nothing.';
COMMENT ON COLUMN turnstile.workers.jobs IS 'Jobs that they took.';

-- The figures as OpenMetrics names them: a row a sample.

CREATE FUNCTION turnstile_internal.samples_of_histogram(counts bigint[], sum_ms float8)
    RETURNS TABLE (suffix text, le text, value float8)
    LANGUAGE sql STABLE ROWS 32
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT '_bucket', coalesce((bounds.ms / 1000.0)::float8::text, '+Inf'),
        sum(buckets.count) OVER (ORDER BY buckets.number)::float8
    FROM unnest(samples_of_histogram.counts) WITH ORDINALITY AS buckets (count, number)
    LEFT JOIN unnest(turnstile.histogram_bounds()) WITH ORDINALITY AS bounds (ms, number) ON bounds.number = buckets.number
    UNION ALL
    SELECT '_count', NULL, sum(count)::float8 FROM unnest(samples_of_histogram.counts) AS count
    UNION ALL
    SELECT '_sum', NULL, samples_of_histogram.sum_ms / 1000
$function$;
COMMENT ON FUNCTION turnstile_internal.samples_of_histogram(bigint[], float8) IS
    'For the view metrics: the samples of a histogram in seconds, of its buckets and its sum in milliseconds.';

CREATE VIEW turnstile.metrics AS
WITH by_queue AS MATERIALIZED (
    SELECT * FROM turnstile.stat_queue
), by_tenant AS MATERIALIZED (
    SELECT * FROM turnstile.stat_tenant
), queues AS MATERIALIZED (
    SELECT * FROM turnstile.queues
), samples AS (
    SELECT 'turnstile_queue_' || gauges.name AS name, 'turnstile_queue_' || gauges.name AS family,
        jsonb_build_object('queue', queues.name) AS labels, gauges.value
    FROM queues
    CROSS JOIN LATERAL (VALUES
        ('waiting', queues.waiting::float8), ('scheduled', queues.scheduled::float8), ('retryable', queues.retryable::float8),
        ('running', queues.running::float8), ('max_running', queues.max_running::float8), ('free', CASE WHEN queues.max_running IS NOT NULL THEN queues.free END::float8),
        ('oldest_waiting_seconds', extract(epoch FROM coalesce(queues.oldest_waiting, '0'))::float8),
        ('paused', (queues.paused OR coalesce(queues.paused_until > clock_timestamp(), false))::int::float8)
    ) AS gauges (name, value)
    UNION ALL
    -- Counters begin with zero, so that the first event counts.
    SELECT 'turnstile_queue_' || counts.event || '_total', 'turnstile_queue_' || counts.event || '_total',
        jsonb_build_object('queue', queues.name), coalesce(counts.number, 0)::float8
    FROM queues
    LEFT JOIN by_queue ON by_queue.name = queues.name
    CROSS JOIN LATERAL (VALUES
        ('enqueued', by_queue.enqueued), ('started', by_queue.started), ('completed', by_queue.completed), ('failed', by_queue.failed),
        ('retried', by_queue.retried), ('discarded', by_queue.discarded), ('cancelled', by_queue.cancelled),
        ('rescued', by_queue.rescued)
    ) AS counts (event, number)
    UNION ALL
    SELECT histograms.family || sample.suffix, histograms.family,
        jsonb_strip_nulls(jsonb_build_object('queue', by_queue.name, 'le', sample.le)), sample.value
    FROM by_queue
    CROSS JOIN LATERAL (VALUES
        ('turnstile_queue_wait_seconds', by_queue.wait_ms, by_queue.wait_ms_sum),
        ('turnstile_queue_run_seconds', by_queue.run_ms, by_queue.run_ms_sum),
        ('turnstile_queue_total_wait_seconds', by_queue.total_wait_ms, by_queue.total_wait_ms_sum)
    ) AS histograms (family, counts, sum_ms)
    CROSS JOIN LATERAL turnstile_internal.samples_of_histogram(histograms.counts, histograms.sum_ms) AS sample
    UNION ALL
    SELECT 'turnstile_tenant_' || figures.name, 'turnstile_tenant_' || figures.name,
        jsonb_build_object('tenant', by_tenant.name), figures.value
    FROM by_tenant
    CROSS JOIN LATERAL (VALUES
        ('waiting', by_tenant.waiting::float8), ('running', by_tenant.running::float8),
        ('oldest_waiting_seconds', extract(epoch FROM coalesce(by_tenant.oldest_waiting, '0'))::float8),
        ('enqueued_total', by_tenant.enqueued::float8), ('started_total', by_tenant.started::float8),
        ('completed_total', by_tenant.completed::float8), ('failed_total', by_tenant.failed::float8)
    ) AS figures (name, value)
    UNION ALL
    SELECT 'turnstile_memory_' || gauges.name, 'turnstile_memory_' || gauges.name, jsonb_build_object('database', memory.database),
        gauges.value::float8
    FROM turnstile.memory
    CROSS JOIN LATERAL (VALUES
        ('bytes', memory.bytes), ('lanes', memory.lanes), ('lanes_outside', memory.lanes_outside)
    ) AS gauges (name, value)
    UNION ALL
    SELECT 'turnstile_memory_limit_bytes', 'turnstile_memory_limit_bytes', '{}', max(memory.bytes_limit)::float8
    FROM turnstile.memory
    UNION ALL
    SELECT 'turnstile_history_ahead_seconds', 'turnstile_history_ahead_seconds', '{}',
        extract(epoch FROM max(history_partition.ends) - clock_timestamp())::float8
    FROM turnstile.history_partition
    UNION ALL
    SELECT 'turnstile_stats_reset_timestamp_seconds', 'turnstile_stats_reset_timestamp_seconds', '{}',
        extract(epoch FROM min(by_queue.stats_reset))::float8
    FROM by_queue
), families (name, type, help) AS (
    VALUES
    ('turnstile_queue_waiting', 'gauge', 'Jobs of the queue that are available.'),
    ('turnstile_queue_scheduled', 'gauge', 'Jobs of the queue that wait for their time.'),
    ('turnstile_queue_retryable', 'gauge', 'Jobs of the queue that wait for another attempt.'),
    ('turnstile_queue_running', 'gauge', 'Jobs of the queue that run.'),
    ('turnstile_queue_max_running', 'gauge', 'How many jobs of the queue may run at once, missing where there is no limit.'),
    ('turnstile_queue_free', 'gauge', 'How many more jobs of the queue may start now, missing where there is no limit.'),
    ('turnstile_queue_oldest_waiting_seconds', 'gauge', 'How long the first of the waiting jobs of the queue has been due.'),
    ('turnstile_queue_paused', 'gauge', 'Whether the queue is paused, 1 or 0.'),
    ('turnstile_queue_enqueued_total', 'counter', 'Jobs added to the queue.'),
    ('turnstile_queue_started_total', 'counter', 'Runs of the queue that started.'),
    ('turnstile_queue_completed_total', 'counter', 'Jobs of the queue that were completed.'),
    ('turnstile_queue_failed_total', 'counter', 'Runs of the queue that failed.'),
    ('turnstile_queue_retried_total', 'counter', 'Runs of the queue after which the job waits for another attempt.'),
    ('turnstile_queue_discarded_total', 'counter', 'Jobs of the queue that were discarded.'),
    ('turnstile_queue_cancelled_total', 'counter', 'Jobs of the queue that were cancelled.'),
    ('turnstile_queue_rescued_total', 'counter', 'Runs of the queue that were ended because their lease or their connection had.'),
    ('turnstile_queue_wait_seconds', 'histogram', 'How long jobs of the queue were due before they started.'),
    ('turnstile_queue_run_seconds', 'histogram', 'How long runs of the queue lasted.'),
    ('turnstile_queue_total_wait_seconds', 'histogram', 'How long jobs of the queue that ended had waited over all their attempts.'),
    ('turnstile_tenant_waiting', 'gauge', 'Jobs of the tenant that are available.'),
    ('turnstile_tenant_running', 'gauge', 'Jobs of the tenant that run.'),
    ('turnstile_tenant_oldest_waiting_seconds', 'gauge', 'How long the first of the waiting jobs of the tenant has been due.'),
    ('turnstile_tenant_enqueued_total', 'counter', 'Jobs added for the tenant.'),
    ('turnstile_tenant_started_total', 'counter', 'Runs of the tenant that started.'),
    ('turnstile_tenant_completed_total', 'counter', 'Jobs of the tenant that were completed.'),
    ('turnstile_tenant_failed_total', 'counter', 'Runs of the tenant that failed.'),
    ('turnstile_memory_bytes', 'gauge', 'Shared memory that the scheduler of the database has.'),
    ('turnstile_memory_lanes', 'gauge', 'Lanes of the database with waiting jobs.'),
    ('turnstile_memory_lanes_outside', 'gauge', 'Lanes of the database that found no room in memory.'),
    ('turnstile_memory_limit_bytes', 'gauge', 'Shared memory that the schedulers of all databases may have.'),
    ('turnstile_history_ahead_seconds', 'gauge', 'For how long there are partitions of the history, less than seven days where maintain() does not run.'),
    ('turnstile_stats_reset_timestamp_seconds', 'gauge', 'When the counting of events began.')
)
SELECT samples.name, families.type, families.help, samples.labels, samples.value
FROM samples
JOIN families ON families.name = samples.family
WHERE samples.value IS NOT NULL;
COMMENT ON VIEW turnstile.metrics IS
    'Figures by the names and units of OpenMetrics, a row a sample. It reads memory, not jobs.';
COMMENT ON COLUMN turnstile.metrics.name IS 'The name of the sample. A histogram has samples with _bucket, _sum and _count behind its name.';
COMMENT ON COLUMN turnstile.metrics.type IS 'gauge, counter or histogram.';
COMMENT ON COLUMN turnstile.metrics.help IS 'What it means.';
COMMENT ON COLUMN turnstile.metrics.labels IS 'Its labels.';
COMMENT ON COLUMN turnstile.metrics.value IS 'Its value now.';
-- What allow_tenant(), allow_operator() and allow_monitor() grant from now on.

DROP FUNCTION turnstile_internal.rights_of(text);
CREATE FUNCTION turnstile_internal.rights_of(kind text) RETURNS TABLE (privileges text, home text, object text)
    LANGUAGE sql IMMUTABLE ROWS 40
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT listed.privileges, listed.home, object
    FROM (VALUES
        ('producer', 'EXECUTE', 'turnstile', ARRAY['enqueue', 'enqueue_if_new', 'enqueue_many', 'enqueue_batch', 'route_of']),
        ('worker', 'EXECUTE', 'turnstile', ARRAY[
            'claim_next', 'claim', 'claim_own', 'complete', 'complete_many', 'complete_and_claim_next', 'complete_and_claim', 'fail', 'fail_many', 'release', 'snooze',
            'heartbeat', 'heartbeat_many', 'progress', 'wait_for_job', 'listen_channel', 'await_children', 'batch_results',
            'endpoint_of', 'report_endpoint'
        ]),
        ('tenant', 'EXECUTE', 'turnstile', ARRAY[
            'cancel', 'discard', 'retry', 'reprioritize', 'cancel_many', 'discard_many', 'retry_many',
            'why_waiting', 'why_waiting_many', 'wait_estimate', 'batch_results', 'wait_for_end'
        ]),
        ('tenant', 'SELECT', 'turnstile', ARRAY['my_jobs', 'dead_jobs', 'job_id_seq']),
        ('operator', 'EXECUTE', 'turnstile', ARRAY[
            'cancel', 'discard', 'retry', 'reprioritize', 'cancel_many', 'discard_many', 'retry_many', 'delete_many',
            'set_queue', 'set_tenant', 'set_account', 'set_concurrency', 'set_batch', 'wait_for_end',
            'pause_queue', 'resume_queue', 'pause_tenant', 'resume_tenant', 'pause_account', 'resume_account',
            'pause_session', 'resume_session', 'pause_concurrency', 'resume_concurrency', 'pause_recurring', 'resume_recurring',
            'set_endpoint', 'drop_endpoint', 'endpoint_of',
            'set_route', 'drop_route', 'route_of', 'reroute', 'set_retry_curve', 'drop_retry_curve',
            'why_waiting', 'why_waiting_many', 'why_waiting_summary', 'wait_estimate', 'recent', 'recent_failures', 'running_jobs',
            'rescue', 'promote', 'fire_recurring', 'next_firing', 'check', 'rebuild', 'maintain', 'prune_unique_keys', 'make_history_partitions',
            'enable_cron', 'disable_cron', 'version',
            'histogram_bounds', 'stat_reset', 'check_permission'
        ]),
        ('operator', 'EXECUTE', 'turnstile_internal', ARRAY[
            'memory_use', 'figures', 'batch_figures', 'workers_seen', 'samples_of_histogram',
            'check_name', 'check_clear', 'check_rate', 'changed_setting', 'refuse_setting', 'gate_key', 'session_gate'
        ]),
        ('operator', 'SELECT', 'turnstile', ARRAY[
            'job_status', 'queues', 'tenants', 'accounts', 'concurrency_keys', 'batches', 'stat_queue', 'stat_tenant', 'workers', 'metrics', 'memory', 'permissions',
            'history_partition', 'dependencies', 'job_id_seq', 'queue_in_force', 'tenant_in_force', 'account_in_force', 'concurrency_in_force'
        ]),
        ('operator', 'SELECT, INSERT, UPDATE, DELETE', 'turnstile', ARRAY[
            'queue', 'tenant', 'account', 'concurrency', 'paused_session', 'batch', 'route', 'endpoint', 'slowed_key', 'retry_curve'
        ]),
        ('monitor', 'EXECUTE', 'turnstile', ARRAY['histogram_bounds', 'why_waiting_summary']),
        ('monitor', 'EXECUTE', 'turnstile_internal', ARRAY['memory_use', 'figures', 'batch_figures', 'workers_seen', 'samples_of_histogram']),
        ('monitor', 'SELECT', 'turnstile', ARRAY[
            'queues', 'tenants', 'accounts', 'concurrency_keys', 'batches', 'stat_queue', 'stat_tenant', 'workers', 'metrics', 'memory',
            'history_partition'
        ])
    ) AS listed (kind, privileges, home, objects)
    CROSS JOIN LATERAL pg_catalog.unnest(listed.objects) AS object
    WHERE listed.kind = rights_of.kind
$function$;
COMMENT ON FUNCTION turnstile_internal.rights_of(text) IS
    'What allow_producer(), allow_worker(), allow_tenant(), allow_operator() and allow_monitor() grant, by the last word of their names.';
COMMENT ON FUNCTION turnstile.allow_tenant(regrole, text[]) IS
    'Allows a role to see the jobs of some tenants (the view my_jobs), to cancel, discard, retry and reprioritize them, and to ask why they wait, in addition to what it may do already. Uses the rights of the caller.
role: the role, with all its members.
tenants: * stands for all.
Errors: 22004; 22023; 42501; 54000.';
COMMENT ON FUNCTION turnstile.allow_operator(regrole) IS
    'Allows a role to change settings, pauses, routes and endpoints, to cancel and retry jobs, and to run upkeep, in addition to what it may do already. It sees all jobs in the view job_status, without payload, result, metadata and errors. Uses the rights of the caller.
role: the role, with all its members.
Errors: 22004; 42501.';
COMMENT ON FUNCTION turnstile.allow_monitor(regrole) IS
    'Allows a role to read the figures: the views queues, tenants, accounts, concurrency_keys, batches, stat_queue, stat_tenant, workers, metrics, memory and history_partition, and why_waiting_summary. Uses the rights of the caller.
role: the role, with all its members. pg_monitor is a good argument.
Errors: 22004; 42501.';

-- Those who read views of figures need the function that they are made of. Those who complete and claim one job may do so with many.
-- Those who keep runs alive, set routes or pause sessions may do the same with endpoints and concurrency keys.
SELECT pg_catalog.set_config('turnstile_upgrade.grants', (
    SELECT coalesce(pg_catalog.jsonb_agg(DISTINCT made.granted), '[]')::text
    FROM (
        SELECT granted
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        UNION ALL
        SELECT granted || pg_catalog.jsonb_build_object(
            'kind', 'ROUTINE', 'object', NULL, 'name', 'figures', 'part', NULL, 'privilege', 'EXECUTE', 'grantable', false)
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        WHERE granted ->> 'kind' = 'TABLE' AND granted ->> 'privilege' = 'SELECT'
            AND granted ->> 'name' IN ('queues', 'tenants', 'accounts', 'concurrency_keys')
        UNION ALL
        SELECT granted || pg_catalog.jsonb_build_object('object', NULL, 'name', (granted ->> 'name') || '_in_force', 'grantable', false)
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        WHERE granted ->> 'kind' = 'TABLE' AND granted ->> 'privilege' = 'SELECT' AND granted ->> 'part' IS NULL
            AND granted ->> 'name' IN ('queue', 'tenant', 'account', 'concurrency')
        UNION ALL
        SELECT granted || pg_catalog.jsonb_build_object('object', NULL, 'name', 'complete_and_claim')
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        WHERE granted ->> 'kind' = 'ROUTINE' AND (granted ->> 'object')::pg_catalog.oid =
            'turnstile.complete_and_claim_next(bigint, int, jsonb, text, text, interval, boolean, interval)'::pg_catalog.regprocedure
        UNION ALL
        SELECT granted || pg_catalog.jsonb_build_object('object', NULL, 'name', also.made)
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        JOIN (VALUES
            ('heartbeat', 'heartbeat_many'), ('fail', 'fail_many'), ('heartbeat', 'endpoint_of'), ('heartbeat', 'report_endpoint'), ('set_route', 'set_endpoint'), ('set_route', 'endpoint_of'), ('set_route', 'set_retry_curve'), ('drop_route', 'drop_retry_curve'),
            ('drop_route', 'drop_endpoint'), ('check_clear', 'check_rate'), ('pause_session', 'pause_concurrency'), ('resume_session', 'resume_concurrency')
        ) AS also (known, made) ON also.known = granted ->> 'name'
        -- Not a user's function of the same name.
        WHERE granted ->> 'kind' = 'ROUTINE' AND NOT EXISTS (
            SELECT
            FROM pg_catalog.pg_proc AS proc
            WHERE proc.oid = (granted ->> 'object')::pg_catalog.oid AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_depend AS dep
                WHERE dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND dep.objid = proc.oid AND dep.deptype = 'e'
            )
        )
        UNION ALL
        SELECT granted || pg_catalog.jsonb_build_object(
            'kind', 'SCHEMA', 'object', NULL, 'name', 'turnstile_internal', 'part', NULL, 'privilege', 'USAGE', 'grantable', false)
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        WHERE granted ->> 'kind' = 'ROUTINE' AND (granted ->> 'object')::pg_catalog.oid IN (
            SELECT proc.oid
            FROM pg_catalog.pg_proc AS proc
            WHERE proc.pronamespace = 'turnstile_internal'::pg_catalog.regnamespace
        )
        UNION ALL
        -- Who only reads the tables has no use for those that are new: headers of endpoints are not for everybody.
        SELECT granted || pg_catalog.jsonb_build_object('object', NULL, 'name', also.made)
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        JOIN (VALUES ('route', 'endpoint'), ('route', 'retry_curve'), ('paused_session', 'slowed_key')) AS also (known, made) ON also.known = granted ->> 'name'
        WHERE granted ->> 'kind' = 'TABLE' AND granted ->> 'part' IS NULL AND EXISTS (
            SELECT
            FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS writes
            WHERE writes ->> 'kind' = 'TABLE' AND writes ->> 'name' = also.known AND writes ->> 'privilege' = 'INSERT'
                AND writes ->> 'part' IS NULL AND writes -> 'grantee' = granted -> 'grantee'
        )
    ) AS made
), true);

-- maintain() leaves foreign tables to who attached them.
CREATE OR REPLACE FUNCTION turnstile_internal.thin_history() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
AS $function$
DECLARE
    looked_blocks constant int := 8192;
    deleted_blocks constant int := 1024;
    ranges constant int := 8;
    pass record;
    affected bigint;
    deleted bigint := 0;
    failed oid[] := '{}';
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT part.partition, part.ends, rule.policy, pg_catalog.pg_stat_get_tuples_inserted(part.partition) AS inserted
        FROM turnstile.history_partition AS part
        JOIN pg_class AS rel ON rel.oid = part.partition AND rel.relkind <> 'f'
        CROSS JOIN LATERAL turnstile_internal.history_policy(part.ends) AS rule
        WHERE rule.some_over AND NOT rule.all_over
    ), gone AS (
        DELETE FROM turnstile.history_pass
        WHERE NOT EXISTS (SELECT FROM wanted WHERE wanted.partition = history_pass.partition)
    )
    INSERT INTO turnstile.history_pass AS known (partition, policy, looking, rows_inserted)
    SELECT wanted.partition, wanted.policy, wanted.ends IS NOT NULL, wanted.inserted
    FROM wanted
    ON CONFLICT ON CONSTRAINT history_pass_pkey DO UPDATE
    SET policy = excluded.policy, looking = excluded.looking, next_block = 0, finished = false,
        rows_inserted = excluded.rows_inserted
    WHERE known.policy <> excluded.policy OR known.looking AND known.rows_inserted <> excluded.rows_inserted;

    FOR _ IN 1 .. ranges LOOP
        SELECT * INTO pass FROM turnstile.history_pass
        WHERE NOT finished AND partition <> ALL (failed) ORDER BY partition LIMIT 1;
        EXIT WHEN NOT FOUND;
        BEGIN
            affected := turnstile_internal.read_history(
                pass.partition, pass.next_block, CASE WHEN pass.looking THEN looked_blocks ELSE deleted_blocks END, pass.looking
            );
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                RAISE;
            WHEN OTHERS OR assert_failure THEN
                RAISE WARNING 'could not thin partition %: %', pass.partition, SQLERRM
                    USING ERRCODE = SQLSTATE, HINT = 'Other partitions are thinned. The next run tries this one again.';
                failed := failed || pass.partition::oid;
                CONTINUE;
        END;
        IF pass.looking AND affected > 0 THEN
            pass.looking := false;
            pass.next_block := 0;
        ELSE
            deleted := deleted + affected;
            pass.next_block := pass.next_block + CASE WHEN pass.looking THEN looked_blocks ELSE deleted_blocks END;
            pass.finished := pass.next_block * pg_catalog.current_setting('block_size')::bigint
                >= pg_catalog.pg_relation_size(pass.partition);
        END IF;
        UPDATE turnstile.history_pass
        SET looking = pass.looking, next_block = pass.next_block, finished = pass.finished
        WHERE history_pass.partition = pass.partition;
    END LOOP;
    RETURN deleted;
END
$function$;

CREATE OR REPLACE FUNCTION turnstile_internal.drop_history() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET lock_timeout = '50ms'
AS $function$
DECLARE
    most constant int := 10;
    day regclass;
    dropped bigint := 0;
    in_use text;
BEGIN
    FOR day IN
        SELECT part.partition
        FROM turnstile.history_partition AS part
        JOIN pg_class AS rel ON rel.oid = part.partition AND rel.relkind <> 'f'
        CROSS JOIN LATERAL turnstile_internal.history_policy(part.ends) AS rule
        WHERE rule.all_over OR EXISTS (
            SELECT FROM turnstile.history_pass
            WHERE history_pass.partition = part.partition AND history_pass.policy = rule.policy
                AND looking AND finished
                AND rows_inserted = pg_catalog.pg_stat_get_tuples_inserted(part.partition)
        )
        ORDER BY part.ends
        LIMIT most
    LOOP
        BEGIN
            CONTINUE WHEN turnstile_internal.has_awaited_children(day);
            PERFORM turnstile_internal.lock_history(day);
            EXECUTE pg_catalog.format('DROP TABLE %s', day);
            dropped := dropped + 1;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                in_use := SQLERRM;
            WHEN OTHERS OR assert_failure THEN
                RAISE WARNING 'could not drop partition %: %', day, SQLERRM
                    USING ERRCODE = SQLSTATE, HINT = 'If objects depend on the partition, drop them first.';
        END;
    END LOOP;
    IF dropped = 0 AND in_use IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = in_use;
    END IF;
    RETURN dropped;
END
$function$;

-- Recurring jobs, which a background worker fires. Entries of pg_cron for them are removed.

DO $block$
DECLARE
    left_over record;
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron') THEN
        FOR left_over IN
            SELECT cron.unschedule(job.jobid)
            FROM cron.job
            JOIN turnstile.recurring ON job.jobname = recurring.cron_entry::name
            WHERE job.database = pg_catalog.current_database()
        LOOP
        END LOOP;
    END IF;
END
$block$;

DROP VIEW turnstile.recurring_jobs;
DROP FUNCTION turnstile.schedule(text, text, text, jsonb, text, text, text, text, text, int, int, text, text, interval, jsonb);
DROP FUNCTION turnstile_internal.set_recurring(text, text, text, jsonb, text, text, text, text, text, int, int, text, text, interval, jsonb, name);
DROP FUNCTION turnstile.enqueue_recurring(text);
DROP FUNCTION turnstile.cron_entries();

ALTER TABLE turnstile.recurring
    DROP COLUMN cron_entry,
    ALTER COLUMN unique_mode DROP NOT NULL,
    ALTER COLUMN unique_mode DROP DEFAULT,
    ADD COLUMN unique_by text[],
    ADD COLUMN time_zone text,
    ADD COLUMN catch_up text NOT NULL DEFAULT 'once',
    ADD COLUMN next_firing timestamptz,
    ADD COLUMN paused_until timestamptz,
    ADD COLUMN retry_at timestamptz,
    ADD COLUMN last_error text,
    ADD COLUMN last_error_at timestamptz,
    ADD COLUMN unique_states text[],
    ADD CONSTRAINT recurring_catch_up_check CHECK (catch_up IN ('skip', 'once', 'all'));

-- enqueue() refuses options that mean nothing without another.
UPDATE turnstile.recurring SET unique_mode = NULL WHERE recurring.unique_key IS NULL;
UPDATE turnstile.recurring SET account = NULL WHERE recurring.tenant IS NULL;
CREATE INDEX recurring_due_idx ON turnstile.recurring (greatest(coalesce(next_firing, '-infinity'), paused_until, retry_at), name);

COMMENT ON COLUMN turnstile.recurring.cron IS
    'When: minute, hour, day of month, month, day of week; or @hourly, @daily, @weekly, @monthly, @yearly.';
COMMENT ON COLUMN turnstile.recurring.last_firing IS 'The last firing that enqueued a job: the time at which it was due.';
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

-- Tells the process that fires them when the rows have changed.
CREATE FUNCTION turnstile_internal.recurring_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_recurring_changed';
COMMENT ON FUNCTION turnstile_internal.recurring_changed() IS
    'Trigger on turnstile.recurring: has the server look at it once the change is committed.';

CREATE TRIGGER publish_recurring AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.recurring
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.recurring_changed();
ALTER TABLE turnstile.recurring ENABLE ALWAYS TRIGGER publish_recurring;

CREATE OR REPLACE FUNCTION turnstile_internal.check_recurring_owner(name text, caller name) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    owner name := (SELECT recurring.owner FROM turnstile.recurring WHERE recurring.name = check_recurring_owner.name COLLATE "default" FOR UPDATE);
    -- From PostgreSQL 16 on a membership may give neither the rights of the role nor SET ROLE.
    needed constant text := CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 160000 THEN 'USAGE, SET' ELSE 'MEMBER' END;
BEGIN
    -- A superuser is a member of every role. One that was dropped has no members.
    IF owner IS NULL OR caller = current_user
        OR (SELECT role.rolsuper FROM pg_catalog.pg_roles AS role WHERE role.rolname = caller)
        OR (SELECT pg_catalog.pg_has_role(caller, role.oid, needed) FROM pg_catalog.pg_roles AS role WHERE role.rolname = owner)
    THEN
        RETURN;
    END IF;
    RAISE EXCEPTION 'recurring job "%" belongs to another role', name USING ERRCODE = '42501',
        DETAIL = pg_catalog.format('It belongs to "%s".', owner), HINT = 'Choose another name, or become a member of that role.';
END
$function$;
COMMENT ON FUNCTION turnstile_internal.check_recurring_owner(text, name) IS
    'For schedule(), unschedule() and pauses: locks the row of that name, if there is one. Errors: 42501 it belongs to another role.';

CREATE FUNCTION turnstile_internal.time_zone_of(time_zone text) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    known text;
BEGIN
    IF time_zone IS NULL THEN
        RETURN NULL;
    END IF;
    -- The view reads hundreds of files.
    SELECT recurring.time_zone INTO known FROM turnstile.recurring
    WHERE recurring.time_zone = time_zone_of.time_zone LIMIT 1;
    IF known IS NULL THEN
        SELECT min(zone.name) INTO known FROM pg_catalog.pg_timezone_names AS zone
        WHERE lower(zone.name) = lower(time_zone_of.time_zone);
    END IF;
    IF known IS NULL THEN
        RAISE EXCEPTION 'unknown time zone' USING ERRCODE = '22023',
            DETAIL = pg_catalog.format('pg_timezone_names does not have "%s".', pg_catalog.left(time_zone, 100)),
            HINT = 'Pass a name such as Europe/Berlin.';
    END IF;
    RETURN known;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.time_zone_of(text) IS
    'For schedule(): the name of a time zone as pg_timezone_names has it. Errors: 22023.';

CREATE FUNCTION turnstile_internal.set_recurring(
    name text, cron text, kind text, payload jsonb, queue text, tenant text, account text, session text,
    concurrency_key text, priority int, max_attempts int, unique_key text, unique_mode text, unique_for interval,
    metadata jsonb, unique_by text[], time_zone text, catch_up text, unique_states text[], caller name
) RETURNS timestamptz
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_variable
DECLARE
    zone constant text := turnstile_internal.time_zone_of(time_zone);
    fires timestamptz;
BEGIN
    PERFORM turnstile_internal.check_name('name', name);
    PERFORM turnstile_internal.check_recurring_owner(name, caller);
    IF NOT pg_catalog.has_schema_privilege(caller, 'turnstile', 'USAGE') OR NOT (
        SELECT pg_catalog.bool_and(pg_catalog.has_function_privilege(caller, proc.oid, 'EXECUTE'))
        FROM pg_catalog.pg_proc AS proc
        WHERE proc.proname = 'enqueue' AND proc.pronamespace = 'turnstile'::regnamespace
    ) THEN
        RAISE EXCEPTION 'permission denied to schedule a job' USING ERRCODE = '42501',
            DETAIL = pg_catalog.format('The role "%s" may not call turnstile.enqueue.', caller),
            HINT = 'Call turnstile.allow_producer() for the role: each firing enqueues with its rights.';
    END IF;
    IF catch_up IS NULL THEN
        RAISE EXCEPTION 'catch_up must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "catch_up" is NULL.', HINT = 'Pass skip, once or all, or leave it out.';
    ELSIF catch_up NOT IN ('skip', 'once', 'all') THEN
        RAISE EXCEPTION 'unknown way to catch up' USING ERRCODE = '22023',
            DETAIL = pg_catalog.format('It is "%s".', pg_catalog.left(catch_up, 100)), HINT = 'Pass skip, once or all.';
    END IF;
    fires := turnstile.next_firing(cron, zone);
    -- What enqueue() would refuse at each firing is refused here: the call is tried and rolled back.
    BEGIN
        PERFORM turnstile.enqueue(
            kind => kind, payload => payload, queue => queue, tenant => tenant, account => account, session => session,
            concurrency_key => concurrency_key, priority => priority, max_attempts => max_attempts,
            unique_key => unique_key, unique_mode => unique_mode, unique_for => unique_for, metadata => metadata,
            unique_by => unique_by, unique_states => unique_states
        );
        RAISE EXCEPTION SQLSTATE 'TS000';
    EXCEPTION WHEN SQLSTATE 'TS000' THEN
    END;
    INSERT INTO turnstile.recurring AS known (
        name, cron, kind, payload, queue, tenant, account, session, concurrency_key, priority, max_attempts, unique_key,
        unique_mode, unique_for, metadata, unique_by, time_zone, catch_up, unique_states, next_firing, owner
    )
    VALUES (
        name, cron, kind, payload, queue, tenant, account, session, concurrency_key, priority, max_attempts,
        unique_key, unique_mode, unique_for, metadata, unique_by, zone, catch_up, unique_states, fires, caller
    )
    ON CONFLICT ON CONSTRAINT recurring_pkey DO UPDATE
    SET (cron, kind, payload, queue, tenant, account, session, concurrency_key, priority, max_attempts, unique_key,
            unique_mode, unique_for, metadata, unique_by, time_zone, catch_up, unique_states, retry_at)
        = (excluded.cron, excluded.kind, excluded.payload, excluded.queue, excluded.tenant, excluded.account,
            excluded.session, excluded.concurrency_key, excluded.priority, excluded.max_attempts, excluded.unique_key,
            excluded.unique_mode, excluded.unique_for, excluded.metadata, excluded.unique_by, excluded.time_zone,
            excluded.catch_up, excluded.unique_states, NULL),
        -- The same schedule goes on: firings that were missed stay missed.
        next_firing = CASE
            WHEN (known.cron, known.time_zone) IS NOT DISTINCT FROM (excluded.cron, excluded.time_zone)
                THEN coalesce(known.next_firing, excluded.next_firing)
            ELSE excluded.next_firing
        END,
        owner = CASE
            WHEN EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.rolname = known.owner) THEN known.owner
            ELSE excluded.owner
        END
    RETURNING next_firing INTO fires;
    -- Another session may have been first.
    PERFORM turnstile_internal.check_recurring_owner(name, caller);
    RETURN fires;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.set_recurring(text, text, text, jsonb, text, text, text, text, text, int, int, text, text, interval, jsonb, text[], text, text, text[], name) IS
    'For schedule(): does it for the caller.';

CREATE OR REPLACE FUNCTION turnstile_internal.end_recurring(name text, caller name) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile_internal.check_name('name', name);
    PERFORM turnstile_internal.check_recurring_owner(name, caller);
    DELETE FROM turnstile.recurring WHERE recurring.name = end_recurring.name COLLATE "default";
    RETURN FOUND;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.end_recurring(text, name) IS
    'For unschedule(): does it for the caller.';

CREATE FUNCTION turnstile_internal.set_recurring_pause(name text, until timestamptz, caller name, is_operator boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile_internal.check_name('name', name);
    IF NOT is_operator THEN
        PERFORM turnstile_internal.check_recurring_owner(name, caller);
    END IF;
    UPDATE turnstile.recurring SET paused_until = until, retry_at = NULL WHERE recurring.name = set_recurring_pause.name COLLATE "default";
    RETURN FOUND;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.set_recurring_pause(text, timestamptz, name, boolean) IS
    'For pause_recurring() and resume_recurring(): does it for the caller.';

-- Only C knows the caller: SECURITY DEFINER hides it.
CREATE FUNCTION turnstile.schedule(
    name text,
    cron text,
    kind text,
    payload jsonb DEFAULT '{}',
    queue text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    priority int DEFAULT 0,
    max_attempts int DEFAULT NULL,
    unique_key text DEFAULT NULL,
    unique_mode text DEFAULT NULL,
    unique_for interval DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    unique_by text[] DEFAULT NULL,
    time_zone text DEFAULT NULL,
    catch_up text DEFAULT 'once',
    unique_states text[] DEFAULT NULL
) RETURNS timestamptz
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_schedule';
COMMENT ON FUNCTION turnstile.schedule(text, text, text, jsonb, text, text, text, text, text, int, int, text, text, interval, jsonb, text[], text, text, text[]) IS
    'Enqueues a job again and again, and returns when it fires next. A second call with the same name replaces it; a pause stays. The recurring job belongs to the caller, and each firing enqueues with the rights of that role. The metadata of the job has recurring, the name, and firing, the time at which it was due in UTC.
name: of the recurring job, 1 to 255 bytes.
cron: five fields: minute, hour, day of month, month, day of week, with names (jan, mon), steps (*/5), L for the last day, 2#1 for the first Tuesday; or @hourly, @daily, @weekly, @monthly, @yearly.
time_zone: in which the schedule is read, a name of pg_timezone_names. NULL: UTC. Where its clock is set forward, what was due at a time that does not exist fires at the change; where it is set back, the first of two equal times counts. A schedule with * as its hour goes on each hour.
catch_up: what becomes of firings that were missed by more than a minute, because the server was down or the recurring job paused: skip, once (one job for all of them), all (a job for each).
The other arguments are those of enqueue.
Errors: as enqueue; 22023 also a schedule that cannot be read or never fires, or a time zone that the server does not know; 42501 also where another role owns the name.';

CREATE FUNCTION turnstile.pause_recurring(name text, until timestamptz DEFAULT NULL) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_pause_recurring';
COMMENT ON FUNCTION turnstile.pause_recurring(text, timestamptz) IS
    'A recurring job does not fire, from the commit on. What is missed is caught up on as schedule() was told. Returns false if there is none of that name. An operator may pause those of all roles.
name: as for schedule.
until: the pause ends at this time by itself. NULL: when it is resumed.
Errors: 22004; 22023; 42501 it belongs to another role; 54000.';

CREATE FUNCTION turnstile.resume_recurring(name text) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_resume_recurring';
COMMENT ON FUNCTION turnstile.resume_recurring(text) IS
    'Ends a pause of a recurring job. Returns false if there is none of that name. An operator may resume those of all roles.
name: as for schedule.
Errors: 22004; 22023; 42501 it belongs to another role; 54000.';

CREATE FUNCTION turnstile.next_firing(cron text, time_zone text DEFAULT NULL, after timestamptz DEFAULT pg_catalog.now()) RETURNS timestamptz
    LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'turnstile_next_firing';
COMMENT ON FUNCTION turnstile.next_firing(text, text, timestamptz) IS
    'Returns when a recurring job with this schedule would fire next.
cron: as for schedule.
time_zone: as for schedule.
after: the first firing after this time.
Errors: 22004; 22023.';

CREATE FUNCTION turnstile_internal.enqueue_firing(name text, firing timestamptz) RETURNS bigint
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_enqueue_firing';
COMMENT ON FUNCTION turnstile_internal.enqueue_firing(text, timestamptz) IS
    'For fire_once(): enqueues the job of a firing with the rights of the recurring job''s owner, and returns its id. Errors: 42501 the caller does not own the extension; 42704 the owner does not exist; and those of enqueue.';

-- A firing that fails leaves the transaction as it was, so that others can go on. A lock or the like is waited for: the firing stays due.
CREATE FUNCTION turnstile_internal.fire_once(name text, firing timestamptz, next timestamptz) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    job_id bigint;
    why text;
    is_passing boolean := false;
BEGIN
    BEGIN
        job_id := turnstile_internal.enqueue_firing(fire_once.name, fire_once.firing);
        -- What a user's deferred trigger refuses must not refuse the commit.
        SET CONSTRAINTS ALL IMMEDIATE;
        UPDATE turnstile.recurring
        SET last_firing = fire_once.firing, last_job_id = job_id, next_firing = fire_once.next,
            retry_at = NULL, last_error = NULL, last_error_at = NULL
        WHERE recurring.name = fire_once.name COLLATE "default";
        RETURN true;
    EXCEPTION
        WHEN transaction_rollback OR lock_not_available OR disk_full OR out_of_memory THEN
            is_passing := true;
            why := SQLERRM;
        WHEN query_canceled THEN
            why := SQLERRM;
            -- Nobody cancels the background worker: a trigger says so.
            IF NOT EXISTS (
                SELECT
                FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) AS activity
                WHERE activity.backend_type OPERATOR(pg_catalog.=) 'turnstile upkeep'
            ) THEN
                RAISE;
            END IF;
        WHEN OTHERS OR assert_failure THEN
            why := SQLERRM;
    END;
    RAISE WARNING 'recurring job "%" could not enqueue its job: %', fire_once.name, why
        USING DETAIL = pg_catalog.format('It was due at %s.', fire_once.firing),
            HINT = CASE WHEN is_passing THEN 'It is tried again in ten seconds.' ELSE 'The next firing is made as always.' END;
    UPDATE turnstile.recurring
    SET next_firing = CASE WHEN is_passing THEN recurring.next_firing ELSE fire_once.next END,
        retry_at = CASE WHEN is_passing THEN pg_catalog.clock_timestamp() + interval '10 seconds' END,
        last_error = why, last_error_at = pg_catalog.clock_timestamp()
    WHERE recurring.name = fire_once.name COLLATE "default";
    RETURN false;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.fire_once(text, timestamptz, timestamptz) IS
    'For fire_recurring() and the background worker: makes one firing of a recurring job, or tells why that failed.';

CREATE FUNCTION turnstile.fire_recurring(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_fire_recurring';
COMMENT ON FUNCTION turnstile.fire_recurring(int) IS
    'Fires recurring jobs that are due, and returns how many jobs that enqueued. The background worker does it by itself; this is for a server that has none to spare. A firing that fails is told with a WARNING and in recurring_jobs.
max_jobs: at most so many recurring jobs fire, each as often as it has to catch up on, up to 100 times.
Errors: 22004; 22023; 42501; 25006.';

CREATE VIEW turnstile.recurring_jobs AS
    SELECT
        recurring.name, recurring.cron,
        coalesce(recurring.next_firing < 'infinity', true)
            AND coalesce(recurring.paused_until <= pg_catalog.now(), true) AS active,
        recurring.kind, recurring.payload, recurring.queue, recurring.tenant, recurring.last_firing, recurring.last_job_id,
        recurring.owner,
        nullif(greatest(recurring.next_firing, recurring.paused_until), 'infinity') AS next_firing,
        nullif(recurring.paused_until, 'infinity') AS paused_until,
        recurring.time_zone, recurring.catch_up, recurring.last_error, recurring.last_error_at
    FROM turnstile.recurring;
COMMENT ON VIEW turnstile.recurring_jobs IS
    'Recurring jobs, with their last and their next firing.';
COMMENT ON COLUMN turnstile.recurring_jobs.active IS 'It is not paused, and its schedule can be read.';
COMMENT ON COLUMN turnstile.recurring_jobs.paused_until IS 'When its pause ends, or has ended, by itself.';
COMMENT ON COLUMN turnstile.recurring_jobs.next_firing IS
    'When it fires next, or when its pause ends. NULL: not before it is resumed or scheduled anew.';

-- It times recurring jobs in the time zone in which pg_cron did, and looks at each once this script is committed.
DO $block$
DECLARE
    zone constant text := pg_catalog.current_setting('cron.timezone', true);
BEGIN
    UPDATE turnstile.recurring SET time_zone = zone
    WHERE zone IS NOT NULL AND upper(zone) NOT IN ('GMT', 'UTC', '');
END
$block$;

INSERT INTO turnstile.maintain_task (name) VALUES ('fire recurring') ON CONFLICT DO NOTHING;

-- pg_cron, for maintain(): its entries are removed after DROP EXTENSION.

COMMENT ON FUNCTION turnstile_internal.set_cron_entry(text, text, text) IS
    'For enable_cron(): makes or replaces an entry of pg_cron and returns its jobid. Errors: 22004; 22023; 55000 without pg_cron.';
COMMENT ON FUNCTION turnstile_internal.remove_cron_entry(text) IS
    'For disable_cron(): removes an entry of pg_cron; false if there is none. Errors: 55000 without pg_cron.';

-- An entry is no part of the extension. It outlives DROP EXTENSION, and its next run then removes it.
CREATE FUNCTION turnstile_internal.cron_command(verb text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT format($command$DO $do$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'turnstile') THEN
        PERFORM cron.unschedule(jobid) FROM cron.job
        WHERE jobname IN ('turnstile maintain', 'turnstile clean-up') AND username = current_user;
    ELSE
        PERFORM turnstile.%I();
    END IF;
END $do$$command$, cron_command.verb)
$function$;
COMMENT ON FUNCTION turnstile_internal.cron_command(text) IS
    'For enable_cron(): the command of an entry of pg_cron, which removes the entries once the extension is gone.';

CREATE OR REPLACE FUNCTION turnstile.enable_cron(schedule text DEFAULT '* * * * *') RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    entry bigint;
BEGIN
    entry := turnstile_internal.set_cron_entry('turnstile maintain', schedule, turnstile_internal.cron_command('maintain'));
    PERFORM turnstile_internal.set_cron_entry('turnstile clean-up', '17 * * * *', turnstile_internal.cron_command('clean_cron_log'));
    RETURN entry;
END
$function$;
COMMENT ON FUNCTION turnstile.enable_cron(text) IS
    'Makes pg_cron run maintain(), and delete the log of its own runs that is older than three days. Returns the jobid of the first entry. A second call replaces the schedule.
schedule: five fields: minute, hour, day of month, month, day of week.
Errors: 22004; 22023; 55000 without pg_cron.';

CREATE OR REPLACE FUNCTION turnstile.disable_cron() RETURNS int
    LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.remove_cron_entry('turnstile maintain')::int + turnstile_internal.remove_cron_entry('turnstile clean-up')::int
$function$;
COMMENT ON FUNCTION turnstile.disable_cron() IS
    'Removes what enable_cron() has set up, and returns how many entries of pg_cron that were.
Errors: 55000 without pg_cron.';

CREATE OR REPLACE FUNCTION turnstile.clean_cron_log(keep interval DEFAULT '3 days') RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    deleted bigint;
BEGIN
    IF keep IS NULL THEN
        RAISE EXCEPTION 'keep must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "keep" is NULL.', HINT = 'Leave it out for three days.';
    END IF;
    PERFORM turnstile_internal.require_cron();
    DELETE FROM cron.job_run_details
    WHERE runid = ANY (ARRAY (
        SELECT run.runid FROM cron.job_run_details AS run
        WHERE run.username = current_user AND run.database = current_database()
            AND (
                run.command IN (turnstile_internal.cron_command('maintain'), turnstile_internal.cron_command('clean_cron_log'))
                -- Those of 0.1.0.
                OR run.command IN ('SELECT turnstile.maintain()', 'SELECT turnstile.clean_cron_log()')
                OR run.command LIKE 'SELECT turnstile.enqueue\_recurring(%'
            )
            AND coalesce(run.end_time, run.start_time) < pg_catalog.now() - keep
        LIMIT 10000
    ));
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$function$;
COMMENT ON FUNCTION turnstile.clean_cron_log(interval) IS
    'Deletes old runs of maintain() and of itself from the log of pg_cron, up to 10,000. Returns how many.
keep: how long runs stay.
Errors: 22004; 55000 without pg_cron.';

DO $block$
DECLARE
    entry record;
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron') THEN
        FOR entry IN
            SELECT job.jobid, command.text
            FROM cron.job
            JOIN (VALUES ('turnstile maintain', 'maintain'), ('turnstile clean-up', 'clean_cron_log')) AS known (name, verb)
                ON job.jobname = known.name
            CROSS JOIN LATERAL turnstile_internal.cron_command(known.verb) AS command (text)
            WHERE job.database = pg_catalog.current_database()
        LOOP
            PERFORM cron.alter_job(entry.jobid, command => entry.text);
        END LOOP;
    END IF;
END
$block$;

CREATE OR REPLACE FUNCTION turnstile_internal.allow(role regrole, kind text, verbs text[], queues text[], tenants text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    granted record;
BEGIN
    IF allow.role IS NULL THEN
        RAISE EXCEPTION 'role must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "role" is NULL.', HINT = 'Pass the name of a role.';
    END IF;
    PERFORM turnstile_internal.check_names('queues', allow.queues);
    PERFORM turnstile_internal.check_names('tenants', allow.tenants);
    -- Two sessions that grant at the same time would change the same rows of the catalog.
    LOCK TABLE turnstile.permission IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO turnstile.permission (role, verb, queue, tenant)
    SELECT allow.role, verb, queue, tenant
    FROM unnest(allow.verbs) AS verb, unnest(allow.queues) AS queue, unnest(allow.tenants) AS tenant
    ON CONFLICT DO NOTHING;
    -- DDL takes no parameters; a regrole is quoted where it has to be.
    FOR granted IN SELECT DISTINCT rights.home FROM turnstile_internal.rights_of(allow.kind) AS rights LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %s', granted.home, allow.role);
    END LOOP;
    FOR granted IN SELECT * FROM turnstile_internal.rights_of(allow.kind) LOOP
        EXECUTE format(
            'GRANT %s ON %s %I.%I TO %s', granted.privileges,
            CASE granted.privileges WHEN 'EXECUTE' THEN 'ROUTINE' ELSE 'TABLE' END, granted.home, granted.object, allow.role
        );
    END LOOP;
END
$function$;

CREATE OR REPLACE FUNCTION turnstile.disallow(role regrole) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    kind text;
BEGIN
    IF disallow.role IS NULL THEN
        RAISE EXCEPTION 'role must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "role" is NULL.', HINT = 'Pass the name of a role.';
    END IF;
    LOCK TABLE turnstile.permission IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM turnstile.permission
    WHERE permission.role = disallow.role
        OR NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE pg_roles.oid = permission.role);
    FOREACH kind IN ARRAY ARRAY['ROUTINES', 'TABLES', 'SEQUENCES'] LOOP
        EXECUTE format('REVOKE ALL ON ALL %s IN SCHEMA turnstile, turnstile_internal FROM %s', kind, disallow.role);
    END LOOP;
    EXECUTE format('REVOKE ALL ON SCHEMA turnstile, turnstile_internal FROM %s', disallow.role);
END
$function$;

-- Those that call what has moved.

CREATE OR REPLACE FUNCTION turnstile_internal.set_cron_entry(entry text, cron text, command text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF cron IS NULL THEN
        RAISE EXCEPTION 'schedule must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument is NULL.', HINT = 'Pass five fields, for example ''*/5 * * * *''.';
    END IF;
    PERFORM turnstile_internal.remove_cron_entry(entry);
    RETURN cron.schedule(entry, cron, command);
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE EXCEPTION 'invalid schedule' USING ERRCODE = '22023',
        DETAIL = pg_catalog.format('It is "%s". pg_cron says: %s', cron, SQLERRM),
        HINT = 'Use five fields: minute, hour, day of month, month, day of week; for example ''*/5 * * * *''.';
END
$function$;

CREATE OR REPLACE FUNCTION turnstile_internal.remove_cron_entry(entry text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    removed boolean;
BEGIN
    PERFORM turnstile_internal.require_cron();
    SELECT coalesce(bool_or(cron.unschedule(job.jobid)), false) INTO removed
    FROM cron.job
    WHERE job.jobname = entry::name AND job.username = current_user;
    RETURN removed;
END
$function$;

CREATE OR REPLACE FUNCTION turnstile_internal.check_names(argument text, names text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF names IS NULL OR EXISTS (SELECT FROM unnest(names) AS name WHERE name IS NULL) THEN
        RAISE EXCEPTION '% must not be or contain null', argument USING ERRCODE = '22004',
            DETAIL = format('The argument "%s" is %s.', argument, coalesce(names::text, 'NULL')),
            HINT = 'Pass an array of names; ''{*}'' stands for all.';
    ELSIF cardinality(names) = 0 THEN
        RAISE EXCEPTION '% must not be empty', argument USING ERRCODE = '22023',
            DETAIL = format('The argument "%s" is an empty array.', argument), HINT = 'Pass an array of names; ''{*}'' stands for all.';
    END IF;
    PERFORM turnstile_internal.check_name(argument, name) FROM unnest(names) AS name;
END
$function$;

CREATE OR REPLACE FUNCTION turnstile_internal.forget_unique_keys() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    -- It runs with the rights of the owner, so never on a table of another role.
    IF (TG_RELID, TG_WHEN, TG_LEVEL, TG_OP)
        IS DISTINCT FROM ('turnstile.job'::regclass::oid, 'AFTER', 'STATEMENT', 'TRUNCATE')
    THEN
        RAISE EXCEPTION 'forget_unique_keys() cannot be called by this trigger' USING ERRCODE = '55000',
            DETAIL = pg_catalog.format('It was called %s %s for each %s on %s.', TG_WHEN, TG_OP, TG_LEVEL, TG_RELID::regclass),
            HINT = 'It is for the trigger of the extension on turnstile.job. Drop this trigger.';
    END IF;
    -- A statement that names both tables has it open, and has emptied it. What it holds on disk counts, and not what a snapshot sees.
    IF pg_catalog.pg_relation_size('turnstile.unique_key') > 0 THEN
        TRUNCATE turnstile.unique_key;
    END IF;
    RETURN NULL;
END
$function$;

CREATE INDEX paused_session_until_idx ON turnstile.paused_session (until);

CREATE OR REPLACE FUNCTION turnstile.pause_session(queue text, tenant text, session text, until timestamptz DEFAULT NULL)
    RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
BEGIN
    PERFORM turnstile_internal.check_name('queue', pause_session.queue);
    PERFORM turnstile_internal.check_name('tenant', pause_session.tenant, true);
    PERFORM turnstile_internal.check_name('session', pause_session.session);
    PERFORM turnstile.check_permission('manage');
    -- Pauses that ended by themselves have left their rows. A row that another transaction has locked stays.
    DELETE FROM turnstile.paused_session AS ended
    WHERE ended.gate = ANY (ARRAY(
        SELECT paused.gate
        FROM turnstile.paused_session AS paused
        WHERE paused.until < statement_timestamp()
        ORDER BY paused.until
        LIMIT 100
        FOR UPDATE SKIP LOCKED
    ));
    INSERT INTO turnstile.paused_session AS paused (queue, tenant, session, until)
    VALUES (
        pause_session.queue, pause_session.tenant, pause_session.session, coalesce(pause_session.until, 'infinity')
    )
    ON CONFLICT (gate) DO UPDATE SET until = excluded.until;
END
$function$;

CREATE OR REPLACE FUNCTION turnstile.resume_session(queue text, tenant text, session text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
BEGIN
    PERFORM turnstile_internal.check_name('queue', resume_session.queue);
    PERFORM turnstile_internal.check_name('tenant', resume_session.tenant, true);
    PERFORM turnstile_internal.check_name('session', resume_session.session);
    PERFORM turnstile.check_permission('manage');
    DELETE FROM turnstile.paused_session AS paused
    WHERE paused.gate = turnstile_internal.session_gate(resume_session.queue, resume_session.tenant, resume_session.session);
END
$function$;

CREATE OR REPLACE FUNCTION turnstile.set_route(
    pattern text,
    queue text DEFAULT NULL,
    priority_offset int DEFAULT NULL,
    override boolean DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.route
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.route;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('pattern', set_route.pattern);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_name('queue', set_route.queue, true);
    PERFORM turnstile_internal.check_name('concurrency_key', set_route.concurrency_key, true);
    PERFORM turnstile_internal.check_clear(set_route.clear, 'queue', 'concurrency_key');
    INSERT INTO turnstile.route (pattern) VALUES (set_route.pattern) ON CONFLICT DO NOTHING;
    UPDATE turnstile.route
    SET queue = turnstile_internal.changed_setting('queue', set_route.clear, set_route.queue, queue),
        priority_offset = coalesce(set_route.priority_offset, priority_offset),
        override = coalesce(set_route.override, override),
        concurrency_key = turnstile_internal.changed_setting('concurrency_key', set_route.clear, set_route.concurrency_key, concurrency_key)
    WHERE pattern = set_route.pattern COLLATE "default"
    RETURNING * INTO made;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;

CREATE OR REPLACE FUNCTION turnstile.drop_route(pattern text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile_internal.check_name('pattern', drop_route.pattern);
    PERFORM turnstile.check_permission('manage');
    DELETE FROM turnstile.route WHERE route.pattern = drop_route.pattern COLLATE "default";
    RETURN FOUND;
END
$function$;

CREATE OR REPLACE FUNCTION turnstile.allow_producer(role regrole, queues text[] DEFAULT '{*}', tenants text[] DEFAULT '{*}')
    RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_producer.role, 'producer', '{enqueue}', allow_producer.queues, allow_producer.tenants)
$function$;

CREATE OR REPLACE FUNCTION turnstile.allow_worker(role regrole, queues text[] DEFAULT '{*}') RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_worker.role, 'worker', '{work}', allow_worker.queues, '{*}')
$function$;

CREATE OR REPLACE FUNCTION turnstile.allow_tenant(role regrole, tenants text[]) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_tenant.role, 'tenant', '{see,manage}', '{*}', allow_tenant.tenants)
$function$;

CREATE OR REPLACE FUNCTION turnstile.allow_operator(role regrole) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_operator.role, 'operator', '{manage}', '{*}', '{*}')
$function$;

CREATE OR REPLACE FUNCTION turnstile.allow_monitor(role regrole) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_monitor.role, 'monitor', '{}', '{*}', '{*}')
$function$;

CREATE OR REPLACE FUNCTION turnstile.make_history_partitions(days_ahead int DEFAULT 7) RETURNS int
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET default_tablespace = ''
    SET default_table_access_method = 'heap'
AS $function$
DECLARE
    missing date[];
    crowded date[];
    day date;
    partition text;
    made int := 0;
    place constant text := coalesce((
        SELECT pg_catalog.format('TABLESPACE %I', spcname)
        FROM pg_catalog.pg_class JOIN pg_catalog.pg_tablespace ON pg_tablespace.oid = reltablespace
        WHERE pg_class.oid = 'turnstile.job_history'::regclass
    ), '');
BEGIN
    IF days_ahead IS NULL THEN
        RAISE EXCEPTION 'days_ahead must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "days_ahead" is NULL.', HINT = 'Leave it out for a week.';
    END IF;
    IF days_ahead NOT BETWEEN 0 AND 366 THEN
        RAISE EXCEPTION 'days_ahead must be between 0 and 366' USING ERRCODE = '22023',
            DETAIL = pg_catalog.format('It is %s.', days_ahead), HINT = 'A week is enough with a daily run.';
    END IF;
    IF pg_catalog.to_regclass('turnstile.job_history_default') IS NULL THEN
        CREATE TABLE turnstile.job_history_default PARTITION OF turnstile.job_history DEFAULT;
        PERFORM turnstile_internal.finish_partition('turnstile.job_history_default');
        COMMENT ON TABLE turnstile.job_history_default IS
            'Catches finished jobs of a day whose partition was not made ahead.';
    END IF;
    missing := turnstile_internal.missing_history_days(days_ahead);
    IF missing IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM turnstile_internal.lock_history();
    crowded := ARRAY (
        SELECT finished_at::date FROM turnstile.job_history_default
        WHERE finished_at >= missing[1] GROUP BY 1 HAVING count(*) > 10000
    );
    FOREACH day IN ARRAY missing LOOP
        CONTINUE WHEN day = ANY (crowded);
        partition := 'turnstile.job_history_' || pg_catalog.to_char(day, 'YYYYMMDD');
        -- DDL takes no parameters; names and bounds are quoted by format.
        EXECUTE pg_catalog.format(
            'CREATE TABLE %s (LIKE turnstile.job_history
                INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION) %s',
            partition, place
        );
        PERFORM turnstile_internal.finish_partition(partition::regclass);
        PERFORM turnstile_internal.move_strays(partition::regclass, day::timestamptz, (day + 1)::timestamptz);
        EXECUTE pg_catalog.format(
            'ALTER TABLE turnstile.job_history ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)',
            partition, day::timestamptz, (day + 1)::timestamptz
        );
        made := made + 1;
    END LOOP;
    RETURN made;
END
$function$;

-- What this script has made belongs to who runs it, who may be another than the owner of the extension. Functions work with the
-- rights of their owner, and the owner of the extension grants EXECUTE on them. What was there before has initial privileges.
DO $block$
DECLARE
    made record;
BEGIN
    FOR made IN
        SELECT 'TABLE' AS kind, rel.oid::pg_catalog.regclass::text AS name, dep.classid AS class, rel.oid AS object, rel.relowner AS owner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_class AS rel ON dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND rel.oid = dep.objid
        WHERE dep.deptype = 'e' AND rel.relnamespace = 'turnstile'::pg_catalog.regnamespace AND rel.relkind IN ('r', 'p', 'v', 'S')
            AND NOT EXISTS (
                -- A sequence of a column goes with its table.
                SELECT FROM pg_catalog.pg_depend AS of
                WHERE of.classid = dep.classid AND of.objid = rel.oid AND of.refobjsubid > 0 AND of.deptype IN ('a', 'i')
                    AND rel.relkind = 'S'
            )
        UNION ALL
        SELECT 'ROUTINE', proc.oid::pg_catalog.regprocedure::text, dep.classid, proc.oid, proc.proowner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_proc AS proc ON dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND proc.oid = dep.objid
        WHERE dep.deptype = 'e' AND proc.pronamespace IN (SELECT nsp.oid FROM pg_catalog.pg_namespace AS nsp WHERE nsp.nspname IN ('turnstile', 'turnstile_internal'))
        UNION ALL
        SELECT 'SCHEMA', pg_catalog.quote_ident(nsp.nspname), dep.classid, nsp.oid, nsp.nspowner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_namespace AS nsp ON dep.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND nsp.oid = dep.objid
        WHERE dep.deptype = 'e' AND nsp.nspname IN ('turnstile', 'turnstile_internal')
        UNION ALL
        SELECT 'TYPE', typ.oid::pg_catalog.regtype::text, dep.classid, typ.oid, typ.typowner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_type AS typ ON dep.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND typ.oid = dep.objid
        WHERE dep.deptype = 'e' AND typ.typnamespace = 'turnstile'::pg_catalog.regnamespace AND (typ.typtype <> 'b' OR typ.typcategory <> 'A')
            -- Newer servers count the row type of a table in, which goes with it.
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = typ.typrelid AND rel.relkind <> 'c')
    LOOP
        IF made.owner = (SELECT me.oid FROM pg_catalog.pg_roles AS me WHERE me.rolname = current_user) AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_init_privs AS initial WHERE initial.classoid = made.class AND initial.objoid = made.object
        ) THEN
            EXECUTE pg_catalog.format('ALTER %s %s OWNER TO %s', made.kind, made.name, (
                SELECT ext.extowner::pg_catalog.regrole::text FROM pg_catalog.pg_extension AS ext WHERE ext.extname = 'turnstile'
            ));
        END IF;
    END LOOP;
END
$block$;

-- Nothing is granted to PUBLIC: an administrator grants EXECUTE to producers and workers. Only what this script has made has no
-- initial privileges yet. On the rest a user may have granted something, which a REVOKE here would turn into initial privileges,
-- and those are not in a dump. Rows are types, too: a column of such a type in a table of another role would keep the extension
-- from being dropped.
DO $block$
DECLARE
    made record;
BEGIN
    FOR made IN
        SELECT 'SCHEMA' AS kind, nsp.nspname::text AS name, 'pg_catalog.pg_namespace'::pg_catalog.regclass AS class, nsp.oid AS object
        FROM pg_catalog.pg_namespace AS nsp
        WHERE nsp.nspname IN ('turnstile', 'turnstile_internal')
        UNION ALL
        SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, rel.oid::pg_catalog.regclass::text, dep.classid, rel.oid
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_class AS rel ON dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND rel.oid = dep.objid
        JOIN pg_catalog.pg_extension AS ext ON dep.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND ext.oid = dep.refobjid
        WHERE ext.extname = 'turnstile' AND rel.relkind IN ('r', 'p', 'v', 'S')
        UNION ALL
        SELECT 'ROUTINE', proc.oid::pg_catalog.regprocedure::text, dep.classid, proc.oid
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_proc AS proc ON dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND proc.oid = dep.objid
        JOIN pg_catalog.pg_extension AS ext ON dep.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND ext.oid = dep.refobjid
        WHERE ext.extname = 'turnstile'
        UNION ALL
        SELECT 'TYPE', typ.oid::pg_catalog.regtype::text, 'pg_catalog.pg_type'::pg_catalog.regclass, typ.oid
        FROM pg_catalog.pg_type AS typ
        WHERE typ.typnamespace = 'turnstile'::pg_catalog.regnamespace AND typ.typtype = 'c' AND (
            EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = typ.typrelid AND rel.relispartition)
            OR EXISTS (
                SELECT FROM pg_catalog.pg_depend AS dep
                WHERE dep.deptype = 'e' AND (
                    (dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND dep.objid = typ.typrelid)
                    OR (dep.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND dep.objid = typ.oid)
                )
            )
        )
    LOOP
        IF NOT EXISTS (
            SELECT FROM pg_catalog.pg_init_privs AS initial WHERE initial.classoid = made.class AND initial.objoid = made.object
        ) THEN
            EXECUTE pg_catalog.format('REVOKE ALL ON %s %s FROM PUBLIC', made.kind, made.name);
        END IF;
    END LOOP;
END
$block$;

-- Users' grants on what was made anew under its name. They are not the extension's own: without the last three statements a
-- dump would leave them out.
DO $block$
DECLARE
    lost record;
BEGIN
    FOR lost IN
        SELECT DISTINCT known.kind, known.part, known.privilege, known.grantable, made.class, made.object, made.name, made.owner,
            CASE known.grantee WHEN 0 THEN 'PUBLIC' ELSE known.grantee::pg_catalog.regrole::text END AS role
        FROM pg_catalog.jsonb_to_recordset(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb)
            AS known (kind text, object oid, name name, part name, privilege text, grantee oid, grantable boolean)
        JOIN (
            SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, rel.relname AS key,
                'pg_catalog.pg_class'::pg_catalog.regclass AS class, rel.oid AS object, rel.oid::pg_catalog.regclass::text AS name,
                rel.relowner AS owner, rel.relacl AS acl
            FROM pg_catalog.pg_class AS rel WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace
            UNION ALL
            SELECT 'ROUTINE', proc.proname, 'pg_catalog.pg_proc'::pg_catalog.regclass, proc.oid,
                proc.oid::pg_catalog.regprocedure::text, proc.proowner, proc.proacl
            FROM pg_catalog.pg_proc AS proc WHERE proc.pronamespace IN (SELECT nsp.oid FROM pg_catalog.pg_namespace AS nsp WHERE nsp.nspname IN ('turnstile', 'turnstile_internal')) AND EXISTS (
                SELECT FROM pg_catalog.pg_depend AS dep
                WHERE dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND dep.objid = proc.oid AND dep.deptype = 'e'
            )
            UNION ALL
            SELECT 'SCHEMA', nsp.nspname, 'pg_catalog.pg_namespace'::pg_catalog.regclass, nsp.oid, pg_catalog.quote_ident(nsp.nspname),
                nsp.nspowner, nsp.nspacl
            FROM pg_catalog.pg_namespace AS nsp WHERE nsp.nspname = 'turnstile_internal'
        ) AS made ON made.kind = known.kind AND made.key = known.name
        LEFT JOIN pg_catalog.pg_attribute AS att ON made.kind = 'TABLE' AND att.attrelid = made.object AND att.attname = known.part
        -- What is still there has its grants, and may be a user's function that only shares the name.
        WHERE (known.object = made.object OR NOT CASE known.kind
                WHEN 'ROUTINE' THEN EXISTS (SELECT FROM pg_catalog.pg_proc AS proc WHERE proc.oid = known.object)
                ELSE EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = known.object)
            END)
            AND (known.part IS NULL OR att.attname IS NOT NULL) AND NOT EXISTS (
            SELECT FROM pg_catalog.aclexplode(CASE WHEN known.part IS NULL THEN made.acl ELSE att.attacl END) AS acl
            WHERE acl.grantee = known.grantee AND acl.privilege_type = known.privilege AND acl.is_grantable >= known.grantable
        )
    LOOP
        EXECUTE pg_catalog.format('GRANT %s%s ON %s %s TO %s%s', lost.privilege, ' (' || pg_catalog.quote_ident(lost.part) || ')',
            lost.kind, lost.name, lost.role, CASE WHEN lost.grantable THEN ' WITH GRANT OPTION' END);
        DELETE FROM pg_catalog.pg_init_privs AS initial
        WHERE initial.classoid = lost.class AND initial.objoid = lost.object
            AND NOT EXISTS (SELECT FROM pg_catalog.aclexplode(initial.initprivs) AS acl WHERE acl.grantee = lost.owner);
        UPDATE pg_catalog.pg_init_privs AS initial SET initprivs = ARRAY(
            SELECT item FROM pg_catalog.unnest(initial.initprivs) AS item
            WHERE NOT EXISTS (SELECT FROM pg_catalog.aclexplode(ARRAY[item]) AS acl WHERE acl.grantee <> lost.owner)
        )
        WHERE initial.classoid = lost.class AND initial.objoid = lost.object;
        DELETE FROM pg_catalog.pg_shdepend AS dep
        WHERE dep.deptype = 'i' AND dep.classid = lost.class AND dep.objid = lost.object AND dep.refobjid <> lost.owner
            AND dep.dbid = (SELECT base.oid FROM pg_catalog.pg_database AS base WHERE base.datname = pg_catalog.current_database());
    END LOOP;
END
$block$;
