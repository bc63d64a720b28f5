SELECT count(*), extract(epoch FROM max(finished_at) - min(claimed_at))::float8
FROM turnstile.job_history
WHERE queue = %(queue)s AND kind = 'child' AND state = 'completed' AND claimed_at >= %(begun)s;
