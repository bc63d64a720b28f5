SELECT (clock_timestamp() + %(seconds)s::float8 * interval '1 second')::text;
