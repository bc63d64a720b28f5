-- Entries of pg_cron, where the database has it, for maintain().

CREATE FUNCTION turnstile_internal.require_cron() RETURNS void
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
COMMENT ON FUNCTION turnstile_internal.require_cron() IS
    'Errors: 55000 pg_cron is not installed in this database; the HINT says what else can be done.';

-- Entries belong to the owner of these functions. Replacing makes a new entry, so that it runs in this
-- database, and runs at all, whatever happened to the old one.
CREATE FUNCTION turnstile_internal.set_cron_entry(entry text, cron text, command text) RETURNS bigint
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
COMMENT ON FUNCTION turnstile_internal.set_cron_entry(text, text, text) IS
    'For enable_cron(): makes or replaces an entry of pg_cron and returns its jobid. Errors: 22004; 22023; 55000 without pg_cron.';

CREATE FUNCTION turnstile_internal.remove_cron_entry(entry text) RETURNS boolean
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
COMMENT ON FUNCTION turnstile_internal.remove_cron_entry(text) IS
    'For disable_cron(): removes an entry of pg_cron; false if there is none. Errors: 55000 without pg_cron.';
