SELECT n_dead_tup
FROM pg_stat_user_tables
WHERE relid = 'turnstile_bench.kept'::regclass;
