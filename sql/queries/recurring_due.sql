-- The first recurring job by time and name after ($2, $3) that is due at $1, and when it was, locked. One that another session fires is
-- passed over.
SELECT recurring.name, recurring.cron, recurring.time_zone, recurring.catch_up, recurring.next_firing,
    greatest(coalesce(recurring.next_firing, '-infinity'), recurring.paused_until, recurring.retry_at)
FROM turnstile.recurring
WHERE greatest(coalesce(recurring.next_firing, '-infinity'), recurring.paused_until, recurring.retry_at) <= $1
    AND (greatest(coalesce(recurring.next_firing, '-infinity'), recurring.paused_until, recurring.retry_at), recurring.name) > ($2, $3)
ORDER BY greatest(coalesce(recurring.next_firing, '-infinity'), recurring.paused_until, recurring.retry_at), recurring.name
LIMIT 1
FOR NO KEY UPDATE SKIP LOCKED
