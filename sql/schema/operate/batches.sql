-- Batches: their settings, how far they are, and what has come of them.

CREATE FUNCTION turnstile.set_batch(
    id bigint,
    slots int DEFAULT NULL,
    rate int DEFAULT NULL,
    rate_per interval DEFAULT NULL,
    burst int DEFAULT NULL,
    paused boolean DEFAULT NULL,
    priority int DEFAULT NULL,
    max_failed int DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.batch
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.batch;
    broken text;
BEGIN
    IF set_batch.id IS NULL THEN
        RAISE EXCEPTION 'id must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "id" is NULL.', HINT = 'Pass the id of the parent.';
    END IF;
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_clear(set_batch.clear, 'slots', 'rate', 'burst', 'paused_until', 'priority', 'max_failed');
    -- A live job that waits for children of an ordinary run has no row yet.
    INSERT INTO turnstile.batch (id, opened_at)
    SELECT live.id, clock_timestamp()
    FROM turnstile.job_status AS live
    WHERE live.id = set_batch.id AND live.finished_at IS NULL AND live.state IN ('running', 'blocked') AND live.opens_batch IS NOT TRUE
    ON CONFLICT ON CONSTRAINT batch_pkey DO NOTHING;
    UPDATE turnstile.batch
    SET slots = turnstile_internal.changed_setting('slots', set_batch.clear, set_batch.slots, slots),
        rate = turnstile_internal.changed_setting('rate', set_batch.clear, set_batch.rate, rate),
        rate_per = coalesce(set_batch.rate_per, rate_per),
        burst = turnstile_internal.changed_setting('burst', set_batch.clear, set_batch.burst, burst),
        paused = coalesce(set_batch.paused, paused),
        paused_until = turnstile_internal.changed_setting('paused_until', set_batch.clear, NULL, paused_until),
        priority = turnstile_internal.changed_setting('priority', set_batch.clear, set_batch.priority, priority),
        max_failed = turnstile_internal.changed_setting('max_failed', set_batch.clear, set_batch.max_failed, max_failed)
    WHERE id = set_batch.id AND EXISTS (
        SELECT FROM turnstile.job_status
        WHERE job_status.id = set_batch.id AND job_status.finished_at IS NULL
    )
    RETURNING * INTO made;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no live batch %', set_batch.id USING ERRCODE = 'P0002',
            DETAIL = 'No live job with a row of turnstile.batch has this id.',
            HINT = 'A batch is named by the id that enqueue_batch returned, or by that of a job that has called await_children.';
    END IF;
    IF num_nonnulls(set_batch.rate_per, set_batch.burst) > 0 THEN
        PERFORM turnstile_internal.check_rate(made.rate, set_batch.rate_per, set_batch.burst);
    END IF;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_batch(bigint, int, int, interval, int, boolean, int, int, text[]) IS
    'Changes settings of a batch, from the next claim after the commit on, and returns its row. NULL leaves a column as it is.
id: the parent.
priority: that of all its live children and of those that come. Children that are waiting get it in short transactions, by claims and a background worker.
clear: columns to set to NULL: slots, rate, burst, paused_until, priority, max_failed.
rate_per, burst: they need a rate.
The other arguments are the columns of turnstile.batch.
Errors: 22004; 22023; P0002 no such batch, or it has ended; 42501.';

CREATE FUNCTION turnstile_internal.batch_figures(id bigint)
    RETURNS TABLE (waiting bigint, running bigint, finished_per_minute bigint)
    LANGUAGE c STABLE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_batch_figures';
COMMENT ON FUNCTION turnstile_internal.batch_figures(bigint) IS
    'For the view batches: how many live children a batch has, and how many have ended in the last minute. They are in memory. Where it cannot be used (on a standby, where this transaction has rewritten turnstile.job, or where turnstile.max_memory leaves no room for all batches) the live children are counted, and none has ended.
Errors: 22004.';

-- What is shown of a batch is looked up by its id, in the order in which batches are read: a query that wants some looks at those alone.
-- An outer join at the end, so that nothing is counted for who does not ask how many have ended.
CREATE VIEW turnstile.batches AS
SELECT
    batch.id, parent.kind, parent.queue, parent.tenant, parent.session, parent.state,
    live.waiting + live.running + CASE
        WHEN parent.children IS NULL THEN ended.completed + ended.discarded + ended.cancelled
        ELSE (parent.children ->> 'completed')::bigint + (parent.children ->> 'discarded')::bigint + (parent.children ->> 'cancelled')::bigint
    END AS total,
    live.waiting,
    live.running,
    CASE WHEN parent.children IS NULL THEN ended.completed ELSE (parent.children ->> 'completed')::bigint END AS completed,
    CASE WHEN parent.children IS NULL THEN ended.discarded ELSE (parent.children ->> 'discarded')::bigint END AS discarded,
    CASE WHEN parent.children IS NULL THEN ended.cancelled ELSE (parent.children ->> 'cancelled')::bigint END AS cancelled,
    batch.slots,
    batch.opened_at AS started_at,
    live.finished_per_minute,
    CASE WHEN live.finished_per_minute > 0 THEN
        statement_timestamp() + make_interval(secs => 60.0 * (live.waiting + live.running) / live.finished_per_minute)
    END AS estimated_end,
    batch.paused, batch.paused_until
FROM turnstile.batch
CROSS JOIN LATERAL (
    (
        SELECT job.kind, job.queue, job.tenant, job.session, job.state, nullif(job.children, '{}') AS children
        FROM ONLY turnstile.job
        WHERE job.id = batch.id
    )
    UNION ALL
    (
        SELECT job_history.kind, job_history.queue, job_history.tenant, job_history.session, job_history.state, nullif(job_history.children, '{}')
        FROM turnstile.job_history
        WHERE job_history.id = batch.id
        ORDER BY job_history.finished_at DESC
        LIMIT 1
    )
    LIMIT 1
) AS parent
CROSS JOIN LATERAL turnstile_internal.batch_figures(batch.id) AS live
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE last.state = 'completed') AS completed, count(*) FILTER (WHERE last.state = 'discarded') AS discarded,
        count(*) FILTER (WHERE last.state = 'cancelled') AS cancelled
    FROM (
        SELECT DISTINCT ON (job_history.id) job_history.id, job_history.state
        FROM turnstile.job_history
        WHERE job_history.parent = batch.id
        ORDER BY job_history.id, job_history.finished_at DESC
    ) AS last
    WHERE parent.children IS NULL AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = last.id)
) AS ended ON true;
COMMENT ON VIEW turnstile.batches IS
    'Batches and how far they are. Live children are counted in memory. Ended ones are counted in history while the batch is live, and only where total, completed, discarded or cancelled is asked for. A query by id, or of the newest ones with a limit, looks at those alone.';
