-- $1: the concurrency key. Its limits as they are set, and not as a trial or a paused endpoint has them.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        own.key IS NOT NULL AS is_own,
        setting.slots, setting.rate,
        setting.rate_per::text AS rate_per,
        extract(epoch FROM setting.rate_per)::float8 AS rate_seconds,
        setting.burst,
        pg_catalog.json_build_object(
            'own', pg_catalog.json_build_object(
                'slots', own.slots, 'rate', own.rate, 'rate_per', own.rate_per::text,
                'rate_seconds', extract(epoch FROM own.rate_per)::float8, 'burst', own.burst
            ),
            'inherited', (
                SELECT pg_catalog.json_build_object(
                    'slots', star.slots, 'rate', star.rate, 'rate_seconds', extract(epoch FROM star.rate_per)::float8, 'burst', star.burst
                )
                FROM turnstile.concurrency_in_force AS star
                WHERE star.key = '*' AND $1 <> '*'
            )
        ) AS limits
    FROM turnstile.concurrency_in_force AS setting
    LEFT JOIN turnstile.concurrency AS own ON own.key = $1
    WHERE setting.key IN ($1, '*')
    ORDER BY setting.key = '*'
    LIMIT 1
) AS found
