-- $1: the role, or NULL to stay what one is. $2: milliseconds. All of it ends with the transaction.
SELECT
    pg_catalog.set_config('role', coalesce($1, pg_catalog.current_setting('role')), true),
    pg_catalog.set_config('statement_timeout', $2, true),
    pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
    pg_catalog.set_config('TimeZone', 'UTC', true)
