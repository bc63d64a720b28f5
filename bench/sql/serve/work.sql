-- A worker claims some jobs of a queue, ends most of them, and goes on with one.
WITH claimed AS MATERIALIZED (
    SELECT claimed.id, claimed.attempt, row_number() OVER (ORDER BY claimed.id) AS number
    FROM turnstile.claim(
        ARRAY[(ARRAY['mail', 'webhook', 'export', 'import', 'image', 'video', 'search', 'billing', 'sync', 'cleanup', 'default'])
            [1 + %(worker)s::int %% 11]],
        20, worker => 'worker-' || %(worker)s::int, lease => '30 days'
    ) AS claimed
)
SELECT
    count(CASE WHEN claimed.id %% 9 = 0 THEN turnstile.fail(claimed.id, claimed.attempt, named.error) END),
    count(CASE WHEN claimed.id %% 9 <> 0 THEN turnstile.complete(claimed.id, claimed.attempt)::text END)
FROM claimed
CROSS JOIN LATERAL turnstile_bench.named(claimed.id, claimed.id) AS named
WHERE claimed.number > 1
