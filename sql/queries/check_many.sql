-- The first element of the array $1 that is no job, with what is wrong with it: (ord, sqlstate, problem).
-- $2: the largest payload in bytes.
WITH element AS (
    SELECT e.ord, e.value
    FROM ROWS FROM (jsonb_array_elements($1)) WITH ORDINALITY AS e (value, ord)
), field AS (
    SELECT element.ord, f.key, f.value, jsonb_typeof(f.value) AS type
    FROM element, jsonb_each(CASE WHEN jsonb_typeof(element.value) = 'object' THEN element.value END) AS f
), problem AS (
    SELECT element.ord, '22023' AS code, 'is not an object' AS message
    FROM element WHERE jsonb_typeof(element.value) <> 'object'
    UNION ALL
    SELECT element.ord, '22023', 'has no kind'
    FROM element
    WHERE jsonb_typeof(element.value) = 'object' AND element.value -> 'kind' IS NULL
    UNION ALL
    SELECT field.ord, '22023', 'has the unknown key "' || field.key || '"'
    FROM field
    WHERE field.key NOT IN (
        'kind', 'payload', 'queue', 'tenant', 'account', 'session', 'concurrency_key', 'priority', 'run_at',
        'max_attempts', 'unique_key', 'unique_mode', 'unique_for', 'unique_by', 'metadata'
    )
    UNION ALL
    SELECT field.ord, '22004', field.key || ' must not be null'
    FROM field
    WHERE field.key IN ('kind', 'payload', 'priority', 'unique_mode') AND field.type = 'null'
    UNION ALL
    SELECT field.ord, '22023', field.key || ' must be a string'
    FROM field
    WHERE field.key IN (
        'kind', 'queue', 'tenant', 'account', 'session', 'concurrency_key', 'run_at', 'unique_key', 'unique_mode',
        'unique_for'
    ) AND field.type NOT IN ('string', 'null')
    UNION ALL
    SELECT field.ord, '22023', field.key || ' must not be empty'
    FROM field
    WHERE field.key IN ('kind', 'queue', 'tenant', 'account', 'session', 'concurrency_key', 'unique_key')
        AND field.value = '""'
    UNION ALL
    SELECT field.ord, '22023', 'queue must not be *, which stands for all queues'
    FROM field
    WHERE field.key = 'queue' AND field.value = '"*"'
    UNION ALL
    SELECT field.ord, '54000', field.key || ' is longer than 255 bytes'
    FROM field
    WHERE field.key IN ('kind', 'queue', 'tenant', 'account', 'session', 'concurrency_key', 'unique_key')
        AND octet_length(field.value #>> '{}') > 255
    UNION ALL
    SELECT field.ord, '22023', field.key || ' must be a whole number of 32 bits'
    FROM field
    WHERE field.key IN ('priority', 'max_attempts') AND field.type <> 'null' AND NOT (
        field.type = 'number'
        AND (field.value #>> '{}')::numeric = trunc((field.value #>> '{}')::numeric)
        AND (field.value #>> '{}')::numeric BETWEEN -2147483648 AND 2147483647
    )
    UNION ALL
    SELECT field.ord, '22023', 'max_attempts must be at least 1'
    FROM field
    WHERE field.key = 'max_attempts' AND field.type = 'number' AND (field.value #>> '{}')::numeric < 1
    UNION ALL
    SELECT field.ord, '54000', 'payload is over turnstile.max_payload'
    FROM field
    WHERE field.key = 'payload' AND pg_column_size(field.value) > $2
    UNION ALL
    SELECT field.ord, '22023', 'unique_mode is unknown'
    FROM field
    WHERE field.key = 'unique_mode' AND field.type = 'string' AND field.value #>> '{}' NOT IN (
        'until_executing', 'until_executed', 'until_expired', 'while_executing', 'until_and_while_executing', 'replace'
    )
    UNION ALL
    SELECT field.ord, '22023', 'unique_by must be an array'
    FROM field
    WHERE field.key = 'unique_by' AND field.type NOT IN ('array', 'null')
)
SELECT problem.ord::int, problem.code, problem.message FROM problem ORDER BY problem.ord, problem.code DESC LIMIT 1
