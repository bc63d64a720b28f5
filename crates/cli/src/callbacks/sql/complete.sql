-- $3: JSON as it was given, so that its numbers stay what they are.
SELECT turnstile.complete(job_id => $1, attempt => $2, result => $3::pg_catalog.jsonb)
