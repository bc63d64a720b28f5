-- A job's life beside the main path.

CREATE FUNCTION turnstile.rescue(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'turnstile_rescue';
COMMENT ON FUNCTION turnstile.rescue(int) IS
    'Fails up to max_jobs runs whose lease has ended (error "lease expired") or that were bound to a connection that is gone ("connection lost"), and returns how many; they are retried or discarded like any other. The claims of a live queue do it in passing. Errors: 22004, 22023 max_jobs is negative, 25006.';

CREATE FUNCTION turnstile.promote(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'turnstile_promote';
COMMENT ON FUNCTION turnstile.promote(int) IS
    'Makes up to max_jobs jobs available whose run_at has come, earliest first, and returns how many. The claims of a live queue do it in passing. Errors: 22004, 22023 max_jobs is negative, 25006.';
