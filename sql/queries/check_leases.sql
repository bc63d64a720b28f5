-- The first runs whose lease ends before $1, but the jobs $2, that no open transaction is changing: its end will
-- tell the scheduler. $3: the next transaction id of the server, with its epoch. (id, lease_expires_at)
SELECT job.id, job.lease_expires_at::text
FROM ONLY turnstile.job,
    LATERAL (SELECT job.xmax::text::bigint AS short) AS xid,
    LATERAL (
        SELECT ($3 >> 32 << 32) + xid.short
            - CASE WHEN xid.short > ($3 & 4294967295) THEN 4294967296 ELSE 0 END AS changer
    ) AS whole
WHERE job.state = 'running' AND job.lease_expires_at < $1 AND NOT job.id = ANY ($2)
    AND (
        CASE WHEN xid.short > 2 AND whole.changer > 2 AND whole.changer < $3
            THEN pg_xact_status(whole.changer::text::xid8)
        END
    ) IS DISTINCT FROM 'in progress'
ORDER BY job.lease_expires_at
LIMIT 100
