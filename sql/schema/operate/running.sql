-- What runs, for who looks at it.

CREATE FUNCTION turnstile.running_jobs(queue text DEFAULT NULL, max_jobs int DEFAULT 1000)
    RETURNS TABLE (id bigint, attempt int)
    LANGUAGE c VOLATILE ROWS 100
    AS 'MODULE_PATHNAME', 'turnstile_running_jobs';
COMMENT ON FUNCTION turnstile.running_jobs(text, int) IS
    'Gives jobs that run, in no order, however many jobs there are: from memory, as no index has the state running. A run that has just ended may be among them, and one for which memory had no room is not. Who may call it sees them all. Join it with jobs or job_status for more.
queue: NULL: all queues.
max_jobs: 100,000 at most.
Returns: the id of the job, and the attempt.
Errors: 22004; 22023; 42501; 54000; 25006.';
