SELECT count(*) FROM turnstile.check();
