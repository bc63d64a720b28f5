-- The figures as OpenMetrics names them: a row a sample.

CREATE FUNCTION turnstile_internal.samples_of_histogram(counts bigint[], sum_ms float8)
    RETURNS TABLE (suffix text, le text, value float8)
    LANGUAGE sql STABLE ROWS 32
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT '_bucket', coalesce((bounds.ms / 1000.0)::float8::text, '+Inf'),
        sum(buckets.count) OVER (ORDER BY buckets.number)::float8
    FROM unnest(samples_of_histogram.counts) WITH ORDINALITY AS buckets (count, number)
    LEFT JOIN unnest(turnstile.histogram_bounds()) WITH ORDINALITY AS bounds (ms, number) ON bounds.number = buckets.number
    UNION ALL
    SELECT '_count', NULL, sum(count)::float8 FROM unnest(samples_of_histogram.counts) AS count
    UNION ALL
    SELECT '_sum', NULL, samples_of_histogram.sum_ms / 1000
$function$;
COMMENT ON FUNCTION turnstile_internal.samples_of_histogram(bigint[], float8) IS
    'For the view metrics: the samples of a histogram in seconds, of its buckets and its sum in milliseconds.';

CREATE VIEW turnstile.metrics AS
WITH by_queue AS MATERIALIZED (
    SELECT * FROM turnstile.stat_queue
), by_tenant AS MATERIALIZED (
    SELECT * FROM turnstile.stat_tenant
), queues AS MATERIALIZED (
    SELECT * FROM turnstile.queues
), samples AS (
    SELECT 'turnstile_queue_' || gauges.name AS name, 'turnstile_queue_' || gauges.name AS family,
        jsonb_build_object('queue', queues.name) AS labels, gauges.value
    FROM queues
    CROSS JOIN LATERAL (VALUES
        ('waiting', queues.waiting::float8), ('scheduled', queues.scheduled::float8), ('retryable', queues.retryable::float8),
        ('running', queues.running::float8), ('max_running', queues.max_running::float8), ('free', CASE WHEN queues.max_running IS NOT NULL THEN queues.free END::float8),
        ('oldest_waiting_seconds', extract(epoch FROM coalesce(queues.oldest_waiting, '0'))::float8),
        ('paused', (queues.paused OR coalesce(queues.paused_until > clock_timestamp(), false))::int::float8)
    ) AS gauges (name, value)
    UNION ALL
    -- Counters begin with zero, so that the first event counts.
    SELECT 'turnstile_queue_' || counts.event || '_total', 'turnstile_queue_' || counts.event || '_total',
        jsonb_build_object('queue', queues.name), coalesce(counts.number, 0)::float8
    FROM queues
    LEFT JOIN by_queue ON by_queue.name = queues.name
    CROSS JOIN LATERAL (VALUES
        ('enqueued', by_queue.enqueued), ('started', by_queue.started), ('completed', by_queue.completed), ('failed', by_queue.failed),
        ('retried', by_queue.retried), ('discarded', by_queue.discarded), ('cancelled', by_queue.cancelled),
        ('rescued', by_queue.rescued)
    ) AS counts (event, number)
    UNION ALL
    SELECT histograms.family || sample.suffix, histograms.family,
        jsonb_strip_nulls(jsonb_build_object('queue', by_queue.name, 'le', sample.le)), sample.value
    FROM by_queue
    CROSS JOIN LATERAL (VALUES
        ('turnstile_queue_wait_seconds', by_queue.wait_ms, by_queue.wait_ms_sum),
        ('turnstile_queue_run_seconds', by_queue.run_ms, by_queue.run_ms_sum),
        ('turnstile_queue_total_wait_seconds', by_queue.total_wait_ms, by_queue.total_wait_ms_sum)
    ) AS histograms (family, counts, sum_ms)
    CROSS JOIN LATERAL turnstile_internal.samples_of_histogram(histograms.counts, histograms.sum_ms) AS sample
    UNION ALL
    SELECT 'turnstile_tenant_' || figures.name, 'turnstile_tenant_' || figures.name,
        jsonb_build_object('tenant', by_tenant.name), figures.value
    FROM by_tenant
    CROSS JOIN LATERAL (VALUES
        ('waiting', by_tenant.waiting::float8), ('running', by_tenant.running::float8),
        ('oldest_waiting_seconds', extract(epoch FROM coalesce(by_tenant.oldest_waiting, '0'))::float8),
        ('enqueued_total', by_tenant.enqueued::float8), ('started_total', by_tenant.started::float8),
        ('completed_total', by_tenant.completed::float8), ('failed_total', by_tenant.failed::float8)
    ) AS figures (name, value)
    UNION ALL
    SELECT 'turnstile_memory_' || gauges.name, 'turnstile_memory_' || gauges.name, jsonb_build_object('database', memory.database),
        gauges.value::float8
    FROM turnstile.memory
    CROSS JOIN LATERAL (VALUES
        ('bytes', memory.bytes), ('lanes', memory.lanes), ('lanes_outside', memory.lanes_outside)
    ) AS gauges (name, value)
    UNION ALL
    SELECT 'turnstile_memory_limit_bytes', 'turnstile_memory_limit_bytes', '{}', max(memory.bytes_limit)::float8
    FROM turnstile.memory
    UNION ALL
    SELECT 'turnstile_history_ahead_seconds', 'turnstile_history_ahead_seconds', '{}',
        extract(epoch FROM max(history_partition.ends) - clock_timestamp())::float8
    FROM turnstile.history_partition
    UNION ALL
    SELECT 'turnstile_stats_reset_timestamp_seconds', 'turnstile_stats_reset_timestamp_seconds', '{}',
        extract(epoch FROM min(by_queue.stats_reset))::float8
    FROM by_queue
), families (name, type, help) AS (
    VALUES
    ('turnstile_queue_waiting', 'gauge', 'Jobs of the queue that are available.'),
    ('turnstile_queue_scheduled', 'gauge', 'Jobs of the queue that wait for their time.'),
    ('turnstile_queue_retryable', 'gauge', 'Jobs of the queue that wait for another attempt.'),
    ('turnstile_queue_running', 'gauge', 'Jobs of the queue that run.'),
    ('turnstile_queue_max_running', 'gauge', 'How many jobs of the queue may run at once, missing where there is no limit.'),
    ('turnstile_queue_free', 'gauge', 'How many more jobs of the queue may start now, missing where there is no limit.'),
    ('turnstile_queue_oldest_waiting_seconds', 'gauge', 'How long the first of the waiting jobs of the queue has been due.'),
    ('turnstile_queue_paused', 'gauge', 'Whether the queue is paused, 1 or 0.'),
    ('turnstile_queue_enqueued_total', 'counter', 'Jobs added to the queue.'),
    ('turnstile_queue_started_total', 'counter', 'Runs of the queue that started.'),
    ('turnstile_queue_completed_total', 'counter', 'Jobs of the queue that were completed.'),
    ('turnstile_queue_failed_total', 'counter', 'Runs of the queue that failed.'),
    ('turnstile_queue_retried_total', 'counter', 'Runs of the queue after which the job waits for another attempt.'),
    ('turnstile_queue_discarded_total', 'counter', 'Jobs of the queue that were discarded.'),
    ('turnstile_queue_cancelled_total', 'counter', 'Jobs of the queue that were cancelled.'),
    ('turnstile_queue_rescued_total', 'counter', 'Runs of the queue that were ended because their lease or their connection had.'),
    ('turnstile_queue_wait_seconds', 'histogram', 'How long jobs of the queue were due before they started.'),
    ('turnstile_queue_run_seconds', 'histogram', 'How long runs of the queue lasted.'),
    ('turnstile_queue_total_wait_seconds', 'histogram', 'How long jobs of the queue that ended had waited over all their attempts.'),
    ('turnstile_tenant_waiting', 'gauge', 'Jobs of the tenant that are available.'),
    ('turnstile_tenant_running', 'gauge', 'Jobs of the tenant that run.'),
    ('turnstile_tenant_oldest_waiting_seconds', 'gauge', 'How long the first of the waiting jobs of the tenant has been due.'),
    ('turnstile_tenant_enqueued_total', 'counter', 'Jobs added for the tenant.'),
    ('turnstile_tenant_started_total', 'counter', 'Runs of the tenant that started.'),
    ('turnstile_tenant_completed_total', 'counter', 'Jobs of the tenant that were completed.'),
    ('turnstile_tenant_failed_total', 'counter', 'Runs of the tenant that failed.'),
    ('turnstile_memory_bytes', 'gauge', 'Shared memory that the scheduler of the database has.'),
    ('turnstile_memory_lanes', 'gauge', 'Lanes of the database with waiting jobs.'),
    ('turnstile_memory_lanes_outside', 'gauge', 'Lanes of the database that found no room in memory.'),
    ('turnstile_memory_limit_bytes', 'gauge', 'Shared memory that the schedulers of all databases may have.'),
    ('turnstile_history_ahead_seconds', 'gauge', 'For how long there are partitions of the history, less than seven days where maintain() does not run.'),
    ('turnstile_stats_reset_timestamp_seconds', 'gauge', 'When the counting of events began.')
)
SELECT samples.name, families.type, families.help, samples.labels, samples.value
FROM samples
JOIN families ON families.name = samples.family
WHERE samples.value IS NOT NULL;
COMMENT ON VIEW turnstile.metrics IS
    'Figures by the names and units of OpenMetrics, a row a sample. It reads memory, not jobs.';
COMMENT ON COLUMN turnstile.metrics.name IS 'The name of the sample. A histogram has samples with _bucket, _sum and _count behind its name.';
COMMENT ON COLUMN turnstile.metrics.type IS 'gauge, counter or histogram.';
COMMENT ON COLUMN turnstile.metrics.help IS 'What it means.';
COMMENT ON COLUMN turnstile.metrics.labels IS 'Its labels.';
COMMENT ON COLUMN turnstile.metrics.value IS 'Its value now.';
