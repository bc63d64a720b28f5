-- What the roles $1 may do: (verb, queue, tenant).
SELECT permission.verb, permission.queue, permission.tenant
FROM turnstile.permission
WHERE permission.role = ANY ($1)
