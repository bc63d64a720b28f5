SELECT setval('turnstile.job_id_seq', %(last)s), setval('turnstile.job_position_seq', greatest(%(last)s, (SELECT max(position) FROM turnstile.job)))
