    -- Others still need the end of children of a live parent, and of jobs that a live one comes after. Foreign days are left alone.
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job AS parent WHERE parent.id = chosen.parent)
    AND NOT EXISTS (
        SELECT
        FROM turnstile.dependency
        JOIN ONLY turnstile.job AS follower ON follower.id = dependency.job
        WHERE dependency.predecessor = chosen.id
    )
    AND NOT EXISTS (SELECT FROM pg_class AS day WHERE day.oid = chosen.tableoid AND day.relkind = 'f')
