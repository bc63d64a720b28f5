-- Waiting for work inside the server.

-- No SECURITY DEFINER and no SET: a procedure with either may not end transactions. It takes its owner's rights itself.
CREATE PROCEDURE turnstile.wait_for_job(queues text[], timeout interval)
    LANGUAGE c
    AS 'MODULE_PATHNAME', 'turnstile_wait_for_job';
COMMENT ON PROCEDURE turnstile.wait_for_job(text[], interval) IS
    'Sleeps until a job in one of the queues may be claimable, or for the timeout; ''*'' stands for all queues. Meanwhile the session holds no snapshot and no transaction id and runs nothing. Call it by itself, with autocommit on. Errors: 22004, 22023 a bad name or a negative timeout, 25001 inside a transaction block or a function, 54000 a name over 255 bytes or more than 32 queues, 25006.';

CREATE FUNCTION turnstile.listen_channel(queue text) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_listen_channel';
COMMENT ON FUNCTION turnstile.listen_channel(text) IS
    'The channel on which listeners of a queue are told of work; ''*'' stands for all queues. From this call on, for as long as the server runs and if the queue is claimed from within ten seconds, a claim of the queue that finds nothing is followed by one notification without payload once there may be work. So: ask for the channel, LISTEN, claim until nothing comes, then wait to be notified and claim again; after each new connection from the beginning. queue.notify turns it off. Errors: 22004, 22023 empty, 54000 a name over 255 bytes or more than 64 channels that are in use, 55000 without the background worker that notifies, 25006.';
