-- The history after CREATE EXTENSION, and while a dump is restored.

-- A dump carries partitions whole, but of job_history, which is the extension's, neither columns, CHECKs nor indexes
-- that users have added: to attach a partition that has them would fail. So they are made again, just before.
CREATE FUNCTION turnstile_internal.attach_as_dumped() RETURNS event_trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    history constant regclass := pg_catalog.to_regclass('turnstile.job_history');
    attached text[];
    part regclass;
    addition text;
BEGIN
    IF pg_catalog.current_setting('row_security') = 'on' OR history IS NULL THEN
        RETURN;
    END IF;
    attached := pg_catalog.regexp_match(
        pg_catalog.current_query(),
        '(?n)^ALTER (?:TABLE ONLY|INDEX) (turnstile[.].+) ATTACH PARTITION (turnstile[.].+?)(?:;| FOR VALUES .+;| DEFAULT;)$'
    );
    part := pg_catalog.to_regclass(attached[2]);
    IF part IS NULL THEN
        RETURN;
    END IF;
    -- The commands below come here again, and pass.
    PERFORM pg_catalog.set_config('row_security', 'on', true);
    IF pg_catalog.to_regclass(attached[1]) = history THEN
        FOR addition IN
            SELECT pg_catalog.concat_ws(' ',
                pg_catalog.format('ALTER TABLE %s ADD COLUMN %I', history, own.attname),
                pg_catalog.format_type(own.atttypid, own.atttypmod),
                CASE WHEN own.attcollation <> typcollation THEN 'COLLATE ' || own.attcollation::regcollation END,
                CASE WHEN own.attgenerated = 's'
                    THEN pg_catalog.format('GENERATED ALWAYS AS (%s) STORED', pg_catalog.pg_get_expr(adbin, adrelid))
                    ELSE 'DEFAULT ' || pg_catalog.pg_get_expr(adbin, adrelid)
                END,
                CASE WHEN own.attnotnull THEN 'NOT NULL' END
            )
            FROM pg_catalog.pg_attribute AS own
            JOIN pg_catalog.pg_type ON pg_type.oid = own.atttypid
            LEFT JOIN pg_catalog.pg_attrdef ON adrelid = own.attrelid AND adnum = own.attnum
            WHERE own.attrelid = part AND own.attnum > 0 AND NOT own.attisdropped
                AND NOT EXISTS (
                    SELECT FROM pg_catalog.pg_attribute AS known
                    WHERE known.attrelid = history AND known.attname = own.attname
                )
            ORDER BY own.attnum
        LOOP
            EXECUTE addition;
        END LOOP;
        -- It comes last: a CHECK that all have was one of the whole history.
        IF part = pg_catalog.to_regclass('turnstile.job_history_default') THEN
            FOR addition IN
                SELECT pg_catalog.format(
                    'ALTER TABLE %s ADD CONSTRAINT %I %s', history, own.conname, pg_catalog.pg_get_constraintdef(own.oid)
                )
                FROM pg_catalog.pg_constraint AS own
                JOIN pg_catalog.pg_constraint AS other ON (other.conname, other.contype) = (own.conname, 'c')
                JOIN pg_catalog.pg_inherits ON inhrelid = other.conrelid AND inhparent = history
                WHERE own.conrelid = part AND own.contype = 'c' AND other.conislocal
                    AND pg_catalog.pg_get_constraintdef(other.oid) = pg_catalog.pg_get_constraintdef(own.oid)
                GROUP BY own.oid, own.conname
                HAVING count(*) = (SELECT count(*) FROM pg_catalog.pg_inherits WHERE inhparent = history)
            LOOP
                EXECUTE addition;
            END LOOP;
        END IF;
    ELSIF pg_catalog.to_regclass(attached[1]) IS NULL
        AND EXISTS (
            SELECT FROM pg_catalog.pg_index JOIN pg_catalog.pg_inherits ON inhrelid = indrelid
            WHERE indexrelid = part AND inhparent = history
        )
    THEN
        -- A parallel restore attaches several at a time: the second finds what the first has made.
        LOCK TABLE ONLY turnstile.job_history IN SHARE ROW EXCLUSIVE MODE;
        SELECT
            CASE WHEN pg_constraint.oid IS NOT NULL
                THEN pg_catalog.format(
                    'ALTER TABLE ONLY %s ADD CONSTRAINT %I %s', history, name.parts[2],
                    pg_catalog.pg_get_constraintdef(pg_constraint.oid)
                )
                ELSE pg_catalog.format(
                    'CREATE %sINDEX %I ON ONLY %s %s', CASE WHEN indisunique THEN 'UNIQUE ' END, name.parts[2], history,
                    pg_catalog.substr(
                        pg_catalog.pg_get_indexdef(part),
                        pg_catalog.length(pg_catalog.format(
                            'CREATE %sINDEX %I ON %s  ', CASE WHEN indisunique THEN 'UNIQUE ' END, relname, indrelid::regclass
                        ))
                    )
                )
            END INTO addition
        FROM pg_catalog.pg_index
        JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
        LEFT JOIN pg_catalog.pg_constraint ON conindid = indexrelid AND conrelid = indrelid AND contype IN ('p', 'u')
        CROSS JOIN LATERAL pg_catalog.parse_ident(attached[1]) AS name (parts)
        WHERE indexrelid = part AND pg_catalog.to_regclass(attached[1]) IS NULL;
        IF addition IS NOT NULL THEN
            EXECUTE addition;
        END IF;
    END IF;
    PERFORM pg_catalog.set_config('row_security', 'off', true);
END
$function$;
COMMENT ON FUNCTION turnstile_internal.attach_as_dumped() IS
    'While a dump is restored: gives job_history the columns, CHECKs and indexes of a partition before that is attached.';

-- Partitions belong to the user, the default one too, so that a dump carries them alike. A restore brings its own:
-- pg_dump and pg_restore switch row_security off, which no session does by default.
DO $block$
DECLARE
    partition regclass;
BEGIN
    IF current_setting('row_security') = 'off' THEN
        CREATE EVENT TRIGGER turnstile_restore ON ddl_command_start
            WHEN TAG IN ('ALTER TABLE', 'ALTER INDEX') EXECUTE FUNCTION turnstile_internal.attach_as_dumped();
        COMMENT ON EVENT TRIGGER turnstile_restore IS
            'Made by a restore of turnstile, for what it attaches to the history.';
        RETURN;
    END IF;
    PERFORM turnstile.make_history_partitions();
    FOR partition IN
        SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = 'turnstile.job_history'::regclass
    LOOP
        EXECUTE pg_catalog.format('ALTER EXTENSION turnstile DROP TABLE %s', partition);
    END LOOP;
END
$block$;
