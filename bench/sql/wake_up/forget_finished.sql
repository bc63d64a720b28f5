TRUNCATE turnstile.job_history;
