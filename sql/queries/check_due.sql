-- The first job of each queue that was put off, but those that an open transaction is changing: its end will tell the
-- scheduler. $1: the next transaction id of the server, with its epoch. (queue, run_at, id)
SELECT DISTINCT ON (job.queue COLLATE "C") job.queue, job.run_at, job.id
FROM ONLY turnstile.job,
    -- OFFSET 0: others change it in place, so it is read once.
    LATERAL (SELECT job.xmax::text::bigint AS short OFFSET 0) AS xid,
    LATERAL (
        SELECT ($1 >> 32 << 32) + xid.short
            - CASE WHEN xid.short > ($1 & 4294967295) THEN 4294967296 ELSE 0 END AS changer
    ) AS whole
WHERE job.waits_for = 'time'
    AND (
        CASE WHEN xid.short > 2 AND whole.changer > 2 AND whole.changer < $1
            THEN pg_xact_status(whole.changer::text::xid8)
        END
    ) IS DISTINCT FROM 'in progress'
ORDER BY job.queue COLLATE "C", job.run_at, job.position
