-- The numbers of how children of the live job $1 have ended no longer count: one more is added. They are counted when it starts again.
UPDATE ONLY turnstile.job
SET children = '{}'
WHERE job.id = $1 AND job.children <> '{}'
