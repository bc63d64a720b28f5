-- Those of them with $1 <= id < $2, of queue $4, kind $5, tenant $6, account $7, session $8, in one of the states $9 (none: any), $10: live or
-- finished, older than $11 seconds and younger than $12, children of $13, with one of the ids $14, with a payload that contains $15. NULL:
-- any. The range of ids goes to an index, and so does a state that few jobs have; $10 leaves out one half of the tables.
, matching AS NOT MATERIALIZED (
    SELECT jobs.*
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
        AND ($15 IS NULL OR jobs.payload @> $15::pg_catalog.jsonb)
)
