-- The unique key made of the columns named in $1; the payload counts in its canonical form.
SELECT encode(sha256(convert_to(jsonb_object_agg(field.name, field.value)::text, 'UTF8')), 'hex')
FROM (
    VALUES
        ('kind', to_jsonb($2)), ('payload', $3), ('queue', to_jsonb($4)), ('tenant', to_jsonb($5)),
        ('account', to_jsonb($6)), ('session', to_jsonb($7)), ('concurrency_key', to_jsonb($8))
) AS field (name, value)
WHERE field.name = ANY ($1)
