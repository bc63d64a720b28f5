-- What an operator looks at first.
\pset footer off
\echo Queues
SELECT name, waiting, running, free, retryable, paused, oldest_waiting FROM turnstile.queues ORDER BY waiting DESC;
\echo What their jobs wait for, by lanes
SELECT queues.name, why.reason, why.gate, why.lanes
FROM turnstile.queues, turnstile.why_waiting_summary(queues.name) AS why
WHERE queues.waiting > 0 ORDER BY lanes DESC;
\echo Dead jobs, by their last error
SELECT kind, split_part(errors -> -1 ->> 'error', E'\n', 1) AS error, count(*), max(finished_at) AS last
FROM turnstile.dead_jobs GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20;
