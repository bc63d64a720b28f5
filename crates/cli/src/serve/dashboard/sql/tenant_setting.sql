-- $1: the tenant, or * for the limits of those without a row.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        tenant.name = $1 AS is_own,
        tenant.name,
        tenant.slots, tenant.max_waiting, tenant.weight, tenant.rate,
        tenant.rate_per::text AS rate_per,
        extract(epoch FROM tenant.rate_per)::float8 AS rate_seconds,
        tenant.burst,
        tenant.paused OR coalesce(tenant.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT tenant.paused AND pg_catalog.isfinite(tenant.paused_until) THEN extract(epoch FROM tenant.paused_until)::float8
        END AS paused_until
    FROM turnstile.tenant
    WHERE tenant.name IN ($1, '*')
    ORDER BY tenant.name = '*'
    LIMIT 1
) AS found
