-- $1: how many queues at most, those with the most work first; what the others have is in the sums.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        extract(epoch FROM pg_catalog.clock_timestamp())::float8 AS at,
        (
            SELECT pg_catalog.json_build_object(
                'waiting', coalesce(pg_catalog.sum(queues.waiting), 0)::bigint,
                'claimed_per_minute', coalesce(pg_catalog.sum(queues.claimed_per_minute), 0)::bigint,
                'finished_per_minute', coalesce(pg_catalog.sum(queues.finished_per_minute), 0)::bigint
            )
            FROM turnstile.queues
        ) AS totals,
        (SELECT coalesce(pg_catalog.sum(stat_queue.failed), 0)::bigint FROM turnstile.stat_queue) AS failed,
        coalesce((
            SELECT pg_catalog.json_agg(pg_catalog.json_build_array(busy.name, busy.waiting))
            FROM (
                SELECT queues.name, queues.waiting
                FROM turnstile.queues
                ORDER BY queues.waiting + queues.running DESC, queues.name
                LIMIT $1
            ) AS busy
        ), '[]') AS queues,
        coalesce((
            SELECT pg_catalog.json_agg(summed.jobs ORDER BY summed.bucket)
            FROM (
                SELECT buckets.bucket, pg_catalog.sum(buckets.jobs)::bigint AS jobs
                FROM turnstile.stat_queue
                CROSS JOIN LATERAL pg_catalog.unnest(stat_queue.wait_ms) WITH ORDINALITY AS buckets (jobs, bucket)
                GROUP BY buckets.bucket
            ) AS summed
        ), '[]') AS waits,
        pg_catalog.to_json(turnstile.histogram_bounds()) AS bounds_ms
) AS found
