-- Job $1 if it is live: (names and priority of its lane, position, state, run_at, the names with its session even if it holds that).
SELECT lane.names, lane.priority, lane.position, lane.state, job.run_at, job.queue, job.tenant, job.session
FROM turnstile.job_lane AS lane
JOIN ONLY turnstile.job ON job.id = lane.id
WHERE lane.id = $1 AND job.id = $1
