-- The children of job $1 by state, at most $2 of them counted.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT children.state, pg_catalog.count(*) AS jobs
    FROM (SELECT jobs.state FROM seen AS jobs WHERE jobs.parent = $1 LIMIT $2) AS children
    GROUP BY children.state
    ORDER BY children.state
) AS found
