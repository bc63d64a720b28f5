-- What goes on in all queues. Figures alone: they are in memory.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        (
            SELECT pg_catalog.to_json(totals)
            FROM (
                SELECT
                    pg_catalog.count(*) AS queues,
                    coalesce(pg_catalog.sum(queues.running), 0)::bigint AS running,
                    coalesce(pg_catalog.sum(queues.waiting), 0)::bigint AS waiting,
                    coalesce(pg_catalog.sum(queues.scheduled), 0)::bigint AS scheduled,
                    coalesce(pg_catalog.sum(queues.retryable), 0)::bigint AS retryable,
                    coalesce(pg_catalog.sum(queues.blocked), 0)::bigint AS blocked,
                    coalesce(pg_catalog.sum(queues.claimed_per_minute), 0)::bigint AS claimed_per_minute,
                    coalesce(pg_catalog.sum(queues.finished_per_minute), 0)::bigint AS finished_per_minute,
                    extract(epoch FROM pg_catalog.max(queues.oldest_waiting))::float8 AS oldest_seconds
                FROM turnstile.queues
            ) AS totals
        ) AS totals,
        (
            SELECT pg_catalog.to_json(ended)
            FROM (
                SELECT
                    coalesce(pg_catalog.sum(stat.started), 0)::bigint AS started,
                    coalesce(pg_catalog.sum(stat.failed), 0)::bigint AS failed,
                    extract(epoch FROM pg_catalog.min(stat.stats_reset))::float8 AS since
                FROM turnstile.stat_queue AS stat
            ) AS ended
        ) AS ended,
        (
            SELECT pg_catalog.to_json(used)
            FROM (
                SELECT
                    pg_catalog.sum(memory.bytes)::bigint AS bytes,
                    pg_catalog.max(memory.bytes_limit) AS bytes_limit,
                    pg_catalog.sum(memory.lanes_outside) FILTER (WHERE memory.database = pg_catalog.current_database())::bigint AS lanes_outside
                FROM turnstile.memory
            ) AS used
        ) AS memory,
        (
            SELECT pg_catalog.to_json(seen)
            FROM (
                SELECT
                    pg_catalog.count(*) FILTER (
                        WHERE workers.last_seen > pg_catalog.statement_timestamp() - '1 minute'::pg_catalog.interval
                    ) AS lately,
                    extract(epoch FROM pg_catalog.max(workers.last_seen))::float8 AS last_seen
                FROM turnstile.workers
            ) AS seen
        ) AS workers,
        extract(epoch FROM (SELECT pg_catalog.max(part.ends) FROM turnstile.history_partition AS part))::float8 AS history_until
) AS found
