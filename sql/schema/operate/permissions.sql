-- Who may do what: granting it, checking it, and what may be seen.

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

-- All below run with the rights of their caller, which must be able to grant these privileges and to write the table.
CREATE FUNCTION turnstile_internal.allow(role regrole, kind text, verbs text[], queues text[], tenants text[]) RETURNS void
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
COMMENT ON FUNCTION turnstile_internal.allow(regrole, text, text[], text[], text[]) IS
    'For allow_producer() and the like: grants what rights_of() lists and adds the rows of permission.';

CREATE FUNCTION turnstile.allow_producer(role regrole, queues text[] DEFAULT '{*}', tenants text[] DEFAULT '{*}')
    RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_producer.role, 'producer', '{enqueue}', allow_producer.queues, allow_producer.tenants)
$function$;
COMMENT ON FUNCTION turnstile.allow_producer(regrole, text[], text[]) IS
    'Allows a role to enqueue, in addition to what it may do already. Grants EXECUTE and adds rows of turnstile.permission, with the rights of the caller.
role: the role, with all its members.
queues: the queues after routing; * stands for all.
tenants: * stands for all, and for jobs without a tenant.
Errors: 22004; 22023; 42501; 54000.';

CREATE FUNCTION turnstile.allow_worker(role regrole, queues text[] DEFAULT '{*}') RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_worker.role, 'worker', '{work}', allow_worker.queues, '{*}')
$function$;
COMMENT ON FUNCTION turnstile.allow_worker(regrole, text[]) IS
    'Allows a role to claim jobs and to end the runs, in addition to what it may do already. Grants EXECUTE and adds rows of turnstile.permission, with the rights of the caller.
role: the role, with all its members.
queues: * stands for all. A claim from * by a role that may work on some queues claims from those.
Errors: 22004; 22023; 42501; 54000.';

CREATE FUNCTION turnstile.allow_tenant(role regrole, tenants text[]) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_tenant.role, 'tenant', '{see,manage}', '{*}', allow_tenant.tenants)
$function$;
COMMENT ON FUNCTION turnstile.allow_tenant(regrole, text[]) IS
    'Allows a role to see the jobs of some tenants (the view my_jobs), to cancel, discard, retry and reprioritize them, and to ask why they wait, in addition to what it may do already. Uses the rights of the caller.
role: the role, with all its members.
tenants: * stands for all.
Errors: 22004; 22023; 42501; 54000.';

CREATE FUNCTION turnstile.allow_operator(role regrole) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_operator.role, 'operator', '{manage}', '{*}', '{*}')
$function$;
COMMENT ON FUNCTION turnstile.allow_operator(regrole) IS
    'Allows a role to change settings, pauses, routes and endpoints, to cancel and retry jobs, and to run upkeep, in addition to what it may do already. It sees all jobs in the view job_status, without payload, result, metadata and errors. Uses the rights of the caller.
role: the role, with all its members.
Errors: 22004; 42501.';

CREATE FUNCTION turnstile.allow_monitor(role regrole) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile_internal.allow(allow_monitor.role, 'monitor', '{}', '{*}', '{*}')
$function$;
COMMENT ON FUNCTION turnstile.allow_monitor(regrole) IS
    'Allows a role to read the figures: the views queues, tenants, accounts, concurrency_keys, batches, stat_queue, stat_tenant, workers, metrics, memory and history_partition, and why_waiting_summary. Uses the rights of the caller.
role: the role, with all its members. pg_monitor is a good argument.
Errors: 22004; 42501.';

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
COMMENT ON FUNCTION turnstile.disallow(regrole) IS
    'Takes from a role all that it may do with the queue, whatever granted it. What it may do as a member of another role stays. Rows of roles that were dropped go, too. Uses the rights of the caller.
role: the role.
Errors: 22004; 42501.';

CREATE FUNCTION turnstile.check_permission(verb text, queue text DEFAULT '*', tenant text DEFAULT '*') RETURNS void
    LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'turnstile_check_permission';
COMMENT ON FUNCTION turnstile.check_permission(text, text, text) IS
    'Raises 42501 unless the caller has a permission.
verb: enqueue, work, manage or see.
queue: * asks for all queues.
tenant: * asks for all tenants; NULL asks for jobs without a tenant.
Errors: 22004; 22023 no such verb; 42501; 54000.';

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

CREATE VIEW turnstile.job_status AS
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
