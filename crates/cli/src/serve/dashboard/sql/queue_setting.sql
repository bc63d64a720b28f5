-- $1: the queue, or * for the settings of those without a row.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        own.name IS NOT NULL AS is_own,
        $1::text AS name,
        setting.max_running AS slots, setting.max_waiting, setting.rate,
        setting.rate_per::text AS rate_per,
        extract(epoch FROM setting.rate_per)::float8 AS rate_seconds,
        setting.burst,
        setting.paused OR coalesce(setting.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT setting.paused AND pg_catalog.isfinite(setting.paused_until) THEN extract(epoch FROM setting.paused_until)::float8
        END AS paused_until,
        setting.policy,
        extract(epoch FROM setting.aging)::float8 AS aging_seconds,
        extract(epoch FROM setting.lease)::float8 AS lease_seconds,
        setting.max_attempts,
        extract(epoch FROM setting.retry_base)::float8 AS retry_base_seconds,
        extract(epoch FROM setting.retry_cap)::float8 AS retry_cap_seconds,
        setting.session_on_retry, setting.notify, setting.durable_claims,
        extract(epoch FROM setting.keep_completed)::float8 AS keep_completed_seconds,
        extract(epoch FROM setting.keep_discarded)::float8 AS keep_discarded_seconds,
        pg_catalog.json_build_object(
            'own', pg_catalog.json_build_object(
                'slots', own.max_running, 'max_waiting', own.max_waiting, 'rate', own.rate, 'rate_per', own.rate_per::text,
                'rate_seconds', extract(epoch FROM own.rate_per)::float8, 'burst', own.burst
            ),
            'inherited', (
                SELECT pg_catalog.json_build_object(
                    'slots', star.max_running, 'max_waiting', star.max_waiting, 'rate', star.rate,
                    'rate_seconds', extract(epoch FROM star.rate_per)::float8, 'burst', star.burst
                )
                FROM turnstile.queue_in_force AS star
                WHERE star.name = '*' AND $1 <> '*'
            )
        ) AS limits
    FROM turnstile.queue_in_force AS setting
    LEFT JOIN turnstile.queue AS own ON own.name = $1
    WHERE setting.name IN ($1, '*')
    ORDER BY setting.name = '*'
    LIMIT 1
) AS found
