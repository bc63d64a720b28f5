SELECT id FROM turnstile.claim_next('nothing is here');
