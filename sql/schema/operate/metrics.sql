-- The figures as OpenMetrics names them: a row a sample.

CREATE FUNCTION turnstile.samples_of_histogram(counts bigint[], sum_ms float8)
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
COMMENT ON FUNCTION turnstile.samples_of_histogram(bigint[], float8) IS
    'For the view metrics: the samples of a histogram in seconds, of its buckets and its sum in milliseconds.';

CREATE VIEW turnstile.metrics AS
WITH by_queue AS MATERIALIZED (
    SELECT * FROM turnstile.stat_queue
), by_tenant AS MATERIALIZED (
    SELECT * FROM turnstile.stat_tenant
), queues AS MATERIALIZED (
    SELECT * FROM turnstile.queues
), samples AS (
    SELECT 'turnstile_jobs' AS name, 'turnstile_jobs' AS family, jsonb_build_object('queue', queues.name, 'state', counts.state) AS labels,
        counts.jobs::float8 AS value
    FROM queues
    CROSS JOIN LATERAL (VALUES
        ('available', queues.waiting), ('scheduled', queues.scheduled), ('retryable', queues.retryable), ('running', queues.running)
    ) AS counts (state, jobs)
    UNION ALL
    SELECT 'turnstile_oldest_waiting_seconds', 'turnstile_oldest_waiting_seconds', jsonb_build_object('queue', queues.name),
        extract(epoch FROM coalesce(queues.oldest_waiting, '0'))::float8
    FROM queues
    UNION ALL
    SELECT 'turnstile_queue_paused', 'turnstile_queue_paused', jsonb_build_object('queue', queues.name),
        (queues.paused OR coalesce(queues.paused_until > clock_timestamp(), false))::int::float8
    FROM queues
    UNION ALL
    SELECT 'turnstile_queue_free', 'turnstile_queue_free', jsonb_build_object('queue', queues.name), queues.free::float8
    FROM queues
    WHERE queues.free IS NOT NULL
    UNION ALL
    SELECT 'turnstile_queue_' || counts.event || '_total', 'turnstile_queue_' || counts.event, jsonb_build_object('queue', by_queue.name),
        counts.number::float8
    FROM by_queue
    CROSS JOIN LATERAL (VALUES
        ('enqueued', by_queue.enqueued), ('started', by_queue.started), ('completed', by_queue.completed), ('failed', by_queue.failed),
        ('retried', by_queue.retried), ('discarded', by_queue.discarded), ('cancelled', by_queue.cancelled),
        ('rescued', by_queue.rescued)
    ) AS counts (event, number)
    UNION ALL
    SELECT 'turnstile_queue_wait_seconds' || sample.suffix, 'turnstile_queue_wait_seconds',
        jsonb_strip_nulls(jsonb_build_object('queue', by_queue.name, 'le', sample.le)), sample.value
    FROM by_queue
    CROSS JOIN LATERAL turnstile.samples_of_histogram(by_queue.wait_ms, by_queue.wait_ms_sum) AS sample
    UNION ALL
    SELECT 'turnstile_queue_run_seconds' || sample.suffix, 'turnstile_queue_run_seconds',
        jsonb_strip_nulls(jsonb_build_object('queue', by_queue.name, 'le', sample.le)), sample.value
    FROM by_queue
    CROSS JOIN LATERAL turnstile.samples_of_histogram(by_queue.run_ms, by_queue.run_ms_sum) AS sample
    UNION ALL
    SELECT 'turnstile_tenant_jobs', 'turnstile_tenant_jobs', jsonb_build_object('tenant', by_tenant.name, 'state', counts.state),
        counts.jobs::float8
    FROM by_tenant
    CROSS JOIN LATERAL (VALUES
        ('available', by_tenant.waiting), ('scheduled', by_tenant.scheduled), ('retryable', by_tenant.retryable),
        ('running', by_tenant.running)
    ) AS counts (state, jobs)
    UNION ALL
    SELECT 'turnstile_tenant_' || counts.event || '_total', 'turnstile_tenant_' || counts.event,
        jsonb_build_object('tenant', by_tenant.name), counts.number::float8
    FROM by_tenant
    CROSS JOIN LATERAL (VALUES
        ('enqueued', by_tenant.enqueued), ('started', by_tenant.started), ('completed', by_tenant.completed),
        ('failed', by_tenant.failed)
    ) AS counts (event, number)
    UNION ALL
    SELECT 'turnstile_memory_bytes', 'turnstile_memory_bytes', jsonb_build_object('database', memory.database), memory.bytes::float8
    FROM turnstile.memory
    UNION ALL
    SELECT 'turnstile_memory_limit_bytes', 'turnstile_memory_limit_bytes', '{}', max(memory.bytes_limit)::float8
    FROM turnstile.memory
    UNION ALL
    SELECT 'turnstile_memory_lanes_outside', 'turnstile_memory_lanes_outside', jsonb_build_object('database', memory.database),
        memory.lanes_outside::float8
    FROM turnstile.memory
    UNION ALL
    SELECT 'turnstile_history_ahead_seconds', 'turnstile_history_ahead_seconds', '{}',
        extract(epoch FROM max(history_partition.ends) - clock_timestamp())::float8
    FROM turnstile.history_partition
    UNION ALL
    SELECT 'turnstile_stats_reset_timestamp_seconds', 'turnstile_stats_reset_timestamp_seconds', '{}',
        extract(epoch FROM min(by_queue.stats_reset))::float8
    FROM by_queue
), families (family, type, help) AS (
    VALUES
    ('turnstile_jobs', 'gauge', 'Live jobs of a queue, by state.'),
    ('turnstile_oldest_waiting_seconds', 'gauge', 'How long the first of the waiting jobs of a queue has been due.'),
    ('turnstile_queue_paused', 'gauge', '1 while the queue is paused, 0 otherwise.'),
    ('turnstile_queue_free', 'gauge', 'How many more jobs of the queue may run at once. Missing where there is no limit.'),
    ('turnstile_queue_enqueued', 'counter', 'Jobs added to the queue.'),
    ('turnstile_queue_started', 'counter', 'Runs of the queue that started.'),
    ('turnstile_queue_completed', 'counter', 'Jobs of the queue that were completed.'),
    ('turnstile_queue_failed', 'counter', 'Runs of the queue that failed.'),
    ('turnstile_queue_retried', 'counter', 'Runs of the queue after which the job waits for another attempt.'),
    ('turnstile_queue_discarded', 'counter', 'Jobs of the queue that were discarded.'),
    ('turnstile_queue_cancelled', 'counter', 'Jobs of the queue that were cancelled.'),
    ('turnstile_queue_rescued', 'counter', 'Runs of the queue that were ended because their lease or connection had.'),
    ('turnstile_queue_wait_seconds', 'histogram', 'How long jobs of the queue were due before they started.'),
    ('turnstile_queue_run_seconds', 'histogram', 'How long runs of the queue lasted.'),
    ('turnstile_tenant_jobs', 'gauge', 'Live jobs of a tenant, by state.'),
    ('turnstile_tenant_enqueued', 'counter', 'Jobs added for the tenant.'),
    ('turnstile_tenant_started', 'counter', 'Runs of the tenant that started.'),
    ('turnstile_tenant_completed', 'counter', 'Jobs of the tenant that were completed.'),
    ('turnstile_tenant_failed', 'counter', 'Runs of the tenant that failed.'),
    ('turnstile_memory_bytes', 'gauge', 'Shared memory of the scheduler of a database.'),
    ('turnstile_memory_limit_bytes', 'gauge', 'turnstile.max_memory.'),
    ('turnstile_memory_lanes_outside', 'gauge', 'Lanes that found no room in memory.'),
    ('turnstile_history_ahead_seconds', 'gauge', 'For how long there are partitions of the history. It falls if maintain() does not run.'),
    ('turnstile_stats_reset_timestamp_seconds', 'gauge', 'When the counting of events began.')
)
SELECT samples.name, families.type, families.help, samples.labels, samples.value
FROM samples
JOIN families ON families.family = samples.family;
COMMENT ON VIEW turnstile.metrics IS
    'All figures by the names and units of OpenMetrics, a row a sample: those of a family follow from its name, as name_bucket of a histogram. It reads memory, not jobs.';
COMMENT ON COLUMN turnstile.metrics.name IS 'The name of the sample.';
COMMENT ON COLUMN turnstile.metrics.type IS 'Of its family: gauge, counter or histogram.';
COMMENT ON COLUMN turnstile.metrics.help IS 'What its family means.';
COMMENT ON COLUMN turnstile.metrics.labels IS 'Its labels.';
COMMENT ON COLUMN turnstile.metrics.value IS 'Its value now.';
