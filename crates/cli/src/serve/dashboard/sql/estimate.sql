-- When job $1 starts.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        estimate.ahead, estimate.is_capped, estimate.starts_per_minute::float8 AS starts_per_minute, estimate.bottleneck,
        CASE WHEN pg_catalog.isfinite(estimate.starts_at) THEN extract(epoch FROM estimate.starts_at)::float8 END AS starts_at
    FROM turnstile.wait_estimate($1) AS estimate
) AS found
