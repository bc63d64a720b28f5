    -- Of queue $1, kind $2 (a pattern of LIKE), tenant $3, account $4, session $5 and concurrency key $10, whose metadata contain $11 and
    -- whose last error begins with $12. NULL: any.
    AND ($1 IS NULL OR chosen.queue = $1)
    AND ($2 IS NULL OR chosen.kind LIKE $2 ESCAPE '!')
    AND ($3 IS NULL OR chosen.tenant = $3)
    AND ($4 IS NULL OR chosen.account = $4)
    AND ($5 IS NULL OR chosen.session = $5)
    AND ($10 IS NULL OR chosen.concurrency_key = $10)
    AND ($11 IS NULL OR chosen.metadata @> $11)
    AND ($12 IS NULL OR starts_with(chosen.errors -> -1 ->> 'error', $12))
