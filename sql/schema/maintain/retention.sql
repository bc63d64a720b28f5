-- Finished jobs leave history once their queue's keep_completed or keep_discarded is over, counted from the end
-- of their day (UTC), so that all jobs of a day with the same settings go at the same instant.
--
-- A day that no setting keeps any longer is dropped whole. Where settings differ, maintain() first looks whether
-- any job of the day stays; if none does the day is dropped as well, else what is over is deleted. Both go
-- through the partition by ranges of blocks, a range a call. history_pass remembers how far; a pass is valid
-- for one policy, and starts anew when time or a changed setting makes another one.
--
-- Foreign tables are left to who attached them. Children stay as long as their parent waits: it says how they ended when it goes on.

-- The default partition (day_ends NULL) holds many days: its policy is that of a date, and it never goes as a whole.
CREATE FUNCTION turnstile_internal.history_policy(
    day_ends timestamptz, OUT all_over boolean, OUT some_over boolean, OUT policy text
)
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET intervalstyle = 'postgres'
AS $function$
    WITH is_over AS (
        SELECT
            name,
            coalesce(now() - day_ends >= keep_completed, day_ends IS NULL AND keep_completed IS NOT NULL) AS completed,
            coalesce(now() - day_ends >= keep_discarded, day_ends IS NULL AND keep_discarded IS NOT NULL) AS discarded,
            CASE WHEN day_ends IS NULL THEN concat(now()::date, ' ', keep_completed, ' ', keep_discarded) END AS keeps
        FROM turnstile.queue_in_force
    ), rest AS MATERIALIZED (
        -- One row, looked for once and not for each queue.
        SELECT is_over.* FROM is_over WHERE is_over.name = '*'
    )
    SELECT
        day_ends IS NOT NULL AND coalesce(bool_and(own.completed AND own.discarded) AND bool_or(own.name = '*'), false),
        coalesce(bool_or(own.completed OR own.discarded), false),
        md5(string_agg(format('%L %s %s %s', own.name, own.completed, own.discarded, own.keeps), ' ' ORDER BY own.name)
            FILTER (WHERE own.name = '*' OR (own.completed, own.discarded, own.keeps)
                IS DISTINCT FROM (rest.completed, rest.discarded, rest.keeps)))
    FROM is_over AS own
    LEFT JOIN rest ON true
$function$;
COMMENT ON FUNCTION turnstile_internal.history_policy(timestamptz) IS
    'For maintain(): whether all or some settings of queues let go of a day that ended then, and a hash of which. Without the row * jobs of queues without a row stay.';

-- Reads a range of blocks of a partition: deletes what is over, or says whether anything is not.
CREATE FUNCTION turnstile_internal.read_history(partition regclass, first_block bigint, blocks int, looking boolean) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
AS $function$
DECLARE
    -- A partition's name cannot be a parameter.
    found_rows constant text := pg_catalog.format(
        'SELECT history.ctid
         FROM %s AS history
         LEFT JOIN turnstile.queue_in_force AS own ON own.name = history.queue
         LEFT JOIN turnstile.queue_in_force AS rest ON rest.name = ''*''
         CROSS JOIN LATERAL (SELECT CASE
             WHEN own.name IS NULL AND history.state = ''completed'' THEN rest.keep_completed
             WHEN own.name IS NULL THEN rest.keep_discarded
             WHEN history.state = ''completed'' THEN own.keep_completed
             ELSE own.keep_discarded
         END) AS setting (keep)
         WHERE history.ctid >= $1 AND history.ctid < $2
             AND (
                 coalesce(now() - (date_trunc(''day'', history.finished_at) + interval ''1 day'') >= keep, false)
                 AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = history.parent AND job.waits_for = ''jobs'')
             ) = $3',
        partition
    );
    first_row constant tid := pg_catalog.format('(%s,0)', first_block);
    end_row constant tid := pg_catalog.format('(%s,0)', first_block + blocks);
    affected bigint;
BEGIN
    IF looking THEN
        EXECUTE pg_catalog.format('SELECT count(*) FROM (%s LIMIT 1) AS stays', found_rows)
        INTO affected USING first_row, end_row, false;
    ELSE
        EXECUTE pg_catalog.format('DELETE FROM %s WHERE ctid = ANY (ARRAY (%s))', partition, found_rows)
        USING first_row, end_row, true;
        GET DIAGNOSTICS affected = ROW_COUNT;
    END IF;
    RETURN affected;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.read_history(regclass, bigint, int, boolean) IS
    'For maintain(): with looking, 1 if a row in these blocks stays, else 0; without, deletes the rows that are over and returns how many.';

