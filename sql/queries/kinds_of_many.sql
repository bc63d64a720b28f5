-- The kinds of the jobs in the array $1.
SELECT DISTINCT job.value ->> 'kind'
FROM jsonb_array_elements($1) AS job
