SELECT last_value + 1 FROM turnstile.job_id_seq
