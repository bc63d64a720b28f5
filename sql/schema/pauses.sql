-- Pausing and resuming: a paused gate is closed, so what waits behind it costs nobody else anything.

CREATE FUNCTION turnstile.pause_queue(name text) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_queue(pause_queue.name, paused => true)
$function$;
COMMENT ON FUNCTION turnstile.pause_queue(text) IS
    'No job of the queue starts from the next claim after the commit on; what runs goes on. Errors: 22004, 22023, 54000.';

CREATE FUNCTION turnstile.resume_queue(name text) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_queue(resume_queue.name, paused => false)
$function$;
COMMENT ON FUNCTION turnstile.resume_queue(text) IS
    'Ends a pause of the queue. Errors: 22004, 22023, 54000.';

CREATE FUNCTION turnstile.pause_tenant(name text) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_tenant(pause_tenant.name, paused => true)
$function$;
COMMENT ON FUNCTION turnstile.pause_tenant(text) IS
    'No job of the tenant starts from the next claim after the commit on; what runs goes on. Errors: 22004, 22023, 54000.';

CREATE FUNCTION turnstile.resume_tenant(name text) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_tenant(resume_tenant.name, paused => false)
$function$;
COMMENT ON FUNCTION turnstile.resume_tenant(text) IS
    'Ends a pause of the tenant. Errors: 22004, 22023, 54000.';

CREATE FUNCTION turnstile.pause_account(tenant text, name text) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_account(pause_account.tenant, pause_account.name, paused => true)
$function$;
COMMENT ON FUNCTION turnstile.pause_account(text, text) IS
    'No job of the account starts from the next claim after the commit on; what runs goes on. Errors: 22004, 22023, 54000.';

CREATE FUNCTION turnstile.resume_account(tenant text, name text) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT turnstile.set_account(resume_account.tenant, resume_account.name, paused => false)
$function$;
COMMENT ON FUNCTION turnstile.resume_account(text, text) IS
    'Ends a pause of the account. Errors: 22004, 22023, 54000.';
