-- Upkeep. Each task runs by itself: one that fails or runs elsewhere does not keep the others from running.
-- Others see what a task did when the last one is over. So those that may take long come first; what workers wait for follows, and
-- at the end come those that take strong locks, so that the locks are held for an instant only.

CREATE FUNCTION turnstile_internal.run_task(task text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    attachable constant bigint := 64 * 1024 * 1024;
BEGIN
    CASE task
        WHEN 'rescue' THEN
            RETURN turnstile.rescue();
        WHEN 'promote' THEN
            RETURN turnstile.promote();
        WHEN 'fire recurring' THEN
            RETURN turnstile.fire_recurring();
        WHEN 'thin history' THEN
            RETURN turnstile_internal.thin_history();
        WHEN 'prune unique keys' THEN
            RETURN turnstile.prune_unique_keys();
        WHEN 'prune batches' THEN
            RETURN turnstile_internal.prune_batches();
        WHEN 'make partitions' THEN
            -- A dump restores it last of all partitions. One that exists before would be in the way of the others.
            IF pg_catalog.to_regclass('turnstile.job_history_default') IS NULL THEN
                RAISE EXCEPTION 'history has no default partition' USING ERRCODE = '55000',
                    DETAIL = 'There is no turnstile.job_history_default.',
                    HINT = 'If a dump is being restored, wait for the end. Otherwise run SELECT turnstile.make_history_partitions().';
            END IF;
            IF turnstile_internal.missing_history_days(7) IS NOT NULL
                AND pg_catalog.pg_relation_size('turnstile.job_history_default') > attachable
            THEN
                RAISE EXCEPTION 'default partition of the history is too large'
                    USING ERRCODE = '55000',
                    DETAIL = pg_catalog.format('It has %s. Attaching a partition reads all of it.', pg_catalog.pg_size_pretty(
                        pg_catalog.pg_relation_size('turnstile.job_history_default')
                    )),
                    HINT = 'Run SELECT turnstile.make_history_partitions() at a quiet time: ends of runs wait while it reads the default partition, once for each missing day.';
            END IF;
            RETURN turnstile.make_history_partitions(7);
        WHEN 'drop partitions' THEN
            RETURN turnstile_internal.drop_history();
    END CASE;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.run_task(text) IS
    'For maintain(): runs one task and returns how much it did.';

CREATE FUNCTION turnstile.maintain() RETURNS TABLE (task text, affected bigint)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 10
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '50ms'
AS $function$
DECLARE
    why text;
    hint text;
BEGIN
    IF pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'cannot run maintain() in a read-only transaction' USING ERRCODE = '25006',
            DETAIL = 'The server is in recovery or the transaction is read-only.', HINT = 'Run it on the primary.';
    END IF;
    FOREACH task IN ARRAY ARRAY['thin history', 'prune unique keys', 'prune batches', 'rescue', 'promote', 'fire recurring', 'make partitions', 'drop partitions'] LOOP
        affected := 0;
        BEGIN
            PERFORM FROM turnstile.maintain_task WHERE maintain_task.name = task FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                affected := turnstile_internal.run_task(task);
            END IF;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                affected := NULL;
                RAISE NOTICE 'maintain() skipped task "%"', task
                    USING DETAIL = SQLERRM, HINT = 'The next run tries again.';
            WHEN OTHERS OR assert_failure THEN
                GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
                affected := NULL;
                RAISE WARNING 'maintain() could not run task "%": %', task, SQLERRM
                    USING ERRCODE = SQLSTATE, DETAIL = why, HINT = hint;
        END;
        RETURN NEXT;
    END LOOP;
END
$function$;
COMMENT ON FUNCTION turnstile.maintain() IS
    'Runs each task of upkeep, a bounded amount in a call: thin history, prune unique keys, prune batches, rescue, promote, fire recurring, make partitions, drop partitions. Call it by itself about once a minute, from any number of places.
Returns: a row for each task. affected is how much was done; 0 also where another session runs the task; NULL where the task failed (with a WARNING) or would have had to wait for locks (with a NOTICE).
Errors: 25006.';
