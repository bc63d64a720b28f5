-- Whether one of the jobs $1 ends, or the turn of one of the batches $3 comes, only after one of the jobs $2: directly, after others, for
-- its children, or for the turn of its own batch.
WITH RECURSIVE before AS (
    SELECT given.id, false AS is_turn FROM unnest($1) AS given (id)
    UNION
    SELECT given.id, true FROM unnest($3) AS given (id)
    UNION
    SELECT next.id, next.is_turn
    FROM before
    CROSS JOIN LATERAL (
        SELECT dependency.predecessor AS id, false AS is_turn
        FROM turnstile.dependency
        WHERE dependency.job = before.id
        UNION ALL
        SELECT child.id, false
        FROM ONLY turnstile.job AS child
        WHERE child.parent = before.id AND child.waits_for = 'jobs' AND NOT before.is_turn
        UNION ALL
        SELECT parent.id, true
        FROM ONLY turnstile.job
        JOIN ONLY turnstile.job AS parent ON parent.id = job.parent AND parent.opens_batch
        WHERE job.id = before.id
    ) AS next
)
SELECT EXISTS (SELECT FROM before WHERE before.id = ANY ($2) AND NOT before.is_turn)
