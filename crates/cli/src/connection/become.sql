-- $1: the role, or NULL to stay what one is. $2: milliseconds. $3: the same, or NULL to wait for locks as one does. All of it ends with
-- the transaction. A pooler resets the encoding to that of the database. Statements here are short: to compile one takes longer than to run
-- it, and a second process for it is better left to others.
SELECT
    pg_catalog.set_config('role', coalesce($1, pg_catalog.current_setting('role')), true),
    pg_catalog.set_config('statement_timeout', $2, true),
    pg_catalog.set_config('lock_timeout', coalesce($3, pg_catalog.current_setting('lock_timeout')), true),
    pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
    pg_catalog.set_config('TimeZone', 'UTC', true),
    pg_catalog.set_config('jit', 'off', true),
    pg_catalog.set_config('max_parallel_workers_per_gather', '0', true),
    pg_catalog.set_config('client_encoding', 'UTF8', true)
