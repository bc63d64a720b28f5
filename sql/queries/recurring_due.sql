-- The first recurring job by name after $2 that is due at $1, locked. One that another session fires is passed over.
SELECT recurring.name, recurring.cron, recurring.time_zone, recurring.catch_up, recurring.next_firing
FROM turnstile.recurring
WHERE recurring.name > $2
    AND greatest(coalesce(recurring.next_firing, '-infinity'), recurring.paused_until, recurring.retry_at) <= $1
ORDER BY recurring.name
LIMIT 1
FOR NO KEY UPDATE SKIP LOCKED
