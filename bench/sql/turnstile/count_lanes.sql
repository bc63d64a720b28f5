SELECT count(DISTINCT lane) FROM turnstile.job;
