-- What functions that are not in C do alike with their arguments. Each runs with the rights of its caller, so that roles
-- that may call a setter need EXECUTE on these, too: rights_of() grants it.

CREATE FUNCTION turnstile_internal.check_name(argument text, value text, optional boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF value IS NULL AND NOT optional THEN
        RAISE EXCEPTION '% must not be null', argument USING ERRCODE = '22004',
            DETAIL = format('The argument "%s" is NULL.', argument), HINT = 'Pass a name.';
    ELSIF value = '' THEN
        RAISE EXCEPTION '% must not be empty', argument USING ERRCODE = '22023',
            DETAIL = format('The argument "%s" is an empty string.', argument), HINT = 'Pass a name.';
    ELSIF octet_length(value) > 255 THEN
        RAISE EXCEPTION '% is longer than 255 bytes', argument USING ERRCODE = '54000',
            DETAIL = format('It has %s bytes.', octet_length(value)), HINT = 'Use a short name or a hash.';
    END IF;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.check_name(text, text, boolean) IS
    'Refuses what is no name: 22004 NULL, 22023 empty, 54000 over 255 bytes.';

CREATE FUNCTION turnstile_internal.check_clear(clear text[], VARIADIC columns text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF NOT clear <@ columns OR EXISTS (SELECT FROM unnest(clear) AS name WHERE name IS NULL) THEN
        RAISE EXCEPTION 'clear names a column that cannot be NULL' USING ERRCODE = '22023',
            DETAIL = format('It is %s.', clear), HINT = format('Columns that can: %s.', array_to_string(columns, ', '));
    END IF;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.check_clear(text[], text[]) IS
    'Refuses columns that cannot be set to NULL: 22023.';

CREATE FUNCTION turnstile_internal.changed_setting(name text, clear text[], given anyelement, was anyelement) RETURNS anyelement
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT CASE WHEN changed_setting.name = ANY (clear) THEN NULL ELSE coalesce(given, was) END
$function$;
COMMENT ON FUNCTION turnstile_internal.changed_setting(text, text[], anyelement, anyelement) IS
    'For the setters: what a column becomes. NULL if clear names it, else the value that was given, else what it was.';

CREATE FUNCTION turnstile_internal.refuse_setting(broken text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    RAISE EXCEPTION 'value violates check constraint "%"', broken USING ERRCODE = '22023',
        DETAIL = (
            SELECT format('The rule: %s.', pg_get_constraintdef(oid))
            FROM pg_constraint
            WHERE conname = broken AND connamespace = 'turnstile'::regnamespace
        ),
        HINT = 'See the comment on the column for the values that it takes.';
END
$function$;
COMMENT ON FUNCTION turnstile_internal.refuse_setting(text) IS
    'Raises 22023 for a broken CHECK of a table of settings.';

CREATE FUNCTION turnstile_internal.check_rate(rate int, rate_per interval, burst int) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF rate IS NULL AND (rate_per IS NOT NULL OR burst IS NOT NULL) THEN
        RAISE EXCEPTION '% needs a rate', CASE WHEN rate_per IS NULL THEN 'burst' ELSE 'rate_per' END USING ERRCODE = '22023',
            DETAIL = 'There is no rate, and none is given or inherited.', HINT = 'Say how many may start, or leave it out.';
    END IF;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.check_rate(int, interval, int) IS
    'For the setters: refuses rate_per and burst, as they were given, where the rate that will hold is NULL: 22023.';

CREATE FUNCTION turnstile_internal.check_names(argument text, names text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF names IS NULL OR EXISTS (SELECT FROM unnest(names) AS name WHERE name IS NULL) THEN
        RAISE EXCEPTION '% must not be or contain null', argument USING ERRCODE = '22004',
            DETAIL = format('The argument "%s" is %s.', argument, coalesce(names::text, 'NULL')),
            HINT = 'Pass an array of names; ''{*}'' stands for all.';
    ELSIF cardinality(names) = 0 THEN
        RAISE EXCEPTION '% must not be empty', argument USING ERRCODE = '22023',
            DETAIL = format('The argument "%s" is an empty array.', argument), HINT = 'Pass an array of names; ''{*}'' stands for all.';
    END IF;
    PERFORM turnstile_internal.check_name(argument, name) FROM unnest(names) AS name;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.check_names(text, text[]) IS
    'Refuses what is no array of names: 22004 NULL, 22023 empty, 54000 a name over 255 bytes.';
