-- Who may do what. EXECUTE says which functions a role may call, a row here on what. Nothing is granted to PUBLIC, and
-- a role without a row can do nothing, whatever it may call. Superusers and the owner may do everything.

CREATE TABLE turnstile.permission (
    role regrole NOT NULL,
    verb text NOT NULL,
    queue text NOT NULL DEFAULT '*',
    tenant text NOT NULL DEFAULT '*',
    CONSTRAINT permission_pkey PRIMARY KEY (role, verb, queue, tenant),
    CONSTRAINT permission_verb_check CHECK (verb IN ('enqueue', 'work', 'manage', 'see', '*')),
    CONSTRAINT permission_queue_check CHECK (queue <> '' AND octet_length(queue) <= 255),
    CONSTRAINT permission_tenant_check CHECK (tenant <> '' AND octet_length(tenant) <= 255),
    CONSTRAINT permission_work_check CHECK (verb <> 'work' OR tenant = '*')
);
COMMENT ON TABLE turnstile.permission IS
    'What roles may do, with all that are members of them; * stands for all. Written by allow_producer() and the like; plain DML is as good. Holds from the commit on.';
COMMENT ON COLUMN turnstile.permission.role IS 'The role; it may be renamed. A row of a role that was dropped means nobody.';
COMMENT ON COLUMN turnstile.permission.verb IS
    'enqueue: add jobs; work: claim and end runs; manage: cancel, discard, retry, reprioritize, settings; see: my_jobs; *: all of them.';
COMMENT ON COLUMN turnstile.permission.queue IS 'The queue that it is for; for enqueue the one that the routes choose.';
COMMENT ON COLUMN turnstile.permission.tenant IS
    'The tenant that it is for. Jobs without a tenant are under * only, and work is for all tenants of a queue.';

-- By name, as a dump writes roles. A number would be another role's where the dump is restored.
SELECT pg_catalog.pg_extension_config_dump(
    'turnstile.permission', 'WHERE EXISTS (SELECT FROM pg_catalog.pg_roles WHERE pg_roles.oid = permission.role)'
);

CREATE FUNCTION turnstile.permissions_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_permissions_changed';
COMMENT ON FUNCTION turnstile.permissions_changed() IS 'Has every backend read the permissions again.';
CREATE TRIGGER publish_permissions AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.permission
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.permissions_changed();
ALTER TABLE turnstile.permission ENABLE ALWAYS TRIGGER publish_permissions;

CREATE VIEW turnstile.permissions AS
    SELECT
        coalesce(quote_ident(pg_roles.rolname), permission.role::oid::text) AS role,
        pg_roles.oid IS NOT NULL AS role_exists,
        permission.verb, permission.queue, permission.tenant
    FROM turnstile.permission
    LEFT JOIN pg_catalog.pg_roles ON pg_roles.oid = permission.role;
COMMENT ON VIEW turnstile.permissions IS
    'turnstile.permission by name. Rows of roles that were dropped are there under their number; disallow() deletes them.';

-- ---- What may be granted together -----------------------------------------------------------------

CREATE FUNCTION turnstile.rights_of(kind text) RETURNS TABLE (privileges text, object text)
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
            'cancel', 'discard', 'retry', 'reprioritize', 'cancel_many', 'discard_many', 'retry_many'
        ]),
        ('tenant', 'SELECT', ARRAY['my_jobs']),
        ('operator', 'EXECUTE', ARRAY[
            'cancel', 'discard', 'retry', 'reprioritize', 'cancel_many', 'discard_many', 'retry_many',
            'set_queue', 'set_tenant', 'set_account', 'set_concurrency',
            'pause_queue', 'resume_queue', 'pause_tenant', 'resume_tenant', 'pause_account', 'resume_account',
            'pause_session', 'resume_session',
            'set_route', 'drop_route', 'route_of', 'reroute',
            'rescue', 'promote', 'check', 'rebuild', 'maintain', 'prune_unique_keys', 'make_history_partitions',
            'enable_cron', 'disable_cron', 'version',
            'check_permission', 'check_name', 'check_clear', 'refuse_setting', 'gate_key', 'session_gate'
        ]),
        ('operator', 'SELECT', ARRAY[
            'job_status', 'queues', 'tenants', 'accounts', 'concurrency_keys', 'permissions', 'history_partition'
        ]),
        ('operator', 'SELECT, INSERT, UPDATE, DELETE', ARRAY[
            'queue', 'tenant', 'account', 'concurrency', 'paused_session', 'route'
        ]),
        ('monitor', 'SELECT', ARRAY['queues', 'tenants', 'accounts', 'concurrency_keys', 'history_partition'])
    ) AS listed (kind, privileges, objects)
    CROSS JOIN LATERAL pg_catalog.unnest(listed.objects) AS object
    WHERE listed.kind = rights_of.kind
