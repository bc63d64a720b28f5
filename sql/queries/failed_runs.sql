-- The runs ($1[i], $2[i]) that failed at $3[i], with what their jobs say of them: those may have ended since, or be gone. $4[i] is given
-- back. $5: with errors.
SELECT failed.id, job.queue, job.kind, job.tenant, failed.attempt, said.entry ->> 'worker', failed.failed_at,
    job.retry_at, CASE WHEN $5 THEN said.entry ->> 'error' END, failed.number
FROM unnest($1, $2, $3, $4) AS failed (id, attempt, failed_at, number)
LEFT JOIN LATERAL (
    SELECT live.queue, live.kind, live.tenant, live.errors,
        CASE WHEN live.state = 'retryable' AND live.attempt = failed.attempt THEN live.run_at END AS retry_at
    FROM ONLY turnstile.job AS live
    WHERE live.id = failed.id
    UNION ALL
    SELECT ended.queue, ended.kind, ended.tenant, ended.errors, NULL
    FROM turnstile.job_history AS ended
    WHERE ended.id = failed.id
    LIMIT 1
) AS job ON true
LEFT JOIN LATERAL (
    SELECT each.entry
    FROM jsonb_array_elements(CASE jsonb_typeof(job.errors) WHEN 'array' THEN job.errors END)
        WITH ORDINALITY AS each (entry, place)
    WHERE each.entry ->> 'attempt' = failed.attempt::text
    ORDER BY each.place DESC
    LIMIT 1
) AS said ON true
ORDER BY failed.number
