-- Recurring jobs and scheduled calls of maintain(), with pg_cron where the database has it. pg_cron knows when; what
-- is enqueued is a row of turnstile.recurring, so a dump carries it.

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

CREATE FUNCTION turnstile.require_cron() RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron') THEN
        RAISE EXCEPTION 'pg_cron is not installed in this database' USING ERRCODE = '55000',
            DETAIL = pg_catalog.format('The database "%s" does not have the extension pg_cron.', current_database()),
            HINT = 'Run SELECT turnstile.maintain() once a minute by any scheduler: cron with psql, a systemd timer, or pg_cron in its own database with cron.schedule_in_database(). Or install pg_cron here: shared_preload_libraries = ''turnstile,pg_cron'', cron.database_name, CREATE EXTENSION pg_cron.';
    END IF;
END
$function$;
COMMENT ON FUNCTION turnstile.require_cron() IS
    'Errors: 55000 pg_cron is not installed in this database; the HINT says what else can be done.';

-- Entries belong to the owner of these functions. Replacing makes a new entry, so that it runs in this
-- database, and runs at all, whatever happened to the old one.
CREATE FUNCTION turnstile.set_cron_entry(entry text, cron text, command text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF cron IS NULL THEN
        RAISE EXCEPTION 'schedule must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument is NULL.', HINT = 'Pass five fields, for example ''*/5 * * * *''.';
    END IF;
    PERFORM turnstile.remove_cron_entry(entry);
    RETURN cron.schedule(entry, cron, command);
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE EXCEPTION 'invalid schedule' USING ERRCODE = '22023',
        DETAIL = pg_catalog.format('It is "%s". pg_cron says: %s', cron, SQLERRM),
        HINT = 'Use five fields: minute, hour, day of month, month, day of week; for example ''*/5 * * * *''.';
END
$function$;
COMMENT ON FUNCTION turnstile.set_cron_entry(text, text, text) IS
    'For enable_cron() and schedule(): makes or replaces an entry of pg_cron and returns its jobid. Errors: 22004; 22023; 55000 without pg_cron.';

CREATE FUNCTION turnstile.remove_cron_entry(entry text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    removed boolean;
BEGIN
    PERFORM turnstile.require_cron();
    SELECT coalesce(bool_or(cron.unschedule(job.jobid)), false) INTO removed
    FROM cron.job
    WHERE job.jobname = entry::name AND job.username = current_user;
    RETURN removed;
END
$function$;
COMMENT ON FUNCTION turnstile.remove_cron_entry(text) IS
    'For disable_cron() and unschedule(): removes an entry of pg_cron; false if there is none. Errors: 55000 without pg_cron.';

CREATE FUNCTION turnstile.cron_entries() RETURNS TABLE (entry text, schedule text, active boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron') THEN
        RETURN QUERY
            SELECT job.jobname::text, job.schedule, job.active
            FROM cron.job
            WHERE job.jobname LIKE 'turnstile %' AND job.username = current_user AND job.database = current_database();
    END IF;
END
$function$;
COMMENT ON FUNCTION turnstile.cron_entries() IS
    'What pg_cron knows of enable_cron() and schedule(). No row without pg_cron.';

-- ---- maintain() -----------------------------------------------------------------------------------

CREATE FUNCTION turnstile.enable_cron(schedule text DEFAULT '* * * * *') RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    entry bigint;
BEGIN
    entry := turnstile.set_cron_entry('turnstile maintain', schedule, 'SELECT turnstile.maintain()');
    PERFORM turnstile.set_cron_entry('turnstile clean-up', '17 * * * *', 'SELECT turnstile.clean_cron_log()');
    RETURN entry;
END
$function$;
COMMENT ON FUNCTION turnstile.enable_cron(text) IS
    'Makes pg_cron run maintain(), and delete the log of its own runs that is older than three days. Returns the jobid of the first entry. A second call replaces the schedule.
schedule: five fields: minute, hour, day of month, month, day of week.
Errors: 22004; 22023; 55000 without pg_cron.';

CREATE FUNCTION turnstile.disable_cron() RETURNS int
    LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.remove_cron_entry('turnstile maintain')::int + turnstile.remove_cron_entry('turnstile clean-up')::int
$function$;
COMMENT ON FUNCTION turnstile.disable_cron() IS
    'Removes what enable_cron() has set up, and returns how many entries of pg_cron that were. Recurring jobs stay.
Errors: 55000 without pg_cron.';

CREATE FUNCTION turnstile.clean_cron_log(keep interval DEFAULT '3 days') RETURNS bigint
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
    PERFORM turnstile.require_cron();
    DELETE FROM cron.job_run_details
    WHERE runid = ANY (ARRAY (
        SELECT run.runid FROM cron.job_run_details AS run
        WHERE run.username = current_user AND run.database = current_database()
            AND (
                run.command IN ('SELECT turnstile.maintain()', 'SELECT turnstile.clean_cron_log()')
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
    'Deletes old runs of maintain(), of recurring jobs and of itself from the log of pg_cron, up to 10,000. Returns how many.
keep: how long runs stay.
Errors: 22004; 55000 without pg_cron.';

-- ---- Recurring jobs -------------------------------------------------------------------------------

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