$function$;
COMMENT ON FUNCTION turnstile.rights_of(text) IS
    'What allow_producer(), allow_worker(), allow_tenant(), allow_operator() and allow_monitor() grant, by the last word of their names.';

CREATE FUNCTION turnstile.check_names(argument text, names text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF names IS NULL OR array_position(names, NULL) IS NOT NULL THEN
        RAISE EXCEPTION '% must not be or contain null', argument USING ERRCODE = '22004',
            DETAIL = format('The argument "%s" is %s.', argument, coalesce(names::text, 'NULL')),
            HINT = 'Pass an array of names; ''{*}'' stands for all.';
    ELSIF cardinality(names) = 0 THEN
        RAISE EXCEPTION '% must not be empty', argument USING ERRCODE = '22023',
            DETAIL = format('The argument "%s" is an empty array.', argument), HINT = 'Pass an array of names; ''{*}'' stands for all.';
    END IF;
    PERFORM turnstile.check_name(argument, name) FROM unnest(names) AS name;
END
$function$;
COMMENT ON FUNCTION turnstile.check_names(text, text[]) IS
    'Refuses what is no array of names: 22004 NULL, 22023 empty, 54000 a name over 255 bytes.';

-- All below run with their caller's rights: who calls them must be able to grant these things and to write the table.
CREATE FUNCTION turnstile.allow(role regrole, kind text, verbs text[], queues text[], tenants text[]) RETURNS void
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
    PERFORM turnstile.check_names('queues', allow.queues);
    PERFORM turnstile.check_names('tenants', allow.tenants);
    INSERT INTO turnstile.permission (role, verb, queue, tenant)
    SELECT allow.role, verb, queue, tenant
    FROM unnest(allow.verbs) AS verb, unnest(allow.queues) AS queue, unnest(allow.tenants) AS tenant
    ON CONFLICT DO NOTHING;
    -- DDL takes no parameters; a regrole is quoted where it has to be.
    EXECUTE format('GRANT USAGE ON SCHEMA turnstile TO %s', allow.role);
    FOR granted IN SELECT * FROM turnstile.rights_of(allow.kind) LOOP
        EXECUTE format(
            'GRANT %s ON %s turnstile.%I TO %s', granted.privileges,
            CASE granted.privileges WHEN 'EXECUTE' THEN 'ROUTINE' ELSE 'TABLE' END, granted.object, allow.role
        );
    END LOOP;
END
$function$;
COMMENT ON FUNCTION turnstile.allow(regrole, text, text[], text[], text[]) IS
    'For allow_producer() and the like: grants what rights_of() lists and adds the rows of permission.';

CREATE FUNCTION turnstile.allow_producer(role regrole, queues text[] DEFAULT '{*}', tenants text[] DEFAULT '{*}')
    RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.allow(allow_producer.role, 'producer', '{enqueue}', allow_producer.queues, allow_producer.tenants)
$function$;
COMMENT ON FUNCTION turnstile.allow_producer(regrole, text[], text[]) IS
    'Lets a role enqueue into these queues, after routing, for these tenants; * stands for all, and jobs without a tenant need it. Adds to what the role may do already. It runs with the caller''s rights, who must be able to grant. Errors: 22004, 22023, 42501, 54000.';

CREATE FUNCTION turnstile.allow_worker(role regrole, queues text[] DEFAULT '{*}') RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.allow(allow_worker.role, 'worker', '{work}', allow_worker.queues, '{*}')
$function$;
COMMENT ON FUNCTION turnstile.allow_worker(regrole, text[]) IS
    'Lets a role claim jobs of these queues, of all tenants, and end the runs; * stands for all queues. A claim from * by a role that may work on some is one from those. Adds to what the role may do already. It runs with the caller''s rights, who must be able to grant. Errors: 22004, 22023, 42501, 54000.';

CREATE FUNCTION turnstile.allow_tenant(role regrole, tenants text[]) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.allow(allow_tenant.role, 'tenant', '{see,manage}', '{*}', allow_tenant.tenants)
$function$;
COMMENT ON FUNCTION turnstile.allow_tenant(regrole, text[]) IS
    'Lets a role see the jobs of these tenants (the view my_jobs), and cancel, discard, retry and reprioritize them. Adds to what the role may do already. It runs with the caller''s rights, who must be able to grant. Errors: 22004, 22023, 42501, 54000.';

CREATE FUNCTION turnstile.allow_operator(role regrole) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.allow(allow_operator.role, 'operator', '{manage}', '{*}', '{*}')
$function$;
COMMENT ON FUNCTION turnstile.allow_operator(regrole) IS
    'Lets a role change settings, pauses and routes, cancel and retry jobs, and see to upkeep. It sees all jobs (the view job_status), but no payload, result, metadata or error. Adds to what the role may do already. It runs with the caller''s rights, who must be able to grant. Errors: 22004, 42501.';

CREATE FUNCTION turnstile.allow_monitor(role regrole) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.allow(allow_monitor.role, 'monitor', '{}', '{*}', '{*}')
$function$;
COMMENT ON FUNCTION turnstile.allow_monitor(regrole) IS
    'Lets a role read the figures (the views queues, tenants, accounts, concurrency_keys); pg_monitor is a good argument. It runs with the caller''s rights, who must be able to grant. Errors: 22004, 42501.';

CREATE FUNCTION turnstile.disallow(role regrole) RETURNS void
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
    DELETE FROM turnstile.permission
    WHERE permission.role = disallow.role
        OR NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE pg_roles.oid = permission.role);
    FOREACH kind IN ARRAY ARRAY['ROUTINES', 'TABLES', 'SEQUENCES'] LOOP
        EXECUTE format('REVOKE ALL ON ALL %s IN SCHEMA turnstile FROM %s', kind, disallow.role);
    END LOOP;
    EXECUTE format('REVOKE ALL ON SCHEMA turnstile FROM %s', disallow.role);
