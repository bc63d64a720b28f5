-- Pauses. A paused gate is closed, so jobs that wait behind it cost other claims nothing.

CREATE FUNCTION turnstile.pause_queue(name text, until timestamptz DEFAULT NULL) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_queue(
        pause_queue.name, paused => until IS NULL, paused_until => until, clear => CASE WHEN until IS NULL THEN ARRAY['paused_until'] END
    )
$function$;
COMMENT ON FUNCTION turnstile.pause_queue(text, timestamptz) IS
    'No job of the queue starts, from the next claim after the commit on. Runs go on.
name: the queue. * : the queues without a row of their own.
until: the pause ends at this time by itself. NULL: when it is resumed.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.resume_queue(name text) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_queue(resume_queue.name, paused => false, clear => ARRAY['paused_until'])
$function$;
COMMENT ON FUNCTION turnstile.resume_queue(text) IS
    'Ends a pause of the queue.
name: the queue. * : the queues without a row of their own.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.pause_tenant(name text, until timestamptz DEFAULT NULL) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_tenant(
        pause_tenant.name, paused => until IS NULL, paused_until => until, clear => CASE WHEN until IS NULL THEN ARRAY['paused_until'] END
    )
$function$;
COMMENT ON FUNCTION turnstile.pause_tenant(text, timestamptz) IS
    'No job of the tenant starts, from the next claim after the commit on. Runs go on.
name: the tenant. * : the tenants without a row of their own.
until: the pause ends at this time by itself. NULL: when it is resumed.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.resume_tenant(name text) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_tenant(resume_tenant.name, paused => false, clear => ARRAY['paused_until'])
$function$;
COMMENT ON FUNCTION turnstile.resume_tenant(text) IS
    'Ends a pause of the tenant.
name: the tenant. * : the tenants without a row of their own.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.pause_account(tenant text, name text, until timestamptz DEFAULT NULL) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_account(
        pause_account.tenant, pause_account.name, paused => until IS NULL, paused_until => until, clear => CASE WHEN until IS NULL THEN ARRAY['paused_until'] END
    )
$function$;
COMMENT ON FUNCTION turnstile.pause_account(text, text, timestamptz) IS
    'No job of the account starts, from the next claim after the commit on. Runs go on.
tenant: the tenant of the account. * : any without a row of its own.
name: the account. * : the accounts without a row of their own.
until: the pause ends at this time by itself. NULL: when it is resumed.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.resume_account(tenant text, name text) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_account(resume_account.tenant, resume_account.name, paused => false, clear => ARRAY['paused_until'])
$function$;
COMMENT ON FUNCTION turnstile.resume_account(text, text) IS
    'Ends a pause of the account.
tenant: the tenant of the account. * : any without a row of its own.
name: the account. * : the accounts without a row of their own.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.pause_session(queue text, tenant text, session text, until timestamptz DEFAULT NULL)
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
COMMENT ON FUNCTION turnstile.pause_session(text, text, text, timestamptz) IS
    'No job of the session starts, from the next claim after the commit on. Runs go on.
queue: the queue of the session.
tenant: its tenant. NULL: the session of jobs without a tenant.
session: the session.
until: the pause ends at this time by itself. NULL: when it is resumed.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.resume_session(queue text, tenant text, session text) RETURNS void
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
COMMENT ON FUNCTION turnstile.resume_session(text, text, text) IS
    'Ends a pause of the session.
queue: the queue of the session.
tenant: its tenant. NULL: the session of jobs without a tenant.
session: the session.
Errors: 22004; 22023; 54000; 42501.';

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
