-- How many jobs $1 <= id < $2 there are, at most $3, with the filters of jobs.sql. $15: without ends that were not the last one, as
-- the job was brought back. $16: what the payload contains.
SELECT pg_catalog.to_json(pg_catalog.count(*))::text
FROM (
    SELECT
    FROM seen AS jobs
    WHERE jobs.id >= $1 AND jobs.id < $2
        AND ($4 IS NULL OR jobs.queue = $4)
        AND ($5 IS NULL OR jobs.kind = $5)
        AND ($6 IS NULL OR jobs.tenant = $6)
        AND ($7 IS NULL OR jobs.account = $7)
        AND ($8 IS NULL OR jobs.session = $8)
        AND (pg_catalog.cardinality($9) = 0 OR jobs.state = ANY ($9))
        AND (pg_catalog.cardinality($9) = 0 OR NOT $9 OPERATOR(pg_catalog.<@) '{scheduled,retryable}' OR jobs.waits_for = 'time')
        AND (pg_catalog.cardinality($9) = 0 OR NOT $9 OPERATOR(pg_catalog.<@) '{blocked}' OR jobs.waits_for = 'jobs')
        AND ($10 IS NULL OR (jobs.finished_at IS NULL) = $10)
        AND ($11 IS NULL OR coalesce(jobs.finished_at, jobs.created_at) < pg_catalog.statement_timestamp() - pg_catalog.make_interval(secs => $11))
        AND ($12 IS NULL OR coalesce(jobs.finished_at, jobs.created_at) > pg_catalog.statement_timestamp() - pg_catalog.make_interval(secs => $12))
        AND ($13 IS NULL OR jobs.parent = $13)
        AND ($14 IS NULL OR jobs.id = ANY ($14::pg_catalog.int8[]))
        AND ($16 IS NULL OR jobs.payload @> $16::pg_catalog.jsonb)
        -- CASE has this asked for each row that all else lets through, and for no other.
        AND CASE WHEN $15 AND jobs.finished_at IS NOT NULL THEN NOT EXISTS (
            SELECT
            FROM seen AS later
            WHERE later.id = jobs.id AND (later.finished_at IS NULL OR later.finished_at > jobs.finished_at)
        ) ELSE true END
    LIMIT $3
) AS counted
