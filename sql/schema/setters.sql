-- What operators call instead of INSERT … ON CONFLICT: a row is made as a copy of the default row, as it was in
-- force until then; NULL leaves a column as it is. Plain INSERT, UPDATE and DELETE do the same work.

CREATE FUNCTION turnstile.check_name(argument text, value text, optional boolean DEFAULT false) RETURNS void
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
COMMENT ON FUNCTION turnstile.check_name(text, text, boolean) IS
    'Refuses what is no name, as every function does: 22004 NULL, 22023 empty, 54000 over 255 bytes.';

CREATE FUNCTION turnstile.check_clear(clear text[], VARIADIC columns text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF NOT clear <@ columns OR array_position(clear, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'clear names a column that cannot be NULL' USING ERRCODE = '22023',
            DETAIL = format('It is %s.', clear), HINT = format('Columns that can: %s.', array_to_string(columns, ', '));
    END IF;
END
$function$;
COMMENT ON FUNCTION turnstile.check_clear(text[], text[]) IS 'Refuses columns that cannot be put to NULL: 22023.';

CREATE FUNCTION turnstile.refuse_setting(broken text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    RAISE EXCEPTION 'the rule % does not allow this value', broken USING ERRCODE = '22023',
        DETAIL = (
            SELECT format('The rule: %s.', pg_get_constraintdef(oid))
            FROM pg_constraint
            WHERE conname = broken AND connamespace = 'turnstile'::regnamespace
        ),
        HINT = 'The comment on the column says what it takes.';
END
$function$;
COMMENT ON FUNCTION turnstile.refuse_setting(text) IS 'Says 22023 where a CHECK of a table of settings was broken.';
