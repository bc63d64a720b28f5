-- Which catalog this is. The library reads the body and serves only the versions that it knows (src/pg/served.rs). An upgrade
-- script begins with the same; scripts/upgrade-script writes that.
CREATE FUNCTION turnstile.catalog_version() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$SELECT '0.2.0'$$;
COMMENT ON FUNCTION turnstile.catalog_version() IS
    'Returns the version of the extension''s objects in this database. version() has that of the library.';

-- A server that was not restarted since the library was replaced still has the one before.
DO $block$
BEGIN
    IF pg_catalog.string_to_array(pg_catalog.split_part(turnstile.version(), '-', 1), '.')::pg_catalog.int4[]
        < pg_catalog.string_to_array(pg_catalog.split_part(turnstile.catalog_version(), '-', 1), '.')::pg_catalog.int4[]
    THEN
        RAISE EXCEPTION 'the library of turnstile that is loaded is too old for this script' USING ERRCODE = '55000',
            DETAIL = pg_catalog.format('The library is version %s, the script is of version %s.',
                turnstile.version(), turnstile.catalog_version()),
            HINT = 'Restart the server, which then loads the library that is installed.';
    END IF;
END
$block$;
