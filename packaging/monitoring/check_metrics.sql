-- What check() finds, as metrics for the textfile collector of node_exporter. check() reads all live jobs: once a day will do.
--   psql -XAtq -f check_metrics.sql -d mydb >turnstile_mydb.prom.new && mv turnstile_mydb.prom.new turnstile_mydb.prom

\set ON_ERROR_STOP on
SELECT format(
    E'# HELP turnstile_check_problems Differences between memory and tables that check() has found.\n'
    '# TYPE turnstile_check_problems gauge\n'
    'turnstile_check_problems{database=%1$s} %2$s\n'
    '# HELP turnstile_check_timestamp_seconds When check() last ended.\n'
    '# TYPE turnstile_check_timestamp_seconds gauge\n'
    'turnstile_check_timestamp_seconds{database=%1$s} %3$s',
    to_json(current_database()::text), count(*), extract(epoch FROM clock_timestamp())
)
FROM turnstile.check();
