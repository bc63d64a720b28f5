-- $1: the tenant, $2: the account. What is set for it, and what it inherits.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        pg_catalog.json_build_object(
            'slots', own.slots, 'rate', own.rate, 'rate_per', own.rate_per::text,
            'rate_seconds', extract(epoch FROM own.rate_per)::float8, 'burst', own.burst
        ) AS own,
        pg_catalog.json_build_object(
            'slots', star.slots, 'rate', star.rate, 'rate_seconds', extract(epoch FROM star.rate_per)::float8, 'burst', star.burst
        ) AS inherited
    FROM turnstile.account_in_force AS star
    LEFT JOIN turnstile.account AS own ON own.tenant = $1 AND own.name = $2
    WHERE star.tenant IN ($1, '*') AND star.name = '*'
    ORDER BY star.tenant = '*'
    LIMIT 1
) AS found
