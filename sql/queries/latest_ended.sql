-- The last $5 jobs that ended from $2 on, the last one first, of transactions that are known ($3, but not those in $4). $1 is the
-- newest transaction id.
SELECT ended.finished_at, ended.id
FROM (
    SELECT job_history.finished_at, job_history.id, $1 - (($1 - job_history.xmin::text::bigint) & 4294967295) AS written_by
    FROM turnstile.job_history
    WHERE job_history.finished_at >= $2
) AS ended
WHERE ended.written_by < $3 AND ended.written_by <> ALL ($4)
ORDER BY ended.finished_at DESC, ended.id DESC
LIMIT $5
