SELECT
    count(*),
    count(*) FILTER (WHERE unclaimed),
    coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), 0),
    coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY ms), 0),
    coalesce(max(ms), 0)
FROM (
    SELECT extract(epoch FROM coalesce(claimed_at, clock_timestamp()) - created_at) * 1000, claimed_at IS NULL
    FROM turnstile.jobs
    WHERE tenant <> %(noisy)s AND created_at >= %(begun)s AND created_at < %(ended)s
) AS wait (ms, unclaimed);
