-- $1: the queue. The settings are those in force.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        queues.name,
        queues.max_running AS slots,
        queues.max_waiting,
        queues.paused OR coalesce(queues.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT queues.paused AND pg_catalog.isfinite(queues.paused_until) THEN extract(epoch FROM queues.paused_until)::float8
        END AS paused_until,
        queues.rate,
        queues.rate_per::text AS rate_per,
        extract(epoch FROM queues.rate_per)::float8 AS rate_seconds,
        queues.burst,
        queues.running, queues.starting, queues.free, queues.waiting, queues.scheduled, queues.retryable, queues.blocked,
        extract(epoch FROM queues.oldest_waiting)::float8 AS oldest_seconds,
        queues.claimed_per_minute, queues.finished_per_minute,
        queues.policy,
        extract(epoch FROM queues.aging)::float8 AS aging_seconds,
        extract(epoch FROM queues.lease)::float8 AS lease_seconds,
        queues.max_attempts,
        extract(epoch FROM queues.retry_base)::float8 AS retry_base_seconds,
        extract(epoch FROM queues.retry_cap)::float8 AS retry_cap_seconds,
        queues.session_on_retry, queues.notify, queues.durable_claims,
        extract(epoch FROM queues.keep_completed)::float8 AS keep_completed_seconds,
        extract(epoch FROM queues.keep_discarded)::float8 AS keep_discarded_seconds,
        CASE WHEN stat.name IS NOT NULL THEN pg_catalog.json_build_object(
            'since', extract(epoch FROM stat.stats_reset)::float8,
            'enqueued', stat.enqueued, 'started', stat.started, 'completed', stat.completed, 'failed', stat.failed,
            'retried', stat.retried, 'discarded', stat.discarded, 'cancelled', stat.cancelled, 'rescued', stat.rescued,
            'wait_ms', stat.wait_ms, 'run_ms', stat.run_ms, 'total_wait_ms', stat.total_wait_ms, 'bounds_ms', turnstile.histogram_bounds()
        ) END AS statistics
    FROM turnstile.queues
    LEFT JOIN turnstile.stat_queue AS stat ON stat.name = queues.name
    WHERE queues.name = $1
) AS found
