SELECT id, attempt FROM turnstile.claim_next(%(queue)s, wait => '1 minute');
