-- $1: a queue or NULL, $2: how many jobs at most, $3: milliseconds, $4: how many run without a lease. Ids of jobs that run and have a lease, until as
-- many are found as figures know or time is up; and how many of those are missing then. Runs that have ended are in the index, too, as long as an old snapshot could see them: so it is read in parts,
-- from the latest lease back, each somewhat nearer to now than the one before, and then ever longer ones of leases that are over.
SELECT pg_catalog.to_json(found)::text
FROM (
    WITH busy AS MATERIALIZED (
        SELECT queues.name, queues.running FROM turnstile.queues WHERE queues.running > 0 AND ($1 IS NULL OR queues.name = $1)
    ), known AS MATERIALIZED (
        SELECT
            greatest(coalesce(pg_catalog.sum(busy.running), 0)::bigint - $4, 0) AS running,
            -- To begin with a part costs something, too.
            least(300, greatest(10, 3000 / greatest(pg_catalog.count(*), 1)))::int AS parts,
            pg_catalog.statement_timestamp() AS now,
            pg_catalog.statement_timestamp() + pg_catalog.make_interval(secs => $3 / 1000.0) AS over
        FROM busy
    ), part AS MATERIALIZED (
        SELECT
            step.number,
            -- From 100 years to a twentieth of a second ahead.
            known.now + pg_catalog.make_interval(secs => 0.05 * pg_catalog.power(10::float8, 10.8 * (known.parts - step.number) / known.parts)) AS low,
            CASE WHEN step.number = 0 THEN 'infinity' ELSE
                known.now + pg_catalog.make_interval(secs => 0.05 * pg_catalog.power(10::float8, 10.8 * (known.parts - step.number + 1) / known.parts))
            END AS high
        FROM known
        CROSS JOIN LATERAL pg_catalog.generate_series(0, known.parts) AS step (number)
        UNION ALL
        SELECT
            known.parts + 1 + step.number,
            CASE WHEN step.number = 15 THEN '-infinity' ELSE
                known.now - pg_catalog.make_interval(secs => 0.05 * pg_catalog.power(4::float8, step.number))
            END,
            known.now + pg_catalog.make_interval(secs => CASE WHEN step.number = 0 THEN 0.05 ELSE -0.05 * pg_catalog.power(4::float8, step.number - 1) END)
        FROM known
        CROSS JOIN pg_catalog.generate_series(0, 15) AS step (number)
    ), seen AS MATERIALIZED (
        SELECT pg_catalog.count(*) AS jobs, coalesce(pg_catalog.json_agg(jobs.id), '[]') AS ids
        FROM (
            SELECT jobs.id
            FROM (
                SELECT place.name, place.low, place.high
                FROM (
                    SELECT busy.name, part.low, part.high, known.over
                    FROM busy
                    CROSS JOIN part
                    CROSS JOIN known
                    ORDER BY part.number, busy.name
                ) AS place
                WHERE pg_catalog.clock_timestamp() < place.over
                -- This is looked at before each part is read.
                OFFSET 0
            ) AS place
            CROSS JOIN LATERAL (
                SELECT jobs.id
                FROM turnstile.job_status AS jobs
                WHERE jobs.state = 'running' AND jobs.finished_at IS NULL AND jobs.queue COLLATE "C" = place.name
                    AND jobs.lease_expires_at >= place.low AND jobs.lease_expires_at < place.high
            ) AS jobs
            LIMIT (SELECT least(known.running, $2) FROM known)
        ) AS jobs
    )
    -- Where time is left, all was read: figures and the snapshot are of different moments.
    SELECT seen.ids, CASE WHEN pg_catalog.clock_timestamp() < known.over THEN 0 ELSE greatest(known.running - seen.jobs, 0) END AS missing
    FROM seen
    CROSS JOIN known
) AS found
