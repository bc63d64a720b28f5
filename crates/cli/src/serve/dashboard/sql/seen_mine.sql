-- The jobs that the role may see, with what is in them.
WITH seen AS NOT MATERIALIZED (
    SELECT my_jobs.*
    FROM turnstile.my_jobs
)
