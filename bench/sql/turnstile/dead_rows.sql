SELECT sum(n_dead_tup)::bigint
FROM pg_stat_user_tables
WHERE schemaname = 'turnstile';
