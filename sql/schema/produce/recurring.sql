-- Recurring jobs. A background worker of the server fires them (src/recurring).

CREATE FUNCTION turnstile_internal.check_recurring_owner(name text, caller name) RETURNS void
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

CREATE FUNCTION turnstile_internal.end_recurring(name text, caller name) RETURNS boolean
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

CREATE FUNCTION turnstile.unschedule(name text) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_unschedule';
COMMENT ON FUNCTION turnstile.unschedule(text) IS
    'Ends a recurring job. Returns false if there is none of that name. Jobs that it has enqueued stay.
name: as for schedule.
Errors: 22004; 22023; 42501 it belongs to another role; 54000.';

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
