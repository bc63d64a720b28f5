-- The daily partitions of job_history: made ahead, and without stalling others.

-- To change the set of partitions takes strong locks for an instant, and a session that waits for such a lock
-- blocks all that come after it. So it waits at most 50 ms, and not at all for a transaction that is older than
-- a second: a dump, a report, a worker that ends runs in a long transaction.
--
-- CREATE EXTENSION itself holds hundreds of locks: the list of them fits in this work_mem, and needs no temporary file.
CREATE FUNCTION turnstile_internal.lock_history(dropping regclass DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '50ms'
    SET work_mem = '4MB'
AS $function$
DECLARE
    tries int := 3;
    is_held boolean;
BEGIN
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_locks
        LEFT JOIN pg_catalog.pg_stat_activity USING (pid)
        WHERE pg_locks.relation IN (
                'turnstile.job_history_default'::regclass,
                CASE WHEN dropping IS NOT NULL THEN 'turnstile.job_history'::regclass END, dropping
            )
            AND pg_locks.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
            AND pg_locks.granted AND pg_locks.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
            AND coalesce(xact_start < pg_catalog.clock_timestamp() - interval '1 second', true)
    ) INTO is_held;
    WHILE tries > 0 AND NOT is_held LOOP
        tries := tries - 1;
        BEGIN
            IF dropping IS NULL THEN
                LOCK TABLE ONLY turnstile.job_history IN SHARE UPDATE EXCLUSIVE MODE;
                LOCK TABLE ONLY turnstile.job_history_default IN ACCESS EXCLUSIVE MODE;
            ELSE
                LOCK TABLE ONLY turnstile.job_history IN ACCESS EXCLUSIVE MODE;
                LOCK TABLE ONLY turnstile.job_history_default IN ACCESS EXCLUSIVE MODE NOWAIT;
            END IF;
            RETURN;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            PERFORM pg_catalog.pg_sleep(0.02);
        END;
    END LOOP;
    RAISE EXCEPTION 'history is in use' USING ERRCODE = '55P03',
        DETAIL = 'Another transaction holds a lock on turnstile.job_history or a partition, as a dump or a report does.',
        HINT = 'Try again later. maintain() tries with each run.';
END
$function$;
COMMENT ON FUNCTION turnstile_internal.lock_history(regclass) IS
    'For maintain(): locks the history to attach a partition, or to drop the one given, without stalling others. Errors: 55P03.';