END
$function$;
COMMENT ON FUNCTION turnstile.disallow(regrole) IS
    'Takes all from a role that it may do with the queue, whatever granted it; what it may do as a member of another role stays. Also deletes the rows of roles that were dropped. It runs with the caller''s rights. Errors: 22004, 42501.';

CREATE FUNCTION turnstile.check_permission(verb text, queue text DEFAULT '*', tenant text DEFAULT '*') RETURNS void
    LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'turnstile_check_permission';
COMMENT ON FUNCTION turnstile.check_permission(text, text, text) IS
    'Refuses a caller who may not do this on the queue and for the tenant: 42501. * asks for all, tenant NULL for jobs without one. Errors: 22004, 22023 no such verb, 42501, 54000.';

-- ---- What may be seen -----------------------------------------------------------------------------

-- The caller's permissions are read once; a condition on the id still goes to the index.
CREATE VIEW turnstile.my_jobs WITH (security_barrier) AS
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
    'The jobs, live and finished, that the caller may see: those of the queues and tenants for which he has the permission see.';

CREATE VIEW turnstile.job_status AS
    SELECT
        jobs.id, jobs.state, jobs.queue, jobs.kind, jobs.tenant, jobs.account, jobs.session, jobs.concurrency_key,
        jobs.priority, jobs.run_at, jobs.attempt, jobs.max_attempts, jobs.uncounted, jobs.worker, jobs.claimed_at,
        jobs.lease_expires_at, jobs.cancel_requested_at, jobs.unique_key, jobs.unique_mode, jobs.unique_until,
        jobs.holds_session, jobs.lane, jobs.position, jobs.owner_pid, jobs.created_at, jobs.finished_at, jobs.queued_at,
        jobs.started_at, jobs.waiting, jobs.running
    FROM turnstile.jobs;
COMMENT ON VIEW turnstile.job_status IS
    'All jobs, live and finished, without what is in them: no payload, result, metadata, progress or errors.';
