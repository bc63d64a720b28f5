SELECT turnstile.complete_many(array_agg(id), array_agg(attempt))
FROM turnstile.job
WHERE state = 'running'
  AND starts_with(queue, %(prefix)s::text)
HAVING count(*) > 0;
