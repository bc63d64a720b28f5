-- How many jobs of matching.sql there are, at most $3. $16: without ends that were not the last one, as the job was brought back.
SELECT pg_catalog.to_json(pg_catalog.count(*))::text
FROM (
    SELECT
    FROM matching AS jobs
    -- CASE has this asked for each row that all else lets through, and for no other.
    WHERE CASE WHEN $16 AND jobs.finished_at IS NOT NULL THEN NOT EXISTS (
        SELECT
        FROM seen AS later
        WHERE later.id = jobs.id AND (later.finished_at IS NULL OR later.finished_at > jobs.finished_at)
    ) ELSE true END
    LIMIT $3
) AS counted
