-- Live jobs by where they are looked for, and by what decides that: (names, priority, lane, group, what they wait for, state,
-- the first and the last id, how many).
SELECT
    job.names, job.priority, job.lane, job.lane_group, job.waits_for, job.state,
    min(job.id), max(job.id), count(*)
FROM turnstile.job_lane AS job
GROUP BY job.names, job.priority, job.lane, job.lane_group, job.waits_for, job.state
