SELECT count(*) FROM turnstile.claim_next(%(queue)s);
