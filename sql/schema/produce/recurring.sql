-- Recurring jobs. pg_cron knows when; what is enqueued is a row of turnstile.recurring.

CREATE FUNCTION turnstile.check_recurring_owner(name text, caller name) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    owner name := (SELECT recurring.owner FROM turnstile.recurring WHERE recurring.name = check_recurring_owner.name FOR UPDATE);
BEGIN
    -- A superuser is a member of every role. One that was dropped has no members.
    IF owner IS NULL OR caller = current_user
        OR (SELECT role.rolsuper FROM pg_catalog.pg_roles AS role WHERE role.rolname = caller)
        OR (SELECT pg_catalog.pg_has_role(caller, role.oid, 'MEMBER') FROM pg_catalog.pg_roles AS role WHERE role.rolname = owner)
    THEN
        RETURN;
    END IF;
    RAISE EXCEPTION 'recurring job "%" belongs to another role', name USING ERRCODE = '42501',
        DETAIL = pg_catalog.format('It belongs to "%s".', owner), HINT = 'Choose another name, or become a member of that role.';
END
$function$;
COMMENT ON FUNCTION turnstile.check_recurring_owner(text, name) IS
    'For schedule() and unschedule(): locks the row of that name, if there is one. Errors: 42501 it belongs to another role.';

CREATE FUNCTION turnstile.set_recurring(
    name text, cron text, kind text, payload jsonb, queue text, tenant text, account text, session text,
    concurrency_key text, priority int, max_attempts int, unique_key text, unique_mode text, unique_for interval,
    metadata jsonb, caller name
) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_variable
BEGIN
    PERFORM turnstile.check_name('name', name);
    PERFORM turnstile.check_recurring_owner(name, caller);
    IF NOT pg_catalog.has_schema_privilege(caller, 'turnstile', 'USAGE') OR NOT (
        SELECT pg_catalog.bool_and(pg_catalog.has_function_privilege(caller, proc.oid, 'EXECUTE'))
        FROM pg_catalog.pg_proc AS proc
        WHERE proc.proname = 'enqueue' AND proc.pronamespace = 'turnstile'::regnamespace
    ) THEN
        RAISE EXCEPTION 'permission denied to schedule a job' USING ERRCODE = '42501',
            DETAIL = pg_catalog.format('The role "%s" may not call turnstile.enqueue.', caller),
            HINT = 'Call turnstile.allow_producer() for the role: each firing enqueues with its rights.';
    END IF;
    -- What enqueue() would refuse at each firing is refused here: the call is tried and rolled back.
    BEGIN
        PERFORM turnstile.enqueue(
            kind => kind, payload => payload, queue => queue, tenant => tenant, account => account, session => session,
            concurrency_key => concurrency_key, priority => priority, max_attempts => max_attempts,
            unique_key => unique_key, unique_mode => unique_mode, unique_for => unique_for, metadata => metadata
        );
        RAISE EXCEPTION SQLSTATE 'TS000';
    EXCEPTION WHEN SQLSTATE 'TS000' THEN
    END;
    IF cron LIKE '%second%' THEN
        RAISE EXCEPTION 'a recurring job fires at most once a minute' USING ERRCODE = '22023',
            DETAIL = pg_catalog.format('The schedule is "%s".', cron),
            HINT = 'Use five fields: minute, hour, day of month, month, day of week; for example ''*/5 * * * *''.';
    END IF;
    INSERT INTO turnstile.recurring AS known (
        name, cron, kind, payload, queue, tenant, account, session, concurrency_key, priority, max_attempts, unique_key,
        unique_mode, unique_for, metadata, owner
    )
    VALUES (
        name, coalesce(cron, ''), kind, payload, queue, tenant, account, session, concurrency_key, priority, max_attempts,
        unique_key, unique_mode, unique_for, metadata, caller
    )
    ON CONFLICT ON CONSTRAINT recurring_pkey DO UPDATE
    SET (cron, kind, payload, queue, tenant, account, session, concurrency_key, priority, max_attempts, unique_key,
            unique_mode, unique_for, metadata)
        = (excluded.cron, excluded.kind, excluded.payload, excluded.queue, excluded.tenant, excluded.account,
            excluded.session, excluded.concurrency_key, excluded.priority, excluded.max_attempts, excluded.unique_key,
            excluded.unique_mode, excluded.unique_for, excluded.metadata),
        owner = CASE
            WHEN EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.rolname = known.owner) THEN known.owner
            ELSE excluded.owner
        END;
    -- Another session may have been first.
    PERFORM turnstile.check_recurring_owner(name, caller);
    RETURN turnstile.set_cron_entry(
        (SELECT recurring.cron_entry FROM turnstile.recurring WHERE recurring.name = set_recurring.name),
        cron, pg_catalog.format('SELECT turnstile.enqueue_recurring(%L)', name)
    );
END
$function$;
COMMENT ON FUNCTION turnstile.set_recurring(text, text, text, jsonb, text, text, text, text, text, int, int, text, text, interval, jsonb, name) IS
    'For schedule(): does it for the caller.';

