-- Waiting for work inside the server.

-- No SECURITY DEFINER and no SET: a procedure with either may not end transactions. It takes its owner's rights itself.
CREATE PROCEDURE turnstile.wait_for_job(queues text[], timeout interval)
    LANGUAGE c
    AS 'MODULE_PATHNAME', 'turnstile_wait_for_job';
COMMENT ON PROCEDURE turnstile.wait_for_job(text[], interval) IS
    'Sleeps until a job in one of the queues may be claimable, or for the timeout; ''*'' stands for all queues. Meanwhile the session holds no snapshot and no transaction id and runs nothing. Call it by itself, with autocommit on. Errors: 22004, 22023 a bad name or a negative timeout, 25001 inside a transaction block or a function, 54000 a name over 255 bytes or more than 32 queues, 25006.';
