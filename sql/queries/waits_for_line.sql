-- Whether one of the jobs $1 comes after one of the jobs $2, directly, after others, or for its children.
WITH RECURSIVE before AS (
    SELECT given.id FROM unnest($1) AS given (id)
    UNION
    SELECT next.id
    FROM before
    CROSS JOIN LATERAL (
        SELECT dependency.predecessor AS id
        FROM turnstile.dependency
        WHERE dependency.job = before.id
        UNION ALL
        SELECT child.id
        FROM ONLY turnstile.job AS child
        WHERE child.parent = before.id AND child.waits_for = 'jobs'
    ) AS next
)
SELECT EXISTS (SELECT FROM before WHERE before.id = ANY ($2))