CREATE FUNCTION turnstile_internal.thin_history() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
AS $function$
DECLARE
    looked_blocks constant int := 8192;
    deleted_blocks constant int := 1024;
    ranges constant int := 8;
    pass record;
    affected bigint;
    deleted bigint := 0;
    failed oid[] := '{}';
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT part.partition, part.ends, rule.policy, pg_catalog.pg_stat_get_tuples_inserted(part.partition) AS inserted
        FROM turnstile.history_partition AS part
        JOIN pg_class AS rel ON rel.oid = part.partition AND rel.relkind <> 'f'
        CROSS JOIN LATERAL turnstile_internal.history_policy(part.ends) AS rule
        WHERE rule.some_over AND NOT rule.all_over
    ), gone AS (
        DELETE FROM turnstile.history_pass
        WHERE NOT EXISTS (SELECT FROM wanted WHERE wanted.partition = history_pass.partition)
    )
    INSERT INTO turnstile.history_pass AS known (partition, policy, looking, rows_inserted)
    SELECT wanted.partition, wanted.policy, wanted.ends IS NOT NULL, wanted.inserted
    FROM wanted
    ON CONFLICT ON CONSTRAINT history_pass_pkey DO UPDATE
    SET policy = excluded.policy, looking = excluded.looking, next_block = 0, finished = false,
        rows_inserted = excluded.rows_inserted
    WHERE known.policy <> excluded.policy OR known.looking AND known.rows_inserted <> excluded.rows_inserted;

    FOR _ IN 1 .. ranges LOOP
        SELECT * INTO pass FROM turnstile.history_pass
        WHERE NOT finished AND partition <> ALL (failed) ORDER BY partition LIMIT 1;
        EXIT WHEN NOT FOUND;
        BEGIN
            affected := turnstile_internal.read_history(
                pass.partition, pass.next_block, CASE WHEN pass.looking THEN looked_blocks ELSE deleted_blocks END, pass.looking
            );
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                RAISE;
            WHEN OTHERS OR assert_failure THEN
                RAISE WARNING 'could not thin partition %: %', pass.partition, SQLERRM
                    USING ERRCODE = SQLSTATE, HINT = 'Other partitions are thinned. The next run tries this one again.';
                failed := failed || pass.partition::oid;
                CONTINUE;
        END;
        IF pass.looking AND affected > 0 THEN
            pass.looking := false;
            pass.next_block := 0;
        ELSE
            deleted := deleted + affected;
            pass.next_block := pass.next_block + CASE WHEN pass.looking THEN looked_blocks ELSE deleted_blocks END;
            pass.finished := pass.next_block * pg_catalog.current_setting('block_size')::bigint
                >= pg_catalog.pg_relation_size(pass.partition);
        END IF;
        UPDATE turnstile.history_pass
        SET looking = pass.looking, next_block = pass.next_block, finished = pass.finished
        WHERE history_pass.partition = pass.partition;
    END LOOP;
    RETURN deleted;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.thin_history() IS
    'For maintain(): deletes finished jobs that are over from days of which others stay, some ranges of blocks in a call. Returns how many. A WARNING tells of a day that cannot be thinned.';

CREATE FUNCTION turnstile_internal.has_awaited_children(partition regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    found boolean;
BEGIN
    -- A partition's name cannot be a parameter.
    EXECUTE pg_catalog.format(
        'SELECT EXISTS (
             SELECT FROM turnstile.job
             WHERE job.waits_for = ''jobs'' AND EXISTS (SELECT FROM %s AS ended WHERE ended.parent = job.id)
         )',
        partition
    ) INTO found;
    RETURN found;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.has_awaited_children(regclass) IS
    'For maintain(): whether a day of the history has children of a job that still waits for others.';

CREATE FUNCTION turnstile_internal.drop_history() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET lock_timeout = '50ms'
AS $function$
DECLARE
    most constant int := 10;
    day regclass;
    dropped bigint := 0;
    in_use text;
BEGIN
    FOR day IN
        SELECT part.partition
        FROM turnstile.history_partition AS part
        JOIN pg_class AS rel ON rel.oid = part.partition AND rel.relkind <> 'f'
        CROSS JOIN LATERAL turnstile_internal.history_policy(part.ends) AS rule
        WHERE rule.all_over OR EXISTS (
            SELECT FROM turnstile.history_pass
            WHERE history_pass.partition = part.partition AND history_pass.policy = rule.policy
                AND looking AND finished
                AND rows_inserted = pg_catalog.pg_stat_get_tuples_inserted(part.partition)
        )
        ORDER BY part.ends
        LIMIT most
    LOOP
        BEGIN
            CONTINUE WHEN turnstile_internal.has_awaited_children(day);
            PERFORM turnstile_internal.lock_history(day);
            EXECUTE pg_catalog.format('DROP TABLE %s', day);
            dropped := dropped + 1;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                in_use := SQLERRM;
            WHEN OTHERS OR assert_failure THEN
                RAISE WARNING 'could not drop partition %: %', day, SQLERRM
                    USING ERRCODE = SQLSTATE, HINT = 'If objects depend on the partition, drop them first.';
        END;
    END LOOP;
    IF dropped = 0 AND in_use IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = in_use;
    END IF;
    RETURN dropped;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.drop_history() IS
    'For maintain(): drops up to ten daily partitions that no setting keeps any longer, and returns how many. A WARNING tells of one that cannot be dropped. Errors: 55P03 all of them are in use.';
