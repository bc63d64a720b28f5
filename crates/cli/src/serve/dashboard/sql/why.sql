-- $1: the queue or NULL, $2: the tenant or NULL.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT summary.reason, summary.gate, summary.lanes, summary.is_estimate
    FROM turnstile.why_waiting_summary(queue => $1, tenant => $2) AS summary
    ORDER BY summary.lanes DESC, summary.reason, summary.gate
) AS found
