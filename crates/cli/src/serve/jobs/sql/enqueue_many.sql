-- $1: JSON as it was given, so that its numbers stay what they are. Nothing happens unless the role is $2.
SELECT jobs.id, jobs.created
FROM turnstile.enqueue_many($1::pg_catalog.jsonb) AS jobs
WHERE CURRENT_USER = $2
ORDER BY jobs.ord
