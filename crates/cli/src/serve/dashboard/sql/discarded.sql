-- Jobs that ended from $1 to $2 (milliseconds since 1970), $3 of them at most, and those of them that were discarded and have stayed so. $4: how
-- many discarded ones to look at. Where $3 or $4 are reached there are more; a shorter time has all of its jobs.
, ended AS MATERIALIZED (
    SELECT
        jobs.id, jobs.kind, jobs.queue, jobs.tenant, jobs.state, jobs.finished_at,
        CASE WHEN jobs.state = 'discarded' AND pg_catalog.jsonb_typeof(jobs.errors) = 'array' THEN jobs.errors END AS errors
    FROM seen AS jobs
    WHERE jobs.finished_at >= pg_catalog.to_timestamp($1 / 1000.0) AND jobs.finished_at < pg_catalog.to_timestamp($2 / 1000.0)
    LIMIT $3
), failed AS (
    SELECT ended.id, ended.kind, ended.queue, ended.tenant, ended.finished_at AS failed_at, ended.errors -> -1 ->> 'error' AS error
    FROM (SELECT ended.* FROM ended WHERE ended.state = 'discarded' LIMIT $4) AS ended
    WHERE ended.finished_at = (
        SELECT coalesce(last.finished_at, 'infinity')
        FROM seen AS last
        WHERE last.id = ended.id
        ORDER BY last.finished_at DESC NULLS FIRST
        LIMIT 1
    )
)
