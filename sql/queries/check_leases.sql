-- The first run of each queue by the end of its lease, but the jobs $1 and those that an open transaction is changing: its
-- end will tell the scheduler. $2: the next transaction id of the server, with its epoch. (queue, lease_expires_at, id)
SELECT DISTINCT ON (job.queue COLLATE "C") job.queue, job.lease_expires_at, job.id
FROM ONLY turnstile.job,
    -- OFFSET 0: others change it in place, so it is read once.
    LATERAL (SELECT job.xmax::text::bigint AS short OFFSET 0) AS xid,
    LATERAL (
        SELECT ($2 >> 32 << 32) + xid.short
            - CASE WHEN xid.short > ($2 & 4294967295) THEN 4294967296 ELSE 0 END AS changer
    ) AS whole
WHERE job.state = 'running' AND job.lease_expires_at IS NOT NULL AND NOT job.id = ANY ($1)
    AND (
        CASE WHEN xid.short > 2 AND whole.changer > 2 AND whole.changer < $2
            THEN pg_xact_status(whole.changer::text::xid8)
        END
    ) IS DISTINCT FROM 'in progress'
ORDER BY job.queue COLLATE "C", job.lease_expires_at
