-- What has failed, by kind and first line of the error, without long numbers and UUIDs (NULL: the role may not see it).
, grouped AS (
    SELECT
        failed.kind, failed.line, pg_catalog.count(*) AS jobs,
        extract(epoch FROM pg_catalog.min(failed.failed_at))::float8 AS first_at,
        extract(epoch FROM pg_catalog.max(failed.failed_at))::float8 AS last_at,
        (pg_catalog.array_agg(failed.id ORDER BY failed.failed_at DESC))[1] AS example,
        (pg_catalog.array_agg(DISTINCT failed.queue))[1:6] AS queues,
        coalesce((pg_catalog.array_agg(DISTINCT failed.tenant) FILTER (WHERE failed.tenant IS NOT NULL))[1:6], '{}') AS tenants
    FROM (
        SELECT
            failed.id, failed.kind, failed.queue, failed.tenant, failed.failed_at,
            pg_catalog.left(pg_catalog.regexp_replace(
                pg_catalog.split_part(pg_catalog.ltrim(failed.error, E' \n\r\t'), E'\n', 1),
                '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{22}|[0-9]{5,}', '#', 'g'
            ), 200) AS line
        FROM failed
    ) AS failed
    GROUP BY failed.kind, failed.line
)
