-- Whether one of the jobs $1 comes, directly or not, after one of the jobs $2.
WITH RECURSIVE before AS (
    SELECT given.id FROM unnest($1) AS given (id)
    UNION
    SELECT dependency.predecessor
    FROM before
    JOIN turnstile.dependency ON dependency.job = before.id
)
SELECT EXISTS (SELECT FROM before WHERE before.id = ANY ($2))
