-- Runs that are given back or put off: their attempt does not count.

CREATE FUNCTION turnstile.release(job_id bigint, attempt int) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_release';
COMMENT ON FUNCTION turnstile.release(bigint, int) IS
    'Gives back a run that was not started, and returns true. The attempt does not count, but its number is not used again.
job_id: as for complete.
attempt: as for complete.
Errors: 22004; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.snooze(job_id bigint, attempt int, delay interval) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_snooze';
COMMENT ON FUNCTION turnstile.snooze(bigint, int, interval) IS
    'Puts a run off and returns true: the job is scheduled, and can be claimed again after the delay. The attempt does not count, and the job no longer holds its session. A run whose cancellation was requested is cancelled instead.
job_id: as for complete.
attempt: as for complete.
delay: 0 or more, at most 100 years.
Errors: 22004; 22023; P0002; 55000 the run was superseded; 42501; 09000; 25006.';
