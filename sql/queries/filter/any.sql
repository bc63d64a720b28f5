    -- With ids from $14 to $15. NULL: any.
    AND chosen.id BETWEEN coalesce($14, -9223372036854775808) AND coalesce($15, 9223372036854775807)
