-- How those children of the job $1 have ended that do not live.
SELECT jsonb_build_object(
    'completed', count(*) FILTER (WHERE last.state = 'completed'),
    'discarded', count(*) FILTER (WHERE last.state = 'discarded'),
    'cancelled', count(*) FILTER (WHERE last.state = 'cancelled')
)
FROM (
    SELECT DISTINCT ON (job_history.id) job_history.id, job_history.state
    FROM turnstile.job_history
    WHERE job_history.parent = $1
    ORDER BY job_history.id, job_history.finished_at DESC
) AS last
WHERE NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = last.id OFFSET 0)
