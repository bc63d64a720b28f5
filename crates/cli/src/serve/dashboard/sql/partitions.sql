SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        part.partition::pg_catalog.text AS name,
        extract(epoch FROM part.begins)::float8 AS begins,
        extract(epoch FROM part.ends)::float8 AS ends,
        part.estimated_rows, part.bytes
    FROM turnstile.history_partition AS part
    ORDER BY part.begins DESC NULLS LAST
    LIMIT 400
) AS found
