SELECT count(*) FROM turnstile.job;
