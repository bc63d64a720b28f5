-- Of the jobs at the positions $3[i] of the lanes $2[i] of the groups $1[i] those that are available, in this order: (id, whether its turn
-- opens its batch, lane_group, lane).
SELECT job.id, job.opens_batch IS TRUE, job.lane_group, job.lane
FROM unnest($1, $2, $3) WITH ORDINALITY AS own (lane_group, lane, position, ord)
JOIN ONLY turnstile.job ON job.lane_group = own.lane_group AND job.lane = own.lane AND job.position = own.position
WHERE job.state = 'available' AND job.waits_for IS NULL
ORDER BY own.ord
