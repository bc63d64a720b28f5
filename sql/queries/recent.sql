-- Up to $9 jobs that ended from $2 to $3, in order, behind the job $4 of $2: those of transactions that are known now (before $7, but not
-- those in $8) and were not known before ($5, $6). $1 is the newest transaction id; rows have ids without their epoch. $10: with errors.
-- Rows of foreign tables have no transaction: they count as known to each reader but one that begins with the oldest.
SELECT ended.id, ended.queue, ended.kind, ended.tenant, ended.state, ended.attempt, ended.worker, ended.created_at, ended.claimed_at,
    ended.finished_at, CASE WHEN $10 AND ended.state <> 'completed' THEN ended.errors -> -1 ->> 'error' END AS error
FROM (
    SELECT job_history.id, job_history.queue, job_history.kind, job_history.tenant, job_history.state, job_history.attempt, job_history.worker,
        job_history.created_at, job_history.claimed_at, job_history.finished_at, job_history.errors,
        CASE WHEN job_history.tableoid = ANY (ARRAY(
            SELECT far.oid FROM pg_foreign_table JOIN pg_class AS far ON far.oid = pg_foreign_table.ftrelid WHERE far.relispartition
        )) THEN 0 ELSE $1 - (($1 - job_history.xmin::text::bigint) & 4294967295) END AS written_by
    FROM turnstile.job_history
    WHERE job_history.finished_at >= $2 AND job_history.finished_at <= $3 AND (job_history.finished_at, job_history.id) > ($2, $4)
    OFFSET 0 -- Else the planner would have the transaction of a row computed up to four times.
) AS ended
WHERE ended.written_by < $7 AND ended.written_by <> ALL ($8)
    AND NOT (ended.written_by < $5 AND ended.written_by <> ALL ($6))
ORDER BY ended.finished_at, ended.id
LIMIT $9
