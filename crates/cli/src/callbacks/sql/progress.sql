-- $3, $4: numbers as text, so that they stay what they are.
SELECT turnstile.progress(
    job_id => $1,
    attempt => $2,
    done => $3::pg_catalog.numeric,
    total => $4::pg_catalog.numeric,
    message => $5
)
