-- Nothing is granted to PUBLIC: an administrator grants EXECUTE to producers and workers.
REVOKE ALL ON SCHEMA turnstile FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA turnstile FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA turnstile FROM PUBLIC;
REVOKE ALL ON ALL ROUTINES IN SCHEMA turnstile FROM PUBLIC;

-- Rows are types, too: a column of such a type in a table of another role would keep the extension from being dropped.
DO $block$
DECLARE
    row_type pg_catalog.regtype;
BEGIN
    FOR row_type IN
        SELECT typ.oid FROM pg_catalog.pg_type AS typ
        WHERE typ.typnamespace = 'turnstile'::pg_catalog.regnamespace AND typ.typtype = 'c'
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON TYPE %s FROM PUBLIC', row_type);
    END LOOP;
END
$block$;
