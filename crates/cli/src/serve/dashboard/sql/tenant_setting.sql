-- $1: the tenant, or * for the limits of those without a row.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        own.name IS NOT NULL AS is_own,
        $1::text AS name,
        setting.slots, setting.max_waiting, setting.weight, setting.rate,
        setting.rate_per::text AS rate_per,
        extract(epoch FROM setting.rate_per)::float8 AS rate_seconds,
        setting.burst,
        setting.paused OR coalesce(setting.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT setting.paused AND pg_catalog.isfinite(setting.paused_until) THEN extract(epoch FROM setting.paused_until)::float8
        END AS paused_until,
        pg_catalog.json_build_object(
            'own', pg_catalog.json_build_object(
                'slots', own.slots, 'max_waiting', own.max_waiting, 'weight', own.weight, 'rate', own.rate, 'rate_per', own.rate_per::text,
                'rate_seconds', extract(epoch FROM own.rate_per)::float8, 'burst', own.burst
            ),
            'inherited', (
                SELECT pg_catalog.json_build_object(
                    'slots', star.slots, 'max_waiting', star.max_waiting, 'weight', star.weight, 'rate', star.rate,
                    'rate_seconds', extract(epoch FROM star.rate_per)::float8, 'burst', star.burst
                )
                FROM turnstile.tenant_in_force AS star
                WHERE star.name = '*' AND $1 <> '*'
            )
        ) AS limits
    FROM turnstile.tenant_in_force AS setting
    LEFT JOIN turnstile.tenant AS own ON own.name = $1
    WHERE setting.name IN ($1, '*')
    ORDER BY setting.name = '*'
    LIMIT 1
) AS found
