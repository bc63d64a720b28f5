    -- Children of $9, read by the index of parents: that of ids is not for the range from $14 to $15. NULL: any.
    AND chosen.parent = $9
    AND ($14 IS NULL OR chosen.id >= $14)
    AND ($15 IS NULL OR chosen.id <= $15)
