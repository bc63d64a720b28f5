-- Up to $2 blocked children of the jobs $1, whose batches are open, that may wait for nothing else.
SELECT child.id
FROM ONLY turnstile.job AS child
WHERE child.parent = ANY ($1) AND child.state = 'blocked'
    AND NOT EXISTS (SELECT FROM turnstile.batch WHERE batch.id = child.parent AND batch.opened_at IS NULL)
    AND NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = child.id AND dependency.is_told)
    AND (child.opens_batch OR NOT EXISTS (SELECT FROM ONLY turnstile.job AS below WHERE below.parent = child.id))
LIMIT $2
