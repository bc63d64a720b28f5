SELECT EXISTS (SELECT FROM turnstile.job) OR EXISTS (SELECT FROM turnstile.job_history);
