-- The first available jobs of lane $2 of group $1 before position $3 that no open transaction is changing: its end will
-- tell the scheduler. $4: the next transaction id of the server, with its epoch.
SELECT job.position
FROM ONLY turnstile.job,
    -- OFFSET 0: others change it in place, so it is read once.
    LATERAL (SELECT job.xmax::text::bigint AS short OFFSET 0) AS xid,
    LATERAL (
        SELECT ($4 >> 32 << 32) + xid.short
            - CASE WHEN xid.short > ($4 & 4294967295) THEN 4294967296 ELSE 0 END AS changer
    ) AS whole
WHERE job.lane_group = $1 AND job.lane = $2 AND job.state = 'available' AND job.waits_for IS NULL AND job.position < $3
    AND (
        CASE WHEN xid.short > 2 AND whole.changer > 2 AND whole.changer < $4
            THEN pg_xact_status(whole.changer::text::xid8)
        END
    ) IS DISTINCT FROM 'in progress'
ORDER BY job.position
LIMIT 1000
