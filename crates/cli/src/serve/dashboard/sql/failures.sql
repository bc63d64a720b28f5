-- Jobs that ended from $1 to $2 (milliseconds since 1970), $3 of them at most: how many there are, how many of them were discarded, and those
-- that have stayed so, by kind and first line of the error, without long numbers and UUIDs, where it may be seen. $4: how many discarded ones to look at. Where $3 or $4 are
-- reached there are more; a shorter time has all of its jobs.
SELECT pg_catalog.to_json(found)::text
FROM (
    WITH ended AS MATERIALIZED (
        SELECT
            jobs.id, jobs.kind, jobs.queue, jobs.tenant, jobs.state, jobs.finished_at,
            CASE WHEN jobs.state = 'discarded' AND pg_catalog.jsonb_typeof(jobs.errors) = 'array' THEN jobs.errors END AS errors
        FROM seen AS jobs
        WHERE jobs.finished_at >= pg_catalog.to_timestamp($1 / 1000.0) AND jobs.finished_at < pg_catalog.to_timestamp($2 / 1000.0)
        LIMIT $3
    )
    SELECT
        (SELECT pg_catalog.count(*) FROM ended) AS ended,
        (SELECT pg_catalog.count(*) FROM ended WHERE ended.state = 'discarded') AS discarded,
        coalesce((SELECT pg_catalog.json_agg(grouped) FROM (
            SELECT
                failed.kind, failed.line, pg_catalog.count(*) AS jobs,
                extract(epoch FROM pg_catalog.min(failed.finished_at))::float8 AS first_at,
                extract(epoch FROM pg_catalog.max(failed.finished_at))::float8 AS last_at,
                (pg_catalog.array_agg(failed.id ORDER BY failed.finished_at DESC))[1] AS example,
                (pg_catalog.array_agg(DISTINCT failed.queue))[1:6] AS queues,
                coalesce((pg_catalog.array_agg(DISTINCT failed.tenant) FILTER (WHERE failed.tenant IS NOT NULL))[1:6], '{}') AS tenants
            FROM (
                SELECT
                    ended.id, ended.kind, ended.queue, ended.tenant, ended.finished_at,
                    pg_catalog.left(pg_catalog.regexp_replace(
                        pg_catalog.split_part(pg_catalog.ltrim(ended.errors -> -1 ->> 'error', E' \n\r\t'), E'\n', 1),
                        '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{22}|[0-9]{5,}', '#', 'g'
                    ), 200) AS line
                FROM (SELECT ended.* FROM ended WHERE ended.state = 'discarded' LIMIT $4) AS ended
                WHERE ended.finished_at = (
                    SELECT coalesce(last.finished_at, 'infinity')
                    FROM seen AS last
                    WHERE last.id = ended.id
                    ORDER BY last.finished_at DESC NULLS FIRST
                    LIMIT 1
                )
            ) AS failed
            GROUP BY failed.kind, failed.line
        ) AS grouped), '[]') AS groups
) AS found
