-- The last $5 jobs that ended from $2 on, the last one first, of transactions that are known ($3, but not those in $4). $1 is the
-- newest transaction id. Rows of foreign tables have none, and are older than all transactions.
SELECT ended.finished_at, ended.id
FROM (
    SELECT job_history.finished_at, job_history.id,
        CASE WHEN job_history.tableoid = ANY (ARRAY(
            SELECT far.oid FROM pg_foreign_table JOIN pg_class AS far ON far.oid = pg_foreign_table.ftrelid WHERE far.relispartition
        )) THEN 0 ELSE $1 - (($1 - job_history.xmin::text::bigint) & 4294967295) END AS written_by
    FROM turnstile.job_history
    WHERE job_history.finished_at >= $2
    OFFSET 0 -- Else the planner would have the transaction of a row computed up to four times.
) AS ended
WHERE ended.written_by < $3 AND ended.written_by <> ALL ($4)
ORDER BY ended.finished_at DESC, ended.id DESC
LIMIT $5
