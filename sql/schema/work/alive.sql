-- What a run says while it lasts.

CREATE FUNCTION turnstile.heartbeat(job_id bigint, attempt int, lease interval DEFAULT NULL, unbind boolean DEFAULT false)
    RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_heartbeat';
COMMENT ON FUNCTION turnstile.heartbeat(bigint, int, interval, boolean) IS
    'Extends the lease of a run. Returns true, or false if the cancellation of the run was requested: it should stop.
job_id: as for complete.
attempt: as for complete.
lease: the lease ends so long from now. More than 0, at most 100 years. NULL: what the claim asked for, else the setting of the queue.
unbind: the run is no longer bound to a connection: when that ends, the run goes on until its lease does.
Errors: 22004; 22023; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.heartbeat_many(
    job_ids bigint[], attempts int[], lease interval DEFAULT NULL, unbind boolean DEFAULT false
) RETURNS TABLE (ord int, job_id bigint, status text)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_heartbeat_many';
COMMENT ON FUNCTION turnstile.heartbeat_many(bigint[], int[], interval, boolean) IS
    'Does heartbeat for many runs. Returns a row for each in the order given, ord from 1. status is running: the lease was extended, or another transaction has locked the job, which is not rescued meanwhile; cancel_requested: that too, and the run should stop; lost: the run was superseded or has ended, there is no such job, or the caller may not work on its queue.
job_ids: at most 100,000.
attempts: one for each job id.
lease: as for heartbeat, for all of them.
unbind: as for heartbeat, for all of them.
Errors: 22004; 22023 also arrays that differ in length; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.progress(
    job_id bigint, attempt int, done numeric, total numeric DEFAULT NULL, message text DEFAULT NULL
) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_progress';
COMMENT ON FUNCTION turnstile.progress(bigint, int, numeric, numeric, text) IS
    'Sets job.progress of a run to {done, total, message, at}. Returns true, or false if the cancellation of the run was requested: it should stop. The lease stays as it is.
job_id: as for complete.
attempt: as for complete.
done: how much is done, in any unit.
total: how much there is to do, in the same unit.
message: cut after 4,000 characters.
Errors: 22004; P0002; 55000 the run was superseded; 42501; 09000; 25006.';
