SELECT pg_get_constraintdef(oid) LIKE '%%' || quote_literal(%(policy)s::text) || '%%'
FROM pg_constraint
WHERE conname = 'queue_policy_check';
