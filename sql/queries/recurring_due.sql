-- The first recurring job by time and name after ($2, $3) that is due at $1, and when it was, locked. One that another session fires is
-- passed over.
SELECT recurring.name, recurring.cron, recurring.time_zone, recurring.catch_up, recurring.next_firing, due.since
FROM turnstile.recurring
CROSS JOIN LATERAL (
    SELECT greatest(coalesce(recurring.next_firing, '-infinity'), recurring.paused_until, recurring.retry_at) AS since
) AS due
WHERE due.since <= $1 AND (due.since, recurring.name) > ($2, $3)
ORDER BY due.since, recurring.name
LIMIT 1
FOR NO KEY UPDATE OF recurring SKIP LOCKED
