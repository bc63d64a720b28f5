-- maintain(), called by pg_cron.

-- An entry is no part of the extension. It outlives DROP EXTENSION, and its next run then removes it.
CREATE FUNCTION turnstile_internal.cron_command(verb text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT format($command$DO $do$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'turnstile') THEN
        PERFORM cron.unschedule(jobid) FROM cron.job
        WHERE jobname IN ('turnstile maintain', 'turnstile clean-up') AND username = current_user;
    ELSE
        PERFORM turnstile.%I();
    END IF;
END $do$$command$, cron_command.verb)
$function$;
COMMENT ON FUNCTION turnstile_internal.cron_command(text) IS
    'For enable_cron(): the command of an entry of pg_cron, which removes the entries once the extension is gone.';

CREATE FUNCTION turnstile.enable_cron(schedule text DEFAULT '* * * * *') RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    entry bigint;
BEGIN
    entry := turnstile_internal.set_cron_entry('turnstile maintain', schedule, turnstile_internal.cron_command('maintain'));
    PERFORM turnstile_internal.set_cron_entry('turnstile clean-up', '17 * * * *', turnstile_internal.cron_command('clean_cron_log'));
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
    SELECT turnstile_internal.remove_cron_entry('turnstile maintain')::int + turnstile_internal.remove_cron_entry('turnstile clean-up')::int
$function$;
COMMENT ON FUNCTION turnstile.disable_cron() IS
    'Removes what enable_cron() has set up, and returns how many entries of pg_cron that were.
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
    PERFORM turnstile_internal.require_cron();
    DELETE FROM cron.job_run_details
    WHERE runid = ANY (ARRAY (
        SELECT run.runid FROM cron.job_run_details AS run
        WHERE run.username = current_user AND run.database = current_database()
            AND (
                run.command IN (turnstile_internal.cron_command('maintain'), turnstile_internal.cron_command('clean_cron_log'))
                -- Those of 0.1.0.
                OR run.command IN ('SELECT turnstile.maintain()', 'SELECT turnstile.clean_cron_log()')
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
    'Deletes old runs of maintain() and of itself from the log of pg_cron, up to 10,000. Returns how many.
keep: how long runs stay.
Errors: 22004; 55000 without pg_cron.';
