-- Why a job waits, and when it will start. Said by what the next claim would do, at a cost that does not grow with the jobs.

CREATE FUNCTION turnstile.why_waiting(job_id bigint)
    RETURNS TABLE (
        ord int, reason text, gate text, name text, running int, slots int, opens_at timestamptz, holder bigint, detail text
    )
    LANGUAGE c VOLATILE ROWS 5
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting';
COMMENT ON FUNCTION turnstile.why_waiting(bigint) IS
    'Says why a waiting job does not start: every reason, one row each. No row: the next claim of one job from its queue takes it. Reasons: scheduled, retry (run_at is ahead); paused, full, rate (its gate is closed); session_busy, session_order; unique_running; behind (the next claim takes another job); locked (an open transaction has claimed, changed or locked it); no_worker (no claim from the queue in the last minute, and nobody sleeps on it); outside_memory (its lane is left to the tables, and gets its turn). The figures are those of this moment. The caller needs the permission see or manage on the queue and tenant of the job.
job_id: a job that is available, scheduled or retryable.
Returns: ord; reason; gate: queue, tenant, account, session, concurrency or unique, with its name; running and slots of a full gate; opens_at: when time alone opens it (NULL: it does not); holder: the job that is in the way, if one is: it runs in the session, has the unique key, takes up the gate and is an ancestor, or comes before (NULL where it is not found, or the caller may not know of it); detail: a sentence, and which jobs wait for each other if it waits for such.
Errors: 22004; P0002; 55000 the job runs or has ended, with its state in DETAIL; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.why_waiting_many(job_ids bigint[])
    RETURNS TABLE (
        job_id bigint, ord int, reason text, gate text, name text, running int, slots int, opens_at timestamptz, holder bigint,
        detail text
    )
    LANGUAGE c VOLATILE ROWS 100
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting_many';
COMMENT ON FUNCTION turnstile.why_waiting_many(bigint[]) IS
    'Does what why_waiting does, for many jobs: those of a list, some of which may have started or ended since it was read. Of such jobs, and of those on which the caller has neither the permission see nor manage, there are no rows.
job_ids: at most 100,000.
Returns: the job, and the columns of why_waiting, in order of the array.
Errors: 22004; 42501; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.why_waiting_summary(queue text DEFAULT NULL, tenant text DEFAULT NULL)
    RETURNS TABLE (reason text, gate text, lanes bigint, is_estimate boolean)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting_summary';
COMMENT ON FUNCTION turnstile.why_waiting_summary(text, text) IS
    'Counts the lanes that wait, by reason: a lane is the jobs that share queue, tenant, account, session, keys and priority. A lane that several gates hold up counts at each; one that could start counts as behind, and so does one whose last job has started, until a claim finds it empty. Jobs that are scheduled or retryable are in no lane. It looks at 10,000 lanes at most; of more, each stands for several.
queue: NULL or * stands for all.
tenant: NULL stands for all, and for jobs without a tenant.
Returns: the reason as in why_waiting (a gate without slots counts as paused), the gate, the number of lanes, and whether that is an estimate.
Errors: 22023; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.wait_estimate(job_id bigint)
    RETURNS TABLE (ahead bigint, is_capped boolean, starts_per_minute numeric, bottleneck text, starts_at timestamptz)
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_wait_estimate';
COMMENT ON FUNCTION turnstile.wait_estimate(bigint) IS
    'Estimates when a waiting job starts: at the gate that takes longest to let through what comes before it, at its pace of the last minutes. It supposes that what comes later takes no place in front of it, and that the pace stays. The caller needs the permission see or manage on the queue and tenant of the job.
job_id: a job that is available, scheduled or retryable.
Returns: ahead: jobs that start before it at that gate, exact in its lane, an estimate across lanes, at most 10,000; is_capped: there are more; starts_per_minute: how many start behind the gate (NULL: none); bottleneck: that gate, as gate in why_waiting; starts_at: NULL where nothing moves.
Errors: 22004; P0002; 55000 the job runs or has ended, with its state in DETAIL; 42501; 09000; 25006.';
