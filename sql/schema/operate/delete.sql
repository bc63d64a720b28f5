-- Finished jobs that are to be kept no longer.

CREATE FUNCTION turnstile.delete_many(
    queue text DEFAULT NULL,
    kind text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    state text DEFAULT NULL,
    older_than interval DEFAULT NULL,
    max_jobs int DEFAULT 1000,
    parent bigint DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    error text DEFAULT NULL,
    ended_before timestamptz DEFAULT NULL,
    first_id bigint DEFAULT NULL,
    last_id bigint DEFAULT NULL
) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_delete_many';
COMMENT ON FUNCTION turnstile.delete_many(text, text, text, text, text, text, interval, int, bigint, text, jsonb, text, timestamptz, bigint, bigint) IS
    'Deletes up to max_jobs finished jobs from the history, with all that it has of them, and returns how many. Call it again until it returns 0. Passes over jobs that another transaction has locked, children of a live parent, jobs that a live one comes after, and days that are foreign tables. A unique key stays held until its window is over.
queue: only jobs of this queue. At least one of the filters must be given; NULL stands for any.
kind: only jobs of this kind. * in it stands for any text, as in routes.
tenant: only jobs of this tenant.
account: only jobs of this account.
session: only jobs of this session.
state: completed, cancelled or discarded.
older_than: only jobs that ended longer ago than this.
max_jobs: 0 or more.
parent: only children of this job.
concurrency_key: only jobs with this key.
metadata: only jobs whose metadata contain this.
error: only jobs whose last error begins with this. This and metadata need the permission see, too.
ended_before: only jobs that ended before this time.
first_id, last_id: only jobs with ids from the one to the other. Where few of very many match, calls for one range after the other read each job once.
Errors: 22004; 22023 no filter, or a bad value; 54000; 42501; 25006.';
