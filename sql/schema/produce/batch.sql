-- Jobs with children.

CREATE FUNCTION turnstile.enqueue_batch(
    kind text,
    payload jsonb DEFAULT '{}',
    children jsonb DEFAULT '[]',
    slots int DEFAULT NULL,
    rate int DEFAULT NULL,
    rate_per interval DEFAULT NULL,
    burst int DEFAULT NULL,
    max_failed int DEFAULT NULL,
    on_end text DEFAULT 'run',
    queue text DEFAULT NULL,
    tenant text DEFAULT NULL,
    account text DEFAULT NULL,
    session text DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    max_attempts int DEFAULT NULL,
    unique_key text DEFAULT NULL,
    unique_mode text DEFAULT NULL,
    unique_for interval DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    unique_by text[] DEFAULT NULL,
    parent bigint DEFAULT NULL,
    after bigint[] DEFAULT NULL,
    after_any_end boolean DEFAULT false,
    after_hold boolean DEFAULT false,
    unique_states text[] DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_enqueue_batch';
COMMENT ON FUNCTION turnstile.enqueue_batch(text, jsonb, jsonb, int, int, interval, int, int, text, text, text, text, text, text, int, timestamptz, int, text, text, interval, jsonb, text[], bigint, bigint[], boolean, boolean, text[]) IS
    'Adds a job with children, all or none, and returns its id. The children start when the turn of the job has come in its session; the job itself goes on when no child is live any more. More children can be added meanwhile.
kind: that of the job, which runs as the callback of its children.
payload: that of the job.
children: an array as for enqueue_many, without parent. They take queue, tenant, account and priority from the job unless they name their own.
slots: how many children may run at once. NULL: no limit.
rate: how many children may start within rate_per. NULL: no limit.
rate_per: the interval that rate, which it needs, is for. NULL: 1 second.
burst: how many may start at once after a quiet time. Needs rate. NULL: 1.
max_failed: when more children are discarded, no other starts, and the rest is cancelled. NULL: any number.
on_end: run: the job runs when its children have ended, and claimed_job.children says how. run_if_all_completed: the same, but it is discarded unless all completed. complete: it completes without a run.
The other arguments are those of enqueue, for the job itself. Where another job holds its unique key, the id of that is returned, and no child is added.
Errors: as enqueue and enqueue_many.';
