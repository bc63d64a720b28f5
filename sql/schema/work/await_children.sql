-- A run that adds children and waits for them.

CREATE FUNCTION turnstile.await_children(job_id bigint, attempt int) RETURNS boolean
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_await_children';
COMMENT ON FUNCTION turnstile.await_children(bigint, int) IS
    'Ends a run whose job waits for its children from now on, and returns true: the job is blocked, and can be claimed again when no child is live any more. The attempt does not count. Returns false if no child is live, and the run goes on.
job_id: as for complete. Children were added with it as their parent.
attempt: as for complete.
Errors: 22004; P0002; 55000 the run was superseded; 42501; 25006.';
