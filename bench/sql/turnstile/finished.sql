SELECT count(*)
FROM turnstile.job_history
WHERE state = 'completed'
  AND queue = %(queue)s
  AND tenant IS NOT DISTINCT FROM %(tenant)s::text;
