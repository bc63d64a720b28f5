TRUNCATE turnstile.job, turnstile.job_history;
