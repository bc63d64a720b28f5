    -- Children of a job that takes none stay where they are.
    AND (
        chosen.parent IS NULL OR EXISTS (
            SELECT
            FROM ONLY turnstile.job AS parent
            WHERE parent.id = chosen.parent
                AND (
                    parent.state = 'running' OR parent.opens_batch OR (
                        parent.state = 'blocked'
                        AND NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = parent.id)
                    )
                )
                AND NOT EXISTS (SELECT FROM turnstile.batch WHERE batch.id = parent.id AND batch.stops IS NOT NULL)
        )
    )