CREATE FUNCTION turnstile.end_recurring(name text, caller name) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    entry text;
BEGIN
    PERFORM turnstile.check_name('name', name);
    PERFORM turnstile.check_recurring_owner(name, caller);
    DELETE FROM turnstile.recurring WHERE recurring.name = end_recurring.name RETURNING recurring.cron_entry INTO entry;
    IF entry IS NOT NULL AND EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron') THEN
        PERFORM turnstile.remove_cron_entry(entry);
    END IF;
    RETURN entry IS NOT NULL;
END
$function$;
COMMENT ON FUNCTION turnstile.end_recurring(text, name) IS
    'For unschedule(): does it for the caller.';

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
    unique_mode text DEFAULT 'until_executed',
    unique_for interval DEFAULT NULL,
    metadata jsonb DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_schedule';
COMMENT ON FUNCTION turnstile.schedule(text, text, text, jsonb, text, text, text, text, text, int, int, text, text, interval, jsonb) IS
    'Makes pg_cron enqueue a job again and again, and returns the jobid of pg_cron. A second call with the same name replaces it. The recurring job belongs to the caller, and each firing enqueues with the rights of that role.
name: of the recurring job, 1 to 255 bytes.
cron: five fields: minute, hour, day of month, month, day of week; in the time zone of pg_cron, which is UTC unless pg_cron says otherwise.
The other arguments are those of enqueue.
Errors: as enqueue; 22023 also a schedule that pg_cron does not know; 42501 also where another role owns the name; 55000 without pg_cron.';

CREATE FUNCTION turnstile.unschedule(name text) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_unschedule';
COMMENT ON FUNCTION turnstile.unschedule(text) IS
    'Ends a recurring job. Returns false if there is none of that name. Jobs that it has enqueued stay.
name: as for schedule.
Errors: 22004; 22023; 42501 it belongs to another role; 54000.';

-- The row of the recurring job is locked until the commit: of two firings of a minute the second waits
-- for the first, and then finds the minute taken, or free again if the first was rolled back.
CREATE FUNCTION turnstile.enqueue_recurring(name text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    firing constant timestamptz := pg_catalog.date_trunc('minute', pg_catalog.clock_timestamp());
    before constant text := pg_catalog.current_setting('role');
    due record;
    job_id bigint;
BEGIN
    PERFORM turnstile.check_name('name', name);
    UPDATE turnstile.recurring SET last_firing = firing
    WHERE recurring.name = enqueue_recurring.name AND coalesce(recurring.last_firing < firing, true)
    RETURNING * INTO due;
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM turnstile.recurring WHERE recurring.name = enqueue_recurring.name) THEN
            RETURN NULL;
        END IF;
        RAISE EXCEPTION 'recurring job "%" does not exist', name USING ERRCODE = 'P0002',
            DETAIL = 'turnstile.recurring has no row of that name.', HINT = 'Create it with turnstile.schedule().';
    END IF;
    IF due.owner <> current_user THEN
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.rolname = due.owner) THEN
            RAISE EXCEPTION 'owner of recurring job "%" does not exist', name USING ERRCODE = '42704',
                DETAIL = pg_catalog.format('There is no role "%s".', due.owner),
                HINT = 'Create it again with turnstile.schedule(), or end it with turnstile.unschedule().';
        END IF;
        PERFORM pg_catalog.set_config('role', due.owner::text, true);
    END IF;
    job_id := turnstile.enqueue(
        kind => due.kind, payload => due.payload, queue => due.queue, tenant => due.tenant, account => due.account,
        session => due.session, concurrency_key => due.concurrency_key, priority => due.priority,
        max_attempts => due.max_attempts, unique_key => due.unique_key, unique_mode => due.unique_mode,
        unique_for => due.unique_for, metadata => due.metadata
    );
    PERFORM pg_catalog.set_config('role', before, true);
    UPDATE turnstile.recurring SET last_job_id = job_id WHERE recurring.name = due.name;
    RETURN job_id;
END
$function$;
COMMENT ON FUNCTION turnstile.enqueue_recurring(text) IS
    'For pg_cron, which calls it at each firing: enqueues the recurring job with the rights of its owner and returns the id, or NULL if that was done in this minute before.
name: as for schedule.
Errors: P0002; 42704 the owner does not exist; and those of enqueue.';

CREATE VIEW turnstile.recurring_jobs AS
    SELECT
        recurring.name, recurring.cron, coalesce(entry.active, false) AS active, recurring.kind, recurring.payload,
        recurring.queue, recurring.tenant, recurring.last_firing, recurring.last_job_id, recurring.owner
    FROM turnstile.recurring
    LEFT JOIN turnstile.cron_entries() AS entry ON entry.entry = recurring.cron_entry;
COMMENT ON VIEW turnstile.recurring_jobs IS
    'Recurring jobs, with what pg_cron knows of them. Needs EXECUTE on cron_entries().';
COMMENT ON COLUMN turnstile.recurring_jobs.active IS 'pg_cron has an entry for it that is not switched off.';
