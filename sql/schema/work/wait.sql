-- Waiting for work, inside the server or with LISTEN.

-- No SECURITY DEFINER and no SET: a procedure with either may not end transactions. It takes its owner's rights itself.
CREATE PROCEDURE turnstile.wait_for_job(queues text[], timeout interval)
    LANGUAGE c
    AS 'MODULE_PATHNAME', 'turnstile_wait_for_job';
COMMENT ON PROCEDURE turnstile.wait_for_job(text[], interval) IS
    'Sleeps until a job in one of the queues may be claimable, or until the timeout. Meanwhile the session holds no snapshot and no transaction id, and runs nothing. CALL it by itself, with autocommit on.
queues: at most 32. * stands for all queues that the caller may work on.
timeout: 0 or more, at most 100 years.
Errors: 22004; 22023; 25001 inside a transaction block or a function; 54000; 42501; 25006.';

CREATE PROCEDURE turnstile.wait_for_end(job_id bigint, timeout interval)
    LANGUAGE c
    AS 'MODULE_PATHNAME', 'turnstile_wait_for_end';
COMMENT ON PROCEDURE turnstile.wait_for_end(bigint, interval) IS
    'Sleeps until a job has ended, or until the timeout. It looks ten times a second. A job that is no more, because it was deleted or its queue keeps no completed jobs, has ended. Meanwhile the session holds no snapshot and no transaction id. CALL it by itself, with autocommit on.
job_id: a job, live or finished.
timeout: 0 or more, at most 100 years.
Errors: 22004; 22023; P0002; 25001 inside a transaction block or a function; 42501.';

CREATE FUNCTION turnstile.listen_channel(queue text) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_listen_channel';
COMMENT ON FUNCTION turnstile.listen_channel(text) IS
    'Returns the channel on which listeners of a queue are notified of work. From then on, until the server restarts, one notification without payload follows each claim of the queue that finds nothing, once there may be work.
queue: * stands for all queues, and has a channel of its own.
Ask for the channel, LISTEN, claim until no job comes, then wait for a notification and claim again. Begin so on each new connection. queue.notify turns notifications off.
Errors: 22004; 22023; 54000 also where 64 channels are in use; 42501; 55000 the background worker that notifies does not run; 25006.';
