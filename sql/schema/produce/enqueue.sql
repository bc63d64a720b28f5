-- What producers call. No function here is SECURITY DEFINER: each knows its caller, checks its permissions
-- (turnstile.permission), and then switches to the rights of its owner by itself (src/pg/rights.rs). The same holds for
-- all functions in C that users call.

CREATE FUNCTION turnstile.enqueue(
    kind text,
    payload jsonb DEFAULT '{}',
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
    AS 'MODULE_PATHNAME', 'turnstile_enqueue';
COMMENT ON FUNCTION turnstile.enqueue(text, jsonb, text, text, text, text, text, int, timestamptz, int, text, text, interval, jsonb, text[], bigint, bigint[], boolean, boolean, text[]) IS
    'Adds a job and returns its id. The job can be claimed once the transaction commits.
kind: what sort of job it is. Workers and routes decide by it. 1 to 255 bytes, like every name.
payload: what the worker needs to know. At most turnstile.max_payload, as jsonb and with all digits of its numbers.
queue: where the job waits. NULL: the queue of the parent, else that which a route gives the kind, else default.
tenant: the customer that the job belongs to. Limits, fair shares, permissions and unique keys go by tenant. NULL: that of the parent, else none.
account: a part of the tenant, which it needs, with limits of its own. NULL: that of the parent, if it is of the same tenant.
session: jobs of one queue, tenant and session run one at a time, in order.
concurrency_key: jobs that share the key share its limits, over all queues and tenants.
priority: lower runs first. NULL: that of the batch or the parent, else 0.
run_at: not before this time. NULL: now.
max_attempts: how many attempts may fail before the job is discarded. NULL: the setting of the queue.
unique_key: while another job of the tenant holds the key, no job is added and the id of that job is returned.
unique_mode: how long a job holds its key: until_executing, until_executed, until_expired, while_executing, until_and_while_executing, or replace. NULL: until_executed. Needs a unique key.
unique_for: ends the hold so long after the enqueue, at most 1000 years. Needs a unique key. until_expired needs it, and so does unique_states with a finished state.
metadata: anything that the application wants to keep with the job. At most turnstile.max_payload, as jsonb and with all digits of its numbers.
unique_by: makes the key from these columns: kind, payload, queue, tenant, account, session, concurrency_key. Excludes unique_key.
parent: the job that waits for this one: one that runs, that waits for its children, or whose batch is not open yet. Its settings in turnstile.batch hold for the job.
after: jobs that must complete first, live or in the history. If one ends otherwise, the job is discarded. One whose queue keeps no completed jobs is locked until the transaction ends: its own end waits.
after_any_end: any end of those will do. Needs after.
after_hold: where one of those ends otherwise than it should, the job stays blocked until that is retried and completes. Needs after.
unique_states: the states in which a job holds its key, available among them, instead of a mode. With finished ones it holds the key as long as job_history has it.
Errors: 22004; 22023 also a child in the session of a job that waits for it, or a job that would wait for itself; P0002 no such parent or predecessor; 55000 the parent has ended or takes no children; 54000 also more than 100 jobs that wait for each other; 42501; 53400 the backlog of the queue or tenant is full (max_waiting); 09000 a trigger has cancelled the insertion; 25006.';

CREATE FUNCTION turnstile.enqueue_if_new(
    kind text,
    payload jsonb DEFAULT '{}',
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
) RETURNS TABLE (id bigint, created boolean)
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_enqueue_if_new';
COMMENT ON FUNCTION turnstile.enqueue_if_new(text, jsonb, text, text, text, text, text, int, timestamptz, int, text, text, interval, jsonb, text[], bigint, bigint[], boolean, boolean, text[]) IS
    'Does what enqueue does, and tells whether the job was added. created is false where id is that of the job that holds the unique key.
The arguments are those of enqueue.
Errors: as enqueue.';

CREATE FUNCTION turnstile.enqueue_many(jobs jsonb) RETURNS TABLE (ord int, id bigint, created boolean)
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_enqueue_many';
COMMENT ON FUNCTION turnstile.enqueue_many(jsonb) IS
    'Adds the jobs of an array, all or none.
jobs: an array of objects, at most 100,000. Their keys are the arguments of enqueue, and ref: a name by which others of the array refer to the job in after_refs, an array of such names.
Returns: a row for each element in order, ord from 1. created is false where id is that of the job that holds the unique key.
Errors: as enqueue, naming the element; 54000 more than 100,000 elements.';
