-- What the viewer may read and call, and where it is. Names of the schema alone: what a privilege is worth, the server says at each call.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        pg_catalog.current_database() AS database,
        CURRENT_USER AS role,
        pg_catalog.pg_is_in_recovery() AS in_recovery,
        extract(epoch FROM pg_catalog.clock_timestamp())::float8 AS now,
        (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'turnstile') AS version,
        coalesce((
            SELECT pg_catalog.json_agg(relname)
            FROM pg_catalog.pg_class
            WHERE relnamespace = pg_catalog.to_regnamespace('turnstile') AND relkind IN ('r', 'v', 'p')
                AND pg_catalog.has_schema_privilege(relnamespace, 'USAGE')
                AND pg_catalog.has_table_privilege(oid, 'SELECT')
        ), '[]') AS reads,
        coalesce((
            SELECT pg_catalog.json_agg(DISTINCT proname)
            FROM pg_catalog.pg_proc
            WHERE pronamespace = pg_catalog.to_regnamespace('turnstile')
                AND pg_catalog.has_schema_privilege(pronamespace, 'USAGE')
                AND pg_catalog.has_function_privilege(oid, 'EXECUTE')
        ), '[]') AS calls
) AS found
