VACUUM (ANALYZE) turnstile.job, turnstile.job_history;
