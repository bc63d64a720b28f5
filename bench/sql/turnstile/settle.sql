SELECT turnstile.complete_many(array_agg(id), array_agg(attempt))
FROM turnstile.job
WHERE state = 'running'
  AND queue = %(queue)s
  AND tenant IS NOT DISTINCT FROM %(tenant)s::text
HAVING count(*) > 0;
