VACUUM (ANALYZE) turnstile.job, turnstile.job_history, turnstile.batch, turnstile_bench.fan_out;
