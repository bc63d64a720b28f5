-- What role $1 may do, by itself and by the roles whose rights it has: (verb, queue, tenant). The membership is followed first,
-- so that the rows of other roles are not read, however many there are.
WITH RECURSIVE reached (role) AS (
    SELECT $1
    UNION
    SELECT membership.roleid
    FROM reached
    JOIN pg_auth_members AS membership ON membership.member = reached.role
)
SELECT permission.verb, permission.queue, permission.tenant
FROM turnstile.permission
WHERE permission.role = ANY (ARRAY (
    SELECT known.role
    FROM (SELECT reached.role FROM reached UNION SELECT 'pg_database_owner'::regrole::oid) AS known
    WHERE pg_has_role($1, known.role, 'USAGE')
))
