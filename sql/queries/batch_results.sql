-- The children of job $1 by id, live before finished, of which the latest finish counts; behind what is shown their queue and tenant.
SELECT DISTINCT ON (child.id) child.id, child.kind, child.payload, child.state, child.result,
    CASE WHEN child.state <> 'completed' AND jsonb_typeof(child.errors) = 'array' THEN child.errors -> -1 ->> 'error' END,
    child.queue, child.tenant
FROM (
    SELECT job.id, job.kind, job.payload, job.state, NULL::jsonb AS result, job.errors, 'infinity'::timestamptz AS finished_at,
        job.queue, job.tenant
    FROM ONLY turnstile.job
    WHERE job.parent = $1
    UNION ALL
    SELECT job_history.id, job_history.kind, job_history.payload, job_history.state, job_history.result, job_history.errors,
        job_history.finished_at, job_history.queue, job_history.tenant
    FROM turnstile.job_history
    WHERE job_history.parent = $1
) AS child
ORDER BY child.id, child.finished_at DESC
