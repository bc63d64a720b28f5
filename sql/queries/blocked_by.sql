-- What the blocked job $1 waits for: (how many live children it has, at most 10,001, one of them, the first of the jobs that it comes
-- after, the state of that, how many those are).
SELECT
    (SELECT count(*) FROM (SELECT FROM ONLY turnstile.job WHERE job.parent = $1 LIMIT 10001) AS child),
    (SELECT job.id FROM ONLY turnstile.job WHERE job.parent = $1 LIMIT 1),
    before.id,
    coalesce(
        (SELECT job.state FROM ONLY turnstile.job WHERE job.id = before.id),
        (
            SELECT job_history.state
            FROM turnstile.job_history
            WHERE job_history.id = before.id
            ORDER BY job_history.finished_at DESC
            LIMIT 1
        ),
        'gone'
    ),
    before.number
FROM (
    SELECT min(dependency.predecessor) AS id, count(*) AS number
    FROM turnstile.dependency
    WHERE dependency.job = $1
) AS before
