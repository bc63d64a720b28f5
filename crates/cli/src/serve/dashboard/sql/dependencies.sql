-- What job $1 comes after, and what comes after it: at most $2 of each, with what they are now.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT tie.is_before, tie.id, tie.any_end, tie.holds, other.kind, other.queue, other.state
    FROM (
        (
            SELECT true AS is_before, dependencies.predecessor AS id, dependencies.any_end, dependencies.holds
            FROM turnstile.dependencies
            WHERE dependencies.job = $1
            ORDER BY dependencies.predecessor
            LIMIT $2
        )
        UNION ALL
        (
            SELECT false, dependencies.job, dependencies.any_end, dependencies.holds
            FROM turnstile.dependencies
            WHERE dependencies.predecessor = $1
            ORDER BY dependencies.job
            LIMIT $2
        )
    ) AS tie
    LEFT JOIN LATERAL (
        SELECT jobs.kind, jobs.queue, jobs.state
        FROM turnstile.job_status AS jobs
        WHERE jobs.id = tie.id
        ORDER BY jobs.finished_at DESC NULLS FIRST
        LIMIT 1
    ) AS other ON true
    ORDER BY tie.is_before DESC, tie.id
) AS found