COMMENT ON COLUMN turnstile.batches.id IS 'The parent.';
COMMENT ON COLUMN turnstile.batches.kind IS 'Its kind.';
COMMENT ON COLUMN turnstile.batches.queue IS 'Its queue.';
COMMENT ON COLUMN turnstile.batches.tenant IS 'Its tenant.';
COMMENT ON COLUMN turnstile.batches.session IS 'Its session.';
COMMENT ON COLUMN turnstile.batches.state IS 'Its state: blocked while children are live.';
COMMENT ON COLUMN turnstile.batches.total IS 'Children, live and ended.';
COMMENT ON COLUMN turnstile.batches.waiting IS 'Children that are live and do not run.';
COMMENT ON COLUMN turnstile.batches.running IS 'Children that run.';
COMMENT ON COLUMN turnstile.batches.completed IS 'Children that completed.';
COMMENT ON COLUMN turnstile.batches.discarded IS 'Children that were discarded and have not come back.';
COMMENT ON COLUMN turnstile.batches.cancelled IS 'Children that were cancelled and have not come back.';
COMMENT ON COLUMN turnstile.batches.slots IS 'How many children may run at once. NULL: no limit.';
COMMENT ON COLUMN turnstile.batches.started_at IS 'Since when children may start. NULL: the parent waits for its turn.';
COMMENT ON COLUMN turnstile.batches.finished_per_minute IS 'Children that have ended in the last minute.';
COMMENT ON COLUMN turnstile.batches.estimated_end IS
    'When the last child will have ended if they end as fast as in the last minute. NULL: none has ended in it, or none is live.';
COMMENT ON COLUMN turnstile.batches.paused IS 'No child starts.';
COMMENT ON COLUMN turnstile.batches.paused_until IS 'No child starts before this time.';

CREATE FUNCTION turnstile.batch_results(id bigint)
    RETURNS TABLE (id bigint, kind text, payload jsonb, state text, result jsonb, error text)
    LANGUAGE c STABLE ROWS 1000
    AS 'MODULE_PATHNAME', 'turnstile_batch_results';
COMMENT ON FUNCTION turnstile.batch_results(bigint) IS
    'Gives the children of a job, live and ended, by id. Ended ones are there as long as their day is in history.
id: the parent. The caller must be one that may work on it or see it.
Returns: the child; result: what its worker passed to complete; error: what its last failed attempt said, unless it completed.
Errors: 22004; P0002 no such job; 42501.';
