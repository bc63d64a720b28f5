SELECT max(id) FROM turnstile.job;
