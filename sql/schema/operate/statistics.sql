-- Statistics since they were last reset.

CREATE FUNCTION turnstile.stat_reset() RETURNS void
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_stat_reset';
COMMENT ON FUNCTION turnstile.stat_reset() IS
    'Sets the statistics of all queues and tenants to zero, at once: a rollback does not bring them back. Numbers of jobs stay.
Errors: 42501; 25006.';

CREATE VIEW turnstile.stat_queue AS
SELECT
    live.name, live.enqueued, live.started, live.completed, live.failed, live.retried, live.discarded, live.cancelled, live.rescued,
    live.waiting, live.scheduled, live.retryable, live.running,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    live.wait_ms, live.wait_ms_sum, live.wait_ms_p50, live.wait_ms_p95, live.wait_ms_p99,
    live.run_ms, live.run_ms_sum, live.run_ms_p50, live.run_ms_p95, live.run_ms_p99,
    live.stats_reset,
    live.blocked,
    live.total_wait_ms, live.total_wait_ms_sum, live.total_wait_ms_p50, live.total_wait_ms_p95, live.total_wait_ms_p99
FROM turnstile_internal.figures('queue') AS live
WHERE live.enqueued IS NOT NULL;
COMMENT ON VIEW turnstile.stat_queue IS
    'What has become of the jobs of each queue since stats_reset, counted when transactions commit, and how long they have waited and run. It is in memory, and kept over a clean restart of the server: a crash or a failover sets it to zero. Up to 1,000 queues have statistics; where there are more, those that are less active and have no row lose theirs.';
COMMENT ON COLUMN turnstile.stat_queue.enqueued IS 'Jobs added, also by a retry of one that had ended.';
COMMENT ON COLUMN turnstile.stat_queue.started IS 'Runs that started.';
COMMENT ON COLUMN turnstile.stat_queue.completed IS 'Jobs that were completed.';
COMMENT ON COLUMN turnstile.stat_queue.failed IS 'Runs that failed, as their workers said, whatever followed.';
COMMENT ON COLUMN turnstile.stat_queue.retried IS 'Runs that failed or were rescued, and after which the job waits for another attempt.';
COMMENT ON COLUMN turnstile.stat_queue.discarded IS 'Jobs that were discarded: no attempt was left, or a call has said so.';
COMMENT ON COLUMN turnstile.stat_queue.cancelled IS 'Jobs that were cancelled.';
COMMENT ON COLUMN turnstile.stat_queue.rescued IS 'Runs that were ended because their lease or their connection had.';
COMMENT ON COLUMN turnstile.stat_queue.oldest_waiting IS 'As in queues.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms IS
    'How long jobs were due before they started: how many per bucket of histogram_bounds().';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_sum IS 'The sum, in milliseconds.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p50 IS 'The median in milliseconds, as if the values of a bucket were spread evenly.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p95 IS 'What 95 of 100 have not passed, likewise.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p99 IS 'What 99 of 100 have not passed, likewise.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms IS 'How long runs lasted, whatever ended them, as wait_ms.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_sum IS 'The sum, in milliseconds.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p50 IS 'The median, as wait_ms_p50.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p95 IS 'As wait_ms_p95.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p99 IS 'As wait_ms_p99.';
COMMENT ON COLUMN turnstile.stat_queue.blocked IS 'As in queues.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms IS
    'How long jobs that ended had waited over all their attempts, as waited of jobs, by bucket as wait_ms. Jobs that never started are not in it.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms_sum IS 'The sum, in milliseconds.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms_p50 IS 'The median, as wait_ms_p50.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms_p95 IS 'As wait_ms_p95.';
COMMENT ON COLUMN turnstile.stat_queue.total_wait_ms_p99 IS 'As wait_ms_p99.';
COMMENT ON COLUMN turnstile.stat_queue.stats_reset IS 'When counting began: with the first change of a job after memory was lost or the extension made, or by stat_reset().';

CREATE VIEW turnstile.stat_tenant AS
SELECT
    live.name, live.enqueued, live.started, live.completed, live.failed, live.retried, live.discarded, live.cancelled, live.rescued,
    live.waiting, live.scheduled, live.retryable, live.running,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    live.wait_ms, live.wait_ms_sum, live.wait_ms_p50, live.wait_ms_p95, live.wait_ms_p99,
    live.run_ms, live.run_ms_sum, live.run_ms_p50, live.run_ms_p95, live.run_ms_p99,
    live.stats_reset,
    live.blocked,
    live.total_wait_ms, live.total_wait_ms_sum, live.total_wait_ms_p50, live.total_wait_ms_p95, live.total_wait_ms_p99
FROM turnstile_internal.figures('tenant') AS live
WHERE live.enqueued IS NOT NULL;
COMMENT ON VIEW turnstile.stat_tenant IS
    'As stat_queue, by tenant. Up to 1,000 tenants have statistics; where there are more, those that are less active and have no row lose theirs.';
