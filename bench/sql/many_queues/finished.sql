SELECT count(*)
FROM turnstile.job_history
WHERE state = 'completed'
  AND starts_with(queue, %(prefix)s::text);
