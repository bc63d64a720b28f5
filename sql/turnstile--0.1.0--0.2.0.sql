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
        FROM pg_catalog.pg_proc AS proc WHERE proc.pronamespace = 'turnstile'::pg_catalog.regnamespace
    ) AS made, pg_catalog.aclexplode(made.acl) AS acl
    WHERE acl.grantee <> made.owner
), '[]'), true);

-- ---- What changes --------------------------------------------------------------------------------

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
Returns: ord; reason; gate: queue, tenant, account, session, concurrency or unique, with its name; running and slots of a full gate; opens_at: when time alone opens it (NULL: it does not); holder: the job that is in the way, if one is: it runs in the session, has the unique key, or comes before (NULL where it is not found, or the caller may not know of it); detail: a sentence.
Errors: 22004; P0002; 55000 the job runs or has ended, with its state in DETAIL; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.why_waiting_summary(queue text DEFAULT NULL, tenant text DEFAULT NULL)
    RETURNS TABLE (reason text, gate text, lanes bigint, is_estimate boolean)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting_summary';
COMMENT ON FUNCTION turnstile.why_waiting_summary(text, text) IS
    'Counts the lanes that wait, by reason: a lane is the jobs that share queue, tenant, account, session, keys and priority. A lane that several gates hold up counts at each; one that could start counts as behind. Jobs that are scheduled or retryable are in no lane. It looks at 10,000 lanes at most; of more, each stands for several.
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

-- What allow_tenant(), allow_operator() and allow_monitor() grant from now on.

CREATE OR REPLACE FUNCTION turnstile.rights_of(kind text) RETURNS TABLE (privileges text, object text)
    LANGUAGE sql IMMUTABLE ROWS 40
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT listed.privileges, object
    FROM (VALUES
        ('producer', 'EXECUTE', ARRAY['enqueue', 'enqueue_many', 'route_of']),
        ('worker', 'EXECUTE', ARRAY[
            'claim_next', 'claim', 'complete', 'complete_many', 'complete_and_claim_next', 'fail', 'release', 'snooze',
            'heartbeat', 'progress', 'wait_for_job', 'listen_channel'
        ]),
        ('tenant', 'EXECUTE', ARRAY[
            'cancel', 'discard', 'retry', 'reprioritize', 'cancel_many', 'discard_many', 'retry_many',
            'why_waiting', 'wait_estimate'
        ]),
        ('tenant', 'SELECT', ARRAY['my_jobs']),
        ('operator', 'EXECUTE', ARRAY[
            'cancel', 'discard', 'retry', 'reprioritize', 'cancel_many', 'discard_many', 'retry_many',
            'set_queue', 'set_tenant', 'set_account', 'set_concurrency',
            'pause_queue', 'resume_queue', 'pause_tenant', 'resume_tenant', 'pause_account', 'resume_account',
            'pause_session', 'resume_session',
            'set_route', 'drop_route', 'route_of', 'reroute', 'why_waiting', 'why_waiting_summary', 'wait_estimate', 'recent',
            'rescue', 'promote', 'check', 'rebuild', 'maintain', 'prune_unique_keys', 'make_history_partitions',
            'enable_cron', 'disable_cron', 'version',
            'memory_use', 'check_permission', 'check_name', 'check_clear', 'changed_setting', 'refuse_setting', 'gate_key', 'session_gate'
        ]),
        ('operator', 'SELECT', ARRAY[
            'job_status', 'queues', 'tenants', 'accounts', 'concurrency_keys', 'memory', 'permissions', 'history_partition'
        ]),
        ('operator', 'SELECT, INSERT, UPDATE, DELETE', ARRAY[
            'queue', 'tenant', 'account', 'concurrency', 'paused_session', 'route'
        ]),
        ('monitor', 'EXECUTE', ARRAY['memory_use', 'why_waiting_summary']),
        ('monitor', 'SELECT', ARRAY['queues', 'tenants', 'accounts', 'concurrency_keys', 'memory', 'history_partition'])
    ) AS listed (kind, privileges, objects)
    CROSS JOIN LATERAL pg_catalog.unnest(listed.objects) AS object
    WHERE listed.kind = rights_of.kind
$function$;

COMMENT ON FUNCTION turnstile.allow_tenant(regrole, text[]) IS
    'Allows a role to see the jobs of some tenants (the view my_jobs), to cancel, discard, retry and reprioritize them, and to ask why they wait, in addition to what it may do already. Uses the rights of the caller.
role: the role, with all its members.
tenants: * stands for all.
Errors: 22004; 22023; 42501; 54000.';
COMMENT ON FUNCTION turnstile.allow_monitor(regrole) IS
    'Allows a role to read the figures: the views queues, tenants, accounts, concurrency_keys and history_partition, and why_waiting_summary. Uses the rights of the caller.
role: the role, with all its members. pg_monitor is a good argument.
Errors: 22004; 42501.';

-- maintain() leaves foreign tables to who attached them.
CREATE OR REPLACE FUNCTION turnstile.thin_history() RETURNS bigint
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
        CROSS JOIN LATERAL turnstile.history_policy(part.ends) AS rule
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
            affected := turnstile.read_history(
                pass.partition, pass.next_block, CASE WHEN pass.looking THEN looked_blocks ELSE deleted_blocks END, pass.looking
            );
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                RAISE;
            WHEN OTHERS THEN
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

CREATE OR REPLACE FUNCTION turnstile.drop_history() RETURNS bigint
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
        CROSS JOIN LATERAL turnstile.history_policy(part.ends) AS rule
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
            PERFORM turnstile.lock_history(day);
            EXECUTE pg_catalog.format('DROP TABLE %s', day);
            dropped := dropped + 1;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                in_use := SQLERRM;
            WHEN OTHERS THEN
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
        WHERE dep.deptype = 'e' AND proc.pronamespace = 'turnstile'::pg_catalog.regnamespace
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
        SELECT 'SCHEMA' AS kind, 'turnstile' AS name, 'pg_catalog.pg_namespace'::pg_catalog.regclass AS class,
            'turnstile'::pg_catalog.regnamespace::oid AS object
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
            FROM pg_catalog.pg_proc AS proc WHERE proc.pronamespace = 'turnstile'::pg_catalog.regnamespace AND EXISTS (
                SELECT FROM pg_catalog.pg_depend AS dep
                WHERE dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND dep.objid = proc.oid AND dep.deptype = 'e'
            )
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