CREATE FUNCTION turnstile_internal.missing_history_days(days_ahead int) RETURNS date[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
AS $function$
    SELECT pg_catalog.array_agg(day::date ORDER BY day)
    FROM pg_catalog.generate_series(
        pg_catalog.date_trunc('day', pg_catalog.now()), pg_catalog.now() + days_ahead * interval '1 day', interval '1 day'
    ) AS day
    WHERE pg_catalog.to_regclass('turnstile.job_history_' || pg_catalog.to_char(day, 'YYYYMMDD')) IS NULL
        AND NOT EXISTS (
            SELECT FROM turnstile.history_partition
            WHERE history_partition.begins < day + interval '1 day' AND history_partition.ends > day
        )
$function$;
COMMENT ON FUNCTION turnstile_internal.missing_history_days(int) IS
    'For maintain(): the days (UTC) from today on for which job_history has no partition, or NULL.';

-- Partitions have an index of their own: one of the parent would be made for a partition that a dump attaches,
-- before the dump makes it by the same name. An index that is made of an empty table has a summary of its first
-- pages, which each row would have to change. What the owner grants on tables by default is not for these.
CREATE FUNCTION turnstile_internal.finish_partition(partition regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET default_tablespace = ''
AS $function$
DECLARE
    grantee text;
BEGIN
    -- DDL takes no parameters.
    EXECUTE pg_catalog.format(
        'CREATE INDEX ON %1$s (id);
         CREATE INDEX ON %1$s USING brin (finished_at) WITH (autosummarize = on);
         CREATE INDEX ON %1$s (parent, state) WHERE parent IS NOT NULL;
         ALTER TABLE %1$s REPLICA IDENTITY FULL;
         REVOKE ALL ON TYPE %1$s FROM PUBLIC',
        partition
    );
    PERFORM pg_catalog.brin_desummarize_range(indexrelid, 0)
    FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = partition AND relam = (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'brin');
    FOR grantee IN
        SELECT DISTINCT CASE WHEN given.grantee = 0 THEN 'PUBLIC' ELSE given.grantee::regrole::text END
        FROM pg_catalog.pg_class, pg_catalog.aclexplode(relacl) AS given
        WHERE pg_class.oid = partition AND given.grantee <> relowner
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON TABLE %s FROM %s CASCADE', partition, grantee);
    END LOOP;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.finish_partition(regclass) IS
    'For make_history_partitions(): gives a new partition its indexes and its replica identity, and revokes what default privileges granted.';

-- Jobs in the default partition move to that of their day without any trigger: they are not deleted, and a foreign
-- key finds them there again.
CREATE FUNCTION turnstile_internal.move_strays(partition regclass, begins timestamptz, ends timestamptz) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    -- Names, since columns that users have added may stand elsewhere; those that are generated are so again.
    columns constant text := (
        SELECT pg_catalog.string_agg(pg_catalog.quote_ident(attname), ', ' ORDER BY attnum)
        FROM pg_catalog.pg_attribute
        WHERE attrelid = partition AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    );
    role_before constant text := pg_catalog.current_setting('session_replication_role');
    may_switch constant boolean := (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user);
BEGIN
    IF may_switch THEN
        PERFORM pg_catalog.set_config('session_replication_role', 'replica', true);
    END IF;
    -- A partition's name cannot be a parameter.
    EXECUTE pg_catalog.format(
        'WITH stray AS (
             DELETE FROM turnstile.job_history_default WHERE finished_at >= $1 AND finished_at < $2 RETURNING %1$s
         )
         INSERT INTO %2$s (%1$s) SELECT %1$s FROM stray',
        columns, partition
    ) USING begins, ends;
    IF may_switch THEN
        PERFORM pg_catalog.set_config('session_replication_role', role_before, true);
    END IF;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.move_strays(regclass, timestamptz, timestamptz) IS
    'For make_history_partitions(): moves finished jobs of that time from the default partition to the new one.';

-- A partition is created as a table of its own and then attached, so that jobs can end meanwhile. It gets from the
-- parent all that ATTACH requires; ATTACH itself creates indexes, triggers and foreign keys of users. A few finished
-- jobs of such a day in the default partition are moved; with many the day stays there.
CREATE FUNCTION turnstile.make_history_partitions(days_ahead int DEFAULT 7) RETURNS int
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET default_tablespace = ''
    SET default_table_access_method = 'heap'
AS $function$
DECLARE
    missing date[];
    crowded date[];
    day date;
    partition text;
    made int := 0;
    place constant text := coalesce((
        SELECT pg_catalog.format('TABLESPACE %I', spcname)
        FROM pg_catalog.pg_class JOIN pg_catalog.pg_tablespace ON pg_tablespace.oid = reltablespace
        WHERE pg_class.oid = 'turnstile.job_history'::regclass
    ), '');
BEGIN
    IF days_ahead IS NULL THEN
        RAISE EXCEPTION 'days_ahead must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "days_ahead" is NULL.', HINT = 'Leave it out for a week.';
    END IF;
    IF days_ahead NOT BETWEEN 0 AND 366 THEN
        RAISE EXCEPTION 'days_ahead must be between 0 and 366' USING ERRCODE = '22023',
            DETAIL = pg_catalog.format('It is %s.', days_ahead), HINT = 'A week is enough with a daily run.';
    END IF;
    IF pg_catalog.to_regclass('turnstile.job_history_default') IS NULL THEN
        CREATE TABLE turnstile.job_history_default PARTITION OF turnstile.job_history DEFAULT;
        PERFORM turnstile_internal.finish_partition('turnstile.job_history_default');
        COMMENT ON TABLE turnstile.job_history_default IS
            'Catches finished jobs of a day whose partition was not made ahead.';
    END IF;
    missing := turnstile_internal.missing_history_days(days_ahead);
    IF missing IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM turnstile_internal.lock_history();
    crowded := ARRAY (
        SELECT finished_at::date FROM turnstile.job_history_default
        WHERE finished_at >= missing[1] GROUP BY 1 HAVING count(*) > 10000
    );
    FOREACH day IN ARRAY missing LOOP
        CONTINUE WHEN day = ANY (crowded);
        partition := 'turnstile.job_history_' || pg_catalog.to_char(day, 'YYYYMMDD');
        -- DDL takes no parameters; names and bounds are quoted by format.
        EXECUTE pg_catalog.format(
            'CREATE TABLE %s (LIKE turnstile.job_history
                INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION) %s',
            partition, place
        );
        PERFORM turnstile_internal.finish_partition(partition::regclass);
        PERFORM turnstile_internal.move_strays(partition::regclass, day::timestamptz, (day + 1)::timestamptz);
        EXECUTE pg_catalog.format(
            'ALTER TABLE turnstile.job_history ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)',
            partition, day::timestamptz, (day + 1)::timestamptz
        );
        made := made + 1;
    END LOOP;
    RETURN made;
END
$function$;
COMMENT ON FUNCTION turnstile.make_history_partitions(int) IS
    'Makes the partitions of job_history that are missing for today and the days ahead, and the default partition if that is missing. Returns how many days. A day with more than 10,000 jobs in the default partition stays there. While the default partition is read, ends of runs that go there wait.
days_ahead: 0 to 366.
Errors: 22004; 22023; 55P03.';
