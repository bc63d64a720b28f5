SELECT count(*) FROM turnstile.job_history WHERE finished_at < now() - interval '8 days'
