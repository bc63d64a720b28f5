SELECT count(*) FROM turnstile.history_partition WHERE ends < now() - interval '8 days'
