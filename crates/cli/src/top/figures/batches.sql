-- $1: a part of the kind or the id, $2: how many rows at most. Those that are live, and those that began a short time ago.
SELECT pg_catalog.jsonb_build_object(
    'id', batches.id,
    'kind', batches.kind,
    'queue', batches.queue,
    'tenant', batches.tenant,
    'state', batches.state,
    'paused', batches.paused OR coalesce(batches.paused_until > pg_catalog.statement_timestamp(), false),
    'paused_until', batches.paused_until,
    'slots', batches.slots,
    'running', batches.running,
    'waiting', batches.waiting,
    'completed', batches.completed,
    'discarded', batches.discarded,
    'cancelled', batches.cancelled,
    'total', batches.total,
    'started_at', batches.started_at,
    'started_seconds_ago', extract(epoch FROM pg_catalog.statement_timestamp() - batches.started_at),
    'finished_per_minute', batches.finished_per_minute,
    'estimated_end', batches.estimated_end,
    'estimated_seconds_left', extract(epoch FROM batches.estimated_end - pg_catalog.statement_timestamp())
)
FROM turnstile.batches
WHERE (
        batches.state NOT IN ('completed', 'cancelled', 'discarded')
        OR batches.started_at > pg_catalog.statement_timestamp() - '15 minutes'::pg_catalog.interval
    )
    AND pg_catalog.strpos(pg_catalog.lower(pg_catalog.concat_ws(' ', batches.id, batches.kind, batches.queue, batches.tenant)), pg_catalog.lower($1)) > 0
ORDER BY batches.id DESC
LIMIT $2
