-- Whether $1 is an array, and whether any of its elements says something of unique keys.
SELECT jsonb_typeof($1) = 'array', $1 @? '$[*] ? (exists (@.unique_key) || exists (@.unique_by) || exists (@.unique_for))'
