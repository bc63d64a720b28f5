-- Runs that were abandoned, and jobs whose time has come.

CREATE FUNCTION turnstile.rescue(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_rescue';
COMMENT ON FUNCTION turnstile.rescue(int) IS
    'Fails runs whose lease has ended (error "lease expired") and runs bound to a connection that is gone ("connection lost"). Returns how many. They are retried or discarded like any failed run. Claims do this in passing for their own queues, and a background worker where nobody claims.
max_jobs: 0 or more.
Errors: 22004; 22023; 42501; 25006.';

CREATE FUNCTION turnstile.promote(max_jobs int DEFAULT 1000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_promote';
COMMENT ON FUNCTION turnstile.promote(int) IS
    'Makes jobs available whose run_at has come, in each queue earliest first. Returns how many. Claims do this in passing for their own queues, and a background worker where nobody claims.
max_jobs: 0 or more.
Errors: 22004; 22023; 42501; 25006.';
