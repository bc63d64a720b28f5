-- Live and finished jobs together. Nothing in it is volatile: the order of ids and the end of a LIMIT reach the indexes of the tables.

CREATE VIEW turnstile.jobs AS
    SELECT
        job.id, job.lane, job.lane_group, job.position, job.priority, job.run_at, job.lease_expires_at, job.state,
        job.holds_session, job.queue, job.tenant, job.account, job.session, job.concurrency_key, job.unique_key,
        job.unique_mode, job.kind, job.attempt, job.max_attempts, job.uncounted, job.payload, job.worker,
        job.owner_pid, job.owner_started_at, job.claimed_at, job.cancel_requested_at, job.progress, job.errors,
        job.metadata, job.unique_until, job.created_at,
        job.finished_at, job.result,
        job.created_at AS queued_at,
        job.claimed_at AS started_at,
        CASE WHEN isfinite(job.run_at) AND isfinite(coalesce(job.claimed_at, job.finished_at, now()))
            THEN greatest(coalesce(job.claimed_at, job.finished_at, statement_timestamp()) - job.run_at, '0')
        END AS waiting,
        CASE WHEN isfinite(job.claimed_at) AND isfinite(coalesce(job.finished_at, now()))
            THEN greatest(coalesce(job.finished_at, statement_timestamp()) - job.claimed_at, '0')
        END AS running,
        job.parent, job.opens_batch, job.children, job.has_followers, job.lease, job.unique_states,
        coalesce(job.first_started_at, CASE WHEN job.attempt = 1 THEN job.claimed_at END) AS first_started_at,
        CASE
            WHEN isfinite(job.run_at) AND isfinite(job.claimed_at)
                THEN least(coalesce(job.waited, '0'), '1000 years') + greatest(job.claimed_at - job.run_at, '0')
            ELSE job.waited
        END AS waited,
        job.waits_for
    FROM (
        SELECT
            id, lane, lane_group, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant,
            account, session, concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted,
            payload, worker, owner_pid, owner_started_at, claimed_at, cancel_requested_at, progress, errors,
            metadata, unique_until, created_at,
            NULL::timestamptz AS finished_at, NULL::jsonb AS result, parent, opens_batch, children, has_followers, lease, unique_states,
            first_started_at, waited, waits_for
        FROM turnstile.job
        UNION ALL
        SELECT
            id, lane, lane_group, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant,
            account, session, concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted,
            payload, worker, owner_pid, owner_started_at, claimed_at, cancel_requested_at, progress, errors,
            metadata, unique_until, created_at,
            finished_at, result, parent, opens_batch, children, has_followers, lease, unique_states,
            first_started_at, waited, NULL::text AS waits_for
        FROM turnstile.job_history
    ) AS job;
COMMENT ON VIEW turnstile.jobs IS
    'Live and finished jobs together. A finished job that was brought back is there as both.';
COMMENT ON COLUMN turnstile.jobs.queued_at IS 'When the job was enqueued.';
COMMENT ON COLUMN turnstile.jobs.started_at IS 'When its last run was claimed. NULL: it waits, or never ran.';
COMMENT ON COLUMN turnstile.jobs.first_started_at IS
    'When the job was first claimed, over all attempts. NULL: it was not, or before 0.2.0 and more than once.';
COMMENT ON COLUMN turnstile.jobs.waited IS
    'How long it has waited in all, over all attempts: from when it was due, or given back, until it was claimed each time. The wait of a job that waits now is not in it. NULL: it was never claimed.';
COMMENT ON COLUMN turnstile.jobs.waiting IS
    'How long it waited from run_at until its last run was claimed, or until the statement began. NULL: one of the times is infinite.';
COMMENT ON COLUMN turnstile.jobs.running IS
    'How long its last run took, or had taken when the statement began. NULL: it waits, or never ran.';
