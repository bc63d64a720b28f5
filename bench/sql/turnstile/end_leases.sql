UPDATE turnstile.job SET lease_expires_at = %(ends)s::timestamptz WHERE queue = %(queue)s AND state = 'running';
