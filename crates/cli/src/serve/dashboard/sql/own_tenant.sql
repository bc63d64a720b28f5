-- $1: the tenant. Whether it has limits of its own, which are then all of them.
SELECT pg_catalog.to_json(EXISTS (SELECT FROM turnstile.tenant WHERE tenant.name = $1))::text
