-- Ended jobs, for who follows them.

CREATE FUNCTION turnstile.recent(since text DEFAULT NULL, max_rows int DEFAULT 1000)
    RETURNS TABLE (
        id bigint, queue text, kind text, tenant text, state text, attempt int, worker text,
        created_at timestamptz, claimed_at timestamptz, finished_at timestamptz, error text, cursor text
    )
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_recent';
COMMENT ON FUNCTION turnstile.recent(text, int) IS
    'Gives jobs that ended, as tail -f does: call it again and again, each time with the cursor of the last row that was given. Each ended job comes once, soon after the commit of the transaction that ended it, whatever the order of commits; what the transaction of the caller has ended comes after its commit. No row: nothing has ended since; keep the cursor. The caller needs the permission manage or see on all queues and tenants.
since: the cursor of a row: what comes after it. NULL: the last ten jobs that ended. oldest: all that the history has. Where NULL gives no row, the history is empty: go on with oldest.
max_rows: 1 to 100,000. The next call goes on where it ends.
Returns: the job as it is in job_history; error: what the last failed attempt said, unless the job was completed (NULL for a caller that may only manage); cursor: the place behind the row, for the next call. The jobs of one reading come in order of finished_at and id; one whose transaction was committed later comes with a later reading.
Errors: 22004; 22023 a bad value, or a cursor of another database, or of transactions that this server has lost; 42501; 25006.';

CREATE FUNCTION turnstile.recent_failures(since bigint DEFAULT NULL)
    RETURNS TABLE (
        id bigint, queue text, kind text, tenant text, attempt int, worker text,
        failed_at timestamptz, retry_at timestamptz, error text, cursor bigint
    )
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_recent_failures';
COMMENT ON FUNCTION turnstile.recent_failures(bigint) IS
    'Gives runs that failed, were lost or rescued and will be repeated, each once and soon after its commit; recent gives those after which the job ended. Memory has the last 512 of the database, none from before a restart of the server. The caller needs the permission manage or see on all queues and tenants.
since: the cursor of a row: what comes after it. NULL: all that memory has.
Returns: attempt: the run; retry_at: when the job falls due again, NULL if it has gone on since; error: what the run said (NULL for a caller that may only manage); cursor: the place of the row. Where the first row''s cursor is not the next after since, those between are no longer known. Nor are they after a restart of the server, from which on cursors are higher. failed_at: when the failure was committed. queue, kind, tenant, worker and error are NULL where the job is gone.
Errors: 42501; 25006.';
