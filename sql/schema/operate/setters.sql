-- What operators call instead of INSERT ... ON CONFLICT: NULL leaves a column as it is. A row that is made inherits all that was not
-- given. Only a pause of the row * is copied: it is not inherited, and a limit that is set must not end it. Plain INSERT, UPDATE
-- and DELETE do the same work, and need the same permissions: these functions run with their caller's rights.
--
-- Each table has its statements written out: one function for all would have to put them together from strings, which is
-- harder to read and to trust. What a column becomes is said once, in changed_setting().

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

CREATE FUNCTION turnstile.set_tenant(
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

CREATE FUNCTION turnstile.set_account(
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

CREATE FUNCTION turnstile.set_concurrency(
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
