SELECT turnstile.complete(id, attempt) FROM turnstile.claim_next(%(queue)s, wait => '10 seconds');
