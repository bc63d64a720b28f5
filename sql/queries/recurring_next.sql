-- When a recurring job is due next. No row in the table: NULL.
SELECT min(greatest(coalesce(recurring.next_firing, '-infinity'), recurring.paused_until, recurring.retry_at))
FROM turnstile.recurring
