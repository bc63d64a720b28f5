SELECT jsonb_typeof($1) = 'array'
