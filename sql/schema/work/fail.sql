-- The end of runs with failure.

CREATE FUNCTION turnstile.fail(
    job_id bigint,
    attempt int,
    error text DEFAULT NULL,
    retry_in interval DEFAULT NULL,
    discard boolean DEFAULT false,
    error_class text DEFAULT NULL
) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_fail';
COMMENT ON FUNCTION turnstile.fail(bigint, int, text, interval, boolean, text) IS
    'Ends a run with failure and returns the new state of the job: retryable if another attempt follows, discarded if not, cancelled if its cancellation was requested.
job_id: as for complete.
attempt: as for complete.
error: kept in job.errors; cut after 4,000 characters.
retry_in: when the next attempt is due, at most 100 years from now. NULL: what the retry curve for the kind and the class says; without one, after counted attempt n, n^4 times queue.retry_base, plus up to 10 %, at most queue.retry_cap.
discard: no other attempt follows, even if some are left.
error_class: a word for the sort of the error, as timeout or http.429, kept with it in job.errors. turnstile.retry_curve says what follows. At most 255 bytes. NULL: none.
Errors: 22004; 22023; 54000; P0002; 55000 the run was superseded; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.fail_many(
    job_ids bigint[],
    attempts int[],
    errors text[] DEFAULT NULL,
    retry_in interval[] DEFAULT NULL,
    discard boolean[] DEFAULT NULL,
    error_classes text[] DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_fail_many';
COMMENT ON FUNCTION turnstile.fail_many(bigint[], int[], text[], interval[], boolean[], text[]) IS
    'Ends many runs with failure, each as fail does, and returns how many took effect. Superseded ones, those that have ended, and those that are not the caller''s to end are left alone and not counted.
job_ids: at most 100,000.
attempts: one for each job id.
errors: one for each job id. NULL, and an element that is NULL: none.
retry_in: one for each job id, as for fail. NULL, and an element that is NULL: the backoff of the queue.
discard: one for each job id: no other attempt follows. NULL, and an element that is NULL: false.
error_classes: one for each job id, as error_class for fail. NULL, and an element that is NULL: none.
Errors: 22004; 22023 also arrays that differ in length; 54000; 09000; 25006.';
