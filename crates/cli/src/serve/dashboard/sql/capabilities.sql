-- What the viewer may read and call, and where it is. Names of the schema alone: what a privilege is worth, the server says at each call.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        pg_catalog.current_database() AS database,
        CURRENT_USER AS role,
        pg_catalog.pg_is_in_recovery() AS in_recovery,
        extract(epoch FROM pg_catalog.clock_timestamp())::float8 AS now,
        (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'turnstile') AS version,
        -- OFFSET 0: no row is looked at for its rights that another condition leaves out. Without USAGE none is.
        coalesce((
            SELECT pg_catalog.json_agg(object.relname)
            FROM (SELECT oid, relname FROM pg_catalog.pg_class WHERE relnamespace = schema.id AND relkind IN ('r', 'v', 'p') OFFSET 0) AS object
            WHERE pg_catalog.has_table_privilege(object.oid, 'SELECT')
        ), '[]') AS reads,
        coalesce((
            SELECT pg_catalog.json_agg(DISTINCT object.proname)
            FROM (SELECT oid, proname FROM pg_catalog.pg_proc WHERE pronamespace IN (schema.id, schema.internal) OFFSET 0) AS object
            WHERE pg_catalog.has_function_privilege(object.oid, 'EXECUTE')
        ), '[]') AS calls
    FROM (
        SELECT
            CASE WHEN pg_catalog.has_schema_privilege(namespace.oid, 'USAGE') THEN namespace.oid END AS id,
            CASE WHEN pg_catalog.has_schema_privilege(namespace.internal, 'USAGE') THEN namespace.internal END AS internal
        FROM (
            SELECT pg_catalog.to_regnamespace('turnstile')::oid AS oid, pg_catalog.to_regnamespace('turnstile_internal')::oid AS internal
        ) AS namespace
        OFFSET 0
    ) AS schema
) AS found
