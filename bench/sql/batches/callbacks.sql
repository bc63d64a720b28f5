SELECT count(*)
FROM turnstile.job_history
WHERE queue = %(queue)s AND kind = 'callback' AND state = 'completed' AND claimed_at >= %(begun)s;
